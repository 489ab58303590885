/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/api.h"

#include <string.h>

#include "support/unit.h"
#include "unit/app/fake_runtime.h"

static struct runtime rt;
static json_t *reply; /* the last, released by the next and by teardown */

static void setup(void)
{
    fake_init(&rt);
}

static void teardown(void)
{
    json_decref(reply);
    reply = NULL;
}

static const json_t *get(const char *limit, const char *cursor, unsigned status)
{
    struct api_call c = {.rt = &rt, .method = "GET", .path = "/v1/resolver", .body = ""};
    if (limit)
        c.param[c.n_params++] = (struct api_param){"limit", limit};
    if (cursor)
        c.param[c.n_params++] = (struct api_param){"cursor", cursor};
    teardown();
    api_answer(&c);
    ck_assert_msg(c.status == status, "%u: %s", c.status, c.text);
    reply = json_loads(c.text, 0, NULL);
    ck_assert_ptr_nonnull(reply);
    free(c.text);
    return reply;
}

static json_int_t number(const json_t *row, const char *key)
{
    ck_assert_msg(json_is_integer(json_object_get(row, key)), "%s", key);
    return json_integer_value(json_object_get(row, key));
}

START_TEST(counters_go_by_their_names)
{
    for (unsigned i = 0; i < RESOLVER_COUNTER_END; i++)
        rt.resolver.count[i] = 100 + i;
    rt.resolver.cached = 1;
    rt.resolver.under_way = 2;
    rt.resolver.waiting = 3;
    const json_t *got = get(NULL, NULL, 200);
    const json_t *counters = json_object_get(got, "counters");
#define X(id, name, text) ck_assert_int_eq(number(counters, name), 100 + RESOLVER_##id);
    RESOLVER_COUNTERS(X)
#undef X
    ck_assert_int_eq(number(got, "cached"), 1);
    ck_assert_int_eq(number(got, "under_way"), 2);
    ck_assert_int_eq(number(got, "waiting"), 3);
}
END_TEST

START_TEST(settings_are_those_in_force)
{
    rt.config.resolver.timeout_ms = 1234;
    rt.config.resolver.n_servers = 1;
    rt.config.resolver.server[0].addr = fake_ip("127.0.0.53");
    const json_t *settings = json_object_get(get(NULL, NULL, 200), "settings");
    ck_assert_int_eq(number(settings, "timeout-ms"), 1234);
    const json_t *servers = json_object_get(settings, "servers");
    ck_assert_uint_eq(json_array_size(servers), 1);
    ck_assert_ptr_nonnull(strstr(json_string_value(json_array_get(servers, 0)), "127.0.0.53"));
}
END_TEST

START_TEST(names_say_what_is_known_of_them)
{
    struct connect_answer known = {.outcome = CONNECT_OK, .n = 2};
    struct connect_answer none = {.outcome = CONNECT_NO_NAME, .v6 = true};
    known.addr[0] = fake_ip("192.0.2.1");
    known.addr[1] = fake_ip("192.0.2.2");
    rt.name[0] = (struct resolver_row){.name = "a.example", .left = 5 * TICK_SEC, .answer = &known};
    rt.name[1] = (struct resolver_row){.name = "b.example", .left = TICK_SEC, .answer = &none};
    rt.name[2] = (struct resolver_row){.name = "c.example", .asking = true, .answer = &known};
    rt.n_names = 3;
    json_t *expected = json_pack(
        "[{s:s, s:s, s:s, s:[s, s], s:f}, {s:s, s:s, s:s, s:[], s:f}, {s:s, s:s, s:s, s:[], s:n}]",
        "name", "a.example", "family", "ipv4", "outcome", "ok", "addresses", "192.0.2.1",
        "192.0.2.2", "left_seconds", 5.0, "name", "b.example", "family", "ipv6", "outcome",
        "no_name", "addresses", "left_seconds", 1.0, "name", "c.example", "family", "ipv4",
        "outcome", "asking", "addresses", "left_seconds");
    ck_assert_ptr_nonnull(expected);
    ck_assert(json_equal(json_object_get(get(NULL, NULL, 200), "names"), expected));
    json_decref(expected);
}
END_TEST

START_TEST(pages_follow_on)
{
    static const char *const names[FAKE_NAMES] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const struct connect_answer a = {.outcome = CONNECT_OK};
    char cursor[32] = "";
    unsigned n = 0;
    for (; rt.n_names < FAKE_NAMES; rt.n_names++)
        rt.name[rt.n_names] = (struct resolver_row){.name = names[rt.n_names], .answer = &a};
    do {
        const json_t *got = get("3", *cursor ? cursor : NULL, 200);
        size_t i;
        json_t *row;
        ck_assert_uint_le(json_array_size(json_object_get(got, "names")), 3);
        json_array_foreach(json_object_get(got, "names"), i, row)
            ck_assert_str_eq(json_string_value(json_object_get(row, "name")), names[n++]);
        const char *next = json_string_value(json_object_get(got, "next"));
        snprintf(cursor, sizeof(cursor), "%s", next ? next : "");
    } while (*cursor);
    ck_assert_uint_eq(n, FAKE_NAMES);
}
END_TEST

START_TEST(bad_pages_are_refused)
{
    get("0", NULL, 400);
    get("10001", NULL, 400);
    get(NULL, "x", 400);
    get(NULL, "4294967295", 400);
}
END_TEST

UNIT_MAIN("api_resolver", setup, teardown, counters_go_by_their_names, settings_are_those_in_force,
          names_say_what_is_known_of_them, pages_follow_on, bad_pages_are_refused)
