/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client and a server, from before the handshake or from after it, that write, update keys, end
 * and run out of packets as the input says, over a transport that cuts where it likes, and changes
 * and adds bytes. The model: what one end reads is a prefix of what the other wrote, whatever the
 * transport did; and all of it, with no failure, where it did nothing but cut.
 */
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/heap.h"
#include "support/pki.h"
#include "tls/conn.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define OPS_MAX   200u
#define STEPS_MAX 2000u

struct end {
    struct heap heap;
    struct heap_pool pool;
    struct counters counters;
    struct tls tls;
    struct tls_conn conn;
    uint32_t written;
    uint32_t read;
    bool transport_end;
};

static struct tls_context *server_context;
static struct tls_context *client_context;
static struct end client;
static struct end server;
static bool tampered;
static const tick_t now = 7 * TICK_SEC;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const h2[] = {"h2"};
    (void)argc;
    (void)argv;
    struct pki p = pki_make(PKI_P256, "fuzz", "DNS:example.com", NULL, -1, 100);
    struct tls_identity id = {.name = "fuzz",
                              .chain = p.cert,
                              .chain_len = strlen(p.cert),
                              .key = p.key,
                              .key_len = strlen(p.key)};
    struct tls_config config = {.identity = &id,
                                .n_identities = 1,
                                .tickets = 1,
                                .ticket_lifetime = 3600 * TICK_SEC,
                                .alpn = h2,
                                .n_alpn = 1};
    char error[128];
    server_context = tls_context_create(&config, error, sizeof(error));
    client_context = tls_context_create_client(p.cert, strlen(p.cert), h2, 1);
    require(server_context && client_context);
    pki_free(&p);
    return 0;
}

/* Byte `at` of what e writes. */
static uint8_t content(const struct end *e, uint32_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) + (e == &client ? 5 : 9));
}

static struct end *other(const struct end *e)
{
    return e == &client ? &server : &client;
}

static void end_init(struct end *e)
{
    static const uint8_t seed[32] = {1};
    memset(e, 0, sizeof(*e));
    heap_init(&e->heap);
    heap_pool_init(&e->pool, 64, 1500);
    require(tls_init(&e->tls, &e->pool.pool, &e->counters, seed, 3600 * TICK_SEC, now));
}

static void end_fini(struct end *e)
{
    tls_conn_fini(&e->conn);
    tls_fini(&e->tls);
    require(e->heap.blocks == 0);
}

static bool usable(const struct end *e)
{
    return (e->conn.flags & (TLS_CONN_OPEN | TLS_CONN_FAILED | TLS_CONN_OUT_END)) == TLS_CONN_OPEN;
}

static void check_content(struct end *e, struct pkt *plain)
{
    require(pkt_ok(plain) && plain->total > 0 && plain->total <= TLS_RECORD_MAX);
    pkt_for_each (v, plain) {
        for (uint32_t i = 0; i < v->len; i++)
            require(v->data[i] == content(other(e), e->read++));
    }
    require(e->read <= other(e)->written);
    pkt_free(plain);
}

static void read_all(struct end *e)
{
    for (unsigned n = 0; tls_readable(&e->conn); n++) {
        struct pkt *plain;
        require(n < STEPS_MAX);
        enum tls_result r = tls_read(&e->conn, &plain, now);
        require((r == TLS_DATA) == (plain != NULL) && r != TLS_AGAIN);
        require(r != TLS_ERROR || tampered);
        if (plain)
            check_content(e, plain);
        if (r == TLS_STARVED)
            break;
    }
}

static void write_some(struct end *e, uint32_t len)
{
    static uint8_t bytes[TLS_RECORD_MAX];
    if (!usable(e) || len == 0 || len > sizeof(bytes))
        return;
    for (uint32_t i = 0; i < len; i++)
        bytes[i] = content(e, e->written + i);
    if (tls_write(&e->conn, bytes, len, now))
        e->written += len;
}

