/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/api.h"

#include <string.h>

#include "support/unit.h"
#include "tcp/conn.h"
#include "unit/app/fake_runtime.h"

static struct runtime rt;
static json_t *held[8]; /* replies of the test, released by teardown */
static unsigned n_held;

static void setup(void)
{
    fake_init(&rt);
}

static void teardown(void)
{
    while (n_held > 0)
        json_decref(held[--n_held]);
}

/* The reply to a request; expects its status and that it is JSON. */
static json_t *request(struct api_call *c, unsigned status)
{
    c->rt = &rt;
    if (!c->body)
        c->body = "";
    c->body_len = strlen(c->body);
    api_answer(c);
    ck_assert_ptr_nonnull(c->text);
    ck_assert_msg(c->status == status, "%s %s: %u: %s", c->method, c->path, c->status, c->text);
    ck_assert_str_eq(c->type, API_TYPE_JSON);
    ck_assert_uint_eq(c->len, strlen(c->text));
    json_t *json = json_loads(c->text, 0, NULL);
    ck_assert_ptr_nonnull(json);
    free(c->text);
    ck_assert_uint_lt(n_held, sizeof(held) / sizeof(held[0]));
    held[n_held++] = json;
    return json;
}

static json_t *get(const char *path, unsigned status)
{
    struct api_call c = {.method = "GET", .path = path};
    return request(&c, status);
}

static json_t *get1(const char *path, const char *name, const char *value, unsigned status)
{
    struct api_call c = {.method = "GET", .path = path, .param = {{name, value}}, .n_params = 1};
    return request(&c, status);
}

static json_t *post(const char *path, const char *body, unsigned status)
{
    struct api_call c = {.method = "POST", .path = path, .body = body, .peer = "uid 7 pid 8"};
    return request(&c, status);
}

static const char *message(const json_t *reply)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(reply, "error"), "message"));
    ck_assert_ptr_nonnull(text);
    return text;
}

