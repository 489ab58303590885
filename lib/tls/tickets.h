/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TLS_TICKETS_H
#define MILLRACE_TLS_TICKETS_H

/*
 * Keys of session tickets (RFC 5077 4, RFC 8446 4.6.1), which rotate. All workers of a host start
 * from one seed and count periods from tick 0, so that they have the same keys at the same time
 * without a word between them. Each period's secret is a one-way function of the one before, which
 * is forgotten once its tickets have expired: who reads a worker's memory learns nothing of tickets
 * older than that.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define TLS_TICKET_NAME 16u
/* Periods whose tickets are accepted: the next (for another worker may be a little ahead), this one
 * and those before it. */
#define TLS_TICKET_KEPT 8u

struct tls_ticket_key {
    uint8_t name[TLS_TICKET_NAME]; /* in the ticket, in clear */
    uint8_t cipher[32];            /* AES-256 */
    uint8_t mac[32];               /* HMAC-SHA-256 */
};

struct tls_tickets {
    struct tls_ticket_key key[TLS_TICKET_KEPT]; /* by period, modulo */
    uint8_t secret[32];                         /* of the period after the present one */
    uint64_t period;                            /* the present one */
    tick_t length;                              /* of a period */
};

/* lifetime: of a ticket. A period is a quarter of it, at least a minute. False: no memory. */
bool tls_tickets_init(struct tls_tickets *t, const uint8_t seed[32], tick_t lifetime, tick_t now);
/* Wipes. */
void tls_tickets_fini(struct tls_tickets *t);
/* The key to make tickets with. Moves on to the period of now, or, without memory, a little later.
 */
const struct tls_ticket_key *tls_tickets_current(struct tls_tickets *t, tick_t now);
/* The key of that name; *renew: it is not the current one. NULL: unknown or too old. */
const struct tls_ticket_key *tls_tickets_find(struct tls_tickets *t,
                                              const uint8_t name[TLS_TICKET_NAME], tick_t now,
                                              bool *renew);

#endif
