/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/hpack.h"

#include <stdio.h>

#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"

#define TABLE  4096u
#define FIELDS 100u
#define SIZE   65536u

static struct heap heap;
static struct hpack_mem *mem;
static struct h2_fields f;
static struct hpack_decoder decoder;
static struct hpack_encoder encoder;
static uint8_t out[2 * SIZE];

static void setup(void)
{
    heap_init(&heap);
    mem = hpack_mem_create(&heap.mem);
    ck_assert_ptr_nonnull(mem);
    ck_assert(h2_fields_init(&f, &heap.mem, FIELDS, SIZE));
    ck_assert(hpack_decoder_init(&decoder, mem, TABLE));
    hpack_encoder_init(&encoder, mem, TABLE);
}

static void teardown(void)
{
    hpack_encoder_fini(&encoder);
    hpack_decoder_fini(&decoder);
    h2_fields_fini(&f, &heap.mem);
    hpack_mem_destroy(mem);
    ck_assert_uint_eq(heap.blocks, 0);
    ck_assert_uint_eq(heap.bytes, 0);
}

/* ---- blocks in hexadecimal, lists as "name: value|name: value|" ---- */

static size_t from_hex(const char *hex, uint8_t *to)
{
    size_t n = 0;
    unsigned byte;
    int used;
    while (sscanf(hex, "%2x%n", &byte, &used) == 1) {
        to[n++] = (uint8_t)byte;
        hex += used;
    }
    return n;
}

static const char *listed(const struct http_field *field, uint32_t n)
{
    static char text[3 * SIZE];
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s: %.*s|", (int)field[i].name.n,
                               field[i].name.p, (int)field[i].value.n, field[i].value.p);
    return text;
}

/* On the heap, exactly as long as it is. */
static int decode_bytes(const uint8_t *bytes, size_t len)
{
    uint8_t *exact = malloc(len);
    ck_assert(exact || len == 0);
    if (len > 0)
        memcpy(exact, bytes, len);
    int error = hpack_decode(&decoder, &f, exact, len, true, true, FIELDS, SIZE);
    free(exact);
    return error;
}

static int decode_hex(const char *hex)
{
    uint8_t bytes[1024];
    return decode_bytes(bytes, from_hex(hex, bytes));
}

static void decodes(const char *hex, const char *list)
{
    ck_assert_int_eq(decode_hex(hex), 0);
    ck_assert_str_eq(listed(f.field, f.n), list);
    ck_assert_uint_eq(f.seen, f.n);
    ck_assert(!f.too_large);
}

static void encoded_is(int size, const char *hex)
{
    uint8_t bytes[1024];
    size_t n = from_hex(hex, bytes);
    ck_assert_int_eq(size, (int)n);
    ck_assert_mem_eq(out, bytes, n);
}

/* ---- RFC 7541, appendix C ---- */

START_TEST(c2_literals)
{
    decodes("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key: custom-header|");
    ck_assert(!f.field[0].sensitive);
    ck_assert_uint_eq(f.size, 55);
    decodes("be", "custom-key: custom-header|"); /* it was added to the table */
    decodes("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path|");
    ck_assert(!f.field[0].sensitive);
    decodes("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret|");
    ck_assert(f.field[0].sensitive);
    decodes("82", ":method: GET|");
    decodes("be", "custom-key: custom-header|"); /* and neither of the two later ones */
    ck_assert_int_eq(decode_hex("bf"), HPACK_E_COMPRESSION);
}
END_TEST

#define C3_1 ":method: GET|:scheme: http|:path: /|:authority: www.example.com|"
#define C3_2 C3_1 "cache-control: no-cache|"
#define C3_3                                                                      \
    ":method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|" \
    "custom-key: custom-value|"

START_TEST(c3_requests)
{
    decodes("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", C3_1);
    decodes("8286 84be 5808 6e6f 2d63 6163 6865", C3_2);
    decodes("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", C3_3);
    ck_assert_uint_eq(f.size, 7 + 3 + 7 + 5 + 5 + 11 + 10 + 15 + 10 + 12 + 5 * 32);
}
END_TEST

#define C4_1 "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"
#define C4_2 "8286 84be 5886 a8eb 1064 9cbf"
#define C4_3 "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"

START_TEST(c4_requests_in_huffman_code)
{
    decodes(C4_1, C3_1);
    decodes(C4_2, C3_2);
    decodes(C4_3, C3_3);
}
END_TEST

static struct http_field field_of(const char *name, const char *value)
{
    return (struct http_field){.name = {name, (uint32_t)strlen(name)},
                               .value = {value, (uint32_t)strlen(value)}};
}

