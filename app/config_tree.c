/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_tree.h"

#include <string.h>

#include "app/config_keys.h"

_Static_assert(CONFIG_ENTRIES_MAX == CONFIG_LIST_MAX, "a list of one key is no longer either");

/* Nodes are numbered from 1 in the document's stack; numbers in pairs and items are always valid.
 */
static const yaml_node_t *node(const struct config_tree *t, int number)
{
    return t->document.nodes.start + number - 1;
}

static unsigned line(const yaml_node_t *n)
{
    return (unsigned)n->start_mark.line + 1;
}

static const char *scalar(const yaml_node_t *n)
{
    return (const char *)n->data.scalar.value;
}

/* What libcyaml takes for no value. */
static bool is_null(const yaml_node_t *n)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (n->type != YAML_SCALAR_NODE)
        return false;
    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
        if (!strcmp(scalar(n), nulls[i]))
            return true;
    return false;
}

static const yaml_node_pair_t *pair_find(const struct config_tree *t, const yaml_node_t *mapping,
                                         const char *name)
{
    const yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
    for (; p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = node(t, p->key);
        if (key->type == YAML_SCALAR_NODE && !strcmp(scalar(key), name))
            return p;
    }
    return NULL;
}

/* Looking for doubled keys is quadratic. */
static bool few_keys(const yaml_node_t *mapping, const struct config_place *place,
                     struct config_faults *f)
{
    if (mapping->data.mapping.pairs.top - mapping->data.mapping.pairs.start <= CONFIG_ENTRIES_MAX)
        return true;
    config_fault_at(f, line(mapping), place, "has more than %d keys", CONFIG_ENTRIES_MAX);
    return false;
}

static const yaml_node_t *item_find(const struct config_tree *t, const yaml_node_t *sequence,
                                    int index)
{
    const yaml_node_item_t *item = sequence->data.sequence.items.start + index;
    return item < sequence->data.sequence.items.top ? node(t, *item) : NULL;
}

unsigned config_tree_line(const struct config_tree *t, const struct config_place *place)
{
    if (t->empty || !place->section)
        return 0;
    const yaml_node_t *n = node(t, 1);
    const struct {
        const char *key;
        int item;
    } step[] = {{place->section, -1}, {NULL, place->index}, {place->key, -1}, {NULL, place->item}};
    unsigned at = 0;
    for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
        if (step[i].key && n->type == YAML_MAPPING_NODE) {
            const yaml_node_pair_t *p = pair_find(t, n, step[i].key);
            if (!p)
                break;
            at = line(node(t, p->key));
            n = node(t, p->value);
        } else if (step[i].item >= 0 && n->type == YAML_SEQUENCE_NODE) {
            const yaml_node_t *item = item_find(t, n, step[i].item);
            if (!item)
                break;
            at = line(item);
            n = item;
        } else if (step[i].key || step[i].item >= 0) {
            break;
        }
    }
    return at;
}

static void fault_unknown(struct config_faults *f, unsigned at, const struct config_place *place,
                          const char *name, const char *const *known, unsigned n)
{
    char quoted[CONFIG_QUOTE_MAX];
    config_quote(name, quoted);
    const char *near = config_nearest(name, known, n);
    bool section = near && !place->section; /* "origin", which is a key of listeners, too */
    for (unsigned i = 0; i < CONFIG_SECTIONS && !section; i++)
        if (config_key_find(&config_sections[i], name)) {
            config_fault_at(f, at, place, "unknown key '%s' (it belongs in '%s')", quoted,
                            config_sections[i].name);
            return;
        }
    if (near)
        config_fault_at(f, at, place, "unknown key '%s' (did you mean '%s'?)", quoted, near);
    else
        config_fault_at(f, at, place, "unknown key '%s'", quoted);
}

