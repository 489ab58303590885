/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/sender.h"

#include "sender_net.h"
#include "sender_talk.h"

#define RTT (100 * MS)

static void setup(void)
{
    talk_init();
    open_talk(true, RTT);
}

/* ---- sending ---- */

START_TEST(sends_a_window)
{
    ck_assert_uint_eq(run(100), 10);
    ck_assert_uint_eq(sender_room(&s), 0);
    ck_assert_uint_eq(sender_in_flight(&s), 10 * MSS);
    pass(RTT);
    ack(2);
    ck_assert_uint_eq(s.cc.cwnd, 12 * MSS);
    ck_assert_uint_eq(run(100), 4);
}
END_TEST

START_TEST(a_window_that_is_not_used_does_not_grow)
{
    push(3);
    pass(RTT);
    ack(3);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
    ck_assert_uint_eq(run(10), 10);
    pass(RTT);
    ack(13);
    uint32_t grown = s.cc.cwnd;
    ck_assert_uint_gt(grown, 10 * MSS);
    push(1); /* the application has little to say again */
    pass(RTT);
    ack(14);
    push(1);
    pass(RTT);
    ack(15);
    ck_assert_uint_eq(s.cc.cwnd, grown);
}
END_TEST

START_TEST(half_a_window_in_flight_lets_slow_start_go_on)
{
    push(6); /* the rest waits for its pace */
    pass(RTT);
    ack(6);
    ck_assert_uint_gt(s.cc.cwnd, 10 * MSS);
}
END_TEST

START_TEST(wakes_with_the_initial_window)
{
    for (uint32_t k = 0; k < 40; k += 10) {
        run(10);
        pass(RTT);
        ack(k + 10);
    }
    uint32_t cwnd = s.cc.cwnd;
    ck_assert_uint_gt(cwnd, 10 * MSS);
    pass(s.rtt.rto - RTT);
    sender_wakes(&s, now);
    ck_assert_uint_eq(s.cc.cwnd, cwnd);
    pass(1);
    sender_wakes(&s, now);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
}
END_TEST

START_TEST(records_are_bounded)
{
    for (unsigned i = 0; i < 2048; i++) {
        ck_assert(sender_can_send(&s));
        sender_sent(&s, 1, false, now);
    }
    ck_assert(!sender_can_send(&s));
    pass(RTT);
    take_ack(seq32_add(s.una, 1), NULL, 0, false);
    ck_assert(sender_can_send(&s));
}
END_TEST

START_TEST(without_memory_nothing_is_sent)
{
    sender_tidy(&s);
    heap.limit = heap.bytes;
    ck_assert(!sender_can_send(&s));
    heap.limit = SIZE_MAX;
    ck_assert(sender_can_send(&s));
}
END_TEST

START_TEST(an_idle_one_gives_its_memory_back)
{
    ck_assert_uint_gt(heap.bytes, 0);
    sender_tidy(&s);
    ck_assert_uint_eq(heap.bytes, 0);
    warm(3, RTT);
    ck_assert_uint_eq(s.una.v, at(3).v);
}
END_TEST

START_TEST(costs_little)
{
    ck_assert_uint_le(sizeof(struct tcp_sender), 376);
}
END_TEST

START_TEST(acknowledges_a_part_of_a_segment)
{
    push(3);
    pass(RTT);
    take_ack(seq32_add(at(1), 300), NULL, 0, false);
    ck_assert_uint_eq(result.acked, MSS + 300);
    ck_assert_uint_eq(sender_in_flight(&s), 2 * MSS - 300);
    ck_assert_uint_eq(sender_last(&s)->seq.v, at(2).v);
    ack(3);
    ck_assert_uint_eq(result.acked, 2 * MSS - 300);
    ck_assert_ptr_null(sender_last(&s));
}
END_TEST

/* ---- samples ---- */

START_TEST(samples_what_was_sent_once)
{
    push(1);
    pass(30 * MS);
    push(1);
    pass(50 * MS);
    ack(2); /* the acknowledgment waited for the second */
    ck_assert_uint_eq(s.rtt.srtt, (15 * RTT + 80 * MS) / 16); /* one of two in a round trip */
    ck_assert_uint_eq(s.rtt.min, 50 * MS);
}
END_TEST

START_TEST(without_sack_a_filled_hole_is_no_sample)
{
    s.sack = false;
    push(6);
    pass(RTT);
    for (unsigned i = 0; i < 3; i++)
        ack(0);
    run(0);
    pass(RTT);
    tick_t srtt = s.rtt.srtt;
    ack(6); /* most of it came long ago */
    ck_assert_uint_eq(s.rtt.srtt, srtt);
}
END_TEST

