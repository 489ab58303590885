/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cookie:
 *
 *        0                                             24             31
 *       +----------------------------------------------+---------------+
 *       |         tag: hash of all, options too        | options ^ mask|
 *       +----------------------------------------------+---------------+
 *                                                     24   27     28 31
 *                                          options:   +-----+------+---+
 *                                                     | MSS | SACK | w |
 *                                                     +-----+------+---+
 *
 * The mask is a hash of the flow, the client's number and the period, so that nobody reads the
 * options of others or learns which are common; the tag covers the options too, so that each of
 * their values has one right tag.
 */
#include "tcp/cookie.h"

#include <assert.h>
#include <string.h>

#define WSCALE_NONE 15u

/* What clients say, less a little for each gap: at the head what an adversary or a very narrow
 * link says; then the defaults of IPv4 and IPv6, tunnels, Ethernet (IPv6, IPv4) and jumbo frames.
 */
static const uint16_t mss_of[8] = {64, 536, 1220, 1360, 1400, 1440, 1460, 8940};

/* The greatest that is not above mss; the least where all are. */
static unsigned mss_index(uint16_t mss)
{
    unsigned i = sizeof(mss_of) / sizeof(mss_of[0]) - 1;
    while (i > 0 && mss_of[i] > mss)
        i--;
    return i;
}

static uint8_t pack(const struct tcp_options *o, uint16_t mss_default)
{
    unsigned mss = mss_index(o->has_mss ? o->mss : mss_default);
    unsigned wscale = o->has_wscale ? o->wscale : WSCALE_NONE;
    assert(wscale <= WSCALE_NONE && (!o->has_wscale || wscale <= TCP_WSCALE_MAX));
    return (uint8_t)(mss << 5 | (unsigned)o->sack_permitted << 4 | wscale);
}

static struct tcp_options unpack(uint8_t options)
{
    unsigned wscale = options & 15u;
    struct tcp_options o = {
        .has_mss = true,
        .mss = mss_of[options >> 5],
        .sack_permitted = options & 16u,
        .has_wscale = wscale != WSCALE_NONE,
    };
    if (o.has_wscale)
        o.wscale = (uint8_t)wscale;
    return o;
}

/* What mask and tag have in common. */
static struct siphash_state start(const struct siphash_key *secret, const struct flow_key *flow,
                                  seq32_t seq, uint64_t period)
{
    uint64_t word[5];
    _Static_assert(sizeof(word) == sizeof(*flow), "all of it");
    memcpy(word, flow, sizeof(word));
    struct siphash_state s = siphash_start(secret);
    for (unsigned i = 0; i < 5; i++)
        siphash_compress(&s, word[i], 2);
    siphash_compress(&s, seq.v, 2);
    siphash_compress(&s, period, 2);
    return s;
}

/* SipHash-2-4 of that and one byte or none more. */
static uint8_t mask_of(struct siphash_state s)
{
    siphash_compress(&s, UINT64_C(56) << 56, 2);
    return (uint8_t)siphash_finish(&s, 4);
}

static uint32_t tag_of(struct siphash_state s, uint8_t options)
{
    siphash_compress(&s, UINT64_C(57) << 56 | options, 2);
    return (uint32_t)siphash_finish(&s, 4) & UINT32_C(0xffffff);
}

seq32_t tcp_cookie(const struct siphash_key *secret, const struct flow_key *flow,
                   const struct tcp_hdr *syn, uint16_t mss_default, tick_t now)
{
    struct siphash_state s = start(secret, flow, syn->seq, now / TCP_COOKIE_PERIOD);
    uint8_t options = pack(&syn->options, mss_default);
    return seq32(tag_of(s, options) << 8 | (options ^ mask_of(s)));
}

/* Is it one of that period? */
static bool check(struct siphash_state s, uint32_t cookie, uint8_t *options)
{
    *options = (uint8_t)cookie ^ mask_of(s);
    return cookie >> 8 == tag_of(s, *options);
}

static void fill_syn(const struct tcp_hdr *ack, seq32_t seq, uint8_t options, struct tcp_hdr *syn)
{
    *syn = (struct tcp_hdr){
        .src_port = ack->src_port,
        .dst_port = ack->dst_port,
        .seq = seq,
        .flags = TCP_SYN,
        .options = unpack(options),
    };
    syn->options.has_timestamps = ack->options.has_timestamps;
    syn->options.ts_value = ack->options.ts_value;
}

bool tcp_cookie_check(const struct siphash_key *secret, const struct flow_key *flow,
                      const struct tcp_hdr *ack, tick_t now, struct tcp_hdr *syn)
{
    if ((ack->flags & (TCP_ACK | TCP_SYN | TCP_RST)) != TCP_ACK)
        return false;
    uint32_t cookie = seq32_sub(ack->ack, 1).v;
    seq32_t seq = seq32_sub(ack->seq, 1);
    uint64_t period = now / TCP_COOKIE_PERIOD;
    for (uint64_t age = 0; age <= 1 && age <= period; age++) {
        uint8_t options;
        if (check(start(secret, flow, seq, period - age), cookie, &options)) {
            fill_syn(ack, seq, options, syn);
            return true;
        }
    }
    return false;
}