static struct http_head request(const char *path, const struct http_field *field, uint32_t n)
{
    return (struct http_head){
        .method = HTTP_GET,
        .scheme = HTTP_TEXT("http"),
        .authority = HTTP_TEXT("www.example.com"),
        .path = {path, (uint32_t)strlen(path)},
        .content_length = HTTP_LENGTH_NONE,
        .field = field,
        .n_fields = n,
    };
}

START_TEST(c4_encoded)
{
    struct http_head h = request("/", NULL, 0);
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), C4_1);
    struct http_field field = field_of("cache-control", "no-cache");
    h = request("/", &field, 1);
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), C4_2);
    field = field_of("custom-key", "custom-value");
    h = request("/index.html", &field, 1);
    h.scheme = HTTP_TEXT("https");
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), C4_3);
}
END_TEST

#define C5_1                               \
    ":status: 302|cache-control: private|" \
    "date: Mon, 21 Oct 2013 20:13:21 GMT|location: https://www.example.com|"
#define C5_2                               \
    ":status: 307|cache-control: private|" \
    "date: Mon, 21 Oct 2013 20:13:21 GMT|location: https://www.example.com|"
#define C5_3                                                                 \
    ":status: 200|cache-control: private|"                                   \
    "date: Mon, 21 Oct 2013 20:13:22 GMT|location: https://www.example.com|" \
    "content-encoding: gzip|set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1|"

/* The examples' table is of 256 bytes, which the encoder has to say where the decoder asks for it.
 */
static void table_of_256(void)
{
    ck_assert(hpack_decoder_acked(&decoder, 256));
    decodes("3f e101", "");
}

START_TEST(c5_responses_with_eviction)
{
    table_of_256();
    decodes("4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 "
            "2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 "
            "6c65 2e63 6f6d",
            C5_1);
    decodes("4803 3330 37c1 c0bf", C5_2);
    decodes("88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d "
            "54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 "
            "5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e "
            "3d31",
            C5_3);
    ck_assert_int_eq(decode_hex("c1"), HPACK_E_COMPRESSION); /* three are left */
}
END_TEST

