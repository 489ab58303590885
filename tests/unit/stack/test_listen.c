/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "peer.h"
#include "stack/conn.h"

static const struct ip_addr ANY4 = {{[10] = 0xff, 0xff}};

static void ready(void)
{
    service = (struct service){0};
    host_setup();
}

static void boot(void)
{
    host_boot();
    meet4();
    meet6();
}

/* Which listener takes a SYN from p. NULL: it is reset. */
static const char *answers(struct peer p)
{
    static struct ctl_connection row;
    peer_says(&p, TCP_SYN, 0);
    uint16_t flags = said()->tcp.flags;
    if (flags & TCP_RST)
        return NULL;
    ck_assert_uint_eq(flags, TCP_SYN | TCP_ACK);
    ck_assert(connection(&p, &row));
    return row.listener;
}

/* ---- whose is a SYN? ---- */

START_TEST(the_port_decides)
{
    listen_on("seven", 7);
    listen_on("nine", 9);
    listen_on("most", 65535);
    boot();
    ck_assert_str_eq(answers(peer4(1, 7)), "seven");
    ck_assert_str_eq(answers(peer4(1, 9)), "nine");
    ck_assert_str_eq(answers(peer6(1, 65535)), "most");
    ck_assert_ptr_null(answers(peer4(1, 8)));
    ck_assert_ptr_null(answers(peer4(1, 6)));
    ck_assert_ptr_null(answers(peer4(1, 10)));
    ck_assert_ptr_null(answers(peer4(1, 0)));
}
END_TEST

START_TEST(the_most_specific_address_wins)
{
    /* In every order of configuration. */
    for (unsigned order = 0; order < 6; order++) {
        static const unsigned place[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        static const char *const name[] = {"own", "any4", "any"};
        const struct ip_addr addr[] = {US4, ANY4, IP_ADDR_ANY6};
        host_setup();
        for (unsigned i = 0; i < 3; i++)
            listen_on(name[place[order][i]], 7)->addr = addr[place[order][i]];
        host.iface[0].n_addrs = 3;
        host.iface[0].addr[2] =
            (struct ip_prefix){.addr = {{[10] = 0xff, 0xff, 192, 0, 2, 99}}, .len = 24};
        boot();
        struct peer other = peer4(1, 7);
        other.us = host.iface[0].addr[2].addr;
        ck_assert_str_eq(answers(peer4(1, 7)), "own");
        ck_assert_str_eq(answers(other), "any4");
        ck_assert_str_eq(answers(peer6(1, 7)), "any");
        host_destroy();
    }
}
END_TEST

START_TEST(ipv4_any_is_not_ipv6)
{
    listen_on("any4", 7)->addr = ANY4;
    boot();
    ck_assert_str_eq(answers(peer4(1, 7)), "any4");
    ck_assert_ptr_null(answers(peer6(1, 7)));
}
END_TEST

/* Against a list that is searched from end to end. */
START_TEST(many_listeners_as_a_plain_list_would_find_them)
{
    struct rng rng;
    rng_seed(&rng, 1);
    for (unsigned run = 0; run < 20; run++) {
        host_setup();
        unsigned n = 1 + (unsigned)rng_below(&rng, STACK_LISTENERS_MAX);
        bool there[3][40] = {0};
        for (unsigned i = 0; i < n; i++) {
            unsigned a = (unsigned)rng_below(&rng, 3), port = 1 + (unsigned)rng_below(&rng, 39);
            const struct ip_addr addr[] = {US4, ANY4, IP_ADDR_ANY6};
            if (there[a][port])
                continue;
            there[a][port] = true;
            char name[16];
            snprintf(name, sizeof(name), "%u-%u", a, port);
            listen_on(name, (uint16_t)port)->addr = addr[a];
        }
        boot();
        for (uint16_t port = 1; port < 40; port++)
            for (int v4 = 0; v4 < 2; v4++) {
                pass(10 * TICK_MS); /* resets are limited */
                ignore();
                char name[16] = "";
                for (unsigned a = v4 ? 0 : 2; a < 3 && !name[0]; a++)
                    if (there[a][port])
                        snprintf(name, sizeof(name), "%u-%u", a, port);
                const char *is = answers(v4 ? peer4(1, port) : peer6(1, port));
                ck_assert_str_eq(is ? is : "", name);
            }
        host_destroy();
    }
}
END_TEST

/* ---- configurations ---- */

static void refused(void)
{
    struct stack_env env = {
        .mem = &host.heap.mem, .pool = &host.pool.pool, .counters = &host.counters};
    enum stack_error error = 0;
    ck_assert_ptr_null(stack_create(&host.config, &env, host.now, &error));
    ck_assert_int_eq(error, STACK_E_CONFIG);
    host_setup();
}

START_TEST(configurations_that_cannot_be)
{
    listen_on("", 7);
    refused();
    listen_on("a", 0);
    refused();
    listen_on("a", 7)->service = NULL;
    refused();
    memset(listen_on("a", 7)->name, 'a', STACK_LISTENER_NAME_MAX);
    refused();
    listen_on("a", 7)->addr = ALL_NODES6;
    refused();
    listen_on("a", 7);
    listen_on("a", 8);
    refused();
    listen_on("a", 7);
    listen_on("b", 7);
    refused();
    host.config.tcp.port_min = 10;
    host.config.tcp.port_max = 9;
    refused();
    host.config.limits.flows = UINT32_C(1) << 28;
    refused();
}
END_TEST

START_TEST(a_listener_goes_and_its_connections_stay)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    listen_on("seven", 7);
    listen_on("nine", 9);
    boot();
    peer_open(&p);
    host.config.n_listeners = 0;
    listen_on("nine", 9);
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_ptr_null(answers(peer4(1025, 7)));
    ck_assert_str_eq(answers(peer4(1025, 9)), "nine");
    peer_says(&p, TCP_ACK | TCP_PSH, 10);
    peer_hears(&p, TCP_ACK, NULL);
    ck_assert(connection(&p, &row));
    ck_assert_str_eq(row.listener, "seven");
    peer_says(&p, TCP_RST, 0);
    ck_assert(!connection(&p, &row));
}
END_TEST

