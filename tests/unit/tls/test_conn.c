/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/conn.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <string.h>

#include "pair.h"

#define UNEXPECTED_MESSAGE 10
#define BAD_RECORD_MAC     20

static struct pair pair;
static struct pki ca;
static struct pki ec;
static struct tls_identity id;
static struct tls_context *server;
static struct tls_context *client;
static uint8_t bytes[TLS_RECORD_MAX];
static const char *const h2[] = {"h2"};

static void setup(void)
{
    pair_init(&pair);
    ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
    ec = pki_make(PKI_P256, "ec", "DNS:example.com", &ca, -1, 10);
    id = pair_identity(&ec);
    struct tls_config config = {.identity = &id,
                                .n_identities = 1,
                                .tickets = 2,
                                .ticket_lifetime = 3600 * TICK_SEC,
                                .alpn = h2,
                                .n_alpn = 1};
    server = pair_server(&config);
    client = pair_client(&ca);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8));
}

static void teardown(void)
{
    pair_fini(&pair);
    tls_context_release(server);
    tls_context_release(client);
    pki_free(&ca);
    pki_free(&ec);
}

static SSL *client_ssl(void)
{
    return pair.client.conn.ssl;
}

static void begin(void)
{
    pair_begin(&pair, client, server, "example.com", NULL, 0);
}

static void open_pair(void)
{
    begin();
    pair_run(&pair);
    pair_expect_open(&pair);
}

static void open_tls12(void)
{
    begin();
    SSL_set_max_proto_version(client_ssl(), TLS1_2_VERSION);
    pair_run(&pair);
    pair_expect_open(&pair);
}

/* ---- content ---- */

START_TEST(opens_and_carries_both_ways)
{
    open_pair();
    pair_write(&pair, &pair.client, "hello", 5);
    pair_write(&pair, &pair.server, "good day", 8);
    pair_run(&pair);
    pair_expect(&pair.server, "hello", 5);
    pair_expect(&pair.client, "good day", 8);
    ck_assert_int_eq(pair.server.last, TLS_DATA);
    ck_assert(!tls_readable(&pair.server.conn));
}
END_TEST

START_TEST(counts_what_it_does)
{
    open_pair();
    pair_write(&pair, &pair.client, bytes, 5);
    pair_write(&pair, &pair.client, bytes, 6);
    pair_write(&pair, &pair.server, bytes, 1000);
    pair_run(&pair);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ACCEPTED), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FULL), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_RESUMED), 0);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FAILED), 0);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TICKETS), 2);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_RX_RECORDS), 2);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_RX_BYTES), 11);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TX_RECORDS), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TX_BYTES), 1000);
    ck_assert_uint_eq(pair_count(&pair.client, COUNTER_TLS_ACCEPTED), 0);
    ck_assert_uint_eq(pair_count(&pair.client, COUNTER_TLS_ALERTS_TX), 0);
}
END_TEST

static void carry_a_whole_record(void)
{
    pair_write(&pair, &pair.server, bytes, sizeof(bytes));
    pair_write(&pair, &pair.client, bytes, sizeof(bytes));
    pair_run(&pair);
    ck_assert_uint_eq(pair.client.records, 1);
    ck_assert_uint_eq(pair.server.records, 1);
    pair_expect(&pair.client, bytes, sizeof(bytes));
    pair_expect(&pair.server, bytes, sizeof(bytes));
}

static bool has_raw_key(EVP_PKEY *key, int (*get)(const EVP_PKEY *, unsigned char *, size_t *))
{
    uint8_t raw[4096];
    size_t len = sizeof(raw);
    bool has = get(key, raw, &len) == 1;
    EVP_PKEY_free(key);
    ERR_clear_error();
    return has;
}

/* How many keys of the exchange OpenSSL still shows, with nothing in them. */
static unsigned empty_keys(SSL *ssl)
{
    unsigned n = 0;
    EVP_PKEY *key;
    if (SSL_get_tmp_key(ssl, &key)) {
        ck_assert(!has_raw_key(key, EVP_PKEY_get_raw_private_key));
        n++;
    }
    if (SSL_get_peer_tmp_key(ssl, &key)) {
        ck_assert(!has_raw_key(key, EVP_PKEY_get_raw_public_key));
        n++;
    }
    return n;
}

static bool open_with_group(const char *group)
{
    begin();
    if (SSL_set1_groups_list(client_ssl(), group) != 1)
        return false;
    pair_run(&pair);
    pair_expect_open(&pair);
    return true;
}

