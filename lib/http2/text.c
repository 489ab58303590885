/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/text.h"

#include <string.h>

enum { NAME = 0x01, VALUE = 0x02, TOKEN = 0x04, PATH = 0x08, HOST = 0x10, LITERAL = 0x20 };

#define HIGH 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a

/* What each byte may be in. Row by row 00, 10, SP, "0", "@", "P", "`", "p", and those above ASCII.
 */
/* clang-format off */
static const uint8_t class_of[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0x02, 0x1f, 0x0a, 0x07, 0x1f, 0x1f, 0x1f, 0x1f, 0x1a, 0x1a, 0x1f, 0x1f, 0x1a, 0x1f, 0x3f, 0x0a,
    0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x2a, 0x1a, 0x0a, 0x1a, 0x0a, 0x0a,
    0x0a, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e,
    0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x0a, 0x0a, 0x0a, 0x0f, 0x1f,
    0x0f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f,
    0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x0a, 0x0f, 0x0a, 0x1f, 0,
    HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH,
    HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH, HIGH,
};
/* clang-format on */

/* The first byte from `at` on that is not in the class; t.n: none. */
static uint32_t span(struct http_text t, uint32_t at, uint8_t class)
{
    while (at < t.n && (class_of[(uint8_t)t.p[at]] & class))
        at++;
    return at;
}

static bool all(struct http_text t, uint8_t class)
{
    return span(t, 0, class) == t.n;
}

/* ---- eight bytes at a time; byte order does not matter ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define TOPS       EACH(0x80)

static uint64_t word_at(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return w;
}

/* Nonzero: a byte of w is below `least`, which is at most 0x80. */
static uint64_t below(uint64_t w, uint8_t least)
{
    return (w - EACH(least)) & ~w & TOPS;
}

static uint64_t equals(uint64_t w, uint8_t byte)
{
    return below(w ^ EACH(byte), 1);
}

/* Nonzero: a byte of w is neither a lower case letter nor "-". */
static uint64_t not_name(uint64_t w)
{
    uint64_t low = w & ~TOPS;
    uint64_t letter = (low + EACH(0x80 - 'a')) & ~(low + EACH(0x7f - 'z'));
    uint64_t dash = ~((low ^ EACH('-')) + EACH(0x7f));
    return ((letter | dash) & ~w & TOPS) ^ TOPS;
}

static uint64_t not_value(uint64_t w)
{
    return below(w, ' ') | equals(w, 0x7f);
}

static uint64_t not_path(uint64_t w)
{
    return below(w, '!') | equals(w, 0x7f) | equals(w, '#');
}

/* False: of some byte it is not certain, or there are too few. The last word overlaps the one
 * before. */
static inline bool by_words(struct http_text t, uint64_t (*not_certain)(uint64_t))
{
    if (t.n < 8)
        return false;
    for (uint32_t at = 0; at + 8 <= t.n; at += 8)
        if (not_certain(word_at(t.p + at)))
            return false;
    return !not_certain(word_at(t.p + t.n - 8));
}

bool h2_text_is_name(struct http_text t)
{
    return t.n > 0 && (by_words(t, not_name) || all(t, NAME));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool h2_text_is_value(struct http_text t)
{
    return t.n == 0 || (!is_blank(t.p[0]) && !is_blank(t.p[t.n - 1]) &&
                        (by_words(t, not_value) || all(t, VALUE)));
}

bool h2_text_is_token(struct http_text t)
{
    return t.n > 0 && all(t, TOKEN);
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool h2_text_is_scheme(struct http_text t)
{
    if (t.n == 0 || !is_alpha(t.p[0]))
        return false;
    for (uint32_t i = 1; i < t.n; i++) {
        char c = t.p[i];
        if (!is_alpha(c) && !is_digit(c) && c != '+' && c != '-' && c != '.')
            return false;
    }
    return true;
}

bool h2_text_is_path(struct http_text t)
{
    return t.n > 0 && t.p[0] == '/' && (by_words(t, not_path) || all(t, PATH));
}

/* One past its last byte; 0: it has none. */
static uint32_t host_end(struct http_text t)
{
    if (t.n == 0 || t.p[0] != '[')
        return span(t, 0, HOST);
    uint32_t at = span(t, 1, LITERAL);
    return at > 1 && at < t.n && t.p[at] == ']' ? at + 1 : 0;
}

static bool is_port(struct http_text t)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < t.n; i++) {
        if (!is_digit(t.p[i]))
            return false;
        number = number * 10 + (uint32_t)(t.p[i] - '0');
        if (number > UINT16_MAX)
            return false;
    }
    return true;
}

/* Only what an IPv6 address is made of, and like one more than one colon? */
static bool is_bare_ipv6(struct http_text t)
{
    const char *colon = t.n > 0 ? memchr(t.p, ':', t.n) : NULL;
    return colon && span(t, 0, LITERAL) == t.n &&
           memchr(colon + 1, ':', t.n - (uint32_t)(colon + 1 - t.p));
}

bool h2_text_is_authority(struct http_text t, struct h2_authority *a)
{
    if (is_bare_ipv6(t)) {
        *a = (struct h2_authority){.host = t};
        return true;
    }
    uint32_t end = host_end(t);
    *a = (struct h2_authority){.host = {t.p, end}};
    if (end == 0 || end == t.n)
        return end > 0;
    a->port = (struct http_text){t.p + end + 1, t.n - end - 1};
    return t.p[end] == ':' && is_port(a->port);
}

static uint8_t lower(char c)
{
    return (uint8_t)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

bool h2_text_eq_nocase(struct http_text a, struct http_text b)
{
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}
