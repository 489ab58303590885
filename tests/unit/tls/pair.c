/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <string.h>

#define STEPS_MAX 100000u

struct tls_identity pair_identity(const struct pki *p)
{
    return (struct tls_identity){.name = "test",
                                 .chain = p->cert,
                                 .chain_len = strlen(p->cert),
                                 .key = p->key,
                                 .key_len = strlen(p->key)};
}

struct tls_context *pair_server(const struct tls_config *config)
{
    char error[256] = "";
    struct tls_context *c = tls_context_create(config, error, sizeof(error));
    ck_assert_msg(c != NULL, "%s", error);
    return c;
}

struct tls_context *pair_client(const struct pki *ca)
{
    static const char *const h2[] = {"h2"};
    struct tls_context *c =
        tls_context_create_client(ca ? ca->cert : NULL, ca ? strlen(ca->cert) : 0, h2, 1);
    ck_assert_ptr_nonnull(c);
    return c;
}

static void end_init(struct pair_end *e, const uint8_t seed[32], tick_t now)
{
    *e = (struct pair_end){.lives = false};
    heap_init(&e->heap);
    heap_pool_init(&e->pool, 128, 2048);
    ck_assert(tls_init(&e->tls, &e->pool.pool, &e->counters, seed, 3600 * TICK_SEC, now));
}

void pair_init(struct pair *p)
{
    static const uint8_t seed[32] = "thirty-two bytes that are secret";
    *p = (struct pair){.view = 700, .now = 5 * TICK_SEC};
    rng_seed(&p->rng, 7);
    end_init(&p->client, seed, p->now);
    end_init(&p->server, seed, p->now);
}

static void end_close(struct pair_end *e)
{
    if (e->lives)
        tls_conn_fini(&e->conn);
    free(e->got);
    e->got = NULL;
    e->got_len = e->records = 0;
    e->lives = false;
    ck_assert_uint_eq(e->pool.held, 0);
    ck_assert_uint_eq(e->heap.blocks, 0);
}

void pair_close(struct pair *p)
{
    end_close(&p->client);
    end_close(&p->server);
}

void pair_fini(struct pair *p)
{
    pair_close(p);
    tls_fini(&p->client.tls);
    tls_fini(&p->server.tls);
}

void pair_begin(struct pair *p, struct tls_context *client, struct tls_context *server,
                const char *name, const uint8_t *session, size_t session_len)
{
    ck_assert(
        tls_connect(&p->client.conn, &p->client.tls, client, name, session, session_len, p->now));
    ck_assert(tls_accept(&p->server.conn, &p->server.tls, server, p->now));
    p->client.lives = p->server.lives = true;
    p->client.last = p->server.last = TLS_AGAIN;
}

/* The wire is free of the pools' limits. */
static void deliver(struct pair *p, struct pair_end *to, const uint8_t *bytes, size_t len)
{
    size_t limit = to->pool.limit;
    to->pool.limit = SIZE_MAX;
    while (len > 0) {
        size_t n = p->view ? 1 + rng_below(&p->rng, len < 20000 ? len : 20000) : len;
        size_t view = p->view ? 1 + rng_below(&p->rng, p->view) : 0;
        tls_input(&to->conn, heap_pkt(&to->pool, bytes, n, view));
        bytes += n;
        len -= n;
    }
    to->pool.limit = limit;
}

bool pair_move(struct pair *p, struct pair_end *from, struct pair_end *to)
{
    struct pkt *out = tls_take(&from->conn);
    if (!out)
        return false;
    ck_assert(pkt_ok(out));
    uint32_t len = out->total;
    uint8_t *bytes = malloc(len);
    pkt_copy_out(out, 0, bytes, len);
    pkt_free(out);
    from->sent += len;
    deliver(p, to, bytes, len);
    free(bytes);
    return true;
}

static void keep(struct pair_end *e, struct pkt *plain)
{
    ck_assert(pkt_ok(plain) && plain->total > 0 && plain->total <= TLS_RECORD_MAX);
    e->got = realloc(e->got, e->got_len + plain->total);
    pkt_copy_out(plain, 0, e->got + e->got_len, plain->total);
    e->got_len += plain->total;
    e->records++;
    pkt_free(plain);
}

void pair_read(struct pair *p, struct pair_end *e)
{
    for (unsigned n = 0; tls_readable(&e->conn); n++) {
        struct pkt *plain;
        ck_assert_uint_lt(n, STEPS_MAX);
        e->last = tls_read(&e->conn, &plain, p->now);
        ck_assert((e->last == TLS_DATA) == (plain != NULL));
        if (plain)
            keep(e, plain);
        if (e->last == TLS_STARVED)
            break;
    }
}

void pair_run(struct pair *p)
{
    bool moved = true;
    for (unsigned n = 0; moved; n++) {
        ck_assert_uint_lt(n, STEPS_MAX);
        pair_read(p, &p->client);
        moved = pair_move(p, &p->client, &p->server);
        pair_read(p, &p->server);
        moved |= pair_move(p, &p->server, &p->client);
    }
}

void pair_feed(struct pair_end *e, const void *bytes, size_t len)
{
    tls_input(&e->conn, heap_pkt(&e->pool, bytes, len, 0));
}

void pair_write(struct pair *p, struct pair_end *e, const void *bytes, size_t len)
{
    ck_assert(tls_write(&e->conn, bytes, (uint32_t)len, p->now));
}

void pair_expect(struct pair_end *e, const void *bytes, size_t len)
{
    ck_assert_uint_eq(e->got_len, len);
    ck_assert(len == 0 || memcmp(e->got, bytes, len) == 0);
    free(e->got);
    e->got = NULL;
    e->got_len = 0;
}

void pair_expect_open(const struct pair *p)
{
    ck_assert(p->client.conn.flags & TLS_CONN_OPEN);
    ck_assert(p->server.conn.flags & TLS_CONN_OPEN);
    ck_assert(!((p->client.conn.flags | p->server.conn.flags) & TLS_CONN_FAILED));
}

void pair_expect_refused(const struct pair *p, uint8_t alert)
{
    ck_assert(p->server.conn.flags & TLS_CONN_FAILED);
    ck_assert(!(p->server.conn.flags & TLS_CONN_OPEN));
    ck_assert_int_eq(p->server.last, TLS_ERROR);
    ck_assert_uint_eq(p->server.conn.alert, alert);
    ck_assert_uint_eq(pair_count(&p->server, COUNTER_TLS_FAILED), 1);
    ck_assert(p->client.conn.flags & TLS_CONN_FAILED);
    ck_assert_uint_eq(p->client.conn.alert, alert);
}

uint64_t pair_count(const struct pair_end *e, enum counter which)
{
    return counter_get(&e->counters, which);
}
