/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "service/proxy_internal.h"
#include "support/heap.h"
#include "support/unit.h"

#define COUNT(a) (unsigned)(sizeof(a) / sizeof((a)[0]))

static struct heap heap;
static struct proxy *proxy;

static void setup(void)
{
    heap_init(&heap);
}

static void close_proxy(void)
{
    proxy_destroy(proxy);
    proxy = NULL;
}

static void teardown(void)
{
    close_proxy();
    ck_assert_uint_eq(heap.blocks, 0);
}

static int make(const struct proxy_rule *rule, unsigned n, uint32_t permit)
{
    struct proxy_options o = {
        .name = "proxy", .permit = permit, .rule = rule, .n_rules = n, .basic = true};
    enum proxy_error error = 0;
    close_proxy();
    proxy = proxy_create(&heap.mem, &o, NULL, &error);
    return error;
}

static struct proxy_target target(const char *authority)
{
    struct proxy_target t;
    ck_assert_msg(proxy_target_of((struct http_text){authority, (uint32_t)strlen(authority)}, &t),
                  "%s", authority);
    return t;
}

static struct ip_addr addr(const char *text)
{
    struct ip_addr a;
    ck_assert_msg(ip_parse(text, &a), "%s", text);
    return a;
}

static struct ip_prefix prefix(const char *text)
{
    struct ip_prefix p;
    ck_assert_msg(ip_prefix_parse(text, &p), "%s", text);
    return p;
}

static void by_name(const char *user, const char *authority, enum proxy_verdict expected)
{
    struct proxy_target t = target(authority);
    ck_assert_msg(proxy_check_name(proxy, user, &t) == expected, "%s", authority);
}

static void by_address(const char *user, const char *authority, const char *at,
                       enum proxy_verdict expected)
{
    struct proxy_target t = target(authority);
    struct ip_addr a = addr(at);
    enum proxy_group group;
    ck_assert_msg(proxy_check(proxy, user, &t, &a, false, &group) == expected, "%s at %s",
                  authority, at);
    ck_assert(expected == PROXY_PROHIBITED || group == PROXY_GROUP_NONE);
    ck_assert(proxy_check(proxy, user, &t, &a, false, NULL) == expected);
}

START_TEST(no_rule_is_no)
{
    ck_assert_int_eq(make(NULL, 0, 0), 0);
    by_name(NULL, "a:1", PROXY_DENY);
    by_address(NULL, "a:1", "8.8.8.8", PROXY_DENY);
}
END_TEST

START_TEST(an_empty_rule_is_all)
{
    struct proxy_rule r = {.allow = true};
    ck_assert_int_eq(make(&r, 1, 0), 0);
    by_name(NULL, "a:1", PROXY_ALLOW);
    by_name("eve", "192.0.2.1:65535", PROXY_ALLOW);
    by_address("eve", "a:1", "8.8.8.8", PROXY_ALLOW);
    by_address("", "8.8.8.8:53", "8.8.8.8", PROXY_ALLOW);
}
END_TEST

START_TEST(names_match_at_borders_of_labels)
{
    const char *const below[] = {"Example.COM.", "co"};
    const char *const only[] = {"=Only.example.NET"};
    struct proxy_rule r[] = {{.allow = true, .name = below, .n_names = 2},
                             {.allow = true, .name = only, .n_names = 1}};
    ck_assert_int_eq(make(r, 2, 0), 0);
    by_name(NULL, "example.com:1", PROXY_ALLOW);
    by_name(NULL, "A.EXAMPLE.com.:1", PROXY_ALLOW);
    by_name(NULL, "a.b.example.com:1", PROXY_ALLOW);
    by_name(NULL, "badexample.com:1", PROXY_DENY);
    by_name(NULL, "example.com.evil:1", PROXY_DENY);
    by_name(NULL, "xample.com:1", PROXY_DENY);
    by_name(NULL, "com:1", PROXY_DENY);
    by_name(NULL, "example.co:1", PROXY_ALLOW);
    by_name(NULL, "only.example.net:1", PROXY_ALLOW);
    by_name(NULL, "a.only.example.net:1", PROXY_DENY);
    by_name(NULL, "only.example.net.x:1", PROXY_DENY);
}
END_TEST

START_TEST(an_address_has_no_name)
{
    const char *const name[] = {"example.com"};
    struct proxy_rule r[] = {{.allow = true, .name = name, .n_names = 1}};
    ck_assert_int_eq(make(r, 1, 0), 0);
    by_name(NULL, "8.8.8.8:1", PROXY_DENY);
    by_address(NULL, "8.8.8.8:1", "8.8.8.8", PROXY_DENY);
    by_address(NULL, "example.com:1", "8.8.8.8", PROXY_ALLOW);
}
END_TEST

