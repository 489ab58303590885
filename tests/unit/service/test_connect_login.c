/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/unit.h"

#define need(ok) ck_assert(ok)
#include "tunnels.h"

static struct party *client;

static void setup(void)
{
    tn_start(&(struct proxy_options){.realm = "a \"b\"", .basic = true, .credentials = &tn});
}

static void teardown(void)
{
    tn_stop();
}

static void ask(const char *value)
{
    client = tn_ask("11.0.0.9:443", tn_text(value), false);
}

static void refused_as(enum tunnel_end why, unsigned status)
{
    ck_assert_uint_eq(client->responses, 1);
    ck_assert_uint_eq(client->status, status);
    ck_assert(client->head_ends);
    ck_assert_uint_eq(tn.last.r.end, why);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
}

/* "user:password" in base64, of any length. */
static struct http_text basic(const char *plain, size_t n, const char *padding)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static char text[1024];
    uint32_t at = (uint32_t)snprintf(text, sizeof(text), "Basic ");
    for (size_t bit = 0; bit < 8 * n; bit += 6) {
        uint32_t two = (uint32_t)(uint8_t)plain[bit / 8] << 8;
        two |= bit / 8 + 1 < n ? (uint8_t)plain[bit / 8 + 1] : 0;
        text[at++] = digit[two >> (10 - bit % 8) & 63];
    }
    at += (uint32_t)snprintf(text + at, sizeof(text) - at, "%s", padding);
    return (struct http_text){text, at};
}

static void asks_as(const char *user, const char *password)
{
    ck_assert_uint_eq(tn.n_verify, 1);
    ck_assert_str_eq(tn.verify[0].name, user);
    ck_assert_str_eq(tn.verify[0].password, password);
    ck_assert(ip_eq(&tn.verify[0].client, &tn.peer.addr));
    ck_assert_uint_eq(client->responses, 0);
    ck_assert_uint_eq(tn.n_parties, 1);
}

START_TEST(nobody_is_asked_who_it_is)
{
    client = tn_client("11.0.0.9:443");
    refused_as(TUNNEL_UNKNOWN_USER, 407);
    ck_assert_str_eq(client->field,
                     "proxy-status: \"mill\"; error=http_request_denied\n"
                     "proxy-authenticate: Basic realm=\"a \\\"b\\\"\", charset=\"UTF-8\"\n");
    ck_assert_str_eq(tn.last.user, "");
}
END_TEST

START_TEST(the_realm_is_the_proxys_name_where_it_has_none)
{
    tn_stop();
    tn_start(&(struct proxy_options){.basic = true});
    client = tn_client("11.0.0.9:443");
    ck_assert_ptr_nonnull(strstr(client->field, "realm=\"mill\","));
}
END_TEST

START_TEST(a_long_realm_is_cut)
{
    char realm[300];
    memset(realm, '\\', sizeof(realm) - 1);
    realm[sizeof(realm) - 1] = 0;
    tn_stop();
    tn_start(&(struct proxy_options){.basic = true, .name = realm, .realm = realm});
    client = tn_client("11.0.0.9:443");
    refused_as(TUNNEL_UNKNOWN_USER, 407);
}
END_TEST

