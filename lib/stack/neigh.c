/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/neigh.h"

#include <assert.h>

#include "base/invariant.h"
#include "base/list.h"

/* RFC 4861 10 */
#define RETRANS_TIMER         TICK_SEC
#define MAX_MULTICAST_SOLICIT 3
#define MAX_UNICAST_SOLICIT   3
#define REACHABLE_TIME        (30 * TICK_SEC)
#define DELAY_FIRST_PROBE     (5 * TICK_SEC)
/* Ours: how long an address that did not answer is taken for absent. */
#define FAILED_TIME TICK_SEC

#define RECENT 16 /* a power of two */

#define STATE(id) CTL_NEIGHBOUR_##id

struct neigh {
    struct list bucket; /* of its hash; free entries stand in cache->free */
    struct list wait;   /* cache->waiting while queued > 0 */
    struct list age;    /* cache->proven or cache->unproven, least recently used first */
    struct neigh_cache *cache;
    struct timer timer;
    struct ip_addr addr;
    struct mac_addr mac; /* valid but in INCOMPLETE and FAILED */
    uint16_t iface;
    bool router;
    uint8_t tries; /* solicitations sent in INCOMPLETE or PROBE */
    enum ctl_neighbour_state state;
    uint32_t queued; /* waiting packets, in the ring of slots from head on; only in INCOMPLETE */
    uint32_t head;
    tick_t confirmed; /* last proof of reachability; TICK_NEVER: none yet */
    tick_t reachable; /* this entry's REACHABLE time */
};

struct neigh_cache {
    struct neigh_args args;
    struct rng rng;
    uint32_t n_buckets; /* power of two */
    struct list *bucket;
    struct neigh *entry;          /* args.max of them */
    struct pkt **slots;           /* args.queue for each entry */
    struct neigh *recent[RECENT]; /* found last, by recent_of, or NULL: most packets go to few */
    struct list free;
    struct list proven;   /* has answered us, or is a gateway: makes room last */
    struct list unproven; /* everything else */
    struct list waiting;  /* with packets that wait, first asked for first */
    uint32_t n_waiting;   /* buffers of those packets */
    uint32_t n_unproven;
    uint32_t count;
};

static bool is_proven(const struct neigh *n)
{
    return n->router || n->confirmed != TICK_NEVER;
}

static struct pkt **slot(const struct neigh *n, uint32_t i)
{
    const struct neigh_cache *c = n->cache;
    uint32_t at = n->head + i;
    if (at >= c->args.queue)
        at -= c->args.queue;
    return &c->slots[(size_t)(n - c->entry) * c->args.queue + at];
}

/* What p keeps from the pool. A short packet put together from fragments may be many. */
static uint32_t buffers(const struct pkt *p)
{
    uint32_t n = 0;
    for (; p; p = p->next)
        n++;
    return n;
}

static uint32_t queued_buffers(const struct neigh *n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n->queued; i++)
        sum += buffers(*slot(n, i));
    return sum;
}

/* An entry's state and its queue agree. */
static bool entry_ok(const struct neigh *n)
{
    if (n->state != STATE(INCOMPLETE) && n->queued > 0)
        return false;
    if (n->queued > n->cache->args.queue || list_linked(&n->wait) != (n->queued > 0))
        return false;
    return timer_armed(&n->timer) == (n->state != STATE(STALE));
}

static bool cache_ok(const struct neigh_cache *c)
{
    uint32_t count = 0;
    uint32_t unproven = 0;
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < c->n_buckets; i++)
        list_for_each (it, &c->bucket[i]) {
            const struct neigh *n = container_of(it, struct neigh, bucket);
            if (!entry_ok(n))
                return false;
            count++;
            unproven += !is_proven(n);
            waiting += queued_buffers(n);
        }
    return count == c->count && unproven == c->n_unproven && count <= c->args.max &&
           waiting == c->n_waiting && waiting <= c->args.waiting;
}

static struct list *bucket_of(const struct neigh_cache *c, uint16_t iface,
                              const struct ip_addr *addr)
{
    const uint64_t key[] = {ip_half(addr, 0), ip_half(addr, 1), iface, 0};
    return &c->bucket[siphash13_words(&c->args.key, key, 24) & (c->n_buckets - 1)];
}

/* Whoever chooses addresses to meet here pays no more than the way by the hash. */
static struct neigh **recent_of(struct neigh_cache *c, const struct ip_addr *addr)
{
    return &c->recent[addr->b[15] & (RECENT - 1)];
}

