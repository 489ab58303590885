/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_check.h"

#include "document.h"

static void expect_texts(const struct config_list *l, const char *const *expected, unsigned n)
{
    char *const *text = l->v;
    ck_assert_uint_eq(l->n, n);
    for (unsigned i = 0; i < n; i++)
        ck_assert_str_eq(text[i], expected[i]);
}

static void expect_prefix(const struct config_list *l, unsigned i, const char *expected)
{
    const struct ip_prefix *p = l->v;
    struct ip_prefix e;
    ck_assert_uint_lt(i, l->n);
    ck_assert(ip_prefix_parse(expected, &e));
    ck_assert(ip_eq(&p[i].addr, &e.addr));
    ck_assert_uint_eq(p[i].len, e.len);
}

static void expect_ports(const struct config_list *l, unsigned i, unsigned first, unsigned last)
{
    const struct proxy_port_range *r = l->v;
    ck_assert_uint_lt(i, l->n);
    ck_assert_uint_eq(r[i].first, first);
    ck_assert_uint_eq(r[i].last, last);
}

static void expect_address(const struct ip_addr *a, const char *expected)
{
    char text[IP_ADDR_TEXT];
    ip_format(a, text);
    ck_assert_str_eq(text, expected);
}

START_TEST(every_key_of_a_proxy_arrives)
{
    struct config *c = document_valid(
        "devices: [{name: a, driver: ring, addresses: [192.0.2.10/24, '2001:db8::10/64']}]\n"
        "certificates: [{name: own, certificate: /a.pem, key: /a.key}]\n"
        "listeners:\n"
        "- {name: p, port: 443, protocol: http2, service: connect, proxy: all,\n"
        "   certificates: [own]}\n"
        "proxies:\n"
        "- {name: all, realm: 'A realm', authentication: any, users-file: /users,\n"
        "   permit: [private, own], egress: [192.0.2.10, '2001:db8::10'], connect-timeout-s: 1,\n"
        "   idle-timeout-s: 2, half-open-timeout-s: 3, lifetime-s: 4, max-tunnels: 5,\n"
        "   tunnels-per-second: 6, bytes-per-second: 7 MB}\n"
        "- {name: plain}\n"
        "limits: {tunnels: 99}\n");
    ck_assert_str_eq(c->listener[0].proxy, "all");
    ck_assert_int_eq(c->listener[0].service, SERVICE_CONNECT);
    ck_assert_uint_eq(c->n_proxies, 2);
    const struct config_proxy *p = config_proxy_find(c, "all");
    ck_assert_ptr_eq(p, c->proxy);
    ck_assert_str_eq(p->realm, "A realm");
    ck_assert_int_eq(p->authentication, CONFIG_AUTHENTICATION_ANY);
    ck_assert_str_eq(p->users_file, "/users");
    ck_assert_uint_eq(p->permit, 1u << PROXY_GROUP_PRIVATE | 1u << PROXY_GROUP_OWN);
    ck_assert_uint_eq(p->egress.n, 2);
    expect_address((const struct ip_addr *)p->egress.v + 1, "2001:db8::10");
    ck_assert_uint_eq(p->connect_timeout, 1 * TICK_SEC);
    ck_assert_uint_eq(p->idle_timeout, 2 * TICK_SEC);
    ck_assert_uint_eq(p->half_open_timeout, 3 * TICK_SEC);
    ck_assert_uint_eq(p->lifetime, 4 * TICK_SEC);
    ck_assert_uint_eq(p->limits.tunnels, 5);
    ck_assert_uint_eq(p->limits.rate, 6);
    ck_assert_uint_eq(p->limits.bytes, 7000000);
    ck_assert_uint_eq(c->tunnels, 99);
    config_free(c);
}
END_TEST

START_TEST(a_proxy_has_defaults)
{
    struct config *c = document_valid("proxies: [{name: a}]\n");
    const struct config_proxy *p = c->proxy;
    ck_assert_ptr_null(p->realm);
    ck_assert_int_eq(p->authentication, CONFIG_AUTHENTICATION_NONE);
    ck_assert_ptr_null(p->users_file);
    ck_assert_uint_eq(p->permit, 0);
    ck_assert_uint_eq(p->egress.n, 0);
    ck_assert_uint_eq(p->connect_timeout, 10 * TICK_SEC);
    ck_assert_uint_eq(p->idle_timeout, 300 * TICK_SEC);
    ck_assert_uint_eq(p->half_open_timeout, 60 * TICK_SEC);
    ck_assert_uint_eq(p->lifetime, TICK_NEVER);
    ck_assert_uint_eq(p->limits.tunnels + p->limits.rate + p->limits.bytes, 0);
    config_free(c);
}
END_TEST

