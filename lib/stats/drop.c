/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/drop.h"

#include <assert.h>

static const struct {
    const char *name;
    const char *text;
} table[] = {
#define X(id, name, text) [DROP_##id] = {name, text},
    DROP_REASONS(X)
#undef X
};

const char *drop_name(enum drop d)
{
    assert(d > DROP_NONE && d < DROP_END);
    return table[d].name;
}

const char *drop_text(enum drop d)
{
    assert(d > DROP_NONE && d < DROP_END);
    return table[d].text;
}
