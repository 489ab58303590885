/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "peer.h"

static void ready(void)
{
    service = (struct service){0};
    host_setup();
}

static void boot(void)
{
    listen_on("one", 7);
    listen_on("two", 8);
    host_boot();
    meet4();
    meet6();
}

static bool by_id(ctl_id_t id, struct ctl_connection *row)
{
    struct ctl_request r = {.kind = CTL_CONNECTION, .rows.connection = row, .max = 1, .id = id};
    stack_control(host.stack, &r, host.now);
    ck_assert(!r.more);
    return r.n == 1;
}

static bool reset(ctl_id_t id)
{
    struct ctl_request r = {.kind = CTL_CONNECTION_RESET, .id = id};
    stack_control(host.stack, &r, host.now);
    return r.n == 1;
}

START_TEST(a_row_says_how_it_stands)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    static const uint8_t data[5000];
    boot();
    peer_open(&p);
    pass(3 * TICK_SEC);
    service.hold = true;
    peer_says(&p, TCP_ACK, 700);
    ignore();
    stream_write(service.stream, vec_of_const(data, sizeof(data)));
    ignore();
    pass(TICK_MS);
    ck_assert(connection(&p, &row));
    ck_assert_str_eq(row.state, "established");
    ck_assert_str_eq(row.service, "noting");
    ck_assert_str_eq(row.listener, "one");
    ck_assert_str_eq(row.congestion, "cubic");
    ck_assert_str_eq(row.recovery, "open");
    ck_assert_ip(row.local, US4);
    ck_assert_ip(row.remote, PEER4);
    ck_assert_uint_eq(row.local_port, 7);
    ck_assert_uint_eq(row.remote_port, 1024);
    ck_assert_uint_eq(row.protocol, IP_PROTO_TCP);
    ck_assert_uint_eq(row.flags, CTL_CONNECTION_PASSIVE);
    ck_assert_uint_eq(row.age, 3 * TICK_SEC + TICK_MS);
    ck_assert_uint_eq(row.idle, TICK_MS);
    ck_assert_uint_eq(row.mss, 1400);
    ck_assert_uint_eq(row.mss_peer, 1400);
    ck_assert_uint_eq(row.path_mtu, 1500);
    ck_assert_uint_eq(row.send_window, 60000);
    ck_assert_uint_eq(row.unread, 700);
    ck_assert_uint_eq(row.rx_bytes, 700);
    ck_assert_uint_eq(row.tx_bytes, 5000);
    ck_assert_uint_eq(row.in_flight, 5000);
    ck_assert_uint_eq(row.unsent, 0);
    ck_assert_uint_ge(row.rto, 200 * TICK_MS);
    ck_assert_uint_le(row.timer, row.rto);
    ck_assert_uint_gt(row.cwnd, 0);
    struct ctl_connection again;
    ck_assert(by_id(row.id, &again));
    ck_assert_mem_eq(&again, &row, sizeof(row));
}
END_TEST

START_TEST(one_of_ours_has_no_listener)
{
    struct peer p = peer4(80, 0);
    struct ctl_connection row;
    boot();
    struct stream *s = connect_to(&p, NULL);
    stream_write(s, vec_of_const("abc", 3));
    turn();
    peer_asked(&p);
    ck_assert(connection(&p, &row));
    ck_assert_str_eq(row.state, "syn-sent");
    ck_assert_str_eq(row.listener, "");
    ck_assert_uint_eq(row.unsent, 3);
    ck_assert_uint_eq(row.flags & CTL_CONNECTION_PASSIVE, 0);
}
END_TEST

START_TEST(an_id_names_nobody_else_later)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    boot();
    peer_open(&p);
    ck_assert(connection(&p, &row));
    ctl_id_t id = row.id;
    ck_assert_uint_ne(id, 0);
    peer_parts(&p);
    ck_assert(!by_id(id, &row));
    ck_assert(connection(&p, &row)); /* TIME-WAIT has one of its own */
    ck_assert_uint_ne(row.id, id);
    ck_assert(by_id(row.id, &row));
    ck_assert_str_eq(row.state, "time-wait");
    struct peer q = peer4(1025, 7);
    peer_open(&q);
    ck_assert(!by_id(id, &row));
    ck_assert(!by_id(0, &row));
    ck_assert(!by_id(UINT64_MAX, &row));
    ck_assert(!by_id(12345, &row));
}
END_TEST

START_TEST(a_reset_ends_both_sides)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    boot();
    peer_open(&p);
    ck_assert(connection(&p, &row));
    ck_assert(reset(row.id));
    turn();
    peer_hears(&p, TCP_RST | TCP_ACK, NULL);
    ck_assert_uint_eq(service.reset, 1);
    ck_assert_int_eq(service.code, STREAM_KILLED);
    ck_assert_uint_eq(connections(), 0);
    ck_assert(!reset(row.id));
}
END_TEST

