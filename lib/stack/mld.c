/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The listener's part of MLDv2 (RFC 3810) for the solicited-node groups, so that switches which
 * look at reports forward neighbour discovery to us (RFC 4861 7.2.1). All-nodes is never reported
 * (RFC 3810 6). While a querier of version 1 is about, version 1 is spoken (8.2.1).
 *
 * Timers, two for each interface:
 *   change  the second report of what was joined or left, up to a second after the first
 *   answer  to queries, at a random time within the delay that they allow. One timer serves all
 *           groups asked for, so an answer may come earlier than its own draw
 *
 * A query for certain sources of a group is answered as one for the group: we exclude none.
 */
#include "wire/mld.h"

#include "stack/internal.h"
#include "wire/proto.h"

#define ROBUSTNESS         2                                    /* RFC 3810 9.1 */
#define UNSOLICITED_REPORT TICK_SEC                             /* RFC 3810 9.11 */
#define V1_PRESENT         ((ROBUSTNESS * 125 + 10) * TICK_SEC) /* RFC 3810 9.12 */

_Static_assert(IPV6_LEN + IPV6_ALERT_LEN + 8 + MLD_GROUPS_MAX * MLD2_RECORD_LEN <= IPV6_MTU_MIN,
               "all groups fit in one report");
_Static_assert(MLD_GROUPS_MAX > LOCALS_MAX, "all addresses' groups fit, and some that were left");

static const struct ip_addr ALL_ROUTERS = {{0xff, 2, [15] = 2}};
static const struct ip_addr ALL_V2_ROUTERS = {{0xff, 2, [15] = 0x16}};

/* RFC 3810 5.2.13, RFC 3590 4: link-local, or none while there is none. */
static const struct ip_addr *report_from(const struct iface *i)
{
    for (unsigned k = 0; k < i->n_locals; k++) {
        const struct local *l = &i->local[k];
        if (!ip_is_v4(&l->prefix.addr) && ip_is_link_local(&l->prefix.addr) && local_usable(l))
            return &l->prefix.addr;
    }
    return &IP_ADDR_ANY6;
}

static void output(struct iface *i, struct pkt *p, const struct ip_addr *dst)
{
    ipv6_alert_emit(IP_PROTO_ICMPV6, pkt_push(p, IPV6_ALERT_LEN));
    struct ipv6_hdr ip = {.src = *report_from(i),
                          .dst = *dst,
                          .total_len = IPV6_LEN + p->total,
                          .hop_limit = MLD_HOP_LIMIT,
                          .next = IP_PROTO_HOP_BY_HOP};
    ipv6_emit(&ip, pkt_push(p, IPV6_LEN));
    struct mac_addr mac = mac_of_multicast(dst);
    counter_add(i->stack->counters, COUNTER_MLD_TX_REPORTS, 1);
    link_output(i, p, &mac, ETHER_TYPE_IPV6);
}

static void report2(struct iface *i, const struct mld_record *r, unsigned n)
{
    struct pkt *p = stack_alloc(i->stack);
    if (!p)
        return;
    uint8_t *at = pkt_put(p, (uint32_t)mld2_report_len(n));
    mld2_report_emit(r, n, report_from(i), &ALL_V2_ROUTERS, at);
    output(i, p, &ALL_V2_ROUTERS);
}

/* RFC 2710 4: a report goes to its group, a farewell to the routers. */
static void report1(struct iface *i, const struct mld_record *r)
{
    bool done = r->type == MLD_TO_INCLUDE;
    const struct ip_addr *dst = done ? &ALL_ROUTERS : &r->group;
    struct pkt *p = stack_alloc(i->stack);
    if (!p)
        return;
    uint8_t *at = pkt_put(p, MLD1_LEN);
    mld1_emit(done ? MLD1_DONE : MLD1_REPORT, &r->group, report_from(i), dst, at);
    output(i, p, dst);
}

static void report(struct iface *i, const struct mld_record *r, unsigned n, tick_t now)
{
    if (n == 0)
        return;
    if (now >= i->mld.v1_until) {
        report2(i, r, n);
        return;
    }
    for (unsigned k = 0; k < n; k++)
        report1(i, &r[k]);
}

/* Groups that were left and have been reported so go. */
static void forget_left(struct mld *m)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < m->n; k++)
        if (m->group[k].member || m->group[k].left > 0)
            m->group[kept++] = m->group[k];
    m->n = (uint8_t)kept;
}

/* RFC 3810 6.1 */
static void report_changes(struct iface *i, tick_t now)
{
    struct mld *m = &i->mld;
    struct mld_record r[MLD_GROUPS_MAX];
    unsigned n = 0;
    bool again = false;
    for (unsigned k = 0; k < m->n; k++) {
        struct mld_group *g = &m->group[k];
        if (g->left == 0)
            continue;
        r[n++] = (struct mld_record){.type = g->member ? MLD_TO_EXCLUDE : MLD_TO_INCLUDE,
                                     .group = g->addr};
        again |= --g->left > 0;
    }
    forget_left(m);
    tick_t next = now + 1 + rng_below(&i->stack->rng, UNSOLICITED_REPORT);
    wheel_arm(&i->stack->wheel, &m->change, again ? next : TICK_NEVER);
    report(i, r, n, now);
}