static const char *text(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static json_int_t number(const json_t *row, const char *key)
{
    ck_assert_msg(json_is_integer(json_object_get(row, key)), "%s", key);
    return json_integer_value(json_object_get(row, key));
}

static const json_t *row(const json_t *reply, const char *list, size_t i)
{
    return json_array_get(json_object_get(reply, list), i);
}

static size_t rows(const json_t *reply, const char *list)
{
    ck_assert(json_is_array(json_object_get(reply, list)));
    return json_array_size(json_object_get(reply, list));
}

/* ---- requests ---- */

START_TEST(the_index_lists_paths_that_exist)
{
    json_t *index = get("/", 200);
    ck_assert_uint_ge(rows(index, "paths"), 17);
    for (size_t i = 0; i < rows(index, "paths"); i++) {
        struct api_call c = {
            .rt = &rt, .method = "PATCH", .path = text(row(index, "paths", i), "path"), .body = ""};
        api_answer(&c);
        ck_assert_uint_eq(c.status, 405);
        ck_assert_str_eq(c.allow, text(row(index, "paths", i), "methods"));
        free(c.text);
    }
}
END_TEST

START_TEST(unknown_paths_are_404)
{
    ck_assert_str_eq(message(get("/v1/worker", 404)), "no such path; GET / lists all");
    get("", 404);
    get("/v1", 404);
    get("/v1/workers/0", 404);
    get("/v1/workers/", 200);
}
END_TEST

START_TEST(a_wrong_method_names_the_right_ones)
{
    struct api_call c = {.method = "GET", .path = "/v1/reload"};
    request(&c, 405);
    ck_assert_str_eq(c.allow, "POST");
    ck_assert_uint_eq(rt.reloads, 0);
    struct api_call d = {.method = "DELETE", .path = "/v1/capture"};
    request(&d, 405);
    ck_assert_str_eq(d.allow, "GET, HEAD, POST");
}
END_TEST

START_TEST(head_is_answered_like_get)
{
    struct api_call c = {.method = "HEAD", .path = "/v1/health"};
    request(&c, 200);
}
END_TEST

START_TEST(unknown_parameters_are_refused)
{
    ck_assert_str_eq(message(get1("/v1/workers", "wroker", "1", 400)),
                     "unknown parameter 'wroker'; /v1/workers takes: worker");
    get1("/v1/workers", "work", "1", 400);
    get1("/v1/workers", "", "1", 400);
    get1("/v1/neighbours", "after limit", "1", 400);
    ck_assert_str_eq(message(get1("/v1/health", "x", "", 400)),
                     "unknown parameter 'x'; /v1/health takes: none");
    ck_assert_str_eq(message(get1("/v1/health", "\xff", "", 400)),
                     "the request is not valid UTF-8");
}
END_TEST

START_TEST(numbers_are_checked)
{
    static const char *const bad[] = {
        "", "-1", "2", "1x", " 1", "+1", "0x1", "1e0", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        get1("/v1/workers", "worker", bad[i], 400), teardown();
    ck_assert_str_eq(message(get1("/v1/workers", "worker", "2", 400)),
                     "worker: '2' is not a number from 0 to 1");
    json_t *one = get1("/v1/workers", "worker", "1", 200);
    ck_assert_uint_eq(rows(one, "workers"), 1);
    ck_assert_int_eq(number(row(one, "workers", 0), "worker"), 1);
}
END_TEST

START_TEST(the_tcp_port_only_reads)
{
    struct api_call c = {.method = "POST", .path = "/v1/reload", .read_only = true};
    request(&c, 403);
    struct api_call d = {.method = "DELETE", .path = "/v1/neighbours", .read_only = true};
    request(&d, 403);
    struct api_call e = {.method = "GET", .path = "/v1/capture", .read_only = true};
    request(&e, 200);
    ck_assert_uint_eq(rt.reloads, 0);
    ck_assert_uint_eq(rt.requests, 0);
}
END_TEST

/* ---- health, workers, drops ---- */

START_TEST(health_is_that_of_the_worst_worker)
{
    ck_assert_str_eq(text(get("/v1/health", 200), "status"), "ok");
    rt.state[0] = WORKER_STARTING;
    ck_assert_str_eq(text(get("/v1/health", 503), "status"), "starting");
    rt.state[1] = WORKER_STUCK;
    json_t *failing = get("/v1/health", 503);
    ck_assert_str_eq(text(failing, "status"), "failing");
    ck_assert_str_eq(text(row(failing, "workers", 1), "state"), "stuck");
    ck_assert_double_eq_tol(
        json_real_value(json_object_get(row(failing, "workers", 1), "stalled_seconds")), 1.5, 1e-9);
    rt.state[0] = rt.state[1] = WORKER_STOPPED;
    ck_assert_str_eq(text(get("/v1/health", 503), "status"), "failing");
    rt.stopping = true;
    ck_assert_str_eq(text(get("/v1/health", 503), "status"), "stopping");
}
END_TEST

/* ---- drains ---- */

static const json_t *draining(const json_t *reply)
{
    return json_object_get(reply, "drain");
}

START_TEST(connections_may_be_drained)
{
    ck_assert(json_is_null(draining(get("/v1/drain", 200))));
    ck_assert(json_is_null(draining(get("/v1/health", 200))));
    const json_t *d = draining(post("/v1/drain", "", 200));
    ck_assert_str_eq(text(d, "state"), "draining");
    ck_assert_int_eq(json_integer_value(json_object_get(d, "connections")), 3);
    ck_assert_double_eq_tol(json_real_value(json_object_get(d, "remaining_seconds")), 30, 1e-9);
    ck_assert(!rt.draining.stop && rt.patience == TICK_NEVER);
    ck_assert_str_eq(text(draining(get("/v1/drain", 200)), "state"), "draining");
    ck_assert_str_eq(text(draining(get("/v1/health", 200)), "state"), "draining");
    teardown();
    post("/v1/drain", "{\"stop\":null,\"timeout_seconds\":null}", 200);
    ck_assert(!rt.draining.stop && rt.patience == TICK_NEVER);
    d = draining(post("/v1/drain", "{\"stop\":true,\"timeout_seconds\":86400}", 200));
    ck_assert_str_eq(text(d, "state"), "stopping");
    ck_assert(rt.draining.stop && rt.patience == 86400 * TICK_SEC);
}
END_TEST

START_TEST(a_drain_that_cannot_be_says_why)
{
    static const char *const bad[] = {"{\"stop\":1}",
                                      "{\"stop\":\"yes\"}",
                                      "{\"timeout_seconds\":0}",
                                      "{\"timeout_seconds\":86401}",
                                      "{\"timeout_seconds\":1.5}",
                                      "{\"timeout\":5}",
                                      "[]",
                                      "{"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        post("/v1/drain", bad[i], 400), teardown();
    ck_assert_str_eq(message(post("/v1/drain", "{\"top\":true}", 400)),
                     "unknown key 'top'; known: stop, timeout_seconds");
    ck_assert(!rt.draining.on);
    rt.drain_error = RUNTIME_E_REFUSED;
    ck_assert_str_eq(message(post("/v1/drain", "", 409)), "the appliance is stopping already");
    rt.drain_error = RUNTIME_E_TIMEOUT;
    ck_assert_ptr_nonnull(
        strstr(message(post("/v1/drain", "", 504)), "some connections were not told"));
    struct api_call c = {.method = "POST", .path = "/v1/drain", .read_only = true};
    request(&c, 403);
}
END_TEST

START_TEST(health_is_degraded_while_another_host_has_an_address)
{
    rt.n_addresses[0] = 2;
    rt.address[0][0] =
        (struct ctl_address){.prefix = {fake_ip("10.0.0.1"), 24}, .state = CTL_ADDRESS_PREFERRED};
    rt.address[0][1] = (struct ctl_address){
        .prefix = {fake_ip("fd00::1"), 64}, .iface = 1, .state = CTL_ADDRESS_DUPLICATE};
    ck_assert_str_eq(text(get("/v1/health", 200), "status"), "ok");
    ck_assert_uint_eq(rt.requests, 0); /* nothing was counted, so nobody is asked */
    rt.word[0][COUNTER_DAD_DUPLICATES] = 1;
    json_t *reply = get("/v1/health", 503);
    ck_assert_str_eq(text(reply, "status"), "degraded");
    ck_assert_uint_eq(rows(reply, "warnings"), 1);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(reply, "warnings"), 0)),
                     "device lan.0-x: another host has fd00::1");
    rt.address[0][1].state = CTL_ADDRESS_PREFERRED; /* after a reload */
    ck_assert_str_eq(text(get("/v1/health", 200), "status"), "ok");
    rt.mute[0] = true;
    get("/v1/health", 200);
}
END_TEST

START_TEST(health_warns_of_what_is_not_a_failure)
{
    ck_assert_uint_eq(rows(get("/v1/health", 200), "warnings"), 0);
    rt.link_up[1] = false;
    rt.capture = (struct runtime_capture){.state = CAPTURE_FAILED, .error = "disk full"};
    json_t *reply = get("/v1/health", 200);
    ck_assert_str_eq(json_string_value(row(reply, "warnings", 0)), "device lan.0-x: no link");
    ck_assert_str_eq(json_string_value(row(reply, "warnings", 1)), "capture: disk full");
}
END_TEST

START_TEST(health_is_degraded_without_a_device)
{
    rt.link_up[1] = false;
    rt.gone[1] = true;
    json_t *reply = get("/v1/health", 503);
    ck_assert_str_eq(text(reply, "status"), "degraded");
    ck_assert_uint_eq(rows(reply, "warnings"), 1);
    ck_assert_str_eq(
        json_string_value(row(reply, "warnings", 0)),
        "device lan.0-x: interface  has been removed; restart once there is one again");
}
END_TEST

