/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_H2_H
#define MILLRACE_WIRE_H2_H

/*
 * HTTP/2 frames (RFC 9113 4 and 6) as bytes: the header, and the fixed part of each payload. What a
 * frame may say and when is lib/http2's business; here is only what can be seen of its bytes.
 *
 *    0                   1                   2                   3
 *    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *   +-----------------------------------------------+---------------+
 *   |                 Length (24)                   |   Type (8)    |
 *   +---------------+-+-----------------------------+---------------+
 *   |   Flags (8)   |R|                Stream Identifier (31)       |
 *   +---------------+-+---------------------------------------------+
 *   |                       Payload (Length)                      ...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define H2_FRAME_HEADER      9u
#define H2_FRAME_SIZE_MIN    16384u    /* SETTINGS_MAX_FRAME_SIZE's least and first value (6.5.2) */
#define H2_FRAME_SIZE_MAX    16777215u /* and its most */
#define H2_WINDOW_FIRST      65535u    /* of a connection, and of streams until SETTINGS (6.9.2) */
#define H2_WINDOW_MAX        0x7fffffffu
#define H2_STREAM_MAX        0x7fffffffu
#define H2_HEADER_TABLE_SIZE 4096u /* SETTINGS_HEADER_TABLE_SIZE's first value */

#define H2_PREFACE      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" /* RFC 9113 3.4 */
#define H2_PREFACE_SIZE 24u

/* X(enumerator, number, name): RFC 9113 6, RFC 9218 7.1. */
#define H2_FRAMES(X)                       \
    X(DATA, 0x0, "DATA")                   \
    X(HEADERS, 0x1, "HEADERS")             \
    X(PRIORITY, 0x2, "PRIORITY")           \
    X(RST_STREAM, 0x3, "RST_STREAM")       \
    X(SETTINGS, 0x4, "SETTINGS")           \
    X(PUSH_PROMISE, 0x5, "PUSH_PROMISE")   \
    X(PING, 0x6, "PING")                   \
    X(GOAWAY, 0x7, "GOAWAY")               \
    X(WINDOW_UPDATE, 0x8, "WINDOW_UPDATE") \
    X(CONTINUATION, 0x9, "CONTINUATION")   \
    X(PRIORITY_UPDATE, 0x10, "PRIORITY_UPDATE")

enum h2_frame_type {
#define X(id, number, name) H2_##id = number,
    H2_FRAMES(X)
#undef X
};

enum h2_flag {
    H2_FLAG_ACK = 0x1,        /* SETTINGS, PING */
    H2_FLAG_END_STREAM = 0x1, /* DATA, HEADERS */
    H2_FLAG_END_HEADERS = 0x4,
    H2_FLAG_PADDED = 0x8,
    H2_FLAG_PRIORITY = 0x20,
};

/* X(enumerator, number, name): RFC 9113 7. */
#define H2_ERRORS(X)                                   \
    X(NO_ERROR, 0x0, "NO_ERROR")                       \
    X(PROTOCOL_ERROR, 0x1, "PROTOCOL_ERROR")           \
    X(INTERNAL_ERROR, 0x2, "INTERNAL_ERROR")           \
    X(FLOW_CONTROL_ERROR, 0x3, "FLOW_CONTROL_ERROR")   \
    X(SETTINGS_TIMEOUT, 0x4, "SETTINGS_TIMEOUT")       \
    X(STREAM_CLOSED, 0x5, "STREAM_CLOSED")             \
    X(FRAME_SIZE_ERROR, 0x6, "FRAME_SIZE_ERROR")       \
    X(REFUSED_STREAM, 0x7, "REFUSED_STREAM")           \
    X(CANCEL, 0x8, "CANCEL")                           \
    X(COMPRESSION_ERROR, 0x9, "COMPRESSION_ERROR")     \
    X(CONNECT_ERROR, 0xa, "CONNECT_ERROR")             \
    X(ENHANCE_YOUR_CALM, 0xb, "ENHANCE_YOUR_CALM")     \
    X(INADEQUATE_SECURITY, 0xc, "INADEQUATE_SECURITY") \
    X(HTTP_1_1_REQUIRED, 0xd, "HTTP_1_1_REQUIRED")

