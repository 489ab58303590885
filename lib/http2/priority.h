/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_PRIORITY_H
#define MILLRACE_HTTP2_PRIORITY_H

/*
 * What a client says of who is to be sent first, and which word of it holds at a server:
 *
 *     policy     follows
 *     URGENCY    RFC 9218: PRIORITY_UPDATE, else the request's `priority` field
 *     TREE       RFC 7540 5.3: PRIORITY and the priority part of HEADERS; but URGENCY where the
 *                client's first SETTINGS have NO_RFC7540_PRIORITIES = 1
 *     others     nothing
 *
 * A `priority` field of a response is for those who are in between, and changes nothing here
 * (RFC 9218 8 leaves it open). A client's connection follows nothing.
 *
 * What is said of streams that are not open yet is kept: of URGENCY the latest H2_EARLY_MOST, or
 * max_streams where that is less. In the tree they have placeholders, as streams that are closed
 * have for a while (RFC 7540 5.3.4): max_streams and H2_KEPT_MORE at most. Beyond, the oldest
 * goes, and is counted (h2_priorities_lost), as what would make the tree too deep is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "sched/tree.h"
#include "stream/http.h"

#define H2_EARLY_MOST 256u
#define H2_KEPT_MORE  32u

struct h2_conn;
struct h2_stream;

/* PRIORITY's payload (RFC 7540 6.3). */
struct h2_dependency {
    uint32_t on;     /* 0: the root */
    uint16_t weight; /* 1..256; 0: nothing was said */
    bool exclusive;
};

#define H2_DEPENDENCY_SIZE 5u
struct h2_dependency h2_dependency_parse(const uint8_t payload[H2_DEPENDENCY_SIZE]);

struct h2_early;

struct h2_priorities {
    struct sched_tree_node root;
    struct list kept; /* placeholders, the oldest first */
    uint32_t n_kept;
    uint32_t n_early;
    struct h2_early *early; /* the oldest first; NULL: nobody has said anything yet */
};

/* With the policy, before streams. */
void h2_priorities_init(struct h2_conn *c);
/* After all streams are gone. */
void h2_priorities_fini(struct h2_conn *c);
/* The connection is idle: forgets closed streams. */
void h2_priorities_tidy(struct h2_conn *c);
uint32_t h2_priorities_cost(const struct h2_conn *c);

/* The other side's first SETTINGS have come, and no stream yet. */
void h2_priorities_settled(struct h2_conn *c);
/* s opens, by that head; d: the priority part of its HEADERS. */
void h2_priority_open(struct h2_stream *s, const struct http_head *h,
                      const struct h2_dependency *d);
/* s, which is not ready to send any more, closes. */
void h2_priority_close(struct h2_stream *s);
/* PRIORITY, whose stream does not depend on itself. */
void h2_priority_depend(struct h2_conn *c, uint32_t id, const struct h2_dependency *d);
/* PRIORITY_UPDATE of a stream of the other side. False: it is a connection error (RFC 9218 7.1). */
bool h2_priority_update(struct h2_conn *c, uint32_t id, struct http_text value);

#endif
