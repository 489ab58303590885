/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

static void ready(void)
{
    service = (struct service){0};
    host_setup();
}

static void boot(void)
{
    listen_on("note", 7);
    host_boot();
    meet4();
    meet6();
}

/* Time goes by, and nothing is said to the peer. Neighbours are asked for, now and then. */
static void hush(tick_t d)
{
    pass(d);
    while (stack_pending(host.stack, 0) > 0) {
        enum frame_kind kind = said()->kind;
        ck_assert(kind == FRAME_ARP || kind == FRAME_ICMP6);
    }
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    ck_assert_int_eq(said()->kind, FRAME_ARP);
}

static const char *state_of(const struct peer *p)
{
    static struct ctl_connection row;
    return connection(p, &row) ? row.state : "";
}

START_TEST(it_lasts_a_minute)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    boot();
    peer_open(&p);
    peer_parts(&p);
    ck_assert_uint_eq(service.ended, 1);
    ck_assert(connection(&p, &row));
    ck_assert_str_eq(row.state, "time-wait");
    ck_assert_uint_eq(row.timer, 60 * TICK_SEC);
    hush(60 * TICK_SEC - 1);
    ck_assert_str_eq(state_of(&p), "time-wait");
    hush(1);
    ck_assert_str_eq(state_of(&p), "");
    ck_assert_uint_eq(added(COUNTER_TCP_TIME_WAIT), 1);
    ck_assert_uint_eq(added(COUNTER_TCP_OPENED), 1);
    ck_assert_uint_eq(added(COUNTER_TCP_CLOSED), 1);
    no_drops();
}
END_TEST

START_TEST(one_that_is_closed_by_the_peer_does_not_wait)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    peer_says(&p, TCP_ACK | TCP_FIN, 0);
    peer_hears(&p, TCP_ACK, NULL);
    stream_end(service.stream);
    peer_hears(&p, TCP_ACK | TCP_FIN, NULL);
    peer_says(&p, TCP_ACK, 0);
    ck_assert_uint_eq(service.ended, 1);
    ck_assert_str_eq(state_of(&p), "");
    ck_assert_uint_eq(added(COUNTER_TCP_TIME_WAIT), 0);
}
END_TEST

START_TEST(the_fin_again_begins_it_anew)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    peer_parts(&p);
    hush(50 * TICK_SEC);
    p.seq = seq32_sub(p.seq, 1);
    peer_says(&p, TCP_ACK | TCP_FIN, 0);
    peer_hears(&p, TCP_ACK, NULL);
    hush(59 * TICK_SEC);
    ck_assert_str_eq(state_of(&p), "time-wait");
    hush(TICK_SEC);
    ck_assert_str_eq(state_of(&p), "");
}
END_TEST

START_TEST(what_is_late_is_told_where_we_are)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    peer_parts(&p);
    struct tcp_hdr h = peer_header(&p, TCP_ACK);
    h.seq = seq32_sub(h.seq, 100);
    peer_sends(&p, &h, 50);
    peer_hears(&p, TCP_ACK, NULL);
    ck_assert_uint_eq(added(COUNTER_TCP_CHALLENGES), 1);
    silence();
}
END_TEST

START_TEST(answers_are_limited)
{
    struct peer p = peer4(1024, 7);
    host.config.tcp.challenge_rate = 1;
    boot();
    peer_open(&p);
    peer_parts(&p);
    struct tcp_hdr h = peer_header(&p, TCP_ACK);
    h.seq = seq32_sub(h.seq, 100);
    for (unsigned i = 0; i < 10; i++)
        peer_sends(&p, &h, 50);
    ck_assert_uint_eq(ignore(), 1);
    ck_assert_uint_eq(added(COUNTER_TCP_CHALLENGES_LIMITED), 9);
}
END_TEST

/* RFC 1337 */
START_TEST(a_reset_does_not_end_it)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    peer_parts(&p);
    struct tcp_hdr h = peer_header(&p, TCP_RST);
    peer_sends(&p, &h, 0);
    silence();
    ck_assert_str_eq(state_of(&p), "time-wait");
}
END_TEST

/* RFC 6191: the numbers of the new one are beyond those of the old, either way. */
START_TEST(a_new_connection_may_take_its_place)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    peer_parts(&p);
    for (unsigned i = 0; i < 5; i++) {
        seq32_t last = p.ack;
        p.seq = seq32_add(p.seq, 1000);
        peer_says(&p, TCP_SYN, 0);
        const struct tcp_hdr *h = peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
        ck_assert(seq32_gt(h->seq, last));
        peer_says(&p, TCP_ACK, 0);
        ck_assert_str_eq(state_of(&p), "established");
        ck_assert_uint_eq(connections(), 1);
        peer_parts(&p);
    }
    ck_assert_uint_eq(added(COUNTER_TCP_TIME_WAIT_REUSED), 5);
}
END_TEST

