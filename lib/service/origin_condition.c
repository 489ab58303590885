/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin_condition.h"

#define IF_MATCH            HTTP_TEXT("if-match")
#define IF_NONE_MATCH       HTTP_TEXT("if-none-match")
#define IF_MODIFIED_SINCE   HTTP_TEXT("if-modified-since")
#define IF_UNMODIFIED_SINCE HTTP_TEXT("if-unmodified-since")
#define RANGE               HTTP_TEXT("range")
#define IF_RANGE            HTTP_TEXT("if-range")

static unsigned when(struct http_text name, struct http_text is, unsigned condition)
{
    return http_text_eq(name, is) ? condition : 0;
}

unsigned origin_conditions(const struct http_head *h)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < h->n_fields; i++) {
        struct http_text name = h->field[i].name;
        switch (name.n) {
        case 5: found |= when(name, RANGE, ORIGIN_RANGE); break;
        case 8:
            found |= when(name, IF_MATCH, ORIGIN_IF_MATCH);
            found |= when(name, IF_RANGE, ORIGIN_IF_RANGE);
            break;
        case 13: found |= when(name, IF_NONE_MATCH, ORIGIN_IF_NONE_MATCH); break;
        case 17: found |= when(name, IF_MODIFIED_SINCE, ORIGIN_IF_MODIFIED_SINCE); break;
        case 19: found |= when(name, IF_UNMODIFIED_SINCE, ORIGIN_IF_UNMODIFIED_SINCE); break;
        default: break;
        }
    }
    return found;
}

/* ---- entity tags (RFC 9110 8.8.3) ---- */

struct rest {
    const char *p;
    const char *end;
};

/* The next entity tag of a list, in its quotes. False: there is none, or it is malformed. */
static bool next_tag(struct rest *r, bool *weak, struct http_text *tag)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == ','))
        r->p++;
    *weak = r->end - r->p >= 2 && r->p[0] == 'W' && r->p[1] == '/';
    if (*weak)
        r->p += 2;
    if (r->p == r->end || *r->p != '"')
        return false;
    const char *close = memchr(r->p + 1, '"', (size_t)(r->end - r->p - 1));
    if (!close)
        return false;
    *tag = (struct http_text){r->p, (uint32_t)(close + 1 - r->p)};
    r->p = close + 1;
    return true;
}

/* Is our tag, which is strong, in the list? "*" stands for any. */
static bool listed(struct http_text value, struct http_text etag, bool strongly)
{
    if (value.n == 1 && value.p[0] == '*')
        return true;
    if (value.n == 0)
        return false;
    struct rest r = {value.p, value.p + value.n};
    bool weak;
    struct http_text tag;
    while (next_tag(&r, &weak, &tag))
        if (!(weak && strongly) && http_text_eq(tag, etag))
            return true;
    return false;
}

/* In any line of that name: they are one list (RFC 9110 5.3). */
static bool any_listed(const struct http_head *h, struct http_text name, struct http_text etag,
                       bool strongly)
{
    for (uint32_t i = 0; i < h->n_fields; i++)
        if (http_text_eq(h->field[i].name, name) && listed(h->field[i].value, etag, strongly))
            return true;
    return false;
}

/* ---- conditions ---- */

/* The date of that field; false: it is none, or stands there twice, and so does not count. */
static bool date_of(const struct http_head *h, struct http_text name, uint64_t now,
                    uint64_t *second)
{
    const struct http_field *found = NULL;
    for (uint32_t i = 0; i < h->n_fields; i++) {
        if (!http_text_eq(h->field[i].name, name))
            continue;
        if (found)
            return false;
        found = &h->field[i];
    }
    return found && http_date_read(found->value, now, second);
}

/* RFC 9110 13.2.2, steps 1 and 2. */
static bool may_perform(const struct http_head *h, unsigned conditions,
                        const struct origin_item *item, uint64_t now)
{
    uint64_t since;
    if (conditions & ORIGIN_IF_MATCH)
        return any_listed(h, IF_MATCH, item->etag, true); /* RFC 9110 13.1.1 */
    if ((conditions & ORIGIN_IF_UNMODIFIED_SINCE) && item->modified > 0 &&
        date_of(h, IF_UNMODIFIED_SINCE, now, &since))
        return item->modified <= since; /* RFC 9110 13.1.4 */
    return true;
}

/* Steps 3 and 4. */
static bool is_known(const struct http_head *h, unsigned conditions, const struct origin_item *item,
                     uint64_t now)
{
    uint64_t since;
    if (conditions & ORIGIN_IF_NONE_MATCH)
        return any_listed(h, IF_NONE_MATCH, item->etag, false); /* RFC 9110 13.1.2 */
    if ((conditions & ORIGIN_IF_MODIFIED_SINCE) && item->modified > 0 &&
        date_of(h, IF_MODIFIED_SINCE, now, &since))
        return item->modified <= since; /* RFC 9110 13.1.3 */
    return false;
}

uint16_t origin_conditions_met(const struct http_head *h, unsigned conditions,
                               const struct origin_item *item, uint64_t now)
{
    if (!may_perform(h, conditions, item, now))
        return 412;
    return is_known(h, conditions, item, now) ? 304 : 200;
}

static uint32_t lines_of(const struct http_head *h, struct http_text name)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n_fields; i++)
        n += http_text_eq(h->field[i].name, name);
    return n;
}

/* Is the client's part of just this content? A date counts where it is the very one that we send
 * (RFC 9110 13.1.5). */
static bool is_same(struct http_text value, const struct origin_item *item, uint64_t now)
{
    uint64_t second;
    if (value.n >= 2 && (value.p[0] == '"' || value.p[1] == '/')) {
        struct rest r = {value.p, value.p + value.n};
        bool weak;
        struct http_text tag;
        return next_tag(&r, &weak, &tag) && !weak && r.p == r.end && http_text_eq(tag, item->etag);
    }
    return item->modified > 0 && http_date_read(value, now, &second) && second == item->modified;
}

bool origin_range_applies(const struct http_head *h, unsigned conditions,
                          const struct origin_item *item, uint64_t now)
{
    /* It is no list, and means nothing where it stands twice. */
    if (!(conditions & ORIGIN_RANGE) || lines_of(h, RANGE) > 1)
        return false;
    if (!(conditions & ORIGIN_IF_RANGE))
        return true;
    return lines_of(h, IF_RANGE) == 1 && is_same(http_field_find(h, IF_RANGE)->value, item, now);
}
