/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/assets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "app/certificates.h"
#include "app/credentials.h"
#include "app/proxies.h"
#include "app/site.h"

/* One that is loaded, with what it compares passwords with. */
struct guard {
    struct credentials *credentials; /* NULL: it asks for none */
    struct proxy *proxy;
};

struct assets {
    struct assets *next;
    unsigned holders;
    unsigned n_listeners;
    unsigned n_origins;
    unsigned n_proxies;
    struct tls_context *tls[STACK_LISTENERS_MAX]; /* by listener */
    unsigned origin_of[STACK_LISTENERS_MAX];      /* its origin's number; n_origins: none */
    unsigned proxy_of[STACK_LISTENERS_MAX];       /* its proxy's number; n_proxies: none */
    struct guard *guard;                          /* by proxy */
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
    for (unsigned i = 0; i < a->n_proxies; i++) {
        proxy_destroy(a->guard[i].proxy);
        credentials_release(a->guard[i].credentials);
    }
    free(a->guard);
    free(a);
}

static bool load_listener(struct assets *a, const struct config *c, unsigned n,
                          struct config_faults *f)
{
    const struct config_listener *l = &c->listener[n];
    a->origin_of[n] = c->n_origins;
    if (l->service == SERVICE_ORIGIN)
        a->origin_of[n] = (unsigned)(config_origin_find(c, l->origin) - c->origin);
    a->proxy_of[n] = c->n_proxies;
    if (l->service == SERVICE_CONNECT)
        a->proxy_of[n] = (unsigned)(config_proxy_find(c, l->proxy) - c->proxy);
    if (!l->n_certificates)
        return true;
    a->tls[n] = certificates_load(c, n, f);
    return a->tls[n];
}

/* NULL: there is none. */
static const struct proxy *proxy_named(const struct assets *a, const char *name)
{
    for (unsigned i = 0; a && i < a->n_proxies; i++)
        if (!strcmp(proxy_options(a->guard[i].proxy)->name, name))
            return a->guard[i].proxy;
    return NULL;
}

static bool load_proxy(struct assets *a, const struct config *c, unsigned n, struct mem *mem,
                       const struct assets *before, struct config_faults *f)
{
    const struct config_proxy *p = &c->proxy[n];
    struct guard *to = &a->guard[n];
    if (proxies_ask_password(p)) {
        to->credentials =
            credentials_load(p->users_file, CONFIG_PLACE("proxies", (int)n, "users-file", -1), f);
        if (!to->credentials)
            return false;
    }
    to->proxy = proxies_make(c, n, mem, proxy_named(before, p->name), to->credentials, f);
    return to->proxy;
}

/* What can be had: one run finds all faults. */
static bool load_all(struct assets *a, const struct config *c, struct mem *mem,
                     const struct assets *before, struct config_faults *f)
{
    bool all = true;
    for (unsigned i = 0; i < c->n_listeners; i++)
        all &= load_listener(a, c, i, f);
    for (unsigned i = 0; i < c->n_origins; i++) {
        a->site[i].origin = site_load(c, i, mem, &a->site[i].left_out, f);
        all &= a->site[i].origin != NULL;
    }
    for (unsigned i = 0; i < c->n_proxies; i++)
        all &= load_proxy(a, c, i, mem, before, f);
    return all;
}

/* Empty, with room for all that c names. NULL: no memory. */
static struct assets *create(const struct config *c)
{
    struct assets *a = calloc(1, sizeof(*a) + c->n_origins * sizeof(a->site[0]));
    struct guard *guard = calloc(c->n_proxies + 1, sizeof(*guard)); /* never of no bytes */
    if (!a || !guard) {
        free(a);
        free(guard);
        return NULL;
    }
    a->holders = 1;
    a->n_listeners = c->n_listeners;
    a->n_origins = c->n_origins;
    a->n_proxies = c->n_proxies;
    a->guard = guard;
    return a;
}

struct assets *assets_load(struct assets_store *s, const struct config *c,
                           const struct assets *before, struct config_faults *f)
{
    struct assets *a = create(c);
    if (!a) {
        config_fault_at(f, 0, CONFIG_ROOT, "out of memory");
        return NULL;
    }
    if (!s->memory.mem.alloc)
        memory_init(&s->memory);
    if (!load_all(a, c, &s->memory.mem, before, f)) {
        destroy(a);
        return NULL;
    }
    a->next = s->first;
    s->first = a;
    return a;
}

void assets_enforce(struct assets *a)
{
    for (unsigned i = 0; i < a->n_proxies; i++)
        proxy_enforce(a->guard[i].proxy);
}

void assets_warn(const struct assets *a, const struct config *c, struct config_faults *f)
{
    for (unsigned i = 0; i < a->n_proxies; i++)
        proxies_warn(c, i, a->guard[i].credentials, f);
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
    for (unsigned i = 0; i < a->n_proxies; i++)
        if (proxy_users(a->guard[i].proxy) > 0)
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

const struct proxy *assets_proxy(const struct assets *a, unsigned listener)
{
    unsigned n = a->proxy_of[listener];
    return n < a->n_proxies ? a->guard[n].proxy : NULL;
}

bool assets_has_credentials(const struct assets_store *s, const void *credentials)
{
    for (const struct assets *a = s->first; a; a = a->next)
        for (unsigned i = 0; i < a->n_proxies; i++)
            if (a->guard[i].credentials == credentials)
                return credentials != NULL;
    return false;
}

const struct origin *assets_site(const struct assets *a, unsigned origin, unsigned *left_out)
{
    *left_out = a->site[origin].left_out;
    return a->site[origin].origin;
}