START_TEST(c6_responses_in_huffman_code)
{
    table_of_256();
    decodes("4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 "
            "2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            C5_1);
    decodes("4883 640e ffc1 c0bf", C5_2);
    decodes("88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab "
            "77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f "
            "9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            C5_3);
}
END_TEST

/* ---- decoding ---- */

START_TEST(an_empty_block)
{
    decodes("", "");
    ck_assert_int_eq(hpack_decode(&decoder, &f, NULL, 0, true, true, FIELDS, SIZE), 0);
    ck_assert_uint_eq(f.n, 0);
}
END_TEST

/* However it is cut, also within an integer, a string and a code of Huffman's. */
START_TEST(a_block_in_pieces)
{
    uint8_t bytes[128];
    size_t n = from_hex(C4_3, bytes);
    ck_assert_int_eq(decode_hex(C4_1), 0);
    ck_assert_int_eq(decode_hex(C4_2), 0);
    for (size_t piece = 1; piece <= n; piece++) {
        uint8_t copy[128];
        for (size_t at = 0; at < n; at += piece) {
            size_t len = n - at < piece ? n - at : piece;
            memcpy(copy, bytes + at, len);
            bool last = at + len == n;
            ck_assert_int_eq(hpack_decode(&decoder, &f, copy, len, at == 0, last, FIELDS, SIZE), 0);
            memset(copy, 0xff, sizeof(copy)); /* nothing points into it */
        }
        ck_assert_str_eq(listed(f.field, f.n), C3_3);
        /* The table grows, so that indices of the same block mean other entries: begin anew. */
        hpack_decoder_fini(&decoder);
        ck_assert(hpack_decoder_init(&decoder, mem, TABLE));
        ck_assert_int_eq(decode_hex(C4_1), 0);
        ck_assert_int_eq(decode_hex(C4_2), 0);
    }
}
END_TEST

START_TEST(an_empty_last_piece)
{
    ck_assert_int_eq(
        hpack_decode(&decoder, &f, (const uint8_t *)"\x82", 1, true, false, FIELDS, SIZE), 0);
    ck_assert_int_eq(hpack_decode(&decoder, &f, NULL, 0, false, false, FIELDS, SIZE), 0);
    ck_assert_int_eq(hpack_decode(&decoder, &f, NULL, 0, false, true, FIELDS, SIZE), 0);
    ck_assert_str_eq(listed(f.field, f.n), ":method: GET|");
    decodes("82", ":method: GET|");
}
END_TEST

/* A piece of a block in hexadecimal; first and last as hpack_decode has them. */
static int piece(const char *hex, bool first, bool last)
{
    uint8_t bytes[64];
    size_t n = from_hex(hex, bytes);
    return hpack_decode(&decoder, &f, bytes, n, first, last, FIELDS, SIZE);
}

/* RFC 7541 4.2: it comes before all fields, however the block is cut. */
START_TEST(a_table_size_in_pieces)
{
    ck_assert_int_eq(piece("", true, false), 0);
    ck_assert_int_eq(piece("3f", false, false), 0);
    ck_assert_int_eq(piece("e1", false, false), 0);
    ck_assert_int_eq(piece("1f", false, false), 0);
    ck_assert_int_eq(piece("20", false, false), 0);
    ck_assert_int_eq(piece("82", false, true), 0);
    ck_assert_str_eq(listed(f.field, f.n), ":method: GET|");
    ck_assert_int_eq(piece("82", true, false), 0);
    ck_assert_int_eq(piece("20", false, true), HPACK_E_COMPRESSION);
}
END_TEST

START_TEST(a_table_size_that_is_due_in_pieces)
{
    ck_assert(hpack_decoder_acked(&decoder, 0));
    ck_assert_int_eq(piece("", true, false), 0);
    ck_assert_int_eq(piece("20", false, false), 0);
    ck_assert_int_eq(piece("82", false, true), 0);
    decodes("82", ":method: GET|");
    ck_assert(hpack_decoder_acked(&decoder, 0)); /* no smaller than it is: nothing is due */
    decodes("82", ":method: GET|");
}
END_TEST

START_TEST(what_is_no_block)
{
    static const char *const bad[] = {
        "80",                               /* index 0 (RFC 7541 6.1) */
        "be",                               /* an index beyond both tables (2.3.3) */
        "ff ffff ffff ffff ffff 7f",        /* an integer too large (5.1) */
        "ff 8080 8080 8080 8080 8080 8000", /* or too long */
        "82 41",                            /* cut: no value */
        "41 05 6162",                       /* a string that is longer than the block */
        "7f",                               /* an integer without end */
        "41 81 fe",                         /* padding that is not EOS's (5.2) */
        "41 82 f8 ff",                      /* padding of more than 7 bits */
        "41 84 ffff ffff",                  /* EOS itself */
        "82 3f e11f",                       /* a table size behind a field (4.2) */
        "3f e2 1f",                         /* a table size beyond 4,096 (6.3) */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(decode_hex(bad[i]) == HPACK_E_COMPRESSION, "%s", bad[i]);
        hpack_decoder_fini(&decoder);
        ck_assert(hpack_decoder_init(&decoder, mem, TABLE));
    }
}
END_TEST

START_TEST(a_table_to_nothing_and_back)
{
    decodes("4001 6101 62", "a: b|");
    decodes("be", "a: b|");
    decodes("20 3f e11f 82", ":method: GET|"); /* to 0 and to 4,096: all was evicted */
    ck_assert_int_eq(decode_hex("be"), HPACK_E_COMPRESSION);
}
END_TEST

/* RFC 7541 4.4: an entry that is larger than the table empties it, which is no error. */
START_TEST(an_entry_larger_than_the_table)
{
    decodes("3f 01 4001 6101 62", "a: b|"); /* 32 bytes: none fits */
    decodes("4001 6101 62", "a: b|");
    ck_assert_int_eq(decode_hex("be"), HPACK_E_COMPRESSION);
}
END_TEST

START_TEST(a_smaller_table_holds_from_the_ack)
{
    hpack_decoder_fini(&decoder);
    ck_assert(hpack_decoder_init(&decoder, mem, 64));
    decodes("4001 6101 62 4001 6301 64", "a: b|c: d|"); /* of before our SETTINGS */
    decodes("bfbe", "a: b|c: d|");
    ck_assert(hpack_decoder_acked(&decoder, 64));
    ck_assert_int_eq(decode_hex("82"), HPACK_E_COMPRESSION); /* RFC 7541 4.2: it has to say so */
}
END_TEST

START_TEST(a_smaller_table_that_is_agreed)
{
    hpack_decoder_fini(&decoder);
    ck_assert(hpack_decoder_init(&decoder, mem, 64));
    ck_assert(hpack_decoder_acked(&decoder, 64));
    decodes("3f 21 4001 6101 62 4001 6301 64 be", "a: b|c: d|c: d|");
    ck_assert_int_eq(decode_hex("bf"), HPACK_E_COMPRESSION); /* there is one */
}
END_TEST

START_TEST(a_larger_table)
{
    hpack_decoder_fini(&decoder);
    ck_assert(hpack_decoder_init(&decoder, mem, 65536));
    decodes("3f e1ff 03", "");
    ck_assert(hpack_decoder_acked(&decoder, 65536));
    decodes("82", ":method: GET|");
    ck_assert_int_eq(decode_hex("3f e2ff 03"), HPACK_E_COMPRESSION);
}
END_TEST

/* ---- bounds ---- */

/* n times :method GET, each 42 bytes of the list. */
static int decode_many(uint32_t n, uint32_t max_fields, uint32_t max_size)
{
    memset(out, 0x82, n);
    return hpack_decode(&decoder, &f, out, n, true, true, max_fields, max_size);
}

START_TEST(fields_beyond_their_number_are_not_kept)
{
    ck_assert_int_eq(decode_many(10, 10, SIZE), 0);
    ck_assert_uint_eq(f.n, 10);
    ck_assert(!f.too_large);
    ck_assert_int_eq(decode_many(11, 10, SIZE), 0);
    ck_assert_uint_eq(f.n, 10);
    ck_assert_uint_eq(f.seen, 11);
    ck_assert_uint_eq(f.size, 11 * 42);
    ck_assert(f.too_large);
    decodes("82", ":method: GET|"); /* the next block is as if nothing had been */
}
END_TEST

START_TEST(a_list_beyond_its_size_is_not_kept)
{
    ck_assert_int_eq(decode_many(10, FIELDS, 420), 0);
    ck_assert(!f.too_large);
    ck_assert_int_eq(decode_many(12, FIELDS, 419), 0);
    ck_assert_uint_eq(f.n, 9);
    ck_assert_uint_eq(f.seen, 12);
    ck_assert_uint_eq(f.size, 12 * 42);
    ck_assert(f.too_large);
    /* Nor is what would fit again behind one that did not. */
    ck_assert_int_eq(hpack_decode(&decoder, &f,
                                  (const uint8_t *)"\x82\x00\x01x\x14"
                                                   "abcdefghijklmnopqrst\x82",
                                  25, true, true, FIELDS, 90),
                     0);
    ck_assert_uint_eq(f.n, 1);
    ck_assert(f.too_large);
}
END_TEST

/* The table stays right where fields were not kept. */
START_TEST(what_is_not_kept_is_decoded)
{
    uint8_t bytes[64];
    size_t n = from_hex("82 4001 6101 62 4001 6301 64", bytes);
    ck_assert_int_eq(hpack_decode(&decoder, &f, bytes, n, true, true, 1, SIZE), 0);
    ck_assert_uint_eq(f.n, 1);
    decodes("bebf", "c: d|a: b|");
}
END_TEST

START_TEST(bombs)
{
    ck_assert_int_eq(decode_many(160, 10, SIZE), 0);
    ck_assert_uint_eq(f.seen, 160);
    ck_assert_int_eq(decode_many(170, 10, SIZE), HPACK_E_BOMB);
    ck_assert_uint_eq(f.seen, 161); /* it stopped at once */
}
END_TEST

/* A byte each for 4,000 bytes of the table. */
START_TEST(bombs_of_large_entries)
{
    uint8_t bytes[4096] = {0x40, 1, 'a', 0x7f, 0x80 | (3900 - 127) % 128, (3900 - 127) / 128};
    memset(bytes + 6, 'b', 3900);
    ck_assert_int_eq(hpack_decode(&decoder, &f, bytes, 3906, true, true, FIELDS, SIZE), 0);
    ck_assert_uint_eq(f.n, 1);
    memset(bytes, 0xbe, 300);
    ck_assert_int_eq(hpack_decode(&decoder, &f, bytes, 300, true, true, FIELDS, SIZE),
                     HPACK_E_BOMB);
    ck_assert_uint_eq(f.seen, 16 * SIZE / 3933 + 1);
    ck_assert_uint_eq(f.n, SIZE / 3933);
}
END_TEST

/* nghttp2's own bound. */
START_TEST(a_string_too_long)
{
    ck_assert_int_eq(decode_hex("00 01 61 7f 81ff 03"), HPACK_E_COMPRESSION); /* cut */
    hpack_decoder_fini(&decoder);
    ck_assert(hpack_decoder_init(&decoder, mem, TABLE));
    memset(out, 'b', 65536 + 7);
    ck_assert_uint_eq(from_hex("00 01 61 7f 81ff 03", out), 7); /* 65,536 bytes */
    ck_assert_int_eq(decode_bytes(out, 7 + 65536), 0);
    ck_assert(f.too_large);
    out[4]++;
    ck_assert_int_eq(decode_bytes(out, 7 + 65537), HPACK_E_COMPRESSION);
}
END_TEST

/* ---- encoding ---- */

static void round_trip(const struct http_head *h, const char *list)
{
    int n = hpack_encode_head(&encoder, h, out, sizeof(out));
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(decode_bytes(out, (size_t)n), 0);
    ck_assert_str_eq(listed(f.field, f.n), list);
    ck_assert_uint_eq(f.size, hpack_list_size(h));
}

START_TEST(a_response)
{
    struct http_field field[] = {field_of("content-type", "text/plain"), field_of("server", "m")};
    struct http_head h = {.status = 200, .content_length = 11, .field = field, .n_fields = 2};
    const char *list = ":status: 200|content-length: 11|content-type: text/plain|server: m|";
    round_trip(&h, list);
    round_trip(&h, list);
    ck_assert_int_eq(hpack_encode_head(&encoder, &h, out, sizeof(out)), 8);
    h.content_length = HTTP_LENGTH_NONE;
    h.n_fields = 0;
    round_trip(&h, ":status: 200|");
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "88");
    h.status = 418;
    h.content_length = 0;
    round_trip(&h, ":status: 418|content-length: 0|");
    h.content_length = UINT64_MAX - 1;
    round_trip(&h, ":status: 418|content-length: 18446744073709551614|");
}
END_TEST

START_TEST(requests)
{
    struct http_head h = request("/", NULL, 0);
    h.method = HTTP_OTHER;
    h.method_name = HTTP_TEXT("PURGE");
    h.content_length = 7;
    round_trip(&h, ":method: PURGE|:scheme: http|:path: /|:authority: www.example.com|"
                   "content-length: 7|");
    h = (struct http_head){
        .method = HTTP_CONNECT, .authority = HTTP_TEXT("a:1"), .content_length = HTTP_LENGTH_NONE};
    round_trip(&h, ":method: CONNECT|:authority: a:1|");
    h.protocol = HTTP_TEXT("websocket");
    h.scheme = HTTP_TEXT("https");
    h.path = HTTP_TEXT("/");
    round_trip(&h, ":method: CONNECT|:protocol: websocket|:scheme: https|:path: /|"
                   ":authority: a:1|");
}
END_TEST

START_TEST(trailers)
{
    struct http_field field = field_of("grpc-status", "0");
    int n = hpack_encode_trailers(&encoder, &field, 1, out, sizeof(out));
    ck_assert_int_eq(decode_bytes(out, (size_t)n), 0);
    ck_assert_str_eq(listed(f.field, f.n), "grpc-status: 0|");
    ck_assert_int_eq(hpack_encode_trailers(&encoder, NULL, 0, out, sizeof(out)), 0);
}
END_TEST

/* Are two blocks of the same head alike in size, so that its fields are not in the table? */
static bool indexes(const char *name, const char *value, bool sensitive)
{
    struct http_field field = field_of(name, value);
    field.sensitive = sensitive;
    int first = hpack_encode_trailers(&encoder, &field, 1, out, sizeof(out));
    ck_assert_int_gt(first, 0);
    ck_assert_int_eq(decode_bytes(out, (size_t)first), 0);
    ck_assert_int_eq(f.field[0].sensitive, sensitive);
    int second = hpack_encode_trailers(&encoder, &field, 1, out, sizeof(out));
    ck_assert_int_eq(decode_bytes(out, (size_t)second), 0);
    ck_assert_int_eq(f.field[0].sensitive, sensitive);
    ck_assert_int_le(second, first);
    return second == 1;
}

START_TEST(what_is_indexed)
{
    ck_assert(indexes("server", "x", false));
    ck_assert(indexes("date", "Mon, 21 Oct 2013 20:13:21 GMT", false));
    ck_assert(!indexes("x-token", "secret", true));
    ck_assert(!indexes("server", "y", true));
    ck_assert(!indexes("etag", "\"abc\"", false));
    ck_assert(!indexes("last-modified", "Mon, 21 Oct 2013 20:13:21 GMT", false));
    ck_assert(!indexes("content-range", "bytes 0-1/2", false));
    ck_assert(!indexes("location", "/x", false));
    ck_assert(!indexes("content-length", "5", false));
}
END_TEST

START_TEST(no_room_changes_nothing)
{
    struct http_field field[2] = {field_of("a-name", "and its value"), field_of("b", "c")};
    struct http_head h = request("/", field, 2);
    size_t enough = hpack_list_size(&h) + HPACK_SLACK;
    for (size_t room = 0; room < enough; room++) {
        int n = hpack_encode_head(&encoder, &h, out, room);
        ck_assert(n == HPACK_E_ROOM || (n > 0 && (size_t)n <= room));
        if (n > 0)
            ck_assert_int_eq(decode_bytes(out, (size_t)n), 0);
        n = hpack_encode_trailers(&encoder, field, 2, out, room);
        ck_assert(n == HPACK_E_ROOM || (n > 0 && (size_t)n <= room));
        if (n > 0)
            ck_assert_int_eq(decode_bytes(out, (size_t)n), 0);
    }
    uint8_t *exact = malloc(enough);
    ck_assert_ptr_nonnull(exact);
    int n = hpack_encode_head(&encoder, &h, exact, enough);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(decode_bytes(exact, (size_t)n), 0);
    ck_assert_uint_eq(f.n, 6);
    free(exact);
}
END_TEST

/* Many more than are given to nghttp2 at a time, and none of them in the table. */
START_TEST(many_fields)
{
    static char text[FIELDS][32];
    struct http_field field[FIELDS - 4];
    for (unsigned i = 0; i < FIELDS - 4; i++) {
        snprintf(text[i], sizeof(text[i]), "name-%u", i);
        field[i] = field_of(text[i], text[i]);
    }
    struct http_head h = request("/", field, FIELDS - 4);
    for (unsigned round = 0; round < 3; round++) {
        int n = hpack_encode_head(&encoder, &h, out, sizeof(out));
        ck_assert_int_eq(decode_bytes(out, (size_t)n), 0);
        ck_assert_uint_eq(f.n, FIELDS);
        for (unsigned i = 0; i < FIELDS - 4; i++)
            ck_assert(http_text_eq(f.field[4 + i].name, field[i].name) &&
                      http_text_eq(f.field[4 + i].value, field[i].value));
    }
}
END_TEST

/* RFC 7541 4.2: the least and the last are told in the next block, before all else. */
START_TEST(the_peer_resizes_our_table)
{
    struct http_field field = field_of("a", "b");
    struct http_head h = {
        .status = 200, .content_length = HTTP_LENGTH_NONE, .field = &field, .n_fields = 1};
    round_trip(&h, ":status: 200|a: b|");
    ck_assert(hpack_encoder_table(&encoder, 0));
    ck_assert(hpack_encoder_table(&encoder, 4096));
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "20 3fe1 1f 88 4001 6101 62");
    ck_assert_int_eq(decode_bytes(out, 10), 0);
    ck_assert_str_eq(listed(f.field, f.n), ":status: 200|a: b|");
    ck_assert(hpack_encoder_table(&encoder, 0));
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "20 88 0001 6101 62");
    ck_assert_int_eq(decode_bytes(out, 7), 0);
    /* More than we are willing to keep. */
    ck_assert(hpack_encoder_table(&encoder, UINT32_MAX));
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "3fe1 1f 88 4001 6101 62");
}
END_TEST