START_TEST(workers_show_every_counter_by_its_name)
{
    for (int i = 0; i < COUNTER_END; i++)
        rt.word[1][i] = 1000 + (uint64_t)i;
    rt.word[1][counters_drop_word(DROP_UDP_PORT)] = 5;
    rt.word[1][counters_drop_word(DROP_NO_ROUTE)] = 6;
    const json_t *worker = row(get("/v1/workers", 200), "workers", 1);
    const json_t *counters = json_object_get(worker, "counters");
    ck_assert_uint_eq(json_object_size(counters), COUNTER_END);
    for (int i = 0; i < COUNTER_END; i++)
        ck_assert_int_eq(number(counters, counter_name((enum counter)i)), 1000 + i);
    ck_assert_int_eq(number(worker, "dropped"), 11);
    ck_assert_int_eq(number(worker, "core"), 3);
    ck_assert_str_eq(text(worker, "idle"), "sleep");
}
END_TEST

START_TEST(a_worker_whose_record_is_torn_is_still_listed)
{
    rt.torn[0] = true;
    json_t *reply = get("/v1/workers", 200);
    ck_assert_uint_eq(rows(reply, "workers"), 2);
    ck_assert_ptr_null(json_object_get(row(reply, "workers", 0), "counters"));
    ck_assert_ptr_nonnull(json_object_get(row(reply, "workers", 1), "counters"));
    ck_assert_str_eq(message(get("/v1/drops", 504)), "worker 0: no answer in time");
}
END_TEST

START_TEST(drops_are_the_registry)
{
    json_t *reply = get("/v1/drops", 200);
    ck_assert_uint_eq(rows(reply, "drops"), DROP_END - 1);
    for (int i = 1; i < DROP_END; i++)
        ck_assert_str_eq(text(row(reply, "drops", (size_t)i - 1), "reason"),
                         drop_name((enum drop)i));
}
END_TEST

START_TEST(drops_add_up_over_workers)
{
    rt.word[0][counters_drop_word(DROP_IP4_CHECKSUM)] = 3;
    rt.word[1][counters_drop_word(DROP_IP4_CHECKSUM)] = 4;
    rt.word[1][counters_drop_word(DROP_ADMIN_DOWN)] = UINT64_MAX; /* more than JSON can say */
    json_t *reply = get1("/v1/drops", "nonzero", "1", 200);
    ck_assert_uint_eq(rows(reply, "drops"), 2);
    const json_t *first = row(reply, "drops", 0);
    ck_assert_str_eq(text(first, "reason"), "ip4_checksum");
    ck_assert_str_eq(text(first, "text"), drop_text(DROP_IP4_CHECKSUM));
    ck_assert_int_eq(number(first, "total"), 7);
    ck_assert_int_eq(json_integer_value(row(first, "workers", 1)), 4);
    ck_assert_int_eq(number(row(reply, "drops", 1), "total"), INT64_MAX);
    get1("/v1/drops", "nonzero", "2", 400);
}
END_TEST

/* ---- ports, memory, config ---- */

START_TEST(ports_show_devices_with_their_lanes)
{
    rt.stats[1].rx_packets = 41;
    rt.stats[1].rx_missed = 2;
    json_t *reply = get("/v1/ports", 200);
    const json_t *port = row(reply, "ports", 1);
    ck_assert_uint_eq(rows(reply, "ports"), 2);
    ck_assert_str_eq(text(port, "device"), "lan.0-x");
    ck_assert_str_eq(text(port, "mac"), "02:00:00:00:01:01");
    ck_assert_int_eq(number(json_object_get(port, "stats"), "rx_packets"), 41);
    ck_assert_int_eq(number(json_object_get(port, "stats"), "rx_missed"), 2);
    ck_assert_int_eq(number(row(port, "lanes", 1), "worker"), 1);
    ck_assert_uint_eq(rows(port, "offloads"), 2);
    ck_assert_str_eq(json_string_value(row(port, "offloads", 1)), "tx-multi-segs");
    ck_assert_ptr_null(json_object_get(port, "xstats"));
    ck_assert_str_eq(text(port, "promiscuous_why"), "configured");
    ck_assert(json_is_null(json_object_get(row(reply, "ports", 0), "promiscuous_why")));
}
END_TEST

START_TEST(one_port_with_the_drivers_own_statistics)
{
    struct api_call c = {.method = "GET",
                         .path = "/v1/ports",
                         .param = {{"iface", "lan.0-x"}, {"xstats", "1"}},
                         .n_params = 2};
    json_t *reply = request(&c, 200);
    ck_assert_uint_eq(rows(reply, "ports"), 1);
    ck_assert_int_eq(number(json_object_get(row(reply, "ports", 0), "xstats"), "rx_q0_packets"), 8);
    ck_assert_str_eq(message(get1("/v1/ports", "iface", "wan", 404)), "no device 'wan'");
}
END_TEST

START_TEST(memory_shows_pools)
{
    json_t *reply = get("/v1/memory", 200);
    ck_assert_str_eq(text(reply, "mode"), "no hugepages");
    ck_assert_int_eq(number(row(reply, "pools", 1), "in_use"), 11);
    ck_assert_int_eq(number(row(reply, "pools", 1), "bytes"), 2432000);
    ck_assert_int_eq(number(reply, "tls_bytes"), 12345);
    rt.config.limits.tcp_memory = 5 << 20;
    ck_assert_int_eq(number(get("/v1/memory", 200), "tcp_bytes_per_worker"), 5 << 20);
}
END_TEST

START_TEST(config_is_named_as_in_the_file)
{
    strcpy(rt.device[0].iface.name, "wan0");
    rt.device[0].iface.n_addrs = 1;
    ck_assert(ip_prefix_parse("10.1.2.3/24", &rt.device[0].iface.addr[0]));
    json_t *reply = get("/v1/config", 200);
    ck_assert_str_eq(text(reply, "file"), "/etc/millrace/fake.yaml");
    const json_t *config = json_object_get(reply, "config");
    const json_t *device = row(config, "devices", 0);
    ck_assert_uint_eq(rows(config, "devices"), 2);
    ck_assert_str_eq(text(device, "driver"), "tap");
    ck_assert_int_eq(number(device, "mtu"), 1500);
    ck_assert_str_eq(json_string_value(row(device, "addresses", 0)), "10.1.2.3/24");
    ck_assert_ptr_null(json_object_get(device, "pci"));
    ck_assert_int_eq(number(json_object_get(config, "capture"), "max-size"), 100 << 20);
    ck_assert_str_eq(text(json_object_get(config, "control"), "mode"), "0660");
    ck_assert(json_is_false(json_object_get(json_object_get(config, "icmp"), "echo")));
    ck_assert_int_eq(json_integer_value(row(json_object_get(config, "workers"), "cores", 1)), 1);
}
END_TEST

