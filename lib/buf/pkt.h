/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BUF_PKT_H
#define MILLRACE_BUF_PKT_H

/*
 * A packet view: where some bytes of a packet lie, how much may be written around them, and whose
 * memory they are in. In the appliance a view lives in its mbuf's private area (app/mbuf.c is the
 * only file that knows both); in tests it is heap memory (tests/support).
 *
 * Ownership. A view has one holder, who may move its bounds (pull, push, put, trim, append) and
 * gives it up with pkt_free. Passing a packet to a function that is said to take it passes that
 * right. There is no second holder of a view: who wants the same bytes too asks for a slice, which
 * is a view of its own with bounds of its own.
 *
 * Chains. Views linked by next form one packet; the head carries the metadata and the chain's
 * length. pkt_free frees the whole chain. The views of a chain may be owners and slices in any
 * mixture.
 *
 * Sharing. Memory belongs to the view that was allocated with it, its owner. A slice points at the
 * owner by base, even when it was taken of another slice, and holds one of the owner's refs; the
 * owner's holder has another. Memory with one reference left may be written, in and around the
 * view, by whoever holds that one; memory with more is read-only to everyone, its headroom and
 * tailroom included (pkt_writable; pkt_push and pkt_put check it). Counts are not atomic: a packet
 * and all slices of it belong to one worker at a time.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pkt;
struct pkt_pool;

/* What is known of a received packet, and what is asked of the port for one to be sent. Valid in
 * the head of a chain. */
enum pkt_flag {
    PKT_RX_IP_CSUM_OK = 1u << 0,  /* the device verified the IPv4 header checksum */
    PKT_RX_L4_CSUM_OK = 1u << 1,  /* the device verified the TCP, UDP or SCTP checksum */
    PKT_RX_IP_CSUM_BAD = 1u << 2, /* the device found it wrong */
    PKT_RX_L4_CSUM_BAD = 1u << 3,
    PKT_RX_HASH = 1u << 4,      /* hash holds the device's RSS hash */
    PKT_RX_VLAN = 1u << 5,      /* the device stripped a tag into vlan */
    PKT_TX_IP_CSUM = 1u << 6,   /* fill the IPv4 header checksum (field is zero) */
    PKT_TX_L4_CSUM = 1u << 7,   /* fill the L4 checksum (field: pseudo-header sum; SCTP: zero) */
    PKT_TX_TSO = 1u << 8,       /* cut into segments of tso_mss payload bytes */
    PKT_TX_VLAN = 1u << 9,      /* insert vlan */
    PKT_IPV6 = 1u << 10,        /* with the TX flags: the network header is IPv6, not IPv4 */
    PKT_REASSEMBLED = 1u << 11, /* put together from fragments */
    PKT_COPY = 1u << 12,        /* of a packet that another worker has and counts */
};

struct pkt_ops {
    /* The last reference to this one view has gone; next and base are NULL. */
    void (*free)(struct pkt *p);
};

struct pkt {
    struct pkt *next;  /* next view of the chain, NULL at its end */
    uint8_t *data;     /* first byte */
    uint32_t len;      /* bytes at data */
    uint32_t total;    /* head only: bytes of the whole chain */
    uint16_t headroom; /* writable bytes before data */
    uint16_t tailroom; /* writable bytes after data + len */
    uint32_t refs;
    const struct pkt_ops *ops;
    struct pkt *base; /* a slice's owner of the memory, one reference to it; NULL in an owner */

    /* Head only. */
    uint16_t flags; /* enum pkt_flag */
    uint16_t iface; /* index of the interface it came from or goes to */
    uint16_t vlan;  /* 802.1Q tag control, host order */
    uint16_t tso_mss;
    uint16_t l2_len; /* header lengths, for the TX flags */
    uint16_t l3_len;
    uint16_t l4_len;
    uint8_t l4_proto; /* IP protocol number, with PKT_TX_L4_CSUM */
    uint8_t unused;
    uint32_t hash; /* with PKT_RX_HASH */
    uint32_t user; /* the present owner's to use (TCP: sequence number, reassembly: offset) */
};

_Static_assert(sizeof(struct pkt) <= 128, "two cache lines of an mbuf's private area");

/* Where a stack gets its packets; handed to it at creation. */
struct pkt_pool {
    /* A packet of len 0 with at least headroom bytes before data and room bytes after; metadata
     * zero; refs 1. NULL: none left. */
    struct pkt *(*alloc)(struct pkt_pool *pool);
    /* A bare view with refs 1 and no memory of its own, for pkt_slice to fill. NULL: none left. */
    struct pkt *(*alloc_view)(struct pkt_pool *pool);
    uint16_t headroom;
    uint16_t room;
};

