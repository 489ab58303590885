/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/addr.h"

#include <assert.h>

#include "base/bytes.h"

#define GROUPS 8

const struct ip_addr IP_ADDR_ANY6;

bool ip_is_unspecified(const struct ip_addr *a)
{
    return ip_is_v4(a) ? ip_v4(a) == 0 : ip_eq(a, &IP_ADDR_ANY6);
}

bool ip_is_loopback(const struct ip_addr *a)
{
    static const struct ip_addr loopback6 = {.b[15] = 1};
    return ip_is_v4(a) ? a->b[12] == 127 : ip_eq(a, &loopback6);
}

bool ip_is_multicast(const struct ip_addr *a)
{
    return ip_is_v4(a) ? (a->b[12] & 0xf0) == 0xe0 : a->b[0] == 0xff;
}

bool ip_is_link_local(const struct ip_addr *a)
{
    if (ip_is_v4(a))
        return a->b[12] == 169 && a->b[13] == 254;
    return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

bool ip_is_limited_broadcast(const struct ip_addr *a)
{
    return ip_is_v4(a) && ip_v4(a) == UINT32_MAX;
}

bool ip_is_subnet_broadcast(const struct ip_prefix *net, const struct ip_addr *a)
{
    /* RFC 3021 2.1: a /31 has two hosts and no broadcast */
    if (!ip_in_prefix(net, a) || !ip_is_v4(a) || net->len >= 31)
        return false;
    uint32_t host = UINT32_MAX >> net->len;
    return (ip_v4(a) & host) == host;
}

bool ip_in_prefix(const struct ip_prefix *net, const struct ip_addr *a)
{
    bool v4 = ip_is_v4(&net->addr);
    if (v4 != ip_is_v4(a))
        return false;
    assert(net->len <= (v4 ? 32 : 128));
    unsigned bits = net->len + (v4 ? 96u : 0u);
    uint64_t high = load_be64(net->addr.b) ^ load_be64(a->b);
    uint64_t low = load_be64(net->addr.b + 8) ^ load_be64(a->b + 8);
    if (bits > 64)
        return high == 0 && low >> (128 - bits) == 0;
    return bits == 0 || high >> (64 - bits) == 0;
}

struct ip_addr ip_solicited_node(const struct ip_addr *a)
{
    return (struct ip_addr){
        {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a->b[13], a->b[14], a->b[15]}};
}

struct ip_addr ip_link_local_of(const struct mac_addr *mac)
{
    const uint8_t *m = mac->b;
    /* The universal/local bit is inverted in an interface identifier (RFC 4291 2.5.1). */
    return (struct ip_addr){
        {0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}};
}

struct mac_addr mac_of_multicast(const struct ip_addr *a)
{
    assert(ip_is_multicast(a));
    if (ip_is_v4(a))
        return (struct mac_addr){{1, 0, 0x5e, a->b[13] & 0x7f, a->b[14], a->b[15]}};
    return (struct mac_addr){{0x33, 0x33, a->b[12], a->b[13], a->b[14], a->b[15]}};
}

/* Formatting: each helper writes at `at` and returns where it ended. */

static char *put_decimal(char *at, unsigned v)
{
    if (v >= 100)
        *at++ = (char)('0' + v / 100);
    if (v >= 10)
        *at++ = (char)('0' + v / 10 % 10);
    *at++ = (char)('0' + v % 10);
    return at;
}

/* Lower case, at least `digits` of them (RFC 5952 4.1, 4.3). */
static char *put_hex(char *at, unsigned v, int digits)
{
    static const char hex[] = "0123456789abcdef";
    while (digits < 4 && v >> (4 * digits))
        digits++;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        *at++ = hex[v >> shift & 15];
    return at;
}

static char *put_v4(char *at, const uint8_t b[4])
{
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            *at++ = '.';
        at = put_decimal(at, b[i]);
    }
    return at;
}

struct run {
    int start;
    int len;
};

/* The groups that "::" stands for: the longest run of two or more zeros, the first of equals (RFC
 * 5952 4.2). */
static struct run longest_zeros(const uint16_t group[GROUPS])
{
    struct run best = {.start = GROUPS, .len = 1};
    struct run here = {0};
    for (int i = 0; i < GROUPS; i++) {
        if (group[i] != 0) {
            here = (struct run){.start = i + 1};
            continue;
        }
        here.len++;
        if (here.len > best.len)
            best = here;
    }
    return best;
}

static char *put_v6(char *at, const uint8_t b[16])
{
    uint16_t group[GROUPS];
    for (int i = 0; i < GROUPS; i++)
        group[i] = load_be16(b + 2 * i);
    struct run zeros = longest_zeros(group);
    for (int i = 0; i < GROUPS; i++) {
        if (i == zeros.start) {
            *at++ = ':';
            *at++ = ':';
            i += zeros.len - 1;
            continue;
        }
        if (i > 0 && i != zeros.start + zeros.len)
            *at++ = ':';
        at = put_hex(at, group[i], 1);
    }
    return at;
}