START_TEST(config_has_lists_in_lists)
{
    struct proxy_port_range ports[] = {{443, 443}, {8000, 8100}};
    char *users[] = {(char[]){"alice"}};
    struct config_rule rule = {
        .proxy = "p", .allow = true, .users = {users, 1}, .ports = {ports, 2}};
    struct config_proxy proxy = {.name = "p", .permit = 1u << PROXY_GROUP_OWN};
    rt.config.rule = &rule;
    rt.config.n_rules = 1;
    rt.config.proxy = &proxy;
    rt.config.n_proxies = 1;
    const json_t *config = json_object_get(get("/v1/config", 200), "config");
    const json_t *is = row(config, "rules", 0);
    ck_assert_str_eq(text(is, "action"), "allow");
    ck_assert_str_eq(json_string_value(row(is, "users", 0)), "alice");
    ck_assert_str_eq(json_string_value(row(is, "ports", 0)), "443");
    ck_assert_str_eq(json_string_value(row(is, "ports", 1)), "8000-8100");
    ck_assert_uint_eq(rows(is, "prefixes"), 0);
    const json_t *of = row(config, "proxies", 0);
    ck_assert_str_eq(text(of, "authentication"), "none");
    ck_assert_str_eq(json_string_value(row(of, "permit", 0)), "own");
    ck_assert_int_eq(number(of, "bytes-per-second"), 0);
    ck_assert(json_is_null(json_object_get(of, "users-file")));
}
END_TEST

START_TEST(version_names_the_program)
{
    ck_assert_str_eq(text(get("/v1/version", 200), "name"), "millrace");
}
END_TEST

/* ---- neighbours ---- */

START_TEST(neighbours_are_merged_over_workers)
{
    fake_neighbour(&rt, 0, 0, "10.0.0.2", 1, 9 * TICK_SEC);
    fake_neighbour(&rt, 1, 0, "10.0.0.2", 2, 2 * TICK_SEC);
    fake_neighbour(&rt, 1, 1, "10.0.0.2", 3, TICK_NEVER);
    fake_neighbour(&rt, 0, 0, "10.0.0.1", 4, TICK_SEC);
    rt.neighbour[1][1].state = CTL_NEIGHBOUR_INCOMPLETE;
    json_t *reply = get("/v1/neighbours", 200);
    ck_assert_uint_eq(rows(reply, "neighbours"), 3);
    ck_assert(json_is_null(json_object_get(reply, "next")));
    ck_assert_str_eq(text(row(reply, "neighbours", 0), "address"), "10.0.0.1");

    /* The one confirmed last speaks; what waits is added up. */
    const json_t *both = row(reply, "neighbours", 1);
    ck_assert_str_eq(text(both, "mac"), "02:00:00:00:00:02");
    ck_assert_int_eq(number(both, "queued"), 2);
    ck_assert_double_eq_tol(json_real_value(json_object_get(both, "confirmed_seconds")), 2, 1e-9);
    ck_assert_uint_eq(rows(both, "workers"), 2);

    const json_t *other = row(reply, "neighbours", 2);
    ck_assert_str_eq(text(other, "device"), "lan.0-x");
    ck_assert_str_eq(text(other, "state"), "incomplete");
    ck_assert(json_is_null(json_object_get(other, "mac")));
    ck_assert(json_is_null(json_object_get(other, "confirmed_seconds")));
}
END_TEST

START_TEST(neighbours_of_one_worker_or_device)
{
    fake_neighbour(&rt, 0, 0, "10.0.0.1", 1, 0);
    fake_neighbour(&rt, 1, 1, "fd00::1", 2, 0);
    json_t *reply = get1("/v1/neighbours", "worker", "1", 200);
    ck_assert_uint_eq(rows(reply, "neighbours"), 1);
    ck_assert_str_eq(text(row(reply, "neighbours", 0), "address"), "fd00::1");
    reply = get1("/v1/neighbours", "iface", "wan0", 200);
    ck_assert_uint_eq(rows(reply, "neighbours"), 1);
    ck_assert_str_eq(text(row(reply, "neighbours", 0), "address"), "10.0.0.1");
    ck_assert_str_eq(message(get1("/v1/neighbours", "iface", "wan", 404)), "no device 'wan'");
}
END_TEST

/* Follows next to the end; every row of n has to come once, in order. */
static void follow(unsigned n, const char *limit)
{
    char after[128] = "";
    unsigned seen = 0;
    do {
        struct api_call c = {.method = "GET",
                             .path = "/v1/neighbours",
                             .param = {{"limit", limit}, {"after", after}},
                             .n_params = *after ? 2 : 1};
        json_t *reply = request(&c, 200);
        for (size_t i = 0; i < rows(reply, "neighbours"); i++, seen++) {
            char expected[32];
            snprintf(expected, sizeof(expected), "10.0.%u.%u", seen / 256, seen % 256);
            ck_assert_str_eq(text(row(reply, "neighbours", i), "address"), expected);
        }
        const char *next = text(reply, "next");
        snprintf(after, sizeof(after), "%s", next ? next : "");
        teardown();
    } while (*after);
    ck_assert_uint_eq(seen, n);
}

