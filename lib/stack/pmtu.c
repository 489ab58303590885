/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/pmtu.h"

#include <assert.h>

#include "base/invariant.h"
#include "base/list.h"

/* Entries are named by their index plus one in the chains; 0 ends a chain. */
struct entry {
    struct ip_addr addr;
    struct list place; /* in use, the most recently used first; or free */
    tick_t ends;
    uint32_t next; /* in its chain */
    uint16_t mtu;  /* 0: free */
};

struct pmtu {
    struct mem *mem;
    struct siphash_key key;
    tick_t lifetime;
    uint32_t max;
    uint32_t count;
    uint32_t mask; /* of the chains */
    uint16_t floor4;
    struct list used;
    struct list unused;
    uint32_t *chain;
    struct entry *entry;
};

static size_t chain_bytes(const struct pmtu *p)
{
    return ((size_t)p->mask + 1) * sizeof(*p->chain);
}

/* The link that leads to addr's entry, or the end of the chain where that would be. */
static uint32_t *link_of(struct pmtu *p, const struct ip_addr *addr)
{
    uint32_t *link = &p->chain[siphash13(&p->key, addr->b, sizeof(addr->b)) & p->mask];
    while (*link && !ip_eq(&p->entry[*link - 1].addr, addr))
        link = &p->entry[*link - 1].next;
    return link;
}

static void entry_end(struct pmtu *p, uint32_t *link)
{
    struct entry *e = &p->entry[*link - 1];
    *link = e->next;
    e->mtu = 0;
    list_remove(&e->place);
    list_push_front(&p->unused, &e->place);
    p->count--;
}

static void entry_touch(struct pmtu *p, struct entry *e)
{
    list_remove(&e->place);
    list_push_front(&p->used, &e->place);
}

/* The link to addr's entry, NULL where there is none that is still valid. */
static uint32_t *link_find(struct pmtu *p, const struct ip_addr *addr, tick_t now)
{
    uint32_t *link = link_of(p, addr);
    if (!*link)
        return NULL;
    if (p->entry[*link - 1].ends > now)
        return link;
    entry_end(p, link);
    return NULL;
}

static struct entry *entry_new(struct pmtu *p, const struct ip_addr *addr)
{
    if (list_empty(&p->unused)) {
        struct entry *oldest = container_of(list_last(&p->used), struct entry, place);
        entry_end(p, link_of(p, &oldest->addr));
    }
    struct entry *e = container_of(list_first(&p->unused), struct entry, place);
    e->addr = *addr;
    e->next = 0;
    *link_of(p, addr) = (uint32_t)(e - p->entry) + 1;
    p->count++;
    entry_touch(p, e);
    return e;
}

static bool pmtu_ok(const struct pmtu *p)
{
    uint32_t used = 0;
    uint32_t chained = 0;
    list_for_each (it, &p->used)
        used++;
    for (uint32_t i = 0; i <= p->mask; i++)
        for (uint32_t at = p->chain[i]; at; at = p->entry[at - 1].next, chained++)
            if (p->entry[at - 1].mtu == 0)
                return false;
    return used == p->count && chained == p->count && p->count <= p->max;
}

static bool take_memory(struct pmtu *p)
{
    p->chain = mem_alloc(p->mem, chain_bytes(p), 64);
    p->entry = mem_alloc(p->mem, p->max * sizeof(*p->entry), 64);
    return p->chain && p->entry;
}

struct pmtu *pmtu_create(const struct pmtu_args *args)
{
    assert(args->max > 0 && args->max < UINT32_C(1) << 31 && "the caller fills in defaults");
    struct pmtu *p = mem_alloc(args->mem, sizeof(*p), _Alignof(struct pmtu));
    if (!p)
        return NULL;
    *p = (struct pmtu){.mem = args->mem,
                       .key = args->key,
                       .lifetime = args->lifetime ? args->lifetime : PMTU_LIFETIME,
                       .max = args->max,
                       .floor4 = args->floor4 ? args->floor4 : PMTU_FLOOR4};
    assert(p->floor4 >= PMTU_FLOOR4_MIN && "every IPv4 link carries that much");
    while (p->mask < p->max - 1)
        p->mask = p->mask << 1 | 1;
    list_init(&p->used);
    list_init(&p->unused);
    if (!take_memory(p)) {
        pmtu_destroy(p);
        return NULL;
    }
    for (uint32_t i = 0; i < p->max; i++)
        list_push_back(&p->unused, &p->entry[i].place);
    return p;
}

void pmtu_destroy(struct pmtu *p)
{
    mem_free(p->mem, p->entry, p->max * sizeof(*p->entry));
    mem_free(p->mem, p->chain, chain_bytes(p));
    mem_free(p->mem, p, sizeof(*p));
}

uint16_t pmtu_get(struct pmtu *p, const struct ip_addr *addr, uint16_t iface_mtu, tick_t now)
{
    if (p->count == 0)
        return iface_mtu; /* nearly always */
    uint32_t *link = link_find(p, addr, now);
    if (!link)
        return iface_mtu;
    struct entry *e = &p->entry[*link - 1];
    entry_touch(p, e);
    return e->mtu < iface_mtu ? e->mtu : iface_mtu;
}

bool pmtu_lower(struct pmtu *p, const struct ip_addr *addr, uint16_t mtu, tick_t now)
{
    if (ip_is_v4(addr)) {
        if (mtu < p->floor4)
            mtu = p->floor4;
    } else if (mtu < PMTU_FLOOR6) {
        return false; /* RFC 8201 4 */
    }
    uint32_t *link = link_find(p, addr, now);
    struct entry *e = link ? &p->entry[*link - 1] : entry_new(p, addr);
    if (e->mtu != 0 && mtu >= e->mtu)
        return false; /* RFC 8201 4: it must not increase. 5.3: a decrease sets the time */
    e->mtu = mtu;
    e->ends = tick_after(now, p->lifetime);
    entry_touch(p, e);
    invariant(pmtu_ok(p));
    return true;
}

/* The first valid entry at or after index i; max where there is none. */
static uint32_t entry_next(const struct pmtu *p, uint32_t i, tick_t now)
{
    while (i < p->max && (p->entry[i].mtu == 0 || p->entry[i].ends <= now))
        i++;
    return i;
}

bool pmtu_list(const struct pmtu *p, struct ctl_path *rows, uint32_t max, uint64_t *cursor,
               uint32_t *n, tick_t now)
{
    uint32_t i = entry_next(p, (uint32_t)*cursor, now);
    for (*n = 0; i < p->max && *n < max; (*n)++) {
        const struct entry *e = &p->entry[i];
        rows[*n] = (struct ctl_path){.remote = e->addr, .mtu = e->mtu, .expires = e->ends - now};
        i = entry_next(p, i + 1, now);
    }
    *cursor = i;
    return i < p->max;
}

uint32_t pmtu_count(const struct pmtu *p)
{
    return p->count;
}
