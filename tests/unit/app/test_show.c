/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/show.h"

#include <string.h>

#include "support/unit.h"

#define CONNECTION                                                                                \
    "{\"id\":\"0-100\",\"worker\":0,\"protocol\":\"tcp\",\"state\":\"established\","              \
    "\"service\":\"echo\",\"listener\":\"main\",\"local_address\":\"10.0.0.1\",\"local_port\":7," \
    "\"remote_address\":\"fd00::2\",\"remote_port\":40000,\"congestion\":\"cubic\",\"recovery\":" \
    "\"open\",\"timestamps\":true,\"sack\":true,\"ecn\":false,\"window_scaling\":true,"           \
    "\"send_scale\":7,\"receive_scale\":8,\"age_seconds\":90,\"srtt_seconds\":0.00035,"           \
    "\"rttvar_seconds\":0.0402,\"rto_seconds\":0.2,\"timer_seconds\":null,\"cwnd_bytes\":14480,"  \
    "\"ssthresh_bytes\":null,\"mss_bytes\":1448,\"in_flight_bytes\":2048,\"unsent_bytes\":1024,"  \
    "\"lost_bytes\":0,\"unread_bytes\":64,\"tx_bytes\":3000000000,\"pacing_bytes_per_second\":"   \
    "1048576}"

#define TUNNEL                                                                               \
    "{\"id\":\"0-1000002a\",\"state\":\"open\",\"user\":\"alice\",\"age_seconds\":90,"       \
    "\"to_target\":1000,\"to_client\":3145728,\"authority\":\"www.example:443\",\"target\":" \
    "\"2001:db8:1234:5678:9abc:def0:1234:5678\",\"target_port\":443,\"client_address\":"     \
    "\"10.0.0.2\",\"client_port\":40000,\"connection\":\"0-2a\",\"listener\":\"proxy\","     \
    "\"proxy\":\"egress\",\"resolved_seconds\":null,\"connected_seconds\":0.025}"

static char *text;
static size_t len;

static void teardown(void)
{
    free(text);
    text = NULL;
}

/* What show prints of a reply, and of one that came some seconds after another. */
static const char *later(show_function *show, const char *before, double seconds, const char *now)
{
    json_error_t at;
    json_t *old = before ? json_loads(before, 0, &at) : NULL;
    json_t *new = json_loads(now, 0, &at);
    ck_assert_msg(new && (old || !before), "%s", at.text);
    free(text);
    FILE *out = open_memstream(&text, &len);
    show(&(struct show){new, old, seconds, out, 80, false});
    fclose(out);
    json_decref(old);
    json_decref(new);
    return text;
}

static const char *shown(show_function *show, const char *now)
{
    return later(show, NULL, 0, now);
}