/* Nothing is left of the keys of the exchange, at either end. */
START_TEST(ephemeral_keys_are_gone_once_it_is_open)
{
    ck_assert(open_with_group("X25519"));
    ck_assert_str_eq(tls_group_name(&pair.server.conn), "x25519");
    ck_assert_uint_eq(empty_keys(client_ssl()), 2);
    ck_assert_uint_eq(empty_keys(pair.server.conn.ssl), 2);
}
END_TEST

/* The group that OpenSSL prefers from 3.5 on. Its server has no key of its own. */
START_TEST(so_are_those_of_a_hybrid_group)
{
    if (!open_with_group("X25519MLKEM768"))
        return;
    ck_assert_str_eq(tls_group_name(&pair.server.conn), "X25519MLKEM768");
    ck_assert_uint_eq(empty_keys(client_ssl()), 1);
    ck_assert_uint_eq(empty_keys(pair.server.conn.ssl), 1);
}
END_TEST

START_TEST(carries_a_whole_record)
{
    open_pair();
    carry_a_whole_record();
    /* 5 of header, 1 of type, 16 of tag: no more than one record. */
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TX_RECORDS), 1);
}
END_TEST

START_TEST(carries_a_whole_record_in_1_2)
{
    open_tls12();
    carry_a_whole_record();
}
END_TEST

