/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "app/config_fault.h"

_Static_assert(IP_ADDR_TEXT + sizeof("[]:65535") <= CONFIG_VALUE_MAX, "a word has room for both");

static struct config_list *list_of(const struct config_key *k, void *base)
{
    assert(k->size == sizeof(struct config_list) && "the member is one");
    return (struct config_list *)(void *)((char *)base + k->offset);
}

static const struct config_list *list_of_const(const struct config_key *k, const void *base)
{
    assert(k->size == sizeof(struct config_list) && "the member is one");
    return (const struct config_list *)(const void *)((const char *)base + k->offset);
}

/* A copy of an item, all of which have this size. */
static bool append(struct config_list *l, const void *item, size_t size, struct config_why *why)
{
    void *v = reallocarray(l->v, l->n + 1, size);
    if (!v)
        return config_refuse(why, "out of memory");
    memcpy((char *)v + l->n * size, item, size);
    l->v = v;
    l->n++;
    return true;
}

/* ---- texts ---- */

static bool append_text(struct config_list *l, const char *text, struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    char *const *has = l->v;
    for (unsigned i = 0; i < l->n; i++)
        if (!strcmp(has[i], text))
            return config_refuse(why, "'%s' is listed twice", config_quote(text, quoted));
    char *copy = strdup(text);
    if (!copy)
        return config_refuse(why, "out of memory");
    if (append(l, &copy, sizeof(copy), why))
        return true;
    free(copy);
    return false;
}

const char *config_user_unfit(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > PROXY_USER_MAX)
        return "is not 1 to 63 bytes long";
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return "has a control character in it";
    return strchr(name, ':') ? "has a colon in it, which ends a name" : NULL; /* RFC 7617 2 */
}

bool config_list_read_user(const struct config_key *k, void *base, const char *text,
                           struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    const char *unfit = config_user_unfit(text);
    if (unfit)
        return config_refuse(why, "'%s' cannot be a user's name: it %s", config_quote(text, quoted),
                             unfit);
    return append_text(list_of(k, base), text, why);
}

bool config_host_name(const char *text, char dst[static PROXY_NAME_MAX + 1])
{
    char authority[PROXY_NAME_MAX + sizeof(".:1")];
    struct proxy_target t;
    int n = snprintf(authority, sizeof(authority), "%s:1", text);
    if (n < 0 || (size_t)n >= sizeof(authority) ||
        !proxy_target_of((struct http_text){authority, (uint32_t)n}, &t) || t.literal)
        return false;
    memcpy(dst, t.name, sizeof(t.name));
    return true;
}

bool config_list_read_name(const struct config_key *k, void *base, const char *text,
                           struct config_why *why)
{
    bool exact = text[0] == '=';
    char quoted[CONFIG_QUOTE_MAX];
    char name[1 + PROXY_NAME_MAX + 1] = "=";
    if (!strncmp(text, "*.", 2))
        return config_refuse(why, "'%s': write '%s', which is it and all names below",
                             config_quote(text, quoted), quoted + 2);
    if (!config_host_name(text + exact, name + 1))
        return config_refuse(why, "'%s' is not a name such as example.com or =www.example.com",
                             config_quote(text, quoted));
    return append_text(list_of(k, base), exact ? name : name + 1, why);
}

void config_list_write_texts(const struct config_key *k, const void *base, struct config_words *w)
{
    const struct config_list *l = list_of_const(k, base);
    char *const *text = l->v;
    for (unsigned i = 0; i < l->n; i++)
        w->value[w->n++] = text[i];
}

void config_list_free_texts(const struct config_key *k, void *base)
{
    const struct config_list *l = list_of(k, base);
    char **text = l->v;
    for (unsigned i = 0; i < l->n; i++)
        free(text[i]);
    config_list_free(k, base);
}

void config_list_free(const struct config_key *k, void *base)
{
    struct config_list *l = list_of(k, base);
    free(l->v);
    *l = (struct config_list){0};
}

/* ---- addresses ---- */

static void write_addr(const struct ip_addr *a, struct config_words *w)
{
    ip_format(a, w->buf[w->n]);
    w->value[w->n] = w->buf[w->n];
    w->n++;
}

bool config_list_read_prefix(const struct config_key *k, void *base, const char *text,
                             struct config_why *why)
{
    struct ip_prefix p;
    char quoted[CONFIG_QUOTE_MAX];
    if (!ip_prefix_parse(text, &p))
        return config_refuse(why, "'%s' is not an address, nor one such as 192.0.2.0/24",
                             config_quote(text, quoted));
    if (!config_is_network(&p))
        return config_refuse(why, "%s: there are bits set behind the prefix", text);
    return append(list_of(k, base), &p, sizeof(p), why);
}

void config_list_write_prefixes(const struct config_key *k, const void *base,
                                struct config_words *w)
{
    const struct config_list *l = list_of_const(k, base);
    const struct ip_prefix *p = l->v;
    for (unsigned i = 0; i < l->n; i++) {
        size_t n = ip_format(&p[i].addr, w->buf[i]);
        snprintf(w->buf[i] + n, CONFIG_VALUE_MAX - n, "/%u", p[i].len);
        w->value[w->n++] = w->buf[i];
    }
}

bool config_list_read_ports(const struct config_key *k, void *base, const char *text,
                            struct config_why *why)
{
    uint64_t first;
    uint64_t last;
    char quoted[CONFIG_QUOTE_MAX];
    if (!config_range_parse(text, UINT16_MAX, &first, &last) || first == 0)
        return config_refuse(why, "'%s' is not a port (1..65535) nor a range such as \"8000-8100\"",
                             config_quote(text, quoted));
    struct proxy_port_range r = {(uint16_t)first, (uint16_t)last};
    return append(list_of(k, base), &r, sizeof(r), why);
}

