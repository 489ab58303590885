/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "peer.h"
#include "stack/steer.h"

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

static enum stack_error refused_to(struct peer p)
{
    enum stack_error error = 0;
    ck_assert_ptr_null(connect_to(&p, &error));
    silence();
    ck_assert_uint_eq(service.reset, 0);
    ck_assert_uint_eq(connections(), 0);
    return error;
}

static void conversation(struct peer p)
{
    uint32_t n;
    boot();
    struct stream *s = connect_to(&p, NULL);
    ck_assert_ptr_nonnull(s);
    peer_asked(&p);
    ck_assert_uint_ge(p.us_port, 32768);
    ck_assert_uint_le(p.us_port, 60999);
    ck_assert_uint_eq(service.opened, 0);
    peer_accepts(&p);
    ck_assert_uint_eq(service.opened, 1);
    ck_assert_ptr_eq(service.stream, s);
    peer_says(&p, TCP_ACK | TCP_PSH, 100);
    peer_hears(&p, TCP_ACK, NULL);
    ck_assert(stream_write(s, vec_of_const("abc", 3)));
    peer_hears(&p, TCP_ACK | TCP_PSH, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(added(COUNTER_TCP_CONNECTED), 1);
}

START_TEST(to_ipv4)
{
    conversation(peer4(80, 0));
}
END_TEST

START_TEST(to_ipv6)
{
    conversation(peer6(80, 0));
}
END_TEST

START_TEST(what_is_written_before_it_opens_goes_when_it_has)
{
    struct peer p = peer4(80, 0);
    uint32_t n;
    boot();
    struct stream *s = connect_to(&p, NULL);
    ck_assert(stream_write(s, vec_of_const("abc", 3)));
    peer_asked(&p);
    silence();
    peer_says(&p, TCP_SYN | TCP_ACK, 0);
    peer_hears(&p, TCP_ACK | TCP_PSH, &n);
    ck_assert_uint_eq(n, 3);
}
END_TEST

START_TEST(it_knows_whose_it_is)
{
    int mine = 0;
    boot();
    struct stack_connect to = {.remote = PEER4, .port = 80, .service = &noting, .user = &mine};
    struct stream *s = stack_connect(host.stack, &to, host.now, NULL);
    ck_assert_ptr_eq(s->user, &mine);
}
END_TEST

START_TEST(the_address_may_be_chosen)
{
    struct peer p = peer4(80, 0);
    const struct ip_addr second = {{[10] = 0xff, 0xff, 192, 0, 2, 99}};
    host.iface[0].n_addrs = 3;
    host.iface[0].addr[2] = (struct ip_prefix){.addr = second, .len = 24};
    boot();
    struct stack_connect to = {.remote = PEER4, .port = 80, .local = second, .service = &noting};
    ck_assert_ptr_nonnull(stack_connect(host.stack, &to, host.now, NULL));
    peer_asked(&p);
    ck_assert_ip(p.us, second);
}
END_TEST

START_TEST(a_link_local_peer_needs_an_address_of_its_link)
{
    struct peer p = peer6(80, 0);
    enum stack_error error = 0;
    boot();
    hear_solicit(&PEER_LL, NULL, &US_LL, &PEER_MAC);
    ignore();
    struct stack_connect to = {.remote = PEER_LL, .port = 80, .service = &noting};
    ck_assert_ptr_null(stack_connect(host.stack, &to, host.now, &error));
    ck_assert_int_eq(error, STACK_E_NO_ROUTE);
    to.local = US_LL;
    ck_assert_ptr_nonnull(stack_connect(host.stack, &to, host.now, &error));
    p.addr = PEER_LL;
    peer_asked(&p);
    ck_assert_ip(p.us, US_LL);
    peer_accepts(&p);
    ck_assert_uint_eq(service.opened, 1);
}
END_TEST

START_TEST(nobody_to_connect_to)
{
    static const struct ip_addr bad[] = {
        {{[10] = 0xff, 0xff}},                 /* 0.0.0.0 */
        {{0}},                                 /* :: */
        {{[10] = 0xff, 0xff, 224, 0, 0, 1}},   /* a group */
        {{[10] = 0xff, 0xff, 192, 0, 2, 255}}, /* everybody */
        {{[10] = 0xff, 0xff, 255, 255, 255, 255}},
        {{[10] = 0xff, 0xff, 127, 0, 0, 1}}, /* ourselves, in every way */
        {{[10] = 0xff, 0xff, 192, 0, 2, 1}},
        {{[10] = 0xff, 0xff, 198, 51, 100, 9}}, /* no way there */
    };
    boot();
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct peer p = peer4(80, 0);
        p.addr = bad[i];
        ck_assert_int_eq(refused_to(p), STACK_E_NO_ROUTE);
    }
}
END_TEST