static struct neigh *find(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr)
{
    struct neigh **recent = recent_of(c, addr);
    if (*recent && (*recent)->iface == iface && ip_eq(&(*recent)->addr, addr))
        return *recent;
    list_for_each (it, bucket_of(c, iface, addr)) {
        struct neigh *n = container_of(it, struct neigh, bucket);
        if (n->iface == iface && ip_eq(&n->addr, addr))
            return *recent = n;
    }
    return NULL;
}

static struct pkt *queue_pop(struct neigh *n)
{
    assert(n->queued > 0 && "popped from a queue that holds packets");
    struct pkt *p = *slot(n, 0);
    n->head = n->head + 1 == n->cache->args.queue ? 0 : n->head + 1;
    n->queued--;
    n->cache->n_waiting -= buffers(p);
    if (n->queued == 0)
        list_remove(&n->wait);
    return p;
}

static void queue_drop(struct neigh *n, enum drop why)
{
    while (n->queued > 0) {
        counter_drop(n->cache->args.counters, why);
        pkt_free(queue_pop(n));
    }
}

/* RFC 4861 7.2.2: the new arrival replaces the oldest entry. */
static void queue_pop_oldest(struct neigh *n)
{
    counter_drop(n->cache->args.counters, DROP_NEIGH_QUEUE_FULL);
    pkt_free(queue_pop(n));
}

static void queue_push(struct neigh *n, struct pkt *p)
{
    struct neigh_cache *c = n->cache;
    uint32_t more = buffers(p);
    if (more > c->args.waiting) {
        counter_drop(c->args.counters, DROP_NEIGH_QUEUE_FULL);
        pkt_free(p);
        return;
    }
    if (n->queued == c->args.queue)
        queue_pop_oldest(n);
    while (c->n_waiting > c->args.waiting - more)
        queue_pop_oldest(container_of(list_first(&c->waiting), struct neigh, wait));
    *slot(n, n->queued) = p;
    if (n->queued++ == 0)
        list_push_back(&c->waiting, &n->wait);
    c->n_waiting += more;
}

/* Puts the entry where it belongs by age: as the most recently used. */
static void touch(struct neigh *n)
{
    struct list *age = is_proven(n) ? &n->cache->proven : &n->cache->unproven;
    if (age->prev == &n->age)
        return;
    list_remove(&n->age);
    list_push_back(age, &n->age);
}

static void prove(struct neigh *n, tick_t now)
{
    if (!is_proven(n))
        n->cache->n_unproven--;
    n->confirmed = now;
    touch(n);
}

static void set_state(struct neigh *n, enum ctl_neighbour_state state, tick_t now)
{
    struct wheel *w = n->cache->args.wheel;
    n->state = state;
    n->tries = 0;
    switch (state) {
    case STATE(INCOMPLETE):
    case STATE(PROBE): wheel_arm(w, &n->timer, now + RETRANS_TIMER); break;
    case STATE(REACHABLE): wheel_arm(w, &n->timer, n->confirmed + n->reachable); break;
    case STATE(STALE): wheel_cancel(w, &n->timer); break;
    case STATE(DELAY): wheel_arm(w, &n->timer, now + DELAY_FIRST_PROBE); break;
    case STATE(FAILED): wheel_arm(w, &n->timer, now + FAILED_TIME); break;
    }
}

static void solicit(struct neigh *n, tick_t now)
{
    struct neigh_args *a = &n->cache->args;
    n->tries++;
    a->solicit(a->ctx, n->iface, &n->addr, n->state == STATE(PROBE) ? &n->mac : NULL, now);
}

static void forget(struct neigh *n, enum drop why)
{
    struct neigh_cache *c = n->cache;
    queue_drop(n, why);
    wheel_cancel(c->args.wheel, &n->timer);
    if (!is_proven(n))
        c->n_unproven--;
    if (*recent_of(c, &n->addr) == n)
        *recent_of(c, &n->addr) = NULL;
    list_remove(&n->age);
    list_remove(&n->bucket);
    list_push_front(&c->free, &n->bucket);
    c->count--;
}

static void fire(struct timer *t, tick_t now)
{
    struct neigh *n = container_of(t, struct neigh, timer);
    switch (n->state) {
    case STATE(INCOMPLETE):
        if (n->tries < MAX_MULTICAST_SOLICIT) {
            wheel_arm(n->cache->args.wheel, t, now + RETRANS_TIMER);
            solicit(n, now);
        } else {
            queue_drop(n, DROP_NEIGH_UNREACHABLE);
            set_state(n, STATE(FAILED), now);
        }
        break;
    case STATE(REACHABLE):
        /* Confirmations since only moved the time; the timer follows here, once. */
        if (n->confirmed + n->reachable > now)
            wheel_arm(n->cache->args.wheel, t, n->confirmed + n->reachable);
        else
            set_state(n, STATE(STALE), now);
        break;
    case STATE(DELAY):
        set_state(n, STATE(PROBE), now);
        solicit(n, now);
        break;
    case STATE(PROBE):
        if (n->tries < MAX_UNICAST_SOLICIT) {
            wheel_arm(n->cache->args.wheel, t, now + RETRANS_TIMER);
            solicit(n, now);
        } else {
            forget(n, DROP_NEIGH_UNREACHABLE);
        }
        break;
    case STATE(FAILED): forget(n, DROP_NEIGH_UNREACHABLE); break;
    case STATE(STALE): assert(false && "a stale entry has no timer"); break;
    }
}

