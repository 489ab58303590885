/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before an address is used, and just after. IPv6: duplicate address detection (RFC 4862 5.4), then
 * an unsolicited advertisement; IPv4: announcements (RFC 5227 2.3). Every worker runs the
 * same timers and hears the same answers, and so comes to the same verdict; the primary sends.
 *
 * Timer, one for each address: IPv6 tentative: a random delay of up to a second, then the probe,
 * then one second of silence makes the address preferred; a conflict ends it. IPv4: the
 * announcements, two seconds apart.
 */
#include "stack/internal.h"

#define DUP_ADDR_DETECT_TRANSMITS  1 /* RFC 4862 5.1 */
#define RETRANS_TIMER              TICK_SEC
#define MAX_RTR_SOLICITATION_DELAY TICK_SEC /* RFC 4861 10 */
#define ANNOUNCE_NUM               2        /* RFC 5227 1.1 */
#define ANNOUNCE_INTERVAL          (2 * TICK_SEC)

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

static void fire(struct timer *t, tick_t now)
{
    struct local *l = container_of(t, struct local, timer);
    if (l->state == CTL_ADDRESS_TENTATIVE) {
        tentative(l, now);
        return;
    }
    announce(l);
    if (++l->sent < ANNOUNCE_NUM)
        wheel_arm(&l->iface->stack->wheel, t, now + ANNOUNCE_INTERVAL);
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
}
