/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cyaml/cyaml.h>

#include "app/config_check.h"
#include "app/config_keys.h"
#include "app/config_tree.h"
#include "app/config_value.h"
#include "app/file.h"

#define FILE_MAX (1024u * 1024)

/*
 * What libcyaml loads: for each key its text, or its list of texts. Values stay text until they are
 * read by the registry, which knows their ranges and says what is wrong in our words; the defaults
 * are text too and go the same way.
 */
struct raw_value {
    char *text;
    char **item;
    uint32_t n_items;
};

struct raw_section {
    struct raw_value value[CONFIG_KEYS_MAX]; /* by the key's place in the registry */
};

struct raw {
    struct raw_section *section[CONFIG_SECTIONS]; /* a list: an array */
    uint32_t n_entries[CONFIG_SECTIONS];          /* of it */
};

/* libcyaml's view of the registry. */
struct schema {
    cyaml_schema_field_t key[CONFIG_SECTIONS][CONFIG_KEYS_MAX + 1];
    cyaml_schema_value_t entry[CONFIG_SECTIONS]; /* of a list */
    cyaml_schema_field_t section[CONFIG_SECTIONS + 1];
    cyaml_schema_value_t root;
};

static const cyaml_schema_value_t item_schema = {.type = CYAML_STRING,
                                                 .flags = CYAML_FLAG_POINTER,
                                                 .data_size = sizeof(char),
                                                 .string = {.min = 0, .max = FILE_MAX}};

static const cyaml_config_t cyaml_config = {.mem_fn = cyaml_mem,
                                            .flags = CYAML_CFG_IGNORE_UNKNOWN_KEYS};

/* A load in progress. */
struct load {
    struct config *config;
    struct config_faults faults;
    struct schema schema;
    struct raw *raw;
};

static cyaml_schema_field_t key_schema(const struct config_key *k, unsigned index)
{
    uint32_t at =
        (uint32_t)(offsetof(struct raw_section, value) + index * sizeof(struct raw_value));
    cyaml_schema_field_t f = {
        .key = k->name,
        .value = {.flags = (enum cyaml_flag)(CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER_NULL_STR)}};
    /* There is a driver called null, which YAML takes for nothing. */
    if (k->kind == CONFIG_ENUM)
        f.value.flags = (enum cyaml_flag)(CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER_NULL);
    if (config_kind_is_list(k->kind)) {
        f.data_offset = at + (uint32_t)offsetof(struct raw_value, item);
        f.count_offset = at + (uint32_t)offsetof(struct raw_value, n_items);
        f.count_size = sizeof(uint32_t);
        f.value.type = CYAML_SEQUENCE;
        f.value.data_size = sizeof(char *);
        f.value.sequence.entry = &item_schema;
        f.value.sequence.max = CONFIG_ENTRIES_MAX;
    } else {
        f.data_offset = at + (uint32_t)offsetof(struct raw_value, text);
        f.value.type = CYAML_STRING;
        f.value.data_size = sizeof(char);
        f.value.string.max = FILE_MAX;
    }
    return f;
}

static cyaml_schema_field_t section_schema(struct schema *s, unsigned index)
{
    const struct config_section *section = &config_sections[index];
    for (unsigned i = 0; i < section->n_keys; i++)
        s->key[index][i] = key_schema(&section->key[i], i);

    cyaml_schema_value_t mapping = {.type = CYAML_MAPPING,
                                    .data_size = sizeof(struct raw_section),
                                    .mapping = {.fields = s->key[index]}};
    cyaml_schema_field_t f = {.key = section->name,
                              .data_offset = (uint32_t)(offsetof(struct raw, section) +
                                                        index * sizeof(struct raw_section *)),
                              .value = mapping};
    if (section->noun) {
        s->entry[index] = mapping;
        f.count_offset = (uint32_t)(offsetof(struct raw, n_entries) + index * sizeof(uint32_t));
        f.count_size = sizeof(uint32_t);
        f.value.type = CYAML_SEQUENCE;
        f.value.sequence.entry = &s->entry[index];
        f.value.sequence.min = 0;
        f.value.sequence.max = section->max;
    }
    f.value.flags = (enum cyaml_flag)(CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER_NULL_STR);
    return f;
}

