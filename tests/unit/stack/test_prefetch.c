/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

static void ready(void)
{
    service = (struct service){0};
    host_setup();
}

#define CROWD 600 /* more than stay in a cache by themselves */

static void crowd(void)
{
    listen_on("note", 7)->backlog = CROWD;
    host.config.limits.tx_queue = 2 * CROWD;
    host_boot();
    meet4();
    meet6();
    for (unsigned i = 0; i < CROWD; i++) {
        struct peer p = i % 2 ? peer6((uint16_t)(1024 + i), 7) : peer4((uint16_t)(1024 + i), 7);
        peer_open(&p);
    }
}

/* The frame as it would come from the peer. */
static struct pkt *segment(const struct peer *p, uint32_t n)
{
    bool v4 = ip_is_v4(&p->addr);
    struct tcp_hdr h = peer_header(p, TCP_ACK);
    frame_payload(&host.frame, n);
    frame_push_tcp(&host.frame, &h, &p->addr, &p->us);
    if (v4)
        frame_push_ip4(&host.frame,
                       &(struct ipv4_hdr){.src = p->addr, .dst = p->us, .proto = IP_PROTO_TCP});
    else
        frame_push_ip6(&host.frame,
                       &(struct ipv6_hdr){.src = p->addr, .dst = p->us, .next = IP_PROTO_TCP});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, v4 ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6);
    return heap_pkt(&host.pool, host.frame.at, host.frame.len, 0);
}

/* The numbers at which peer_open leaves both sides. */
static struct peer opened(unsigned i)
{
    struct peer p = i % 2 ? peer6((uint16_t)(1024 + i), 7) : peer4((uint16_t)(1024 + i), 7);
    struct ctl_connection row;
    ck_assert(connection(&p, &row));
    p.seq = seq32_add(p.seq, 1);
    return p;
}

START_TEST(a_burst_for_many)
{
    struct pkt *burst[200];
    crowd();
    for (unsigned i = 0; i < 200; i++) {
        struct peer p = opened(i);
        burst[i] = segment(&p, 10);
    }
    stack_input(host.stack, burst, 200, host.now);
    turn();
    /* Each has reached its connection, which finds fault with the acknowledgment of nothing. */
    dropped_n(DROP_TCP_ACK, 200);
}
END_TEST

START_TEST(frames_of_every_length)
{
    crowd();
    for (unsigned i = 0; i < 2; i++) {
        struct peer p = opened(i);
        struct pkt *whole = segment(&p, 0);
        for (uint32_t len = 0; len < whole->total; len++) {
            struct pkt *burst[2] = {heap_pkt(&host.pool, whole->data, len ? len : 1, 0),
                                    heap_pkt(&host.pool, whole->data, len ? len : 1, 7)};
            stack_input(host.stack, burst, 2, host.now);
        }
        pkt_free(whole);
    }
    ck_assert_uint_eq(connections(), CROWD);
}
END_TEST

UNIT_MAIN("prefetch", ready, host_teardown, a_burst_for_many, frames_of_every_length)