#define pkt_for_each(v, head) for (struct pkt *v = (head); v; v = v->next)

static inline struct pkt *pkt_alloc(struct pkt_pool *pool)
{
    return pool->alloc(pool);
}

/* Gives up the chain. p may be NULL. */
void pkt_free(struct pkt *p);

/* May the bytes in and around this view be changed in place? Each view of a chain is asked alone.
 */
static inline bool pkt_writable(const struct pkt *p)
{
    return (p->base ? p->base : p)->refs == 1;
}

/* The head moves back by n bytes, for the caller to fill. NULL: headroom too small or memory
 * shared. */
static inline uint8_t *pkt_push(struct pkt *p, uint16_t n)
{
    if (n > p->headroom || !pkt_writable(p))
        return NULL;
    p->headroom = (uint16_t)(p->headroom - n);
    p->data -= n;
    p->len += n;
    p->total += n;
    return p->data;
}

/* The first n bytes of the head view leave it. n <= p->len. */
static inline void pkt_pull(struct pkt *p, uint32_t n)
{
    assert(n <= p->len && "pull stays within the head view");
    p->data += n;
    p->len -= n;
    p->total -= n;
    uint32_t headroom = p->headroom + n;
    p->headroom = headroom > UINT16_MAX ? UINT16_MAX : (uint16_t)headroom;
}

/* n more bytes at the end of a packet of one view, for the caller to fill. NULL as for pkt_push. */
static inline uint8_t *pkt_put(struct pkt *p, uint32_t n)
{
    assert(!p->next && "put extends a packet of one view");
    if (n > p->tailroom || !pkt_writable(p))
        return NULL;
    uint8_t *at = p->data + p->len;
    p->tailroom = (uint16_t)(p->tailroom - n);
    p->len += n;
    p->total += n;
    return at;
}

/*
 * The first n bytes of the chain leave it, n <= p->total. Returns the head from here on, which has
 * the metadata; views left empty before it are freed.
 */
struct pkt *pkt_advance(struct pkt *p, uint32_t n);

/* Cuts the chain to total bytes (total <= p->total); views left empty behind the head are freed. */
void pkt_trim(struct pkt *p, uint32_t total);

/* Appends the chain tail, which it takes, and frees if empty, to head; keeps head's metadata. */
void pkt_append(struct pkt *head, struct pkt *tail);

/*
 * The bytes of p behind those of the view v, copied, where they are few and v has room that nobody
 * shares: so that many small packets need not hold a buffer each. True: p is taken; the total of
 * the chain that v is in is the caller's to correct.
 */
#define PKT_MERGE_MAX 256u /* up to so many bytes a copy costs less than the buffer it saves */
bool pkt_merge(struct pkt *v, struct pkt *p);

/*
 * Makes the first n bytes of the chain contiguous in the head view; views emptied by it are freed.
 * False where n exceeds the chain or the head's tailroom, or the head's memory is shared; the
 * packet is then unchanged.
 */
bool pkt_pullup(struct pkt *p, uint32_t n);

/* Copies len bytes from offset of the chain to dst. offset + len <= p->total. */
void pkt_copy_out(const struct pkt *p, uint32_t offset, void *dst, uint32_t len);

/*
 * Views of the bytes [offset, offset + len) of p, without copying, with p's metadata. The slice
 * outlives p. p stays its holder's, who may go on to move its bounds; offset + len <= p->total.
 * NULL: pool empty.
 */
struct pkt *pkt_slice(struct pkt_pool *pool, struct pkt *p, uint32_t offset, uint32_t len);

/* A packet with memory of its own and the same bytes and metadata. NULL: pool empty. */
struct pkt *pkt_copy(struct pkt_pool *pool, const struct pkt *p);

/* A packet of len bytes for the caller to fill, all views but the last full. NULL: pool empty. */
struct pkt *pkt_alloc_len(struct pkt_pool *pool, uint32_t len);

/*
 * What a chain that is held costs its holder: by view, whatever bytes are left of it, for a view
 * keeps a whole buffer of the pool from being received into. The same at any time between the
 * moves of views from chain to chain.
 */
#define PKT_COST 2304u
uint32_t pkt_cost(const struct pkt *p);

/* Does the chain keep its own rules? For invariant(). */
bool pkt_ok(const struct pkt *p);

#endif
