/* SPDX-License-Identifier: BSD-3-Clause */
#include <openssl/ssl.h>
#include <string.h>

#include "pair.h"

/* Sessions that are taken up again, by tickets. */

#define LIFETIME (3600 * TICK_SEC)
#define PERIOD   (LIFETIME / 4)

static const char *const h2[] = {"h2"};

static struct pair pair;
static struct pair elsewhere; /* another worker of the same host */
static struct pki ca;
static struct pki ec;
static struct pki other;
static struct tls_identity id[2];
static struct tls_config config;
static struct tls_context *server;
static struct tls_context *client;
static uint8_t session[8192];
static size_t session_len;

static void setup(void)
{
    pair_init(&pair);
    pair_init(&elsewhere);
    ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
    ec = pki_make(PKI_P256, "ec", "DNS:example.com", &ca, -1, 10);
    other = pki_make(PKI_P256, "other", "DNS:other.example", &ca, -1, 10);
    id[0] = pair_identity(&ec);
    id[1] = pair_identity(&other);
    config = (struct tls_config){.identity = id,
                                 .n_identities = 2,
                                 .tickets = 1,
                                 .ticket_lifetime = LIFETIME,
                                 .alpn = h2,
                                 .n_alpn = 1};
    server = pair_server(&config);
    client = pair_client(&ca);
    session_len = 0;
}

static void teardown(void)
{
    pair_fini(&pair);
    pair_fini(&elsewhere);
    tls_context_release(server);
    tls_context_release(client);
    pki_free(&ca);
    pki_free(&ec);
    pki_free(&other);
}

/* A connection, which leaves its session behind. True: it was resumed. */
static bool connects(struct pair *p, bool tls12, const char *name)
{
    pair_begin(p, client, server, name, session_len ? session : NULL, session_len);
    if (tls12)
        SSL_set_max_proto_version(p->client.conn.ssl, TLS1_2_VERSION);
    pair_run(p);
    pair_expect_open(p);
    bool resumed = p->server.conn.flags & TLS_CONN_RESUMED;
    ck_assert_int_eq(resumed, (p->client.conn.flags & TLS_CONN_RESUMED) != 0);
    pair_write(p, &p->client, "request", 7);
    pair_run(p);
    pair_expect(&p->server, "request", 7);
    session_len = tls_session(&p->client.conn, session, sizeof(session));
    pair_close(p);
    return resumed;
}

START_TEST(resumes_a_session)
{
    ck_assert(!connects(&pair, false, "example.com"));
    ck_assert_uint_gt(session_len, 0);
    for (unsigned i = 0; i < 3; i++)
        ck_assert(connects(&pair, false, "example.com"));
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FULL), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_RESUMED), 3);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS), 4);
}
END_TEST

START_TEST(resumes_a_session_of_1_2)
{
    ck_assert(!connects(&pair, true, "example.com"));
    ck_assert_uint_gt(session_len, 0);
    ck_assert(connects(&pair, true, "example.com"));
    ck_assert(connects(&pair, true, "example.com"));
    /* No new ticket while the key is the current one. */
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS), 1);
    pair.now += PERIOD;
    ck_assert(connects(&pair, true, "example.com"));
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS), 2);
}
END_TEST

START_TEST(resumes_under_another_name_of_the_listener)
{
    ck_assert(!connects(&pair, false, "other.example"));
    ck_assert(connects(&pair, false, "other.example"));
}
END_TEST

START_TEST(another_worker_takes_the_ticket)
{
    ck_assert(!connects(&pair, false, "example.com"));
    ck_assert(connects(&elsewhere, false, "example.com"));
    ck_assert(connects(&pair, false, "example.com"));
}
END_TEST

START_TEST(keys_that_rotated_are_good_for_a_ticket_s_life)
{
    for (unsigned tls12 = 0; tls12 < 2; tls12++) {
        session_len = 0;
        ck_assert(!connects(&pair, tls12, "example.com"));
        size_t kept_len = session_len;
        uint8_t kept[sizeof(session)];
        memcpy(kept, session, sizeof(kept));
        elsewhere.now = pair.now + LIFETIME;
        ck_assert(connects(&elsewhere, tls12, "example.com"));
        memcpy(session, kept, sizeof(kept));
        session_len = kept_len;
        elsewhere.now = pair.now + 2 * LIFETIME;
        ck_assert(!connects(&elsewhere, tls12, "example.com"));
        ck_assert_uint_eq(pair_count(&elsewhere.server, COUNTER_TLS_TICKETS_STALE), 1);
        pair_fini(&elsewhere);
        pair_init(&elsewhere);
    }
}
END_TEST

START_TEST(resuming_renews_the_ticket)
{
    ck_assert(!connects(&pair, false, "example.com"));
    for (unsigned i = 0; i < 20; i++) {
        pair.now += PERIOD;
        ck_assert(connects(&pair, false, "example.com"));
    }
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS_STALE), 0);
}
END_TEST

