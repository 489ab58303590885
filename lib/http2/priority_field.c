/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/priority_field.h"

#include <string.h>

/* What is left of the text. */
struct scan {
    const char *at;
    const char *end;
};

enum kind { BOOLEAN, INTEGER, OTHER };

struct item {
    enum kind kind;
    int64_t number; /* of BOOLEAN and INTEGER */
};

static char peek(const struct scan *s)
{
    return s->at < s->end ? *s->at : 0;
}

static bool take(struct scan *s, char c)
{
    bool is = s->at < s->end && *s->at == c;
    s->at += is;
    return is;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *these)
{
    return c && strchr(these, c);
}

static void spaces(struct scan *s)
{
    while (take(s, ' '))
        ;
}

/* OWS: also HTAB. */
static void blanks(struct scan *s)
{
    while (take(s, ' ') || take(s, '\t'))
        ;
}

/* RFC 8941 4.2.3.3. Empty: there is none. */
static struct http_text key(struct scan *s)
{
    struct http_text t = {.p = s->at};
    if (is_lower(peek(s)) || peek(s) == '*') {
        while (is_lower(peek(s)) || is_digit(peek(s)) || is_one_of(peek(s), "_-.*"))
            s->at++;
    }
    t.n = (uint32_t)(s->at - t.p);
    return t;
}

static unsigned digits(struct scan *s, int64_t *number)
{
    unsigned n = 0;
    for (; is_digit(peek(s)) && n < 16; n++)
        *number = *number * 10 + (*s->at++ - '0');
    return n;
}

/* RFC 8941 4.2.4 */
static bool number(struct scan *s, struct item *to)
{
    int64_t fraction = 0;
    bool minus = take(s, '-');
    *to = (struct item){.kind = INTEGER};
    unsigned whole = digits(s, &to->number);
    if (minus)
        to->number = -to->number;
    if (!take(s, '.'))
        return whole > 0 && whole <= 15;
    to->kind = OTHER;
    unsigned part = digits(s, &fraction);
    return whole > 0 && whole <= 12 && part > 0 && part <= 3;
}

/* RFC 8941 4.2.5 */
static bool string(struct scan *s)
{
    while (s->at < s->end && *s->at != '"') {
        if (*s->at < ' ' || *s->at > '~')
            return false;
        if (take(s, '\\') && !is_one_of(peek(s), "\"\\"))
            return false;
        s->at++;
    }
    return take(s, '"');
}

/* RFC 8941 4.2.6 */
static void token(struct scan *s)
{
    while (is_alpha(peek(s)) || is_digit(peek(s)) || is_one_of(peek(s), ":/!#$%&'*+-.^_`|~"))
        s->at++;
}

/* RFC 8941 4.2.7 */
static bool bytes(struct scan *s)
{
    while (is_alpha(peek(s)) || is_digit(peek(s)) || is_one_of(peek(s), "+/="))
        s->at++;
    return take(s, ':');
}

/* RFC 8941 4.2.3.1 */
static bool bare_item(struct scan *s, struct item *to)
{
    *to = (struct item){.kind = OTHER};
    if (peek(s) == '-' || is_digit(peek(s)))
        return number(s, to);
    if (take(s, '"'))
        return string(s);
    if (take(s, ':'))
        return bytes(s);
    if (take(s, '?')) {
        *to = (struct item){.kind = BOOLEAN, .number = peek(s) == '1'};
        return take(s, '0') || take(s, '1');
    }
    bool is_token = is_alpha(peek(s)) || peek(s) == '*';
    if (is_token)
        token(s);
    return is_token;
}

/* RFC 8941 4.2.3.2 */
static bool parameters(struct scan *s)
{
    struct item ignored;
    while (take(s, ';')) {
        spaces(s);
        if (key(s).n == 0 || (take(s, '=') && !bare_item(s, &ignored)))
            return false;
    }
    return true;
}

/* RFC 8941 4.2.1.2, behind its parenthesis */
static bool inner_list(struct scan *s)
{
    struct item ignored;
    for (spaces(s); !take(s, ')'); spaces(s)) {
        if (!bare_item(s, &ignored) || !parameters(s) || !is_one_of(peek(s), " )"))
            return false;
    }
    return true;
}

static bool member(struct scan *s, struct item *to)
{
    *to = (struct item){.kind = BOOLEAN, .number = 1};
    if (!take(s, '='))
        return parameters(s);
    if (!take(s, '('))
        return bare_item(s, to) && parameters(s);
    to->kind = OTHER;
    return inner_list(s) && parameters(s);
}

/* RFC 9218 4: of another type, or out of range, it is as if it were not there. */
static void apply(struct http_text name, const struct item *v, struct sched_priority *p)
{
    if (http_text_eq(name, HTTP_TEXT("u")) && v->kind == INTEGER && v->number >= 0 &&
        v->number < SCHED_URGENCIES)
        p->urgency = (uint8_t)v->number;
    if (http_text_eq(name, HTTP_TEXT("i")) && v->kind == BOOLEAN)
        p->incremental = v->number;
}

/* RFC 8941 4.2.2 */
bool h2_priority_field(struct http_text value, struct sched_priority *p)
{
    struct scan s = {value.p, value.p + value.n};
    struct sched_priority next = *p;
    blanks(&s);
    while (s.at < s.end) {
        struct item v;
        struct http_text name = key(&s);
        if (name.n == 0 || !member(&s, &v))
            return false;
        apply(name, &v, &next);
        blanks(&s);
        if (s.at == s.end)
            break;
        if (!take(&s, ','))
            return false;
        blanks(&s);
        if (s.at == s.end)
            return false;
    }
    *p = next;
    return true;
}
