/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_MAILBOX_H
#define MILLRACE_APP_MAILBOX_H

/*
 * Letters from the control thread to one worker and back. The worker runs a letter between two
 * turns and returns it; it never waits, because there are never more letters on the way than the
 * return ring holds. The control thread may wait for a letter, with a timeout. A letter it gives up
 * on before the worker has taken it is revoked: it is never run. Either way it is released when it
 * comes back.
 *
 * A firm letter undoes something, so it is never revoked and is run whenever the worker moves
 * again; the box keeps some room for those, which letters to a worker that stands still cannot use
 * up.
 *
 * Every function but mailbox_run belongs to the control thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct worker;
struct rte_ring;

struct mail {
    /* On the worker, which owns the letter until it returns. Must not wait. */
    void (*run)(struct worker *w, struct mail *m);
    /* On the control thread, when the letter is back and nobody waits for it. */
    void (*release)(struct mail *m);
    bool firm; /* set by whoever posts it */
    /* Whose move is first: the worker takes it, or the control thread revokes it. */
    _Atomic bool claimed;
    /* Control thread only. */
    bool back;
    bool given_up;
};

enum mail_outcome {
    MAIL_BACK,    /* it was run, and is the caller's again */
    MAIL_REVOKED, /* it will never be run, and is not the caller's any more */
    MAIL_LATE,    /* it is being run, or is firm: it takes effect yet; not the caller's any more */
};

struct mailbox {
    struct rte_ring *to_worker;
    struct rte_ring *to_control;
    unsigned posted; /* on the way; control thread only */
};

/* False: rte_errno says why. */
bool mailbox_create(struct mailbox *b, unsigned worker, int numa);
/* The worker has stopped: letters left are released unread. */
void mailbox_destroy(struct mailbox *b);

/*
 * False: as many letters are on the way as the box holds; m is still the caller's. For a firm
 * letter there is room as long as no more than MAILBOX_FIRM of them are on the way.
 */
#define MAILBOX_FIRM 4
bool mailbox_post(struct mailbox *b, struct mail *m);

/* Takes back the letters that have returned; releases those nobody waits for. */
void mailbox_collect(struct mailbox *b);

/* Waits until m is back, for timeout_ms at most. */
enum mail_outcome mailbox_wait(struct mailbox *b, struct mail *m, unsigned timeout_ms);

/* Nobody will wait for m: it is released when it is back. */
void mailbox_forget(struct mail *m);

/* Worker only: runs the letters that have come and are not revoked. Returns how many. */
unsigned mailbox_run(struct mailbox *b, struct worker *w);

#endif