static void change_fire(struct timer *t, tick_t now)
{
    report_changes(container_of(t, struct iface, mld.change), now);
}

/* RFC 3810 6.3 */
static void answer_fire(struct timer *t, tick_t now)
{
    struct iface *i = container_of(t, struct iface, mld.answer);
    struct mld_record r[MLD_GROUPS_MAX];
    unsigned n = 0;
    for (unsigned k = 0; k < i->mld.n; k++) {
        struct mld_group *g = &i->mld.group[k];
        if (g->member && g->asked)
            r[n++] = (struct mld_record){.type = MLD_IS_EXCLUDE, .group = g->addr};
        g->asked = false;
    }
    report(i, r, n, now);
}

void mld_init(struct iface *i)
{
    timer_init(&i->mld.change, change_fire);
    timer_init(&i->mld.answer, answer_fire);
}

static struct mld_group *find(struct mld *m, const struct ip_addr *a)
{
    for (unsigned k = 0; k < m->n; k++)
        if (ip_eq(&m->group[k].addr, a))
            return &m->group[k];
    return NULL;
}

/* An empty place: one that was left and is not fully reported makes room. */
static struct mld_group *add(struct mld *m, const struct ip_addr *a)
{
    struct mld_group *g = m->group;
    if (m->n < MLD_GROUPS_MAX)
        g = &m->group[m->n++];
    else
        while (g->member)
            g++;
    *g = (struct mld_group){.addr = *a};
    return g;
}

static void set_member(struct mld_group *g, bool member)
{
    g->member = member;
    g->asked = false;
    g->left = ROBUSTNESS;
}

/* RFC 4862 5.4.2: a group is joined for an address before the probe for it is sent. */
static bool wants_group(const struct local *l)
{
    return !ip_is_v4(&l->prefix.addr) &&
           (local_usable(l) || (l->state == CTL_ADDRESS_TENTATIVE && l->sent > 0));
}

static bool wanted(const struct iface *i, const struct ip_addr *group)
{
    for (unsigned k = 0; k < i->n_locals; k++) {
        struct ip_addr g = ip_solicited_node(&i->local[k].prefix.addr);
        if (wants_group(&i->local[k]) && ip_eq(&g, group))
            return true;
    }
    return false;
}

static bool leave_unwanted(struct iface *i)
{
    bool changed = false;
    for (unsigned k = 0; k < i->mld.n; k++) {
        struct mld_group *g = &i->mld.group[k];
        if (!g->member || wanted(i, &g->addr))
            continue;
        set_member(g, false);
        changed = true;
    }
    return changed;
}

static bool join_wanted(struct iface *i)
{
    bool changed = false;
    for (unsigned k = 0; k < i->n_locals; k++) {
        if (!wants_group(&i->local[k]))
            continue;
        struct ip_addr a = ip_solicited_node(&i->local[k].prefix.addr);
        struct mld_group *g = find(&i->mld, &a);
        if (g && g->member)
            continue;
        set_member(g ? g : add(&i->mld, &a), true);
        changed = true;
    }
    return changed;
}

void mld_update(struct iface *i, tick_t now)
{
    if (!stack_is_primary(i->stack))
        return;
    bool changed = leave_unwanted(i);
    changed |= join_wanted(i);
    if (changed)
        report_changes(i, now);
}

void mld_repeat(struct iface *i, tick_t now)
{
    for (unsigned k = 0; k < i->mld.n; k++)
        if (i->mld.group[k].member && i->mld.group[k].left == 0)
            i->mld.group[k].left = 1;
    if (i->mld.n > 0)
        report_changes(i, now);
}

/* True where some group of ours is asked for. */
static bool note_asked(struct mld *m, const struct ip_addr *group)
{
    bool asked = false;
    for (unsigned k = 0; k < m->n; k++) {
        struct mld_group *g = &m->group[k];
        if (!g->member || !(ip_is_unspecified(group) || ip_eq(group, &g->addr)))
            continue;
        g->asked = true;
        asked = true;
    }
    return asked;
}

void mld_input(struct ip_rx *rx, tick_t now)
{
    struct iface *i = rx->iface;
    struct stack *s = i->stack;
    struct pkt *p = rx->p;
    struct mld_query q;
    int n = pkt_pullup(p, p->total)
                ? mld_query_parse(p->data + rx->upper_at, p->len - rx->upper_at, rx->ip6, &q)
                : -WIRE_MLD_SHORT;
    if (n < 0) {
        stack_drop(s, p, drop_of(n));
        return;
    }
    stack_count(s, p, COUNTER_MLD_RX_QUERIES, 1);
    if (q.v1)
        i->mld.v1_until = now + V1_PRESENT;
    if (note_asked(&i->mld, &q.group)) {
        tick_t when = now + rng_below(&s->rng, q.max_delay + 1);
        if (!timer_armed(&i->mld.answer) || when < i->mld.answer.when)
            wheel_arm(&s->wheel, &i->mld.answer, when);
    }
    pkt_free(p);
}
