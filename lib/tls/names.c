/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/names.h"

#include <string.h>

/* Where name is, or would be. */
static unsigned place(const struct tls_names *n, const char *name)
{
    unsigned low = 0;
    unsigned high = n->n;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (strcmp(n->name[middle].text, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct tls_name *lookup(const struct tls_names *n, const char *name)
{
    unsigned at = place(n, name);
    return at < n->n && strcmp(n->name[at].text, name) == 0 ? &n->name[at] : NULL;
}

const struct tls_set *names_find(const struct tls_names *n, const char *name)
{
    char folded[TLS_NAME_MAX + 1];
    if (!identity_fold(name, strlen(name), folded, sizeof(folded)))
        return NULL;
    const struct tls_name *found = lookup(n, folded);
    char *dot = strchr(folded, '.');
    if (!found && dot && dot > folded) {
        *--dot = '*';
        found = lookup(n, dot);
    }
    return found ? &n->set[found->set] : NULL;
}

/* ---- making ---- */

/* Is it for that name? NULL: for none at all. */
static bool serves(const struct identity *id, const char *name)
{
    for (unsigned i = 0; name && i < id->n_names; i++) {
        if (strcmp(id->name[i], name) == 0)
            return true;
    }
    return !name && id->n_names == 0;
}

static struct tls_set set_of(const struct identity *id, unsigned n_ids, const char *name)
{
    struct tls_set set = {.ctx = NULL};
    for (unsigned i = 0; i < n_ids; i++) {
        uint16_t *of_kind = &set.identity[id[i].kind];
        if (*of_kind == 0 && serves(&id[i], name))
            *of_kind = (uint16_t)(i + 1);
    }
    return set;
}

static uint16_t intern(struct tls_names *n, const struct tls_set *set)
{
    unsigned i = 0;
    while (i < n->n_sets && memcmp(n->set[i].identity, set->identity, sizeof(set->identity)) != 0)
        i++;
    if (i == n->n_sets)
        n->set[n->n_sets++] = *set;
    return (uint16_t)i;
}

static void insert(struct tls_names *n, const char *text, uint16_t set)
{
    unsigned at = place(n, text);
    memmove(&n->name[at + 1], &n->name[at], (n->n - at) * sizeof(n->name[0]));
    n->name[at] = (struct tls_name){.text = text, .set = set};
    n->n++;
}

bool names_init(struct tls_names *n, const struct identity *id, unsigned n_ids)
{
    *n = (struct tls_names){.room = 1};
    for (unsigned i = 0; i < n_ids; i++)
        n->room += id[i].n_names;
    n->name = OPENSSL_zalloc(n->room * sizeof(*n->name));
    n->set = OPENSSL_zalloc(n->room * sizeof(*n->set));
    if (!n->name || !n->set)
        return false;
    struct tls_set first = set_of(id, n_ids, id[0].n_names > 0 ? id[0].name[0] : NULL);
    intern(n, &first);
    for (unsigned i = 0; i < n_ids; i++) {
        for (unsigned k = 0; k < id[i].n_names; k++) {
            if (lookup(n, id[i].name[k]))
                continue;
            struct tls_set set = set_of(id, n_ids, id[i].name[k]);
            insert(n, id[i].name[k], intern(n, &set));
        }
    }
    return true;
}

void names_fini(struct tls_names *n)
{
    OPENSSL_free(n->name);
    OPENSSL_free(n->set);
}
