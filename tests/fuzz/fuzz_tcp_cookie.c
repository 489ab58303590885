/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ACK is a cookie's just where one of the cookies that the client may have been given, with
 * whatever options, in this period or the one before, has its number: the model tries all of them.
 * ACKs are random, or answer a cookie and are then bent a little.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tcp/cookie.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

static const uint16_t mss[8] = {64, 536, 1220, 1360, 1400, 1440, 1460, 8940};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tcp_options options_of(unsigned n)
{
    struct tcp_options o = {.has_mss = true, .mss = mss[n >> 5], .sack_permitted = n & 16};
    o.has_wscale = (n & 15) != 15;
    o.wscale = (uint8_t)(o.has_wscale ? n & 15 : 0);
    return o;
}

static bool same(const struct tcp_options *a, const struct tcp_options *b)
{
    return a->has_mss && a->mss == b->mss && a->has_wscale == b->has_wscale &&
           a->wscale == b->wscale && a->sack_permitted == b->sack_permitted;
}

/* Some cookie given out at `then` to the client at seq that has this number. */
static bool given(const struct siphash_key *secret, const struct flow_key *flow, seq32_t seq,
                  seq32_t cookie, tick_t then, struct tcp_options *o)
{
    for (unsigned n = 0; n < 256; n++) {
        *o = options_of(n);
        struct tcp_hdr syn = {.flags = TCP_SYN, .seq = seq, .options = *o};
        if (seq32_eq(tcp_cookie(secret, flow, &syn, 536, then), cookie))
            return true;
    }
    return false;
}

static void check(const struct siphash_key *secret, const struct flow_key *flow,
                  const struct tcp_hdr *ack, tick_t now)
{
    seq32_t seq = seq32_sub(ack->seq, 1);
    seq32_t cookie = seq32_sub(ack->ack, 1);
    struct tcp_options o;
    bool right =
        given(secret, flow, seq, cookie, now, &o) ||
        (now >= TCP_COOKIE_PERIOD && given(secret, flow, seq, cookie, now - TCP_COOKIE_PERIOD, &o));
    struct tcp_hdr syn;
    require(tcp_cookie_check(secret, flow, ack, now, &syn) == right);
    if (!right)
        return;
    require(same(&syn.options, &o) && seq32_eq(syn.seq, seq) && syn.flags == TCP_SYN);
    require(syn.src_port == ack->src_port && syn.dst_port == ack->dst_port);
    require(syn.options.has_timestamps == ack->options.has_timestamps);
    require(syn.options.ts_value == ack->options.ts_value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_of(data, size);
    struct siphash_key secret = {reader_u16(&r), reader_u8(&r)};
    struct ip_addr us = ip_from_v4(0xc0000201);
    struct ip_addr peer = ip_from_v4(0xc0000200 | reader_u8(&r));
    struct flow_key flow = flow_key_of(&us, 7, &peer, reader_u16(&r), IP_PROTO_TCP);
    tick_t then = (tick_t)reader_u32(&r) * TICK_MS * 64;
    struct tcp_hdr syn = {.flags = TCP_SYN, .seq = seq32(reader_u32(&r))};
    syn.options = options_of(reader_u8(&r));
    struct tcp_hdr ack = {.src_port = flow.remote_port, .dst_port = 7, .flags = TCP_ACK};
    ack.seq = seq32_add(syn.seq, 1);
    ack.ack = seq32_add(tcp_cookie(&secret, &flow, &syn, 536, then), 1);
    ack.options.has_timestamps = syn.options.sack_permitted;
    ack.options.ts_value = ack.options.has_timestamps ? reader_u32(&r) : 0;
    check(&secret, &flow, &ack, then);

    /* Later, and bent. */
    tick_t now = then + (tick_t)reader_u8(&r) * TICK_SEC;
    ack.ack.v ^= (uint32_t)reader_u8(&r) << (reader_u8(&r) & 24);
    ack.seq.v ^= (uint32_t)reader_u8(&r) << (reader_u8(&r) & 24);
    flow.remote_port ^= reader_u8(&r);
    check(&secret, &flow, &ack, now);
    return 0;
}
