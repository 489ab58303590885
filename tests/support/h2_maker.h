/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_H2_MAKER_H
#define MILLRACE_TESTS_H2_MAKER_H

/*
 * HTTP/2 frames made of a fuzzer's input: most are such as a peer sends, and some are wrong in one
 * place.
 */

#include "base/bytes.h"
#include "wire/h2.h"

#define H2_MAKER_ROOM 2048u

struct h2_maker {
    struct reader *in;
    bool client;   /* they are for one */
    uint32_t next; /* stream to open */
    uint8_t *at;
};

static void put_literal(struct h2_maker *m, uint8_t kind, const char *name, const char *value)
{
    *m->at++ = kind;
    size_t n = strlen(name);
    *m->at++ = (uint8_t)n;
    memcpy(m->at, name, n);
    m->at += n;
    n = strlen(value);
    *m->at++ = (uint8_t)n;
    memcpy(m->at, value, n);
    m->at += n;
}

struct pair {
    const char *name;
    const char *value;
};

static const struct pair fields[] = {
    {"x-a", "1"},
    {"cookie", "a=b"},
    {"cookie", "c=d"},
    {"content-length", "0"},
    {"content-length", "5"},
    {"te", "trailers"},
    {"host", "a.example"},
    {"x-empty", ""},
    {"accept", "text/html"},
    {"te", "gzip"},
    {"connection", "close"},
    {"Upper", "1"},
    {"x-b", "a\nb"},
    {"x-c", " space"},
    {":path", "/late"},
    {":unknown", "x"},
    {"transfer-encoding", "chunked"},
    {"content-length", "x"},
    {"host", "b.example"},
    {"", "no name"},
    {"x d", "space in its name"},
    {":protocol", "websocket"},
    {":status", "200"},
    {"upgrade", "h2c"},
    {"content-length", "10"},
    {"content-length", "18446744073709551616"},
    {"x-high", "\x80\xff"},
    {"proxy-connection", "x"},
    {"keep-alive", "x"},
    {"date", "Mon"},
    {"x-tab", "a\tb"},
    {"x-del", "\x7f"},
};

static const char *const methods[] = {"GET",     "POST", "HEAD", "CONNECT",
                                      "OPTIONS", "get",  "",     "A B"};
static const char *const paths[] = {"/", "/a?b", "*", "", "no-slash", "/#", "/ ", "/\x80"};
static const char *const authorities[] = {"a.example", "a.example:80", "",    "u@h",
                                          "[::1]:8",   "a b",          "a:b", "a/b"};
static const char *const statuses[] = {"200", "204", "304", "100", "103", "101", "20", "2000"};

static void make_fields(struct h2_maker *m, uint8_t how)
{
    for (unsigned n = how & 3; n > 0; n--) {
        uint8_t which = reader_u8(m->in);
        const struct pair *f = &fields[which % (sizeof(fields) / sizeof(fields[0]))];
        put_literal(m, which & 0x80 ? 0x40 : 0, f->name, f->value);
    }
}

static void make_block(struct h2_maker *m)
{
    uint8_t how = reader_u8(m->in);
    uint8_t which = reader_u8(m->in);
    if (how & 0x80) { /* trailers, or pseudo-header fields are missing */
        make_fields(m, how);
        return;
    }
    if (m->client) {
        put_literal(m, 0x40, ":status", statuses[which & 7]);
        make_fields(m, how);
        return;
    }
    put_literal(m, 0, ":method", methods[which & (how & 4 ? 7 : 1)]);
    if (how & 8) {
        put_literal(m, 0, ":scheme", how & 16 ? "https" : "1x");
    } else {
        *m->at++ = 0x87;
    }
    if (!(how & 32))
        put_literal(m, 0x40, ":path", paths[how & 4 ? which >> 3 & 7 : which >> 3 & 1]);
    if (how & 64)
        put_literal(m, 0x10, ":authority", authorities[how & 4 ? which >> 6 : 0]);
    if (how & 64 && how & 4 && which & 1)
        put_literal(m, 0x10, ":authority", authorities[which & 7]);
    make_fields(m, how);
}

static void make_bytes(struct h2_maker *m, unsigned n)
{
    for (; n > 0; n--)
        *m->at++ = reader_u8(m->in);
}

static void make_word(struct h2_maker *m, uint32_t w)
{
    store_be32(m->at, w);
    m->at += 4;
}

static void make_setting(struct h2_maker *m)
{
    static const uint32_t values[] = {0,     1,          2,          100,        4096,  16383,
                                      16384, 65535,      0x7fffffff, 0x80000000, 65536, 16777215,
                                      5,     0xffffffff, 1000,       16777216};
    uint8_t how = reader_u8(m->in);
    m->at += h2_setting_write(m->at, how >> 4, values[how & 15]);
}

