/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/api.h"

#include <stdio.h>
#include <string.h>

#include "support/unit.h"
#include "unit/app/fake_runtime.h"

static struct runtime rt;
static struct api_call c;

static void setup(void)
{
    fake_init(&rt);
    c = (struct api_call){.rt = &rt, .method = "GET", .path = "/metrics", .body = ""};
}

static void teardown(void)
{
    free(c.text);
}

static void scrape(void)
{
    api_answer(&c);
    ck_assert_uint_eq(c.status, 200);
    ck_assert_str_eq(c.type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    ck_assert_uint_eq(c.len, strlen(c.text));
}

static void expect_line(const char *line)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "\n%s\n", line);
    ck_assert_msg(strstr(c.text, whole), "no line: %s", line);
}

/* Just one sample of these families has that value. */
static void expect_value(const char *family, unsigned value)
{
    unsigned n = 0;
    char end[32];
    snprintf(end, sizeof(end), " %u\n", value);
    for (const char *line = c.text; (line = strstr(line, family)); line++) {
        const char *stop = strchr(line, '\n') + 1;
        n += line[-1] == '\n' && memcmp(stop - strlen(end), end, strlen(end)) == 0;
    }
    ck_assert_msg(n == 1, "%s: %u: %u samples", family, value, n);
}

/* tests/smoke/openmetrics.py judges. */
static void expect_valid(void)
{
    FILE *judge = popen(OPENMETRICS_CHECK " --labels worker,device,reason,kind,end >&2", "w");
    ck_assert_ptr_nonnull(judge);
    fwrite(c.text, 1, c.len, judge);
    ck_assert_int_eq(pclose(judge), 0);
}

START_TEST(the_text_is_valid)
{
    scrape();
    expect_valid();
    rt.n_workers = 1;
    rt.config.n_devices = 0;
    free(c.text);
    c.text = NULL;
    scrape();
    expect_valid();
}
END_TEST

START_TEST(values_are_those_of_the_counters)
{
    rt.word[1][COUNTER_RX_PACKETS] = UINT64_MAX;
    rt.word[0][COUNTER_BUSY_CYCLES] = 2500000000;
    rt.word[1][counters_drop_word(DROP_UDP_PORT)] = 9;
    rt.stats[1].rx_bytes = 77;
    rt.word[1][COUNTER_TCP_OPENED] = 12;
    rt.word[1][COUNTER_TCP_CLOSED] = 5;
    rt.word[1][COUNTER_H2_GLITCH_EMPTY_DATA] = 8;
    rt.word[1][COUNTER_H2_STREAMS_OPENED] = 5;
    rt.word[1][COUNTER_H2_STREAMS_CLOSED] = 2;
    rt.state[1] = WORKER_STUCK;
    rt.link_up[0] = false;
    scrape();
    expect_valid();
    expect_line("# TYPE millrace_rx_packets counter");
    expect_line("# UNIT millrace_rx_packets packets");
    expect_line("# HELP millrace_rx_packets packets that entered the stack.");
    expect_line("millrace_rx_packets_total{worker=\"0\"} 0");
    expect_line("millrace_rx_packets_total{worker=\"1\"} 18446744073709551615");
    expect_line("# TYPE millrace_tcp_connections gauge");
    expect_line("millrace_tcp_connections{worker=\"0\"} 0");
    expect_line("millrace_tcp_connections{worker=\"1\"} 7");
    expect_line("millrace_busy_seconds_total{worker=\"0\"} 2.500000");
    expect_line("millrace_drops_total{worker=\"1\",reason=\"udp_port\"} 9");
    expect_line("millrace_device_rx_bytes_total{device=\"lan.0-x\"} 77");
    expect_line("millrace_device_link_up{device=\"wan0\"} 0");
    expect_line("millrace_device_link_speed_bytes{device=\"wan0\"} 1250000000");
    expect_line("millrace_worker_up{worker=\"0\"} 1");
    expect_line("millrace_worker_up{worker=\"1\"} 0");
    expect_line("millrace_worker_stalled_seconds{worker=\"1\"} 1.500");
    expect_line("millrace_uptime_seconds 90");
    expect_line("millrace_packet_buffers 2000");
    expect_line("millrace_packet_buffers_in_use 21");
    expect_line("# TYPE millrace_h2_glitches counter");
    expect_line("millrace_h2_glitches_total{worker=\"1\",kind=\"empty_data\"} 8");
    expect_line("millrace_h2_streams{worker=\"1\"} 3");
    expect_line("# UNIT millrace_tls_rx_bytes bytes");
    expect_line("millrace_tls_memory_bytes 12345");
    expect_line("millrace_tls_certificates_end_timestamp_seconds 2000000001");
    expect_line("millrace_access_log_written_total 17");
    expect_line("millrace_access_log_lost_total{worker=\"1\"} 1");
}
END_TEST