START_TEST(a_reset_ends_a_time_wait)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    boot();
    peer_open(&p);
    peer_parts(&p);
    ck_assert(connection(&p, &row));
    ck_assert(reset(row.id));
    silence();
    ck_assert_uint_eq(connections(), 0);
    ck_assert(!reset(row.id));
}
END_TEST

/* ---- listings ---- */

static unsigned count(const char *state, const char *listener, uint8_t protocol)
{
    static struct ctl_connection rows[7];
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 7};
    unsigned n = 0;
    strcpy(r.filter.state, state);
    strcpy(r.filter.listener, listener);
    r.filter.protocol = protocol;
    do {
        stack_control(host.stack, &r, host.now);
        for (uint32_t i = 0; i < r.n; i++) {
            ck_assert(!state[0] || strcmp(rows[i].state, state) == 0);
            ck_assert(!listener[0] || strcmp(rows[i].listener, listener) == 0);
        }
        n += r.n;
    } while (r.more);
    return n;
}

START_TEST(filters)
{
    boot();
    for (uint16_t i = 0; i < 30; i++) {
        struct peer p = peer4((uint16_t)(1024 + i), i % 3 ? 7 : 8);
        peer_open(&p);
        if (i < 5)
            peer_parts(&p);
    }
    ck_assert_uint_eq(count("", "", 0), 30);
    ck_assert_uint_eq(count("", "", IP_PROTO_TCP), 30);
    ck_assert_uint_eq(count("", "", IP_PROTO_SCTP), 0);
    ck_assert_uint_eq(count("time-wait", "", 0), 5);
    ck_assert_uint_eq(count("established", "", 0), 25);
    ck_assert_uint_eq(count("established", "two", 0), 8);
    ck_assert_uint_eq(count("", "two", 0), 8);
    ck_assert_uint_eq(count("no-such-state", "", 0), 0);
}
END_TEST

START_TEST(who_stays_is_listed_once_whoever_comes_and_goes)
{
    static struct ctl_connection rows[5];
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 5};
    unsigned seen[300] = {0};
    boot();
    for (uint16_t i = 0; i < 200; i++) {
        struct peer p = peer4((uint16_t)(1000 + i), 7);
        peer_open(&p);
    }
    uint16_t next = 200;
    do {
        stack_control(host.stack, &r, host.now);
        for (uint32_t i = 0; i < r.n; i++)
            seen[rows[i].remote_port - 1000]++;
        struct peer p = peer4((uint16_t)(1000 + next++), 7);
        peer_open(&p);
        peer_says(&p, TCP_RST, 0);
    } while (r.more);
    for (unsigned i = 0; i < 200; i++)
        ck_assert_uint_eq(seen[i], 1);
}
END_TEST

START_TEST(a_page_looks_at_so_many_and_no_more)
{
    static struct ctl_connection rows[64];
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 64};
    unsigned pages = 0;
    boot();
    for (unsigned i = 0; i < 9000; i++) {
        struct peer p = peer4((uint16_t)(1024 + i), 7);
        peer_says(&p, TCP_SYN, 0);
        ignore();
        peer_header(&p, 0);
        struct ctl_listener l = listener_row("one");
        if (l.half_open == l.backlog)
            break;
    }
    strcpy(r.filter.state, "time-wait");
    do {
        stack_control(host.stack, &r, host.now);
        ck_assert_uint_eq(r.n, 0);
        pages++;
    } while (r.more);
    ck_assert_uint_le(pages, 2);
}
END_TEST

START_TEST(listeners_by_port)
{
    struct ctl_listener rows[1];
    struct ctl_request r = {.kind = CTL_LISTENERS, .rows.listener = rows, .max = 1};
    boot();
    stack_control(host.stack, &r, host.now);
    ck_assert(r.more);
    ck_assert_uint_eq(r.n, 1);
    ck_assert_str_eq(rows[0].name, "one");
    ck_assert_uint_eq(rows[0].port, 7);
    ck_assert_str_eq(rows[0].service, "noting");
    ck_assert_uint_eq(rows[0].backlog, 1024);
    stack_control(host.stack, &r, host.now);
    ck_assert(!r.more);
    ck_assert_uint_eq(r.n, 1);
    ck_assert_str_eq(rows[0].name, "two");
}
END_TEST

UNIT_MAIN("tcp_ctl", ready, host_teardown, a_row_says_how_it_stands, one_of_ours_has_no_listener,
          an_id_names_nobody_else_later, a_reset_ends_both_sides, a_reset_ends_a_time_wait, filters,
          who_stays_is_listed_once_whoever_comes_and_goes, a_page_looks_at_so_many_and_no_more,
          listeners_by_port)
