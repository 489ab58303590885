/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_MEMO_H
#define MILLRACE_HTTP2_MEMO_H

/*
 * The last head of a worker, each way, for the next that is the same: a client that asks for one
 * thing over and over sends the same bytes for it, and is answered by the same. A block that leaves
 * the dynamic table (RFC 7541 2.3.2) as it is means the same again while no other block of its
 * connection comes between; so another forgets it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "stream/http.h"

struct h2_conn;

#define H2_MEMO_ASKED    64u
#define H2_MEMO_ANSWERED 256u

struct h2_memo {
    /* A request received. head points into h2->fields, which is as it was then. */
    const struct h2_conn *from; /* NULL: none */
    uint32_t n_asked;
    uint8_t asked[H2_MEMO_ASKED];
    struct http_head head;
    /* A response sent, by its number (http_head.same). */
    const struct h2_conn *to; /* NULL: none */
    uint64_t same;
    uint32_t n_answered;
    uint8_t answered[H2_MEMO_ANSWERED];
};

/* Of that connection both are forgotten: it begins, ends, or its tables change otherwise. */
void h2_memo_forget(struct h2_memo *m, const struct h2_conn *c);

/* The head that this block meant to c; NULL: not known. */
const struct http_head *h2_memo_asked(const struct h2_memo *m, const struct h2_conn *c,
                                      const uint8_t *block, uint32_t len);
/* It has meant head, to c. */
void h2_memo_ask(struct h2_memo *m, const struct h2_conn *c, const uint8_t *block, uint32_t len,
                 const struct http_head *head);

/* Bytes of the block for a head of that number, written to out, where there is room for
 * H2_MEMO_ANSWERED; 0: not known. */
uint32_t h2_memo_answered(const struct h2_memo *m, const struct h2_conn *c, uint64_t same,
                          uint8_t *out);
/* A head of that number (0: of none) was encoded for c. */
void h2_memo_answer(struct h2_memo *m, const struct h2_conn *c, uint64_t same, const uint8_t *block,
                    uint32_t len);

#endif
