/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SENDER_TALK_H
#define MILLRACE_TESTS_SENDER_TALK_H

/*
 * A sender to talk to, in segments of MSS bytes numbered from 0. What it sends is noted: new and
 * again. Sequence numbers pass the wrap within segment 2.
 */

#include <string.h>

#include "support/heap.h"
#include "support/unit.h"
#include "tcp/sender.h"

#define MSS  1000u
#define ISS  (0u - 2500u)
#define MS   TICK_MS
#define SENT 4096u

static struct heap heap;
static struct counters counters;
static struct tcp_sender s;
static struct sender_result result;
static tick_t now;
static tick_t echo;          /* of the next acknowledgment */
static uint32_t again[SENT]; /* segments sent again since the last expect_again */
static unsigned n_again;

static void talk_init(void)
{
    heap_init(&heap);
    memset(&counters, 0, sizeof(counters));
    now = 7 * TICK_SEC;
    echo = TICK_NEVER;
    n_again = 0;
    struct sender_args args = {.mem = &heap.mem,
                               .counters = &counters,
                               .iss = seq32(ISS),
                               .mss = MSS,
                               .congestion = TCP_NEWRENO,
                               .initial_window = 10,
                               .cwnd_max = 1u << 20,
                               .rto_min = 200 * MS,
                               .segments_max = 2048};
    sender_init(&s, &args);
}

static void talk_end(void)
{
    sender_fini(&s);
    ck_assert_uint_eq(heap.blocks, 0);
}

static inline void check(void)
{
    ck_assert(sender_ok(&s));
}

/* Where segment k begins. */
static inline seq32_t at(uint32_t k)
{
    return seq32(ISS + 1 + k * MSS);
}

static inline uint32_t segment_of(const struct tcp_seg *g)
{
    return (g->seq.v - ISS - 1) / MSS;
}

static inline void pass(tick_t t)
{
    now += t;
}

/* ---- sending ---- */

static inline void send_len(uint32_t len)
{
    ck_assert(sender_can_send(&s));
    sender_sent(&s, len, false, now);
    check();
}

/* n new segments, whatever the window says. */
static inline void push(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        send_len(MSS);
}

static inline void send_again(struct tcp_seg *g)
{
    ck_assert_uint_lt(n_again, SENT);
    again[n_again++] = segment_of(g);
    sender_resent(&s, g, now);
    check();
}

/* Sends what it may, new segments as far as there are `data`; returns how many of those went. */
static inline unsigned run(unsigned data)
{
    unsigned n = 0;
    for (;;) {
        uint32_t room = sender_room(&s);
        struct tcp_seg *g = sender_resend(&s);
        if (room > 0 && g)
            send_again(g);
        else if (n < data && (room >= MSS || (room > 0 && sender_idle(&s))))
            push(1), n++;
        else
            return n;
    }
}

#define expect_again(...)                                             \
    do {                                                              \
        const uint32_t want_[] = {__VA_ARGS__};                       \
        ck_assert_uint_eq(n_again, sizeof(want_) / sizeof(want_[0])); \
        ck_assert_mem_eq(again, want_, sizeof(want_));                \
        n_again = 0;                                                  \
    } while (0)

static inline void expect_none_again(void)
{
    ck_assert_uint_eq(n_again, 0);
}

/* ---- receiving ---- */

static inline void take_ack(seq32_t ack, const struct tcp_sack *sack, unsigned n, bool ece)
{
    struct sender_ack a = {
        .ack = ack, .sack = sack, .n_sack = n, .echoed = echo, .ece = ece, .plain = true};
    sender_ack(&s, &a, now, &result);
    echo = TICK_NEVER;
    check();
}

/* All before segment k has arrived. */
static inline void ack(uint32_t k)
{
    take_ack(at(k), NULL, 0, false);
}

/* And besides the segments from l up to r. */
static inline void sack(uint32_t k, uint32_t l, uint32_t r)
{
    struct tcp_sack b = {at(l), at(r)};
    take_ack(at(k), &b, 1, false);
}

static inline void sack2(uint32_t k, uint32_t l, uint32_t r, uint32_t l2, uint32_t r2)
{
    struct tcp_sack b[] = {{at(l), at(r)}, {at(l2), at(r2)}};
    take_ack(at(k), b, 2, false);
}

static inline void congestion_echo(uint32_t k)
{
    take_ack(at(k), NULL, 0, true);
}

/* The other side's next acknowledgment shows what was sent at t. */
static inline void echoes(tick_t t)
{
    echo = t - t % TICK_MS;
}

/* ---- time ---- */

/* The timer fires, now and no earlier. */
static inline enum sender_action fire(void)
{
    tick_t t = sender_deadline(&s);
    ck_assert_uint_ne(t, TICK_NEVER);
    ck_assert_uint_gt(t, now);
    ck_assert_int_eq(sender_expire(&s, t - 1), SENDER_NOTHING);
    ck_assert_uint_eq(sender_deadline(&s), t);
    now = t;
    enum sender_action action = sender_expire(&s, now);
    ck_assert_uint_gt(sender_deadline(&s), now);
    check();
    return action;
}

static inline uint64_t count(enum counter which)
{
    return counter_get(&counters, which);
}

/* ---- opening ---- */

/* A handshake with a round trip of rtt. */
static inline void open_talk(bool with_sack, tick_t rtt)
{
    send_len(1);
    pass(rtt);
    sender_negotiated(&s, with_sack, MSS);
    ack(0);
    ck_assert(sender_idle(&s));
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
}

/* n segments sent, and acknowledged a round trip later. */
static inline void warm(unsigned n, tick_t rtt)
{
    uint32_t k = (s.nxt.v - ISS - 1) / MSS;
    push(n);
    pass(rtt);
    ack(k + n);
}

#endif
