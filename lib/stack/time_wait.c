/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections in TIME-WAIT: what tcp/time_wait.h keeps of each, in the order in which their time
 * began, which as they all wait equally long is the order in which it ends. So one timer does for
 * all. At the bound the oldest makes room.
 */
#include "base/invariant.h"
#include "stack/conn.h"

/* How many end in one turn; others soon after. */
#define ENDS_AT_ONCE 512
#define ENDS_AGAIN   (100 * TICK_US)

static tick_t end_of(const struct stack *s, const struct time_wait *w)
{
    return tick_after(w->since, s->tcp_settings.time_wait);
}

static struct time_wait *first(struct stack *s)
{
    return container_of(list_first(&s->wait_list), struct time_wait, place);
}

static bool waits_ok(const struct stack *s)
{
    uint32_t n = 0;
    tick_t since = 0;
    list_for_each (it, &s->wait_list) {
        const struct time_wait *w = container_of(it, struct time_wait, place);
        if (w->since < since)
            return false;
        since = w->since;
        n++;
    }
    return n == slab_live(s->waits) && (n == 0 || timer_armed(&s->wait_timer));
}

/* Only an empty list needs no timer; one that is armed too early finds nothing and is armed anew.
 */
void time_waits_arm(struct stack *s)
{
    if (!list_empty(&s->wait_list))
        wheel_arm(&s->wheel, &s->wait_timer, end_of(s, first(s)));
}

static void fire(struct timer *t, tick_t now)
{
    struct stack *s = container_of(t, struct stack, wait_timer);
    for (unsigned n = 0; n < ENDS_AT_ONCE && !list_empty(&s->wait_list); n++) {
        struct time_wait *w = first(s);
        if (end_of(s, w) > now)
            break;
        time_wait_end(s, w);
    }
    time_waits_arm(s);
    if (timer_armed(t) && t->when <= now)
        wheel_arm(&s->wheel, t, now + ENDS_AGAIN);
    invariant(waits_ok(s));
}

void time_waits_init(struct stack *s)
{
    list_init(&s->wait_list);
    timer_init(&s->wait_timer, fire);
}

void time_wait_end(struct stack *s, struct time_wait *w)
{
    flow_remove(s->flows, &w->flow);
    list_remove(&w->place);
    slab_free(s->waits, w);
}

static void make_room(struct stack *s)
{
    if (slab_live(s->waits) < slab_max(s->waits))
        return;
    time_wait_end(s, first(s));
    counter_add(s->counters, COUNTER_TCP_TIME_WAIT_RECYCLED, 1);
}

void time_wait_enter(struct stack *s, const struct flow_key *key, const struct tcp_conn *c,
                     tick_t now)
{
    handle_t handle;
    counter_add(s->counters, COUNTER_TCP_TIME_WAIT, 1);
    make_room(s);
    struct time_wait *w = slab_alloc(s->waits, &handle);
    if (!w)
        return; /* without memory for it, TIME-WAIT is cut short */
    w->flow.key = *key;
    w->flow.kind = FLOW_TIME_WAIT;
    if (flow_insert(s->flows, &w->flow) < 0) {
        slab_free(s->waits, w);
        return;
    }
    tcp_time_wait_init(&w->tcp, c);
    w->since = now;
    list_init(&w->place);
    list_push_back(&s->wait_list, &w->place);
    if (!timer_armed(&s->wait_timer))
        time_waits_arm(s);
    invariant(waits_ok(s));
}

static void begin_again(struct stack *s, struct time_wait *w, tick_t now)
{
    w->since = now;
    list_remove(&w->place);
    list_push_back(&s->wait_list, &w->place);
}

static void answer(struct time_wait *w, const struct ip_rx *rx, tick_t now)
{
    const struct flow_key *key = &w->flow.key;
    struct tcp_hdr h;
    tcp_time_wait_ack(&w->tcp, key->local_port, key->remote_port, now, &h);
    segment_output(rx->iface, key, &h, now);
}

/* An ACK to what may be made up (RFC 5961 7). */
static void challenge(struct time_wait *w, const struct ip_rx *rx, tick_t now)
{
    if (tcp_challenge(&rx->iface->stack->tcp, now))
        answer(w, rx, now);
}

/* RFC 6191: as to a listener. Where nobody listens, it was we who had opened that connection. */
static void new_connection(struct time_wait *w, struct ip_rx *rx, const struct flow_key *key,
                           const struct tcp_hdr *h, tick_t now)
{
    struct listener *l = listener_find(rx->iface->stack, &rx->dst, h->dst_port);
    if (l)
        listener_input(l, rx, key, h, w, now);
    else
        segment_refuse(rx, key, h, DROP_TCP_PORT, now);
}

void time_wait_input(struct time_wait *w, struct ip_rx *rx, const struct flow_key *key,
                     const struct tcp_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    enum drop why = DROP_NONE;
    switch (tcp_time_wait_input(&w->tcp, h, rx->p->total, now, &why)) {
    case TIME_WAIT_NEW: new_connection(w, rx, key, h, now); return;
    case TIME_WAIT_AGAIN:
        begin_again(s, w, now);
        answer(w, rx, now);
        break;
    case TIME_WAIT_ACK: challenge(w, rx, now); break;
    case TIME_WAIT_DROP: break;
    }
    stack_drop(s, rx->p, why);
}