size_t ip_format(const struct ip_addr *a, char *dst)
{
    char *end = ip_is_v4(a) ? put_v4(dst, a->b + 12) : put_v6(dst, a->b);
    *end = '\0';
    return (size_t)(end - dst);
}

size_t mac_format(const struct mac_addr *m, char *dst)
{
    char *at = dst;
    for (int i = 0; i < 6; i++) {
        if (i > 0)
            *at++ = ':';
        at = put_hex(at, m->b[i], 2);
    }
    *at = '\0';
    return (size_t)(at - dst);
}

/* Parsing: a cursor over the text that is left. Each helper is false where its noun does not stand
 * there. */

struct text {
    const char *at;
    const char *end;
};

static struct text text_of(const char *s, size_t len)
{
    return (struct text){s, s + len};
}

static bool take_char(struct text *t, char c)
{
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

/* One to max_digits digits; the digits taken are returned, 0 where there are none or one too many.
 */
static int take_number(struct text *t, int base, int max_digits, unsigned *v)
{
    int n = 0;
    *v = 0;
    for (; t->at < t->end && digit_value(*t->at) < base; t->at++) {
        if (++n > max_digits)
            return 0;
        *v = *v * (unsigned)base + (unsigned)digit_value(*t->at);
    }
    return n;
}

/* Without leading zeros, which some readers take for octal. */
static bool take_decimal(struct text *t, unsigned max, unsigned *v)
{
    bool zero = t->at < t->end && *t->at == '0';
    int n = take_number(t, 10, 3, v);
    return n > 0 && !(zero && n > 1) && *v <= max;
}

static bool take_v4(struct text *t, uint8_t b[4])
{
    for (int i = 0; i < 4; i++) {
        unsigned v;
        if ((i > 0 && !take_char(t, '.')) || !take_decimal(t, 255, &v))
            return false;
        b[i] = (uint8_t)v;
    }
    return true;
}

/* A group, or the last two as a dotted quad (RFC 4291 2.2). Returns the groups taken, 0 on failure.
 */
static int take_group(struct text *t, uint8_t *b, int room)
{
    struct text start = *t;
    unsigned v;
    if (take_number(t, 16, 4, &v) == 0)
        return 0;
    if (t->at == t->end || *t->at != '.') {
        store_be16(b, (uint16_t)v);
        return 1;
    }
    *t = start;
    return room >= 2 && take_v4(t, b) && t->at == t->end ? 2 : 0;
}

/* Groups joined by colons until the end or "::". Returns their number, or -1. */
static int take_groups(struct text *t, uint8_t *b, int room)
{
    int n = 0;
    do {
        int taken = n < room ? take_group(t, b + 2 * n, room - n) : 0;
        if (taken == 0)
            return -1;
        n += taken;
        if (t->end - t->at >= 2 && t->at[0] == ':' && t->at[1] == ':')
            return n;
    } while (take_char(t, ':'));
    return n;
}

static bool take_v6(struct text *t, uint8_t b[16])
{
    uint8_t tail[16];
    int before = 0;
    int after = 0;
    memset(b, 0, 16);
    if (t->at < t->end && *t->at != ':')
        before = take_groups(t, b, GROUPS);
    if (before == GROUPS)
        return true;
    if (before < 0 || !take_char(t, ':') || !take_char(t, ':'))
        return false;
    if (t->at < t->end)
        after = take_groups(t, tail, GROUPS - 1 - before); /* "::" stands for one group at least */
    if (after < 0)
        return false;
    memcpy(b + 16 - 2 * after, tail, 2 * (size_t)after);
    return true;
}

static bool parse_ip(struct text t, struct ip_addr *a)
{
    struct ip_addr v = ip_from_v4(0);
    struct text again = t;
    if (take_v4(&again, v.b + 12) && again.at == again.end) {
        *a = v;
        return true;
    }
    if (!take_v6(&t, v.b) || t.at != t.end || ip_is_v4(&v))
        return false;
    *a = v;
    return true;
}

bool ip_parse(const char *text, struct ip_addr *a)
{
    return parse_ip(text_of(text, strlen(text)), a);
}

bool mac_parse(const char *text, struct mac_addr *m)
{
    struct text t = text_of(text, strlen(text));
    struct mac_addr mac;
    for (int i = 0; i < 6; i++) {
        unsigned v;
        if ((i > 0 && !take_char(&t, ':')) || take_number(&t, 16, 2, &v) != 2)
            return false;
        mac.b[i] = (uint8_t)v;
    }
    if (t.at != t.end)
        return false;
    *m = mac;
    return true;
}

bool ip_prefix_parse(const char *text, struct ip_prefix *p)
{
    const char *slash = strchr(text, '/');
    struct ip_addr addr;
    if (!parse_ip(text_of(text, slash ? (size_t)(slash - text) : strlen(text)), &addr))
        return false;
    unsigned len = ip_is_v4(&addr) ? 32 : 128;
    if (slash) {
        struct text t = text_of(slash + 1, strlen(slash + 1));
        if (!take_decimal(&t, len, &len) || t.at != t.end)
            return false;
    }
    *p = (struct ip_prefix){.addr = addr, .len = (uint8_t)len};
    return true;
}
