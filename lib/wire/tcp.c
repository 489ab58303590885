/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP (RFC 9293): the picture is in wire/tcp.h. */
#include "wire/tcp.h"

#include <assert.h>

#include "base/bytes.h"
#include "wire/error.h"

enum {
    FLAGS_READ = 0x1ff,
    FLAGS_SENT = 0xff,
    OPTIONS_MAX = TCP_HEADER_MAX - TCP_LEN,
};

/* Options (RFC 9293 3.2, RFC 7323, RFC 2018): all but the first two have a length, which counts
 * kind and length too. */
enum {
    OPTION_END = 0,
    OPTION_NOP = 1,
    OPTION_MSS = 2,
    OPTION_WSCALE = 3,
    OPTION_SACK_PERMITTED = 4,
    OPTION_SACK = 5,
    OPTION_TIMESTAMPS = 8,
};

enum {
    MSS_LEN = 4,
    WSCALE_LEN = 3,
    SACK_PERMITTED_LEN = 2,
    SACK_LEN = 2, /* and SACK_BLOCK_LEN for each block */
    SACK_BLOCK_LEN = 8,
    TIMESTAMPS_LEN = 10,
};

/* Of what we know, only the right length is possible. */
static bool right_len(uint8_t kind, uint8_t len)
{
    switch (kind) {
    case OPTION_MSS: return len == MSS_LEN;
    case OPTION_WSCALE: return len == WSCALE_LEN;
    case OPTION_SACK_PERMITTED: return len == SACK_PERMITTED_LEN;
    case OPTION_SACK: return len % SACK_BLOCK_LEN == SACK_LEN;
    case OPTION_TIMESTAMPS: return len == TIMESTAMPS_LEN;
    default: return true; /* RFC 9293 3.1, MUST-6 */
    }
}

/* Bytes of the option at `at`, of which left > 0 remain; 0 where its length is impossible (RFC 9293
 * 3.1, MUST-7). */
static size_t option_len(const uint8_t *at, size_t left)
{
    if (at[0] == OPTION_NOP)
        return 1;
    if (left < 2 || at[1] < 2 || at[1] > left || !right_len(at[0], at[1]))
        return 0;
    return at[1];
}

static void take_timestamps(const uint8_t *at, struct tcp_options *o)
{
    o->has_timestamps = true;
    o->ts_value = load_be32(at + 2);
    o->ts_echo = load_be32(at + 6);
}

static void take_sack(const uint8_t *at, size_t len, struct tcp_options *o)
{
    o->n_sack = (uint8_t)(len / SACK_BLOCK_LEN);
    at += SACK_LEN;
    for (unsigned i = 0; i < o->n_sack; i++, at += SACK_BLOCK_LEN)
        o->sack[i] = (struct tcp_sack){seq32(load_be32(at)), seq32(load_be32(at + 4))};
}

/* MSS, window scale and SACK-permitted in a SYN (RFC 9293 3.7.1, RFC 7323 2.2, RFC 2018 2). */
static void take_syn_option(const uint8_t *at, struct tcp_options *o)
{
    switch (at[0]) {
    case OPTION_MSS:
        if (o->has_mss)
            break;
        o->mss = load_be16(at + 2);
        o->has_mss = o->mss > 0;
        break;
    case OPTION_WSCALE:
        if (o->has_wscale)
            break;
        o->has_wscale = true;
        o->wscale = at[2] > TCP_WSCALE_MAX ? TCP_WSCALE_MAX : at[2]; /* RFC 7323 2.3 */
        break;
    case OPTION_SACK_PERMITTED: o->sack_permitted = true; break;
    default: break;
    }
}

static int read_options(const uint8_t *at, size_t len, bool syn, struct tcp_options *o)
{
    for (size_t i = 0; i < len && at[i] != OPTION_END;) {
        size_t n = option_len(at + i, len - i);
        if (n == 0)
            return -WIRE_TCP_OPTION;
        if (at[i] == OPTION_TIMESTAMPS && !o->has_timestamps)
            take_timestamps(at + i, o);
        else if (at[i] == OPTION_SACK && !syn && o->n_sack == 0)
            take_sack(at + i, n, o);
        else if (syn)
            take_syn_option(at + i, o);
        i += n;
    }
    return 0;
}

/* The layout of nearly all segments (RFC 7323, appendix A): two NOPs and timestamps. */
static bool only_timestamps(const uint8_t *at, size_t len)
{
    return len == TCP_TIMESTAMPS_LEN && load_be32(at) == UINT32_C(0x0101080a);
}

int tcp_parse(const uint8_t *at, size_t contiguous, size_t available, struct tcp_hdr *h)
{
    assert(contiguous <= available);
    if (contiguous < TCP_LEN)
        return -WIRE_TCP_SHORT;
    size_t header = (at[12] >> 4) * 4u;
    if (header < TCP_LEN || header > available)
        return -WIRE_TCP_OFFSET;
    if (header > contiguous)
        return -WIRE_TCP_SHORT;
    *h = (struct tcp_hdr){
        .src_port = load_be16(at),
        .dst_port = load_be16(at + 2),
        .seq = seq32(load_be32(at + 4)),
        .ack = seq32(load_be32(at + 8)),
        .flags = load_be16(at + 12) & FLAGS_READ, /* RFC 9293 3.1: reserved bits are ignored */
        .window = load_be16(at + 14),
        .urgent = load_be16(at + 18),
        .len = (uint8_t)header,
    };
    int error = 0;
    if (only_timestamps(at + TCP_LEN, header - TCP_LEN))
        take_timestamps(at + TCP_LEN + 2, &h->options);
    else
        error = read_options(at + TCP_LEN, header - TCP_LEN, h->flags & TCP_SYN, &h->options);
    return error ? error : (int)header;
}