/* ---- smaller segments ---- */

START_TEST(what_is_too_large_is_sent_again_in_pieces)
{
    push(4);
    sender_set_mss(&s, 400, true);
    ck_assert_uint_eq(s.inflight.lost, 4 * MSS);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS); /* that was no congestion */
    ck_assert_int_eq(s.state, SENDER_OPEN);
    unsigned pieces = 0;
    while (sender_resends(&s)) {
        struct tcp_seg *g = sender_resend(&s);
        if (g->len > s.mss)
            ck_assert(sender_split(&s, &g, s.mss));
        ck_assert_uint_le(g->len, 400);
        sender_resent(&s, g, now);
        pieces++;
    }
    ck_assert_uint_eq(pieces, 12);
    ck_assert_uint_eq(sender_in_flight(&s), 4 * MSS);
    pass(RTT);
    ack(4);
    ck_assert(sender_idle(&s));
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
}
END_TEST

START_TEST(or_stays_as_it_is)
{
    push(4);
    sender_set_mss(&s, 400, false);
    ck_assert_uint_eq(s.inflight.lost, 0);
    sender_set_mss(&s, MSS, true);
    ck_assert_uint_eq(s.inflight.lost, 0);
}
END_TEST

START_TEST(names_its_states)
{
    ck_assert_str_eq(sender_state_name(SENDER_OPEN), "open");
    ck_assert_str_eq(sender_state_name(SENDER_LOSS), "loss");
}
END_TEST

/* ---- over a path ---- */

static struct net net;

static struct net_args quiet(uint64_t seed)
{
    return (struct net_args){.seed = seed,
                             .bytes = 150000,
                             .sack = true,
                             .timestamps = true,
                             .congestion = TCP_CUBIC,
                             .delay = 20 * MS,
                             .window = 1u << 20};
}

/* Delivers, and returns how many more segments were sent again than had been lost. */
static int deliver(const struct net_args *a)
{
    net_open(&net, a);
    tick_t t = net_run(&net);
    ck_assert_msg(t > 0, "seed %lu never ends", (unsigned long)a->seed);
    ck_assert_msg(net.rcv == a->bytes, "seed %lu", (unsigned long)a->seed);
    int more = (int)net.resent - (int)net.dropped;
    net_close(&net);
    return more;
}

START_TEST(delivers_everything_whatever_happens)
{
    struct rng r;
    rng_seed(&r, 1);
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct net_args a = {.seed = seed,
                             .bytes = 1000 + (uint32_t)rng_below(&r, 100000),
                             .sack = rng_below(&r, 2),
                             .timestamps = rng_below(&r, 2),
                             .congestion = rng_below(&r, 2) ? TCP_CUBIC : TCP_NEWRENO,
                             .delay = (1 + rng_below(&r, 60)) * MS,
                             .serial = rng_below(&r, 2) ? MS / (1 + rng_below(&r, 30)) : 0,
                             .queue = 10 + (uint32_t)rng_below(&r, 100),
                             .window = 1u << 20};
        a.loss = rng_below(&r, 2) ? (uint32_t)rng_below(&r, 200) : 0;
        a.ack_loss = rng_below(&r, 3) ? 0 : (uint32_t)rng_below(&r, 200);
        a.dup = rng_below(&r, 3) ? 0 : (uint32_t)rng_below(&r, 50);
        a.jitter = rng_below(&r, 3) ? 0 : 1 + rng_below(&r, 40 * MS);
        if (rng_below(&r, 4) == 0) {
            a.black_at_ms = (uint32_t)rng_below(&r, 500);
            a.black_for_ms = (uint32_t)rng_below(&r, 3000);
        }
        deliver(&a);
    }
}
END_TEST

START_TEST(sends_again_what_was_lost_and_little_else)
{
    int sum = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct net_args a = quiet(seed);
        a.loss = (uint32_t)(seed % 80);
        a.serial = seed % 3 ? MS / 8 : 0;
        a.queue = 50;
        a.timestamps = seed % 2;
        int more = deliver(&a);
        ck_assert_msg(more <= 2, "seed %lu: %d more", (unsigned long)seed, more);
        sum += more;
    }
    ck_assert_int_le(sum, 20);
}
END_TEST