START_TEST(pages_follow_on_without_gap_or_repeat)
{
    for (unsigned i = 0; i < FAKE_ROWS; i++) {
        char addr[32];
        unsigned n = FAKE_ROWS - 1 - i; /* no worker lists them in order */
        snprintf(addr, sizeof(addr), "10.0.%u.%u", n / 256, n % 256);
        fake_neighbour(&rt, i & 1, 0, addr, 1, TICK_SEC);
        if (i % 3 == 0)
            fake_neighbour(&rt, !(i & 1), 0, addr, 1, TICK_SEC);
    }
    follow(FAKE_ROWS, "7");
    follow(FAKE_ROWS, "1000");
    follow(FAKE_ROWS, "10000");
}
END_TEST

START_TEST(a_page_goes_on_though_its_last_row_has_gone)
{
    fake_neighbour(&rt, 0, 0, "10.0.0.1", 1, 0);
    fake_neighbour(&rt, 0, 0, "10.0.0.3", 1, 0);
    fake_neighbour(&rt, 0, 1, "10.0.0.1", 1, 0);
    json_t *reply = get1("/v1/neighbours", "after", "wan0/10.0.0.2", 200);
    ck_assert_uint_eq(rows(reply, "neighbours"), 2);
    ck_assert_str_eq(text(row(reply, "neighbours", 0), "address"), "10.0.0.3");
    ck_assert_str_eq(text(row(reply, "neighbours", 1), "device"), "lan.0-x");
}
END_TEST

START_TEST(bad_pages_are_refused)
{
    static const char *const bad[] = {
        "", "/", "wan0", "wan0/", "wan0/10.0.0", "nope/10.0.0.1", "10.0.0.1", "wan0/10.0.0.1/"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        get1("/v1/neighbours", "after", bad[i], 400), teardown();
    get1("/v1/neighbours", "limit", "0", 400);
    get1("/v1/neighbours", "limit", "10001", 400);
    get1("/v1/paths", "after", "wan0/10.0.0.1", 400);
    ck_assert_uint_eq(rt.requests, 0);
}
END_TEST

START_TEST(a_worker_that_does_not_answer_is_named)
{
    rt.mute[1] = true;
    json_t *reply = get("/v1/neighbours", 504);
    ck_assert_str_eq(message(reply), "worker 1: no answer in time");
    ck_assert_int_eq(number(json_object_get(reply, "error"), "worker"), 1);
    get1("/v1/neighbours", "worker", "0", 200);
    get("/v1/addresses", 200); /* of worker 0 */
    get("/v1/paths", 504);
    struct api_call c = {.method = "DELETE", .path = "/v1/neighbours"};
    request(&c, 504);
}
END_TEST

START_TEST(neighbours_are_flushed)
{
    fake_neighbour(&rt, 0, 0, "10.0.0.1", 1, 0);
    fake_neighbour(&rt, 0, 0, "10.0.0.2", 1, 0);
    fake_neighbour(&rt, 1, 0, "10.0.0.1", 1, 0);
    struct api_call c = {.method = "DELETE", .path = "/v1/neighbours", .peer = "uid 1 pid 2"};
    ck_assert_int_eq(number(request(&c, 200), "flushed"), 3);
    ck_assert_uint_eq(rows(get("/v1/neighbours", 200), "neighbours"), 0);
    ck_assert_ptr_nonnull(strstr(rt.log, "control: uid 1 pid 2: DELETE /v1/neighbours"));
}
END_TEST

/* ---- addresses and paths ---- */

START_TEST(addresses_are_worker_zeros)
{
    for (unsigned w = 0; w < 2; w++) {
        rt.n_addresses[w] = 2;
        ck_assert(ip_prefix_parse("fd00::7/64", &rt.address[w][0].prefix));
        ck_assert(ip_prefix_parse("10.0.0.7/8", &rt.address[w][1].prefix));
        rt.address[w][0].iface = 1;
        rt.address[w][0].state = w ? CTL_ADDRESS_PREFERRED : CTL_ADDRESS_DUPLICATE;
        rt.address[w][0].link_local = true;
    }
    json_t *reply = get("/v1/addresses", 200);
    ck_assert_uint_eq(rows(reply, "addresses"), 2);
    ck_assert_str_eq(text(row(reply, "addresses", 0), "address"), "10.0.0.7/8");
    ck_assert_str_eq(text(row(reply, "addresses", 1), "address"), "fd00::7/64");
    ck_assert_str_eq(text(row(reply, "addresses", 1), "state"), "duplicate");
    ck_assert(json_is_true(json_object_get(row(reply, "addresses", 1), "link_local")));
    reply = get1("/v1/addresses", "worker", "1", 200);
    ck_assert_str_eq(text(row(reply, "addresses", 1), "state"), "preferred");
    ck_assert_uint_eq(rows(get1("/v1/addresses", "iface", "wan0", 200), "addresses"), 1);
}
END_TEST

START_TEST(of_a_path_the_smallest_mtu_is_shown)
{
    rt.n_paths[0] = rt.n_paths[1] = 1;
    rt.path[0][0] = (struct ctl_path){fake_ip("192.0.2.9"), 1400, 60 * TICK_SEC};
    rt.path[1][0] = (struct ctl_path){fake_ip("192.0.2.9"), 1280, 90 * TICK_SEC};
    json_t *reply = get("/v1/paths", 200);
    ck_assert_uint_eq(rows(reply, "paths"), 1);
    ck_assert_int_eq(number(row(reply, "paths", 0), "mtu"), 1280);
    ck_assert_double_eq_tol(
        json_real_value(json_object_get(row(reply, "paths", 0), "expires_seconds")), 90, 1e-9);
    reply = get1("/v1/paths", "after", "192.0.2.9", 200);
    ck_assert_uint_eq(rows(reply, "paths"), 0);
}
END_TEST

/* ---- connections ---- */

START_TEST(a_connection_is_shown_as_ss_does)
{
    struct ctl_connection *k = fake_connection(&rt, 1, "fd00::2", 40000);
    k->id = UINT64_C(0xfedcba9876543210);
    json_t *reply = get("/v1/connections", 200);
    ck_assert_uint_eq(rows(reply, "connections"), 1);
    ck_assert(json_is_null(json_object_get(reply, "next")));
    const json_t *one = row(reply, "connections", 0);
    ck_assert_str_eq(text(one, "id"), "1-fedcba9876543210");
    ck_assert_int_eq(number(one, "worker"), 1);
    ck_assert_str_eq(text(one, "protocol"), "tcp");
    ck_assert_str_eq(text(one, "state"), "established");
    ck_assert_str_eq(text(one, "remote_address"), "fd00::2");
    ck_assert_int_eq(number(one, "remote_port"), 40000);
    ck_assert_str_eq(text(one, "listener"), "echo");
    ck_assert(json_is_true(json_object_get(one, "sack")));
    ck_assert(json_is_false(json_object_get(one, "ecn")));
    ck_assert_double_eq_tol(json_real_value(json_object_get(one, "srtt_seconds")), 0.04, 1e-9);
    ck_assert(json_is_null(json_object_get(one, "timer_seconds")));
    ck_assert(json_is_null(json_object_get(one, "ssthresh_bytes")));
    ck_assert(json_is_null(json_object_get(one, "pacing_bytes_per_second")));
    ck_assert_int_eq(number(one, "cwnd_bytes"), 14480);
    ck_assert_int_eq(number(one, "unread_bytes"), 64);
    ck_assert_int_eq(number(one, "tx_bytes"), 3 << 20);
    ck_assert_int_eq(number(one, "receive_scale"), 8);

    /* The same by its id. */
    reply = get("/v1/connections/1-fedcba9876543210", 200);
    ck_assert(json_equal(json_object_get(reply, "connection"), one));
}
END_TEST

START_TEST(a_connection_in_time_wait_has_less_to_say)
{
    struct ctl_connection *k = fake_connection(&rt, 0, "10.0.0.2", 40000);
    *k = (struct ctl_connection){.id = k->id,
                                 .local = k->local,
                                 .remote = k->remote,
                                 .protocol = 6,
                                 .state = "time-wait",
                                 .recovery = "",
                                 .congestion = "",
                                 .service = "",
                                 .timer = 30 * TICK_SEC};
    const json_t *one = row(get("/v1/connections", 200), "connections", 0);
    ck_assert_str_eq(text(one, "state"), "time-wait");
    ck_assert(json_is_null(json_object_get(one, "listener")));
    ck_assert(json_is_null(json_object_get(one, "congestion")));
    ck_assert(json_is_null(json_object_get(one, "srtt_seconds")));
    ck_assert_double_eq_tol(json_real_value(json_object_get(one, "timer_seconds")), 30, 1e-9);
}
END_TEST

START_TEST(unknown_connections_are_404)
{
    static const char *const bad[] = {"0-101",
                                      "2-100",
                                      "1-100",
                                      "0-0100",
                                      "0-0x100",
                                      "0-+100",
                                      "-0-1",
                                      "0",
                                      "0-",
                                      "100",
                                      "0-100/",
                                      "0-100/x",
                                      "0-1g",
                                      "x",
                                      " 0-100",
                                      "0-100 ",
                                      "0-10000000000000000"};
    char path[64];
    fake_connection(&rt, 0, "10.0.0.2", 40000);
    get("/v1/connections/0-100", 200);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(path, sizeof(path), "/v1/connections/%s", bad[i]);
        get(path, 404), teardown();
        struct api_call c = {.method = "DELETE", .path = path, .peer = "uid 1 pid 2"};
        request(&c, 404), teardown();
    }
    ck_assert_str_eq(message(get("/v1/connections/0-101", 404)),
                     "no connection '0-101' (any more); GET /v1/connections lists all");
    ck_assert_uint_eq(rows(get("/v1/connections/", 200), "connections"), 1);
}
END_TEST