/* RFC 7617 2 */
START_TEST(a_right_password_lets_in)
{
    ask("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    asks_as("Aladdin", "open sesame");
    tn_verified(CONNECT_OK);
    ck_assert_uint_eq(tn.n_parties, 2);
    party_opens(tn_newest());
    ck_assert_uint_eq(client->status, 200);
    party_fails(client, STREAM_RESET);
    ck_assert_str_eq(tn.last.user, "Aladdin");
}
END_TEST

START_TEST(a_wrong_one_is_asked_for_again)
{
    ask("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    tn_verified(CONNECT_WRONG);
    refused_as(TUNNEL_UNKNOWN_USER, 407);
    ck_assert_ptr_nonnull(strstr(client->field, "proxy-authenticate: Basic"));
    ask("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="); /* and not remembered */
    ck_assert_uint_eq(tn.n_verify, 2);
}
END_TEST

START_TEST(what_is_no_login_is_asked_for_again)
{
    static const char *const bad[] = {"",
                                      "Basic",
                                      "Basic ",
                                      "Basic    ",
                                      "Basi QTpi",
                                      "Basicc QTpi",
                                      "Bearer QTpi",
                                      "Basic =",
                                      "Basic ====",
                                      "Basic Q",
                                      "Basic QTpiY",
                                      "Basic QTpi!",
                                      "Basic QT pi",
                                      "Basic Q=pi",
                                      "Basic QWI=" /* no colon */,
                                      "Basic OmI=" /* no user */,
                                      "Basic Og==",
                                      "Basic QTpi-",
                                      "Basic\tQTpi"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tn.n_parties = 0;
        ask(bad[i]);
        refused_as(TUNNEL_UNKNOWN_USER, 407);
        ck_assert_uint_eq(tn.n_verify, 0);
        stream_fini(&client->http.stream);
        client->live = false;
    }
}
END_TEST

START_TEST(padding_is_optional_and_case_does_not_matter)
{
    static const char *const good[] = {
        "Basic QTpi",     "basic QTpi",    "BASIC   QTpi",   "bAsIc QTpiYw",
        "Basic QTpiYw==", "Basic QTpiYw=", "Basic QTpiY2Q=", "Basic QTpiY2Q"};
    static const char *const password[] = {"b", "b", "b", "bc", "bc", "bc", "bcd", "bcd"};
    for (unsigned i = 0; i < 8; i++) {
        tn.n_parties = tn.n_verify = 0;
        ask(good[i]);
        asks_as("A", password[i]);
        tn_verified(CONNECT_WRONG);
        stream_fini(&client->http.stream);
        client->live = false;
    }
}
END_TEST

/* A browser opens many at once; whoever answers has bounds for each client. */
START_TEST(tunnels_that_show_the_same_wait_for_one_answer)
{
    ask("Basic QTpi");
    struct party *first = client;
    ask("Basic QTpi");
    struct party *second = client;
    ask("Basic QTpi");
    ck_assert_uint_eq(tn.n_verify, 1);
    party_fails(first, STREAM_RESET);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 2);
    tn_verified(CONNECT_OK);
    ck_assert_uint_eq(tn_newest()->port, 443);
    party_opens(tn_newest());
    ck_assert_uint_eq(client->status, 200);
    party_fails(second, STREAM_RESET);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 1);
    ask("Basic QTpi"); /* remembered */
    ck_assert_uint_eq(tn.n_verify, 1);
}
END_TEST

START_TEST(an_answer_that_nobody_waits_for_serves_the_next)
{
    ask("Basic QTpi");
    party_fails(client, STREAM_RESET);
    ask("Basic QTpi"); /* the question that nobody waits for any more will do */
    ck_assert_uint_eq(tn.n_verify, 1);
    tn_verified(CONNECT_WRONG);
    refused_as(TUNNEL_UNKNOWN_USER, 407);
    connect_verified(tn.connect, tn.verify[0].id, CONNECT_OK, tn.env.now); /* answered once */
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
}
END_TEST

START_TEST(passwords_may_be_empty_and_hold_colons_and_bytes)
{
    client = tn_ask("11.0.0.9:443", basic("u:", 2, ""), false);
    asks_as("u", "");
    tn.n_verify = 0;
    tn.n_parties = 0;
    client = tn_ask("11.0.0.9:443", basic("u::a:\xc3\xa4\xff", 8, ""), false);
    asks_as("u", ":a:\xc3\xa4\xff");
    tn.n_parties = 1;
}
END_TEST