/* A key that is text and stands there for the first time. */
static bool scan_key(const struct config_tree *t, const yaml_node_t *mapping,
                     const yaml_node_pair_t *p, const struct config_place *place,
                     struct config_faults *f)
{
    const yaml_node_t *key = node(t, p->key);
    if (key->type != YAML_SCALAR_NODE) {
        config_fault_at(f, line(key), place, "a key has to be a word");
        return false;
    }
    const yaml_node_pair_t *first = pair_find(t, mapping, scalar(key));
    if (first != p) {
        char quoted[CONFIG_QUOTE_MAX];
        config_fault_at(f, line(key), place, "key '%s' stands here already, in line %u",
                        config_quote(scalar(key), quoted), line(node(t, first->key)));
        return false;
    }
    return true;
}

static bool scan_scalar(const yaml_node_t *n, const struct config_place *place,
                        struct config_faults *f)
{
    if (n->type != YAML_SCALAR_NODE) {
        config_fault_at(f, line(n), place, "has to be a single value, not a %s",
                        n->type == YAML_SEQUENCE_NODE ? "list" : "mapping");
        return false;
    }
    for (size_t i = 0; i < n->data.scalar.length; i++)
        if (n->data.scalar.value[i] < 0x20) {
            config_fault_at(f, line(n), place, "contains a control character");
            return false;
        }
    return true;
}

static bool few_items(const yaml_node_t *sequence, const struct config_place *place, int max,
                      struct config_faults *f)
{
    ptrdiff_t count = sequence->data.sequence.items.top - sequence->data.sequence.items.start;
    if (count <= max)
        return true;
    config_fault(f, place, "has %td entries, more than %d", count, max);
    return false;
}

static bool scan_list(const struct config_tree *t, const yaml_node_t *n, struct config_place *place,
                      struct config_faults *f)
{
    if (is_null(n))
        return true;
    if (n->type != YAML_SEQUENCE_NODE) {
        char quoted[CONFIG_QUOTE_MAX];
        if (n->type == YAML_SCALAR_NODE)
            config_fault_at(f, line(n), place, "has to be a list: [%s]",
                            config_quote(scalar(n), quoted));
        else
            config_fault_at(f, line(n), place, "has to be a list, not a mapping");
        return false;
    }
    if (!few_items(n, place, CONFIG_ENTRIES_MAX, f))
        return false;
    bool fits = true;
    const yaml_node_t *item;
    for (int i = 0; (item = item_find(t, n, i)); i++) {
        place->item = i;
        fits &= scan_scalar(item, place, f);
    }
    return fits;
}

static bool scan_section(const struct config_tree *t, const yaml_node_t *n,
                         const struct config_section *s, int index, struct config_faults *f)
{
    struct config_place place = {.section = s->name, .index = index, .item = -1};
    if (n->type != YAML_MAPPING_NODE) {
        config_fault_at(f, line(n), &place, "has to be a mapping of keys to values");
        return false;
    }
    if (!few_keys(n, &place, f))
        return false;
    const char *known[CONFIG_KEYS_MAX];
    for (unsigned i = 0; i < s->n_keys; i++)
        known[i] = s->key[i].name;
    bool fits = true;
    const yaml_node_pair_t *p = n->data.mapping.pairs.start;
    for (; p < n->data.mapping.pairs.top; p++) {
        place.key = NULL;
        place.item = -1;
        if (!scan_key(t, n, p, &place, f)) {
            fits = false;
            continue;
        }
        const struct config_key *k = config_key_find(s, scalar(node(t, p->key)));
        if (!k) {
            fault_unknown(f, line(node(t, p->key)), &place, scalar(node(t, p->key)), known,
                          s->n_keys);
            continue;
        }
        place.key = k->name;
        fits &= config_kind_is_list(k->kind) ? scan_list(t, node(t, p->value), &place, f)
                                             : scan_scalar(node(t, p->value), &place, f);
    }
    return fits;
}

static bool scan_entries(const struct config_tree *t, const yaml_node_t *n,
                         const struct config_section *s, struct config_faults *f)
{
    const struct config_place *place = CONFIG_PLACE(s->name, -1, NULL, -1);
    if (n->type != YAML_SEQUENCE_NODE) {
        config_fault_at(f, line(n), place, "has to be a list: each entry starts with '-'");
        return false;
    }
    if (!few_items(n, place, (int)s->max, f))
        return false;
    bool fits = true;
    const yaml_node_t *item;
    for (int i = 0; (item = item_find(t, n, i)); i++)
        fits &= scan_section(t, item, s, i, f);
    return fits;
}

