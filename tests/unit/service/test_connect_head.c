/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/unit.h"

#define need(ok) ck_assert(ok)
#include "tunnels.h"

static struct party *client;

static void setup(void)
{
    tn_start(&(struct proxy_options){.realm = NULL});
}

static void teardown(void)
{
    tn_stop();
}

static void restart(const struct proxy_options *o)
{
    tn_stop();
    tn_start(o);
}

static void tell(const struct http_head *h)
{
    client = party_new(&service_connect.stream);
    http_tell_head(&client->http, h, false, tn.env.now);
    tn_run();
}

static void refused_as(enum tunnel_end why, unsigned status, const char *field)
{
    ck_assert_uint_eq(client->responses, 1);
    ck_assert_uint_eq(client->status, status);
    ck_assert(client->head_ends);
    ck_assert_str_eq(client->field, field);
    ck_assert_uint_eq(tn.last.r.end, why);
    ck_assert_uint_eq(tn.last.r.status, status);
    ck_assert_str_eq(tn.last.listener, "front");
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    ck_assert_uint_eq(proxy_users(tn.proxy), 0);
}

static const struct http_head a_head = {
    .method = HTTP_CONNECT, .authority = {"11.0.0.9:443", 12}, .content_length = HTTP_LENGTH_NONE};

START_TEST(other_methods_are_none)
{
    for (unsigned m = HTTP_OTHER; m < HTTP_METHOD_END; m++) {
        struct http_head h = a_head;
        h.method = (enum http_method)m;
        if (m == HTTP_CONNECT)
            continue;
        tell(&h);
        refused_as(TUNNEL_NOT_CONNECT, 405,
                   "proxy-status: \"mill\"; error=http_request_error\nallow: CONNECT\n");
    }
}
END_TEST

START_TEST(other_protocols_are_unknown)
{
    struct http_head h = a_head;
    h.protocol = HTTP_TEXT("websocket");
    tell(&h);
    refused_as(TUNNEL_BAD_PROTOCOL, 501, "proxy-status: \"mill\"; error=http_request_error\n");
}
END_TEST

/* RFC 9113 8.5 */
START_TEST(an_authority_is_a_host_and_a_port)
{
    static const char *const bad[] = {"",
                                      ":443",
                                      "a.example",
                                      "a.example:",
                                      "a.example:0",
                                      "u@a.example:443",
                                      "a.example:65536",
                                      "[::1",
                                      "::1:80",
                                      "a b:80",
                                      "11.0.0.256:80"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        client = tn_client(bad[i]);
        refused_as(TUNNEL_BAD_REQUEST, 400, "proxy-status: \"mill\"; error=http_request_error\n");
        ck_assert_str_eq(tn.last.authority, bad[i]);
    }
}
END_TEST

START_TEST(an_answer_has_a_date_where_the_time_is_known)
{
    tn.env.wall = INT64_C(1700000000) * (int64_t)TICK_SEC - (int64_t)tn.env.now;
    client = tn_client("x");
    refused_as(TUNNEL_BAD_REQUEST, 400,
               "date: Tue, 14 Nov 2023 22:13:20 GMT\n"
               "proxy-status: \"mill\"; error=http_request_error\n");
}
END_TEST

START_TEST(odd_names_are_quoted)
{
    char name[100] = "a\"b\\c\x01\xff ";
    memset(name + 8, 'n', 90);
    restart(&(struct proxy_options){.name = name});
    client = tn_client("x");
    char field[200];
    snprintf(field, sizeof(field),
             "proxy-status: \"a\\\"b\\\\c?? %.*s\"; error=http_request_error\n", 56, name + 8);
    ck_assert_str_eq(client->field, field);
}
END_TEST

START_TEST(a_name_may_be_denied_without_being_looked_up)
{
    const char *name[] = {"example.com"};
    struct proxy_rule rule[] = {{.allow = false, .name = name, .n_names = 1}, {.allow = true}};
    restart(&(struct proxy_options){.rule = rule, .n_rules = 2});
    client = tn_client("www.example.com:443");
    refused_as(TUNNEL_DENIED, 403, "proxy-status: \"mill\"; error=http_request_denied\n");
    ck_assert_uint_eq(tn.n_asked, 0);
    client = tn_client("www.example.org:443");
    ck_assert_uint_eq(tn.n_asked, 2);
}
END_TEST

