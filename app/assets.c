/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/assets.h"

#include <assert.h>
#include <stdlib.h>

#include "app/certificates.h"
#include "app/memory.h"
#include "app/site.h"

struct assets {
    struct assets *next;
    unsigned holders;
    struct memory memory; /* of the origins */
    unsigned n_listeners;
    unsigned n_origins;
    struct tls_context *tls[STACK_LISTENERS_MAX]; /* by listener */
    unsigned origin_of[STACK_LISTENERS_MAX];      /* its origin's number; n_origins: none */
    struct {
        struct origin *origin;
        unsigned left_out;
    } site[];
};

static void destroy(struct assets *a)
{
    for (unsigned i = 0; i < a->n_listeners; i++)
        tls_context_release(a->tls[i]);
    for (unsigned i = 0; i < a->n_origins; i++)
        origin_destroy(a->site[i].origin);
    free(a);
}

static bool load_listener(struct assets *a, const struct config *c, unsigned n,
                          struct config_faults *f)
{
    const struct config_listener *l = &c->listener[n];
    a->origin_of[n] = c->n_origins;
    if (l->service == SERVICE_ORIGIN)
        a->origin_of[n] = (unsigned)(config_origin_find(c, l->origin) - c->origin);
    if (!l->n_certificates)
        return true;
    a->tls[n] = certificates_load(c, n, f);
    return a->tls[n];
}

/* What can be had: one run finds all faults. */
static bool load_all(struct assets *a, const struct config *c, struct config_faults *f)
{
    bool all = true;
    for (unsigned i = 0; i < c->n_listeners; i++)
        all &= load_listener(a, c, i, f);
    for (unsigned i = 0; i < c->n_origins; i++) {
        a->site[i].origin = site_load(c, i, &a->memory.mem, &a->site[i].left_out, f);
        all &= a->site[i].origin != NULL;
    }
    return all;
}

struct assets *assets_load(struct assets_store *s, const struct config *c, struct config_faults *f)
{
    struct assets *a = calloc(1, sizeof(*a) + c->n_origins * sizeof(a->site[0]));
    if (!a) {
        config_fault_at(f, 0, CONFIG_ROOT, "out of memory");
        return NULL;
    }
    memory_init(&a->memory);
    a->holders = 1;
    a->n_listeners = c->n_listeners;
    a->n_origins = c->n_origins;
    if (!load_all(a, c, f)) {
        destroy(a);
        return NULL;
    }
    a->next = s->first;
    s->first = a;
    return a;
}

struct assets *assets_hold(struct assets *a)
{
    if (a)
        a->holders++;
    return a;
}

void assets_release(struct assets *a)
{
    assert((!a || a->holders > 0) && "each holder gives its reference up once");
    if (a)
        a->holders--;
}

/* A TLS context is counted by those who use it, wherever they are. */
static bool in_use(const struct assets *a)
{
    for (unsigned i = 0; i < a->n_origins; i++)
        if (origin_users(a->site[i].origin) > 0)
            return true;
    return false;
}

unsigned assets_reap(struct assets_store *s)
{
    unsigned left = 0;
    for (struct assets **at = &s->first, *a; (a = *at);) {
        if (a->holders == 0 && !in_use(a)) {
            *at = a->next;
            destroy(a);
            continue;
        }
        left += a->holders == 0;
        at = &a->next;
    }
    return left;
}

struct tls_context *assets_tls(const struct assets *a, unsigned listener)
{
    return a->tls[listener];
}

const struct origin *assets_origin(const struct assets *a, unsigned listener)
{
    unsigned n = a->origin_of[listener];
    return n < a->n_origins ? a->site[n].origin : NULL;
}

const struct origin *assets_site(const struct assets *a, unsigned origin, unsigned *left_out)
{
    *left_out = a->site[origin].left_out;
    return a->site[origin].origin;
}
