/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "peer.h"
#include "stack/conn.h"

static const uint8_t bytes[1 << 20];

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

static void write_bytes(struct stream *s, uint32_t n)
{
    ck_assert(stream_write(s, vec_of_const(bytes, n)));
}

/* ---- output ---- */

START_TEST(no_more_leaves_than_the_device_takes)
{
    struct pkt *burst[8];
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    write_bytes(service.stream, 14000);
    /* A window of ten segments, in bursts of three. */
    static const unsigned counts[] = {3, 3, 3, 1};
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_ge(stack_pending(host.stack, 0), 1);
        ck_assert_uint_eq(stack_output(host.stack, 0, burst, 3, host.now), counts[i]);
        for (unsigned k = 0; k < counts[i]; k++)
            pkt_free(burst[k]);
    }
    ck_assert_uint_eq(stack_output(host.stack, 0, burst, 3, host.now), 0);
    ck_assert_uint_eq(stack_pending(host.stack, 0), 0);
    no_drops();
}
END_TEST

START_TEST(nor_more_than_the_queue_holds)
{
    struct pkt *burst[32];
    struct peer p = peer4(1024, 7);
    unsigned sum = 0;
    host.config.limits.tx_queue = 4;
    boot();
    peer_open(&p);
    mark();
    write_bytes(service.stream, 14000);
    for (unsigned n; (n = stack_output(host.stack, 0, burst, 32, host.now)) > 0; sum += n) {
        ck_assert_uint_le(n, 4);
        for (unsigned k = 0; k < n; k++)
            pkt_free(burst[k]);
    }
    ck_assert_uint_eq(sum, 10);
    no_drops();
}
END_TEST

START_TEST(connections_take_turns)
{
    struct peer p[3];
    struct pkt *burst[4];
    unsigned sent[3] = {0};
    boot();
    struct stream *stream[3];
    for (unsigned i = 0; i < 3; i++) {
        p[i] = peer4((uint16_t)(1200 + i), 7);
        peer_open(&p[i]);
        stream[i] = service.stream;
    }
    for (unsigned i = 0; i < 3; i++)
        write_bytes(stream[i], 14000);
    for (unsigned round = 0; round < 3; round++) {
        ck_assert_uint_eq(stack_output(host.stack, 0, burst, 4, host.now), 4);
        for (unsigned k = 0; k < 4; k++) {
            sent[burst[k]->data[ETHER_LEN + 23] - (1200 & 0xff)]++;
            pkt_free(burst[k]);
        }
    }
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(sent[i], 4);
}
END_TEST

START_TEST(without_packets_it_waits_and_goes_on)
{
    struct pkt *burst[16];
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    write_bytes(service.stream, 14000);
    host.pool.limit = host.pool.held + 2;
    unsigned n = stack_output(host.stack, 0, burst, 16, host.now);
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_lt(n, 10);
    ck_assert_uint_ge(stack_pending(host.stack, 0), 1);
    ck_assert_uint_eq(stack_output(host.stack, 0, burst + n, 16 - n, host.now), 0);
    host.pool.limit = SIZE_MAX;
    ck_assert_uint_eq(stack_output(host.stack, 0, burst + n, 16 - n, host.now), 10 - n);
    for (unsigned i = 0; i < 10; i++)
        pkt_free(burst[i]);
}
END_TEST

START_TEST(a_neighbour_is_asked_for_first)
{
    struct peer p = peer4(1024, 7);
    listen_on("note", 7);
    host_boot();
    peer_says(&p, TCP_SYN, 0);
    ck_assert_int_eq(said()->kind, FRAME_ARP);
    silence();
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
}
END_TEST

START_TEST(progress_keeps_the_neighbour)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    for (unsigned i = 0; i < 100; i++) {
        write_bytes(service.stream, 100);
        peer_hears(&p, TCP_ACK | TCP_PSH, NULL);
        peer_says(&p, TCP_ACK, 0);
        quiet(2 * TICK_SEC);
    }
    ck_assert_int_eq(neighbour_state(&PEER4), CTL_NEIGHBOUR_REACHABLE);
    ck_assert_uint_eq(added(COUNTER_ARP_TX_REQUESTS), 0);
}
END_TEST

