/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

/* Out */

struct options_out {
    uint8_t *at;
    size_t n;
    size_t max;
};

static void put(struct options_out *w, uint32_t value, unsigned bytes)
{
    for (unsigned i = bytes; i > 0; i--) {
        if (w->n < w->max)
            w->at[w->n] = (uint8_t)(value >> 8 * (i - 1));
        w->n++;
    }
}

static void put_head(struct options_out *w, const struct option *o, unsigned len)
{
    put(w, o->kind, 1);
    put(w, len, 1);
}

static void put_option(struct options_out *w, const struct option *o, const struct bases *b)
{
    switch (o->kind) {
    case OPTION_MSS:
        put_head(w, o, 4);
        put(w, o->value, 2);
        break;
    case OPTION_WSCALE:
        put_head(w, o, 3);
        put(w, o->value, 1);
        break;
    case OPTION_SACK_OK: put_head(w, o, 2); break;
    case OPTION_SACK:
        put_head(w, o, 2 + 8 * o->n);
        for (unsigned i = 0; i < o->n; i++) {
            put(w, b->ack + o->sack[i].left, 4);
            put(w, b->ack + o->sack[i].right, 4);
        }
        break;
    case OPTION_TS:
        put_head(w, o, 10);
        put(w, b->ts_value + o->value, 4);
        put(w, o->echo ? b->ts_echo + o->echo : 0, 4);
        break;
    case OPTION_HEX:
        for (unsigned i = 0; i < o->n; i++)
            put(w, o->hex[i], 1);
        break;
    default: put(w, o->kind, 1); break;
    }
}

size_t segment_emit(const struct segment *s, const struct bases *b, uint16_t src_port,
                    uint16_t dst_port, uint8_t *dst)
{
    struct options_out w = {.at = dst + 20, .max = SEGMENT_OPTIONS};
    for (unsigned i = 0; i < s->n_options; i++)
        put_option(&w, &s->option[i], b);
    while (w.n % 4)
        put(&w, OPTION_EOL, 1);
    if (w.n > w.max)
        return 0;
    size_t header = 20 + w.n;
    store_be16(dst, src_port);
    store_be16(dst + 2, dst_port);
    store_be32(dst + 4, b->seq + s->seq);
    store_be32(dst + 8, s->flags & FLAG_ACK ? b->ack + s->ack : 0);
    dst[12] = (uint8_t)(header / 4 << 4);
    dst[13] = (uint8_t)s->flags;
    store_be16(dst + 14, (uint16_t)s->window);
    store_be16(dst + 16, 0);
    store_be16(dst + 18, (uint16_t)s->urgent);
    return header;
}

/* In */

/* The length that each kind has; 0: any. */
static unsigned length_of(unsigned kind)
{
    switch (kind) {
    case OPTION_MSS: return 4;
    case OPTION_WSCALE: return 3;
    case OPTION_SACK_OK: return 2;
    case OPTION_TS: return 10;
    default: return 0;
    }
}

static const char *take_option(const uint8_t *at, unsigned len, const struct bases *b,
                               struct option *o)
{
    *o = (struct option){.kind = at[0]};
    if (length_of(o->kind) > 0 && length_of(o->kind) != len)
        return "an option of a wrong length";
    switch (o->kind) {
    case OPTION_MSS: o->value = load_be16(at + 2); break;
    case OPTION_WSCALE: o->value = at[2]; break;
    case OPTION_SACK_OK: break;
    case OPTION_TS:
        o->value = load_be32(at + 2) - b->ts_value;
        o->echo = load_be32(at + 6) ? load_be32(at + 6) - b->ts_echo : 0;
        break;
    case OPTION_SACK:
        o->n = (len - 2) / 8;
        if (len % 8 != 2 || o->n == 0 || o->n > 4)
            return "a SACK option of a wrong length";
        for (unsigned i = 0; i < o->n; i++) {
            o->sack[i].left = load_be32(at + 2 + 8 * i) - b->ack;
            o->sack[i].right = load_be32(at + 6 + 8 * i) - b->ack;
        }
        break;
    default: return "an option that nobody knows";
    }
    return NULL;
}

static const char *take_options(const uint8_t *at, size_t n, const struct bases *b,
                                struct segment *s)
{
    size_t i = 0;
    while (i < n && at[i] != OPTION_EOL) {
        if (at[i] == OPTION_NOP) {
            i++;
            continue;
        }
        if (i + 1 >= n || at[i + 1] < 2 || i + at[i + 1] > n)
            return "options that do not fit";
        const char *wrong = take_option(at + i, at[i + 1], b, &s->option[s->n_options++]);
        if (wrong)
            return wrong;
        i += at[i + 1];
    }
    for (; i < n; i++)
        if (at[i] != 0)
            return "padding that is not zero"; /* RFC 9293 3.1 */
    return NULL;
}

const char *segment_parse(const uint8_t *at, size_t n, const struct bases *b, struct segment *s,
                          size_t *header)
{
    *s = (struct segment){.ecn = -1, .content = 'O'};
    if (n < 20)
        return "a header cut short";
    *header = (size_t)(at[12] >> 4) * 4;
    if (*header < 20 || *header > n)
        return "a wrong data offset";
    if (at[12] & 0x0f)
        return "reserved bits"; /* RFC 9293 3.1 */
    s->flags = at[13];
    /* A reset of what is in no connection counts from nothing (RFC 9293 3.10.7.1). */
    bool from_nothing =
        (s->flags & (FLAG_R | FLAG_ACK)) == (FLAG_R | FLAG_ACK) && load_be32(at + 4) == 0;
    s->seq = from_nothing ? 0 : load_be32(at + 4) - b->seq;
    s->len = (uint32_t)(n - *header);
    s->has_ack = s->flags & FLAG_ACK;
    s->ack = s->has_ack ? load_be32(at + 8) - b->ack : 0;
    if (!s->has_ack && load_be32(at + 8) != 0)
        return "an acknowledgment number without ACK";
    s->has_window = true;
    s->window = load_be16(at + 14);
    s->urgent = load_be16(at + 18);
    if (s->urgent && !(s->flags & FLAG_U))
        return "an urgent pointer without URG";
    return take_options(at + 20, *header - 20, b, s);
}

