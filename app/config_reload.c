/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config.h"

#include <string.h>

#include "app/config_fault.h"
#include "app/config_value.h"

static bool equal(const struct config_words *a, const struct config_words *b)
{
    if (a->n != b->n)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        if (strcmp(a->value[i], b->value[i]) != 0)
            return false;
    return true;
}

/* "1, 2" or "nothing". Returns dst. */
static const char *join(const struct config_words *w, char *dst, size_t size)
{
    size_t used = 0;
    snprintf(dst, size, "nothing");
    for (unsigned i = 0; i < w->n && used < size; i++)
        used += (size_t)snprintf(dst + used, size - used, "%s%s", i ? ", " : "", w->value[i]);
    return dst;
}

static bool section_reloadable(const struct config_section *s, int index, const void *now,
                               const void *next, FILE *errors)
{
    bool all = true;
    for (unsigned i = 0; i < s->n_keys; i++) {
        const struct config_key *k = &s->key[i];
        struct config_words a;
        struct config_words b;
        if (k->live)
            continue;
        config_value_write(k, now, &a);
        config_value_write(k, next, &b);
        if (equal(&a, &b))
            continue;
        char place[128];
        char text[2][128];
        config_place_format(CONFIG_PLACE(s->name, index, k->name, -1), place, sizeof(place));
        fprintf(errors, "%s: needs a restart: %s now, %s in the file\n", place,
                join(&a, text[0], sizeof(text[0])), join(&b, text[1], sizeof(text[1])));
        all = false;
    }
    return all;
}

static bool list_reloadable(const struct config_section *s, const struct config *now,
                            const struct config *next, FILE *errors)
{
    bool all = true;
    unsigned n = config_entries(s, now);
    if (n != config_entries(s, next)) {
        fprintf(errors, "%s: needs a restart: %u now, %u in the file\n", s->name, n,
                config_entries(s, next));
        return false;
    }
    for (unsigned i = 0; i < n; i++)
        all &= section_reloadable(s, (int)i, config_entry(s, now, i), config_entry(s, next, i),
                                  errors);
    return all;
}

bool config_reloadable(const struct config *now, const struct config *next, FILE *errors)
{
    bool all = true;
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++)
        if (!config_sections[i].noun)
            all &= section_reloadable(&config_sections[i], -1, now, next, errors);
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++)
        if (config_sections[i].noun && !config_sections[i].live)
            all &= list_reloadable(&config_sections[i], now, next, errors);
    return all;
}