START_TEST(not_where_nobody_listens)
{
    struct peer p = peer4(80, 0);
    boot();
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
    peer_asked(&p);
    peer_accepts(&p);
    peer_parts(&p);
    p.seq = seq32_add(p.seq, 1000);
    peer_says(&p, TCP_SYN, 0);
    peer_hears(&p, TCP_RST | TCP_ACK, NULL);
    dropped(DROP_TCP_PORT);
    ck_assert_str_eq(state_of(&p), "time-wait");
}
END_TEST

START_TEST(not_while_the_backlog_is_full)
{
    struct peer p = peer4(1024, 7);
    struct peer q = peer4(1025, 7);
    listen_on("note", 7)->backlog = 1;
    host_boot();
    meet4();
    peer_open(&p);
    peer_parts(&p);
    peer_says(&q, TCP_SYN, 0);
    peer_hears(&q, TCP_SYN | TCP_ACK, NULL);
    p.seq = seq32_add(p.seq, 1000);
    peer_says(&p, TCP_SYN, 0);
    silence();
    dropped(DROP_TCP_BACKLOG);
    ck_assert_str_eq(state_of(&p), "time-wait");
}
END_TEST

START_TEST(the_oldest_makes_room)
{
    struct peer p[4];
    host.config.limits.time_wait = 3;
    boot();
    for (unsigned i = 0; i < 4; i++) {
        p[i] = peer4((uint16_t)(1024 + i), 7);
        peer_open(&p[i]);
        peer_parts(&p[i]);
        pass(TICK_SEC);
    }
    ck_assert_uint_eq(added(COUNTER_TCP_TIME_WAIT_RECYCLED), 1);
    ck_assert_str_eq(state_of(&p[0]), "");
    for (unsigned i = 1; i < 4; i++)
        ck_assert_str_eq(state_of(&p[i]), "time-wait");
}
END_TEST

START_TEST(each_ends_in_its_time)
{
    struct peer p[5];
    boot();
    for (unsigned i = 0; i < 5; i++) {
        p[i] = peer4((uint16_t)(1024 + i), 7);
        peer_open(&p[i]);
        peer_parts(&p[i]);
        hush(10 * TICK_SEC);
    }
    hush(10 * TICK_SEC);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_uint_eq(connections(), 4 - i);
        ck_assert_str_eq(state_of(&p[i]), "");
        pass(10 * TICK_SEC);
    }
}
END_TEST

START_TEST(another_time_counts_for_those_that_wait_already)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    peer_parts(&p);
    host.config.tcp.time_wait = 20 * TICK_SEC;
    ck_assert_int_eq(host_configure(), 0);
    struct peer q = peer4(1025, 7);
    hush(10 * TICK_SEC);
    peer_open(&q);
    peer_parts(&q);
    hush(10 * TICK_SEC);
    ck_assert_str_eq(state_of(&p), "");
    ck_assert_str_eq(state_of(&q), "time-wait");
    hush(10 * TICK_SEC);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

START_TEST(without_memory_it_is_cut_short)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    stream_end(service.stream);
    peer_hears(&p, TCP_ACK | TCP_FIN, NULL);
    host.heap.limit = host.heap.bytes;
    peer_says(&p, TCP_ACK | TCP_FIN, 0);
    peer_hears(&p, TCP_ACK, NULL);
    host.heap.limit = SIZE_MAX;
    ck_assert_uint_eq(service.ended, 1);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

/* They all end at one time, but not all in one turn. */
START_TEST(a_crowd_ends_bit_by_bit)
{
    host.config.limits.tx_queue = 4096;
    boot();
    for (unsigned i = 0; i < 2000; i++) {
        struct peer p = peer4((uint16_t)(1024 + i), 7);
        peer_open(&p);
        peer_parts(&p);
    }
    host.now += 61 * TICK_SEC;
    unsigned before = connections();
    stack_expire(host.stack, host.now);
    unsigned after = connections();
    ck_assert_uint_eq(before, 2000);
    ck_assert_uint_lt(after, 2000);
    ck_assert_uint_ge(after, 1000);
    pass(TICK_SEC);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

UNIT_MAIN("time_wait", ready, host_teardown, it_lasts_a_minute,
          one_that_is_closed_by_the_peer_does_not_wait, the_fin_again_begins_it_anew,
          what_is_late_is_told_where_we_are, answers_are_limited, a_reset_does_not_end_it,
          a_new_connection_may_take_its_place, not_where_nobody_listens,
          not_while_the_backlog_is_full, the_oldest_makes_room, each_ends_in_its_time,
          another_time_counts_for_those_that_wait_already, without_memory_it_is_cut_short,
          a_crowd_ends_bit_by_bit)
