/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/proxies.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY(section, i, name) CONFIG_PLACE((section), (int)(i), (name), -1)

bool proxies_ask_password(const struct config_proxy *p)
{
    return p->authentication == CONFIG_AUTHENTICATION_BASIC ||
           p->authentication == CONFIG_AUTHENTICATION_ANY;
}

static bool asks_certificate(const struct config_proxy *p)
{
    return p->authentication == CONFIG_AUTHENTICATION_CERTIFICATE ||
           p->authentication == CONFIG_AUTHENTICATION_ANY;
}

/* ---- from the configuration ---- */

static struct proxy_rule rule_of(const struct config_rule *r)
{
    return (struct proxy_rule){
        .allow = r->allow,
        .user = r->users.v,
        .n_users = r->users.n,
        .name = r->names.v,
        .n_names = r->names.n,
        .prefix = r->prefixes.v,
        .n_prefixes = r->prefixes.n,
        .port = r->ports.v,
        .n_ports = r->ports.n,
    };
}

/* Into rule, which has room for all there are. Returns how many. */
static unsigned rules_of(const struct config *c, const char *proxy, struct proxy_rule *rule)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->n_rules; i++)
        if (!strcmp(c->rule[i].proxy, proxy))
            rule[n++] = rule_of(&c->rule[i]);
    return n;
}

/* Nobody in particular has no name. */
static const char *account_of(const char *user)
{
    return strcmp(user, "-") ? user : "";
}

static unsigned users_of(const struct config *c, const char *proxy, struct proxy_user *user)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->n_user_limits; i++) {
        const struct config_user_limit *l = &c->user_limit[i];
        if (!strcmp(l->proxy, proxy))
            user[n++] = (struct proxy_user){account_of(l->user), l->limits};
    }
    return n;
}

static struct proxy_options options_of(const struct config_proxy *p,
                                       const struct credentials *credentials)
{
    return (struct proxy_options){
        .name = p->name,
        .realm = p->realm,
        .basic = proxies_ask_password(p),
        .certificate = asks_certificate(p),
        .permit = p->permit,
        .egress = p->egress.v,
        .n_egress = p->egress.n,
        .limits = p->limits,
        .connect_timeout = p->connect_timeout,
        .idle_timeout = p->idle_timeout,
        .half_open_timeout = p->half_open_timeout,
        .lifetime = p->lifetime == TICK_NEVER ? 0 : p->lifetime,
        .credentials = credentials,
    };
}

static const char *why(enum proxy_error e)
{
    return e == PROXY_E_LIMIT  ? "has more rules, users or addresses than there can be"
           : e == PROXY_E_NAME ? "has a rule with a name that is none"
                               : "out of memory";
}

struct proxy *proxies_make(const struct config *c, unsigned n, struct mem *mem,
                           const struct proxy *before, const struct credentials *credentials,
                           struct config_faults *f)
{
    const struct config_proxy *from = &c->proxy[n];
    struct proxy_rule *rule = calloc(c->n_rules + 1, sizeof(*rule)); /* never of no bytes */
    struct proxy_user *user = calloc(c->n_user_limits + 1, sizeof(*user));
    struct proxy *p = NULL;
    enum proxy_error error = PROXY_E_MEMORY;
    if (rule && user) {
        struct proxy_options o = options_of(from, credentials);
        o.rule = rule;
        o.n_rules = rules_of(c, from->name, rule);
        o.user = user;
        o.n_users = users_of(c, from->name, user);
        p = proxy_create(mem, &o, before, &error);
    }
    free(rule);
    free(user);
    if (!p)
        config_fault(f, ENTRY("proxies", n, NULL), "%s", why(error));
    return p;
}

/* ---- what is hardly meant ---- */

static bool has_rules(const struct config *c, const char *proxy)
{
    for (unsigned i = 0; i < c->n_rules; i++)
        if (!strcmp(c->rule[i].proxy, proxy))
            return true;
    return false;
}

static void warn_in_clear(const struct config *c, const struct config_proxy *p,
                          struct config_faults *f)
{
    for (unsigned i = 0; i < c->n_listeners; i++) {
        const struct config_listener *l = &c->listener[i];
        if (l->service == SERVICE_CONNECT && !l->n_certificates && !strcmp(l->proxy, p->name))
            config_fault(f, ENTRY("listeners", i, "proxy"),
                         "'%s' asks for passwords, which cross the network in the clear here; give "
                         "'certificates'",
                         p->name);
    }
}

/* Users that certificates name are not in the file. */
static bool is_unknown(const struct config_proxy *p, const struct credentials *credentials,
                       const char *user)
{
    if (!strcmp(user, "*") || !strcmp(user, "-") || asks_certificate(p))
        return false;
    return !credentials || !credentials_find(credentials, user);
}

static void warn_unknown(const struct config_proxy *p, const struct config_place *place,
                         const char *user, struct config_faults *f)
{
    char quoted[CONFIG_QUOTE_MAX];
    config_quote(user, quoted);
    if (p->users_file)
        config_fault(f, place, "there is no '%s' in %s", quoted, p->users_file);
    else
        config_fault(f, place, "'%s' is nobody: proxy '%s' has 'authentication: none'", quoted,
                     p->name);
}

static void warn_rules(const struct config *c, const struct config_proxy *p,
                       const struct credentials *credentials, struct config_faults *f)
{
    for (unsigned i = 0; i < c->n_rules; i++) {
        const struct config_rule *r = &c->rule[i];
        char *const *user = r->users.v;
        for (unsigned k = 0; k < r->users.n && !strcmp(r->proxy, p->name); k++)
            if (is_unknown(p, credentials, user[k]))
                warn_unknown(p, CONFIG_PLACE("rules", (int)i, "users", (int)k), user[k], f);
    }
}

static void warn_limits(const struct config *c, const struct config_proxy *p,
                        const struct credentials *credentials, struct config_faults *f)
{
    for (unsigned i = 0; i < c->n_user_limits; i++) {
        const struct config_user_limit *l = &c->user_limit[i];
        if (!strcmp(l->proxy, p->name) && is_unknown(p, credentials, l->user))
            warn_unknown(p, ENTRY("user-limits", i, "user"), l->user, f);
    }
}

void proxies_warn(const struct config *c, unsigned n, const struct credentials *credentials,
                  struct config_faults *f)
{
    const struct config_proxy *p = &c->proxy[n];
    if (!has_rules(c, p->name))
        config_fault(f, ENTRY("proxies", n, NULL), "has no rules, so that nobody may go anywhere");
    if (proxies_ask_password(p))
        warn_in_clear(c, p, f);
    if (credentials && credentials_exposed(credentials))
        config_fault(f, ENTRY("proxies", n, "users-file"),
                     "anybody on this host may read %s and guess at the hashes in it; chmod 0640",
                     p->users_file);
    warn_rules(c, p, credentials, f);
    warn_limits(c, p, credentials, f);
}