START_TEST(what_a_refused_client_sends_is_thrown_away)
{
    client = tn_client("x");
    party_sends(client, "and on");
    party_sends(client, "and on");
    ck_assert_uint_eq(client->consumed, 12);
    ck_assert(!party_over(client));
    party_ends(client);
    party_finishes(client);
    ck_assert_uint_eq(client->aborted, 0);
}
END_TEST

START_TEST(a_refused_client_may_go)
{
    client = tn_client("x");
    party_sends(client, "and on");
    party_fails(client, STREAM_RESET);
    ck_assert(party_over(client));
}
END_TEST

START_TEST(a_refusal_that_cannot_be_sent)
{
    client = party_new(&service_connect.stream);
    client->refuses = true;
    struct http_head h = a_head;
    h.authority = HTTP_TEXT("x");
    http_tell_head(&client->http, &h, false, tn.env.now);
    tn_run();
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    client = tn_client("11.0.0.9:443");
    client->refuses = true;
    party_fails(tn_newest(), STREAM_REFUSED);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    ck_assert_uint_eq(tn.last.r.end, TUNNEL_REFUSED);
}
END_TEST

START_TEST(a_user_has_so_many_tunnels)
{
    restart(&(struct proxy_options){.limits = {.tunnels = 2}});
    struct party *first = tn_client("11.0.0.9:443");
    tn_client("11.0.0.9:443");
    client = tn_client("11.0.0.9:443");
    ck_assert_uint_eq(client->status, 429);
    ck_assert_str_eq(client->field, "proxy-status: \"mill\"; error=connection_limit_reached\n");
    ck_assert_uint_eq(tn.last.r.end, TUNNEL_USER_LIMIT);
    party_fails(first, STREAM_RESET);
    client = tn_client("11.0.0.9:443");
    ck_assert_uint_eq(client->responses, 0);
}
END_TEST

START_TEST(a_user_has_so_many_new_ones_a_second)
{
    restart(&(struct proxy_options){.limits = {.rate = 2}});
    party_fails(tn_client("11.0.0.9:443"), STREAM_RESET);
    party_fails(tn_client("11.0.0.9:443"), STREAM_RESET);
    client = tn_client("11.0.0.9:443");
    refused_as(TUNNEL_USER_LIMIT, 429, "proxy-status: \"mill\"; error=connection_limit_reached\n");
    tn_later(TICK_SEC);
    client = tn_client("11.0.0.9:443");
    ck_assert_uint_eq(client->responses, 0);
}
END_TEST

START_TEST(a_worker_has_so_many_tunnels)
{
    connect_destroy(tn.connect);
    tn_connect(1);
    struct party *first = tn_client("11.0.0.9:443");
    client = tn_client("11.0.0.9:443");
    ck_assert_uint_eq(client->status, 503);
    ck_assert_uint_eq(tn.last.r.end, TUNNEL_LIMIT);
    ck_assert_str_eq(client->field, "proxy-status: \"mill\"; error=connection_limit_reached\n");
    party_fails(first, STREAM_RESET);
    client = tn_client("11.0.0.9:443");
    ck_assert_uint_eq(client->responses, 0);
}
END_TEST

/* The client's connection may be gone before the target is. */
START_TEST(a_record_needs_no_client)
{
    char listener[64] = "a name that is longer than what is kept of it";
    tn.peer.listener = listener;
    client = tn_client("11.0.0.9:443");
    struct party *target = tn_newest();
    party_opens(target);
    party_ends(target);
    party_ends(client);
    party_finishes(client);
    memset(listener, 'x', sizeof(listener));
    tn.peer.context = NULL;
    party_finishes(target);
    ck_assert_str_eq(tn.last.r.proxy, "mill");
    ck_assert_str_eq(tn.last.authority, "11.0.0.9:443");
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
}
END_TEST

UNIT_MAIN("connect_head", setup, teardown, other_methods_are_none, other_protocols_are_unknown,
          an_authority_is_a_host_and_a_port, an_answer_has_a_date_where_the_time_is_known,
          odd_names_are_quoted, a_name_may_be_denied_without_being_looked_up,
          what_a_refused_client_sends_is_thrown_away, a_refused_client_may_go,
          a_refusal_that_cannot_be_sent, a_user_has_so_many_tunnels,
          a_user_has_so_many_new_ones_a_second, a_worker_has_so_many_tunnels,
          a_record_needs_no_client)