static void schema_make(struct schema *s)
{
    *s = (struct schema){0};
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++)
        s->section[i] = section_schema(s, i);
    s->root = (cyaml_schema_value_t){.type = CYAML_MAPPING,
                                     .flags = CYAML_FLAG_POINTER,
                                     .data_size = sizeof(struct raw),
                                     .mapping = {.fields = s->section}};
}

static void read_default(const struct config_key *k, void *base)
{
    struct config_why why;
    if (k->preset)
        config_value_read(k, base, k->preset, &why);
}

static bool given(const struct config_key *k, const struct raw_value *v)
{
    return config_kind_is_list(k->kind) ? v->item != NULL : v->text != NULL;
}

static void read_list(struct load *l, const struct config_key *k, void *base,
                      const struct raw_value *v, struct config_place *place)
{
    struct config_why why;
    if (v->n_items > k->max)
        config_fault(&l->faults, place, "has %u entries, more than %ju", v->n_items,
                     (uintmax_t)k->max);
    for (uint32_t i = 0; i < v->n_items && i < k->max; i++) {
        place->item = (int)i;
        if (!config_value_read(k, base, v->item[i], &why))
            config_fault(&l->faults, place, "%s", why.text);
    }
}

static void read_key(struct load *l, const struct config_key *k, void *base,
                     const struct raw_value *v, struct config_place *place)
{
    struct config_why why;
    if (!given(k, v)) {
        read_default(k, base);
    } else if (config_kind_is_list(k->kind)) {
        read_list(l, k, base, v, place);
    } else if (!config_value_read(k, base, v->text, &why)) {
        config_fault(&l->faults, place, "%s", why.text);
        read_default(k, base);
    }
}

static void read_section(struct load *l, const struct config_section *s,
                         const struct raw_section *raw, int index, void *base)
{
    static const struct raw_section none;
    if (!raw)
        raw = &none;
    for (unsigned i = 0; i < s->n_keys; i++) {
        struct config_place place = {s->name, index, s->key[i].name, -1};
        read_key(l, &s->key[i], base, &raw->value[i], &place);
    }
}

/* "an origin", "a user" */
static const char *article(const char *word)
{
    return strchr("aeiou", word[0]) && strncmp(word, "us", 2) != 0 ? "an" : "a";
}

/* What the driver cannot do without, and what it cannot use. driver: its bit; 0: not known. */
static void check_keys(struct load *l, const struct config_section *s,
                       const struct raw_section *raw, int index, uint32_t driver)
{
    const char *name = driver ? config_driver_names[__builtin_ctz(driver)] : "";
    const struct config_place *entry = CONFIG_PLACE(s->name, index, NULL, -1);
    for (unsigned i = 0; i < s->n_keys; i++) {
        const struct config_key *k = &s->key[i];
        bool is = given(k, &raw->value[i]);
        if (!is && k->needed == UINT32_MAX)
            config_fault(&l->faults, entry, "%s %s needs %s '%s'", article(s->noun), s->noun,
                         article(k->name), k->name);
        else if (!is && k->needed & driver)
            config_fault(&l->faults, entry, "driver '%s' needs '%s'", name, k->name);
        else if (is && driver && k->drivers && !(k->drivers & driver))
            config_fault(&l->faults, CONFIG_PLACE(s->name, index, k->name, -1),
                         "'%s' means nothing to driver '%s'", k->name, name);
    }
}

/* The driver's bit; 0 where the device names none that there is. */
static uint32_t driver_of(const struct config_section *s, const struct raw_section *raw)
{
    const struct config_key *k = config_key_find(s, "driver");
    struct config_device d;
    struct config_why why;
    const char *text = raw->value[k - s->key].text;
    return text && config_value_read(k, &d, text, &why) ? 1u << d.driver : 0;
}

/* The interface that a TAP device makes is called like the device, unless the file says. */
static void name_tap(struct load *l, const struct config_section *s, struct config_device *d,
                     int index)
{
    struct config_why why;
    if (!d->interface && d->iface.name[0] &&
        !config_value_read(config_key_find(s, "interface"), d, d->iface.name, &why))
        config_fault(&l->faults, CONFIG_PLACE(s->name, index, "name", -1),
                     "%s: give 'interface' too", why.text);
}

