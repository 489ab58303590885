/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/counter.h"

#include <assert.h>

static const struct {
    const char *name;
    const char *text;
} table[] = {
#define X(id, name, text) [COUNTER_##id] = {name, text},
    COUNTERS(X)
#undef X
};

const char *counter_name(enum counter which)
{
    assert(which < COUNTER_END);
    return table[which].name;
}

const char *counter_text(enum counter which)
{
    assert(which < COUNTER_END);
    return table[which].text;
}