START_TEST(isolated_losses_need_no_timeout)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct net_args a = quiet(seed);
        a.lose_first = UINT32_C(1) << seed % 30;
        if (seed >= 150)
            a.lose_first |= UINT32_C(1) << seed / 5 % 30;
        a.sack = true;
        net_open(&net, &a);
        ck_assert_uint_gt(net_run(&net), 0);
        ck_assert_msg(net_count(&net, COUNTER_TCP_RTO) == 0, "seed %lu", (unsigned long)seed);
        ck_assert_uint_eq(net.resent, net.dropped);
        net_close(&net);
    }
}
END_TEST

START_TEST(a_lost_tail_needs_a_probe_not_a_timeout)
{
    for (uint32_t n = 3; n < 30; n++) {
        struct net_args a = quiet(n);
        a.bytes = n * NET_MSS;
        a.lose_first = UINT32_C(1) << (n - 1);
        net_open(&net, &a);
        ck_assert_uint_gt(net_run(&net), 0);
        ck_assert_uint_eq(net_count(&net, COUNTER_TCP_RTO), 0);
        ck_assert_uint_eq(net_count(&net, COUNTER_TCP_TLP), 1);
        ck_assert_uint_eq(net.resent, 1);
        net_close(&net);
    }
}
END_TEST

START_TEST(a_little_reordering_costs_little)
{
    unsigned again_sum = 0, recoveries = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct net_args a = quiet(seed);
        a.serial = MS / 8;
        a.queue = 1000;
        a.jitter = 4 * MS; /* a tenth of the round trip */
        net_open(&net, &a);
        ck_assert_uint_gt(net_run(&net), 0);
        again_sum += net.resent;
        recoveries += (unsigned)net_count(&net, COUNTER_TCP_RECOVERIES);
        net_close(&net);
    }
    ck_assert_uint_le(again_sum, 300);
    ck_assert_uint_le(recoveries, 100);
}
END_TEST

START_TEST(a_delay_of_everything_is_undone)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct net_args a = quiet(seed);
        a.timestamps = seed % 2;
        net_open(&net, &a);
        net_output(&net);
        for (unsigned i = 0; i < net.packets; i++)
            net.packet[i].due += 400 * MS; /* once, for all that is under way */
        ck_assert_uint_gt(net_run(&net), 0);
        /* The probe overtakes them all. */
        ck_assert_uint_eq(net_count(&net, COUNTER_TCP_TLP), 1);
        ck_assert_uint_eq(net_count(&net, COUNTER_TCP_RTO), 0);
        ck_assert_uint_eq(net_count(&net, COUNTER_TCP_SPURIOUS), 1);
        ck_assert_uint_eq(net.s.cc.ssthresh, UINT32_MAX);
        ck_assert_uint_le(net.resent, 10);
        net_close(&net);
    }
}
END_TEST

/* ---- a peer that means harm ---- */

START_TEST(a_flood_of_blocks_stays_consistent)
{
    struct rng r;
    rng_seed(&r, 5);
    for (unsigned round = 0; round < 50; round++) {
        s.cc.cwnd = 1u << 19;
        push(64);
        pass(RTT / 2);
        for (unsigned i = 0; i < 40; i++) {
            struct tcp_sack b[TCP_SACK_MAX];
            for (unsigned k = 0; k < TCP_SACK_MAX; k++) {
                b[k].left = seq32(s.una.v - 5000 + (uint32_t)rng_below(&r, 80000));
                b[k].right = seq32_add(b[k].left, (uint32_t)rng_below(&r, 20000));
            }
            pass(rng_below(&r, 2 * MS));
            seq32_t to = rng_below(&r, 8) ? s.una : seq32_add(s.una, (uint32_t)rng_below(&r, 3000));
            take_ack(seq32_min(to, s.nxt), b, TCP_SACK_MAX, rng_below(&r, 30) == 0);
            run(0);
            if (sender_deadline(&s) <= now)
                sender_expire(&s, now);
        }
        n_again = 0;
        pass(RTT);
        take_ack(s.nxt, NULL, 0, false);
        ck_assert(sender_idle(&s));
    }
}
END_TEST

/* ---- any calls in any order ---- */

static struct rng dice;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rng_below(&dice, n);
}

static void any_sends(void)
{
    for (unsigned n = below(20); n > 0 && sender_room(&s) > 0 && sender_can_send(&s); n--) {
        struct tcp_seg *g = sender_resend(&s);
        if (!g) {
            sender_sent(&s, 1 + below(s.mss), below(2), now);
            continue;
        }
        if (g->len > s.mss)
            sender_split(&s, &g, s.mss);
        sender_resent(&s, g, now);
    }
}