/* The entry that is worth least: unproven before proven, least recently used first; no gateway. */
static struct neigh *victim(struct neigh_cache *c)
{
    struct list *oldest = list_first(&c->unproven);
    if (oldest)
        return container_of(oldest, struct neigh, age);
    list_for_each (it, &c->proven) {
        struct neigh *n = container_of(it, struct neigh, age);
        if (!n->router)
            return n;
    }
    return NULL;
}

/* Half of the table is kept for those who answered. */
static bool is_full(const struct neigh_cache *c)
{
    return c->count == c->args.max || c->n_unproven >= (c->args.max + 1) / 2;
}

static struct neigh *create(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr)
{
    if (is_full(c)) {
        struct neigh *n = victim(c);
        if (!n)
            return NULL;
        forget(n, DROP_NEIGH_TABLE_FULL);
    }
    struct list *node = list_first(&c->free);
    assert(node && "a free entry whenever count < max");
    list_remove(node);
    struct neigh *n = container_of(node, struct neigh, bucket);
    *n = (struct neigh){.cache = c,
                        .addr = *addr,
                        .iface = iface,
                        .router = c->args.is_router(c->args.ctx, iface, addr),
                        .confirmed = TICK_NEVER,
                        /* RFC 4861 6.3.2: uniform in 0.5 .. 1.5 of the base value. */
                        .reachable = REACHABLE_TIME / 2 + rng_below(&c->rng, REACHABLE_TIME)};
    timer_init(&n->timer, fire);
    list_init(&n->age);
    list_init(&n->wait);
    list_push_front(bucket_of(c, iface, addr), &n->bucket);
    c->n_unproven += !is_proven(n);
    c->count++;
    touch(n);
    return n;
}

void neigh_send(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr, struct pkt *p,
                tick_t now)
{
    struct neigh *n = find(c, iface, addr);
    if (!n) {
        n = create(c, iface, addr);
        if (!n) {
            counter_drop(c->args.counters, DROP_NEIGH_TABLE_FULL);
            pkt_free(p);
            return;
        }
        set_state(n, STATE(INCOMPLETE), now);
        queue_push(n, p);
        solicit(n, now);
    } else if (n->state == STATE(INCOMPLETE)) {
        queue_push(n, p);
    } else if (n->state == STATE(FAILED)) {
        counter_drop(c->args.counters, DROP_NEIGH_UNREACHABLE);
        pkt_free(p);
    } else {
        if (n->state == STATE(STALE))
            set_state(n, STATE(DELAY), now);
        touch(n);
        c->args.transmit(c->args.ctx, iface, p, &n->mac, now);
    }
    invariant(cache_ok(c));
}

/* The address is known now: what waited for it goes. */
static void resolved(struct neigh *n, const struct neigh_news *news, tick_t now)
{
    struct neigh_args *a = &n->cache->args;
    n->mac = *news->mac;
    bool waited = n->queued > 0;
    if (news->solicited) {
        prove(n, now);
        set_state(n, STATE(REACHABLE), now);
    } else {
        set_state(n, STATE(STALE), now);
    }
    while (n->queued > 0)
        a->transmit(a->ctx, n->iface, queue_pop(n), &n->mac, now);
    if (waited && n->state == STATE(STALE))
        set_state(n, STATE(DELAY), now);
}

/* RFC 4861 7.2.5, for an entry whose address was known. */
static void update(struct neigh *n, const struct neigh_news *news, tick_t now)
{
    bool differs = news->mac && !mac_eq(news->mac, &n->mac);
    if (differs && !news->override) {
        if (n->state == STATE(REACHABLE))
            set_state(n, STATE(STALE), now);
        return;
    }
    if (differs) {
        n->mac = *news->mac;
        counter_add(n->cache->args.counters, COUNTER_NEIGH_CHANGES, 1);
    }
    if (news->solicited) {
        prove(n, now);
        set_state(n, STATE(REACHABLE), now);
    } else if (differs) {
        set_state(n, STATE(STALE), now);
    }
}