START_TEST(a_nul_is_none_of_a_name_or_password)
{
    client = tn_ask("11.0.0.9:443", basic("u\0r:p", 5, ""), false);
    refused_as(TUNNEL_UNKNOWN_USER, 407);
    client = tn_ask("11.0.0.9:443", basic("u:p\0q", 5, ""), false);
    refused_as(TUNNEL_UNKNOWN_USER, 407);
    client = tn_ask("11.0.0.9:443", basic("u:p\0", 4, ""), false);
    refused_as(TUNNEL_UNKNOWN_USER, 407);
    ck_assert_uint_eq(tn.n_verify, 0);
}
END_TEST

START_TEST(names_and_passwords_have_bounds)
{
    static const struct {
        uint32_t name;
        uint32_t password;
        bool ok;
    } c[] = {{63, 1, true}, {64, 1, false}, {63, 127, true}, {63, 128, false}, {1, 400, false}};
    for (unsigned i = 0; i < 5; i++) {
        char plain[600];
        memset(plain, 'x', sizeof(plain));
        plain[c[i].name] = ':';
        tn.n_verify = 0;
        client = tn_ask("11.0.0.9:443", basic(plain, c[i].name + 1 + c[i].password, ""), false);
        ck_assert_uint_eq(tn.n_verify, c[i].ok);
        ck_assert_uint_eq(client->status, c[i].ok ? 0 : 407);
        ck_assert(!c[i].ok || (strlen(tn.verify[0].name) == c[i].name &&
                               strlen(tn.verify[0].password) == c[i].password));
    }
}
END_TEST

START_TEST(a_right_password_is_remembered_for_a_while)
{
    tick_t began = tn.env.now;
    ask("Basic QTpi");
    tn_later(TICK_SEC);
    tn_verified(CONNECT_OK);
    party_fails(client, STREAM_RESET);
    tn_until(began + 301 * TICK_SEC - 1);
    ask("basic QTpi");
    ck_assert_uint_eq(tn.n_verify, 1);
    ck_assert_uint_eq(tn_newest()->port, 443);
    party_fails(client, STREAM_RESET);
    ck_assert_str_eq(tn.last.user, "A");
    tn_later(1);
    ask("Basic QTpi");
    ck_assert_uint_eq(tn.n_verify, 2);
}
END_TEST

START_TEST(another_password_is_not_what_was_remembered)
{
    ask("Basic QTpi");
    tn_verified(CONNECT_OK);
    client = tn_ask("11.0.0.9:443", basic("A:c", 3, ""), false);
    ck_assert_uint_eq(tn.n_verify, 2);
    client = tn_ask("11.0.0.9:443", basic("B:b", 3, ""), false);
    ck_assert_uint_eq(tn.n_verify, 3);
}
END_TEST

START_TEST(what_was_remembered_can_be_forgotten)
{
    ask("Basic QTpi");
    tn_verified(CONNECT_OK);
    connect_forget(tn.connect);
    ask("Basic QTpi");
    ck_assert_uint_eq(tn.n_verify, 2);
}
END_TEST

/* The password was looked up before it may have changed. */
START_TEST(an_answer_behind_forgetting_is_not_remembered)
{
    ask("Basic QTpi");
    connect_forget(tn.connect);
    tn_verified(CONNECT_OK);
    party_opens(tn_newest());
    ck_assert_uint_eq(client->status, 200);
    ask("Basic QTpi");
    ck_assert_uint_eq(tn.n_verify, 2);
}
END_TEST

START_TEST(an_answer_when_the_client_has_gone_is_nothing)
{
    ask("Basic QTpi");
    party_fails(client, STREAM_RESET);
    ck_assert_uint_eq(tn.last.r.end, TUNNEL_CLIENT_RESET);
    ck_assert_uint_eq(tn.last.r.state, TUNNEL_STATE_VERIFYING);
    tn_verified(CONNECT_OK);
    ck_assert_uint_eq(tn.n_parties, 1);
    ask("Basic QTpi");
    ck_assert_uint_eq(tn.n_verify, 2);
}
END_TEST