START_TEST(without_tickets_there_is_no_resumption)
{
    tls_context_release(server);
    config.tickets = 0;
    server = pair_server(&config);
    for (unsigned tls12 = 0; tls12 < 2; tls12++) {
        session_len = 0;
        ck_assert(!connects(&pair, tls12, "example.com"));
        ck_assert(!connects(&pair, tls12, "example.com"));
    }
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS), 0);
}
END_TEST

START_TEST(as_many_tickets_as_configured)
{
    tls_context_release(server);
    config.tickets = 3;
    server = pair_server(&config);
    connects(&pair, false, "example.com");
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS), 3);
}
END_TEST

START_TEST(a_reload_of_the_same_keeps_sessions)
{
    struct pki renewed = pki_make(PKI_P256, "ec", "DNS:example.com", &ca, 0, 20);
    ck_assert(!connects(&pair, false, "example.com"));
    tls_context_release(server);
    id[0] = pair_identity(&renewed);
    server = pair_server(&config);
    ck_assert(connects(&pair, false, "example.com"));
    pki_free(&renewed);
}
END_TEST

/* Else a client that showed no certificate, or another's, would come in by its ticket; or a
 * connection that was led astray be believed to be with the host that it was meant for. */
START_TEST(a_listener_takes_no_other_listener_s_tickets)
{
    for (unsigned tls12 = 0; tls12 < 2; tls12++) {
        struct tls_config mine = config;
        session_len = 0;
        ck_assert(!connects(&pair, tls12, "example.com"));
        size_t kept_len = session_len;
        uint8_t kept[sizeof(session)];
        memcpy(kept, session, sizeof(kept));

        tls_context_release(server);
        mine.client_auth = TLS_CLIENT_AUTH_OPTIONAL;
        mine.client_ca = ca.cert;
        mine.client_ca_len = strlen(ca.cert);
        server = pair_server(&mine);
        ck_assert(!connects(&pair, tls12, "example.com"));

        tls_context_release(server);
        mine = config;
        mine.n_identities = 1;
        server = pair_server(&mine);
        memcpy(session, kept, sizeof(kept));
        session_len = kept_len;
        ck_assert(!connects(&pair, tls12, "example.com"));
        tls_context_release(server);
        server = pair_server(&config);
    }
}
END_TEST

START_TEST(a_session_that_is_none_is_passed_over)
{
    memset(session, 0x30, 100);
    session_len = 100;
    ck_assert(!connects(&pair, false, "example.com"));
}
END_TEST

/* Any bit of the ticket: a full handshake, nothing worse. */
START_TEST(a_ticket_that_was_changed_is_not_taken)
{
    ck_assert(!connects(&pair, false, "example.com"));
    const uint8_t *der = session;
    SSL_SESSION *s = d2i_SSL_SESSION(NULL, &der, (long)session_len);
    const unsigned char *ticket;
    size_t len;
    SSL_SESSION_get0_ticket(s, &ticket, &len);
    ck_assert_uint_gt(len, 64);
    uint8_t kept[sizeof(session)];
    size_t kept_len = session_len;
    memcpy(kept, session, sizeof(kept));
    size_t place = 0;
    while (memcmp(kept + place, ticket, len) != 0)
        ck_assert_uint_lt(++place + len, kept_len);
    for (size_t at = 0; at < len; at += 11) {
        memcpy(session, kept, sizeof(kept));
        session_len = kept_len;
        session[place + at] ^= 4;
        ck_assert(!connects(&pair, false, "example.com"));
    }
    SSL_SESSION_free(s);
}
END_TEST

START_TEST(a_session_needs_room)
{
    uint8_t little[16];
    connects(&pair, false, "example.com");
    pair_begin(&pair, client, server, "example.com", NULL, 0);
    ck_assert_uint_eq(tls_session(&pair.client.conn, session, sizeof(session)), 0);
    pair_run(&pair);
    ck_assert_uint_eq(tls_session(&pair.client.conn, little, sizeof(little)), 0);
    ck_assert_uint_gt(tls_session(&pair.client.conn, session, sizeof(session)), sizeof(little));
}
END_TEST

UNIT_MAIN("tls/resume", setup, teardown, resumes_a_session, resumes_a_session_of_1_2,
          resumes_under_another_name_of_the_listener, another_worker_takes_the_ticket,
          keys_that_rotated_are_good_for_a_ticket_s_life, resuming_renews_the_ticket,
          without_tickets_there_is_no_resumption, as_many_tickets_as_configured,
          a_reload_of_the_same_keeps_sessions, a_listener_takes_no_other_listener_s_tickets,
          a_session_that_is_none_is_passed_over, a_ticket_that_was_changed_is_not_taken,
          a_session_needs_room)