START_TEST(rules_arrive_in_order)
{
    static const char *const users[] = {"alice", "*", "-", "Jürgen B"};
    static const char *const names[] = {"example.com", "=www.example.org", "_x.a-b.c"};
    struct config *c =
        document_valid("proxies: [{name: a}, {name: b}]\n"
                       "rules:\n"
                       "- {proxy: b, action: allow, users: [alice, '*', '-', Jürgen B],\n"
                       "   names: [Example.com., =WWW.example.org, _x.a-b.c],\n"
                       "   prefixes: [10.0.0.0/8, 192.0.2.1, '2001:db8::/32', 0.0.0.0/0],\n"
                       "   ports: [443, '8000-8100', 1, '0065535']}\n"
                       "- {proxy: a, action: deny}\n");
    ck_assert_uint_eq(c->n_rules, 2);
    const struct config_rule *r = c->rule;
    ck_assert_str_eq(r->proxy, "b");
    ck_assert(r->allow);
    expect_texts(&r->users, users, 4);
    expect_texts(&r->names, names, 3);
    ck_assert_uint_eq(r->prefixes.n, 4);
    expect_prefix(&r->prefixes, 0, "10.0.0.0/8");
    expect_prefix(&r->prefixes, 1, "192.0.2.1/32");
    expect_prefix(&r->prefixes, 2, "2001:db8::/32");
    expect_prefix(&r->prefixes, 3, "0.0.0.0/0");
    ck_assert_uint_eq(r->ports.n, 4);
    expect_ports(&r->ports, 0, 443, 443);
    expect_ports(&r->ports, 1, 8000, 8100);
    expect_ports(&r->ports, 3, 65535, 65535);
    ck_assert(!r[1].allow);
    ck_assert_uint_eq(r[1].users.n + r[1].names.n + r[1].prefixes.n + r[1].ports.n, 0);
    config_free(c);
}
END_TEST

START_TEST(limits_of_users_arrive)
{
    struct config *c =
        document_valid("proxies: [{name: a}]\n"
                       "user-limits:\n"
                       "- {proxy: a, user: alice, tunnels: 1, tunnels-per-second: 2,\n"
                       "   bytes-per-second: 3}\n"
                       "- {proxy: a, user: '-'}\n");
    ck_assert_uint_eq(c->n_user_limits, 2);
    ck_assert_str_eq(c->user_limit[0].proxy, "a");
    ck_assert_str_eq(c->user_limit[0].user, "alice");
    ck_assert_uint_eq(c->user_limit[0].limits.tunnels, 1);
    ck_assert_uint_eq(c->user_limit[0].limits.rate, 2);
    ck_assert_uint_eq(c->user_limit[0].limits.bytes, 3);
    ck_assert_str_eq(c->user_limit[1].user, "-");
    config_free(c);
}
END_TEST

START_TEST(names_and_servers_arrive)
{
    struct config *c = document_valid(
        "resolver: {servers: [192.0.2.53, '192.0.2.53:5353', '2001:db8::53',\n"
        "  '[2001:db8::53]:54', '[2001:db8::54]'],\n"
        "  timeout-ms: 11, tries: 3, cache-entries: 4, min-ttl-s: 5, max-ttl-s: 6,\n"
        "  negative-ttl-s: 7, queries: 9, client-queries: 8}\n"
        "hosts:\n"
        "- {name: Www.Example.com, addresses: [192.0.2.7, '2001:db8::7', 192.0.2.6]}\n"
        "- {name: localhost, addresses: ['::1']}\n");
    const struct resolver_settings *r = &c->resolver;
    static const char *const servers[] = {"192.0.2.53", "192.0.2.53", "2001:db8::53",
                                          "2001:db8::53", "2001:db8::54"};
    static const unsigned ports[] = {0, 5353, 0, 54, 0};
    ck_assert_uint_eq(r->n_servers, 5);
    for (unsigned i = 0; i < 5; i++) {
        expect_address(&r->server[i].addr, servers[i]);
        ck_assert_uint_eq(r->server[i].port, ports[i]);
    }
    ck_assert_uint_eq(r->timeout_ms, 11);
    ck_assert_uint_eq(r->tries, 3);
    ck_assert_uint_eq(r->cache_entries, 4);
    ck_assert_uint_eq(r->min_ttl_s, 5);
    ck_assert_uint_eq(r->max_ttl_s, 6);
    ck_assert_uint_eq(r->negative_ttl_s, 7);
    ck_assert_uint_eq(r->queries, 9);
    ck_assert_uint_eq(r->client_queries, 8);
    ck_assert_uint_eq(c->n_hosts, 2);
    ck_assert_str_eq(c->host[0].name, "www.example.com");
    ck_assert_uint_eq(c->host[0].n_addrs, 3);
    expect_address(&c->host[0].addr[1], "2001:db8::7");
    expect_address(&c->host[0].addr[2], "192.0.2.6");
    ck_assert_str_eq(c->host[1].name, "localhost");
    config_free(c);
}
END_TEST

