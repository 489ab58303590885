/* SPDX-License-Identifier: BSD-3-Clause */
/* /v1/config: the configuration in force, key by key from the registry, named as in the file. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "app/api.h"
#include "app/config_keys.h"
#include "app/config_value.h"

static uint64_t member(const struct config_key *k, const void *base)
{
    const void *at = (const char *)base + k->offset;
    uint16_t half;
    uint32_t word;
    uint64_t whole;
    switch (k->size) {
    case sizeof(half): memcpy(&half, at, sizeof(half)); return half;
    case sizeof(word): memcpy(&word, at, sizeof(word)); return word;
    case sizeof(whole): memcpy(&whole, at, sizeof(whole)); return whole;
    default: assert(0 && "a number's member has 2, 4 or 8 bytes"); return 0;
    }
}

static json_t *word_json(enum config_kind kind, const char *text)
{
    char *end;
    if (kind == CONFIG_BOOL || kind == CONFIG_BOOL_NOT)
        return json_boolean(strcmp(text, "true") == 0);
    long long n = strtoll(text, &end, 10);
    if ((kind == CONFIG_CORE || kind == CONFIG_CORES || kind == CONFIG_TIME) && end != text &&
        *end == '\0')
        return json_integer(n);
    return json_string(text);
}

static json_t *value_json(const struct config_key *k, const void *base)
{
    if (k->kind == CONFIG_UINT || k->kind == CONFIG_SIZE)
        return api_u64(member(k, base));
    struct config_words w = {0};
    config_value_write(k, base, &w);
    if (!config_kind_is_list(k->kind))
        return w.n > 0 ? word_json(k->kind, w.value[0]) : json_null();
    json_t *list = json_array();
    for (unsigned i = 0; i < w.n; i++)
        json_array_append_new(list, word_json(k->kind, w.value[i]));
    return list;
}

/* drivers: the bit of the device's driver, or all. */
static json_t *section_json(const struct config_section *s, const void *base, uint32_t drivers)
{
    json_t *all = json_object();
    for (unsigned i = 0; i < s->n_keys; i++)
        if (!s->key[i].drivers || (s->key[i].drivers & drivers))
            json_object_set_new(all, s->key[i].name, value_json(&s->key[i], base));
    return all;
}

static json_t *entries_json(const struct config_section *s, const struct config *config)
{
    bool devices = s == &config_sections[CONFIG_SECTION_DEVICES];
    json_t *list = json_array();
    for (unsigned i = 0; i < config_entries(s, config); i++)
        json_array_append_new(list, section_json(s, config_entry(s, config, i),
                                                 devices ? 1u << config->device[i].driver : ~0u));
    return list;
}

json_t *api_section(const struct runtime *rt, const char *name)
{
    return section_json(config_section_find(name), runtime_config(rt), ~0u);
}

void api_config(struct api_call *c)
{
    const struct config *config = runtime_config(c->rt);
    json_t *all = json_object();
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &config_sections[i];
        json_object_set_new(all, s->name,
                            s->noun ? entries_json(s, config) : section_json(s, config, ~0u));
    }
    api_json(c, 200, json_pack("{s:s, s:o}", "file", runtime_config_file(c->rt), "config", all));
}
