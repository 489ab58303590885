/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/api.h"

#include <string.h>

#include "service/connect.h"
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

static const json_t *request(struct api_call *c, unsigned status)
{
    teardown();
    c->rt = &rt;
    c->body = "";
    api_answer(c);
    ck_assert_msg(c->status == status, "%s %s: %u: %s", c->method, c->path, c->status, c->text);
    reply = json_loads(c->text, 0, NULL);
    ck_assert_ptr_nonnull(reply);
    free(c->text);
    return reply;
}

static const json_t *get1(const char *name, const char *value, unsigned status)
{
    struct api_call c = {.method = "GET", .path = "/v1/tunnels"};
    if (name)
        c.param[c.n_params++] = (struct api_param){name, value};
    return request(&c, status);
}

static void refused(const char *name, const char *value, const char *why)
{
    const json_t *error = json_object_get(get1(name, value, 400), "error");
    ck_assert_str_eq(json_string_value(json_object_get(error, "message")), why);
}

static size_t rows(const json_t *got)
{
    ck_assert(json_is_array(json_object_get(got, "tunnels")));
    return json_array_size(json_object_get(got, "tunnels"));
}

static void delete (const char *path, bool read_only, unsigned status)
{
    struct api_call c = {
        .method = "DELETE", .path = path, .read_only = read_only, .peer = "uid 1 pid 2"};
    request(&c, status);
}

START_TEST(a_tunnel_is_shown_whole)
{
    fake_tunnel(&rt, 1, 443);
    json_t *expected = json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f}",
        "id", "1-100", "worker", 1, "state", "open", "listener", "proxy", "proxy", "egress", "user",
        "alice", "client_address", "10.0.0.2", "client_port", 40000, "connection", "1-2a",
        "authority", "www.example:443", "target", "192.0.2.7", "target_port", 443, "to_target",
        1000, "to_client", 3 << 20, "age_seconds", 90.0, "resolved_seconds", 0.005,
        "connected_seconds", 0.025);
    const json_t *got = get1(NULL, NULL, 200);
    ck_assert_uint_eq(rows(got), 1);
    ck_assert(json_equal(json_array_get(json_object_get(got, "tunnels"), 0), expected));
    ck_assert(json_is_null(json_object_get(got, "next")));
    json_decref(expected);
}
END_TEST

START_TEST(a_tunnel_that_looks_for_its_target_has_less_to_say)
{
    struct ctl_tunnel *t = fake_tunnel(&rt, 0, 443);
    *t = (struct ctl_tunnel){
        .id = t->id, .state = "resolving", .listener = "proxy", .proxy = "egress"};
    strcpy(t->authority, "\xff:443"); /* which is not UTF-8 */
    const json_t *got = get1(NULL, NULL, 200);
    const json_t *row = json_array_get(json_object_get(got, "tunnels"), 0);
    static const char *const unknown[] = {"user", "target", "authority", "resolved_seconds",
                                          "connected_seconds"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        ck_assert_msg(json_is_null(json_object_get(row, unknown[i])), "%s", unknown[i]);
}
END_TEST

/* How many tunnels the pages of that limit have, each once. */
static unsigned count(const char *limit, const char *filter, const char *value)
{
    static bool met[FAKE_WORKERS][FAKE_ROWS];
    char cursor[64] = "";
    unsigned seen = 0;
    memset(met, 0, sizeof(met));
    do {
        struct api_call c = {.method = "GET", .path = "/v1/tunnels"};
        c.param[c.n_params++] = (struct api_param){"limit", limit};
        if (*cursor)
            c.param[c.n_params++] = (struct api_param){"cursor", cursor};
        if (filter)
            c.param[c.n_params++] = (struct api_param){filter, value};
        const json_t *got = request(&c, 200);
        ck_assert_uint_le(rows(got), (size_t)atoi(limit));
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(got, "tunnels"), i, row)
        {
            json_int_t worker = json_integer_value(json_object_get(row, "worker"));
            json_int_t port = json_integer_value(json_object_get(row, "target_port"));
            ck_assert(!met[worker][port]);
            met[worker][port] = true;
            seen++;
        }
        const char *next = json_string_value(json_object_get(got, "next"));
        snprintf(cursor, sizeof(cursor), "%s", next ? next : "");
    } while (*cursor);
    return seen;
}