START_TEST(an_encoder_of_a_small_table)
{
    hpack_encoder_fini(&encoder);
    hpack_encoder_init(&encoder, mem, 100);
    struct http_field field = field_of("a", "b");
    struct http_head h = {
        .status = 200, .content_length = HTTP_LENGTH_NONE, .field = &field, .n_fields = 1};
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "3f45 88 4001 6101 62");
}
END_TEST

/* ---- rest ---- */

/* Its table is empty and the other side's is to be (RFC 7541 4.2). */
START_TEST(an_encoder_that_has_rested)
{
    struct http_field field = field_of("a", "b");
    struct http_head h = {
        .status = 200, .content_length = HTTP_LENGTH_NONE, .field = &field, .n_fields = 1};
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "88 4001 6101 62");
    size_t bytes = heap.bytes;
    hpack_encoder_rest(&encoder);
    hpack_encoder_rest(&encoder);
    ck_assert_uint_lt(heap.bytes, bytes - 2000);
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "20 3fe1 1f 88 4001 6101 62");
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "88 be");
    /* What the other side says meanwhile. */
    hpack_encoder_rest(&encoder);
    ck_assert(hpack_encoder_table(&encoder, 100));
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "20 3f45 88 4001 6101 62");
    hpack_encoder_rest(&encoder);
    ck_assert(hpack_encoder_table(&encoder, 0));
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "20 88 0001 6101 62");
}
END_TEST

