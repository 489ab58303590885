/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_TCP_H
#define MILLRACE_WIRE_TCP_H

/*
 * TCP (RFC 9293 3.1):
 *
 *         0                              16                      31
 *        +-------------------------------+-----------------------+
 *      0 |          source port          |   destination port    |
 *        +-------------------------------+-----------------------+
 *      4 |                    sequence number                    |
 *        +-------------------------------------------------------+
 *      8 |                 acknowledgment number                 |
 *        +-------+-----+-----------------+-----------------------+
 *     12 |offset |     |A C E U A P R S F|        window         |
 *        +-------+-----+-----------------+-----------------------+
 *     16 |           checksum            |    urgent pointer     |
 *        +-------------------------------+-----------------------+
 *     20 |   options, padded with zeroes to 4 * offset bytes     |
 *        +-------------------------------------------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/serial.h"
#include "wire/checksum.h"

#define TCP_LEN            20u
#define TCP_HEADER_MAX     60u
#define TCP_SACK_MAX       4u   /* blocks that an option has room for (RFC 2018 3) */
#define TCP_WSCALE_MAX     14u  /* RFC 7323 2.3 */
#define TCP_MSS_DEFAULT4   536u /* RFC 9293 3.7.1, where the other side says nothing */
#define TCP_MSS_DEFAULT6   1220u
#define TCP_TIMESTAMPS_LEN 12u /* the option with its padding, as everybody lays it out */

enum tcp_flag {
    TCP_FIN = 1u << 0,
    TCP_SYN = 1u << 1,
    TCP_RST = 1u << 2,
    TCP_PSH = 1u << 3,
    TCP_ACK = 1u << 4,
    TCP_URG = 1u << 5,
    TCP_ECE = 1u << 6, /* RFC 3168 6.1 */
    TCP_CWR = 1u << 7,
    TCP_AE = 1u << 8, /* RFC 9768; read, never sent */
};

/* A block of received bytes: from left up to, not including, right. */
struct tcp_sack {
    seq32_t left;
    seq32_t right;
};

/* Options that a segment has (parse) or is to have (emit). */
struct tcp_options {
    bool has_mss;
    bool has_wscale;
    bool sack_permitted;
    bool has_timestamps;
    uint8_t wscale; /* parse: at most TCP_WSCALE_MAX (RFC 7323 2.3) */
    uint8_t n_sack; /* 0..TCP_SACK_MAX */
    uint16_t mss;
    uint32_t ts_value; /* RFC 7323 3.2 */
    uint32_t ts_echo;
    struct tcp_sack sack[TCP_SACK_MAX]; /* in the order of the option */
};

struct tcp_hdr {
    uint16_t src_port;
    uint16_t dst_port;
    seq32_t seq;
    seq32_t ack;     /* with TCP_ACK */
    uint16_t flags;  /* enum tcp_flag */
    uint16_t window; /* as on the wire, not scaled */
    uint16_t urgent;
    uint8_t len; /* parse: of the header with options */
    struct tcp_options options;
};

/*
 * contiguous: bytes that may be read at `at`. available: bytes of the IP payload, later views
 * included (>= contiguous). The checksum is the caller's to verify, over pseudo header and all of
 * available, counted as TCP_CHECKSUM.
 *
 * Options are taken whole or not at all. MSS, window scale and SACK-permitted count only in a SYN
 * and are skipped elsewhere; SACK counts only outside of a SYN; of an option that comes twice the
 * first counts; unknown ones are skipped (RFC 9293 3.1, MUST-6). An MSS of 0 counts as none.
 *
 * Returns the header's length. Errors: TCP_SHORT (under 20 bytes, or contiguous does not hold the
 * header), TCP_OFFSET (data offset under 5 or beyond available), TCP_OPTION (an option whose length
 * is impossible, MUST-7: under 2, beyond the header, or not that of its kind).
 */
int tcp_parse(const uint8_t *at, size_t contiguous, size_t available, struct tcp_hdr *h);

/* Bytes of header and options that tcp_emit will write: a multiple of 4, at most TCP_HEADER_MAX.
 * The options asked for must fit (MSS 4, window scale 4, SACK permitted 4 or, padded into the
 * timestamps' space, 0, timestamps 12, n SACK blocks 4 + 8n). */
size_t tcp_header_len(const struct tcp_options *o);

/* SACK blocks that fit beside the other options of o. */
unsigned tcp_sack_room(const struct tcp_options *o);

/*
 * dst holds tcp_header_len bytes; rest is the sum of the pseudo header and of the data. Returns the
 * header's length. h->len is not read. TCP_SYN: MSS, SACK permitted, timestamps, window scale;
 * otherwise timestamps, SACK; each aligned to four bytes.
 */
size_t tcp_emit(const struct tcp_hdr *h, struct checksum rest, uint8_t *dst);
/* The same with the checksum left for the device (PKT_TX_L4_CSUM): the field holds the pseudo
 * header's sum. */
size_t tcp_emit_offload(const struct tcp_hdr *h, struct checksum pseudo, uint8_t *dst);

/* Numbers of the sequence space that a segment with `payload` bytes takes (RFC 9293 3.4). */
static inline uint32_t tcp_seq_len(const struct tcp_hdr *h, uint32_t payload)
{
    return payload + !!(h->flags & TCP_SYN) + !!(h->flags & TCP_FIN);
}

#endif
