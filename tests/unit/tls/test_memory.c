/* SPDX-License-Identifier: BSD-3-Clause */
#include <openssl/crypto.h>
#include <string.h>

#include "pair.h"

/*
 * OpenSSL without memory: each of its allocations fails once, in turn, and what we make of it is a
 * connection that fails or one that goes on, and no loss of bytes or memory.
 */

static const char *const h2[] = {"h2"};

static struct pair pair;
static struct pki ca;
static struct pki ec;
static struct tls_identity id;
static struct tls_config config;
static struct tls_context *client;

static bool counting;  /* allocations count and may fail now */
static unsigned nth;   /* of them, which fails; 0: none */
static unsigned count; /* so far */

static bool fails(void)
{
    return counting && ++count == nth;
}

static void *test_malloc(size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return fails() ? NULL : malloc(n);
}

static void *test_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file;
    (void)line;
    return fails() ? NULL : realloc(p, n);
}

static void test_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    free(p);
}

/* Before OpenSSL asks for memory the first time. */
__attribute__((constructor)) static void take_over(void)
{
    CRYPTO_set_mem_functions(test_malloc, test_realloc, test_free);
}

static void setup(void)
{
    counting = false;
    nth = 0;
    pair_init(&pair);
    ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
    ec = pki_make(PKI_P256, "ec", "DNS:example.com,DNS:*.example.com", &ca, -1, 10);
    id = pair_identity(&ec);
    config = (struct tls_config){.identity = &id,
                                 .n_identities = 1,
                                 .tickets = 1,
                                 .ticket_lifetime = 3600 * TICK_SEC,
                                 .client_auth = TLS_CLIENT_AUTH_OPTIONAL,
                                 .client_ca = ca.cert,
                                 .client_ca_len = strlen(ca.cert),
                                 .alpn = h2,
                                 .n_alpn = 1};
    client = pair_client(&ca);
}

static void teardown(void)
{
    pair_fini(&pair);
    tls_context_release(client);
    pki_free(&ca);
    pki_free(&ec);
}

/* Only what the server does counts. */
static void serve(void)
{
    counting = true;
    pair_read(&pair, &pair.server);
    counting = false;
}

static void converse(void)
{
    for (unsigned turn = 0; turn < 4; turn++) {
        pair_read(&pair, &pair.client);
        if (turn == 2 && pair.client.conn.flags & TLS_CONN_OPEN &&
            !(pair.client.conn.flags & TLS_CONN_FAILED))
            pair_write(&pair, &pair.client, "request", 7);
        pair_move(&pair, &pair.client, &pair.server);
        serve();
        pair_move(&pair, &pair.server, &pair.client);
    }
}

static void answer(void)
{
    counting = true;
    pair_write(&pair, &pair.server, "answer", 6);
    ck_assert(tls_end(&pair.server.conn, pair.now));
    counting = false;
    pair_run(&pair);
}

static void connect_once(struct tls_context *server)
{
    ck_assert(
        tls_connect(&pair.client.conn, &pair.client.tls, client, "example.com", NULL, 0, pair.now));
    pair.client.lives = true;
    count = 0;
    counting = true;
    pair.server.lives = tls_accept(&pair.server.conn, &pair.server.tls, server, pair.now);
    counting = false;
    if (pair.server.lives) {
        converse();
        bool open = (pair.server.conn.flags & (TLS_CONN_OPEN | TLS_CONN_FAILED)) == TLS_CONN_OPEN;
        ck_assert(open || pair.server.last == TLS_ERROR || pair.server.last == TLS_PROGRESS);
        if (open)
            answer();
        ck_assert(pair.server.got_len == 0 || pair.server.got_len == 7);
        ck_assert(pair.client.got_len == 0 || pair.client.got_len == 6);
    }
}

START_TEST(a_connection_survives_each_failure)
{
    struct tls_context *server = pair_server(&config);
    unsigned whole = 0;
    for (nth = 1; nth == 1 || count >= nth - 1; nth++) {
        connect_once(server);
        whole += pair.client.got_len == 6 && pair.server.got_len == 7;
        pair_close(&pair);
    }
    ck_assert_uint_gt(nth, 300);
    ck_assert_uint_gt(whole, 0);
    nth = 0;
    connect_once(server);
    ck_assert_uint_eq(pair.client.got_len, 6); /* nothing of it stays */
    pair_close(&pair);
    tls_context_release(server);
}
END_TEST

START_TEST(a_context_is_made_or_says_why_not)
{
    char error[256];
    for (nth = 1; nth == 1 || count >= nth - 1; nth += nth < 200 ? 1 : 37) {
        error[0] = 0;
        count = 0;
        counting = true;
        struct tls_context *c = tls_context_create(&config, error, sizeof(error));
        counting = false;
        ck_assert(c || error[0] != 0);
        tls_context_release(c);
    }
    ck_assert_uint_gt(nth, 300);
}
END_TEST

UNIT_MAIN("tls/memory", setup, teardown, a_connection_survives_each_failure,
          a_context_is_made_or_says_why_not)
