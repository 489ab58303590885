/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/settings.h"

#include <string.h>

#include "support/unit.h"

#define FILL(...) tcp_settings_fill(&(struct tcp_settings){__VA_ARGS__})

START_TEST(nothing_chosen_is_the_defaults)
{
    struct tcp_settings s = {0};
    ck_assert(tcp_settings_fill(&s));
    ck_assert_int_eq(s.congestion, TCP_CUBIC);
    ck_assert_int_eq(s.ecn, TCP_ECN_ACCEPT);
    ck_assert(!s.no_timestamps && !s.no_sack && !s.no_window_scaling && !s.nagle && !s.no_pacing);
    ck_assert_uint_eq(s.initial_window, 10);
    ck_assert_uint_eq(s.receive_buffer, 65536);
    ck_assert_uint_eq(s.receive_buffer_max, 4194304);
    ck_assert_uint_eq(s.send_buffer, 65536);
    ck_assert_uint_eq(s.send_buffer_max, 4194304);
    ck_assert_uint_eq(s.promises, 1024);
    ck_assert_uint_eq(s.challenge_rate, 1000);
    ck_assert_uint_eq(s.reset_rate, 1000);
    ck_assert_uint_eq(s.rto_min, 200 * TICK_MS);
    ck_assert_uint_eq(s.delayed_ack, 40 * TICK_MS);
    ck_assert_uint_eq(s.connect_timeout, 180 * TICK_SEC);
    ck_assert_uint_eq(s.accept_timeout, 60 * TICK_SEC);
    ck_assert_uint_eq(s.user_timeout, 300 * TICK_SEC);
    ck_assert_uint_eq(s.fin_timeout, 60 * TICK_SEC);
    ck_assert_uint_eq(s.time_wait, 60 * TICK_SEC);
    ck_assert_uint_eq(s.keepalive, TICK_NEVER); /* RFC 9293 3.8.4 */
    ck_assert_uint_eq(s.keepalive_interval, 75 * TICK_SEC);
    ck_assert_uint_eq(s.keepalive_probes, 9);
    ck_assert_uint_eq(s.port_min, 32768);
    ck_assert_uint_eq(s.port_max, 60999);
}
END_TEST

START_TEST(what_was_chosen_stays)
{
    struct tcp_settings s = {
        .congestion = TCP_NEWRENO,
        .ecn = TCP_ECN_OFF,
        .no_sack = true,
        .initial_window = 3,
        .receive_buffer = 16384,
        .receive_buffer_max = 32768,
        .send_buffer = 1000000,
        .send_buffer_max = 1000000,
        .promises = 7,
        .rto_min = TICK_SEC,
        .delayed_ack = TICK_MS,
        .keepalive = TICK_NEVER,
        .keepalive_probes = 1,
        .port_min = 1024,
        .port_max = 65535,
    };
    struct tcp_settings before = s;
    ck_assert(tcp_settings_fill(&s));
    ck_assert_int_eq(s.congestion, before.congestion);
    ck_assert_int_eq(s.ecn, before.ecn);
    ck_assert(s.no_sack);
    ck_assert_uint_eq(s.initial_window, before.initial_window);
    ck_assert_uint_eq(s.receive_buffer, before.receive_buffer);
    ck_assert_uint_eq(s.receive_buffer_max, before.receive_buffer_max);
    ck_assert_uint_eq(s.send_buffer, before.send_buffer);
    ck_assert_uint_eq(s.send_buffer_max, before.send_buffer_max);
    ck_assert_uint_eq(s.promises, before.promises);
    ck_assert_uint_eq(s.rto_min, before.rto_min);
    ck_assert_uint_eq(s.delayed_ack, before.delayed_ack);
    ck_assert_uint_eq(s.keepalive, TICK_NEVER);
    ck_assert_uint_eq(s.keepalive_probes, 1);
    ck_assert_uint_eq(s.port_min, 1024);
    ck_assert_uint_eq(s.port_max, 65535);
}
END_TEST