/* What only comes in proves nothing of the way out. */
START_TEST(data_alone_does_not)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    for (unsigned i = 0; i < 100; i++) {
        peer_says(&p, TCP_ACK, 100);
        pass(2 * TICK_SEC);
        ignore();
    }
    ck_assert_uint_gt(added(COUNTER_ARP_TX_REQUESTS), 0);
}
END_TEST

START_TEST(checksums_and_cutting_are_left_to_a_device_that_can)
{
    struct peer p = peer4(1024, 7);
    struct pkt *burst[16];
    host.iface[0].offload =
        IFACE_TX_MULTI_SEGS | IFACE_TX_TCP_CSUM | IFACE_TX_IP_CSUM | IFACE_TX_TSO;
    host.config.limits.tx_queue = 128;
    boot();
    peer_says(&p, TCP_SYN, 0);
    ck_assert_uint_eq(
        stack_output(host.stack, 0, burst, 1, host.now) + (host.out[0].end - host.out[0].first), 1);
    struct pkt *syn = host.out[0].end ? host.out[0].p[host.out[0].first++] : burst[0];
    host.out[0].first = host.out[0].end = 0;
    ck_assert(syn->flags & PKT_TX_L4_CSUM);
    ck_assert_uint_eq(syn->l4_proto, IP_PROTO_TCP);
    ck_assert_uint_eq(syn->l3_len, 20);
    p.ack = seq32_add(seq32(load_be32(syn->data + ETHER_LEN + 24)), 1);
    pkt_free(syn);
    peer_says(&p, TCP_ACK, 0);
    write_bytes(service.stream, 14000);
    unsigned n = stack_output(host.stack, 0, burst, 16, host.now);
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_lt(n, 10);
    uint32_t total = 0;
    for (unsigned i = 0; i < n; i++) {
        ck_assert(burst[i]->flags & PKT_TX_L4_CSUM);
        ck_assert_uint_eq(burst[i]->l2_len, ETHER_LEN);
        uint32_t data = burst[i]->total - ETHER_LEN - 20 - burst[i]->l4_len;
        if (data > 1400) {
            ck_assert(burst[i]->flags & PKT_TX_TSO);
            ck_assert_uint_eq(burst[i]->tso_mss, 1400);
        }
        total += data;
        pkt_free(burst[i]);
    }
    ck_assert_uint_eq(total, 14000);
    no_drops();
}
END_TEST

/* ---- ends ---- */

START_TEST(opened_and_closed_are_counted_alike)
{
    boot();
    for (uint16_t i = 0; i < 20; i++) {
        struct peer p = peer4((uint16_t)(1024 + i), 7);
        peer_open(&p);
        if (i % 2) {
            peer_says(&p, TCP_RST, 0);
        } else {
            stream_abort(service.stream);
            peer_hears(&p, TCP_RST | TCP_ACK, NULL);
        }
        ck_assert_uint_eq(connections(), 0);
    }
    ck_assert_uint_eq(added(COUNTER_TCP_OPENED), 20);
    ck_assert_uint_eq(added(COUNTER_TCP_CLOSED), 20);
    ck_assert_uint_eq(host.stack->tcp.memory, 0);
}
END_TEST

START_TEST(memory_is_given_back_when_the_service_has_read)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    for (unsigned i = 0; i < 20; i++)
        peer_says(&p, TCP_ACK, 1000);
    ignore();
    ck_assert_uint_eq(host.stack->tcp.memory, 0);
}
END_TEST

START_TEST(a_silent_connection_costs_a_kilobyte)
{
    enum { CONNECTIONS = 640 }; /* ten chunks of the slab */
    boot();
    size_t before = host.heap.bytes;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct peer p = peer4((uint16_t)(1024 + i), 7);
        peer_open(&p);
        service.echo = true;
        struct tcp_hdr ahead = peer_header(&p, TCP_ACK);
        ahead.seq = seq32_add(ahead.seq, 100);
        peer_sends(&p, &ahead, 100);
        peer_hears(&p, TCP_ACK, NULL);
        peer_says(&p, TCP_ACK, 100);
        p.seq = seq32_add(p.seq, 100);
        peer_hears(&p, TCP_ACK | TCP_PSH, NULL);
        peer_says(&p, TCP_ACK, 0);
    }
    ck_assert_uint_gt(host.heap.bytes - before, 1024 * CONNECTIONS);
    quiet(1100 * TICK_MS);
    ck_assert_uint_le(host.heap.bytes - before, 1024 * CONNECTIONS);
}
END_TEST