static struct tcp_sack any_block(void)
{
    uint32_t flight = s.nxt.v - s.una.v;
    if (below(3) > 0 || sender_idle(&s)) {
        seq32_t left = seq32(s.una.v - 1000 + below(flight + 2000));
        return (struct tcp_sack){left, seq32_add(left, below(flight + 3000))};
    }
    uint32_t p = below(inflight_count(&s.inflight));
    uint32_t q = p + below(inflight_count(&s.inflight) - p);
    return (struct tcp_sack){inflight_at(&s.inflight, s.inflight.head + p)->seq,
                             tcp_seg_end(inflight_at(&s.inflight, s.inflight.head + q))};
}

static void any_ack(void)
{
    struct tcp_sack b[TCP_SACK_MAX];
    for (unsigned i = 0; i < TCP_SACK_MAX; i++)
        b[i] = any_block();
    uint32_t flight = s.nxt.v - s.una.v, how = below(6);
    struct sender_ack a = {.ack = s.una,
                           .sack = b,
                           .n_sack = below(TCP_SACK_MAX + 1),
                           .echoed = below(2) ? TICK_NEVER : (now / MS - below(500)) * MS,
                           .ece = below(20) == 0,
                           .plain = below(4) > 0};
    if (how <= 2)
        a.ack = seq32_add(s.una, how == 0 ? flight : below(flight + 1));
    else if (how == 3 && !sender_idle(&s))
        a.ack = tcp_seg_end(inflight_at(&s.inflight, s.inflight.head));
    sender_ack(&s, &a, now, &result);
    s.cwr_due = s.cwr_due && below(3) == 0;
}

static void any_expiry(void)
{
    if (sender_deadline(&s) == TICK_NEVER)
        return;
    if (sender_deadline(&s) > now)
        now = sender_deadline(&s) + (below(3) ? 0 : below(1000) * MS);
    for (unsigned i = 0; i < 3 && sender_deadline(&s) <= now; i++) {
        if (sender_expire(&s, now) != SENDER_PROBE || below(8) == 0)
            continue;
        bool new = below(2) && sender_can_send(&s);
        if (new)
            sender_sent(&s, 1 + below(s.mss), true, now);
        else
            sender_resent(&s, sender_last(&s), now);
        sender_probed(&s, !new, now);
    }
    net_must(sender_deadline(&s) > now);
}

static void anything(void)
{
    switch (below(10)) {
    case 0:
    case 1: any_sends(); break;
    case 2:
    case 3:
    case 4: any_ack(); break;
    case 5: now += below(2) ? below(1000) : below(100) * MS; break;
    case 6: any_expiry(); break;
    case 7:
        if (below(10) == 0)
            sender_set_mss(&s, 100 + below(1400), below(2));
        break;
    case 8:
        if (sender_idle(&s)) {
            sender_tidy(&s);
            sender_wakes(&s, now);
        }
        break;
    case 9: heap.limit = below(3) ? SIZE_MAX : heap.bytes; break;
    }
}

START_TEST(any_history_stays_consistent)
{
    for (unsigned seed = 0; seed < 150; seed++) {
        rng_seed(&dice, seed);
        talk_end();
        talk_init();
        s.inflight.max = 4 + below(500);
        sender_negotiated(&s, below(4) > 0, 100 + below(1400));
        for (unsigned i = 0; i < 2000; i++) {
            anything();
            if (!sender_ok(&s))
                ck_abort_msg("seed %u, call %u", seed, i);
        }
    }
}
END_TEST

UNIT_MAIN("sender", setup, talk_end, sends_a_window, a_window_that_is_not_used_does_not_grow,
          half_a_window_in_flight_lets_slow_start_go_on, wakes_with_the_initial_window,
          records_are_bounded, without_memory_nothing_is_sent, an_idle_one_gives_its_memory_back,
          costs_little, acknowledges_a_part_of_a_segment, samples_what_was_sent_once,
          without_sack_a_filled_hole_is_no_sample, what_is_too_large_is_sent_again_in_pieces,
          or_stays_as_it_is, names_its_states, delivers_everything_whatever_happens,
          sends_again_what_was_lost_and_little_else, isolated_losses_need_no_timeout,
          a_lost_tail_needs_a_probe_not_a_timeout, a_little_reordering_costs_little,
          a_delay_of_everything_is_undone, a_flood_of_blocks_stays_consistent,
          any_history_stays_consistent)
