/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/cookie.h"

#include <string.h>

#include "base/rng.h"
#include "support/unit.h"
#include "wire/proto.h"

static const struct siphash_key secret = {UINT64_C(0x0706050403020100),
                                          UINT64_C(0x0f0e0d0c0b0a0908)};
static struct flow_key flow;

static void setup(void)
{
    struct ip_addr us = ip_from_v4(0xc0000201);
    struct ip_addr peer = ip_from_v4(0xc0000202);
    flow = flow_key_of(&us, 7, &peer, 40000, IP_PROTO_TCP);
}

static struct tcp_hdr syn_of(const struct tcp_options *o)
{
    return (struct tcp_hdr){.src_port = 40000,
                            .dst_port = 7,
                            .seq = seq32(0xffffffff),
                            .flags = TCP_SYN,
                            .window = 64240,
                            .options = *o};
}

/* The client's ACK of a SYN-ACK with this number. */
static struct tcp_hdr ack_of(const struct tcp_hdr *syn, seq32_t iss)
{
    struct tcp_hdr h = *syn;
    h.flags = TCP_ACK;
    h.seq = seq32_add(syn->seq, 1);
    h.ack = seq32_add(iss, 1);
    h.options = (struct tcp_options){.has_timestamps = syn->options.has_timestamps,
                                     .ts_value = syn->options.ts_value + 20,
                                     .ts_echo = 99};
    return h;
}

static const struct tcp_options usual = {.has_mss = true,
                                         .mss = 1460,
                                         .has_wscale = true,
                                         .wscale = 7,
                                         .sack_permitted = true,
                                         .has_timestamps = true,
                                         .ts_value = 1000};

/* A SYN at `then`, its ACK at `now`. */
static bool back(const struct tcp_options *o, uint16_t mss_default, tick_t then, tick_t now,
                 struct tcp_hdr *got)
{
    struct tcp_hdr syn = syn_of(o);
    struct tcp_hdr ack = ack_of(&syn, tcp_cookie(&secret, &flow, &syn, mss_default, then));
    return tcp_cookie_check(&secret, &flow, &ack, now, got);
}

static bool valid(tick_t then, tick_t now)
{
    struct tcp_hdr got;
    return back(&usual, 536, then, now, &got);
}

START_TEST(brings_back_what_the_syn_said)
{
    struct tcp_hdr got;
    ck_assert(back(&usual, 536, TICK_SEC, TICK_SEC + 30 * TICK_MS, &got));
    ck_assert_uint_eq(got.src_port, 40000);
    ck_assert_uint_eq(got.dst_port, 7);
    ck_assert_uint_eq(got.seq.v, 0xffffffff);
    ck_assert_uint_eq(got.flags, TCP_SYN);
    ck_assert(got.options.has_mss && got.options.has_wscale && got.options.sack_permitted);
    ck_assert_uint_eq(got.options.mss, 1460);
    ck_assert_uint_eq(got.options.wscale, 7);
    ck_assert(got.options.has_timestamps);
    ck_assert_uint_eq(got.options.ts_value, 1020);
    ck_assert_uint_eq(got.options.n_sack, 0);
}
END_TEST

START_TEST(every_combination_of_options_survives)
{
    static const uint16_t mss[] = {64, 536, 1220, 1360, 1400, 1440, 1460, 8940};
    struct tcp_hdr got;
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned rest = 0; rest < 16 * 4; rest++) {
            struct tcp_options o = {.has_mss = true, .mss = mss[i]};
            o.has_wscale = rest % 16 != 15;
            o.wscale = (uint8_t)(o.has_wscale ? rest % 16 : 0);
            o.sack_permitted = rest & 16;
            o.has_timestamps = rest & 32;
            ck_assert(back(&o, 536, 0, 0, &got));
            ck_assert_uint_eq(got.options.mss, mss[i]);
            ck_assert_int_eq(got.options.has_wscale, o.has_wscale);
            ck_assert_uint_eq(got.options.wscale, o.wscale);
            ck_assert_int_eq(got.options.sack_permitted, o.sack_permitted);
            ck_assert_int_eq(got.options.has_timestamps, o.has_timestamps);
        }
    }
}
END_TEST

