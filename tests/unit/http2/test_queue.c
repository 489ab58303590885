/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static struct h2_conn *const server = &pair.server.conn;

static void put(uint8_t what, uint32_t n)
{
    uint8_t *to = h2_queue_room(server, n);
    ck_assert_ptr_nonnull(to);
    memset(to, what, n);
    h2_queue_push(server, n);
}

START_TEST(bytes_leave_in_order_in_any_pieces)
{
    uint8_t out[5000];
    wire_greet();
    put('a', 700); /* more than the first room */
    ck_assert_uint_eq(h2_queue_take(&server->out, out, 100), 100);
    put('b', 1000);
    put('c', 3000);
    ck_assert_uint_eq(h2_queue_bytes(&server->out), 4600);
    ck_assert_uint_eq(h2_queue_take(&server->out, out, sizeof(out)), 4600);
    ck_assert(out[0] == 'a' && out[599] == 'a' && out[600] == 'b' && out[1599] == 'b');
    ck_assert(out[1600] == 'c' && out[4599] == 'c');
    ck_assert_uint_eq(h2_queue_take(&server->out, out, sizeof(out)), 0);
}
END_TEST

START_TEST(an_empty_queue_starts_again_at_its_front)
{
    uint8_t out[600];
    wire_greet();
    put('a', 400);
    uint32_t room = server->out.room;
    for (unsigned i = 0; i < 100; i++) {
        h2_queue_take(&server->out, out, sizeof(out));
        put('b', 400);
    }
    ck_assert_uint_eq(server->out.room, room);
}
END_TEST

START_TEST(want_of_memory_ends_the_connection)
{
    wire_greet();
    pair.heap.limit = pair.heap.bytes;
    ck_assert_ptr_null(h2_queue_room(server, 100000));
    pair.heap.limit = SIZE_MAX;
    ck_assert(h2_has(server, H2_CONN_FAILED));
    ck_assert_uint_eq(server->error, H2_INTERNAL_ERROR);
}
END_TEST

START_TEST(a_full_queue_asks_for_no_input)
{
    wire_greet();
    put('a', H2_QUEUE_HIGH);
    ck_assert(!h2_blocked(server));
    put('a', 1);
    ck_assert(h2_blocked(server));
}
END_TEST

UNIT_MAIN("queue", h2_pair_setup, h2_pair_teardown, bytes_leave_in_order_in_any_pieces,
          an_empty_queue_starts_again_at_its_front, want_of_memory_ends_the_connection,
          a_full_queue_asks_for_no_input)