/* What a cipher adds to the content differs; a read has room for all of it. */
START_TEST(carries_any_size_by_any_cipher)
{
    static const struct {
        int version;
        const char *cipher;
    } cases[] = {{TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256"},
                 {TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305"},
                 {TLS1_3_VERSION, "TLS_AES_256_GCM_SHA384"},
                 {TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        SSL_set_max_proto_version(client_ssl(), cases[i].version);
        if (cases[i].version == TLS1_2_VERSION)
            SSL_set_cipher_list(client_ssl(), cases[i].cipher);
        else
            SSL_set_ciphersuites(client_ssl(), cases[i].cipher);
        pair_run(&pair);
        pair_expect_open(&pair);
        ck_assert_str_eq(tls_cipher_name(&pair.server.conn), cases[i].cipher);
        for (unsigned len = 1; len <= TLS_RECORD_MAX;
             len += len < 20 || len % 2048 > 2040 ? 1 : 7) {
            pair_write(&pair, &pair.client, bytes, len);
            pair_move(&pair, &pair.client, &pair.server);
            pair_read(&pair, &pair.server);
            pair_expect(&pair.server, bytes, len);
        }
        pair.server.records = 0;
        carry_a_whole_record();
        pair_close(&pair);
    }
}
END_TEST

START_TEST(a_write_is_one_record_and_fills_packets)
{
    open_pair();
    pair_write(&pair, &pair.server, bytes, sizeof(bytes));
    pair_write(&pair, &pair.server, bytes, 10);
    struct pkt *out = tls_take(&pair.server.conn);
    ck_assert_uint_eq(out->total, sizeof(bytes) + 22 + 10 + 22);
    ck_assert_uint_eq(pkt_cost(out), 9 * PKT_COST);
    pkt_for_each (v, out)
        ck_assert(!v->next || v->tailroom == 0);
    pkt_free(out);
    ck_assert_uint_eq(pair.server.pool.held, 0); /* nothing is kept for the next */
}
END_TEST

/* One record a call, whatever has come. */
START_TEST(a_read_is_one_record)
{
    struct pkt *plain;
    pair.view = 0;
    open_pair();
    for (unsigned i = 1; i <= 3; i++)
        pair_write(&pair, &pair.client, bytes, i * 3000);
    pair_move(&pair, &pair.client, &pair.server);
    for (unsigned i = 1; i <= 3; i++) {
        ck_assert(tls_readable(&pair.server.conn));
        ck_assert_int_eq(tls_read(&pair.server.conn, &plain, pair.now), TLS_DATA);
        ck_assert_uint_eq(plain->total, i * 3000);
        ck_assert(pkt_ok(plain));
        pkt_free(plain);
    }
    ck_assert(!tls_readable(&pair.server.conn));
    ck_assert_int_eq(tls_read(&pair.server.conn, &plain, pair.now), TLS_AGAIN);
}
END_TEST

/* Of a record that has come in part nothing is in OpenSSL, which would keep a buffer for it. */
START_TEST(waits_for_the_whole_of_a_record)
{
    struct pkt *plain;
    open_pair();
    pair_write(&pair, &pair.client, bytes, 100);
    struct pkt *out = tls_take(&pair.client.conn);
    uint8_t record[122];
    ck_assert_uint_eq(out->total, sizeof(record));
    pkt_copy_out(out, 0, record, sizeof(record));
    pkt_free(out);
    for (size_t i = 0; i < sizeof(record); i++) {
        ck_assert(!tls_readable(&pair.server.conn));
        ck_assert_int_eq(tls_read(&pair.server.conn, &plain, pair.now), TLS_AGAIN);
        ck_assert_uint_eq(tls_cost(&pair.server.conn), i * PKT_COST);
        pair_feed(&pair.server, record + i, 1);
    }
    pair_read(&pair, &pair.server);
    pair_expect(&pair.server, bytes, 100);
    ck_assert_uint_eq(tls_cost(&pair.server.conn), 0);
}
END_TEST

START_TEST(survives_any_cut_and_any_size)
{
    size_t up = 0;
    size_t down = 0;
    uint8_t *sent = malloc(2 * 400 * sizeof(bytes));
    uint8_t *answered = sent + 400 * sizeof(bytes);
    open_pair();
    for (unsigned i = 0; i < 400; i++) {
        size_t n = 1 + rng_below(&pair.rng, i % 9 ? 3000 : sizeof(bytes));
        size_t at = rng_below(&pair.rng, sizeof(bytes) - n + 1);
        pair.view = (uint32_t)rng_below(&pair.rng, i % 5 ? 2000 : 9);
        if (i % 3) {
            pair_write(&pair, &pair.client, bytes + at, n);
            memcpy(sent + up, bytes + at, n);
            up += n;
        } else {
            pair_write(&pair, &pair.server, bytes + at, n);
            memcpy(answered + down, bytes + at, n);
            down += n;
        }
        if (rng_below(&pair.rng, 2))
            pair_move(&pair, &pair.client, &pair.server);
        if (rng_below(&pair.rng, 3) == 0)
            pair_run(&pair);
        if (rng_below(&pair.rng, 10) == 0)
            SSL_key_update(client_ssl(), SSL_KEY_UPDATE_REQUESTED);
    }
    pair_run(&pair);
    pair_expect(&pair.server, sent, up);
    pair_expect(&pair.client, answered, down);
    free(sent);
}
END_TEST

START_TEST(records_are_small_at_first_and_after_silence)
{
    struct tls_conn *c = &pair.server.conn;
    open_pair();
    ck_assert_uint_eq(tls_record_size(c, pair.now), 1350);
    for (unsigned sent = 0; sent < 65536; sent += 1024) {
        ck_assert_uint_eq(tls_record_size(c, pair.now), 1350);
        pair_write(&pair, &pair.server, bytes, 1024);
    }
    ck_assert_uint_eq(tls_record_size(c, pair.now), TLS_RECORD_MAX);
    pair.now += TICK_SEC;
    ck_assert_uint_eq(tls_record_size(c, pair.now), TLS_RECORD_MAX);
    pair.now++;
    ck_assert_uint_eq(tls_record_size(c, pair.now), 1350);
    pair_write(&pair, &pair.server, bytes, 1024);
    ck_assert_uint_eq(tls_record_size(c, pair.now), 1350);
}
END_TEST

/* ---- ends ---- */

START_TEST(close_notify_ends_one_direction)
{
    open_pair();
    pair_write(&pair, &pair.server, "last", 4);
    ck_assert(tls_end(&pair.server.conn, pair.now));
    ck_assert(tls_end(&pair.server.conn, pair.now));
    pair_run(&pair);
    pair_expect(&pair.client, "last", 4);
    ck_assert_int_eq(pair.client.last, TLS_END);
    ck_assert(pair.client.conn.flags & TLS_CONN_IN_END);
    ck_assert(!(pair.client.conn.flags & TLS_CONN_TRUNCATED));
    /* The other direction goes on (RFC 8446 6.1). */
    pair_write(&pair, &pair.client, "not yet", 7);
    pair_run(&pair);
    pair_expect(&pair.server, "not yet", 7);
    ck_assert(tls_end(&pair.client.conn, pair.now));
    pair_run(&pair);
    ck_assert_int_eq(pair.server.last, TLS_END);
    tls_input_end(&pair.server.conn);
    struct pkt *plain;
    ck_assert_int_eq(tls_read(&pair.server.conn, &plain, pair.now), TLS_END);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TRUNCATED), 0);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ALERTS_RX), 0);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ALERTS_TX), 0);
}
END_TEST

