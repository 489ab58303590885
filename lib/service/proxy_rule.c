/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of a proxy: who may go where. First match wins; none is a denial. */
#include <string.h>

#include "service/proxy_internal.h"

struct proxy_host {
    struct http_text text;
    bool exact; /* else all below it, too */
};

struct proxy_made_rule {
    bool allow;
    unsigned n_users;
    unsigned n_hosts;
    unsigned n_prefixes;
    unsigned n_ports;
    const struct http_text *user;
    const struct proxy_host *host;
    const struct ip_prefix *prefix;
    const struct proxy_port_range *port;
};

/* What is asked for. */
struct proxy_question {
    struct http_text user; /* empty: nobody in particular */
    struct http_text host; /* empty: an address was given */
    uint16_t port;
};

/* ---- making ---- */

static struct http_text text_of(const char *p)
{
    return (struct http_text){p, (uint32_t)strlen(p)};
}

static bool host_of(const char *text, char name[PROXY_NAME_MAX + 1])
{
    return proxy_name_of(text_of(text + (text[0] == '=')), name);
}

int proxy_rules_check(const struct proxy_rule *rule, unsigned n)
{
    char name[PROXY_NAME_MAX + 1];
    if (n > PROXY_RULES_MAX)
        return PROXY_E_LIMIT;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < rule[i].n_users; k++)
            if (strlen(rule[i].user[k]) > PROXY_USER_MAX)
                return PROXY_E_LIMIT;
        for (unsigned k = 0; k < rule[i].n_names; k++)
            if (!host_of(rule[i].name[k], name))
                return PROXY_E_NAME;
    }
    return 0;
}

static const struct http_text *make_users(struct proxy_space *s, const struct proxy_rule *r)
{
    struct http_text *user =
        proxy_space_take(s, r->n_users * sizeof(*user), _Alignof(struct http_text));
    for (unsigned i = 0; i < r->n_users; i++) {
        struct http_text text = proxy_space_text(s, r->user[i], strlen(r->user[i]));
        if (user)
            user[i] = text;
    }
    return user;
}

static const struct proxy_host *make_hosts(struct proxy_space *s, const struct proxy_rule *r)
{
    struct proxy_host *host =
        proxy_space_take(s, r->n_names * sizeof(*host), _Alignof(struct proxy_host));
    for (unsigned i = 0; i < r->n_names; i++) {
        char name[PROXY_NAME_MAX + 1] = "";
        host_of(r->name[i], name);
        struct http_text text = proxy_space_text(s, name, strlen(name));
        if (host)
            host[i] = (struct proxy_host){.text = text, .exact = r->name[i][0] == '='};
    }
    return host;
}

static const void *make_copy(struct proxy_space *s, const void *from, size_t size, size_t align)
{
    void *to = proxy_space_take(s, size, align);
    if (to && size > 0)
        memcpy(to, from, size);
    return to;
}

static struct proxy_made_rule make_rule(struct proxy_space *s, const struct proxy_rule *r)
{
    return (struct proxy_made_rule){
        .allow = r->allow,
        .n_users = r->n_users,
        .n_hosts = r->n_names,
        .n_prefixes = r->n_prefixes,
        .n_ports = r->n_ports,
        .user = make_users(s, r),
        .host = make_hosts(s, r),
        .prefix =
            make_copy(s, r->prefix, r->n_prefixes * sizeof(*r->prefix), _Alignof(struct ip_prefix)),
        .port =
            make_copy(s, r->port, r->n_ports * sizeof(*r->port), _Alignof(struct proxy_port_range)),
    };
}

struct proxy_rules proxy_rules_make(struct proxy_space *s, const struct proxy_rule *rule,
                                    unsigned n)
{
    struct proxy_made_rule *made =
        proxy_space_take(s, n * sizeof(*made), _Alignof(struct proxy_made_rule));
    for (unsigned i = 0; i < n; i++) {
        struct proxy_made_rule r = make_rule(s, &rule[i]);
        if (made)
            made[i] = r;
    }
    return (struct proxy_rules){.rule = made, .n = n};
}

/* ---- matching ---- */