START_TEST(users_are_known_or_not)
{
    const char *const named[] = {"alice", "bob"};
    const char *const known[] = {"*"};
    const char *const nobody[] = {"-"};
    struct proxy_port_range port[] = {{1, 1}, {2, 2}, {3, 3}};
    struct proxy_rule r[] = {
        {.allow = true, .user = named, .n_users = 2, .port = &port[0], .n_ports = 1},
        {.allow = true, .user = known, .n_users = 1, .port = &port[1], .n_ports = 1},
        {.allow = true, .user = nobody, .n_users = 1, .port = &port[2], .n_ports = 1}};
    ck_assert_int_eq(make(r, 3, 0), 0);
    by_name("alice", "a:1", PROXY_ALLOW);
    by_name("bob", "a:1", PROXY_ALLOW);
    by_name("bo", "a:1", PROXY_DENY);
    by_name("Bob", "a:1", PROXY_DENY);
    by_name("bobby", "a:1", PROXY_DENY);
    by_name(NULL, "a:1", PROXY_DENY);
    by_name("eve", "a:2", PROXY_ALLOW);
    by_name("-", "a:2", PROXY_ALLOW);
    by_name("", "a:2", PROXY_DENY);
    by_name(NULL, "a:2", PROXY_DENY);
    by_name("", "a:3", PROXY_ALLOW);
    by_name(NULL, "a:3", PROXY_ALLOW);
    by_name("eve", "a:3", PROXY_DENY);
    by_name("-", "a:3", PROXY_DENY);
}
END_TEST

START_TEST(ports)
{
    struct proxy_port_range port[] = {{80, 80}, {8000, 8080}, {65535, 65535}};
    struct proxy_rule r = {.allow = true, .port = port, .n_ports = 3};
    ck_assert_int_eq(make(&r, 1, 0), 0);
    by_name(NULL, "a:79", PROXY_DENY);
    by_name(NULL, "a:80", PROXY_ALLOW);
    by_name(NULL, "a:81", PROXY_DENY);
    by_name(NULL, "a:7999", PROXY_DENY);
    by_name(NULL, "a:8000", PROXY_ALLOW);
    by_name(NULL, "a:8080", PROXY_ALLOW);
    by_name(NULL, "a:8081", PROXY_DENY);
    by_name(NULL, "a:65535", PROXY_ALLOW);
}
END_TEST

START_TEST(the_first_that_matches_decides)
{
    const char *const inner[] = {"inner.example.com"};
    const char *const outer[] = {"example.com"};
    struct proxy_rule r[] = {{.allow = false, .name = inner, .n_names = 1},
                             {.allow = true, .name = outer, .n_names = 1},
                             {.allow = false, .name = outer, .n_names = 1},
                             {.allow = true, .name = inner, .n_names = 1}};
    ck_assert_int_eq(make(r, 4, 0), 0);
    by_name(NULL, "inner.example.com:1", PROXY_DENY);
    by_name(NULL, "a.example.com:1", PROXY_ALLOW);
    by_address(NULL, "inner.example.com:1", "8.8.8.8", PROXY_DENY);
    by_address(NULL, "a.example.com:1", "8.8.8.8", PROXY_ALLOW);
    by_name(NULL, "example.org:1", PROXY_DENY);
}
END_TEST

START_TEST(all_lists_of_a_rule_match)
{
    const char *const user[] = {"alice"};
    const char *const name[] = {"example.com"};
    struct proxy_port_range port = {443, 443};
    struct ip_prefix net = prefix("8.8.0.0/16");
    struct proxy_rule r = {true, user, 1, name, 1, &net, 1, &port, 1};
    ck_assert_int_eq(make(&r, 1, 0), 0);
    by_address("alice", "example.com:443", "8.8.8.8", PROXY_ALLOW);
    by_address("bob", "example.com:443", "8.8.8.8", PROXY_DENY);
    by_address("alice", "example.org:443", "8.8.8.8", PROXY_DENY);
    by_address("alice", "example.com:442", "8.8.8.8", PROXY_DENY);
    by_address("alice", "example.com:443", "8.9.8.8", PROXY_DENY);
}
END_TEST