/* No line is wider than a terminal. */
static void expect_narrow(const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        ck_assert_msg(n <= 80, "%zu columns: %.*s", n, (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

#define WORKER(rx, busy)                                                                  \
    "{\"workers\":[{\"worker\":11,\"core\":12,\"state\":\"starting\",\"idle\":\"sleep\"," \
    "\"dropped\":" rx ",\"counters\":{\"rx_packets\":" rx ",\"rx_bytes\":" rx             \
    ",\"tx_packets\":" rx ",\"tx_bytes\":" rx ",\"busy_cycles\":" busy ",\"idle_cycles\":750}}]}"

START_TEST(workers_fit_a_line)
{
    expect_narrow(shown(show_workers, WORKER("123456789012", "250")));
    ck_assert_ptr_nonnull(strstr(text, "25.0%"));
    ck_assert_ptr_nonnull(strstr(text, "123G"));
    expect_narrow(later(show_workers, WORKER("0", "0"), 1, WORKER("123456789012", "250")));
}
END_TEST

START_TEST(rates_are_by_the_second)
{
    later(show_workers, WORKER("1000", "250"), 2, WORKER("6000", "250"));
    ck_assert_ptr_nonnull(strstr(text, "RX/s"));
    ck_assert_ptr_nonnull(strstr(text, " 2.5k"));
    ck_assert_ptr_nonnull(strstr(text, " 0.0%"));
    /* A restart in between counts from 0 again: no rate, and nothing negative. */
    later(show_workers, WORKER("1000", "250"), 2, WORKER("10", "260"));
    ck_assert_ptr_null(strstr(text, " -"));
}
END_TEST

START_TEST(a_worker_without_counters_is_shown)
{
    shown(show_workers, "{\"workers\":[{\"worker\":0,\"core\":1,\"state\":\"stuck\"}]}");
    ck_assert_ptr_nonnull(strstr(text, "stuck"));
    ck_assert_str_eq(shown(show_workers, "{\"workers\":[]}"), "no workers\n");
    ck_assert_str_eq(shown(show_workers, "{}"), "no workers\n");
}
END_TEST

START_TEST(ports_show_link_and_loss)
{
    expect_narrow(shown(
        show_ports,
        "{\"ports\":[{\"device\":\"wan0\",\"driver\":\"af_packet\",\"mac\":\"02:00:00:00:00:01\","
        "\"mtu\":1500,\"link\":{\"up\":true,\"mbps\":2500},\"rx_queues\":4,\"stats\":"
        "{\"rx_packets\":5000000,\"tx_packets\":7,\"rx_missed\":1,\"rx_errors\":2,"
        "\"rx_no_mbuf\":3,\"tx_errors\":4}},{\"device\":\"b\",\"link\":{\"up\":false}},"
        "{\"device\":\"c\",\"link\":{\"up\":true,\"mbps\":0}}]}"));
    ck_assert_str_eq(text, "DEVICE  DRIVER     MAC                 MTU  LINK     QUEUES    RX  TX  "
                           "LOST\n"
                           "wan0    af_packet  02:00:00:00:00:01  1500  up 2.5G       4  5.0M   7  "
                           "  10\n"
                           "b       -          -                     0  down          0     0   0  "
                           "   0\n"
                           "c       -          -                     0  up            0     0   0  "
                           "   0\n");
}
END_TEST

START_TEST(neighbours_show_age_and_gateways)
{
    expect_narrow(shown(
        show_neighbours,
        "{\"neighbours\":[{\"address\":\"10.0.0.1\",\"mac\":\"02:00:00:00:00:01\",\"device\":"
        "\"wan0\",\"state\":\"reachable\",\"router\":true,\"queued\":0,\"confirmed_seconds\":61.2},"
        "{\"address\":\"fe80::1\",\"mac\":null,\"device\":\"wan0\",\"state\":\"incomplete\","
        "\"router\":false,\"queued\":16,\"confirmed_seconds\":null}]}"));
    ck_assert_str_eq(text, "ADDRESS   MAC                DEVICE  STATE           AGE  WAIT\n"
                           "10.0.0.1  02:00:00:00:00:01  wan0    reachable,gw   1m1s     0\n"
                           "fe80::1   -                  wan0    incomplete    never    16\n");
}
END_TEST

START_TEST(the_longest_addresses_fit_too)
{
    expect_narrow(
        shown(show_neighbours,
              "{\"neighbours\":[{\"address\":\"2001:db8:1111:2222:3333:4444:5555:6666\",\"mac\":"
              "\"02:00:00:00:00:01\",\"device\":\"lan0.100-office\",\"state\":\"reachable\","
              "\"router\":true,\"queued\":64,\"confirmed_seconds\":86000}]}"));
    ck_assert_ptr_nonnull(strstr(text, "\n2001:db8:1111:2222:3333:4444:5555:6666\n   "));
    expect_narrow(shown(show_drops,
                        "{\"drops\":[{\"reason\":\"a_reason_of_a_drop_with_words\",\"text\":"
                        "\"what a person who has never read the standard has to be told about it\","
                        "\"total\":1200}]}"));
}
END_TEST

START_TEST(drops_say_what_they_mean)
{
    ck_assert_str_eq(shown(show_drops, "{\"total\":0,\"drops\":[]}"),
                     "no packet has been dropped\n");
    ck_assert_str_eq(shown(show_drops, "{\"drops\":[{\"reason\":\"udp_port\",\"text\":"
                                       "\"no listener\",\"total\":1200}]}"),
                     "REASON    DROPS  MEANING\n"
                     "udp_port   1.2k  no listener\n");
}
END_TEST

START_TEST(addresses_and_paths)
{
    ck_assert_str_eq(
        shown(show_addresses,
              "{\"addresses\":[{\"address\":\"10.0.0.1/24\",\"device\":\"wan0\",\"state\":"
              "\"preferred\",\"link_local\":false}]}"),
        "ADDRESS      DEVICE  STATE      ORIGIN\n"
        "10.0.0.1/24  wan0    preferred  configured\n");
    ck_assert_str_eq(shown(show_paths, "{\"paths\":[{\"remote\":\"192.0.2.9\",\"mtu\":1280,"
                                       "\"expires_seconds\":599.7}]}"),
                     "REMOTE      MTU  EXPIRES\n"
                     "192.0.2.9  1280    10m0s\n");
}
END_TEST

START_TEST(connections_are_a_table)
{
    expect_narrow(shown(show_connections, "{\"connections\":[" CONNECTION "],\"next\":null}"));
    ck_assert_str_eq(
        text, "ID     STATE        SERVICE  UNREAD  UNACKED    RTT  LOCAL       REMOTE\n"
              "0-100  established  echo       64 B  3.0 KiB  350us  10.0.0.1:7  [fd00::2]:40000\n");
    ck_assert_str_eq(shown(show_connections, "{\"connections\":[]}"), "no connections\n");
    shown(show_connections, "{\"connections\":[{\"id\":\"0-1\",\"state\":\"time-wait\","
                            "\"srtt_seconds\":null,\"service\":null}]}");
    ck_assert_ptr_nonnull(strstr(text, "0-1  time-wait  -"));
}
END_TEST

START_TEST(one_connection_is_shown_as_ss_does)
{
    expect_narrow(shown(show_connections, "{\"connection\":" CONNECTION "}"));
    ck_assert_str_eq(
        text, "0-100 established echo 10.0.0.1:7 [fd00::2]:40000\n"
              "    listener:main worker:0 age:1m30s ts sack wscale:7,8 cubic open rto:200ms\n"
              "    rtt:350us/40.2ms mss:1448 cwnd:14480 pacing:1.0 MiB/s snd-wnd:0 rcv-wnd:0\n"
              "    in-flight:2048 unsent:1024 unread:64 bytes-sent:3000000000\n");
    shown(show_connections, "{\"connection\":{\"id\":\"0-1\",\"worker\":0,\"state\":\"time-wait\","
                            "\"timer_seconds\":30,\"congestion\":null}}");
    ck_assert_ptr_nonnull(strstr(text, "listener:- worker:0 timer:30s\n"));
}
END_TEST

START_TEST(what_stands_on_a_connection_is_shown)
{
    shown(
        show_connections,
        "{\"connection\":{\"id\":\"0-1\",\"worker\":0,\"state\":\"established\","
        "\"congestion\":\"cubic\",\"service\":\"origin\",\"tls\":{\"open\":true,"
        "\"version\":\"TLSv1.3\",\"cipher\":\"TLS_AES_128_GCM_SHA256\",\"group\":\"x25519\","
        "\"server_name\":\"a.example\",\"resumed\":true},\"http2\":{\"goaway\":\"received\","
        "\"drain_seconds\":29.5,\"streams\":2,\"requests\":7,\"send_window_bytes\":-5,\"glitches\":1}}}");
    ck_assert_ptr_nonnull(strstr(text, "tls:TLSv1.3 "));
    ck_assert_ptr_nonnull(strstr(text, "sni:a.example "));
    ck_assert_ptr_nonnull(strstr(text, "resumed"));
    ck_assert_ptr_nonnull(strstr(text, "h2-snd-wnd:-5"));
    ck_assert_ptr_nonnull(strstr(text, "goaway:received"));
    ck_assert_ptr_nonnull(strstr(text, "drain:30s"));
    shown(show_connections, "{\"connection\":{\"id\":\"0-1\",\"worker\":0,\"state\":"
                            "\"established\",\"congestion\":\"cubic\",\"tls\":{\"open\":false,"
                            "\"version\":null},\"http2\":null}}");
    ck_assert_ptr_nonnull(strstr(text, "tls:handshake"));
    ck_assert_ptr_null(strstr(text, "h2-"));
}
END_TEST

#define LISTENER(accepted)                                                                   \
    "{\"listeners\":[{\"name\":\"main\",\"protocol\":\"tcp\",\"address\":\"::\",\"port\":7," \
    "\"service\":\"echo\",\"connections\":6,\"half_open\":2,\"backlog_per_worker\":1024,"    \
    "\"accepted\":" accepted ",\"cookies\":8,\"refused\":0}]}"

START_TEST(listeners_show_what_came_of_them)
{
    expect_narrow(shown(show_listeners, LISTENER("12345")));
    ck_assert_str_eq(text,
                     "NAME  PROTOCOL  LOCAL  SERVICE  OPEN  HALF  ACCEPTED  COOKIES  REFUSED\n"
                     "main  tcp       any:7  echo        6     2     12.3k        8        0\n");
    shown(show_listeners, "{\"listeners\":[{\"name\":\"web\",\"protocol\":\"http2\",\"tls\":true,"
                          "\"address\":\"::\",\"port\":443,\"service\":\"origin\",\"half_open\":2,"
                          "\"handshakes\":3,\"refused\":1,\"handshakes_refused\":6}]}");
    ck_assert_str_eq(text,
                     "NAME  PROTOCOL   LOCAL    SERVICE  OPEN  HALF  ACCEPTED  COOKIES  REFUSED\n"
                     "web   http2+tls  any:443  origin      0     5         0        0        7\n");
    later(show_listeners, LISTENER("100"), 2, LISTENER("200"));
    ck_assert_ptr_nonnull(strstr(text, "ACCEPTED/s"));
    ck_assert_ptr_nonnull(strstr(text, "    50 "));
    ck_assert_str_eq(shown(show_listeners, "{\"listeners\":[]}"), "no listeners are configured\n");
}
END_TEST

START_TEST(health_begins_with_the_verdict)
{
    shown(show_health, "{\"status\":\"failing\",\"uptime_seconds\":90,\"memory\":\"no hugepages\","
                       "\"config_file\":\"f.yaml\",\"warnings\":[\"device a: no link\"],"
                       "\"workers\":[{\"worker\":0,\"state\":\"stuck\",\"stalled_seconds\":1.5}]}");
    ck_assert_str_eq(text, "failing, up 1m30s, no hugepages, configured by f.yaml\n"
                           "warning: device a: no link\n"
                           "WORKER  STATE  STALLED\n"
                           "     0  stuck       2s\n");
}
END_TEST

START_TEST(what_is_drained_is_said)
{
    static const char drain[] =
        "{\"drain\":{\"state\":\"draining\",\"connections\":12,\"remaining_seconds\":29.5}}";
    static const char says[] =
        "draining: HTTP connections that have not ended 12, for at most 30s more\n";
    ck_assert_str_eq(shown(show_drain, drain), says);
    ck_assert_str_eq(shown(show_drain, "{\"drain\":null}"), "no connections are being drained\n");
    shown(show_health, "{\"status\":\"ok\",\"uptime_seconds\":90,\"memory\":\"no hugepages\","
                       "\"config_file\":\"f.yaml\",\"warnings\":[],\"workers\":[],"
                       "\"drain\":{\"state\":\"draining\",\"connections\":12,"
                       "\"remaining_seconds\":29.5}}");
    ck_assert_ptr_nonnull(strstr(text, says));
}
END_TEST

START_TEST(capture_says_how_far_it_is)
{
    ck_assert_ptr_nonnull(
        strstr(shown(show_capture, "{\"capture\":{\"state\":\"off\",\"file\":null}}"),
               "millracectl capture start"));
    shown(show_capture,
          "{\"capture\":{\"state\":\"failed\",\"worker\":1,\"file\":\"/x/a.pcapng\",\"max_bytes\":"
          "1048576,\"packets\":12,\"bytes\":2048,\"lost\":3,\"running_seconds\":4,"
          "\"error\":\"disk full\"}}");
    ck_assert_str_eq(text, "failed: /x/a.pcapng\n"
                           "worker 1, 12 packets, 2.0 KiB of at most 1.0 MiB, 4s\n"
                           "3 packets did not get in: they came too fast\n"
                           "error: disk full\n");
}
END_TEST

START_TEST(the_configuration_is_yaml)
{
    shown(show_config,
          "{\"file\":\"f.yaml\",\"config\":{\"devices\":[{\"name\":\"wan0\",\"driver\":\"null\","
          "\"pci\":null,\"addresses\":[\"10.0.0.1/24\",\"fd00::1/64\"],\"ipv6\":true}],"
          "\"workers\":{\"cores\":[1,2],\"idle\":\"sleep\"},\"control\":{\"mode\":\"0660\","
          "\"socket\":\"/run/m.sock\"}}}");
    ck_assert_str_eq(text, "# f.yaml\n"
                           "devices:\n"
                           "  - name: wan0\n"
                           "    driver: \"null\"\n"
                           "    addresses: [\"10.0.0.1/24\", \"fd00::1/64\"]\n"
                           "    ipv6: true\n"
                           "workers:\n"
                           "  cores: [1, 2]\n"
                           "  idle: sleep\n"
                           "control:\n"
                           "  mode: \"0660\"\n"
                           "  socket: /run/m.sock\n");
    ck_assert_str_eq(shown(show_config, "{\"file\":\"f\",\"config\":{\"devices\":[]}}"),
                     "# f\ndevices: []\n");
}
END_TEST

START_TEST(tunnels_are_a_table)
{
    expect_narrow(shown(show_tunnels, "{\"tunnels\":[" TUNNEL "],\"next\":null}"));
    ck_assert_str_eq(text,
                     "ID          STATE  USER     AGE  TO-TARGET  TO-CLIENT  AUTHORITY\n"
                     "0-1000002a  open   alice  1m30s     1000 B    3.0 MiB  www.example:443\n");
    shown(show_tunnels, "{\"tunnels\":[{\"id\":\"0-1\",\"state\":\"resolving\",\"user\":null,"
                        "\"age_seconds\":0.1,\"authority\":\"a.example:1\",\"target\":null}]}");
    ck_assert_ptr_nonnull(strstr(text, "resolving  -     100ms"));
    ck_assert_ptr_nonnull(strstr(text, "a.example:1\n"));
    ck_assert_str_eq(shown(show_tunnels, "{\"tunnels\":[]}"), "no tunnels\n");
}
END_TEST

START_TEST(all_is_told_of_a_tunnel)
{
    json_t *now = json_loads("{\"tunnels\":[" TUNNEL "]}", 0, NULL);
    FILE *out = open_memstream(&text, &len);
    show_tunnels(&(struct show){.now = now, .out = out, .columns = 80, .detail = true});
    fclose(out);
    json_decref(now);
    expect_narrow(text);
    ck_assert_str_eq(text,
                     "0-1000002a open www.example:443 "
                     "[2001:db8:1234:5678:9abc:def0:1234:5678]:443\n"
                     "    client:10.0.0.2:40000 conn:0-2a listener:proxy proxy:egress user:alice\n"
                     "    age:1m30s connected:25ms to-target:1000 to-client:3145728\n");
}
END_TEST

START_TEST(names_are_shown_with_what_is_known)
{
    static const char reply[] =
        "{\"cached\":2,\"under_way\":1,\"waiting\":3,\"counters\":{\"questions\":%d,\"hosts\":0},"
        "\"names\":[{\"name\":\"a.example\",\"family\":\"ipv4\",\"outcome\":\"ok\",\"addresses\":"
        "[\"192.0.2.1\",\"192.0.2.2\"],\"left_seconds\":59},{\"name\":\"b.example\",\"family\":"
        "\"ipv6\",\"outcome\":\"asking\",\"addresses\":[],\"left_seconds\":null}]}";
    char before[sizeof(reply)];
    char now[sizeof(reply)];
    snprintf(before, sizeof(before), reply, 10);
    snprintf(now, sizeof(now), reply, 25);
    expect_narrow(shown(show_resolver, now));
    ck_assert_str_eq(text, "names cached 2, queries under way 1, questions that wait 3\n"
                           "    questions:25\n"
                           "NAME       FAMILY  OUTCOME   LEFT  ADDRESSES\n"
                           "a.example  ipv4    ok         59s  192.0.2.1 192.0.2.2\n"
                           "b.example  ipv6    asking   never  -\n");
    later(show_resolver, before, 2, now);
    ck_assert_ptr_nonnull(strstr(text, "    questions:7.5/s\n"));
    shown(show_resolver, "{\"names\":[]}");
    ck_assert_ptr_nonnull(strstr(text, "no name is known\n"));
}
END_TEST

START_TEST(memory_and_version)
{
    expect_narrow(shown(show_memory,
                        "{\"mode\":\"hugepages\",\"pools\":[{\"name\":\"p\",\"numa\":0,"
                        "\"size\":1000,\"in_use\":255,\"bytes\":2432000}],"
                        "\"tcp_bytes_per_worker\":1048576}"));
    ck_assert_ptr_nonnull(strstr(text, "\nof which TCP may hold 1.0 MiB in each worker\n"));
    ck_assert_ptr_nonnull(strstr(text, "26%"));
    ck_assert_ptr_nonnull(strstr(text, "2.3 MiB"));
    ck_assert_str_eq(shown(show_version, "{\"name\":\"millrace\",\"version\":\"1\"}"),
                     "name: millrace\nversion: 1\n");
}
END_TEST

UNIT_MAIN("show", NULL, teardown, workers_fit_a_line, rates_are_by_the_second,
          a_worker_without_counters_is_shown, ports_show_link_and_loss,
          neighbours_show_age_and_gateways, the_longest_addresses_fit_too, drops_say_what_they_mean,
          addresses_and_paths, connections_are_a_table, one_connection_is_shown_as_ss_does,
          what_stands_on_a_connection_is_shown, listeners_show_what_came_of_them,
          health_begins_with_the_verdict, what_is_drained_is_said, capture_says_how_far_it_is,
          the_configuration_is_yaml, tunnels_are_a_table, all_is_told_of_a_tunnel,
          names_are_shown_with_what_is_known, memory_and_version)
