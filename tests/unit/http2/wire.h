/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_H2_WIRE_H
#define MILLRACE_TESTS_H2_WIRE_H

/* Frames by hand, to the server of a pair (pair.h) whose client says nothing, and what it answers.
 */

#include <string.h>

#include "pair.h"

static uint8_t wire_out[1u << 18];
static uint32_t wire_n;

static inline void wire_frame(uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
                              uint32_t n)
{
    static uint8_t bytes[1u << 16];
    struct h2_frame f = {.length = n, .type = type, .flags = flags, .stream = stream};
    uint8_t *at = h2_frame_write(bytes, &f);
    if (n > 0)
        memcpy(at, payload, n);
    h2_pair_inject(&pair.server, bytes, H2_FRAME_HEADER + n);
}

/* n zeroes. */
static inline void wire_zeroes(uint8_t type, uint8_t flags, uint32_t stream, uint32_t n)
{
    static const uint8_t zeroes[1u << 15];
    wire_frame(type, flags, stream, zeroes, n);
}

static inline void wire_word(uint8_t type, uint32_t stream, uint32_t word)
{
    uint8_t b[4] = {(uint8_t)(word >> 24), (uint8_t)(word >> 16), (uint8_t)(word >> 8),
                    (uint8_t)word};
    wire_frame(type, 0, stream, b, 4);
}

static inline void wire_setting(uint16_t id, uint32_t value)
{
    uint8_t b[H2_SETTINGS_ENTRY];
    h2_setting_write(b, id, value);
    wire_frame(H2_SETTINGS, 0, 0, b, sizeof(b));
}

/* What the server has to say, to be looked at; services run before it where `serve` is set. */
static inline void wire_take(bool serve)
{
    uint32_t n;
    wire_n = 0;
    if (serve)
        h2_pair_serve();
    while ((n = h2_output(&pair.server.conn, wire_out + wire_n, 16384, pair.now)) > 0) {
        wire_n += n;
        ck_assert_uint_le(wire_n, sizeof(wire_out) - 16384);
        if (serve)
            h2_pair_serve();
    }
}

/* Preface, SETTINGS and the ACK of the server's. */
static inline void wire_greet(void)
{
    h2_pair_connect();
    h2_pair_inject(&pair.server, H2_PREFACE, H2_PREFACE_SIZE);
    wire_zeroes(H2_SETTINGS, 0, 0, 0);
    wire_zeroes(H2_SETTINGS, H2_FLAG_ACK, 0, 0);
    wire_take(true);
}

static inline void wire_again(void)
{
    h2_pair_teardown();
    h2_pair_setup();
    wire_greet();
}

/* The payload of the first such frame; NULL: there is none. */
static inline const uint8_t *wire_find(uint8_t type, uint32_t stream, struct h2_frame *f)
{
    for (uint32_t at = 0; at < wire_n; at += H2_FRAME_HEADER + f->length) {
        *f = h2_frame_parse(wire_out + at);
        if (f->type == type && f->stream == stream)
            return wire_out + at + H2_FRAME_HEADER;
    }
    return NULL;
}

/* Codes of RST_STREAM and GOAWAY; -1: none. */
static inline int wire_reset(uint32_t stream)
{
    struct h2_frame f;
    const uint8_t *p = wire_find(H2_RST_STREAM, stream, &f);
    return p ? (int)h2_u32(p) : -1;
}

static inline int wire_goaway(void)
{
    struct h2_frame f;
    const uint8_t *p = wire_find(H2_GOAWAY, 0, &f);
    return p ? (int)h2_u32(p + 4) : -1;
}

/* A block: POST or GET of a path. */
static inline uint32_t wire_block(uint8_t *to, bool post, const char *path)
{
    uint32_t n = (uint32_t)strlen(path);
    to[0] = post ? 0x83 : 0x82;
    to[1] = 0x87;
    to[2] = 0x01; /* :authority, never in the table */
    to[3] = 1;
    to[4] = 'a';
    to[5] = 0x04; /* :path */
    to[6] = (uint8_t)n;
    memcpy(to + 7, path, n);
    return 7 + n;
}

static inline void wire_request(uint32_t id, const char *path, bool end)
{
    uint8_t block[128];
    uint32_t n = wire_block(block, !end, path);
    wire_frame(H2_HEADERS, (uint8_t)(H2_FLAG_END_HEADERS | (end ? H2_FLAG_END_STREAM : 0)), id,
               block, n);
}

/* Takes the connection to be of no use, for this. */
static inline void wire_expect_end(enum h2_error error)
{
    wire_take(false);
    ck_assert(h2_has(&pair.server.conn, H2_CONN_FAILED));
    ck_assert_int_eq(wire_goaway(), (int)error);
}

#endif