START_TEST(an_encoder_that_is_told_before_its_first_block)
{
    struct http_field field = field_of("a", "b");
    struct http_head h = {
        .status = 200, .content_length = HTTP_LENGTH_NONE, .field = &field, .n_fields = 1};
    ck_assert(hpack_encoder_table(&encoder, 50));
    ck_assert(hpack_encoder_table(&encoder, 100));
    encoded_is(hpack_encode_head(&encoder, &h, out, sizeof(out)), "3f13 3f45 88 4001 6101 62");
}
END_TEST

/* Its table is what it was: order, sizes, what an insertion drives out. */
START_TEST(a_decoder_that_has_rested)
{
    decodes("3f31 4001 6101 62 4001 6301 64", "a: b|c: d|"); /* of 80 bytes: two such */
    size_t bytes = heap.bytes;
    hpack_decoder_rest(&decoder);
    hpack_decoder_rest(&decoder);
    ck_assert_uint_lt(heap.bytes, bytes - 900);
    decodes("be bf", "c: d|a: b|");
    hpack_decoder_rest(&decoder);
    decodes("4001 6501 66", "e: f|");
    hpack_decoder_rest(&decoder);
    decodes("be bf", "e: f|c: d|");
    ck_assert_int_eq(decode_bytes((const uint8_t *)"\xc0", 1), HPACK_E_COMPRESSION);
}
END_TEST