START_TEST(close_notify_in_1_2)
{
    open_tls12();
    ck_assert(tls_end(&pair.client.conn, pair.now));
    pair_run(&pair);
    ck_assert_int_eq(pair.server.last, TLS_END);
    ck_assert(tls_end(&pair.server.conn, pair.now));
    pair_run(&pair);
    ck_assert_int_eq(pair.client.last, TLS_END);
}
END_TEST

START_TEST(nothing_is_read_behind_close_notify)
{
    open_pair();
    ck_assert(tls_end(&pair.client.conn, pair.now));
    pair_run(&pair);
    pair_feed(&pair.server, bytes, 500);
    ck_assert_uint_eq(tls_cost(&pair.server.conn), 0);
    ck_assert(!tls_readable(&pair.server.conn));
}
END_TEST

START_TEST(an_end_without_close_notify_is_told_and_counted)
{
    struct pkt *plain;
    open_pair();
    pair_write(&pair, &pair.client, bytes, 100);
    pair_move(&pair, &pair.client, &pair.server);
    pair_feed(&pair.server, "\x17\x03\x03\x00\x20half", 9);
    tls_input_end(&pair.server.conn);
    pair_read(&pair, &pair.server);
    pair_expect(&pair.server, bytes, 100); /* what came whole is told before */
    ck_assert_int_eq(pair.server.last, TLS_END);
    ck_assert(pair.server.conn.flags & TLS_CONN_TRUNCATED);
    ck_assert(!(pair.server.conn.flags & TLS_CONN_IN_END));
    ck_assert_int_eq(tls_read(&pair.server.conn, &plain, pair.now), TLS_END);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TRUNCATED), 1);
}
END_TEST

START_TEST(an_end_amid_the_handshake_is_a_failure_of_it)
{
    begin();
    pair_read(&pair, &pair.client);
    pair_move(&pair, &pair.client, &pair.server);
    pair_read(&pair, &pair.server);
    tls_input_end(&pair.server.conn);
    pair_read(&pair, &pair.server);
    ck_assert_int_eq(pair.server.last, TLS_END);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FAILED), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_TRUNCATED), 0);
}
END_TEST

START_TEST(an_end_before_the_handshake_is_nothing)
{
    begin();
    pair_feed(&pair.server, "\x16\x03", 2);
    tls_input_end(&pair.server.conn);
    pair_read(&pair, &pair.server);
    ck_assert_int_eq(pair.server.last, TLS_END);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ACCEPTED), 0);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FAILED), 0);
}
END_TEST

START_TEST(close_notify_amid_the_handshake_is_a_failure_of_it)
{
    begin();
    pair_read(&pair, &pair.client);
    pair_move(&pair, &pair.client, &pair.server);
    pair_read(&pair, &pair.server);
    pair_feed(&pair.server, "\x15\x03\x03\x00\x02\x01\x00", 7);
    pair_read(&pair, &pair.server);
    ck_assert(pair.server.last == TLS_END || pair.server.last == TLS_ERROR);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FAILED), 1);
}
END_TEST

START_TEST(ending_before_it_is_open_says_nothing)
{
    begin();
    ck_assert(tls_end(&pair.server.conn, pair.now));
    ck_assert_ptr_null(tls_take(&pair.server.conn));
}
END_TEST

/* ---- what is not TLS ---- */

static void refused_bytes(const void *what, size_t len)
{
    struct pkt *plain;
    begin();
    pair_feed(&pair.server, what, len);
    pair_read(&pair, &pair.server);
    ck_assert_int_eq(pair.server.last, TLS_ERROR);
    ck_assert_int_eq(tls_read(&pair.server.conn, &plain, pair.now), TLS_ERROR);
    ck_assert(pair.server.conn.flags & TLS_CONN_FAILED);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FAILED), 1);
    /* What comes after is not kept. */
    pair_feed(&pair.server, bytes, 1000);
    ck_assert_uint_eq(pair.server.conn.in == NULL, 1);
    pair_close(&pair);
    pair.server.counters = (struct counters){0};
}