/* Until its service has heard of data, whose answer may carry the acknowledgment. */
START_TEST(a_busy_connection_leaves_its_timer)
{
    struct peer p = peer4(1024, 7);
    host.config.tcp.keepalive = 3600 * TICK_SEC;
    boot();
    peer_open(&p);
    for (unsigned i = 0; i < 20; i++) /* so many are acknowledged at once */
        peer_says(&p, TCP_ACK, 10);
    pass(TICK_SEC);
    ignore();
    tick_t before = stack_deadline(host.stack);
    ck_assert_uint_gt(before, host.now + TICK_SEC);
    struct tcp_hdr h = peer_header(&p, TCP_ACK);
    frame_payload(&host.frame, 10);
    frame_push_tcp(&host.frame, &h, &p.addr, &p.us);
    hear_ip4(&p.addr, &p.us, IP_PROTO_TCP);
    ck_assert_uint_eq(stack_deadline(host.stack), before);
    turn();
    ck_assert_uint_le(stack_deadline(host.stack), host.now + 40 * TICK_MS);
    said_after(stack_deadline(host.stack) - host.now);
}
END_TEST

/* Echoes n segments to p, which acknowledges none. */
static void fill(struct peer *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        peer_says(p, TCP_ACK, 1000);
        ck_assert_uint_le(host.stack->tcp.memory, host.config.limits.tcp_memory);
        ignore();
    }
}

START_TEST(promised_windows_do_not_pass_the_bound_of_memory)
{
    struct peer p = peer4(1024, 7), q = peer4(1025, 7);
    host.config.limits.tcp_memory = 32 * PKT_COST;
    boot();
    service.echo = true;
    peer_open(&p);
    peer_open(&q);
    p.window = 0;
    mark();
    fill(&p, 60);
    ck_assert_uint_gt(counter_drops(&host.counters, DROP_TCP_MEMORY), 20);
    uint32_t before = service.bytes;
    peer_says(&q, TCP_ACK, 1000); /* who holds nothing is heard */
    ck_assert_uint_eq(service.bytes, before + 1000);
    peer_says(&q, TCP_ACK | TCP_RST, 0);
    peer_says(&p, TCP_ACK, 0);
    ignore();
}
END_TEST

/* For so many seconds p answers what it hears with a shut window. */
static void stay_shut(struct peer *p, unsigned seconds)
{
    p->window = 0;
    for (unsigned i = 0; i < 10 * seconds; i++) {
        pass(TICK_SEC / 10);
        if (ignore() > 0 && connections() > 0)
            peer_says(p, TCP_ACK, 0);
    }
}

START_TEST(a_shut_window_is_no_end_unless_memory_is_short)
{
    struct peer p = peer4(1024, 7);
    host.config.limits.tcp_memory = 32 * PKT_COST;
    boot();
    service.echo = true;
    p.window = 0;
    peer_open(&p);
    fill(&p, 10);
    stay_shut(&p, 600);
    ck_assert_uint_eq(connections(), 1);
    fill(&p, 20);
    ck_assert(tcp_full(&host.stack->tcp));
    stay_shut(&p, 600);
    ck_assert_uint_eq(connections(), 0);
    ck_assert_int_eq(service.code, STREAM_TIMEOUT);
    ck_assert_uint_eq(host.stack->tcp.memory, 0);
}
END_TEST