void config_list_write_ports(const struct config_key *k, const void *base, struct config_words *w)
{
    const struct config_list *l = list_of_const(k, base);
    const struct proxy_port_range *r = l->v;
    for (unsigned i = 0; i < l->n; i++) {
        if (r[i].first == r[i].last)
            snprintf(w->buf[i], CONFIG_VALUE_MAX, "%u", r[i].first);
        else
            snprintf(w->buf[i], CONFIG_VALUE_MAX, "%u-%u", r[i].first, r[i].last);
        w->value[w->n++] = w->buf[i];
    }
}

static bool listed(const struct ip_addr *in, unsigned n, const struct ip_addr *a)
{
    for (unsigned i = 0; i < n; i++)
        if (ip_eq(&in[i], a))
            return true;
    return false;
}

/* An address that there is not in the n of in. */
static bool read_one(const char *text, const struct ip_addr *in, unsigned n, struct ip_addr *a,
                     struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    if (!ip_parse(text, a))
        return config_refuse(why, "'%s' is not an address (without a length)",
                             config_quote(text, quoted));
    if (ip_is_unspecified(a))
        return config_refuse(why, "%s is the unspecified address", text);
    return !listed(in, n, a) || config_refuse(why, "%s is listed twice", text);
}

bool config_list_read_addr(const struct config_key *k, void *base, const char *text,
                           struct config_why *why)
{
    struct ip_addr a;
    struct config_list *l = list_of(k, base);
    return read_one(text, l->v, l->n, &a, why) && append(l, &a, sizeof(a), why);
}

void config_list_write_addrs(const struct config_key *k, const void *base, struct config_words *w)
{
    const struct config_list *l = list_of_const(k, base);
    const struct ip_addr *a = l->v;
    for (unsigned i = 0; i < l->n; i++)
        write_addr(&a[i], w);
}

/* ---- the resolver's ---- */

bool config_list_read_host_addr(const struct config_key *k, void *base, const char *text,
                                struct config_why *why)
{
    struct resolver_host *h = base;
    struct ip_addr a;
    if (!read_one(text, h->addr, h->n_addrs, &a, why))
        return false;
    assert(h->n_addrs < k->max && "the loader reads no more");
    (void)k;
    h->addr[h->n_addrs++] = a;
    return true;
}

void config_list_write_host_addrs(const struct config_key *k, const void *base,
                                  struct config_words *w)
{
    (void)k;
    const struct resolver_host *h = base;
    for (unsigned i = 0; i < h->n_addrs; i++)
        write_addr(&h->addr[i], w);
}

/* Cuts text into its address, which is returned, and its port; NULL: there is none. */
static char *split_server(char *text, char **port)
{
    bool bracket = text[0] == '[';
    char *end = strchr(text, bracket ? ']' : ':');
    *port = NULL;
    if (!bracket && (!end || strchr(end + 1, ':')))
        return text; /* without a port; IPv6 */
    if (!end || (bracket && end[1] && end[1] != ':'))
        return NULL;
    if (!bracket || end[1])
        *port = end + 1 + bracket;
    *end = '\0';
    return text + bracket;
}

/* "192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]:5353" */
static bool parse_server(const char *text, struct resolver_server *s)
{
    char copy[IP_ADDR_TEXT + sizeof("[]:65535")];
    char *port;
    uint64_t first = 0;
    uint64_t last = 0;
    if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
        return false;
    const char *addr = split_server(copy, &port);
    if (!addr || !ip_parse(addr, &s->addr) || (text[0] == '[' && ip_is_v4(&s->addr)))
        return false;
    if (port && (!config_range_parse(port, UINT16_MAX, &first, &last) || !first || first != last))
        return false;
    s->port = (uint16_t)first;
    return !ip_is_unspecified(&s->addr) && !ip_is_multicast(&s->addr);
}

bool config_list_read_server(const struct config_key *k, void *base, const char *text,
                             struct config_why *why)
{
    struct resolver_settings *r = &((struct config *)base)->resolver;
    struct resolver_server s;
    char quoted[CONFIG_QUOTE_MAX];
    if (!parse_server(text, &s))
        return config_refuse(why,
                             "'%s' is not a server's address such as 192.0.2.53, or with a port "
                             "192.0.2.53:5353 or [2001:db8::53]:5353",
                             config_quote(text, quoted));
    for (unsigned i = 0; i < r->n_servers; i++)
        if (ip_eq(&r->server[i].addr, &s.addr) && r->server[i].port == s.port)
            return config_refuse(why, "%s is listed twice", text);
    assert(r->n_servers < k->max && "the loader reads no more");
    (void)k;
    r->server[r->n_servers++] = s;
    return true;
}

void config_list_write_servers(const struct config_key *k, const void *base, struct config_words *w)
{
    (void)k;
    const struct resolver_settings *r = &((const struct config *)base)->resolver;
    for (unsigned i = 0; i < r->n_servers; i++) {
        const struct resolver_server *s = &r->server[i];
        char text[IP_ADDR_TEXT];
        ip_format(&s->addr, text);
        if (!s->port)
            snprintf(w->buf[i], CONFIG_VALUE_MAX, "%s", text);
        else
            snprintf(w->buf[i], CONFIG_VALUE_MAX, ip_is_v4(&s->addr) ? "%s:%u" : "[%s]:%u", text,
                     s->port);
        w->value[w->n++] = w->buf[i];
    }
}