enum h2_error {
#define X(id, number, name) H2_##id = number,
    H2_ERRORS(X)
#undef X
};

/* X(enumerator, number, name): RFC 9113 6.5.2, RFC 8441 3, RFC 9218 2.1. */
#define H2_SETTINGS_IDS(X)                                     \
    X(HEADER_TABLE_SIZE, 0x1, "HEADER_TABLE_SIZE")             \
    X(ENABLE_PUSH, 0x2, "ENABLE_PUSH")                         \
    X(MAX_CONCURRENT_STREAMS, 0x3, "MAX_CONCURRENT_STREAMS")   \
    X(INITIAL_WINDOW_SIZE, 0x4, "INITIAL_WINDOW_SIZE")         \
    X(MAX_FRAME_SIZE, 0x5, "MAX_FRAME_SIZE")                   \
    X(MAX_HEADER_LIST_SIZE, 0x6, "MAX_HEADER_LIST_SIZE")       \
    X(ENABLE_CONNECT_PROTOCOL, 0x8, "ENABLE_CONNECT_PROTOCOL") \
    X(NO_RFC7540_PRIORITIES, 0x9, "NO_RFC7540_PRIORITIES")

enum h2_settings_id {
#define X(id, number, name) H2_SETTINGS_##id = number,
    H2_SETTINGS_IDS(X)
#undef X
};

struct h2_frame {
    uint32_t length;
    uint32_t stream; /* without the reserved bit */
    uint8_t type;    /* enum h2_frame_type, or one we do not know */
    uint8_t flags;
};

/* NULL: not known. */
const char *h2_frame_name(uint8_t type);
const char *h2_error_name(uint32_t error);
const char *h2_settings_name(uint16_t id);

static inline struct h2_frame h2_frame_parse(const uint8_t b[H2_FRAME_HEADER])
{
    return (struct h2_frame){
        .length = (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2],
        .type = b[3],
        .flags = b[4],
        .stream = ((uint32_t)b[5] << 24 | (uint32_t)b[6] << 16 | (uint32_t)b[7] << 8 | b[8]) &
                  H2_STREAM_MAX,
    };
}

/* Writes a header. length <= H2_FRAME_SIZE_MAX, stream <= H2_STREAM_MAX. Returns what follows it.
 */
static inline uint8_t *h2_frame_write(uint8_t *b, const struct h2_frame *f)
{
    b[0] = (uint8_t)(f->length >> 16);
    b[1] = (uint8_t)(f->length >> 8);
    b[2] = (uint8_t)f->length;
    b[3] = f->type;
    b[4] = f->flags;
    b[5] = (uint8_t)(f->stream >> 24);
    b[6] = (uint8_t)(f->stream >> 16);
    b[7] = (uint8_t)(f->stream >> 8);
    b[8] = (uint8_t)f->stream;
    return b + H2_FRAME_HEADER;
}

/* Whole frames of a fixed size, header included; each returns its size. out has room for it. */
#define H2_RST_STREAM_SIZE    (H2_FRAME_HEADER + 4)
#define H2_WINDOW_UPDATE_SIZE (H2_FRAME_HEADER + 4)
#define H2_PING_SIZE          (H2_FRAME_HEADER + 8)
#define H2_SETTINGS_ENTRY     6u
#define H2_GOAWAY_SIZE        (H2_FRAME_HEADER + 8) /* without debug data */
uint32_t h2_rst_stream_write(uint8_t *out, uint32_t stream, uint32_t error);
uint32_t h2_window_update_write(uint8_t *out, uint32_t stream, uint32_t increment);
uint32_t h2_ping_write(uint8_t *out, bool ack, const uint8_t opaque[8]);
uint32_t h2_goaway_write(uint8_t *out, uint32_t last, uint32_t error);
uint32_t h2_settings_ack_write(uint8_t *out);
/* An entry of a SETTINGS payload, and one of it read. */
uint32_t h2_setting_write(uint8_t *out, uint16_t id, uint32_t value);
static inline uint16_t h2_setting_id(const uint8_t *entry)
{
    return (uint16_t)(entry[0] << 8 | entry[1]);
}
static inline uint32_t h2_u32(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}
static inline uint32_t h2_setting_value(const uint8_t *entry)
{
    return h2_u32(entry + 2);
}

#endif