/* Some of what it has sent is told, not yet that it is reset. */
START_TEST(an_answer_while_the_client_is_going_is_nothing)
{
    ask("Basic QTpi");
    party_puts(client, "abcdefgh", 8, 1);
    stream_failed(&client->http.stream, STREAM_RESET);
    stream_ready_run(&tn.ready, 1, 2);
    connect_verified(tn.connect, tn.verify[0].id, CONNECT_OK, tn.env.now);
    ck_assert_uint_eq(tn.n_parties, 1);
    tn_run();
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
}
END_TEST

START_TEST(an_answer_comes_once)
{
    ask("Basic QTpi");
    tn_verified(CONNECT_OK);
    tn_verified(CONNECT_WRONG);
    tn_verified(CONNECT_OK);
    ck_assert_uint_eq(client->responses, 0);
    ck_assert_uint_eq(tn.n_parties, 2);
}
END_TEST

START_TEST(a_busy_verifier_is_a_limit)
{
    tn.busy = true;
    ask("Basic QTpi");
    refused_as(TUNNEL_LIMIT, 503);
    tn.busy = false;
    ask("Basic QTpi");
    tn_verified(CONNECT_BUSY);
    refused_as(TUNNEL_LIMIT, 503);
}
END_TEST

START_TEST(a_verifier_that_does_not_answer_is_a_limit)
{
    ask("Basic QTpi");
    tn_later(10 * TICK_SEC - 1);
    ck_assert_uint_eq(client->responses, 0);
    tn_later(1);
    refused_as(TUNNEL_LIMIT, 503);
    tn_verified(CONNECT_OK);
}
END_TEST

static void restart_with_certificates(bool basic_too)
{
    tn_stop();
    tn_start(&(struct proxy_options){.certificate = true, .basic = basic_too, .credentials = &tn});
}

START_TEST(a_certificate_will_do)
{
    restart_with_certificates(true);
    tn.peer.user = "carol";
    client = tn_client("11.0.0.9:443");
    ck_assert_uint_eq(tn.n_parties, 2);
    tn.peer.user = NULL; /* it was the connection's, and may be gone before the tunnel is */
    party_fails(client, STREAM_RESET);
    ck_assert_str_eq(tn.last.user, "carol");
}
END_TEST

START_TEST(without_a_certificate_basic_is_asked_for_where_it_would_do)
{
    restart_with_certificates(true);
    client = tn_client("11.0.0.9:443");
    refused_as(TUNNEL_UNKNOWN_USER, 407);
    restart_with_certificates(false);
    client = tn_client("11.0.0.9:443");
    refused_as(TUNNEL_DENIED, 403);
}
END_TEST

UNIT_MAIN("connect_login", setup, teardown, nobody_is_asked_who_it_is,
          the_realm_is_the_proxys_name_where_it_has_none, a_long_realm_is_cut,
          a_right_password_lets_in, a_wrong_one_is_asked_for_again,
          what_is_no_login_is_asked_for_again, padding_is_optional_and_case_does_not_matter,
          tunnels_that_show_the_same_wait_for_one_answer,
          an_answer_that_nobody_waits_for_serves_the_next,
          passwords_may_be_empty_and_hold_colons_and_bytes, a_nul_is_none_of_a_name_or_password,
          names_and_passwords_have_bounds, a_right_password_is_remembered_for_a_while,
          another_password_is_not_what_was_remembered, what_was_remembered_can_be_forgotten,
          an_answer_behind_forgetting_is_not_remembered,
          an_answer_when_the_client_has_gone_is_nothing,
          an_answer_while_the_client_is_going_is_nothing, an_answer_comes_once,
          a_busy_verifier_is_a_limit, a_verifier_that_does_not_answer_is_a_limit,
          a_certificate_will_do, without_a_certificate_basic_is_asked_for_where_it_would_do)