static bool user_is(struct http_text rule, struct http_text user)
{
    if (http_text_eq(rule, HTTP_TEXT("*")))
        return user.n > 0;
    if (http_text_eq(rule, HTTP_TEXT("-")))
        return user.n == 0;
    return http_text_eq(rule, user);
}

static bool host_is(const struct proxy_host *rule, struct http_text host)
{
    uint32_t n = rule->text.n;
    if (host.n < n || memcmp(host.p + host.n - n, rule->text.p, n) != 0)
        return false;
    return host.n == n || (!rule->exact && host.p[host.n - n - 1] == '.');
}

static bool has_user(const struct proxy_made_rule *r, struct http_text user)
{
    for (unsigned i = 0; i < r->n_users; i++)
        if (user_is(r->user[i], user))
            return true;
    return r->n_users == 0;
}

static bool has_host(const struct proxy_made_rule *r, struct http_text host)
{
    for (unsigned i = 0; i < r->n_hosts; i++)
        if (host_is(&r->host[i], host))
            return true;
    return r->n_hosts == 0;
}

static bool has_port(const struct proxy_made_rule *r, uint16_t port)
{
    for (unsigned i = 0; i < r->n_ports; i++)
        if (port >= r->port[i].first && port <= r->port[i].last)
            return true;
    return r->n_ports == 0;
}

static bool has_address(const struct proxy_made_rule *r, const struct ip_addr *form, unsigned n)
{
    for (unsigned i = 0; i < r->n_prefixes; i++)
        for (unsigned k = 0; k < n; k++)
            if (ip_in_prefix(&r->prefix[i], &form[k]))
                return true;
    return r->n_prefixes == 0;
}

/* But for the address. */
static bool concerns(const struct proxy_made_rule *r, const struct proxy_question *q)
{
    return has_port(r, q->port) && has_host(r, q->host) && has_user(r, q->user);
}

/* ---- asking ---- */

static struct proxy_question question_of(const char *user, const struct proxy_target *t)
{
    struct proxy_question q = {.user = text_of(user ? user : ""), .port = t->port};
    q.host = text_of(t->literal ? "" : t->name);
    return q;
}

/* What rules have said so far: bits 1 << allow. */
static enum proxy_verdict verdict_of(unsigned said)
{
    static const enum proxy_verdict verdict[] = {
        [0] = PROXY_DENY, [1] = PROXY_DENY, [2] = PROXY_ALLOW, [3] = PROXY_DEPENDS};
    return verdict[said];
}

/* Where rules that name networks say nothing else than what comes behind them, the address does not
 * matter to them. */
enum proxy_verdict proxy_check_name(const struct proxy *p, const char *user,
                                    const struct proxy_target *t)
{
    struct proxy_question q = question_of(user, t);
    unsigned said = 0;
    for (unsigned i = 0; i < p->rules.n; i++) {
        const struct proxy_made_rule *r = &p->rules.rule[i];
        if (!concerns(r, &q))
            continue;
        said |= 1u << r->allow;
        if (r->n_prefixes == 0)
            return verdict_of(said);
    }
    return verdict_of(said | 1u << false);
}

static enum proxy_verdict check_rules(const struct proxy *p, const struct proxy_question *q,
                                      const struct ip_addr *form, unsigned n)
{
    for (unsigned i = 0; i < p->rules.n; i++) {
        const struct proxy_made_rule *r = &p->rules.rule[i];
        if (concerns(r, q) && has_address(r, form, r->allow ? 1 : n))
            return r->allow ? PROXY_ALLOW : PROXY_DENY;
    }
    return PROXY_DENY;
}

enum proxy_verdict proxy_check(const struct proxy *p, const char *user,
                               const struct proxy_target *t, const struct ip_addr *addr, bool own,
                               enum proxy_group *group)
{
    struct ip_addr form[PROXY_FORMS_MAX];
    unsigned n = proxy_forms(addr, form);
    uint32_t groups = proxy_groups(form, n) | (own ? 1u << PROXY_GROUP_OWN : 0);
    enum proxy_group first = proxy_groups_first(groups & ~p->options.permit);
    if (group)
        *group = first;
    if (first != PROXY_GROUP_NONE)
        return PROXY_PROHIBITED;
    struct proxy_question q = question_of(user, t);
    return check_rules(p, &q, form, n);
}