START_TEST(a_stack_ends_in_the_middle_of_everything)
{
    struct peer p[6];
    boot();
    for (unsigned i = 0; i < 6; i++) {
        p[i] = peer4((uint16_t)(1024 + i), 7);
        peer_open(&p[i]);
    }
    service.hold = true;
    peer_says(&p[0], TCP_ACK, 1000);                /* unread, unacknowledged */
    write_bytes(service.stream, 60000);             /* unsent */
    peer_says(&p[1], TCP_ACK | TCP_FIN, 100);       /* half closed */
    struct tcp_hdr h = peer_header(&p[2], TCP_ACK); /* out of order */
    h.seq = seq32_add(h.seq, 1000);
    peer_sends(&p[2], &h, 500);
    peer_says(&p[3], TCP_RST, 0); /* gone */
    struct peer q = peer4(80, 0);
    ck_assert_ptr_nonnull(connect_to(&q, NULL)); /* on its way */
    struct peer half = peer4(2000, 7);
    peer_says(&half, TCP_SYN, 0); /* half open */
    /* The teardown looks for leaks. */
}
END_TEST

START_TEST(an_address_takes_its_connections_along)
{
    struct peer p = peer4(1024, 7);
    struct peer q = peer6(1024, 7);
    boot();
    peer_open(&p);
    peer_open(&q);
    host.iface[0].addr[0] = host.iface[0].addr[1]; /* IPv4 goes */
    host.iface[0].n_addrs = 1;
    ck_assert_int_eq(host_configure(), 0);
    turn();
    ck_assert_uint_eq(service.reset, 1);
    ck_assert_int_eq(service.code, STREAM_KILLED);
    ck_assert_uint_eq(connections(), 1);
    silence(); /* nothing from an address that is not ours */
    peer_says(&q, TCP_ACK | TCP_PSH, 10);
    peer_hears(&q, TCP_ACK, NULL);
}
END_TEST

START_TEST(so_does_one_that_another_host_has)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    for (unsigned i = 0; i < 2; i++)
        hear_arp(ARP_REPLY, &MAC_BROADCAST, &OTHER_MAC, &US4, &US4);
    if (address_state(&US4) == CTL_ADDRESS_DUPLICATE) {
        turn();
        ck_assert_int_eq(service.code, STREAM_KILLED);
        ck_assert_uint_eq(connections(), 0);
    }
}
END_TEST

START_TEST(the_rest_of_a_configuration_leaves_connections_alone)
{
    struct peer p = peer4(1024, 7);
    uint32_t n;
    boot();
    peer_open(&p);
    host.iface[0].mtu = 1300;
    host.config.tcp.nagle = true;
    ck_assert_int_eq(host_configure(), 0);
    ignore();
    meet4();
    write_bytes(service.stream, 3000);
    peer_hears(&p, TCP_ACK, &n);
    ck_assert_uint_eq(n, 1260); /* the new link's */
    ck_assert_uint_eq(service.reset, 0);
}
END_TEST

START_TEST(a_connection_follows_its_route)
{
    struct peer p = peer4(1024, 7);
    p.addr = FAR4;
    host.config.n_ifaces = 2;
    host.iface[0].gateway4 = PEER4;
    boot();
    peer_open(&p);
    host.iface[0].gateway4 = IP_ADDR_ANY6;
    host.iface[1].gateway4 = (struct ip_addr){{[10] = 0xff, 0xff, 203, 0, 113, 2}};
    write_bytes(service.stream, 100); /* while it waits to send on the other */
    ck_assert_int_eq(host_configure(), 0);
    const struct frame_seen *s = said_on(1);
    ck_assert_int_eq(s->kind, FRAME_ARP);
    ck_assert_ip(s->arp.target_ip, host.iface[1].gateway4);
    silence();
    no_drops();
}
END_TEST

/* ---- services ---- */

/* One that writes to another's stream while it is told something itself. */
static struct stream *other_stream;

static void relay_data(struct stream *s, struct pkt *view, bool end)
{
    (void)end;
    uint32_t n = view ? view->len : 0;
    if (view && other_stream)
        stream_write_pkt(other_stream, view);
    else
        pkt_free(view);
    stream_consume(s, n);
}

static void relay_opened(struct stream *s)
{
    service.opened++;
    service.stream = s;
}

static const struct stream_service relay = {
    .name = "relay", .opened = relay_opened, .data = relay_data};