bool config_tree_scan(struct config_tree *t, struct config_faults *f)
{
    const struct config_place *root = CONFIG_ROOT;
    const yaml_node_t *n = node(t, 1);
    if (t->empty)
        return true;
    if (n->type != YAML_MAPPING_NODE) {
        config_fault_at(f, line(n), root, "the file has to be a mapping of keys to values");
        return false;
    }
    if (!few_keys(n, root, f))
        return false;
    const char *known[CONFIG_KEYS_MAX];
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++)
        known[i] = config_sections[i].name;
    bool fits = true;
    const yaml_node_pair_t *p = n->data.mapping.pairs.start;
    for (; p < n->data.mapping.pairs.top; p++) {
        if (!scan_key(t, n, p, root, f)) {
            fits = false;
            continue;
        }
        const yaml_node_t *value = node(t, p->value);
        const struct config_section *s = config_section_find(scalar(node(t, p->key)));
        if (!s)
            fault_unknown(f, line(node(t, p->key)), root, scalar(node(t, p->key)), known,
                          CONFIG_SECTIONS);
        else if (!is_null(value))
            fits &= s->noun ? scan_entries(t, value, s, f) : scan_section(t, value, s, -1, f);
    }
    return fits;
}

/* A tab before the first word of a line, from 0: libyaml speaks of a token then. */
static bool indented_by_tab(const char *bytes, size_t n, size_t line)
{
    const char *end = bytes + n;
    const char *at = bytes;
    for (; line > 0 && (at = memchr(at, '\n', (size_t)(end - at))); line--)
        at++;
    for (; at && at < end && (*at == ' ' || *at == '\t'); at++)
        if (*at == '\t')
            return true;
    return false;
}

static void fault_syntax(const yaml_parser_t *p, const char *bytes, size_t n,
                         struct config_faults *f)
{
    const yaml_mark_t *mark = p->problem_mark.line ? &p->problem_mark : &p->context_mark;
    if (p->error == YAML_MEMORY_ERROR)
        config_fault_at(f, 0, CONFIG_ROOT, "out of memory");
    else if (p->error == YAML_READER_ERROR)
        config_fault_at(f, 0, CONFIG_ROOT, "byte %zu: %s", p->problem_offset, p->problem);
    else if (indented_by_tab(bytes, n, mark->line))
        config_fault_at(f, (unsigned)mark->line + 1, CONFIG_ROOT,
                        "a tab in front: YAML wants spaces there");
    else
        config_fault_at(f, (unsigned)mark->line + 1, CONFIG_ROOT, "%s%s%s", p->problem,
                        p->context ? " " : "", p->context ? p->context : "");
}

/* True where nothing follows the document just read. */
static bool at_end(yaml_parser_t *p, const char *bytes, size_t n, struct config_faults *f)
{
    yaml_document_t more;
    if (!yaml_parser_load(p, &more)) {
        fault_syntax(p, bytes, n, f);
        return false;
    }
    const yaml_node_t *root = yaml_document_get_root_node(&more);
    if (root)
        config_fault_at(f, line(root), CONFIG_ROOT, "a second document; there can be one only");
    yaml_document_delete(&more);
    return !root;
}

bool config_tree_read(struct config_tree *t, const char *bytes, size_t n, struct config_faults *f)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        config_fault_at(f, 0, CONFIG_ROOT, "out of memory");
        return false;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n);
    bool good = yaml_parser_load(&parser, &t->document);
    if (!good) {
        fault_syntax(&parser, bytes, n, f);
    } else {
        const yaml_node_t *root = yaml_document_get_root_node(&t->document);
        t->empty = !root || is_null(root);
        if (root && !at_end(&parser, bytes, n, f)) {
            yaml_document_delete(&t->document);
            good = false;
        }
    }
    yaml_parser_delete(&parser);
    return good;
}

void config_tree_free(struct config_tree *t)
{
    yaml_document_delete(&t->document);
}