START_TEST(a_listener_keeps_its_figures_and_comes_with_others)
{
    struct peer p = peer4(1024, 7);
    listen_on("a", 7);
    boot();
    peer_open(&p);
    host.config.n_listeners = 0;
    listen_on("b", 7);
    listen_on("a", 8)->backlog = 3;
    ck_assert_int_eq(host_configure(), 0);
    struct ctl_listener a = listener_row("a");
    ck_assert_uint_eq(a.port, 8);
    ck_assert_uint_eq(a.accepted, 1);
    ck_assert_uint_eq(a.connections, 1);
    ck_assert_uint_eq(a.backlog, 3);
    ck_assert_str_eq(answers(peer4(1025, 7)), "b");
    ck_assert_str_eq(answers(peer4(1025, 8)), "a");
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    listen_on("a", 7);
    boot();
    host.config.n_listeners = 0;
    listen_on("b", 8);
    listen_on("c", 9);
    host.heap.limit = host.heap.bytes + sizeof(struct stack_listener) + 100;
    ck_assert_int_eq(host_configure(), STACK_E_MEMORY);
    host.heap.limit = SIZE_MAX;
    ck_assert_str_eq(answers(peer4(1, 7)), "a");
    ck_assert_ptr_null(answers(peer4(1, 8)));
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_str_eq(answers(peer4(2, 8)), "b");
}
END_TEST

/* ---- the backlog ---- */

static void syns(uint16_t from, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct peer p = peer4((uint16_t)(from + i), 7);
        peer_says(&p, TCP_SYN, 0);
    }
}

START_TEST(half_open_connections_are_counted_until_they_open_or_go)
{
    listen_on("a", 7);
    boot();
    syns(1000, 3);
    ignore();
    struct peer p = peer4(2000, 7);
    peer_says(&p, TCP_SYN, 0);
    peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
    ck_assert_uint_eq(listener_row("a").half_open, 4);
    peer_says(&p, TCP_ACK, 0);
    ck_assert_uint_eq(listener_row("a").half_open, 3);
    ck_assert_uint_eq(listener_row("a").accepted, 1);
    struct peer q = peer4(1000, 7);
    q.seq = seq32_add(q.seq, 1);
    peer_says(&q, TCP_RST, 0);
    ck_assert_uint_eq(listener_row("a").half_open, 2);
    pass(70 * TICK_SEC); /* accept_timeout */
    ignore();
    ck_assert_uint_eq(listener_row("a").half_open, 0);
    ck_assert_uint_eq(listener_row("a").connections, 1);
    ck_assert_uint_eq(listener_row("a").accepted, 1);
}
END_TEST

