/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CTL_REQUEST_H
#define MILLRACE_CTL_REQUEST_H

/*
 * What the control core asks of one worker's stack, and the answer, as one struct that travels over
 * a ring and comes back. The stack fills the answer and keeps no pointer to it. Listings are paged:
 * each call fills up to max rows from cursor on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "wire/addr.h"

/* X(enumerator, name) */
#define CTL_NEIGHBOUR_STATES(X) \
    X(INCOMPLETE, "incomplete") \
    X(REACHABLE, "reachable")   \
    X(STALE, "stale")           \
    X(DELAY, "delay")           \
    X(PROBE, "probe")           \
    X(FAILED, "failed")

/* RFC 4861 7.3.2, for ARP as well; FAILED: no answer, kept for a moment so that a flood does not
 * ask again for each packet. */
enum ctl_neighbour_state {
#define X(id, name) CTL_NEIGHBOUR_##id,
    CTL_NEIGHBOUR_STATES(X)
#undef X
};

struct ctl_neighbour {
    struct ip_addr addr;
    struct mac_addr mac; /* zero in INCOMPLETE and FAILED */
    uint16_t iface;
    enum ctl_neighbour_state state;
    bool router;      /* a configured gateway */
    uint32_t queued;  /* packets waiting for it */
    tick_t confirmed; /* age of the last confirmation, TICK_NEVER: never */
};

#define CTL_ADDRESS_STATES(X) \
    X(TENTATIVE, "tentative") \
    X(PREFERRED, "preferred") \
    X(DUPLICATE, "duplicate")

enum ctl_address_state {
#define X(id, name) CTL_ADDRESS_##id,
    CTL_ADDRESS_STATES(X)
#undef X
};

struct ctl_address {
    struct ip_prefix prefix;
    uint16_t iface;
    enum ctl_address_state state;
    bool link_local; /* made by the stack */
};

struct ctl_path {
    struct ip_addr remote;
    uint16_t mtu;
    tick_t expires; /* from now */
};

#define CTL_REQUESTS(X)                     \
    X(NEIGHBOURS, "neighbours")             \
    X(NEIGHBOURS_FLUSH, "neighbours_flush") \
    X(ADDRESSES, "addresses")               \
    X(PATHS, "paths")

enum ctl_request_kind {
#define X(id, name) CTL_##id,
    CTL_REQUESTS(X)
#undef X
        CTL_REQUEST_END
};

struct ctl_request {
    enum ctl_request_kind kind;
    union {
        struct ctl_neighbour *neighbour;
        struct ctl_address *address;
        struct ctl_path *path;
    } rows;          /* in: room for max rows */
    uint32_t max;    /* in */
    uint32_t cursor; /* in: 0 at first; out: where the next page starts */
    uint32_t n;      /* out: rows filled; for a flush, neighbours forgotten */
    bool more;       /* out: another page follows */
};

const char *ctl_neighbour_state_name(enum ctl_neighbour_state s);
const char *ctl_address_state_name(enum ctl_address_state s);
const char *ctl_request_name(enum ctl_request_kind k);

#endif