START_TEST(a_service_may_write_to_another_connection)
{
    struct peer p = peer4(1024, 7);
    struct peer q = peer4(1025, 7);
    uint32_t n;
    listen_on("relay", 7)->service = &relay;
    host_boot();
    meet4();
    peer_open(&p);
    other_stream = service.stream;
    peer_open(&q);
    peer_says(&q, TCP_ACK | TCP_PSH, 700);
    peer_hears(&q, TCP_ACK, NULL);
    peer_hears(&p, TCP_ACK | TCP_PSH, &n);
    ck_assert_uint_eq(n, 700);
    other_stream = NULL;
}
END_TEST

static void abort_data(struct stream *s, struct pkt *view, bool end)
{
    (void)end;
    pkt_free(view);
    if (other_stream)
        stream_abort(other_stream);
    other_stream = NULL;
    stream_abort(s);
}

static const struct stream_service aborting = {
    .name = "aborting", .opened = relay_opened, .data = abort_data};

START_TEST(a_service_may_abort_itself_and_others)
{
    struct peer p = peer4(1024, 7);
    struct peer q = peer4(1025, 7);
    listen_on("abort", 7)->service = &aborting;
    host_boot();
    meet4();
    peer_open(&p);
    other_stream = service.stream;
    peer_open(&q);
    peer_says(&q, TCP_ACK | TCP_PSH, 700);
    ck_assert_uint_eq(ignore(), 2); /* a reset to each */
    ck_assert_uint_eq(added(COUNTER_TCP_RESETS_TX), 2);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

static void connect_opened(struct stream *s)
{
    struct stack_connect to = {.remote = OTHER4, .port = 80, .service = &noting};
    service.stream = s;
    ck_assert_ptr_nonnull(stack_connect(host.stack, &to, host.now, NULL));
}

static const struct stream_service connecting = {
    .name = "connecting", .opened = connect_opened, .data = relay_data};

START_TEST(a_service_may_open_a_connection)
{
    struct peer p = peer4(1024, 7);
    listen_on("connect", 7)->service = &connecting;
    host_boot();
    meet4();
    peer_says(&p, TCP_SYN, 0);
    peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
    peer_says(&p, TCP_ACK, 0);
    ck_assert_int_eq(said()->kind, FRAME_ARP); /* for the other host */
    ck_assert_uint_eq(connections(), 2);
}
END_TEST

START_TEST(an_echo_of_a_megabyte)
{
    struct peer p = peer4(1024, 7);
    uint64_t got = 0;
    service.echo = true;
    boot();
    peer_open(&p);
    for (unsigned i = 0; i < 1000; i++) {
        peer_says(&p, TCP_ACK | TCP_PSH, 1000);
        for (uint32_t n = 0; got < 1000u * (i + 1); got += n) {
            const struct frame_seen *s = said();
            n = s->upper_len - s->tcp.len;
            p.ack = seq32_add(s->tcp.seq, n);
        }
        host.now += TICK_MS;
    }
    ck_assert_uint_eq(got, 1000000);
    no_drops();
}
END_TEST

UNIT_MAIN("conn", ready, host_teardown, no_more_leaves_than_the_device_takes,
          nor_more_than_the_queue_holds, connections_take_turns,
          without_packets_it_waits_and_goes_on, a_neighbour_is_asked_for_first,
          progress_keeps_the_neighbour, data_alone_does_not,
          checksums_and_cutting_are_left_to_a_device_that_can, opened_and_closed_are_counted_alike,
          memory_is_given_back_when_the_service_has_read, a_silent_connection_costs_a_kilobyte,
          a_busy_connection_leaves_its_timer, promised_windows_do_not_pass_the_bound_of_memory,
          a_shut_window_is_no_end_unless_memory_is_short, a_stack_ends_in_the_middle_of_everything,
          an_address_takes_its_connections_along, so_does_one_that_another_host_has,
          the_rest_of_a_configuration_leaves_connections_alone, a_connection_follows_its_route,
          a_service_may_write_to_another_connection, a_service_may_abort_itself_and_others,
          a_service_may_open_a_connection, an_echo_of_a_megabyte)