START_TEST(the_address_decides)
{
    struct ip_prefix net[] = {prefix("8.8.0.0/16"), prefix("2a00::/16")};
    struct ip_prefix bad[] = {prefix("9.0.0.0/8")};
    struct proxy_port_range port = {443, 443};
    struct proxy_rule r[] = {{.allow = false, .prefix = bad, .n_prefixes = 1},
                             {.allow = true, .prefix = net, .n_prefixes = 2},
                             {.allow = true, .port = &port, .n_ports = 1}};
    ck_assert_int_eq(make(r, 3, 0), 0);
    by_name(NULL, "a:80", PROXY_DEPENDS);
    by_name(NULL, "a:443", PROXY_DEPENDS);
    by_name(NULL, "8.8.8.8:443", PROXY_DEPENDS);
    by_address(NULL, "a:80", "8.8.1.1", PROXY_ALLOW);
    by_address(NULL, "a:80", "2a00::1", PROXY_ALLOW);
    by_address(NULL, "a:80", "8.7.1.1", PROXY_DENY);
    by_address(NULL, "a:80", "2a01::1", PROXY_DENY);
    by_address(NULL, "a:443", "8.7.1.1", PROXY_ALLOW);
    by_address(NULL, "a:443", "9.7.1.1", PROXY_DENY);
}
END_TEST

/* No question goes out where all answers lead to the same. */
START_TEST(the_address_does_not_matter)
{
    const char *const name[] = {"example.com"};
    struct ip_prefix net = prefix("8.8.0.0/16");
    struct proxy_rule r[] = {
        {.allow = false, .prefix = &net, .n_prefixes = 1},
        {.allow = true, .name = name, .n_names = 1, .prefix = &net, .n_prefixes = 1},
        {.allow = true, .name = name, .n_names = 1}};
    ck_assert_int_eq(make(&r[0], 1, 0), 0);
    by_name(NULL, "a:1", PROXY_DENY);
    ck_assert_int_eq(make(&r[1], 2, 0), 0);
    by_name(NULL, "example.com:1", PROXY_ALLOW);
    by_name(NULL, "a:1", PROXY_DENY);
    ck_assert_int_eq(make(r, 3, 0), 0);
    by_name(NULL, "example.com:1", PROXY_DEPENDS);
    by_name(NULL, "a:1", PROXY_DENY);
}
END_TEST

START_TEST(what_is_denied_is_denied_in_each_form)
{
    struct ip_prefix net = prefix("8.8.0.0/16");
    struct ip_prefix nat = prefix("64:ff9b::/96");
    struct proxy_rule r[] = {{.allow = false, .prefix = &net, .n_prefixes = 1}, {.allow = true}};
    ck_assert_int_eq(make(r, 2, 0), 0);
    by_address(NULL, "a:1", "8.8.1.1", PROXY_DENY);
    by_address(NULL, "a:1", "64:ff9b::8.8.1.1", PROXY_DENY);
    by_address(NULL, "a:1", "2002:808:101::", PROXY_DENY);
    by_address(NULL, "a:1", "64:ff9b::8.9.1.1", PROXY_ALLOW);
    r[0].allow = true;
    ck_assert_int_eq(make(r, 1, 0), 0);
    by_address(NULL, "a:1", "8.8.1.1", PROXY_ALLOW);
    by_address(NULL, "a:1", "64:ff9b::8.8.1.1", PROXY_DENY);
    r[0].prefix = &nat;
    ck_assert_int_eq(make(r, 1, 0), 0);
    by_address(NULL, "a:1", "64:ff9b::8.8.1.1", PROXY_ALLOW);
}
END_TEST

/* An address of each group, and one that is two. */
static const struct {
    const char *addr;
    uint32_t groups;
} special[] = {
    {"127.0.0.1", 1u << PROXY_GROUP_LOOPBACK},
    {"10.0.0.1", 1u << PROXY_GROUP_PRIVATE},
    {"fe80::1", 1u << PROXY_GROUP_LINK_LOCAL},
    {"169.254.169.254", 1u << PROXY_GROUP_METADATA},
    {"224.0.0.1", 1u << PROXY_GROUP_MULTICAST},
    {"240.0.0.1", 1u << PROXY_GROUP_RESERVED},
    {"64:ff9b::10.0.0.1", 1u << PROXY_GROUP_PRIVATE},
    {"::127.0.0.1", 1u << PROXY_GROUP_LOOPBACK | 1u << PROXY_GROUP_RESERVED},
    {"2001:0:a00:1:0:0:80ff:fffe", 1u << PROXY_GROUP_PRIVATE | 1u << PROXY_GROUP_LOOPBACK},
    {"8.8.8.8", 0},
};