START_TEST(refuses_what_is_not_tls)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n";
    static const char prior[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    /* RFC 5246 E.2: version 3.3 in the hello of SSL 2. */
    static const uint8_t ssl2[] = {0x80, 0x2b, 1,  3,  3,    0,  0x12, 0,  0, 0, 0x10, 0,
                                   0,    0x35, 0,  0,  0x2f, 0,  0,    10, 1, 0, 0x80, 0,
                                   0,    4,    1,  2,  3,    4,  5,    6,  7, 8, 9,    10,
                                   11,   12,   13, 14, 15,   16, 17,   18, 19};
    static const uint8_t too_long[] = {22, 3, 1, 0x50, 0, 1, 0, 0, 0};
    static const uint8_t not_a_hello[] = {22, 3, 1, 0, 4, 11, 0, 0, 0};
    static const uint8_t content[] = {23, 3, 3, 0, 3, 1, 2, 3};
    refused_bytes(http, sizeof(http) - 1);
    refused_bytes(prior, sizeof(prior) - 1);
    refused_bytes(ssl2, sizeof(ssl2));
    refused_bytes(too_long, sizeof(too_long));
    refused_bytes(not_a_hello, sizeof(not_a_hello));
    refused_bytes(content, sizeof(content));
}
END_TEST

/* A hello of 600 bytes, a byte a record. */
START_TEST(a_handshake_takes_a_bounded_number_of_records)
{
    begin();
    pair_feed(&pair.server, "\x16\x03\x01\x00\x04\x01\x00\x02\x54", 9);
    unsigned n = 1;
    for (; n < 1000 && !(pair.server.conn.flags & TLS_CONN_FAILED); n++) {
        pair_read(&pair, &pair.server);
        pair_feed(&pair.server, "\x16\x03\x01\x00\x01\x03", 6);
    }
    ck_assert_uint_eq(n, 258);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FAILED), 1);
}
END_TEST

/* What is behind it is read with it: in 1.3 it means nothing (RFC 8446 D.4). */
START_TEST(change_cipher_spec_is_no_step)
{
    struct pkt *plain;
    begin();
    pair_read(&pair, &pair.client);
    ck_assert(pair_move(&pair, &pair.client, &pair.server));
    pair_read(&pair, &pair.server);
    ck_assert(pair_move(&pair, &pair.server, &pair.client));
    pair_read(&pair, &pair.client);
    ck_assert(pair_move(&pair, &pair.client, &pair.server));
    ck_assert_uint_eq(pair.server.conn.in->data[0], SSL3_RT_CHANGE_CIPHER_SPEC);
    ck_assert_int_eq(tls_read(&pair.server.conn, &plain, pair.now), TLS_PROGRESS);
    ck_assert(pair.server.conn.flags & TLS_CONN_OPEN);
    pair_run(&pair);
    pair_expect_open(&pair);
}
END_TEST

START_TEST(survives_noise)
{
    for (unsigned i = 0; i < 200; i++) {
        uint8_t noise[300];
        size_t len = 1 + rng_below(&pair.rng, sizeof(noise));
        for (size_t k = 0; k < len; k++)
            noise[k] = (uint8_t)rng_u32(&pair.rng);
        if (i % 2) {
            memcpy(noise, "\x16\x03\x01\x00", 4);
            noise[5] = 1;
        }
        begin();
        pair_feed(&pair.server, noise, len);
        pair_read(&pair, &pair.server);
        tls_input_end(&pair.server.conn);
        pair_read(&pair, &pair.server);
        ck_assert(pair.server.last == TLS_ERROR || pair.server.last == TLS_END);
        pair_close(&pair);
    }
}
END_TEST

/* One bit of what the client sends is wrong, at any place of the conversation. */
START_TEST(a_wrong_bit_ends_it)
{
    for (unsigned i = 0; i < 150; i++) {
        begin();
        for (unsigned n = 0; n < 3; n++) {
            pair_read(&pair, &pair.client);
            if (n == 2 && pair.client.conn.flags & TLS_CONN_OPEN)
                pair_write(&pair, &pair.client, bytes, 200);
            struct pkt *out = tls_take(&pair.client.conn);
            if (out && n == i % 3)
                out->data[rng_below(&pair.rng, out->len)] ^= (uint8_t)(1 << i % 8);
            if (out)
                tls_input(&pair.server.conn, out);
            pair_read(&pair, &pair.server);
            pair_move(&pair, &pair.server, &pair.client);
        }
        pair_run(&pair);
        tls_input_end(&pair.server.conn);
        pair_read(&pair, &pair.server);
        ck_assert(pair.server.last == TLS_ERROR || pair.server.last == TLS_END);
        /* Never other content than what was sent. */
        ck_assert(pair.server.got_len == 0 || i % 3 != 2);
        pair_close(&pair);
    }
}
END_TEST

