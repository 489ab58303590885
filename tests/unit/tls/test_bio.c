/* SPDX-License-Identifier: BSD-3-Clause */
#include <openssl/bio.h>
#include <string.h>

#include "pair.h"
#include "tls/internal.h"

static struct heap_pool pool;
static struct tls tls;
static struct tls_conn conn;
static BIO_METHOD *method;
static BIO *bio;
static uint8_t bytes[10000];

static void setup(void)
{
    heap_pool_init(&pool, 128, 1000);
    tls = (struct tls){.pool = &pool.pool};
    conn = (struct tls_conn){.tls = &tls};
    method = tls_bio_method();
    bio = tls_bio_new(method, &conn);
    ck_assert(method && bio);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 13 + (i >> 8));
}

static void teardown(void)
{
    BIO_free(bio);
    BIO_meth_free(method);
    pkt_free(conn.in);
    pkt_free(conn.out);
    ck_assert_ptr_null(conn.spare);
    ck_assert_uint_eq(pool.held, 0);
}

/* What waits to be sent is these bytes, in so many packets. */
static void sent(size_t len, unsigned views)
{
    uint8_t out[sizeof(bytes)];
    struct pkt *p = tls_take(&conn);
    ck_assert(pkt_ok(p));
    ck_assert_uint_eq(p->total, len);
    ck_assert_uint_eq(pkt_cost(p), views * PKT_COST);
    pkt_copy_out(p, 0, out, p->total);
    ck_assert_mem_eq(out, bytes, len);
    pkt_free(p);
}

START_TEST(fills_packet_after_packet)
{
    size_t done;
    ck_assert(BIO_write_ex(bio, bytes, 700, &done) && done == 700);
    ck_assert(BIO_write_ex(bio, bytes + 700, 700, &done) && done == 700);
    ck_assert(BIO_write_ex(bio, bytes + 1400, 3000, &done) && done == 3000);
    sent(4400, 5);
    ck_assert(BIO_write_ex(bio, bytes, 1, &done) && done == 1); /* a packet of its own */
    sent(1, 1);
}
END_TEST

START_TEST(leaves_memory_alone_that_others_see)
{
    size_t done;
    BIO_write_ex(bio, bytes, 500, &done);
    struct pkt *seen = pkt_slice(&pool.pool, conn.out, 0, 500);
    BIO_write_ex(bio, bytes + 500, 100, &done);
    sent(600, 2);
    pkt_free(seen);
}
END_TEST

START_TEST(writes_as_much_as_there_are_packets)
{
    size_t done;
    pool.limit = 2;
    ck_assert(BIO_write_ex(bio, bytes, 5000, &done));
    ck_assert_uint_eq(done, 2000);
    ck_assert(!BIO_write_ex(bio, bytes + 2000, 3000, &done));
    ck_assert(BIO_should_write(bio) && BIO_should_retry(bio) && conn.starved);
    pool.limit = SIZE_MAX;
    ck_assert(BIO_write_ex(bio, bytes + 2000, 3000, &done) && done == 3000);
    ck_assert(!BIO_should_retry(bio));
    sent(5000, 5);
}
END_TEST

START_TEST(writes_what_was_reserved_whatever_happens)
{
    size_t done;
    BIO_write_ex(bio, bytes, 400, &done);
    ck_assert(tls_bio_reserve(&conn, 2600));
    ck_assert_uint_eq(pool.held, 3); /* 600 bytes of room are there already */
    pool.limit = 0;
    ck_assert(BIO_write_ex(bio, bytes + 400, 2600, &done) && done == 2600);
    ck_assert_ptr_null(conn.spare);
    sent(3000, 3);
}
END_TEST

START_TEST(reserves_all_or_nothing)
{
    pool.limit = 4;
    ck_assert(!tls_bio_reserve(&conn, 4001));
    ck_assert_uint_eq(pool.held, 0);
    ck_assert(tls_bio_reserve(&conn, 4000));
    ck_assert_uint_eq(pool.held, 4);
    tls_bio_unreserve(&conn);
    ck_assert_uint_eq(pool.held, 0);
}
END_TEST

START_TEST(reads_what_is_allowed_and_frees_what_was_read)
{
    uint8_t got[sizeof(bytes)];
    size_t done;
    tls_input(&conn, heap_pkt(&pool, bytes, 1000, 100));
    tls_input(&conn, heap_pkt(&pool, bytes + 1000, 500, 0));
    ck_assert(!BIO_read_ex(bio, got, 10, &done));
    ck_assert(BIO_should_read(bio) && BIO_should_retry(bio));
    conn.allowed = 350;
    ck_assert(BIO_read_ex(bio, got, 5, &done) && done == 5);
    ck_assert(!BIO_should_retry(bio));
    ck_assert(BIO_read_ex(bio, got + 5, 1000, &done) && done == 345);
    ck_assert_mem_eq(got, bytes, 350);
    ck_assert_uint_eq(pool.held, 8);
    ck_assert(pkt_ok(conn.in) && conn.in->total == 1150);
    ck_assert(!BIO_read_ex(bio, got, 1, &done));
    conn.allowed = 1150;
    ck_assert(BIO_read_ex(bio, got, sizeof(got), &done) && done == 1150);
    ck_assert_mem_eq(got, bytes + 350, 1150);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert(!conn.in && !conn.in_last);
    ck_assert(!BIO_eof(bio)); /* never */
}
END_TEST

UNIT_MAIN("tls/bio", setup, teardown, fills_packet_after_packet,
          leaves_memory_alone_that_others_see, writes_as_much_as_there_are_packets,
          writes_what_was_reserved_whatever_happens, reserves_all_or_nothing,
          reads_what_is_allowed_and_frees_what_was_read)
