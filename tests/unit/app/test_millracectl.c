/* SPDX-License-Identifier: BSD-3-Clause */
/* The program itself, run against the control socket of an appliance that is none. */
#include "app/http.h"

#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/unit.h"
#include "unit/app/fake_runtime.h"

static struct runtime rt;
static char dir[64];
static char path[100];
static struct http *http;
static pthread_t thread;
static int stop_fd;
static char out[65536]; /* what the program printed, both streams */

static void *control_thread(void *arg)
{
    (void)arg;
    struct pollfd wait[] = {{.fd = http_fd(http), .events = POLLIN},
                            {.fd = stop_fd, .events = POLLIN}};
    while (!(wait[1].revents & POLLIN)) {
        poll(wait, 2, http_timeout(http));
        http_run(http);
    }
    return NULL;
}

static void setup(void)
{
    fake_init(&rt);
    strcpy(dir, "/tmp/millrace-ctl-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/control.sock", dir);
    rt.config.control.socket = path;
    http = http_open(&rt.config);
    ck_assert_msg(http && http_start(http, &rt), "%s", rt.log);
    stop_fd = eventfd(0, EFD_CLOEXEC);
    ck_assert_int_eq(pthread_create(&thread, NULL, control_thread, NULL), 0);
    ck_assert_int_eq(setenv("MILLRACE_SOCKET", path, 1), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(eventfd_write(stop_fd, 1), 0);
    pthread_join(thread, NULL);
    close(stop_fd);
    http_stop(http);
    ck_assert_int_eq(rmdir(dir), 0);
}

/* Runs `millracectl arguments` and expects its exit status. */
static void ctl(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void ctl(int status, const char *format, ...)
{
    char command[1024];
    int n = snprintf(command, sizeof(command), "%s ", MILLRACECTL);
    va_list args;
    va_start(args, format);
    n += vsnprintf(command + n, sizeof(command) - (size_t)n, format, args);
    va_end(args);
    snprintf(command + n, sizeof(command) - (size_t)n, " 2>&1");
    FILE *run = popen(command, "r");
    ck_assert_ptr_nonnull(run);
    size_t len = fread(out, 1, sizeof(out) - 1, run);
    out[len] = '\0';
    int ended = pclose(run);
    ck_assert_msg(WIFEXITED(ended) && WEXITSTATUS(ended) == status, "%s: %d: %s", command, ended,
                  out);
}

static void expect(const char *part)
{
    ck_assert_msg(strstr(out, part) != NULL, "no '%s' in: %s", part, out);
}

START_TEST(everything_can_be_shown)
{
    static const char *const shows[] = {
        "health",  "workers", "ports",   "drops", "neighbours", "addresses", "paths",   "memory",
        "capture", "config",  "version", "conn",  "listeners",  "drain",     "tunnels", "resolver"};
    for (size_t i = 0; i < sizeof(shows) / sizeof(shows[0]); i++) {
        ctl(0, "show %s", shows[i]);
        ck_assert_uint_gt(strlen(out), 0);
        ctl(0, "--json show %s", shows[i]);
        json_t *json = json_loads(out, 0, NULL);
        ck_assert_msg(json_is_object(json), "%s", out);
        json_decref(json);
        ctl(0, "show %s --help", shows[i]);
        expect(shows[i]);
    }
}
END_TEST

START_TEST(connections_are_shown_by_pages)
{
    for (unsigned i = 0; i < FAKE_ROWS; i++)
        fake_connection(&rt, i & 1, "10.0.0.2", (uint16_t)(i + 1))->state =
            i ? "established" : "close-wait";
    ctl(0, "show conn | grep -c established");
    ck_assert_int_eq(atoi(out), FAKE_ROWS - 1);
    ctl(0, "show conn --json | grep -c cwnd_bytes");
    ck_assert_int_eq(atoi(out), FAKE_ROWS);
    ctl(0, "show conn --long --worker 1 | grep -c cwnd:14480");
    ck_assert_int_eq(atoi(out), FAKE_ROWS / 2);
    ctl(0, "show conn --state close-wait --listener echo --protocol tcp");
    expect("10.0.0.2:1\n");
    ck_assert_ptr_null(strstr(out, "established"));
    ctl(0, "show conn --state closing");
    ck_assert_str_eq(out, "no connections\n");
    ctl(0, "show conn --listener main --watch 0.1 | head -n 3");
    ck_assert_str_eq(out, "no connections\n\nno connections\n");
    ctl(1, "show conn --state opened");
    expect("millracectl: state: unknown value 'opened' (one of syn-sent, ");
}
END_TEST

START_TEST(one_connection_is_shown_and_reset)
{
    fake_connection(&rt, 1, "10.0.0.2", 40000);
    ctl(0, "show conn 1-100");
    expect("1-100 established echo 10.0.0.1:7 10.0.0.2:40000\n");
    expect(" ts sack wscale:7,8 cubic open rto:240ms rtt:40ms/5ms minrtt:39ms mss:1448");
    ctl(0, "show conn 1-100 --json");
    expect("\"connection\": {");
    ctl(1, "drain conn 1-100");
    expect("millracectl: no connection '1-100' of HTTP/2 (any more)");
    rt.connection[1][0].http2.goaway = "none";
    ctl(0, "drain conn 1-100");
    ck_assert_str_eq(out, "1-100 is draining\n");
    ctl(0, "reset conn 1-100");
    ck_assert_str_eq(out, "1-100 is reset\n");
    ctl(1, "reset conn 1-100");
    expect("millracectl: no connection '1-100' (any more)");
    ctl(1, "show conn '../memory?a=%%'");
    expect("no connection '../memory?a=%'");
}
END_TEST

START_TEST(tunnels_are_shown_by_pages)
{
    for (unsigned i = 0; i < FAKE_ROWS; i++)
        if (i % 2)
            strcpy(fake_tunnel(&rt, i & 1, 443)->user, "bob");
        else
            fake_tunnel(&rt, i & 1, 443)->target = fake_ip("2001:db8::1");
    ctl(0, "show tunnels | grep -c www.example:443");
    ck_assert_int_eq(atoi(out), FAKE_ROWS);
    ctl(0, "show tunnels --json | grep -c connected_seconds");
    ck_assert_int_eq(atoi(out), FAKE_ROWS);
    ctl(0, "show tunnels --user bob --long | grep -c user:bob");
    ck_assert_int_eq(atoi(out), FAKE_ROWS / 2);
    ctl(0, "show tunnels --target 2001:db8::/32 --proxy egress --listener proxy | grep -c alice");
    ck_assert_int_eq(atoi(out), FAKE_ROWS / 2);
    ctl(0, "show tunnels --state resolving");
    ck_assert_str_eq(out, "no tunnels\n");
    ctl(1, "show tunnels --target 10.0.0.0/33");
    expect("millracectl: target: '10.0.0.0/33' is neither an address nor a network");
    ctl(2, "show conn --user alice");
    expect("--user means nothing to 'show conn'");
}
END_TEST

START_TEST(a_tunnel_is_killed)
{
    fake_tunnel(&rt, 1, 443);
    ctl(0, "kill tunnel 1-100");
    ck_assert_str_eq(out, "1-100 has ended\n");
    ctl(1, "kill tunnel 1-100");
    expect("millracectl: no tunnel '1-100' (any more); GET /v1/tunnels lists all");
    ctl(2, "kill tunnel");
    expect("kill tunnel takes the ID of one; 'millracectl show tunnels' shows it");
}
END_TEST

START_TEST(names_of_all_pages_are_shown)
{
    static const struct connect_answer a = {.outcome = CONNECT_NO_NAME};
    for (; rt.n_names < FAKE_NAMES; rt.n_names++)
        rt.name[rt.n_names] =
            (struct resolver_row){.name = "a.example", .left = TICK_SEC, .answer = &a};
    rt.resolver.count[RESOLVER_HITS] = 7;
    ctl(0, "show resolver");
    expect("    hits:7\n");
    ctl(0, "show resolver --json | grep -c left_seconds");
    ck_assert_int_eq(atoi(out), FAKE_NAMES);
}
END_TEST

START_TEST(all_connections_are_drained)
{
    ctl(0, "drain all");
    expect("draining: HTTP connections that have not ended 3, for at most 30s more\n");
    ck_assert(!rt.draining.stop && rt.patience == TICK_NEVER);
    ctl(0, "drain all --stop --timeout 5");
    expect("stopping: ");
    ck_assert(rt.draining.stop && rt.patience == 5 * TICK_SEC);
    ctl(0, "drain all --json");
    expect("\"state\": \"draining\"");
    ctl(2, "drain all --timeout 0");
    expect("--timeout: '0' is not a number of seconds from 1 to 86400");
    ctl(2, "drain all now");
    rt.drain_error = RUNTIME_E_REFUSED;
    ctl(1, "drain all");
    expect("millracectl: the appliance is stopping already");
}
END_TEST

START_TEST(an_appliance_that_is_not_well_exits_with_1)
{
    rt.state[1] = WORKER_STUCK;
    ctl(1, "show health");
    expect("failing, up 1m30s");
    expect("stuck");
    ctl(1, "show health --json");
    expect("\"status\": \"failing\"");
}
END_TEST

START_TEST(all_pages_of_a_list_are_shown)
{
    for (unsigned i = 0; i < FAKE_ROWS; i++) {
        char addr[32];
        snprintf(addr, sizeof(addr), "10.0.%u.%u", i / 256, i % 256);
        fake_neighbour(&rt, 0, 0, addr, 1, TICK_SEC);
    }
    ctl(0, "show neighbours --json | grep -c confirmed_seconds");
    ck_assert_int_eq(atoi(out), FAKE_ROWS);
    ctl(0, "show neighbours --worker 0 --iface wan0 | wc -l");
    ck_assert_int_eq(atoi(out), FAKE_ROWS + 1);
}
END_TEST

START_TEST(drops_are_those_that_happened)
{
    rt.word[0][counters_drop_word(DROP_UDP_PORT)] = 4;
    ctl(0, "show drops");
    expect("udp_port      4  no listener");
    ck_assert_ptr_null(strstr(out, "ip4_checksum"));
    ctl(0, "show drops --all");
    expect("ip4_checksum");
}
END_TEST

START_TEST(a_watch_goes_on_until_its_reader_is_gone)
{
    ctl(0, "show workers --watch 0.1 | head -n 5");
    expect("RX/s");
    ctl(0, "-j show workers -n 0.1 | head -n 2 | wc -l");
    expect("2");
}
END_TEST

START_TEST(a_capture_is_started_and_stopped)
{
    ctl(0, "capture start --worker 1 --file a.pcapng --max-size '2 MiB' --snaplen 96");
    expect("running: a.pcapng");
    expect("worker 1");
    ck_assert_int_eq(rt.started.worker, 1);
    ck_assert_uint_eq(rt.started.max_bytes, 2u << 20);
    ck_assert_uint_eq(rt.started.snaplen, 96);
    ctl(0, "capture stop");
    expect("stopped: a.pcapng");
    ctl(1, "capture stop");
    expect("millracectl: no capture runs\n");
    ctl(0, "capture start --json");
    expect("\"worker\": null");
    ck_assert_uint_eq(rt.started.max_bytes, 0);
}
END_TEST

START_TEST(a_refused_reload_prints_the_faults)
{
    ctl(0, "reload");
    expect("reloaded /etc/millrace/fake.yaml");
    rt.refuse_reload = "f.yaml:3: mtu: too large\nf.yaml:4: x\n";
    ctl(1, "reload");
    ck_assert_str_eq(out, "f.yaml:3: mtu: too large\nf.yaml:4: x\n"
                          "millracectl: nothing was changed\n");
}
END_TEST

START_TEST(neighbours_are_forgotten)
{
    fake_neighbour(&rt, 1, 0, "10.0.0.1", 1, 0);
    ctl(0, "flush neighbours -w 0");
    expect("0 entries forgotten");
    ctl(0, "flush neighbours");
    expect("1 entries forgotten");
}
END_TEST

START_TEST(metrics_are_passed_on)
{
    ctl(0, "metrics");
    expect("millrace_uptime_seconds 90");
    expect("# EOF\n");
}
END_TEST

START_TEST(refusals_are_sentences)
{
    ctl(1, "show neighbours --iface nope");
    ck_assert_str_eq(out, "millracectl: no device 'nope'\n");
    ctl(1, "show neighbours --iface '%%&=?'");
    ck_assert_str_eq(out, "millracectl: no device '%&=?'\n");
    rt.mute[1] = true;
    ctl(1, "show paths");
    ck_assert_str_eq(out, "millracectl: worker 1: no answer in time\n");
}
END_TEST

START_TEST(usage_is_checked_before_anything_is_asked)
{
    static const char *const bad[] = {
        "",
        "show",
        "shw ports",
        "show port",
        "show ports extra",
        "show ports --file x",
        "capture",
        "capture start --max-size 12x",
        "capture start --max-size 1",
        "capture start --snaplen -1",
        "capture start --snaplen 63",
        "capture start --snaplen 262145",
        "capture start --worker x",
        "show workers --watch 0",
        "show workers --watch nan",
        "show workers --watch x",
        "show config --watch 1",
        "metrics --json",
        "--socket",
        "--nonsense show ports",
        "doctor --worker 1",
        "show health --help extra",
        "show conn 0-1 more",
        "show conn 0-1 --state established",
        "show ports --long",
        "reset",
        "reset conn",
        "reset conn 0-1 --worker 1",
        "reset conn 0-1 0-2",
    };
    ctl(0, "--help");
    expect("flush neighbours");
    ctl(0, "show --help");
    expect("show drops");
    ck_assert_ptr_null(strstr(out, "capture start"));
    ctl(0, "--version");
    expect("millracectl ");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ctl(2, "%s", bad[i]);
        expect("millracectl: ");
    }
    ck_assert_int_eq(rt.capture.state, CAPTURE_OFF);
    ctl(2, "show neighbors");
    expect("no command 'show neighbors'; did you mean 'show neighbours'?");
    ctl(2, "shwo ports");
    expect("did you mean 'show ports'?");
    ctl(2, "show listeners echo");
    expect("too much for 'show listeners': echo");
    ctl(0, "show conn --help");
    expect("show conn [ID]\n");
    ctl(0, "reset conn --help");
    expect("reset conn ID\n");
    ctl(0, "doctor --help");
    expect("doctor [FILE]\n");
}
END_TEST

START_TEST(nobody_there_exits_with_3)
{
    ctl(3, "-s %s/none show health", dir);
    expect("is millrace running?");
    ctl(3, "-s %s/none metrics", dir);
    ctl(3, "-s %s/none capture stop", dir);
}
END_TEST

START_TEST(the_doctor_needs_no_appliance)
{
    char file[128];
    snprintf(file, sizeof(file), "%s/c.yaml", dir);
    FILE *f = fopen(file, "w");
    ck_assert_ptr_nonnull(f);
    fputs("devices: [{name: n0, driver: \"null\"}]\nmemory: {hugepages: off}\n"
          "capture: {directory: /tmp}\ncontrol: {socket: /tmp/millrace-never.sock}\n",
          f);
    fclose(f);
    ctl(0, "doctor --config %s", file);
    expect("ok    config: ");
    expect(" 0 failures\n");
    ck_assert_ptr_null(strstr(out, "runs already"));
    f = fopen(file, "a");
    fputs("proxies: [{name: p}]\n", f);
    fclose(f);
    ctl(0, "doctor --config %s", file);
    expect("c.yaml:5: proxies[0]: has no rules");
    expect("      -> change it, unless it is meant");
    f = fopen(file, "a");
    fputs("nonsense: 1\n", f);
    fclose(f);
    ctl(1, "doctor --config %s", file);
    expect("c.yaml:6: ");
    expect("      -> millrace --example");
    expect("ok    cpus: "); /* the machine is looked at all the same */
    ctl(1, "doctor %s", file);
    expect("c.yaml:6: ");
    ctl(2, "doctor --config %s more", file);
    ctl(1, "doctor --json --config %s", file);
    expect("\"worst\": \"fail\"");
    unlink(file);
    ctl(1, "doctor --config %s", file);
    expect("No such file");
}
END_TEST

/* What the shell offers after these words, the last of which is being typed. */
static void completes(const char *words, const char *offers)
{
    char command[1024];
    snprintf(command, sizeof(command),
             "PATH=$(dirname '%s'):$PATH bash -c '. %s; COMP_WORDS=(%s); "
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _millracectl; echo ${COMPREPLY[*]}'",
             MILLRACECTL, COMPLETION, words);
    FILE *run = popen(command, "r");
    ck_assert_ptr_nonnull(run);
    size_t len = fread(out, 1, sizeof(out) - 1, run);
    out[len] = '\0';
    ck_assert_int_eq(pclose(run), 0);
    ck_assert_str_eq(out, offers);
}

START_TEST(the_doctor_sees_an_appliance_that_runs)
{
    char file[128];
    snprintf(file, sizeof(file), "%s/c.yaml", dir);
    FILE *f = fopen(file, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f,
            "devices: [{name: n, driver: 'null'}]\nmemory: {hugepages: off}\n"
            "capture: {directory: /tmp}\ncontrol: {socket: %s}\n",
            path);
    fclose(f);
    ctl(0, "doctor --config %s", file);
    expect("warn  millrace: runs already on ");
    unlink(file);
}
END_TEST

START_TEST(the_shell_completes)
{
    completes("millracectl \"\"", "capture doctor drain flush kill metrics reload reset show\n");
    completes("millracectl show p", "paths ports\n");
    completes("millracectl -s /x capture \"\"", "start stop\n");
    completes("millracectl doctor --c", "--config\n");
    completes("millracectl doctor /dev/nul", "/dev/null\n");
    completes("millracectl show conn --state fin", "fin-wait-1 fin-wait-2\n");
    completes("millracectl show tunnels --state o", "open\n");
    completes("millracectl kill \"\"", "tunnel\n");
    completes("millracectl show conn --lo", "--long\n");
    completes("millracectl reset \"\"", "conn\n");
    completes("millracectl reload \"\"", "\n");
    completes("millracectl show workers -w \"\"", "\n");
}
END_TEST

UNIT_MAIN("millracectl", setup, teardown, everything_can_be_shown, connections_are_shown_by_pages,
          one_connection_is_shown_and_reset, tunnels_are_shown_by_pages, a_tunnel_is_killed,
          names_of_all_pages_are_shown, all_connections_are_drained,
          an_appliance_that_is_not_well_exits_with_1, all_pages_of_a_list_are_shown,
          drops_are_those_that_happened, a_watch_goes_on_until_its_reader_is_gone,
          a_capture_is_started_and_stopped, a_refused_reload_prints_the_faults,
          neighbours_are_forgotten, metrics_are_passed_on, refusals_are_sentences,
          usage_is_checked_before_anything_is_asked, nobody_there_exits_with_3,
          the_doctor_needs_no_appliance, the_doctor_sees_an_appliance_that_runs,
          the_shell_completes)