START_TEST(an_mss_comes_back_no_larger)
{
    struct tcp_hdr got;
    uint16_t last = 0;
    for (uint32_t mss = 64; mss <= 65535; mss += mss < 9000 ? 1 : 997) {
        struct tcp_options o = {.has_mss = true, .mss = (uint16_t)mss};
        ck_assert(back(&o, 536, 0, 0, &got));
        ck_assert_uint_le(got.options.mss, mss);
        ck_assert_uint_ge(got.options.mss, last);
        last = got.options.mss;
    }
    /* What Ethernet leaves beside PPPoE and 20 bytes of tunnel. */
    struct tcp_options o = {.has_mss = true, .mss = 1452};
    ck_assert(back(&o, 536, 0, 0, &got));
    ck_assert_uint_eq(got.options.mss, 1440);
}
END_TEST

START_TEST(the_least_mss_stands_for_all_below)
{
    struct tcp_hdr got;
    for (uint16_t mss = 1; mss <= 64; mss++) {
        struct tcp_options o = {.has_mss = true, .mss = mss};
        ck_assert(back(&o, 536, 0, 0, &got));
        ck_assert_uint_eq(got.options.mss, 64);
    }
}
END_TEST

START_TEST(without_an_mss_the_default_counts)
{
    static const struct tcp_options none = {.sack_permitted = true};
    struct tcp_hdr got;
    ck_assert(back(&none, TCP_MSS_DEFAULT4, 0, 0, &got));
    ck_assert(got.options.has_mss);
    ck_assert_uint_eq(got.options.mss, TCP_MSS_DEFAULT4);
    ck_assert(back(&none, TCP_MSS_DEFAULT6, 0, 0, &got));
    ck_assert_uint_eq(got.options.mss, TCP_MSS_DEFAULT6);
}
END_TEST

START_TEST(timestamps_are_the_acks)
{
    struct tcp_hdr syn = syn_of(&usual);
    struct tcp_hdr ack = ack_of(&syn, tcp_cookie(&secret, &flow, &syn, 536, 0));
    ack.options = (struct tcp_options){0};
    struct tcp_hdr got;
    ck_assert(tcp_cookie_check(&secret, &flow, &ack, 0, &got));
    ck_assert(!got.options.has_timestamps);
}
END_TEST

START_TEST(is_valid_for_one_to_two_periods)
{
    const tick_t period = TCP_COOKIE_PERIOD;
    /* Given out at a period's start, or at its end. */
    ck_assert(valid(3 * period, 3 * period));
    ck_assert(valid(3 * period, 5 * period - 1));
    ck_assert(!valid(3 * period, 5 * period));
    ck_assert(valid(4 * period - 1, 5 * period - 1));
    ck_assert(!valid(4 * period - 1, 5 * period));
    ck_assert(!valid(3 * period, 1000 * period));
    /* Nor before it was given out. */
    ck_assert(!valid(3 * period, 3 * period - 1));
}
END_TEST

START_TEST(works_from_the_first_tick_on)
{
    ck_assert(valid(0, 0));
    ck_assert(valid(0, TCP_COOKIE_PERIOD));
    ck_assert(!valid(0, 2 * TCP_COOKIE_PERIOD));
}
END_TEST

START_TEST(a_flipped_bit_is_refused)
{
    struct tcp_hdr syn = syn_of(&usual);
    struct tcp_hdr good = ack_of(&syn, tcp_cookie(&secret, &flow, &syn, 536, 0));
    struct tcp_hdr got;
    for (unsigned bit = 0; bit < 32; bit++) {
        struct tcp_hdr ack = good;
        ack.ack.v = ((good.ack.v - 1) ^ UINT32_C(1) << bit) + 1;
        ck_assert(!tcp_cookie_check(&secret, &flow, &ack, 0, &got));
        ack = good;
        ack.seq.v ^= UINT32_C(1) << bit;
        ck_assert(!tcp_cookie_check(&secret, &flow, &ack, 0, &got));
    }
    for (size_t bit = 0; bit < 8 * offsetof(struct flow_key, zero); bit++) {
        struct flow_key other = flow;
        ((uint8_t *)&other)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert(!tcp_cookie_check(&secret, &other, &good, 0, &got));
    }
    for (unsigned bit = 0; bit < 128; bit++) {
        struct siphash_key other = secret;
        *(bit < 64 ? &other.k0 : &other.k1) ^= UINT64_C(1) << bit % 64;
        ck_assert(!tcp_cookie_check(&other, &flow, &good, 0, &got));
    }
    ck_assert(tcp_cookie_check(&secret, &flow, &good, 0, &got));
}
END_TEST

