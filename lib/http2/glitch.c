/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/glitch.h"

#include <assert.h>

static const struct {
    const char *name;
    enum counter counter;
    uint32_t weight;
} kinds[] = {
#define X(id, n, w, text) [H2_GLITCH_##id] = {n, COUNTER_H2_GLITCH_##id, w},
    H2_GLITCHES(X)
#undef X
};

const char *h2_glitch_name(enum h2_glitch g)
{
    assert(g < H2_GLITCH_END);
    return kinds[g].name;
}

void h2_glitches_init(struct h2_glitches *g, const struct h2_settings *s, tick_t now)
{
    limit_init(&g->points, s->glitches_recover, s->glitches, now);
}

uint32_t h2_glitches_used(const struct h2_glitches *g)
{
    return g->points.burst - limit_left(&g->points);
}

enum h2_verdict h2_glitch(struct h2_glitches *g, struct counters *counters, enum h2_glitch kind,
                          uint32_t times, tick_t now)
{
    assert(kind < H2_GLITCH_END);
    counter_add(counters, kinds[kind].counter, times);
    uint64_t points = (uint64_t)kinds[kind].weight * times;
    if (points >= g->points.burst || !limit_take_n(&g->points, (uint32_t)points, now))
        return H2_VERDICT_END;
    uint64_t used = h2_glitches_used(g);
    if (used == g->points.burst)
        return H2_VERDICT_END;
    return 4 * used >= UINT64_C(3) * g->points.burst ? H2_VERDICT_DRAIN : H2_VERDICT_FINE;
}