START_TEST(a_decoder_that_rests_with_an_empty_table)
{
    hpack_decoder_rest(&decoder);
    decodes("82", ":method: GET|");
    ck_assert_int_eq(decode_bytes((const uint8_t *)"\xbe", 1), HPACK_E_COMPRESSION);
}
END_TEST

/* The size that is agreed holds on; one that the next block has to say keeps it from resting. */
START_TEST(a_decoder_of_another_table_that_has_rested)
{
    hpack_decoder_fini(&decoder);
    ck_assert(hpack_decoder_init(&decoder, mem, 65536));
    decodes("3fe1ff03 4001 6101 62", "a: b|");
    hpack_decoder_rest(&decoder);
    decodes("3fe1ff03 be", "a: b|");
    ck_assert(hpack_decoder_acked(&decoder, 64));
    hpack_decoder_rest(&decoder);
    ck_assert_uint_eq(decoder.n_kept, 0);
    decodes("3f21 be", "a: b|");
    hpack_decoder_rest(&decoder);
    decodes("be", "a: b|");
    hpack_decoder_rest(&decoder);
    ck_assert(hpack_decoder_acked(&decoder, 32));
    decodes("3f01", "");
}
END_TEST

START_TEST(no_memory_to_rest_or_to_wake)
{
    decodes("4001 6101 62", "a: b|");
    heap.limit = heap.bytes;
    size_t blocks = heap.blocks;
    hpack_decoder_rest(&decoder);
    decodes("be", "a: b|");
    heap.limit = SIZE_MAX;
    hpack_decoder_rest(&decoder);
    ck_assert_uint_gt(decoder.n_kept, 0);
    for (heap.limit = heap.bytes; decode_bytes((const uint8_t *)"\xbe", 1) != 0; heap.limit += 64)
        ck_assert_uint_gt(decoder.n_kept, 0);
    ck_assert_str_eq(listed(f.field, f.n), "a: b|");
    ck_assert_uint_ge(heap.blocks + 2, blocks);
    heap.limit = SIZE_MAX;
}
END_TEST

