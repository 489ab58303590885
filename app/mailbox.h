/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_MAILBOX_H
#define MILLRACE_APP_MAILBOX_H

/*
 * Letters from the control thread to one worker and back. The worker runs a letter between two
 * turns and returns it; it never waits, because there are never more letters on the way than the
 * return ring holds. The control thread may wait for a letter, with a timeout; a letter it gave up
 * on is released when it comes back after all.
 *
 * Every function but mailbox_run belongs to the control thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct worker;
struct rte_ring;

struct mail {
    /* On the worker, which owns the letter until it returns. Must not wait. */
    void (*run)(struct worker *w, struct mail *m);
    /* On the control thread, when the letter is back and nobody waits for it. */
    void (*release)(struct mail *m);
    /* Control thread only. */
    bool back;
    bool given_up;
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

/* False: as many letters are on the way as the box holds; m is still the caller's. */
bool mailbox_post(struct mailbox *b, struct mail *m);

/* Takes back the letters that have returned; releases those nobody waits for. */
void mailbox_collect(struct mailbox *b);

/*
 * Waits until m is back: true, and m is the caller's again. False after timeout_ms: m is not the
 * caller's any more.
 */
bool mailbox_wait(struct mailbox *b, struct mail *m, unsigned timeout_ms);

/* Worker only: runs the letters that have come. Returns how many. */
unsigned mailbox_run(struct mailbox *b, struct worker *w);

#endif