START_TEST(guessing_does_not_pay)
{
    /* Two periods with one right tag in 2^24 each: 100,000 guesses hit 0.012 times. */
    struct rng r;
    rng_seed(&r, 4987);
    unsigned hits = 0;
    for (int i = 0; i < 100000; i++) {
        struct tcp_hdr ack = {
            .flags = TCP_ACK, .seq = seq32(rng_u32(&r)), .ack = seq32(rng_u32(&r))};
        struct tcp_hdr got;
        hits += tcp_cookie_check(&secret, &flow, &ack, 100 * TCP_COOKIE_PERIOD, &got);
    }
    ck_assert_uint_le(hits, 1);
}
END_TEST

START_TEST(only_an_ack_of_a_handshake_will_do)
{
    struct tcp_hdr syn = syn_of(&usual);
    struct tcp_hdr ack = ack_of(&syn, tcp_cookie(&secret, &flow, &syn, 536, 0));
    struct tcp_hdr got;
    static const uint16_t bad[] = {0,       TCP_SYN,           TCP_SYN | TCP_ACK,
                                   TCP_RST, TCP_RST | TCP_ACK, TCP_FIN};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ack.flags = bad[i];
        ck_assert(!tcp_cookie_check(&secret, &flow, &ack, 0, &got));
    }
    static const uint16_t good[] = {TCP_ACK, TCP_ACK | TCP_PSH, TCP_ACK | TCP_FIN};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ack.flags = good[i];
        ck_assert(tcp_cookie_check(&secret, &flow, &ack, 0, &got));
    }
}
END_TEST

START_TEST(numbers_wrap)
{
    for (uint32_t i = 0; i < 32; i++) {
        struct tcp_hdr syn = syn_of(&usual);
        syn.seq = seq32_add(seq32(0xfffffff0), i);
        struct tcp_hdr ack = ack_of(&syn, tcp_cookie(&secret, &flow, &syn, 536, 0));
        struct tcp_hdr got;
        ck_assert(tcp_cookie_check(&secret, &flow, &ack, 0, &got));
        ck_assert_uint_eq(got.seq.v, syn.seq.v);
    }
}
END_TEST

static uint64_t hash(seq32_t seq, uint64_t period, const uint8_t *options)
{
    uint8_t text[57];
    memcpy(text, &flow, 40);
    for (unsigned i = 0; i < 8; i++) {
        text[40 + i] = (uint8_t)((uint64_t)seq.v >> 8 * i);
        text[48 + i] = (uint8_t)(period >> 8 * i);
    }
    if (options)
        text[56] = *options;
    return siphash24(&secret, text, options ? 57 : 56);
}

START_TEST(tag_and_mask_are_siphash)
{
    struct tcp_hdr syn = syn_of(&usual);
    uint32_t cookie = tcp_cookie(&secret, &flow, &syn, 536, 9 * TCP_COOKIE_PERIOD).v;
    const uint8_t options = 6 << 5 | 1 << 4 | 7; /* MSS 1460, SACK, window scale 7 */
    ck_assert_uint_eq(cookie >> 8, hash(syn.seq, 9, &options) & 0xffffff);
    ck_assert_uint_eq(cookie & 0xff, options ^ (hash(syn.seq, 9, NULL) & 0xff));
}
END_TEST

START_TEST(options_do_not_show)
{
    /* The low byte of a number says nothing of the options behind it: over many clients all values
     * come about as often. */
    unsigned count[256] = {0};
    for (unsigned i = 0; i < 65536; i++) {
        struct tcp_hdr syn = syn_of(&usual);
        flow.remote_port = (uint16_t)i;
        count[tcp_cookie(&secret, &flow, &syn, 536, 0).v & 0xff]++;
    }
    for (unsigned i = 0; i < 256; i++) {
        ck_assert_uint_gt(count[i], 256 - 6 * 16);
        ck_assert_uint_lt(count[i], 256 + 6 * 16);
    }
}
END_TEST

UNIT_MAIN("cookie", setup, NULL, brings_back_what_the_syn_said,
          every_combination_of_options_survives, an_mss_comes_back_no_larger,
          the_least_mss_stands_for_all_below, without_an_mss_the_default_counts,
          timestamps_are_the_acks, is_valid_for_one_to_two_periods, works_from_the_first_tick_on,
          a_flipped_bit_is_refused, guessing_does_not_pay, only_an_ack_of_a_handshake_will_do,
          numbers_wrap, tag_and_mask_are_siphash, options_do_not_show)