/* What e has to send reaches the other end in pieces; `change`: with one byte changed. */
static void move(struct end *e, struct reader *in, bool change)
{
    struct pkt *out = tls_take(&e->conn);
    struct end *to = other(e);
    uint32_t piece = 1 + (uint32_t)(reader_u8(in) << (reader_u8(in) & 7));
    if (!out)
        return;
    require(pkt_ok(out));
    uint8_t *bytes = malloc(out->total);
    pkt_copy_out(out, 0, bytes, out->total);
    if (change) {
        bytes[reader_u16(in) % out->total] ^= (uint8_t)(reader_u8(in) | 1);
        tampered = true;
    }
    for (uint32_t at = 0; at < out->total && !to->transport_end; at += piece) {
        uint32_t n = out->total - at < piece ? out->total - at : piece;
        tls_input(&to->conn, heap_pkt(&to->pool, bytes + at, n, n / 3));
        if (n % 2)
            read_all(to);
    }
    free(bytes);
    pkt_free(out);
    read_all(to);
}

static void feed(struct end *e, struct reader *in)
{
    uint8_t bytes[64];
    size_t n = 1 + reader_u8(in) % sizeof(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = reader_u8(in);
    tampered = true;
    if (!e->transport_end)
        tls_input(&e->conn, heap_pkt(&e->pool, bytes, n, 0));
    read_all(e);
}

/* Packets are short while it reads and writes. */
static void starve(struct end *e, struct reader *in)
{
    e->pool.limit = e->pool.held + reader_u8(in) % 12;
    read_all(e);
    write_some(e, reader_u16(in));
    e->pool.limit = SIZE_MAX;
    read_all(e);
}

static void end_transport(struct end *e)
{
    e->transport_end = true;
    tls_input_end(&e->conn);
    read_all(e);
}

static void act(struct reader *in)
{
    uint8_t what = reader_u8(in);
    struct end *e = what & 0x80 ? &server : &client;
    switch (what & 15) {
    case 0: move(e, in, true); break;
    case 1: feed(e, in); break;
    case 2: starve(e, in); break;
    case 3: require(tls_end(&e->conn, now)); break;
    case 4: end_transport(e); break;
    case 5:
        if (usable(e))
            SSL_key_update(e->conn.ssl,
                           what & 16 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
        break;
    case 6:
    case 7:
    case 8: write_some(e, reader_u16(in)); break;
    default: move(e, in, false); break;
    }
}

/* Until neither has anything to say. */
static void settle(void)
{
    struct reader nothing = reader_of("\xff\x07", 2);
    for (unsigned n = 0; n < 20; n++) {
        read_all(&client);
        read_all(&server);
        struct reader whole = nothing;
        move(&client, &whole, false);
        whole = nothing;
        move(&server, &whole, false);
    }
}

static void check_whole(const struct end *e)
{
    if (!e->transport_end && !(e->conn.flags & TLS_CONN_FAILED))
        require(e->read == other(e)->written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader in = reader_of(data, size);
    uint8_t how = reader_u8(&in);
    tampered = false;
    end_init(&client);
    end_init(&server);
    require(tls_connect(&client.conn, &client.tls, client_context, "example.com", NULL, 0, now));
    require(tls_accept(&server.conn, &server.tls, server_context, now));
    if (how & 1)
        SSL_set_max_proto_version(client.conn.ssl, TLS1_2_VERSION);
    if (how & 4)
        SSL_set_cipher_list(client.conn.ssl, "ECDHE+CHACHA20");
    if (how & 2)
        settle();
    for (unsigned n = 0; n < OPS_MAX && reader_left(&in) > 0; n++)
        act(&in);
    settle();
    if (!tampered) {
        check_whole(&client);
        check_whole(&server);
    }
    end_fini(&client);
    end_fini(&server);
    require(client.pool.held == 0 && server.pool.held == 0);
    return 0;
}