START_TEST(names_and_passwords_are_counted)
{
    for (unsigned i = 0; i < RESOLVER_COUNTER_END; i++)
        rt.resolver.count[i] = 1000 + i;
    for (unsigned i = 0; i < VERIFIER_COUNTER_END; i++)
        rt.verifier.count[i] = 2000 + i;
    rt.resolver.count[RESOLVER_LATENCY_US] = 1500000;
    rt.verifier.count[VERIFIER_TIME_US] = 250;
    rt.resolver.cached = 3;
    rt.resolver.under_way = 2;
    rt.resolver.waiting = 5;
    rt.verifier.waiting = 4;
    scrape();
    expect_valid();
    /* Each once, but for those two. */
    for (unsigned i = 0; i < RESOLVER_LATENCY_US; i++)
        expect_value("millrace_resolver_", 1000 + i);
    for (unsigned i = 0; i < VERIFIER_TIME_US; i++)
        expect_value("millrace_verifier_", 2000 + i);
    expect_line("millrace_resolver_query_seconds_total 1.500000");
    expect_line("# UNIT millrace_resolver_query_seconds seconds");
    expect_line("millrace_verifier_check_seconds_total 0.000250");
    expect_line("millrace_resolver_cached 3");
    expect_line("millrace_resolver_queries_under_way 2");
    expect_line("millrace_resolver_waiting 5");
    expect_line("millrace_verifier_waiting 4");
}
END_TEST

START_TEST(tunnels_are_counted)
{
    rt.word[0][COUNTER_TUNNELS_OPENED] = 9;
    rt.word[0][COUNTER_TUNNELS_CLOSED] = 2;
    rt.word[1][COUNTER_TUNNEL_END_DONE] = 6;
    rt.word[1][COUNTER_TUNNEL_TO_TARGET] = 77;
    scrape();
    expect_valid();
    expect_line("millrace_tunnels{worker=\"0\"} 7");
    expect_line("millrace_tunnels_ended_total{worker=\"1\",end=\"done\"} 6");
    expect_line("# UNIT millrace_tunnel_to_target_bytes bytes");
    expect_line("millrace_tunnel_to_target_bytes_total{worker=\"1\"} 77");
}
END_TEST

START_TEST(every_name_of_the_registries_is_there)
{
    char line[160];
    scrape();
    for (int i = 0; i < COUNTER_END; i++) {
        const char *name = counter_name((enum counter)i);
        if (strncmp(name, "h2_glitch_", 10) == 0)
            snprintf(line, sizeof(line), "millrace_h2_glitches_total{worker=\"1\",kind=\"%s\"} 0",
                     name + 10);
        else if (strncmp(name, "tunnel_end_", 11) == 0)
            snprintf(line, sizeof(line), "millrace_tunnels_ended_total{worker=\"1\",end=\"%s\"} 0",
                     name + 11);
        else
            snprintf(line, sizeof(line), "millrace_%s_total{worker=\"1\"} 0", name);
        expect_line(line);
    }
    for (int i = 1; i < DROP_END; i++) {
        snprintf(line, sizeof(line), "millrace_drops_total{worker=\"0\",reason=\"%s\"} 0",
                 drop_name((enum drop)i));
        expect_line(line);
    }
}
END_TEST

START_TEST(a_torn_record_leaves_its_worker_out)
{
    rt.torn[0] = true;
    scrape();
    expect_valid();
    ck_assert_ptr_null(strstr(c.text, "rx_packets_total{worker=\"0\"}"));
    expect_line("millrace_rx_packets_total{worker=\"1\"} 0");
    expect_line("millrace_worker_up{worker=\"0\"} 1");
}
END_TEST

START_TEST(it_ends_as_the_standard_says)
{
    scrape();
    ck_assert_str_eq(c.text + c.len - 6, "# EOF\n");
}
END_TEST

UNIT_MAIN("metrics", setup, teardown, the_text_is_valid, values_are_those_of_the_counters,
          names_and_passwords_are_counted, tunnels_are_counted,
          every_name_of_the_registries_is_there, a_torn_record_leaves_its_worker_out,
          it_ends_as_the_standard_says)