/* The library and the registry agree on what is left out. */
START_TEST(the_defaults_of_the_resolver_are_its_own)
{
    struct config *c = document_valid("");
    struct resolver_settings own = {0};
    struct resolver_settings filled = c->resolver;
    ck_assert(resolver_settings_fill(&own));
    ck_assert(resolver_settings_fill(&filled));
    ck_assert_mem_eq(&c->resolver, &own, sizeof(own));
    ck_assert_mem_eq(&filled, &own, sizeof(own));
    config_free(c);
}
END_TEST

/* And on what may be said. */
START_TEST(the_bounds_of_the_resolver_are_its_own)
{
    static const char *const ends[] = {
        "resolver: {timeout-ms: 10, tries: 1, cache-entries: 1, min-ttl-s: 0, max-ttl-s: 1,\n"
        "  negative-ttl-s: 1, queries: 1, client-queries: 1}\n",
        "resolver: {timeout-ms: 60000, tries: 10, cache-entries: 65536, min-ttl-s: 86400,\n"
        "  max-ttl-s: 604800, negative-ttl-s: 86400, queries: 4096, client-queries: 4096}\n"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct config *c = document_valid(ends[i]);
        ck_assert(resolver_settings_fill(&c->resolver));
        config_free(c);
    }
}
END_TEST

#define PROXY   "proxies: [{name: egress}]\n"
#define CONNECT "protocol: http2, service: connect"