static void read_entry(struct load *l, const struct config_section *s,
                       const struct raw_section *raw, int index, void *entry)
{
    bool device = s == &config_sections[CONFIG_SECTION_DEVICES];
    uint32_t driver = device ? driver_of(s, raw) : 0;
    read_section(l, s, raw, index, entry);
    check_keys(l, s, raw, index, driver);
    if (driver == 1u << CONFIG_DRIVER_TAP)
        name_tap(l, s, entry, index);
}

static void read_entries(struct load *l, unsigned section)
{
    const struct config_section *s = &config_sections[section];
    uint32_t n = l->raw->n_entries[section];
    if (!n)
        return;
    if (!config_entries_make(s, l->config, n)) {
        config_fault_at(&l->faults, 0, CONFIG_ROOT, "out of memory");
        return;
    }
    for (unsigned i = 0; i < n; i++)
        read_entry(l, s, &l->raw->section[section][i], (int)i, config_entry(s, l->config, i));
}

/* All values, and then the rules between them if each is good by itself. */
static void read_all(struct load *l)
{
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++)
        if (config_sections[i].noun)
            read_entries(l, i);
        else
            read_section(l, &config_sections[i], l->raw->section[i], -1, l->config);
    if (!l->faults.n)
        config_check(l->config, &l->faults);
}

static void load_tree(struct load *l, const char *bytes, size_t n)
{
    struct raw nothing = {0};
    if (!config_tree_scan(l->config->tree, &l->faults))
        return;
    if (l->config->tree->empty) {
        l->raw = &nothing;
        read_all(l);
        l->raw = NULL;
        return;
    }
    schema_make(&l->schema);
    cyaml_err_t e = cyaml_load_data((const uint8_t *)bytes, n, &cyaml_config, &l->schema.root,
                                    (cyaml_data_t **)&l->raw, NULL);
    if (e != CYAML_OK) {
        config_fault_at(&l->faults, 0, CONFIG_ROOT, "libcyaml: %s", cyaml_strerror(e));
        return;
    }
    read_all(l);
    cyaml_free(&cyaml_config, &l->schema.root, l->raw, 0);
}

/* The document's tree, which the configuration keeps. False, with a fault, where there is none. */
static bool read_tree(struct load *l, const char *bytes, size_t n)
{
    struct config_tree *t = malloc(sizeof(*t));
    if (!t)
        config_fault_at(&l->faults, 0, CONFIG_ROOT, "out of memory");
    if (!t || !config_tree_read(t, bytes, n, &l->faults)) {
        free(t);
        return false;
    }
    l->config->tree = t;
    l->faults.tree = t;
    return true;
}

struct config *config_load(const char *file, FILE *errors)
{
    struct load *l = calloc(1, sizeof(*l));
    struct config *c = calloc(1, sizeof(*c));
    if (!l || !c) {
        fprintf(errors, "%s: out of memory\n", file);
        free(l);
        free(c);
        return NULL;
    }
    l->config = c;
    l->faults.file = file;
    struct file f;
    char why[FILE_WHY_MAX];
    if (!file_load(file, FILE_MAX, &f, why))
        config_fault_at(&l->faults, 0, CONFIG_ROOT, "%s", why);
    else if (read_tree(l, f.bytes, f.n))
        load_tree(l, f.bytes, f.n);
    file_free(&f);
    unsigned faults = config_faults_flush(&l->faults, errors);
    free(l);
    if (!faults)
        return c;
    config_free(c);
    return NULL;
}

static void free_section(const struct config_section *s, void *base)
{
    for (unsigned i = 0; i < s->n_keys; i++)
        config_value_free(&s->key[i], base);
}

void config_free(struct config *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &config_sections[i];
        if (!s->noun)
            free_section(s, c);
        for (unsigned n = 0; s->noun && n < config_entries(s, c); n++)
            free_section(s, config_entry(s, c, n));
    }
    if (c->tree)
        config_tree_free(c->tree);
    free(c->tree);
    free(c->device);
    free(c->listener);
    free(c->certificate);
    free(c->origin);
    free(c->response);
    free(c->proxy);
    free(c->rule);
    free(c->user_limit);
    free(c->host);
    free(c);
}
