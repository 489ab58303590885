/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/memo.h"

#include "wire.h"

static struct h2_memo memo;
static struct h2_conn one, other;

static const uint8_t indexed[] = {0x82, 0x84, 0x87, 0xbe};
static const uint8_t literal[] = {0x04, 0x03, '/', '1', '1', 0x82};
static const uint8_t inserts[] = {0x82, 0x44, 0x03, '/', '1', '1'};

static void setup(void)
{
    memset(&memo, 0, sizeof(memo));
}

START_TEST(a_request_is_known_again)
{
    struct http_head head = {.method = HTTP_GET, .path = HTTP_TEXT("/")};
    h2_memo_ask(&memo, &one, indexed, sizeof(indexed), &head);
    const struct http_head *again = h2_memo_asked(&memo, &one, indexed, sizeof(indexed));
    ck_assert_ptr_nonnull(again);
    ck_assert_uint_eq(again->method, HTTP_GET);
    ck_assert_ptr_null(h2_memo_asked(&memo, &other, indexed, sizeof(indexed)));
    ck_assert_ptr_null(h2_memo_asked(&memo, &one, indexed, sizeof(indexed) - 1));
    ck_assert_ptr_null(h2_memo_asked(&memo, &one, literal, sizeof(indexed)));
    h2_memo_forget(&memo, &other);
    ck_assert_ptr_nonnull(h2_memo_asked(&memo, &one, indexed, sizeof(indexed)));
    h2_memo_forget(&memo, &one);
    ck_assert_ptr_null(h2_memo_asked(&memo, &one, indexed, sizeof(indexed)));
}
END_TEST

START_TEST(what_changes_the_table_is_not_kept)
{
    struct http_head head = {.method = HTTP_GET};
    uint8_t out[H2_MEMO_ANSWERED];
    h2_memo_ask(&memo, &one, inserts, sizeof(inserts), &head);
    ck_assert_ptr_null(h2_memo_asked(&memo, &one, inserts, sizeof(inserts)));
    h2_memo_answer(&memo, &one, 7, inserts, sizeof(inserts));
    ck_assert_uint_eq(h2_memo_answered(&memo, &one, 7, out), 0);
}
END_TEST

START_TEST(an_answer_is_known_by_its_number)
{
    uint8_t out[H2_MEMO_ANSWERED] = {0};
    h2_memo_answer(&memo, &one, 7, literal, sizeof(literal));
    ck_assert_uint_eq(h2_memo_answered(&memo, &one, 7, out), sizeof(literal));
    ck_assert_mem_eq(out, literal, sizeof(literal));
    ck_assert_uint_eq(h2_memo_answered(&memo, &one, 8, out), 0);
    ck_assert_uint_eq(h2_memo_answered(&memo, &one, 0, out), 0);
    ck_assert_uint_eq(h2_memo_answered(&memo, &other, 7, out), 0);
}
END_TEST

START_TEST(another_answer_of_the_connection_forgets_it)
{
    uint8_t out[H2_MEMO_ANSWERED];
    h2_memo_answer(&memo, &one, 7, literal, sizeof(literal));
    h2_memo_answer(&memo, &other, 0, inserts, sizeof(inserts));
    ck_assert_uint_gt(h2_memo_answered(&memo, &one, 7, out), 0);
    h2_memo_answer(&memo, &one, 0, inserts, sizeof(inserts));
    ck_assert_uint_eq(h2_memo_answered(&memo, &one, 7, out), 0);
}
END_TEST

START_TEST(a_block_is_looked_through_to_its_end)
{
    static const struct {
        uint8_t n;
        uint8_t b[8];
        bool keeps;
    } blocks[] = {
        {0, {0}, true},
        {1, {0x82}, true},
        {3, {0xff, 0x80, 0x01}, true},             /* an index of more bytes */
        {1, {0xff}, false},                        /* cut off */
        {3, {0x00, 0x00, 0x00}, true},             /* a literal of nothing */
        {5, {0x00, 0x01, 'a', 0x01, 'b'}, true},   /* with a name of its own */
        {4, {0x10, 0x01, 'a', 0x01}, false},       /* cut off */
        {3, {0x0f, 0x13, 0x00}, true},             /* etag, whose index is of two bytes */
        {3, {0x1f, 0x13, 0x00}, true},             /* never indexed */
        {5, {0x82, 0x04, 0x81, 0xff, 0x82}, true}, /* by Huffman's code */
        {2, {0x82, 0x20}, false},                  /* a table's size */
        {3, {0x82, 0x58, 0x00}, false},            /* with indexing */
        {8, {0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, false},
    };
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        ck_assert_msg(hpack_keeps_table(blocks[i].b, blocks[i].n) == blocks[i].keeps, "block %zu",
                      i);
}
END_TEST

/* Requests that are the same, and others between. */
START_TEST(each_request_gets_its_own_answer)
{
    static const unsigned sizes[] = {11, 11, 11, 12, 11, 12, 12, 300, 11};
    static const char *const paths[] = {"/11", "/11", "/11",  "/12", "/11",
                                        "/12", "/12", "/300", "/11"};
    struct h2_answer a[9];
    h2_pair_setup();
    h2_pair_connect();
    for (unsigned i = 0; i < 9; i++)
        ck_assert_ptr_nonnull(h2_pair_request(HTTP_GET, paths[i], true, &a[i]));
    h2_pair_run();
    for (unsigned i = 0; i < 9; i++) {
        ck_assert_uint_eq(a[i].status, 200);
        ck_assert_uint_eq(a[i].bytes, sizes[i]);
    }
    h2_pair_teardown();
}
END_TEST

/* It may lower what a head may have. */
START_TEST(settings_forget_it)
{
    uint8_t out[H2_MEMO_ANSWERED];
    h2_pair_setup();
    wire_greet();
    struct h2_memo *m = &pair.server.h2.memo;
    h2_memo_answer(m, &pair.server.conn, 7, literal, sizeof(literal));
    ck_assert_uint_gt(h2_memo_answered(m, &pair.server.conn, 7, out), 0);
    wire_setting(H2_SETTINGS_MAX_HEADER_LIST_SIZE, 10);
    ck_assert_uint_eq(h2_memo_answered(m, &pair.server.conn, 7, out), 0);
    h2_pair_teardown();
}
END_TEST

UNIT_MAIN("memo", setup, NULL, a_request_is_known_again, what_changes_the_table_is_not_kept,
          an_answer_is_known_by_its_number, another_answer_of_the_connection_forgets_it,
          a_block_is_looked_through_to_its_end, each_request_gets_its_own_answer,
          settings_forget_it)