START_TEST(no_address_to_speak_from)
{
    struct peer p = peer4(80, 0);
    enum stack_error error = 0;
    host.iface[0].n_addrs = 1; /* of IPv6 only the link's */
    host_boot();
    meet4();
    struct stack_connect to = {.remote = PEER4, .port = 80, .local = OTHER4, .service = &noting};
    ck_assert_ptr_null(stack_connect(host.stack, &to, host.now, &error));
    ck_assert_int_eq(error, STACK_E_NO_SOURCE);
    to.local = US_LL; /* of the other family */
    ck_assert_ptr_null(stack_connect(host.stack, &to, host.now, &error));
    ck_assert_int_eq(error, STACK_E_NO_SOURCE);
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
}
END_TEST

START_TEST(nobody_answers)
{
    struct peer p = peer4(80, 0);
    boot();
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
    pass(179 * TICK_SEC);
    ck_assert_uint_eq(service.reset, 0);
    pass(2 * TICK_SEC);
    ck_assert_uint_eq(service.reset, 1);
    ck_assert_int_eq(service.code, STREAM_TIMEOUT);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

START_TEST(somebody_refuses)
{
    struct peer p = peer4(80, 0);
    boot();
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
    peer_asked(&p);
    peer_says(&p, TCP_RST | TCP_ACK, 0);
    ck_assert_uint_eq(service.reset, 1);
    ck_assert_int_eq(service.code, STREAM_REFUSED);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

/* ---- ports ---- */

START_TEST(every_port_of_the_range_is_used_once)
{
    bool used[65536] = {0};
    struct peer p = peer4(80, 0);
    host.config.tcp.port_min = 40000;
    host.config.tcp.port_max = 40099;
    listen_on("in-the-range", 40050);
    boot();
    for (unsigned i = 0; i < 99; i++) {
        ck_assert_ptr_nonnull(connect_to(&p, NULL));
        peer_asked(&p);
        ck_assert_uint_ge(p.us_port, 40000);
        ck_assert_uint_le(p.us_port, 40099);
        ck_assert_uint_ne(p.us_port, 40050);
        ck_assert(!used[p.us_port]);
        used[p.us_port] = true;
    }
    enum stack_error error = 0;
    ck_assert_ptr_null(connect_to(&p, &error));
    ck_assert_int_eq(error, STACK_E_NO_PORT);
    struct peer other = peer4(81, 0);
    ck_assert_ptr_nonnull(connect_to(&other, NULL)); /* with another destination they are free */
}
END_TEST

/* RFC 6056 3.3.3: for another destination counting starts elsewhere. */
START_TEST(destinations_do_not_tell_of_each_other)
{
    unsigned close = 0;
    uint16_t last = 0;
    boot();
    for (uint16_t i = 0; i < 100; i++) {
        struct peer p = peer4((uint16_t)(1000 + i), 0);
        ck_assert_ptr_nonnull(connect_to(&p, NULL));
        peer_asked(&p);
        close += (uint16_t)(p.us_port - last + 100) < 200;
        last = p.us_port;
    }
    ck_assert_uint_le(close, 5); /* 0.7 are to be expected */
}
END_TEST

START_TEST(answers_come_back_to_this_worker)
{
    struct steer steer;
    steer_init(&steer, 7);
    host.config.n_workers = 7;
    for (uint16_t worker = 0; worker < 7; worker++) {
        host.config.worker = worker;
        host_create();
        pass(4 * TICK_SEC);
        ignore();
        hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
        ignore();
        for (unsigned i = 0; i < 50; i++) {
            struct peer p = peer4((uint16_t)(80 + i % 3), 0);
            ck_assert_ptr_nonnull(connect_to(&p, NULL));
        }
        struct ctl_connection rows[64];
        struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 64};
        stack_control(host.stack, &r, host.now);
        ck_assert_uint_eq(r.n, 50);
        for (unsigned i = 0; i < 50; i++) {
            uint32_t back = steer_hash(&rows[i].remote, &rows[i].local, rows[i].remote_port,
                                       rows[i].local_port);
            ck_assert_uint_eq(steer_worker(&steer, back), worker);
        }
        host_destroy();
    }
}
END_TEST

START_TEST(bounds)
{
    struct peer p = peer4(80, 0);
    enum stack_error error = 0;
    host.config.limits.flows = 2;
    boot();
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
    ck_assert_ptr_null(connect_to(&p, &error));
    ck_assert_int_eq(error, STACK_E_LIMIT);
}
END_TEST

START_TEST(the_heap_ends)
{
    struct peer p = peer4(80, 0);
    boot();
    host.heap.limit = host.heap.bytes;
    ck_assert_int_eq(refused_to(p), STACK_E_MEMORY);
}
END_TEST

UNIT_MAIN("connect", ready, host_teardown, to_ipv4, to_ipv6,
          what_is_written_before_it_opens_goes_when_it_has, it_knows_whose_it_is,
          the_address_may_be_chosen, a_link_local_peer_needs_an_address_of_its_link,
          nobody_to_connect_to, no_address_to_speak_from, nobody_answers, somebody_refuses,
          every_port_of_the_range_is_used_once, destinations_do_not_tell_of_each_other,
          answers_come_back_to_this_worker, bounds, the_heap_ends)
