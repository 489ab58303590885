/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "app/config_check.h"

#define PROXIES_MAX 64 /* no less than the section has */

#define ENTRY(section, i, name) CONFIG_PLACE((section), (int)(i), (name), -1)

const struct config_proxy *config_proxy_find(const struct config *c, const char *name)
{
    for (unsigned i = 0; i < c->n_proxies; i++)
        if (!strcmp(c->proxy[i].name, name))
            return &c->proxy[i];
    return NULL;
}

static void check_named(const struct config *c, const char *name, const struct config_place *place,
                        struct config_faults *f)
{
    const char *known[PROXIES_MAX];
    if (config_proxy_find(c, name))
        return;
    for (unsigned i = 0; i < c->n_proxies; i++)
        known[i] = c->proxy[i].name;
    config_fault_unknown(f, place, "proxy", "proxies", name, known, c->n_proxies);
}

/* ---- proxies ---- */

static void check_egress(const struct config *c, unsigned n, struct config_faults *f)
{
    const struct config_list *l = &c->proxy[n].egress;
    const struct ip_addr *a = l->v;
    char text[IP_ADDR_TEXT];
    for (unsigned i = 0; i < l->n; i++) {
        ip_format(&a[i], text);
        if (!config_is_ours(c, &a[i]))
            config_fault(f, CONFIG_PLACE("proxies", (int)n, "egress", (int)i),
                         "%s is no device's address", text);
    }
}

static void check_authentication(const struct config_proxy *p, unsigned n, struct config_faults *f)
{
    bool basic = p->authentication == CONFIG_AUTHENTICATION_BASIC ||
                 p->authentication == CONFIG_AUTHENTICATION_ANY;
    if (basic && !p->users_file)
        config_fault(f, ENTRY("proxies", n, "authentication"),
                     "passwords need a 'users-file' to be compared with");
    if (!basic && p->users_file)
        config_fault(f, ENTRY("proxies", n, "users-file"),
                     "means nothing unless 'authentication' is basic or any");
    if (!basic && p->realm)
        config_fault(f, ENTRY("proxies", n, "realm"),
                     "means nothing unless 'authentication' is basic or any");
}

/* It is sent as a quoted string (RFC 7617 2, RFC 9110 5.6.4). */
static void check_realm(const struct config_proxy *p, unsigned n, struct config_faults *f)
{
    for (const char *at = p->realm; at && *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e || *at == '"' || *at == '\\') {
            config_fault(f, ENTRY("proxies", n, "realm"),
                         "can have letters, digits and signs of ASCII, but no quotes and no \\");
            return;
        }
}

static void check_proxy(const struct config *c, unsigned n, struct config_faults *f)
{
    const struct config_proxy *p = &c->proxy[n];
    const struct config_proxy *first = config_proxy_find(c, p->name);
    if (first != p)
        config_fault(f, ENTRY("proxies", n, "name"), "the same as that of proxies[%td]",
                     first - c->proxy);
    check_authentication(p, n, f);
    check_realm(p, n, f);
    check_egress(c, n, f);
}

/* ---- what names proxies ---- */

static void check_rule(const struct config *c, unsigned n, struct config_faults *f)
{
    check_named(c, c->rule[n].proxy, ENTRY("rules", n, "proxy"), f);
}

static void check_user_limit(const struct config *c, unsigned n, struct config_faults *f)
{
    const struct config_user_limit *l = &c->user_limit[n];
    check_named(c, l->proxy, ENTRY("user-limits", n, "proxy"), f);
    if (!strcmp(l->user, "*"))
        config_fault(f, ENTRY("user-limits", n, "user"),
                     "what each user may have says the proxy itself (max-tunnels, ...)");
    for (unsigned other = 0; other < n; other++)
        if (!strcmp(c->user_limit[other].user, l->user) &&
            !strcmp(c->user_limit[other].proxy, l->proxy))
            config_fault(f, ENTRY("user-limits", n, "user"), "the same as that of user-limits[%u]",
                         other);
}

static void check_listener(const struct config *c, unsigned n, struct config_faults *f)
{
    const struct config_listener *l = &c->listener[n];
    bool connect = l->service == SERVICE_CONNECT;
    if (connect && !l->proxy[0])
        config_fault(f, ENTRY("listeners", n, NULL),
                     "service 'connect' needs a 'proxy' that says who may go where");
    else if (!connect && l->proxy[0])
        config_fault(f, ENTRY("listeners", n, "proxy"), "means nothing to service '%s'",
                     service_name(l->service));
    else if (connect)
        check_named(c, l->proxy, ENTRY("listeners", n, "proxy"), f);
    const struct config_proxy *p = config_proxy_find(c, l->proxy);
    if (connect && p && p->authentication == CONFIG_AUTHENTICATION_CERTIFICATE &&
        l->client_auth == TLS_CLIENT_AUTH_OFF)
        config_fault(f, ENTRY("listeners", n, "proxy"),
                     "'%s' knows users by their certificates, which nobody is asked for here: "
                     "'client-auth' has to be optional or required",
                     p->name);
}

/* ---- names ---- */

static void check_host(const struct config *c, unsigned n, struct config_faults *f)
{
    for (unsigned other = 0; other < n; other++)
        if (!strcmp(c->host[other].name, c->host[n].name))
            config_fault(f, ENTRY("hosts", n, "name"), "the same as that of hosts[%u]", other);
}

static void check_resolver(const struct config *c, struct config_faults *f)
{
    const struct resolver_settings *r = &c->resolver;
    if (r->min_ttl_s > r->max_ttl_s)
        config_fault(f, CONFIG_PLACE("resolver", -1, "min-ttl-s", -1),
                     "%u is more than max-ttl-s, %u", r->min_ttl_s, r->max_ttl_s);
    if (r->client_queries > r->queries)
        config_fault(f, CONFIG_PLACE("resolver", -1, "client-queries", -1),
                     "%u is more than queries, %u", r->client_queries, r->queries);
}

void config_check_proxy(const struct config *c, struct config_faults *f)
{
    for (unsigned n = 0; n < c->n_proxies; n++)
        check_proxy(c, n, f);
    for (unsigned n = 0; n < c->n_rules; n++)
        check_rule(c, n, f);
    for (unsigned n = 0; n < c->n_user_limits; n++)
        check_user_limit(c, n, f);
    for (unsigned n = 0; n < c->n_listeners; n++)
        check_listener(c, n, f);
    for (unsigned n = 0; n < c->n_hosts; n++)
        check_host(c, n, f);
    check_resolver(c, f);
}