START_TEST(a_forged_record_ends_it)
{
    open_pair();
    pair_write(&pair, &pair.client, bytes, 100);
    struct pkt *out = tls_take(&pair.client.conn);
    uint8_t record[122];
    pkt_copy_out(out, 0, record, sizeof(record));
    pkt_free(out);
    record[60] ^= 1;
    pair_feed(&pair.server, record, sizeof(record));
    pair_run(&pair);
    ck_assert_int_eq(pair.server.last, TLS_ERROR);
    ck_assert_uint_eq(pair.server.conn.alert, BAD_RECORD_MAC);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ALERTS_TX), 1);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_FAILED), 0); /* no handshake did */
    ck_assert_uint_eq(pair.server.got_len, 0);
    ck_assert_int_eq(pair.client.last, TLS_ERROR);
    ck_assert_uint_eq(pair.client.conn.alert, BAD_RECORD_MAC);
    ck_assert_uint_eq(pair_count(&pair.client, COUNTER_TLS_ALERTS_RX), 1);
    ck_assert(tls_write(&pair.server.conn, bytes, 10, pair.now)); /* to no effect */
    ck_assert_ptr_null(tls_take(&pair.server.conn));
}
END_TEST

/* ---- messages behind the handshake ---- */

START_TEST(keys_are_updated_both_ways)
{
    open_pair();
    ck_assert(SSL_key_update(client_ssl(), SSL_KEY_UPDATE_REQUESTED));
    pair_write(&pair, &pair.client, "one", 3);
    pair_run(&pair);
    pair_expect(&pair.server, "one", 3);
    pair_write(&pair, &pair.server, "two", 3);
    pair_run(&pair);
    pair_expect(&pair.client, "two", 3);
    ck_assert(SSL_key_update(pair.server.conn.ssl, SSL_KEY_UPDATE_REQUESTED));
    pair_write(&pair, &pair.server, bytes, sizeof(bytes));
    pair_run(&pair);
    pair_expect(&pair.client, bytes, sizeof(bytes));
    pair_write(&pair, &pair.client, "three", 5);
    pair_run(&pair);
    pair_expect(&pair.server, "three", 5);
}
END_TEST

