/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many TLS handshakes of a listener may be under way in this worker: all together, and from one
 * network, so that one alone cannot have all the places. Networks are told apart by a keyed hash;
 * two that fall on one place share it.
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

bool handshake_enter(struct session *x, const struct ip_addr *from)
{
    struct listener *l = x->listener;
    uint32_t place = place_of(x->stack, from);
    if (l->handshakes >= l->cfg.handshakes || l->prefix[place] >= l->cfg.prefix_handshakes) {
        l->handshakes_refused++;
        counter_add(x->stack->counters, COUNTER_TLS_LIMITED, 1);
        return false;
    }
    l->handshakes++;
    l->prefix[place]++;
    x->prefix = (uint16_t)place;
    x->counted = true;
    return true;
}

void handshake_leave(struct session *x)
{
    if (!x->counted)
        return;
    x->counted = false;
    x->listener->handshakes--;
    x->listener->prefix[x->prefix]--;
}