START_TEST(a_connection_is_reset)
{
    fake_connection(&rt, 1, "10.0.0.2", 40000);
    fake_connection(&rt, 1, "10.0.0.2", 40001);
    struct api_call c = {
        .method = "DELETE", .path = "/v1/connections/1-100", .peer = "uid 1 pid 2"};
    ck_assert_str_eq(text(request(&c, 200), "reset"), "1-100");
    ck_assert_ptr_nonnull(strstr(rt.log, "control: uid 1 pid 2: DELETE /v1/connections/1-100"));
    struct api_call again = {.method = "DELETE", .path = "/v1/connections/1-100"};
    request(&again, 404);
    ck_assert_uint_eq(rows(get("/v1/connections", 200), "connections"), 1);
    struct api_call all = {.method = "DELETE", .path = "/v1/connections"};
    request(&all, 405);
    struct api_call reader = {
        .method = "DELETE", .path = "/v1/connections/1-101", .read_only = true};
    request(&reader, 403);
    ck_assert_uint_eq(rt.n_connections[1], 1);
}
END_TEST

/* How many connections the pages of that limit have, each once; *pages how many pages. */
static unsigned count(const char *limit, const char *filter, const char *value, unsigned *pages)
{
    char cursor[64] = "";
    unsigned seen = 0;
    static bool met[FAKE_WORKERS][FAKE_ROWS];
    memset(met, 0, sizeof(met));
    *pages = 0;
    do {
        struct api_call c = {.method = "GET", .path = "/v1/connections", .n_params = 1};
        c.param[0] = (struct api_param){"limit", limit};
        if (*cursor)
            c.param[c.n_params++] = (struct api_param){"cursor", cursor};
        if (filter)
            c.param[c.n_params++] = (struct api_param){filter, value};
        json_t *reply = request(&c, 200);
        size_t n = rows(reply, "connections");
        ck_assert_uint_le(n, (size_t)atoi(limit));
        for (size_t i = 0; i < n; i++) {
            const json_t *one = row(reply, "connections", i);
            bool *it = &met[number(one, "worker")][number(one, "local_port")];
            ck_assert(!*it);
            *it = true;
        }
        seen += (unsigned)n;
        ++*pages;
        const char *next = text(reply, "next");
        snprintf(cursor, sizeof(cursor), "%s", next ? next : "");
        teardown();
    } while (*cursor);
    return seen;
}

