/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/bytes.h"
#include "peer.h"

static void boot(void)
{
    listen_on("note", 7);
    host_boot();
    meet4();
    meet6();
}

static void ready(void)
{
    service = (struct service){0};
    host_setup();
}

/* ---- a connection from end to end ---- */

static void conversation(struct peer p)
{
    uint32_t n;
    peer_open(&p);
    peer_says(&p, TCP_ACK | TCP_PSH, 1000);
    ck_assert_uint_eq(service.bytes, 1000);
    peer_hears(&p, TCP_ACK, NULL);
    static const uint8_t answer[500];
    ck_assert(stream_write(service.stream, vec_of_const(answer, sizeof(answer))));
    peer_hears(&p, TCP_ACK | TCP_PSH, &n);
    ck_assert_uint_eq(n, 500);
    peer_says(&p, TCP_ACK, 0);
    stream_end(service.stream);
    peer_hears(&p, TCP_ACK | TCP_FIN, NULL);
    peer_says(&p, TCP_ACK | TCP_FIN, 0);
    peer_hears(&p, TCP_ACK, NULL);
    ck_assert(service.end);
    ck_assert_uint_eq(service.ended, 1);
    silence();
    no_drops();
    struct ctl_connection row;
    ck_assert(connection(&p, &row));
    ck_assert_str_eq(row.state, "time-wait");
    pass(60 * TICK_SEC);
    ck_assert_uint_eq(connections(), 0);
}

START_TEST(a_conversation_in_ipv4)
{
    boot();
    conversation(peer4(1024, 7));
}
END_TEST

START_TEST(a_conversation_in_ipv6)
{
    boot();
    conversation(peer6(1024, 7));
}
END_TEST

UNIT_MAIN("tcp", ready, host_teardown, a_conversation_in_ipv4, a_conversation_in_ipv6)
