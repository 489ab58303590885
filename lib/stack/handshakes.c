/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many TLS handshakes of a listener may be under way in this worker: all together, and from one
 * network, so that one alone cannot have all the places. Networks are told apart by a keyed hash;
 * two that fall on one place share it. Where all places are taken, the handshake that has gone on
 * longest gives its own up, once it has had a second: so those that never go on keep nobody out for
 * longer than that.
 */
#include <string.h>

#include "stack/session.h"

/* What one customer of a provider is usually given: a /24, a /56. */
static uint32_t place_of(const struct stack *s, const struct ip_addr *from)
{
    uint8_t network[16] = {0};
    size_t len = ip_is_v4(from) ? 12 + 3 : 7;
    memcpy(network, from->b, len);
    return siphash24(&s->sessions.prefix_key, network, sizeof(network)) % LISTENER_PREFIXES;
}

#define HAD_ITS_TIME TICK_SEC

/* Someone lost at a bound. */
static void count_limited(struct listener *l, struct stack *s)
{
    l->handshakes_refused++;
    counter_add(s->counters, COUNTER_TLS_LIMITED, 1);
}

static bool has_room(struct listener *l, tick_t now)
{
    if (l->handshakes < l->cfg.handshakes)
        return true;
    struct session *oldest = container_of(list_first(&l->waiting), struct session, place);
    tick_t left = oldest->handshake_at > now ? oldest->handshake_at - now : 0;
    if (left + HAD_ITS_TIME > l->cfg.handshake_timeout)
        return false;
    count_limited(l, oldest->stack);
    session_abort(oldest, STREAM_REFUSED, now);
    return true;
}

bool handshake_enter(struct session *x, tick_t now)
{
    struct listener *l = x->listener;
    uint32_t place = place_of(x->stack, &x->peer.addr);
    if (l->prefix[place] >= l->cfg.prefix_handshakes || !has_room(l, now)) {
        count_limited(l, x->stack);
        return false;
    }
    l->handshakes++;
    l->prefix[place]++;
    list_push_back(&l->waiting, &x->place);
    x->prefix = (uint16_t)place;
    return true;
}

void handshake_leave(struct session *x)
{
    if (!list_linked(&x->place))
        return;
    list_remove(&x->place);
    x->listener->handshakes--;
    x->listener->prefix[x->prefix]--;
}
