/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a tunnel is to lead: an authority of host and port (RFC 9110 9.3.6, RFC 3986 3.2). Strict,
 * so that nobody behind reads another host out of the same text. */
#include <string.h>

#include "service/proxy_internal.h"

#define LABEL_MAX 63u /* RFC 1035 2.3.4 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* After lower(). RFC 1123 2.1; underscores are no letters of a host, but are in use. */
static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool all(const char *p, uint32_t n, bool (*is)(char c))
{
    for (uint32_t i = 0; i < n; i++)
        if (!is(p[i]))
            return false;
    return true;
}

static bool label_ok(const char *p, uint32_t n)
{
    return n >= 1 && n <= LABEL_MAX && p[0] != '-' && p[n - 1] != '-' && all(p, n, is_name_char);
}

/* Some resolvers read 0x7f.1 and 127.1 as addresses; no name of a host ends so. */
static bool label_number(const char *p, uint32_t n)
{
    return all(p, n, is_digit) ||
           (n >= 2 && p[0] == '0' && p[1] == 'x' && all(p + 2, n - 2, is_hex));
}

static bool labels_ok(const char *p, uint32_t n)
{
    for (;;) {
        const char *dot = memchr(p, '.', n);
        uint32_t label = dot ? (uint32_t)(dot - p) : n;
        if (!label_ok(p, label))
            return false;
        if (!dot)
            return !label_number(p, label);
        p += label + 1;
        n -= label + 1;
    }
}

bool proxy_name_of(struct http_text text, char name[PROXY_NAME_MAX + 1])
{
    if (text.n > 0 && text.p[text.n - 1] == '.') /* RFC 1034 3.1: the root's */
        text.n--;
    if (text.n == 0 || text.n > PROXY_NAME_MAX)
        return false;
    for (uint32_t i = 0; i < text.n; i++)
        name[i] = lower(text.p[i]);
    name[text.n] = '\0';
    return labels_ok(name, text.n);
}

/* 1..65535, no sign, no zero in front. */
static bool port_of(struct http_text text, uint16_t *port)
{
    uint32_t v = 0;
    if (text.n == 0 || text.n > 5 || text.p[0] == '0' || !all(text.p, text.n, is_digit))
        return false;
    for (uint32_t i = 0; i < text.n; i++)
        v = v * 10 + (uint32_t)(text.p[i] - '0');
    *port = (uint16_t)v;
    return v <= UINT16_MAX;
}

static bool literal_of(struct http_text text, struct proxy_target *t)
{
    if (text.n == 0 || text.n >= IP_ADDR_TEXT || memchr(text.p, '\0', text.n))
        return false;
    memcpy(t->name, text.p, text.n);
    t->name[text.n] = '\0';
    t->literal = ip_parse(t->name, &t->addr);
    return t->literal;
}

/* RFC 3986 3.2.2: IPv6 in brackets, and nothing else; a zone (RFC 6874) is for this host only. */
static bool host_of(struct http_text host, struct proxy_target *t)
{
    if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        return literal_of((struct http_text){host.p + 1, host.n - 2}, t) && !ip_is_v4(&t->addr);
    if (memchr(host.p, ':', host.n))
        return false;
    return literal_of(host, t) || proxy_name_of(host, t->name);
}

bool proxy_target_of(struct http_text authority, struct proxy_target *t)
{
    *t = (struct proxy_target){.literal = false};
    uint32_t n = authority.n;
    while (n > 0 && authority.p[n - 1] != ':')
        n--;
    if (n < 2) /* RFC 9113 8.5: both host and port */
        return false;
    return port_of((struct http_text){authority.p + n, authority.n - n}, &t->port) &&
           host_of((struct http_text){authority.p, n - 1}, t);
}
