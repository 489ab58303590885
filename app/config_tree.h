/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_TREE_H
#define MILLRACE_APP_CONFIG_TREE_H

/*
 * The document as libyaml sees it, with its lines. libcyaml stops at the first thing it does not
 * know and keeps no lines, so the shape of the document is checked here first, against the
 * registry: every unknown and doubled key, every list where a value belongs.
 */

#include <stdbool.h>
#include <stddef.h>

#include <yaml.h>

#include "app/config_fault.h"

#define CONFIG_ENTRIES_MAX 256 /* of a mapping or list; nothing honest comes near it */

struct config_tree {
    yaml_document_t document;
    bool empty; /* no document, or a null one */
};

/* False, with a fault, where the bytes are not one YAML document. True: to be freed. */
bool config_tree_read(struct config_tree *t, const char *bytes, size_t n, struct config_faults *f);
void config_tree_free(struct config_tree *t);

/*
 * Every fault of shape. True where the document fits the registry but for unknown keys, which are
 * reported and can be passed over.
 */
bool config_tree_scan(struct config_tree *t, struct config_faults *f);

/* The line, from 1, of a place or of the nearest thing around it that the document has; 0: none. */
unsigned config_tree_line(const struct config_tree *t, const struct config_place *place);

#endif
