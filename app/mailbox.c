/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/mailbox.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include <rte_ring.h>

#define LETTERS 64 /* power of two; a ring holds one less */
#define WAIT_US 100

static struct rte_ring *ring_create(const char *direction, unsigned worker, int numa)
{
    char name[RTE_RING_NAMESIZE];
    snprintf(name, sizeof(name), "mail_%s_%u", direction, worker);
    return rte_ring_create(name, LETTERS, numa, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

bool mailbox_create(struct mailbox *b, unsigned worker, int numa)
{
    *b = (struct mailbox){.to_worker = ring_create("to", worker, numa)};
    if (b->to_worker)
        b->to_control = ring_create("from", worker, numa);
    if (b->to_control)
        return true;
    mailbox_destroy(b);
    return false;
}

static void release_all(struct rte_ring *r)
{
    void *m;
    while (r && rte_ring_sc_dequeue(r, &m) == 0)
        ((struct mail *)m)->release(m);
}

void mailbox_destroy(struct mailbox *b)
{
    release_all(b->to_worker);
    release_all(b->to_control);
    rte_ring_free(b->to_worker);
    rte_ring_free(b->to_control);
    *b = (struct mailbox){.to_worker = NULL};
}

bool mailbox_post(struct mailbox *b, struct mail *m)
{
    mailbox_collect(b);
    if (b->posted >= rte_ring_get_capacity(b->to_control) - (m->firm ? 0 : MAILBOX_FIRM))
        return false;
    m->back = false;
    m->given_up = false;
    atomic_store_explicit(&m->claimed, false, memory_order_relaxed); /* the ring publishes it */
    int failed = rte_ring_sp_enqueue(b->to_worker, m);
    assert(!failed && "fewer letters are on the way than a ring holds");
    b->posted++;
    return !failed;
}

void mailbox_collect(struct mailbox *b)
{
    void *got;
    while (rte_ring_sc_dequeue(b->to_control, &got) == 0) {
        struct mail *m = got;
        b->posted--;
        m->back = true;
        if (m->given_up)
            m->release(m);
    }
}

/* Whether it was the caller, and not the other side, who came first. */
static bool claim(struct mail *m)
{
    return !atomic_exchange_explicit(&m->claimed, true, memory_order_relaxed);
}

enum mail_outcome mailbox_wait(struct mailbox *b, struct mail *m, unsigned timeout_ms)
{
    struct timespec now, pause = {.tv_nsec = WAIT_US * 1000};
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t end = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + timeout_ms;
    for (;;) {
        mailbox_collect(b);
        if (m->back)
            return MAIL_BACK;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 >= end)
            break;
        nanosleep(&pause, NULL);
    }
    mailbox_forget(m);
    return !m->firm && claim(m) ? MAIL_REVOKED : MAIL_LATE;
}

void mailbox_forget(struct mail *m)
{
    assert(!m->back && "it is on its way");
    m->given_up = true;
}

unsigned mailbox_run(struct mailbox *b, struct worker *w)
{
    void *got;
    unsigned n = 0;
    while (rte_ring_sc_dequeue(b->to_worker, &got) == 0) {
        struct mail *m = got;
        if (claim(m)) {
            m->run(w, m);
            n++;
        }
        int failed = rte_ring_sp_enqueue(b->to_control, m);
        assert(!failed && "the return ring has room for every letter on the way");
        (void)failed;
    }
    return n;
}
