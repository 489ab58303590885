/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Those that go in turn.
 *
 * DEFICIT is deficit round robin (Shreedhar, Varghese 1995) by whole frames that nobody knows the
 * size of beforehand: a turn gives a quantum, and goes on while there is at least half of another
 * frame like the last one left. What is left, or was too much, is carried into the next turn, so
 * over time shares are exact, and at any time nobody is further off than a frame. A turn begins
 * with the first byte sent, not with the place at the front: so who leaves without having sent has
 * had no turn, and nothing changes while the owner cannot send.
 *
 * A debt that a quantum does not pay would have its owner passed over again and again, with O(n)
 * work before anybody sends. So the quantum grows: it is the settings', or as much as the largest
 * debt among the ready asks for (a frame or message larger than the settings' quantum), until
 * nobody is ready. All have the same quantum, so it stays fair; each visit sends something.
 *
 * With many nodes each turn would wait for the next one's memory, of which nobody knows the address
 * before the last one's has come. So each node remembers who came SCHED_AHEAD turns after it in the
 * last round (`ahead`), which is fetched when its own turn ends: a jump pointer (Luk, Mowry 1996).
 * It is a hint, and may point to what is gone; nobody reads what is there by it.
 */
#include "sched/ring.h"

#include "sched/policy.h"

static void ring_enter(struct sched *s, struct sched_node *n)
{
    ring_push_back(&s->class[0].ring, &n->ring);
}

static void ring_leave(struct sched *s, struct sched_node *n)
{
    for (unsigned i = 0; i < SCHED_AHEAD; i++) {
        if (s->lately[i] == n)
            s->lately[i] = NULL;
    }
    ring_remove(&s->class[0].ring, &n->ring);
}

/* n has had its turn. */
static void ring_fetch(struct sched *s, struct sched_node *n)
{
    struct sched_node **before = &s->lately[s->turns++ % SCHED_AHEAD];
    if (*before)
        (*before)->ahead = n;
    *before = n;
    __builtin_prefetch(n->ahead, 1);
}

static struct sched_node *ring_first(const struct sched *s)
{
    return sched_of_ring(s->class[0].ring);
}

size_t sched_ring_count_ok(struct list *ring)
{
    size_t count = 0;
    if (!ring)
        return 0;
    struct list *l = ring;
    do {
        if (!sched_of_ring(l)->ready || l->next->prev != l)
            return SIZE_MAX;
        count++;
        l = l->next;
    } while (l != ring);
    return count;
}

static bool ring_ok(const struct sched *s)
{
    for (unsigned i = 0; i < SCHED_AHEAD; i++) {
        if (s->lately[i] && !s->lately[i]->ready)
            return false;
    }
    return sched_ring_count_ok(s->class[0].ring) == s->n;
}

/* ---- a frame a turn ---- */

static void round_robin_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    (void)bytes;
    if (part)
        return;
    ring_to_back(&s->class[0].ring, &n->ring);
    ring_fetch(s, n);
}

const struct sched_rules sched_round_robin = {
    .enter = ring_enter,
    .leave = ring_leave,
    .first = ring_first,
    .charge = round_robin_charge,
    .ok = ring_ok,
};

/* ---- a packet a turn ---- */

static void packet_leave(struct sched *s, struct sched_node *n)
{
    if (s->class[0].ring == &n->ring)
        s->filling = false;
    ring_leave(s, n);
}

static void packet_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    (void)bytes;
    (void)part;
    s->filling |= s->class[0].ring == &n->ring;
}

/* RFC 8260 3.3. But for a message that may not be interleaved, which goes on in the next packet. */
static void packet_end(struct sched *s)
{
    if (s->filling && !s->held) {
        struct list *first = s->class[0].ring;
        ring_to_back(&s->class[0].ring, first);
        ring_fetch(s, sched_of_ring(first));
    }
    s->filling = false;
}

const struct sched_rules sched_packet = {
    .enter = ring_enter,
    .leave = packet_leave,
    .first = ring_first,
    .charge = packet_charge,
    .packet_end = packet_end,
    .ok = ring_ok,
};

/* ---- a quantum of bytes a turn ---- */

void sched_cover(struct sched *s, const struct sched_node *n)
{
    if (n->deficit + (int64_t)s->quantum <= 0)
        s->quantum = (uint64_t)(1 - n->deficit);
}

void sched_deficit_charge(struct sched *s, struct list **ring, struct sched_node *n, uint32_t bytes,
                          bool goes_on, bool part)
{
    if (!n->begun)
        n->deficit += (int64_t)s->quantum;
    n->begun = true;
    n->deficit -= (int64_t)bytes;
    if (part)
        return;
    if (bytes == 0 && !goes_on)
        sched_end_turn(n); /* or it would be first again, for nothing */
    if (n->deficit > 0 && n->deficit >= (int64_t)(bytes / 2))
        return;
    n->begun = false;
    sched_cover(s, n);
    ring_to_back(ring, &n->ring);
}

static void deficit_enter(struct sched *s, struct sched_node *n)
{
    if (s->n == 1) /* nobody else */
        s->quantum = s->settings->quantum;
    sched_cover(s, n);
    ring_enter(s, n);
}

static void deficit_leave(struct sched *s, struct sched_node *n)
{
    sched_end_turn(n);
    ring_leave(s, n);
}

static void deficit_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    sched_deficit_charge(s, &s->class[0].ring, n, bytes, s->held == n, part);
    if (!n->begun)
        ring_fetch(s, n);
}

static bool deficit_ok(const struct sched *s)
{
    if (!ring_ok(s) || s->quantum < s->settings->quantum)
        return false;
    struct list *l = s->class[0].ring;
    for (uint32_t i = 0; i < s->n; i++, l = l->next) {
        const struct sched_node *n = sched_of_ring(l);
        if (n != s->held && n->deficit + (int64_t)s->quantum <= 0)
            return false;
        if (i > 0 && n->begun)
            return false; /* nobody but the first is in the middle of a turn */
    }
    return true;
}

const struct sched_rules sched_deficit = {
    .enter = deficit_enter,
    .leave = deficit_leave,
    .first = ring_first,
    .charge = deficit_charge,
    .ok = deficit_ok,
};
