/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/conn.h"

#include <string.h>

#include "pair.h"

static struct pair pair;
static struct pki ca;
static struct pki ec;
static struct tls_context *server;
static struct tls_context *client;
static const char *const h2[] = {"h2"};

static struct tls_identity identity_of(const struct pki *p)
{
    return (struct tls_identity){.name = "test",
                                 .chain = p->cert,
                                 .chain_len = strlen(p->cert),
                                 .key = p->key,
                                 .key_len = strlen(p->key)};
}

static struct tls_context *server_of(const struct tls_config *config)
{
    char error[256] = "";
    struct tls_context *c = tls_context_create(config, error, sizeof(error));
    ck_assert_msg(c, "%s", error);
    return c;
}

static void setup(void)
{
    pair_init(&pair);
    ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
    ec = pki_make(PKI_P256, "example", "DNS:example.com,DNS:*.example.com", &ca, -1, 10);
    struct tls_identity id = identity_of(&ec);
    struct tls_config config = {.identity = &id,
                                .n_identities = 1,
                                .tickets = 2,
                                .ticket_lifetime = 3600 * TICK_SEC,
                                .alpn = h2,
                                .n_alpn = 1};
    server = server_of(&config);
    client = tls_context_create_client(ca.cert, strlen(ca.cert), h2, 1);
    ck_assert(client);
}

static void teardown(void)
{
    pair_fini(&pair);
    tls_context_release(server);
    tls_context_release(client);
    pki_free(&ca);
    pki_free(&ec);
}

static void open_pair(void)
{
    pair_begin(&pair, client, server, "example.com", NULL, 0);
    pair_run(&pair);
    ck_assert(pair.client.conn.flags & TLS_CONN_OPEN);
    ck_assert(pair.server.conn.flags & TLS_CONN_OPEN);
}

START_TEST(opens_and_carries_both_ways)
{
    open_pair();
    ck_assert_str_eq(tls_version_name(&pair.server.conn), "TLSv1.3");
    ck_assert_str_eq(tls_server_name(&pair.server.conn), "example.com");
    pair_write(&pair, &pair.client, "hello", 5);
    pair_write(&pair, &pair.server, "good day", 8);
    pair_run(&pair);
    pair_expect(&pair.server, "hello", 5);
    pair_expect(&pair.client, "good day", 8);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ACCEPTED), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FULL), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS), 2);
}
END_TEST

START_TEST(carries_a_whole_record)
{
    static uint8_t bytes[TLS_RECORD_MAX];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    open_pair();
    pair_write(&pair, &pair.server, bytes, sizeof(bytes));
    pair_write(&pair, &pair.client, bytes, sizeof(bytes));
    pair_run(&pair);
    ck_assert_uint_eq(pair.client.records, 1);
    ck_assert_uint_eq(pair.server.records, 1);
    pair_expect(&pair.client, bytes, sizeof(bytes));
    pair_expect(&pair.server, bytes, sizeof(bytes));
}
END_TEST

UNIT_MAIN("tls/conn", setup, teardown, opens_and_carries_both_ways, carries_a_whole_record)