static void update_keys(void)
{
    SSL_key_update(client_ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    SSL_do_handshake(client_ssl());
    pair_move(&pair, &pair.client, &pair.server);
    pair_read(&pair, &pair.server);
}

/* Content makes up for them by its size, not by being there. */
START_TEST(a_flood_of_key_updates_ends_it)
{
    open_pair();
    for (unsigned i = 0; i < 32; i++)
        update_keys();
    pair_write(&pair, &pair.client, bytes, 1023);
    pair_write(&pair, &pair.client, bytes, 1025);
    pair_run(&pair);
    update_keys();
    update_keys();
    ck_assert_int_eq(pair.server.last, TLS_PROGRESS);
    pair_write(&pair, &pair.client, "x", 1);
    pair_run(&pair);
    update_keys();
    ck_assert_int_eq(pair.server.last, TLS_ERROR);
    ck_assert(pair.server.conn.flags & TLS_CONN_FAILED);
}
END_TEST

/* ---- records of our own making, in the client's name ---- */

static uint8_t secret[32]; /* its first of the connection (RFC 8446 7.1) */
static uint64_t made;      /* records with it */

static void on_key(const SSL *ssl, const char *line)
{
    (void)ssl;
    if (strncmp(line, "CLIENT_TRAFFIC_SECRET_0 ", 24) != 0)
        return;
    const char *hex = strrchr(line, ' ') + 1;
    for (unsigned i = 0; i < sizeof(secret); i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        secret[i] = (uint8_t)strtoul(two, NULL, 16);
    }
}

/* RFC 8446 7.1, of no more than one block and without context. */
static void expand(const char *label, uint8_t *out, uint8_t len)
{
    uint8_t info[32];
    uint8_t block[32];
    size_t n = strlen(label);
    info[0] = 0;
    info[1] = len;
    info[2] = (uint8_t)n;
    memcpy(info + 3, label, n);
    info[3 + n] = 0;
    info[4 + n] = 1;
    HMAC(EVP_sha256(), secret, sizeof(secret), info, 5 + n, block, NULL);
    memcpy(out, block, len);
}

static void open_for_forgery(void)
{
    begin();
    SSL_set_ciphersuites(client_ssl(), "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(client_ssl()), on_key);
    pair_run(&pair);
    pair_expect_open(&pair);
    made = 0;
}

static void make_record(uint8_t type, const void *content, uint8_t len)
{
    uint8_t key[16];
    uint8_t nonce[12];
    uint8_t record[300] = {23, 3, 3, 0, (uint8_t)(len + 17)};
    int n;
    expand("tls13 key", key, sizeof(key));
    expand("tls13 iv", nonce, sizeof(nonce));
    nonce[11] ^= (uint8_t)made++;
    EVP_CIPHER_CTX *e = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(e, EVP_aes_128_gcm(), NULL, key, nonce);
    EVP_EncryptUpdate(e, NULL, &n, record, 5);
    EVP_EncryptUpdate(e, record + 5, &n, content, len);
    EVP_EncryptUpdate(e, record + 5 + len, &n, &type, 1);
    EVP_EncryptFinal_ex(e, record + 6 + len, &n);
    EVP_CIPHER_CTX_ctrl(e, EVP_CTRL_AEAD_GET_TAG, 16, record + 6 + len);
    EVP_CIPHER_CTX_free(e);
    pair_feed(&pair.server, record, len + 22u);
    pair_read(&pair, &pair.server);
}

START_TEST(a_key_update_in_parts_is_refused)
{
    open_for_forgery();
    make_record(23, "hello", 5);
    pair_expect(&pair.server, "hello", 5);
    make_record(22, "\x18\0", 2); /* that part keeps nobody from writing */
    ck_assert_int_eq(pair.server.last, TLS_PROGRESS);
    pair_write(&pair, &pair.server, "hello", 5);
    make_record(22, "\0\1", 2);
    ck_assert_int_eq(pair.server.last, TLS_ERROR);
}
END_TEST

START_TEST(records_without_content_are_few)
{
    open_for_forgery();
    for (unsigned i = 0; i < 32; i++)
        make_record(23, "", 0);
    ck_assert_int_eq(pair.server.last, TLS_PROGRESS);
    make_record(23, "x", 1);
    pair_expect(&pair.server, "x", 1);
    for (unsigned i = 0; i < 33; i++)
        make_record(23, "", 0);
    ck_assert_int_eq(pair.server.last, TLS_ERROR);
}
END_TEST

START_TEST(a_client_s_other_messages_are_refused)
{
    static const struct {
        uint8_t type;
        const char *content;
        uint8_t len;
    } cases[] = {{22, "\x18\0\0\1\2", 5}, /* KeyUpdate of no kind */
                 {22, "\4\0\0\0", 4},     /* NewSessionTicket */
                 {22, "\1\0\0\0", 4},     /* ClientHello */
                 {22, "\x14\0\0\0", 4},   /* Finished */
                 {20, "\1", 1},           /* ChangeCipherSpec, encrypted */
                 {24, "\1\0\4ping", 7},   /* heartbeat */
                 {22, "", 0},
                 {0, "", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        open_for_forgery();
        make_record(cases[i].type, cases[i].content, cases[i].len);
        ck_assert_msg(pair.server.last == TLS_ERROR, "case %zu", i);
        ck_assert_uint_ne(pair.server.conn.alert, 0);
        pair_close(&pair);
    }
}
END_TEST

START_TEST(alerts_that_are_fatal_end_it)
{
    open_for_forgery();
    make_record(21, "\2\x50", 2); /* internal_error */
    ck_assert_int_eq(pair.server.last, TLS_ERROR);
    ck_assert_uint_eq(pair.server.conn.alert, 80);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ALERTS_RX), 1);
    ck_assert_ptr_null(tls_take(&pair.server.conn));
}
END_TEST

/* RFC 9113 9.2.1 */
START_TEST(there_is_no_renegotiation)
{
    open_tls12();
    SSL_clear_options(client_ssl(), SSL_OP_NO_RENEGOTIATION);
    ck_assert_int_eq(SSL_renegotiate(client_ssl()), 1);
    SSL_do_handshake(client_ssl());
    pair_move(&pair, &pair.client, &pair.server);
    pair_read(&pair, &pair.server);
    ck_assert(!SSL_in_init(pair.server.conn.ssl));
    pair_run(&pair);
    ck_assert(pair.client.conn.flags & TLS_CONN_FAILED);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ACCEPTED), 1);
}
END_TEST

/* ---- without packets ---- */

START_TEST(a_write_without_packets_does_nothing)
{
    open_pair();
    for (size_t limit = 0; limit < 9; limit++) {
        pair.server.pool.limit = limit;
        ck_assert(!tls_write(&pair.server.conn, bytes, sizeof(bytes), pair.now));
        ck_assert_ptr_null(pair.server.conn.out);
        ck_assert_uint_eq(pair.server.pool.held, 0);
    }
    pair.server.pool.limit = 9;
    pair_write(&pair, &pair.server, bytes, sizeof(bytes));
    pair_run(&pair);
    pair_expect(&pair.client, bytes, sizeof(bytes));
}
END_TEST