bool neigh_learn(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr,
                 const struct neigh_news *news, tick_t now)
{
    struct neigh *n = find(c, iface, addr);
    if (!n) {
        if (!news->create || !news->mac)
            return false;
        n = create(c, iface, addr);
        if (!n)
            return false;
        resolved(n, news, now);
    } else if (n->state == STATE(INCOMPLETE) || n->state == STATE(FAILED)) {
        if (news->mac) /* RFC 4861 7.2.5: without the option nothing is learnt here */
            resolved(n, news, now);
    } else {
        update(n, news, now);
    }
    invariant(cache_ok(c));
    return true;
}

void neigh_confirm(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr, tick_t now)
{
    struct neigh *n = find(c, iface, addr);
    if (!n || n->state == STATE(INCOMPLETE) || n->state == STATE(FAILED))
        return;
    prove(n, now);
    if (n->state != STATE(REACHABLE))
        set_state(n, STATE(REACHABLE), now);
    invariant(cache_ok(c));
}

uint32_t neigh_flush(struct neigh_cache *c, uint16_t iface)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_buckets; i++)
        list_for_each_safe (it, &c->bucket[i]) {
            struct neigh *e = container_of(it, struct neigh, bucket);
            if (iface != UINT16_MAX && e->iface != iface)
                continue;
            forget(e, DROP_ADMIN_DOWN);
            n++;
        }
    invariant(cache_ok(c));
    return n;
}

static void fill_row(const struct neigh *n, struct ctl_neighbour *row, tick_t now)
{
    bool known = n->state != STATE(INCOMPLETE) && n->state != STATE(FAILED);
    *row = (struct ctl_neighbour){
        .addr = n->addr,
        .iface = n->iface,
        .state = n->state,
        .router = n->router,
        .queued = n->queued,
        .confirmed = n->confirmed == TICK_NEVER ? TICK_NEVER : tick_since(now, n->confirmed)};
    if (known)
        row->mac = n->mac;
}

bool neigh_list(const struct neigh_cache *c, struct ctl_neighbour *rows, uint32_t max,
                uint64_t *cursor, uint32_t *n, tick_t now)
{
    *n = 0;
    for (; *cursor < c->args.max; (*cursor)++) {
        const struct neigh *e = &c->entry[*cursor];
        if (!e->cache || !list_linked(&e->age)) /* never used, or free */
            continue;
        if (*n == max)
            return true;
        fill_row(e, &rows[(*n)++], now);
    }
    return false;
}

uint32_t neigh_count(const struct neigh_cache *c)
{
    return c->count;
}

static uint32_t buckets_for(uint32_t entries)
{
    uint32_t n = 16;
    while (n < entries)
        n *= 2;
    return n;
}

struct neigh_cache *neigh_create(const struct neigh_args *args)
{
    assert(args->max > 0 && args->queue > 0 && args->queue <= NEIGH_QUEUE_MAX);
    assert(args->waiting >= args->queue);
    struct mem *m = args->mem;
    uint32_t buckets = buckets_for(args->max);
    struct neigh_cache *c = mem_alloc(m, sizeof(*c), _Alignof(struct neigh_cache));
    if (!c)
        return NULL;
    c->args = *args;
    c->n_buckets = buckets;
    c->bucket = mem_alloc(m, buckets * sizeof(*c->bucket), _Alignof(struct list));
    c->entry = mem_alloc(m, args->max * sizeof(*c->entry), _Alignof(struct neigh));
    c->slots = mem_alloc(m, (size_t)args->max * args->queue * sizeof(*c->slots), sizeof(void *));
    if (!c->bucket || !c->entry || !c->slots) {
        neigh_destroy(c);
        return NULL;
    }
    rng_seed(&c->rng, args->seed);
    list_init(&c->free);
    list_init(&c->proven);
    list_init(&c->unproven);
    list_init(&c->waiting);
    for (uint32_t i = 0; i < buckets; i++)
        list_init(&c->bucket[i]);
    for (uint32_t i = 0; i < args->max; i++)
        list_push_back(&c->free, &c->entry[i].bucket);
    return c;
}

void neigh_destroy(struct neigh_cache *c)
{
    struct mem *m = c->args.mem;
    uint32_t max = c->args.max;
    for (uint32_t i = 0; c->count > 0; i++) {
        struct neigh *n = &c->entry[i];
        if (!n->cache || !list_linked(&n->age))
            continue;
        while (n->queued > 0)
            pkt_free(queue_pop(n));
        forget(n, DROP_ADMIN_DOWN);
    }
    mem_free(m, c->bucket, c->n_buckets * sizeof(*c->bucket));
    mem_free(m, c->entry, max * sizeof(*c->entry));
    mem_free(m, c->slots, (size_t)max * c->args.queue * sizeof(*c->slots));
    mem_free(m, c, sizeof(*c));
}