START_TEST(without_cookies_a_full_backlog_drops)
{
    struct stack_listener *l = listen_on("a", 7);
    l->backlog = 3;
    l->no_cookies = true;
    boot();
    syns(1000, 5);
    ck_assert_uint_eq(ignore(), 3);
    dropped_n(DROP_TCP_BACKLOG, 2);
    ck_assert_uint_eq(listener_row("a").refused, 2);
    ck_assert_uint_eq(connections(), 3);
}
END_TEST

static void full(void)
{
    listen_on("a", 7)->backlog = 3;
    boot();
    syns(1000, 3);
    ignore();
}

/* Options of a client as they come. */
static void modern(struct peer *p)
{
    p->options = (struct tcp_options){.has_mss = true,
                                      .mss = 1400,
                                      .has_wscale = true,
                                      .wscale = 9,
                                      .sack_permitted = true,
                                      .has_timestamps = true,
                                      .ts_value = 77};
}

static void by_cookie(struct peer p)
{
    struct ctl_connection row;
    full();
    modern(&p);
    peer_says(&p, TCP_SYN, 0);
    const struct tcp_hdr *h = peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
    ck_assert(h->options.has_mss && h->options.has_wscale && h->options.sack_permitted);
    ck_assert_uint_eq(h->options.ts_echo, 77);
    ck_assert_uint_eq(connections(), 3);
    ck_assert_uint_eq(added(COUNTER_TCP_COOKIES_TX), 1);
    peer_says(&p, TCP_ACK | TCP_PSH, 100);
    ck_assert_uint_eq(service.opened, 1);
    ck_assert_uint_eq(service.bytes, 100);
    peer_hears(&p, TCP_ACK, NULL);
    ck_assert(connection(&p, &row));
    ck_assert_uint_eq(row.flags, CTL_CONNECTION_TIMESTAMPS | CTL_CONNECTION_SACK |
                                     CTL_CONNECTION_SCALED | CTL_CONNECTION_COOKIE |
                                     CTL_CONNECTION_PASSIVE);
    ck_assert_uint_eq(row.send_scale, 9);
    ck_assert_uint_le(row.mss_peer, 1400);
    ck_assert_str_eq(row.listener, "a");
    ck_assert_uint_eq(listener_row("a").cookies, 1);
    ck_assert_uint_eq(listener_row("a").accepted, 1);
    ck_assert_uint_eq(listener_row("a").half_open, 3);
    ck_assert_uint_eq(added(COUNTER_TCP_COOKIES_RX), 1);
    no_drops();
}

START_TEST(with_cookies_a_full_backlog_lets_in_who_answers)
{
    by_cookie(peer4(2000, 7));
}
END_TEST

START_TEST(in_ipv6_too)
{
    by_cookie(peer6(2000, 7));
}
END_TEST

START_TEST(a_plain_client_gets_a_plain_cookie)
{
    struct peer p = peer4(2000, 7);
    struct ctl_connection row;
    full();
    p.options = (struct tcp_options){0};
    peer_says(&p, TCP_SYN, 0);
    const struct tcp_hdr *h = peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
    ck_assert(!h->options.has_wscale && !h->options.sack_permitted && !h->options.has_timestamps);
    peer_says(&p, TCP_ACK, 0);
    ck_assert(connection(&p, &row));
    ck_assert_uint_eq(row.flags, CTL_CONNECTION_COOKIE | CTL_CONNECTION_PASSIVE);
    ck_assert_uint_le(row.mss, 536);
}
END_TEST

START_TEST(a_guessed_cookie_is_reset)
{
    struct peer p = peer4(2000, 7);
    full();
    peer_says(&p, TCP_SYN, 0);
    ignore();
    p.ack = seq32(12345);
    peer_says(&p, TCP_ACK, 0);
    ck_assert_uint_eq(peer_hears(&p, TCP_RST, NULL)->seq.v, 12345);
    dropped(DROP_TCP_COOKIE);
    ck_assert_uint_eq(service.opened, 0);
}
END_TEST

START_TEST(a_cookie_comes_too_late)
{
    struct peer p = peer4(2000, 7);
    full();
    peer_says(&p, TCP_SYN, 0);
    peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
    pass(200 * TICK_SEC);
    ignore();
    meet4();
    peer_says(&p, TCP_ACK, 0);
    peer_hears(&p, TCP_RST, NULL);
    ck_assert_uint_eq(service.opened, 0);
}
END_TEST

/* ---- other bounds ---- */