START_TEST(pages_of_connections_follow_on)
{
    unsigned pages;
    for (unsigned i = 0; i < FAKE_ROWS; i++) {
        struct ctl_connection *k = fake_connection(&rt, i & 1, "10.0.0.2", 40000);
        k->local_port = (uint16_t)i; /* tells them apart */
        k->state = i % 500 ? "established" : "close-wait";
        if (i % 3 == 0)
            strcpy(k->listener, "other");
    }
    ck_assert_uint_eq(count("7", NULL, NULL, &pages), FAKE_ROWS);
    ck_assert_uint_eq(count("1000", NULL, NULL, &pages), FAKE_ROWS);
    ck_assert_uint_le(pages, 3);
    ck_assert_uint_eq(count("10000", NULL, NULL, &pages), FAKE_ROWS);
    ck_assert_uint_eq(pages, 1);
    ck_assert_uint_eq(count("100", "state", "close-wait", &pages), 4);
    ck_assert_uint_eq(count("100", "state", "closing", &pages), 0);
    ck_assert_uint_eq(count("100", "listener", "other", &pages), (FAKE_ROWS + 2) / 3);
    ck_assert_uint_eq(count("100", "protocol", "tcp", &pages), FAKE_ROWS);
    ck_assert_uint_eq(count("100", "worker", "1", &pages), FAKE_ROWS / 2);
    ck_assert_uint_le(rt.most, 256); /* no request keeps a worker from its packets for long */
}
END_TEST

START_TEST(bad_questions_about_connections_are_refused)
{
    static const char *const cursors[] = {"", "0", "0-", "2-0", "0-g", "0-00", "1-0 ", "-1"};
    for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++)
        get1("/v1/connections", "cursor", cursors[i], 400), teardown();
    ck_assert_str_eq(message(get1("/v1/connections", "cursor", "x", 400)),
                     "cursor: 'x' is not what 'next' of another page said");
    ck_assert_str_eq(message(get1("/v1/connections", "state", "establised", 400)),
                     "state: unknown value 'establised' (did you mean 'established'?)");
    ck_assert_str_eq(message(get1("/v1/connections", "state", "", 400)),
                     "state: unknown value '' (one of syn-sent, syn-received, established, "
                     "fin-wait-1, fin-wait-2, close-wait, closing, last-ack, time-wait)");
    ck_assert_str_eq(message(get1("/v1/connections", "protocol", "udp", 400)),
                     "protocol: unknown value 'udp' (one of tcp)");
    get1("/v1/connections", "listener", "", 400);
    get1("/v1/connections", "listener", "a-name-of-more-than-31-characters", 400), teardown();
    get1("/v1/connections", "limit", "0", 400);
    get1("/v1/connections", "limit", "10001", 400);
    get1("/v1/connections", "after", "0-0", 400);
    ck_assert_uint_eq(rt.requests, 0);
    struct api_call c = {.method = "GET",
                         .path = "/v1/connections",
                         .param = {{"worker", "1"}, {"cursor", "0-1"}},
                         .n_params = 2};
    request(&c, 400);
    rt.mute[1] = true;
    ck_assert_str_eq(message(get("/v1/connections", 504)), "worker 1: no answer in time");
    get("/v1/connections/1-100", 504);
}
END_TEST

START_TEST(every_state_of_tcp_can_be_asked_for)
{
    static const char *const names[] = {
#define X(id, name) [TCP_##id] = name,
        TCP_STATES(X)
#undef X
    };
    for (int i = TCP_CLOSED + 1; i < TCP_STATE_END; i++)
        get1("/v1/connections", "state", names[i], 200), teardown();
    get1("/v1/connections", "state", names[TCP_CLOSED], 400); /* nobody sees one there */
}
END_TEST

START_TEST(listeners_are_added_up_over_workers)
{
    for (unsigned w = 0; w < 2; w++) {
        rt.n_listeners[w] = 2;
        rt.listener[w][0] = (struct ctl_listener){.name = "echo",
                                                  .carrier = "tcp",
                                                  .addr = fake_ip("::"),
                                                  .port = 7,
                                                  .service = "echo",
                                                  .connections = 3,
                                                  .half_open = 1,
                                                  .backlog = 1024,
                                                  .accepted = 100,
                                                  .cookies = 4,
                                                  .refused = 5 + w,
                                                  .handshakes = 2,
                                                  .handshakes_refused = 7};
        rt.listener[w][1] = (struct ctl_listener){.addr = fake_ip("10.0.0.1"),
                                                  .port = 9,
                                                  .service = "source",
                                                  .carrier = "http2",
                                                  .tls = true};
        strcpy(rt.listener[w][1].name, w ? "new" : "old");
    }
    json_t *reply = get("/v1/listeners", 200);
    ck_assert_uint_eq(rows(reply, "listeners"), 3);
    const json_t *one = row(reply, "listeners", 0);
    ck_assert_str_eq(text(one, "name"), "echo");
    ck_assert_str_eq(text(one, "protocol"), "tcp");
    ck_assert_str_eq(text(one, "address"), "::");
    ck_assert_int_eq(number(one, "port"), 7);
    ck_assert_int_eq(number(one, "connections"), 6);
    ck_assert_int_eq(number(one, "half_open"), 2);
    ck_assert_int_eq(number(one, "backlog_per_worker"), 1024);
    ck_assert_int_eq(number(one, "accepted"), 200);
    ck_assert_int_eq(number(one, "cookies"), 8);
    ck_assert_int_eq(number(one, "refused"), 11);
    ck_assert_int_eq(number(one, "handshakes"), 4);
    ck_assert_int_eq(number(one, "handshakes_refused"), 14);
    ck_assert(json_is_false(json_object_get(one, "tls")));
    ck_assert_str_eq(text(row(reply, "listeners", 2), "name"), "new");
    ck_assert_str_eq(text(row(reply, "listeners", 2), "protocol"), "http2");
    ck_assert(json_is_true(json_object_get(row(reply, "listeners", 2), "tls")));
    reply = get1("/v1/listeners", "worker", "0", 200);
    ck_assert_uint_eq(rows(reply, "listeners"), 2);
    ck_assert_int_eq(number(row(reply, "listeners", 0), "accepted"), 100);
    rt.mute[0] = true;
    get("/v1/listeners", 504);
}
END_TEST