/* ---- both ---- */

static struct http_text random_text(struct rng *rng, char *to, uint32_t longest, bool name)
{
    uint32_t n = (uint32_t)rng_below(rng, longest) + name;
    for (uint32_t i = 0; i < n; i++)
        to[i] = (char)(name ? 'a' + (int)rng_below(rng, 3) : (int)rng_below(rng, 256));
    return (struct http_text){to, n};
}

START_TEST(a_long_conversation)
{
    struct rng rng;
    rng_seed(&rng, 7541);
    for (unsigned round = 0; round < 2000; round++) {
        char text[20][2][64];
        struct http_field field[20];
        uint32_t n = (uint32_t)rng_below(&rng, 20);
        for (uint32_t i = 0; i < n; i++)
            field[i] = (struct http_field){.name = random_text(&rng, text[i][0], 4, true),
                                           .value = random_text(&rng, text[i][1], 64, false),
                                           .sensitive = rng_below(&rng, 8) == 0};
        if (rng_below(&rng, 10) == 0)
            ck_assert(hpack_encoder_table(&encoder, (uint32_t)rng_below(&rng, TABLE + 1)));
        if (rng_below(&rng, 10) == 0)
            hpack_encoder_rest(&encoder);
        if (rng_below(&rng, 10) == 0)
            hpack_decoder_rest(&decoder);
        int size = hpack_encode_trailers(&encoder, field, n, out, sizeof(out));
        ck_assert_int_ge(size, 0);
        ck_assert_int_eq(decode_bytes(out, (size_t)size), 0);
        ck_assert_uint_eq(f.n, n);
        for (uint32_t i = 0; i < n; i++)
            ck_assert(http_text_eq(f.field[i].name, field[i].name) &&
                      http_text_eq(f.field[i].value, field[i].value) &&
                      f.field[i].sensitive == field[i].sensitive);
    }
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_that_runs_out)
{
    struct hpack_decoder d;
    struct hpack_encoder e;
    struct h2_fields fields;
    size_t blocks = heap.blocks;
    size_t full = heap.bytes;
    for (size_t more = 0; more < 8192; more += 64) {
        heap.limit = full + more;
        struct hpack_mem *m = hpack_mem_create(&heap.mem);
        if (m) {
            hpack_decoder_init(&d, m, 65536);
            hpack_encoder_init(&e, m, TABLE);
            hpack_decoder_fini(&d);
            hpack_encoder_fini(&e);
        }
        hpack_mem_destroy(m);
        ck_assert_uint_eq(heap.blocks, blocks);
    }
    heap.limit = full;
    ck_assert(!hpack_decoder_init(&d, mem, TABLE));
    hpack_encoder_init(&e, mem, TABLE);
    ck_assert_int_eq(hpack_encode_trailers(&e, NULL, 0, out, sizeof(out)), HPACK_E_MEMORY);
    hpack_decoder_fini(&d);
    hpack_encoder_fini(&e);
    ck_assert_ptr_null(hpack_mem_create(&heap.mem));
    ck_assert(!h2_fields_init(&fields, &heap.mem, 10, 1024));
    heap.limit = full + 10 * sizeof(struct http_field);
    ck_assert(!h2_fields_init(&fields, &heap.mem, 10, 1024));
    ck_assert_uint_eq(heap.blocks, blocks);
    h2_fields_fini(&fields, &heap.mem);
}
END_TEST