START_TEST(refuses_proxies_that_cannot_be)
{
    static const struct refusal r[] = {
        {"listeners: [{name: a, port: 7, service: connect, proxy: egress}]\n" PROXY,
         "f:1: listeners[0].service: service 'connect' speaks HTTP: it needs 'protocol: http2'\n"},
        {"listeners: [{name: a, port: 7, " CONNECT "}]\n" PROXY,
         "f:1: listeners[0]: service 'connect' needs a 'proxy' that says who may go where\n"},
        {"listeners: [{name: a, port: 7, " CONNECT ", proxy: egres}]\n" PROXY,
         "f:1: listeners[0].proxy: there is no proxy 'egres' (did you mean 'egress'?)\n"},
        {"listeners: [{name: a, port: 7, " CONNECT ", proxy: other}]\n" PROXY,
         "f:1: listeners[0].proxy: there is no proxy 'other' in the section 'proxies'\n"},
        {"listeners: [{name: a, port: 7, service: echo, proxy: egress}]\n" PROXY,
         "f:1: listeners[0].proxy: means nothing to service 'echo'\n"},
        {"listeners: [{name: a, port: 7, " CONNECT ", proxy: p}]\n"
         "proxies: [{name: p, authentication: certificate}]\n",
         "f:1: listeners[0].proxy: 'p' knows users by their certificates, which nobody is asked "
         "for here: 'client-auth' has to be optional or required\n"},
        {"proxies: [{name: p}, {name: p}]\n",
         "f:1: proxies[1].name: the same as that of proxies[0]\n"},
        {"proxies: [{}]\n", "f:1: proxies[0]: a proxy needs a 'name'\n"},
        {"proxies: [{name: p, authentication: basic}]\n",
         "f:1: proxies[0].authentication: passwords need a 'users-file' to be compared with\n"},
        {"proxies: [{name: p, users-file: /u, realm: x}]\n",
         "f:1: proxies[0].users-file: means nothing unless 'authentication' is basic or any\n"
         "f:1: proxies[0].realm: means nothing unless 'authentication' is basic or any\n"},
        {"proxies: [{name: p, users-file: /u, authentication: any, realm: 'a\"b'}]\n",
         "f:1: proxies[0].realm: can have letters, digits and signs of ASCII, but no quotes and no "
         "\\\n"},
        {"proxies: [{name: p, authentication: password}]\n",
         "f:1: proxies[0].authentication: unknown value 'password' (one of none, basic, "
         "certificate, any)\n"},
        {"proxies: [{name: p, permit: [privat]}]\n",
         "f:1: proxies[0].permit[0]: unknown value 'privat' (did you mean 'private'?)\n"},
        {"devices: [{name: a, driver: ring, addresses: [10.0.0.1/24]}]\n"
         "proxies:\n- name: p\n  egress:\n  - 10.0.0.1\n  - 10.0.0.2\n",
         "f:6: proxies[0].egress[1]: 10.0.0.2 is no device's address\n"},
        {"proxies: [{name: p, egress: [10.0.0.0/8, '::', 10.0.0.1, 10.0.0.1]}]\n",
         "f:1: proxies[0].egress[0]: '10.0.0.0/8' is not an address (without a length)\n"
         "f:1: proxies[0].egress[1]: :: is the unspecified address\n"
         "f:1: proxies[0].egress[3]: 10.0.0.1 is listed twice\n"},
        {"proxies: [{name: p, idle-timeout-s: 0, connect-timeout-s: 3601}]\n",
         "f:1: proxies[0].connect-timeout-s: 3601 is outside 1..3600\n"
         "f:1: proxies[0].idle-timeout-s: 0 is outside 1..604800\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

START_TEST(refuses_rules_that_cannot_be)
{
    static const struct refusal r[] = {
        {"rules: [{action: allow}]\n" PROXY, "f:1: rules[0]: a rule needs a 'proxy'\n"},
        {"rules: [{proxy: egress}]\n" PROXY, "f:1: rules[0]: a rule needs an 'action'\n"},
        {"rules: [{proxy: egress, action: permit}]\n" PROXY,
         "f:1: rules[0].action: unknown value 'permit' (one of deny, allow)\n"},
        {"rules: [{proxy: egrees, action: allow}]\n" PROXY,
         "f:1: rules[0].proxy: there is no proxy 'egrees' (did you mean 'egress'?)\n"},
        {PROXY "rules:\n- proxy: egress\n  action: allow\n  users: [a, a]\n"
               "  names:\n  - a\n  - '*.example.com'\n  - a..b\n  - a b\n"
               "  prefixes: [10.0.0.1/8, x]\n  ports: [0, 65536, 9-8, http]\n",
         "f:5: rules[0].users[1]: 'a' is listed twice\n"
         "f:8: rules[0].names[1]: '*.example.com': write 'example.com', which is it and all names "
         "below\n"
         "f:9: rules[0].names[2]: 'a..b' is not a name such as example.com or =www.example.com\n"
         "f:10: rules[0].names[3]: 'a b' is not a name such as example.com or =www.example.com\n"
         "f:11: rules[0].prefixes[0]: 10.0.0.1/8: there are bits set behind the prefix\n"
         "f:11: rules[0].prefixes[1]: 'x' is not an address, nor one such as 192.0.2.0/24\n"
         "f:12: rules[0].ports[0]: '0' is not a port (1..65535) nor a range such as \"8000-8100\"\n"
         "f:12: rules[0].ports[1]: '65536' is not a port (1..65535) nor a range such as "
         "\"8000-8100\"\n"
         "f:12: rules[0].ports[2]: '9-8' is not a port (1..65535) nor a range such as "
         "\"8000-8100\"\n"
         "f:12: rules[0].ports[3]: 'http' is not a port (1..65535) nor a range such as "
         "\"8000-8100\"\n"},
        {PROXY "rules: [{proxy: egress, action: allow, names: [=, '', 10.0.0.1, '=[::1]', a@b]}]\n",
         "f:2: rules[0].names[0]: '=' is not a name such as example.com or =www.example.com\n"
         "f:2: rules[0].names[1]: '' is not a name such as example.com or =www.example.com\n"
         "f:2: rules[0].names[2]: '10.0.0.1' is not a name such as example.com or "
         "=www.example.com\n"
         "f:2: rules[0].names[3]: '=[::1]' is not a name such as example.com or "
         "=www.example.com\n"
         "f:2: rules[0].names[4]: 'a@b' is not a name such as example.com or =www.example.com\n"},
        {PROXY "rules: [{proxy: egress, action: allow, users: ['a:b', '',\n"
               "  a123456789b123456789c123456789d123456789e123456789f123456789g123]}]\n",
         "f:2: rules[0].users[0]: 'a:b' cannot be a user's name: it has a colon in it, which ends "
         "a name\n"
         "f:2: rules[0].users[1]: '' cannot be a user's name: it is not 1 to 63 bytes long\n"
         "f:3: rules[0].users[2]: 'a123456789b123456789c123456789d123456789e123456789f123456789g123'"
         " cannot be a user's name: it is not 1 to 63 bytes long\n"},
        {PROXY "rules: [{proxy: egress, action: allow, names: a.example}]\n",
         "f:2: rules[0].names: has to be a list: [a.example]\n"},
        {PROXY "user-limits: [{proxy: egress}, {user: a, proxy: egress, tunnels: -1}]\n",
         "f:2: user-limits[0]: a limit needs a 'user'\n"
         "f:2: user-limits[1].tunnels: -1 is outside 0..1048576\n"},
        {PROXY "user-limits:\n- {proxy: egress, user: a}\n- {proxy: other, user: a}\n"
               "- {proxy: egress, user: a}\n- {proxy: egress, user: '*'}\n",
         "f:4: user-limits[1].proxy: there is no proxy 'other' in the section 'proxies'\n"
         "f:5: user-limits[2].user: the same as that of user-limits[0]\n"
         "f:6: user-limits[3].user: what each user may have says the proxy itself (max-tunnels, "
         "...)\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

#define NO_SERVER                                                                        \
    "' is not a server's address such as 192.0.2.53, or with a port 192.0.2.53:5353 or " \
    "[2001:db8::53]:5353\n"

START_TEST(refuses_names_and_servers_that_cannot_be)
{
    static const struct refusal r[] = {
        {"resolver: {servers: [ns.example.com, '192.0.2.53:', '192.0.2.53:0', '[192.0.2.53]:53',\n"
         "'[2001:db8::1', '[2001:db8::1]x', '[2001:db8::1]:1-2', '::']}\n",
         "f:1: resolver.servers[0]: 'ns.example.com" NO_SERVER
         "f:1: resolver.servers[1]: '192.0.2.53:" NO_SERVER
         "f:1: resolver.servers[2]: '192.0.2.53:0" NO_SERVER
         "f:1: resolver.servers[3]: '[192.0.2.53]:53" NO_SERVER
         "f:2: resolver.servers[4]: '[2001:db8::1" NO_SERVER
         "f:2: resolver.servers[5]: '[2001:db8::1]x" NO_SERVER
         "f:2: resolver.servers[6]: '[2001:db8::1]:1-2" NO_SERVER
         "f:2: resolver.servers[7]: '::" NO_SERVER},
        {"resolver: {servers: [192.0.2.53, 192.0.2.53]}\n",
         "f:1: resolver.servers[1]: 192.0.2.53 is listed twice\n"},
        {"resolver: {min-ttl-s: 9, max-ttl-s: 8, queries: 7}\n",
         "f:1: resolver.min-ttl-s: 9 is more than max-ttl-s, 8\n"
         "f:1: resolver.client-queries: 64 is more than queries, 7\n"},
        {"hosts: [{name: a b, addresses: [x]}, {name: a}]\n",
         "f:1: hosts[0].name: 'a b' is not a name such as www.example.com\n"
         "f:1: hosts[0].addresses[0]: 'x' is not an address (without a length)\n"
         "f:1: hosts[1]: a host needs an 'addresses'\n"},
        {"hosts: [{name: a.b, addresses: [10.0.0.1]}, {name: A.B., addresses: [10.0.0.2]}]\n",
         "f:1: hosts[1].name: the same as that of hosts[0]\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

UNIT_MAIN("config_check_proxy", document_setup, document_teardown, every_key_of_a_proxy_arrives,
          a_proxy_has_defaults, rules_arrive_in_order, limits_of_users_arrive,
          names_and_servers_arrive, the_defaults_of_the_resolver_are_its_own,
          the_bounds_of_the_resolver_are_its_own, refuses_proxies_that_cannot_be,
          refuses_rules_that_cannot_be, refuses_names_and_servers_that_cannot_be)
