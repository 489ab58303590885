/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/dns_answer.h"

#include <string.h>

/*
 * RFC 1035 4.1.1 and 4.1.3: the header is 12 bytes, of which the last 8 are how many questions,
 * answers, authorities and additional records follow; a record is
 *
 *     name | type 2 | class 2 | TTL 4 | length 2 | data
 */
#define HEADER 12u
#define FIXED  10u /* of a record, behind its name */

#define TYPE_A     1u
#define TYPE_CNAME 5u
#define TYPE_SOA   6u
#define TYPE_AAAA  28u
#define CLASS_IN   1u

#define LABEL_MAX 63u
#define POINTER   0xc0u
#define NAME_ROOM (PROXY_NAME_MAX + 1)

struct message {
    const uint8_t *b;
    size_t len;
};

struct record {
    char name[NAME_ROOM];
    uint16_t type;
    uint16_t class;
    uint32_t ttl;
    size_t data; /* where it starts */
    uint16_t len;
};

/* In a name's text a dot means the end of a label; in a label it is something that nobody asks for,
 * as is the end of the text. */
static char lower(uint8_t c)
{
    if (c == '.' || c == '\0')
        return '\1';
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); /* RFC 4343 */
}

static bool add_label(const uint8_t *label, size_t n, char name[NAME_ROOM], size_t *used)
{
    size_t dot = *used > 0;
    if (*used + dot + n > PROXY_NAME_MAX)
        return false;
    if (dot)
        name[(*used)++] = '.';
    for (size_t i = 0; i < n; i++)
        name[(*used)++] = lower(label[i]);
    return true;
}

/* The name at *at, which goes on behind it. A pointer leads to before where the name, or the part
 * that the last pointer led to, starts; so there is an end (RFC 1035 4.1.4: "a prior occurrence").
 */
static bool read_name(const struct message *m, size_t *at, char name[NAME_ROOM])
{
    size_t used = 0, start = *at, pos = *at, end = 0;
    while (pos < m->len) {
        uint8_t n = m->b[pos];
        if (n <= LABEL_MAX) {
            if (m->len - pos <= n || (n > 0 && !add_label(m->b + pos + 1, n, name, &used)))
                return false;
            pos += 1u + n;
            if (n > 0)
                continue;
            name[used] = '\0';
            *at = end ? end : pos;
            return true;
        }
        if (n < POINTER || m->len - pos < 2)
            return false;
        end = end ? end : pos + 2;
        pos = load_be16(m->b + pos) & 0x3fffu;
        if (pos >= start)
            return false;
        start = pos;
    }
    return false;
}

static bool read_record(const struct message *m, size_t *at, struct record *r)
{
    if (!read_name(m, at, r->name) || m->len - *at < FIXED)
        return false;
    const uint8_t *p = m->b + *at;
    r->type = load_be16(p);
    r->class = load_be16(p + 2);
    r->ttl = load_be32(p + 4);
    if (r->ttl > INT32_MAX)
        r->ttl = 0; /* RFC 2181 8 */
    r->len = load_be16(p + 8);
    r->data = *at + FIXED;
    if (m->len - r->data < r->len)
        return false;
    *at = r->data + r->len;
    return true;
}

static bool skip_questions(const struct message *m, size_t *at)
{
    char name[NAME_ROOM];
    *at = HEADER;
    for (unsigned n = load_be16(m->b + 4); n > 0; n--) {
        if (!read_name(m, at, name) || m->len - *at < 4)
            return false;
        *at += 4;
    }
    return true;
}

static unsigned records(const struct message *m, unsigned at)
{
    unsigned n = load_be16(m->b + at);
    return n < DNS_RECORDS_MAX ? n : DNS_RECORDS_MAX;
}

static void lessen(struct dns_answer *out, uint32_t ttl)
{
    if (!out->has_ttl || ttl < out->ttl)
        out->ttl = ttl;
    out->has_ttl = true;
}

static void add_address(const struct message *m, const struct record *r, struct dns_answer *out)
{
    bool v6 = r->type == TYPE_AAAA;
    if (r->len != (v6 ? 16 : 4) || out->n == CONNECT_ADDRS_MAX)
        return;
    struct ip_addr *to = &out->addr[out->n];
    if (v6)
        memcpy(to->b, m->b + r->data, sizeof(to->b));
    else
        *to = ip_from_v4(load_be32(m->b + r->data));
    if (v6 && ip_is_v4(to))
        return; /* ::ffff:a.b.c.d is no address of that family here (wire/addr.h) */
    out->n++;
    lessen(out, r->ttl);
}

/* One look through the answers for what name owns. *next: an alias it is, "" if none. */
static bool follow(const struct message *m, size_t at, const char *name, bool v6, char *next,
                   struct dns_answer *out)
{
    struct record r;
    uint32_t alias_ttl = 0;
    next[0] = '\0';
    for (unsigned n = records(m, 6); n > 0; n--) {
        if (!read_record(m, &at, &r))
            return false;
        if (r.class != CLASS_IN || strcmp(r.name, name) != 0)
            continue;
        if (r.type == (v6 ? TYPE_AAAA : TYPE_A))
            add_address(m, &r, out);
        size_t data = r.data;
        if (r.type == TYPE_CNAME && !read_name(m, &data, next))
            return false;
        if (r.type == TYPE_CNAME)
            alias_ttl = r.ttl;
    }
    if (out->n > 0)
        next[0] = '\0'; /* RFC 1034 3.6.2: not both */
    if (next[0])
        lessen(out, alias_ttl);
    return true;
}

/* How long to believe that there is nothing: the lesser of the SOA's own TTL and its MINIMUM, the
 * last of its five numbers (RFC 2308 5). */
static bool read_soa(const struct message *m, const struct record *r, struct dns_answer *out)
{
    char ignored[NAME_ROOM];
    size_t at = r->data;
    size_t end = r->data + r->len;
    if (!read_name(m, &at, ignored) || !read_name(m, &at, ignored) || at > end || end - at < 20)
        return false;
    uint32_t minimum = load_be32(m->b + at + 16);
    lessen(out, minimum < r->ttl ? minimum : r->ttl);
    return true;
}

/* Of the chain's TTLs alone nothing follows about what is not there. */
static bool read_authority(const struct message *m, size_t at, struct dns_answer *out)
{
    struct record r;
    bool found = false;
    unsigned answers = load_be16(m->b + 6);
    if (answers > DNS_RECORDS_MAX)
        return true;
    for (; answers > 0; answers--)
        if (!read_record(m, &at, &r))
            return false;
    for (unsigned n = records(m, 8); n > 0 && !found; n--) {
        if (!read_record(m, &at, &r))
            return false;
        found = r.type == TYPE_SOA && r.class == CLASS_IN;
    }
    if (found)
        return read_soa(m, &r, out);
    out->has_ttl = false;
    return true;
}

bool dns_answer_parse(const uint8_t *message, size_t len, const char *name, bool v6,
                      struct dns_answer *out)
{
    struct message m = {message, len};
    size_t answers;
    char at[NAME_ROOM], next[NAME_ROOM];
    memset(out, 0, sizeof(*out));
    if (len < HEADER || !skip_questions(&m, &answers))
        return false;
    strcpy(next, name); /* its caller keeps PROXY_NAME_MAX */
    for (unsigned links = 0; next[0]; links++) {
        if (links > DNS_CHAIN_MAX)
            return false;
        strcpy(at, next);
        if (!follow(&m, answers, at, v6, next, out))
            return false;
    }
    return out->n > 0 || read_authority(&m, answers, out);
}
