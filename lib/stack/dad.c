/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before an address is used, and just after. IPv6: duplicate address detection (RFC 4862 5.4), then
 * an unsolicited advertisement. IPv4: a probe, then announcements (RFC 5227 2), but the address is
 * in use meanwhile: the seconds of RFC 5227 2.1.1 would be missing after each start, and an answer
 * to the probe ends the use as well. Every worker runs the timers and hears the same answers; the
 * primary sends.
 *
 * Timer, one for each address: IPv6 tentative: a random delay of up to a second, then the probe,
 * then one second of silence makes the address preferred; a conflict ends it. IPv4: the probe at
 * once, a second later the first announcement, two seconds later the last.
 */
#include "stack/conn.h"

#define DUP_ADDR_DETECT_TRANSMITS  1 /* RFC 4862 5.1 */
#define RETRANS_TIMER              TICK_SEC
#define MAX_RTR_SOLICITATION_DELAY TICK_SEC /* RFC 4861 10 */
#define ANNOUNCE_NUM               2        /* RFC 5227 1.1 */
#define ANNOUNCE_INTERVAL          (2 * TICK_SEC)
#define PROBE_NUM                  1 /* of IPv4; RFC 5227 1.1 has 3, for a link that may lose two */
#define PROBE_INTERVAL             TICK_SEC

static void announce(struct local *l)
{
    if (!stack_is_primary(l->iface->stack))
        return;
    if (ip_is_v4(&l->prefix.addr))
        arp_announce(l);
    else
        nd_announce(l);
}

static void tentative(struct local *l, tick_t now)
{
    struct stack *s = l->iface->stack;
    if (l->sent < DUP_ADDR_DETECT_TRANSMITS) {
        l->sent++;
        mld_update(l->iface, now); /* RFC 4862 5.4.2: the group comes first */
        if (stack_is_primary(s))
            nd_probe(l);
        wheel_arm(&s->wheel, &l->timer, now + RETRANS_TIMER);
        return;
    }
    l->state = CTL_ADDRESS_PREFERRED;
    announce(l);
    if (ip_is_link_local(&l->prefix.addr))
        mld_repeat(l->iface, now);
}

/* IPv4: probes, then announcements. */
static void claim(struct local *l, tick_t now)
{
    struct stack *s = l->iface->stack;
    bool probing = l->sent < PROBE_NUM;
    if (!probing)
        announce(l);
    else if (stack_is_primary(s))
        arp_probe(l);
    if (++l->sent < PROBE_NUM + ANNOUNCE_NUM)
        wheel_arm(&s->wheel, &l->timer, now + (probing ? PROBE_INTERVAL : ANNOUNCE_INTERVAL));
}

static void fire(struct timer *t, tick_t now)
{
    struct local *l = container_of(t, struct local, timer);
    if (ip_is_v4(&l->prefix.addr))
        claim(l, now);
    else
        tentative(l, now);
}

bool dad_probing4(const struct local *l)
{
    return l->sent <= PROBE_NUM; /* until the first announcement */
}

void dad_init(struct local *l)
{
    timer_init(&l->timer, fire);
}

/* Random (RFC 4862 5.4.2), and all workers' alike: were one of them still trying what is another's
 * already, a newcomer's probe would be a conflict to the one and none to the other. */
static tick_t delay_of(const struct local *l)
{
    const struct stack *s = l->iface->stack;
    const struct ip_addr *a = &l->prefix.addr;
    return siphash13(&s->dad_key, a->b, sizeof(a->b)) % MAX_RTR_SOLICITATION_DELAY;
}

void dad_start(struct local *l, tick_t now)
{
    struct stack *s = l->iface->stack;
    l->sent = 0;
    if (ip_is_v4(&l->prefix.addr)) {
        l->state = CTL_ADDRESS_PREFERRED;
        wheel_arm(&s->wheel, &l->timer, now);
        return;
    }
    l->state = CTL_ADDRESS_TENTATIVE;
    wheel_arm(&s->wheel, &l->timer, now + delay_of(l));
}

void dad_conflict(struct local *l, tick_t now)
{
    struct stack *s = l->iface->stack;
    l->state = CTL_ADDRESS_DUPLICATE;
    wheel_cancel(&s->wheel, &l->timer);
    if (stack_is_primary(s)) /* every worker finds it, once is enough */
        counter_add(s->counters, COUNTER_DAD_DUPLICATES, 1);
    mld_update(l->iface, now);
    conns_check_addresses(s, now); /* RFC 5227 2.4: the address is not used any more */
}
