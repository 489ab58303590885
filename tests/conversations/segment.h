/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CONVERSATIONS_SEGMENT_H
#define MILLRACE_CONVERSATIONS_SEGMENT_H

/*
 * A TCP segment as scripts write one, with numbers that count from both sides' initial sequence
 * numbers. It is written and read here bit by bit, not by lib/wire: that is a part of what is
 * tested.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_HEADER_MAX 60u
#define SEGMENT_OPTIONS    40u
#define SEGMENT_TEXT       600u

/* As in the header. */
enum segment_flag {
    FLAG_F = 1u << 0,
    FLAG_S = 1u << 1,
    FLAG_R = 1u << 2,
    FLAG_P = 1u << 3,
    FLAG_ACK = 1u << 4,
    FLAG_U = 1u << 5,
    FLAG_E = 1u << 6,
    FLAG_W = 1u << 7,
};

enum option_kind {
    OPTION_EOL = 0,
    OPTION_NOP = 1,
    OPTION_MSS = 2,
    OPTION_WSCALE = 3,
    OPTION_SACK_OK = 4,
    OPTION_SACK = 5,
    OPTION_TS = 8,
    OPTION_HEX = 256, /* bytes as they are */
};

struct option {
    unsigned kind;
    uint32_t value; /* MSS, shift, timestamp */
    uint32_t echo;
    bool any_value; /* "?": expected to be anything */
    bool any_echo;
    unsigned n; /* SACK blocks, or bytes of HEX */
    struct {
        uint32_t left, right;
    } sack[4];
    uint8_t hex[SEGMENT_OPTIONS];
};

struct segment {
    unsigned flow; /* @n */
    int ecn;       /* of the IP header; -1: not said */
    unsigned flags;
    uint32_t seq;
    uint32_t len;
    bool has_ack; /* and was not left open */
    bool has_window;
    bool any_options; /* "<...>" */
    bool bad_sum;
    uint32_t ack;
    uint32_t window; /* as on the wire */
    uint32_t urgent; /* pointer; 0: none */
    unsigned n_options;
    struct option option[SEGMENT_OPTIONS];
    char content; /* which bytes its data are */
};

/* What relative numbers count from. */
struct bases {
    uint32_t seq; /* the sender's */
    uint32_t ack; /* the receiver's; SACK blocks too */
    uint32_t ts_value;
    uint32_t ts_echo;
};

/* The header with its options, checksum zero; returns its length, 0 where the options do not fit.
 */
size_t segment_emit(const struct segment *s, const struct bases *b, uint16_t src_port,
                    uint16_t dst_port, uint8_t *dst);
/* NULL, or what is wrong with it. n: bytes of header and data. len of the header in *header. */
const char *segment_parse(const uint8_t *at, size_t n, const struct bases *b, struct segment *s,
                          size_t *header);
/* NULL, or what of `is` differs from `should`, in two words. */
const char *segment_differs(const struct segment *is, const struct segment *should);
/* As a script would have it. */
void segment_print(const struct segment *s, char text[SEGMENT_TEXT]);

#endif