/* Bytes of all options but SACK. */
static size_t plain_len(const struct tcp_options *o)
{
    size_t len = 0;
    if (o->has_mss)
        len += 4;
    if (o->has_wscale)
        len += 4;
    if (o->has_timestamps)
        len += TCP_TIMESTAMPS_LEN;
    else if (o->sack_permitted)
        len += 4;
    return len;
}

size_t tcp_header_len(const struct tcp_options *o)
{
    size_t len = TCP_LEN + plain_len(o);
    if (o->n_sack > 0)
        len += 4u + o->n_sack * (size_t)SACK_BLOCK_LEN;
    assert(len <= TCP_HEADER_MAX && "asked for what tcp_sack_room allows");
    return len;
}

unsigned tcp_sack_room(const struct tcp_options *o)
{
    return (unsigned)((OPTIONS_MAX - plain_len(o) - 4) / SACK_BLOCK_LEN);
}

/* A header is written word by word and summed on the way: read back, it would wait for its own
 * stores. */
struct words {
    uint8_t *at;
    uint64_t sum; /* in memory order, as in struct checksum */
};

static void put(struct words *w, uint32_t word)
{
    uint8_t in_memory[4];
    uint32_t v;
    store_be32(in_memory, word);
    memcpy(&v, in_memory, sizeof(v));
    memcpy(w->at, in_memory, sizeof(in_memory));
    w->at += 4;
    w->sum += v;
}

static uint32_t option_word(uint8_t b0, uint8_t b1, uint8_t b2, uint8_t b3)
{
    return (uint32_t)b0 << 24 | (uint32_t)b1 << 16 | (uint32_t)b2 << 8 | b3;
}

/* SACK-permitted takes the place of the NOPs in front of timestamps. */
static void put_timestamps(struct words *w, const struct tcp_options *o)
{
    if (o->sack_permitted)
        put(w, option_word(OPTION_SACK_PERMITTED, SACK_PERMITTED_LEN, OPTION_TIMESTAMPS,
                           TIMESTAMPS_LEN));
    else
        put(w, option_word(OPTION_NOP, OPTION_NOP, OPTION_TIMESTAMPS, TIMESTAMPS_LEN));
    put(w, o->ts_value);
    put(w, o->ts_echo);
}

static void put_sack(struct words *w, const struct tcp_options *o)
{
    uint8_t len = (uint8_t)(SACK_LEN + o->n_sack * SACK_BLOCK_LEN);
    put(w, option_word(OPTION_NOP, OPTION_NOP, OPTION_SACK, len));
    for (unsigned i = 0; i < o->n_sack; i++) {
        put(w, o->sack[i].left.v);
        put(w, o->sack[i].right.v);
    }
}

static void put_options(struct words *w, const struct tcp_options *o)
{
    if (o->has_mss)
        put(w, (uint32_t)OPTION_MSS << 24 | (uint32_t)MSS_LEN << 16 | o->mss);
    if (o->has_timestamps)
        put_timestamps(w, o);
    else if (o->sack_permitted)
        put(w, option_word(OPTION_NOP, OPTION_NOP, OPTION_SACK_PERMITTED, SACK_PERMITTED_LEN));
    if (o->has_wscale)
        put(w, option_word(OPTION_NOP, OPTION_WSCALE, WSCALE_LEN, o->wscale));
    if (o->n_sack > 0)
        put_sack(w, o);
}

static void check_options(const struct tcp_hdr *h)
{
    const struct tcp_options *o = &h->options;
    (void)o;
    if (h->flags & TCP_SYN)
        assert(o->n_sack == 0 && "a SYN has nothing to acknowledge selectively");
    else
        assert(!o->has_mss && !o->has_wscale && !o->sack_permitted && "only a SYN negotiates");
    assert(o->n_sack <= tcp_sack_room(o) && o->wscale <= TCP_WSCALE_MAX);
}

/* Writes the header with a checksum of zero. Returns its sum. */
static uint64_t put_header(const struct tcp_hdr *h, size_t len, uint8_t *dst)
{
    assert((h->flags & ~FLAGS_SENT) == 0 && "RFC 9768 is read, not spoken");
    check_options(h);
    struct words w = {.at = dst};
    put(&w, (uint32_t)h->src_port << 16 | h->dst_port);
    put(&w, h->seq.v);
    put(&w, h->ack.v);
    put(&w, (uint32_t)len << 26 | (uint32_t)h->flags << 16 | h->window);
    put(&w, h->urgent);
    put_options(&w, &h->options);
    assert(w.at == dst + len && "lengths and layout agree");
    return w.sum;
}

size_t tcp_emit(const struct tcp_hdr *h, struct checksum rest, uint8_t *dst)
{
    size_t len = tcp_header_len(&h->options);
    uint64_t header = put_header(h, len, dst);
    rest.sum += header;
    rest.sum += rest.sum < header; /* RFC 1071 2 C: the carry comes round */
    store_be16(dst + 16, checksum_finish(rest));
    return len;
}

size_t tcp_emit_offload(const struct tcp_hdr *h, struct checksum pseudo, uint8_t *dst)
{
    size_t len = tcp_header_len(&h->options);
    put_header(h, len, dst);
    store_be16(dst + 16, checksum_fold(pseudo));
    return len;
}