START_TEST(filling_again_changes_nothing)
{
    struct tcp_settings once;
    memset(&once, 0, sizeof(once)); /* padding too */
    once.receive_buffer_max = 8192;
    ck_assert(tcp_settings_fill(&once));
    struct tcp_settings twice;
    memcpy(&twice, &once, sizeof(twice));
    ck_assert(tcp_settings_fill(&twice));
    ck_assert_mem_eq(&once, &twice, sizeof(once));
}
END_TEST

START_TEST(a_buffers_default_gives_way_to_its_bound)
{
    struct tcp_settings s = {.receive_buffer_max = 20000, .send_buffer_max = 10000};
    ck_assert(tcp_settings_fill(&s));
    ck_assert_uint_eq(s.receive_buffer, 20000);
    ck_assert_uint_eq(s.send_buffer, 10000);
    s = (struct tcp_settings){.receive_buffer = 8u << 20, .send_buffer = 16u << 20};
    ck_assert(tcp_settings_fill(&s));
    ck_assert_uint_eq(s.receive_buffer_max, 8u << 20);
    ck_assert_uint_eq(s.send_buffer_max, 16u << 20);
}
END_TEST

START_TEST(contradictions_are_refused)
{
    ck_assert(!FILL(.receive_buffer = 20001, .receive_buffer_max = 20000));
    ck_assert(FILL(.receive_buffer = 20000, .receive_buffer_max = 20000));
    ck_assert(!FILL(.receive_buffer = 8u << 20, .receive_buffer_max = 5u << 20));
    ck_assert(!FILL(.send_buffer = 20001, .send_buffer_max = 20000));
    ck_assert(FILL(.send_buffer = 20000, .send_buffer_max = 20000));
    ck_assert(!FILL(.port_min = 4001, .port_max = 4000));
    ck_assert(FILL(.port_min = 4000, .port_max = 4000));
    ck_assert(!FILL(.port_min = 61000)); /* beyond the default of the other */
    ck_assert(!FILL(.port_max = 32767));
}
END_TEST

START_TEST(so_is_what_the_protocol_cannot_do)
{
    ck_assert(!FILL(.congestion = TCP_CONGESTION_END));
    ck_assert(!FILL(.ecn = (enum tcp_ecn)3));
    /* RFC 7323 2.3: the largest window that there is. */
    ck_assert(FILL(.receive_buffer_max = 65535u << 14));
    ck_assert(!FILL(.receive_buffer_max = (65535u << 14) + 1));
    ck_assert(FILL(.receive_buffer = 536, .send_buffer = 536));
    ck_assert(!FILL(.receive_buffer = 535));
    ck_assert(!FILL(.send_buffer = 535));
    ck_assert(FILL(.initial_window = 1, .promises = 2, .challenge_rate = 1, .reset_rate = 1));
    ck_assert(!FILL(.initial_window = 1025));
    /* RFC 9293 3.8.6.3: less than half a second. */
    ck_assert(FILL(.delayed_ack = 499 * TICK_MS));
    ck_assert(!FILL(.delayed_ack = 500 * TICK_MS));
    ck_assert(!FILL(.rto_min = TICK_US));
    ck_assert(!FILL(.rto_min = 61 * TICK_SEC));
    ck_assert(!FILL(.keepalive_probes = 128));
    ck_assert(!FILL(.user_timeout = TICK_NEVER));
    ck_assert(!FILL(.time_wait = 1));
    ck_assert(FILL(.port_min = 1, .port_max = 1));
}
END_TEST

START_TEST(congestion_controls_have_names)
{
    ck_assert_str_eq(tcp_congestion_name(TCP_CUBIC), "cubic");
    ck_assert_str_eq(tcp_congestion_name(TCP_NEWRENO), "newreno");
}
END_TEST

UNIT_MAIN("settings", NULL, NULL, nothing_chosen_is_the_defaults, what_was_chosen_stays,
          filling_again_changes_nothing, a_buffers_default_gives_way_to_its_bound,
          contradictions_are_refused, so_is_what_the_protocol_cannot_do,
          congestion_controls_have_names)