/* Compared */

static bool is_padding(const struct option *o)
{
    return o->kind == OPTION_NOP || o->kind == OPTION_EOL;
}

static const struct option *find(const struct segment *s, unsigned kind)
{
    for (unsigned i = 0; i < s->n_options; i++)
        if (s->option[i].kind == kind)
            return &s->option[i];
    return NULL;
}

/* Of our own clock, which ticks each millisecond. */
static bool about(uint32_t is, uint32_t should)
{
    return is - should + 1 <= 2;
}

static bool option_is(const struct option *is, const struct option *should)
{
    if (should->kind == OPTION_TS)
        return (should->any_value || about(is->value, should->value)) &&
               (should->any_echo || is->echo == should->echo);
    if (is->n != should->n || (!should->any_value && is->value != should->value))
        return false;
    return memcmp(is->sack, should->sack, is->n * sizeof(is->sack[0])) == 0;
}

static const char *options_differ(const struct segment *is, const struct segment *should)
{
    unsigned expected = 0;
    for (unsigned i = 0; i < should->n_options; i++) {
        const struct option *o = &should->option[i];
        if (is_padding(o))
            continue;
        expected++;
        const struct option *found = find(is, o->kind);
        if (!found)
            return "an option is missing";
        if (!option_is(found, o))
            return "an option has another value";
    }
    return is->n_options == expected ? NULL : "there are other options";
}

const char *segment_differs(const struct segment *is, const struct segment *should)
{
    if (is->flow != should->flow)
        return "another connection";
    if ((is->flags ^ should->flags) & ~(unsigned)FLAG_P)
        return "other flags";
    if (is->seq != should->seq)
        return "another sequence number";
    if (is->len != should->len)
        return "another length";
    if (should->has_ack && is->ack != should->ack)
        return "another acknowledgment";
    if (should->has_window && is->window != should->window)
        return "another window";
    if (should->ecn >= 0 && is->ecn != should->ecn)
        return "another ECN field";
    if (is->urgent != should->urgent)
        return "another urgent pointer";
    return should->any_options ? NULL : options_differ(is, should);
}

/* As text */

struct text {
    char *at;
    size_t n;
};

static void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->at + t->n, SEGMENT_TEXT - t->n, format, ap);
    va_end(ap);
    t->n += (size_t)n;
    if (t->n >= SEGMENT_TEXT)
        t->n = SEGMENT_TEXT - 1;
}

static void say_number(struct text *t, uint32_t n)
{
    if (n < UINT32_C(0x80000000))
        say(t, "%u", n);
    else
        say(t, "-%u", -n);
}

static void say_option(struct text *t, const struct option *o)
{
    switch (o->kind) {
    case OPTION_EOL: say(t, "eol"); break;
    case OPTION_NOP: say(t, "nop"); break;
    case OPTION_MSS: say(t, "mss %u", o->value); break;
    case OPTION_WSCALE: say(t, "wscale %u", o->value); break;
    case OPTION_SACK_OK: say(t, "sackOK"); break;
    case OPTION_TS:
        say(t, "TS val ");
        say_number(t, o->value);
        say(t, " ecr ");
        say_number(t, o->echo);
        break;
    case OPTION_SACK:
        say(t, "sack");
        for (unsigned i = 0; i < o->n; i++) {
            say(t, " ");
            say_number(t, o->sack[i].left);
            say(t, ":");
            say_number(t, o->sack[i].right);
        }
        break;
    default: say(t, "hex ..."); break;
    }
}

static void say_flags(struct text *t, unsigned flags)
{
    static const char letters[] = "FSRP.UEW";
    static const unsigned order[] = {1, 0, 2, 3, 7, 6, 5, 4}; /* SFRPWEU. */
    for (unsigned i = 0; i < 8; i++)
        if (flags & 1u << order[i])
            say(t, "%c", letters[order[i]]);
    if (!flags)
        say(t, "-");
}

void segment_print(const struct segment *s, char text[SEGMENT_TEXT])
{
    static const char *const ecn[] = {"", "[ect1] ", "[ect0] ", "[ce] "};
    struct text t = {.at = text};
    text[0] = '\0';
    if (s->flow != 1)
        say(&t, "@%u ", s->flow);
    if (s->ecn > 0)
        say(&t, "%s", ecn[s->ecn]);
    say_flags(&t, s->flags);
    say(&t, " ");
    say_number(&t, s->seq);
    say(&t, ":");
    say_number(&t, s->seq + s->len);
    say(&t, "(%u)", s->len);
    if (s->has_ack) {
        say(&t, " ack ");
        say_number(&t, s->ack);
    }
    if (s->has_window)
        say(&t, " win %u", s->window);
    if (s->urgent)
        say(&t, " urg %u", s->urgent);
    if (s->any_options) {
        say(&t, " <...>");
        return;
    }
    for (unsigned i = 0; i < s->n_options; i++) {
        say(&t, i ? "," : " <");
        say_option(&t, &s->option[i]);
    }
    if (s->n_options > 0)
        say(&t, ">");
}