/* ---- changes ---- */

START_TEST(reload_says_what_was_wrong)
{
    ck_assert_str_eq(text(post("/v1/reload", "", 200), "status"), "reloaded");
    rt.refuse_reload = "f.yaml:3: devices[0].mtu: 7 is outside 68..65535\nf.yaml:9: x\n";
    const json_t *error = json_object_get(post("/v1/reload", "", 409), "error");
    ck_assert_uint_eq(rows(error, "faults"), 2);
    ck_assert_str_eq(json_string_value(row(error, "faults", 1)), "f.yaml:9: x");
    ck_assert_ptr_nonnull(strstr(rt.log, "control: uid 7 pid 8: POST /v1/reload"));
}
END_TEST

START_TEST(capture_starts_with_what_was_asked)
{
    ck_assert_str_eq(text(json_object_get(get("/v1/capture", 200), "capture"), "state"), "off");
    json_t *reply = post("/v1/capture",
                         "{\"action\":\"start\",\"worker\":1,\"file\":\"a.pcapng\","
                         "\"max_bytes\":70000,\"snaplen\":96}",
                         200);
    ck_assert_int_eq(rt.started.worker, 1);
    ck_assert_uint_eq(rt.started.max_bytes, 70000);
    ck_assert_uint_eq(rt.started.snaplen, 96);
    ck_assert_str_eq(text(json_object_get(reply, "capture"), "state"), "running");
    ck_assert_str_eq(text(json_object_get(reply, "capture"), "file"), "a.pcapng");
    ck_assert_int_eq(number(json_object_get(reply, "capture"), "worker"), 1);
    ck_assert_str_eq(
        text(json_object_get(post("/v1/capture", "{\"action\":\"stop\"}", 200), "capture"),
             "state"),
        "stopped");
    ck_assert_str_eq(message(post("/v1/capture", "{\"action\":\"stop\"}", 409)), "no capture runs");
}
END_TEST

START_TEST(capture_defaults_to_all_workers)
{
    json_t *reply =
        post("/v1/capture", "{\"action\":\"start\",\"worker\":null,\"file\":null}", 200);
    ck_assert_int_eq(rt.started.worker, -1);
    ck_assert_ptr_null(rt.started.file);
    ck_assert(json_is_null(json_object_get(json_object_get(reply, "capture"), "worker")));
    rt.refuse_capture = "a capture runs already; stop it first";
    ck_assert_str_eq(message(post("/v1/capture", "{\"action\":\"start\"}", 409)),
                     rt.refuse_capture);
}
END_TEST

START_TEST(bad_bodies_change_nothing)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "\"start\"",
        "{}",
        "{\"action\":\"begin\"}",
        "{\"action\":1}",
        "{\"action\":\"start\",\"action\":\"stop\"}",
        "{\"action\":\"start\",\"wroker\":1}",
        "{\"action\":\"start\",\"worker\":2}",
        "{\"action\":\"start\",\"worker\":-1}",
        "{\"action\":\"start\",\"worker\":\"1\"}",
        "{\"action\":\"start\",\"worker\":1.5}",
        "{\"action\":\"start\",\"max_bytes\":-1}",
        "{\"action\":\"start\",\"snaplen\":63}",
        "{\"action\":\"start\",\"snaplen\":262145}",
        "{\"action\":\"start\",\"file\":7}",
        "{\"action\":\"start\"} x",
        "{\"action\":\"\xff\"}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        post("/v1/capture", bad[i], 400), teardown();
    ck_assert_int_eq(rt.capture.state, CAPTURE_OFF);
    ck_assert_ptr_nonnull(strstr(message(post("/v1/capture", "{\n x", 400)), "line 2"));
}
END_TEST

START_TEST(the_log_holds_no_control_characters)
{
    post("/v1/capture", "{\"action\":\n\"x\x1b[2J\"}", 400);
    ck_assert_ptr_nonnull(strstr(rt.log, "POST /v1/capture"));
    ck_assert_ptr_null(strpbrk(rt.log, "\x1b\n"));
}
END_TEST

UNIT_MAIN("api", setup, teardown, the_index_lists_paths_that_exist, unknown_paths_are_404,
          a_wrong_method_names_the_right_ones, head_is_answered_like_get,
          unknown_parameters_are_refused, numbers_are_checked, the_tcp_port_only_reads,
          health_is_that_of_the_worst_worker, health_warns_of_what_is_not_a_failure,
          health_is_degraded_without_a_device, connections_may_be_drained,
          a_drain_that_cannot_be_says_why, health_is_degraded_while_another_host_has_an_address,
          workers_show_every_counter_by_its_name, a_worker_whose_record_is_torn_is_still_listed,
          drops_are_the_registry, drops_add_up_over_workers, ports_show_devices_with_their_lanes,
          one_port_with_the_drivers_own_statistics, memory_shows_pools,
          config_is_named_as_in_the_file, config_has_lists_in_lists, version_names_the_program,
          neighbours_are_merged_over_workers, neighbours_of_one_worker_or_device,
          pages_follow_on_without_gap_or_repeat, a_page_goes_on_though_its_last_row_has_gone,
          bad_pages_are_refused, a_worker_that_does_not_answer_is_named, neighbours_are_flushed,
          addresses_are_worker_zeros, of_a_path_the_smallest_mtu_is_shown,
          a_connection_is_shown_as_ss_does, a_connection_in_time_wait_has_less_to_say,
          unknown_connections_are_404, a_connection_is_reset, pages_of_connections_follow_on,
          bad_questions_about_connections_are_refused, every_state_of_tcp_can_be_asked_for,
          listeners_are_added_up_over_workers, reload_says_what_was_wrong,
          capture_starts_with_what_was_asked, capture_defaults_to_all_workers,
          bad_bodies_change_nothing, the_log_holds_no_control_characters)