/* An increment, or an error code, and such. */
static uint32_t some_number(struct h2_maker *m)
{
    static const uint32_t numbers[] = {0, 1, 7, 8, 1000, 65535, 0x7fffffff, 0x7fff0000};
    uint8_t how = reader_u8(m->in);
    return how & 0x80 ? how & 0x7f : numbers[how & 7];
}

static uint32_t make_stream(struct h2_maker *m, uint8_t type)
{
    uint8_t which = reader_u8(m->in);
    if (which & 0x80 && type == H2_HEADERS) {
        m->next += 2;
        return m->next - 2;
    }
    return which & 0x40 ? which & 15 : (which & 7) * 2u + 1;
}

static void make_payload(struct h2_maker *m, uint8_t type)
{
    switch (type) {
    case H2_HEADERS:
    case H2_CONTINUATION: make_block(m); break;
    case H2_DATA: {
        uint32_t n = reader_u8(m->in) * (reader_u8(m->in) % 5u);
        memset(m->at, (int)n, n);
        m->at += n;
        break;
    }
    case H2_SETTINGS:
        for (unsigned n = reader_u8(m->in) & 3; n > 0; n--)
            make_setting(m);
        break;
    case H2_PING: make_bytes(m, 8); break;
    case H2_GOAWAY:
        make_word(m, some_number(m));
        make_word(m, some_number(m));
        break;
    case H2_PRIORITY:
        make_word(m, some_number(m));
        make_bytes(m, 1);
        break;
    case H2_PRIORITY_UPDATE:
        make_word(m, some_number(m));
        memcpy(m->at, "u=1", 3);
        m->at += 3;
        break;
    case H2_RST_STREAM:
    case H2_WINDOW_UPDATE: make_word(m, some_number(m)); break;
    default: make_bytes(m, reader_u8(m->in) & 31); break;
    }
}

static const uint8_t types[16] = {
    H2_HEADERS,      H2_HEADERS,      H2_HEADERS,         H2_DATA,
    H2_DATA,         H2_SETTINGS,     H2_SETTINGS,        H2_PING,
    H2_GOAWAY,       H2_PRIORITY,     H2_RST_STREAM,      H2_WINDOW_UPDATE,
    H2_CONTINUATION, H2_PUSH_PROMISE, H2_PRIORITY_UPDATE, 0x20};

/* Returns its size; out has H2_MAKER_ROOM. */
static size_t h2_make_frame(struct h2_maker *m, uint8_t *out)
{
    uint8_t how = reader_u8(m->in);
    uint8_t flags = reader_u8(m->in);
    struct h2_frame f = {.type = types[how & 15]};
    f.flags = flags & (H2_FLAG_END_STREAM | H2_FLAG_PADDED | H2_FLAG_PRIORITY);
    bool whole = f.type == H2_HEADERS || f.type == H2_CONTINUATION;
    if (whole && !(flags & 2))
        f.flags |= H2_FLAG_END_HEADERS;
    if (f.type == H2_SETTINGS || f.type == H2_PING)
        f.flags = how >> 4 == 1 ? H2_FLAG_ACK : 0;
    bool connection = f.type == H2_SETTINGS || f.type == H2_PING || f.type == H2_GOAWAY ||
                      f.type == H2_PRIORITY_UPDATE || (f.type == H2_WINDOW_UPDATE && how & 0x80);
    f.stream = connection && how >> 4 != 2 ? 0 : make_stream(m, f.type);
    bool padded = f.flags & H2_FLAG_PADDED && (f.type == H2_HEADERS || f.type == H2_DATA);
    m->at = out + H2_FRAME_HEADER;
    if (padded)
        *m->at++ = flags >> 6 ? 3 : flags & 0x10 ? 255 : 0;
    if (f.flags & H2_FLAG_PRIORITY && f.type == H2_HEADERS) {
        make_word(m, some_number(m));
        *m->at++ = 16;
    }
    if (!(f.flags == H2_FLAG_ACK && f.type == H2_SETTINGS))
        make_payload(m, f.type);
    if (padded && flags >> 6) {
        memset(m->at, 0, 3);
        m->at += 3;
    }
    if (how >> 4 == 3) /* too short, by one */
        m->at -= m->at > out + H2_FRAME_HEADER;
    if (how >> 4 == 4)
        *m->at++ = 0;
    f.length = (uint32_t)(m->at - out) - H2_FRAME_HEADER;
    h2_frame_write(out, &f);
    return H2_FRAME_HEADER + f.length;
}

#endif