START_TEST(no_more_connections_than_the_bound)
{
    host.config.limits.flows = 3;
    listen_on("a", 7);
    boot();
    syns(1000, 5);
    ck_assert_uint_eq(ignore(), 3);
    dropped_n(DROP_TCP_LIMIT, 2);
    ck_assert_uint_eq(listener_row("a").refused, 2);
    struct peer p = peer4(1000, 7);
    p.seq = seq32_add(p.seq, 1);
    peer_says(&p, TCP_RST, 0);
    syns(2000, 1);
    ck_assert_uint_eq(ignore(), 1);
    no_drops();
}
END_TEST

START_TEST(no_new_connections_when_memory_is_short)
{
    struct peer p = peer4(1024, 7);
    host.config.limits.tcp_memory = 20 * PKT_COST;
    listen_on("a", 7);
    service.hold = true;
    boot();
    peer_open(&p);
    stream_write(service.stream, vec_of_const("a", 1));
    ignore();
    for (unsigned i = 0; i < 16; i++) { /* promises of packets, unacknowledged */
        struct pkt *held = pkt_alloc(&host.pool.pool);
        pkt_put(held, 1000);
        stream_write_pkt(service.stream, held);
    }
    turn();
    ignore();
    syns(1000, 1);
    silence();
    dropped(DROP_TCP_MEMORY);
    ck_assert_uint_eq(connections(), 1);
    peer_says(&p, TCP_RST, 0);
    syns(1001, 1);
    ck_assert_uint_eq(ignore(), 1);
}
END_TEST

START_TEST(what_came_out_of_order_makes_room_for_new_connections)
{
    struct peer p = peer4(1024, 7);
    host.config.limits.tcp_memory = 20 * PKT_COST;
    listen_on("a", 7);
    boot();
    peer_open(&p);
    for (uint32_t i = 0; i < 16; i++) {
        struct tcp_hdr h = peer_header(&p, TCP_ACK);
        h.seq = seq32_add(p.seq, 1 + 2 * i);
        peer_sends(&p, &h, 1);
    }
    ignore();
    ck_assert(tcp_full(&host.stack->tcp));
    syns(1000, 1);
    ck_assert_uint_eq(ignore(), 1);
    ck_assert_uint_eq(host.stack->tcp.memory, 0);
    no_drops();
    peer_says(&p, TCP_ACK, 32); /* it is sent again */
    ck_assert_uint_eq(service.bytes, 32);
    peer_says(&p, TCP_ACK | TCP_FIN, 0);
    ck_assert(service.end);
    ignore();
}
END_TEST

/* Whatever MSS a peer asks for: 4 MiB in flight would be 70,000 segments of 60 bytes. */
START_TEST(records_of_what_is_in_flight_are_bounded)
{
    struct peer p = peer4(1024, 7);
    listen_on("a", 7);
    boot();
    p.options.mss = 1;
    peer_open(&p);
    const struct tcp_conn *c = container_of(service.stream, struct tcp_conn, stream);
    ck_assert_uint_eq(c->sender.mss, 60);
    ck_assert_uint_eq(c->sender.inflight.max, 8192);
}
END_TEST

START_TEST(the_heap_ends)
{
    listen_on("a", 7);
    boot();
    host.heap.limit = host.heap.bytes;
    syns(1000, 1);
    silence();
    dropped(DROP_TCP_MEMORY);
    host.heap.limit = SIZE_MAX;
    syns(1000, 1);
    ck_assert_uint_eq(ignore(), 1);
}
END_TEST

UNIT_MAIN("listen", ready, host_teardown, the_port_decides, the_most_specific_address_wins,
          ipv4_any_is_not_ipv6, many_listeners_as_a_plain_list_would_find_them,
          configurations_that_cannot_be, a_listener_goes_and_its_connections_stay,
          a_listener_keeps_its_figures_and_comes_with_others, without_memory_nothing_changes,
          half_open_connections_are_counted_until_they_open_or_go,
          without_cookies_a_full_backlog_drops, with_cookies_a_full_backlog_lets_in_who_answers,
          in_ipv6_too, a_plain_client_gets_a_plain_cookie, a_guessed_cookie_is_reset,
          a_cookie_comes_too_late, no_more_connections_than_the_bound,
          no_new_connections_when_memory_is_short,
          what_came_out_of_order_makes_room_for_new_connections,
          records_of_what_is_in_flight_are_bounded, the_heap_ends)