/* Each set of permits, with addresses of ours and of others. */
START_TEST(groups_open_by_their_own_name)
{
    struct proxy_rule r = {.allow = true};
    struct proxy_target t = target("a:1");
    for (uint32_t permit = 0; permit < 1u << PROXY_GROUP_END; permit++) {
        ck_assert_int_eq(make(&r, 1, permit), 0);
        for (unsigned i = 0; i < 2 * COUNT(special); i++) {
            bool own = i >= COUNT(special);
            struct ip_addr a = addr(special[i % COUNT(special)].addr);
            uint32_t groups =
                special[i % COUNT(special)].groups | (own ? 1u << PROXY_GROUP_OWN : 0);
            enum proxy_group g;
            enum proxy_verdict v = proxy_check(proxy, NULL, &t, &a, own, &g);
            ck_assert((v == PROXY_ALLOW) == ((groups & ~permit) == 0));
            ck_assert((v == PROXY_PROHIBITED) == ((groups & ~permit) != 0));
            ck_assert(v == PROXY_ALLOW ? g == PROXY_GROUP_NONE : (groups & ~permit) >> g & 1);
        }
    }
}
END_TEST

START_TEST(rules_decide_on_what_is_permitted)
{
    struct ip_prefix net = prefix("10.1.0.0/16");
    struct proxy_rule r = {.allow = true, .prefix = &net, .n_prefixes = 1};
    ck_assert_int_eq(make(&r, 1, 0), 0);
    by_address(NULL, "a:1", "10.1.0.1", PROXY_PROHIBITED);
    by_address(NULL, "a:1", "10.2.0.1", PROXY_PROHIBITED);
    ck_assert_int_eq(make(&r, 1, 1u << PROXY_GROUP_PRIVATE), 0);
    by_address(NULL, "a:1", "10.1.0.1", PROXY_ALLOW);
    by_address(NULL, "a:1", "10.2.0.1", PROXY_DENY);
}
END_TEST

START_TEST(bad_names_are_refused)
{
    static const char *const bad[] = {"",    "*",    "*.a",       "=",    ".a",    "a..b",  "a b",
                                      "==a", "-a.b", "127.0.0.1", "a:80", "[::1]", "a.0x1", "a/8"};
    for (unsigned i = 0; i < COUNT(bad); i++) {
        struct proxy_rule r = {.allow = true, .name = &bad[i], .n_names = 1};
        ck_assert_msg(make(&r, 1, 0) == PROXY_E_NAME, "%s", bad[i]);
        ck_assert_ptr_null(proxy);
    }
}
END_TEST

START_TEST(bounds_are_kept)
{
    static struct proxy_rule rule[PROXY_RULES_MAX + 1];
    char user[PROXY_USER_MAX + 2];
    const char *const users[] = {user};
    rule[PROXY_RULES_MAX - 1].allow = true;
    for (unsigned i = 0; i < PROXY_RULES_MAX - 1; i++) {
        rule[i].user = users;
        rule[i].n_users = 1;
    }
    memset(user, 'u', sizeof(user));
    user[PROXY_USER_MAX + 1] = '\0';
    ck_assert_int_eq(make(rule, PROXY_RULES_MAX, 0), PROXY_E_LIMIT);
    user[PROXY_USER_MAX] = '\0';
    ck_assert_int_eq(make(rule, PROXY_RULES_MAX + 1, 0), PROXY_E_LIMIT);
    ck_assert_int_eq(make(rule, PROXY_RULES_MAX, 0), 0);
    by_name("eve", "a:1", PROXY_ALLOW);
    by_name(user, "a:1", PROXY_DENY);
}
END_TEST

START_TEST(texts_are_copied)
{
    char user[] = "alice";
    char name[] = "example.com";
    const char *users[] = {user};
    const char *names[] = {name};
    struct ip_prefix net = prefix("8.0.0.0/8");
    struct proxy_port_range port = {1, 1};
    struct proxy_rule r = {true, users, 1, names, 1, &net, 1, &port, 1};
    ck_assert_int_eq(make(&r, 1, 0), 0);
    memset(user, 'x', sizeof(user) - 1);
    memset(name, 'x', sizeof(name) - 1);
    memset(&r, 0xff, sizeof(r));
    memset(&net, 0, sizeof(net));
    port = (struct proxy_port_range){9, 9};
    users[0] = names[0] = NULL;
    by_address("alice", "example.com:1", "8.8.8.8", PROXY_ALLOW);
}
END_TEST

UNIT_MAIN("proxy_rule", setup, teardown, no_rule_is_no, an_empty_rule_is_all,
          names_match_at_borders_of_labels, an_address_has_no_name, users_are_known_or_not, ports,
          the_first_that_matches_decides, all_lists_of_a_rule_match, the_address_decides,
          the_address_does_not_matter, what_is_denied_is_denied_in_each_form,
          groups_open_by_their_own_name, rules_decide_on_what_is_permitted, bad_names_are_refused,
          bounds_are_kept, texts_are_copied)