START_TEST(a_read_without_packets_changes_nothing)
{
    struct pkt *plain;
    open_pair();
    pair_write(&pair, &pair.server, bytes, sizeof(bytes));
    pair_move(&pair, &pair.server, &pair.client);
    size_t held = pair.client.pool.held;
    for (size_t more = 0; more < 8; more++) {
        pair.client.pool.limit = held + more;
        ck_assert(tls_readable(&pair.client.conn));
        ck_assert_int_eq(tls_read(&pair.client.conn, &plain, pair.now), TLS_STARVED);
        ck_assert_uint_eq(pair.client.pool.held, held);
    }
    pair.client.pool.limit = held + 8;
    ck_assert_int_eq(tls_read(&pair.client.conn, &plain, pair.now), TLS_DATA);
    ck_assert_uint_eq(plain->total, sizeof(bytes));
    pkt_free(plain);
}
END_TEST

/* The pool gives a packet now and then only; the handshake goes on where it stopped. */
START_TEST(a_handshake_survives_want_of_packets)
{
    unsigned starved = 0;
    begin();
    for (unsigned n = 0; n < 1000; n++) {
        struct pair_end *e = n % 2 ? &pair.client : &pair.server;
        struct pair_end *to = n % 2 ? &pair.server : &pair.client;
        e->pool.limit = e->pool.held + (n % 6 < 4 ? 0 : 1);
        pair_read(&pair, e);
        starved += e->last == TLS_STARVED;
        e->pool.limit = SIZE_MAX;
        pair_move(&pair, e, to);
    }
    ck_assert_uint_gt(starved, 2);
    pair_expect_open(&pair);
    pair_run(&pair);
    pair_write(&pair, &pair.client, bytes, 1000);
    pair_run(&pair);
    pair_expect(&pair.server, bytes, 1000);
}
END_TEST

START_TEST(an_end_without_packets_is_said_later)
{
    open_pair();
    pair.server.pool.limit = 0;
    ck_assert(!tls_end(&pair.server.conn, pair.now));
    ck_assert(!(pair.server.conn.flags & TLS_CONN_OUT_END));
    pair.server.pool.limit = 1;
    ck_assert(tls_end(&pair.server.conn, pair.now));
    pair_run(&pair);
    ck_assert_int_eq(pair.client.last, TLS_END);
}
END_TEST

/* ---- memory ---- */

START_TEST(an_idle_connection_holds_no_packet)
{
    open_pair();
    carry_a_whole_record();
    ck_assert_uint_eq(pair.server.pool.held, 0);
    ck_assert_uint_eq(tls_cost(&pair.server.conn), 0);
    ck_assert_uint_eq(pair.server.heap.blocks, 0);
    ck_assert_uint_le(sizeof(struct tls_conn), 128);
}
END_TEST

UNIT_MAIN("tls/conn", setup, teardown, opens_and_carries_both_ways, counts_what_it_does,
          ephemeral_keys_are_gone_once_it_is_open, so_are_those_of_a_hybrid_group,
          carries_a_whole_record, carries_a_whole_record_in_1_2, carries_any_size_by_any_cipher,
          a_write_is_one_record_and_fills_packets, a_read_is_one_record,
          waits_for_the_whole_of_a_record, survives_any_cut_and_any_size,
          records_are_small_at_first_and_after_silence, close_notify_ends_one_direction,
          close_notify_in_1_2, nothing_is_read_behind_close_notify,
          an_end_without_close_notify_is_told_and_counted,
          an_end_amid_the_handshake_is_a_failure_of_it, an_end_before_the_handshake_is_nothing,
          close_notify_amid_the_handshake_is_a_failure_of_it, ending_before_it_is_open_says_nothing,
          refuses_what_is_not_tls, a_handshake_takes_a_bounded_number_of_records,
          change_cipher_spec_is_no_step, survives_noise, a_wrong_bit_ends_it,
          a_forged_record_ends_it, keys_are_updated_both_ways, a_flood_of_key_updates_ends_it,
          a_key_update_in_parts_is_refused, records_without_content_are_few,
          a_client_s_other_messages_are_refused, alerts_that_are_fatal_end_it,
          there_is_no_renegotiation, a_write_without_packets_does_nothing,
          a_read_without_packets_changes_nothing, a_handshake_survives_want_of_packets,
          an_end_without_packets_is_said_later, an_idle_connection_holds_no_packet)