START_TEST(memory_that_runs_out_at_work)
{
    heap.limit = heap.bytes;
    uint8_t bytes[2048] = {0x40, 1, 'a', 0x7f, 0x80 | (1900 - 127) % 128, (1900 - 127) / 128};
    ck_assert_int_eq(decode_bytes(bytes, 1906), HPACK_E_MEMORY);
    static char large[1900];
    memset(large, 'b', sizeof(large) - 1);
    struct http_field field[FIELDS];
    for (unsigned i = 0; i < FIELDS; i++)
        field[i] = field_of("a", large);
    static uint8_t much[FIELDS * 2048];
    ck_assert_int_eq(hpack_encode_trailers(&encoder, field, FIELDS, much, sizeof(much)),
                     HPACK_E_MEMORY);
}
END_TEST

UNIT_MAIN("hpack", setup, teardown, c2_literals, c3_requests, c4_requests_in_huffman_code,
          c4_encoded, c5_responses_with_eviction, c6_responses_in_huffman_code, an_empty_block,
          a_block_in_pieces, an_empty_last_piece, a_table_size_in_pieces,
          a_table_size_that_is_due_in_pieces, what_is_no_block, a_table_to_nothing_and_back,
          an_entry_larger_than_the_table, a_smaller_table_holds_from_the_ack,
          a_smaller_table_that_is_agreed, a_larger_table, fields_beyond_their_number_are_not_kept,
          a_list_beyond_its_size_is_not_kept, what_is_not_kept_is_decoded, bombs,
          bombs_of_large_entries, a_string_too_long, a_response, requests, trailers,
          what_is_indexed, no_room_changes_nothing, many_fields, the_peer_resizes_our_table,
          an_encoder_of_a_small_table, an_encoder_that_has_rested,
          an_encoder_that_is_told_before_its_first_block, a_decoder_that_has_rested,
          a_decoder_that_rests_with_an_empty_table, a_decoder_of_another_table_that_has_rested,
          no_memory_to_rest_or_to_wake, a_long_conversation, memory_that_runs_out,
          memory_that_runs_out_at_work)