START_TEST(pages_follow_on)
{
    for (unsigned i = 0; i < FAKE_ROWS; i++) {
        struct ctl_tunnel *t = fake_tunnel(&rt, i & 1, (uint16_t)i); /* tells them apart */
        if (i % 500 == 0)
            t->state = "half-closed";
        if (i % 4 == 0)
            strcpy(t->user, "bob");
        if (i % 5 == 0)
            strcpy(t->proxy, "other");
        if (i % 8 == 0)
            strcpy(t->listener, "other");
        if (i % 10 == 0)
            t->target = fake_ip("192.0.3.7");
        if (i % 20 == 0)
            t->target = fake_ip("2001:db8::7");
    }
    ck_assert_uint_eq(count("7", NULL, NULL), FAKE_ROWS);
    ck_assert_uint_eq(count("10000", NULL, NULL), FAKE_ROWS);
    ck_assert_uint_eq(count("100", "worker", "1"), FAKE_ROWS / 2);
    ck_assert_uint_eq(count("3", "state", "half-closed"), 4);
    ck_assert_uint_eq(count("100", "state", "verifying"), 0);
    ck_assert_uint_eq(count("100", "user", "bob"), FAKE_ROWS / 4);
    ck_assert_uint_eq(count("100", "proxy", "other"), FAKE_ROWS / 5);
    ck_assert_uint_eq(count("100", "listener", "other"), FAKE_ROWS / 8);
    ck_assert_uint_eq(count("100", "target", "192.0.3.7"), FAKE_ROWS / 20);
    ck_assert_uint_eq(count("100", "target", "192.0.2.0/23"), FAKE_ROWS - FAKE_ROWS / 20);
    ck_assert_uint_eq(count("100", "target", "::/0"), FAKE_ROWS / 20);
    ck_assert_uint_le(rt.most, 256); /* no request keeps a worker from its packets for long */
}
END_TEST

START_TEST(bad_questions_are_refused)
{
    static const char *const cursors[] = {"", "0", "2-0", "0-g", "0-00", "-1"};
    for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++)
        get1("cursor", cursors[i], 400);
    refused("state", "opened", "state: unknown value 'opened' (did you mean 'open'?)");
    refused("target", "10.0.0.0/33", "target: '10.0.0.0/33' is neither an address nor a network");
    refused("target", "www.example", "target: 'www.example' is neither an address nor a network");
    refused("user", "", "user: '' is not a name of 1 to 63 bytes");
    refused("proxy", "a-name-of-more-than-31-characters",
            "proxy: 'a-name-of-more-than-31-characters' is not a name of 1 to 31 bytes");
    get1("listener", "", 400);
    get1("limit", "0", 400);
    get1("limit", "10001", 400);
    get1("after", "0-0", 400);
    ck_assert_uint_eq(rt.requests, 0);
    rt.mute[1] = true;
    get1(NULL, NULL, 504);
    delete ("/v1/tunnels/1-100", false, 504);
}
END_TEST

START_TEST(every_state_can_be_asked_for)
{
    for (int i = 0; i < TUNNEL_STATE_END; i++)
        get1("state", tunnel_state_name((enum tunnel_state)i), 200);
}
END_TEST

START_TEST(a_tunnel_is_killed)
{
    fake_tunnel(&rt, 1, 443);
    fake_tunnel(&rt, 1, 444);
    delete ("/v1/tunnels/1-101", true, 403);
    ck_assert_uint_eq(rt.n_tunnels[1], 2);
    delete ("/v1/tunnels/1-100", false, 200);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "killed")), "1-100");
    ck_assert_ptr_nonnull(strstr(rt.log, "control: uid 1 pid 2: DELETE /v1/tunnels/1-100"));
    delete ("/v1/tunnels/1-100", false, 404);
    delete ("/v1/tunnels/0-101", false, 404);
    delete ("/v1/tunnels/4-101", false, 404);
    delete ("/v1/tunnels/1-0101", false, 404);
    delete ("/v1/tunnels", false, 405);
    ck_assert_uint_eq(rt.n_tunnels[1], 1);
}
END_TEST

UNIT_MAIN("api_tunnels", setup, teardown, a_tunnel_is_shown_whole,
          a_tunnel_that_looks_for_its_target_has_less_to_say, pages_follow_on,
          bad_questions_are_refused, every_state_can_be_asked_for, a_tunnel_is_killed)
