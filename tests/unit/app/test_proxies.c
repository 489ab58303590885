/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/proxies.h"

#include <sys/stat.h>

#include "app/memory.h"
#include "document.h"

static struct memory memory;
static struct config *config;
static struct proxy *proxy;

static void setup(void)
{
    document_setup();
    memory_init(&memory);
}

static void teardown(void)
{
    proxy_destroy(proxy);
    proxy = NULL;
    ck_assert_uint_eq(memory.bytes, 0);
    config_free(config);
    unlink("users");
    document_teardown();
}

/* The proxy of that number. */
static void make(unsigned n, const char *text)
{
    struct config_faults f = {.file = "f"};
    config = document_valid(text);
    proxy = proxies_make(config, n, &memory.mem, NULL, NULL, &f);
    ck_assert_ptr_nonnull(proxy);
    ck_assert_uint_eq(f.n, 0);
}

static void expect_check(enum proxy_verdict expected, const char *user, const char *authority,
                         const char *address)
{
    struct proxy_target t;
    struct ip_addr a;
    ck_assert(proxy_target_of((struct http_text){authority, (uint32_t)strlen(authority)}, &t));
    ck_assert(ip_parse(address, &a));
    ck_assert_msg(proxy_check(proxy, user, &t, &a, false, NULL) == expected, "%s %s %s",
                  user ? user : "-", authority, address);
}

START_TEST(options_are_those_of_the_file)
{
    make(1, "devices: [{name: a, driver: ring, addresses: [192.0.2.10/24, '2001:db8::10/64']}]\n"
            "proxies:\n- {name: other}\n"
            "- {name: p, realm: R, authentication: any, users-file: /u, permit: [own, metadata],\n"
            "   egress: [192.0.2.10], connect-timeout-s: 1, idle-timeout-s: 2,\n"
            "   half-open-timeout-s: 3, lifetime-s: 4, max-tunnels: 5, tunnels-per-second: 6,\n"
            "   bytes-per-second: 7}\n");
    const struct proxy_options *o = proxy_options(proxy);
    struct ip_addr target;
    struct ip_addr from;
    ck_assert_str_eq(o->name, "p");
    ck_assert_str_eq(o->realm, "R");
    ck_assert(o->basic && o->certificate);
    ck_assert_uint_eq(o->permit, 1u << PROXY_GROUP_OWN | 1u << PROXY_GROUP_METADATA);
    ck_assert_uint_eq(o->connect_timeout, 1 * TICK_SEC);
    ck_assert_uint_eq(o->idle_timeout, 2 * TICK_SEC);
    ck_assert_uint_eq(o->half_open_timeout, 3 * TICK_SEC);
    ck_assert_uint_eq(o->lifetime, 4 * TICK_SEC);
    ck_assert_uint_eq(o->limits.tunnels, 5);
    ck_assert_uint_eq(o->limits.rate, 6);
    ck_assert_uint_eq(o->limits.bytes, 7);
    ck_assert(ip_parse("203.0.113.1", &target));
    ck_assert(proxy_egress(proxy, &target, 99, &from));
    ck_assert(ip_eq(&from, &config->device[0].iface.addr[0].addr));
    ck_assert(ip_parse("2001:db8::1", &target));
    ck_assert(!proxy_egress(proxy, &target, 99, &from));
}
END_TEST

START_TEST(nobody_is_asked_unless_the_file_says)
{
    make(0, "proxies: [{name: p}]\n");
    const struct proxy_options *o = proxy_options(proxy);
    ck_assert(!o->basic && !o->certificate);
    ck_assert_str_eq(o->realm, "p");
    ck_assert_uint_eq(o->lifetime, 0);
    expect_check(PROXY_DENY, NULL, "example.com:443", "203.0.114.1");
}
END_TEST

START_TEST(certificates_alone_are_no_passwords)
{
    make(0, "proxies: [{name: p, authentication: certificate}]\n");
    ck_assert(!proxy_options(proxy)->basic && proxy_options(proxy)->certificate);
}
END_TEST

/* Those of another proxy between them. */
START_TEST(rules_are_its_own_in_the_files_order)
{
    make(0, "proxies: [{name: p}, {name: q}]\n"
            "rules:\n"
            "- {proxy: p, action: deny, names: [bad.example.com]}\n"
            "- {proxy: q, action: deny}\n"
            "- {proxy: p, action: allow, users: [alice], names: [example.com], ports: [443]}\n"
            "- {proxy: p, action: allow, prefixes: [203.0.114.0/24], ports: ['8000-8100']}\n");
    expect_check(PROXY_DENY, "alice", "bad.example.com:443", "203.0.114.1");
    expect_check(PROXY_ALLOW, "alice", "a.example.com:443", "203.0.115.1");
    expect_check(PROXY_DENY, "bob", "a.example.com:443", "203.0.115.1");
    expect_check(PROXY_DENY, "alice", "a.example.com:444", "203.0.115.1");
    expect_check(PROXY_ALLOW, NULL, "other.example:8050", "203.0.114.255");
    expect_check(PROXY_DENY, NULL, "other.example:8101", "203.0.114.255");
    expect_check(PROXY_DENY, NULL, "other.example:8050", "203.0.115.0");
}
END_TEST

static unsigned opens(const char *user, unsigned most)
{
    struct proxy_account *open[8];
    bool rate;
    unsigned n = 0;
    for (; n < most && (open[n] = proxy_open(proxy, user, 0, &rate)); n++)
        ;
    for (unsigned i = 0; i < n; i++)
        proxy_close(open[i]);
    return n;
}

START_TEST(users_have_limits_of_their_own)
{
    make(0, "proxies: [{name: p, max-tunnels: 3, authentication: certificate}, {name: q}]\n"
            "user-limits:\n"
            "- {proxy: p, user: alice, tunnels: 5}\n"
            "- {proxy: q, user: bob, tunnels: 1}\n"
            "- {proxy: p, user: '-', tunnels: 2}\n"
            "- {proxy: p, user: root}\n");
    ck_assert_uint_eq(opens("alice", 8), 5);
    ck_assert_uint_eq(opens("bob", 8), 3);
    ck_assert_uint_eq(opens("", 8), 2);
    ck_assert_uint_eq(opens("root", 8), 8);
}
END_TEST

/* ---- warnings ---- */

static void expect_warnings(const char *text, const char *expected)
{
    char *warnings;
    size_t size;
    FILE *out = open_memstream(&warnings, &size);
    struct config *c = document_valid(text);
    unsigned n = config_warn(c, "f", out);
    fclose(out);
    unsigned lines = 0;
    for (const char *p = warnings; (p = strchr(p, '\n')); p++)
        lines++;
    ck_assert_str_eq(warnings, expected);
    ck_assert_uint_eq(n, lines);
    config_free(c);
    free(warnings);
}

static void write_users(mode_t mode)
{
    FILE *f = fopen("users", "w");
    ck_assert_ptr_nonnull(f);
    fputs("alice:$5$salt$", f);
    for (unsigned i = 0; i < 43; i++)
        fputc('a', f);
    fputc('\n', f);
    fclose(f);
    ck_assert_int_eq(chmod("users", mode), 0);
}

#define BASIC    "proxies: [{name: p, authentication: basic, users-file: users}]\n"
#define OWN      "certificates: [{name: own, certificate: /a, key: /b}]\n"
#define LISTENER "listeners: [{name: l, port: 1, protocol: http2, service: connect, proxy: p, "

START_TEST(warns_of_what_is_hardly_meant)
{
    write_users(0640);
    expect_warnings("proxies:\n- name: p\n",
                    "f:2: proxies[0]: has no rules, so that nobody may go anywhere\n");
    expect_warnings(
        LISTENER "}]\n" BASIC "rules: [{proxy: p, action: allow}]\n",
        "f:1: listeners[0].proxy: 'p' asks for passwords, which cross the network in the clear "
        "here; give 'certificates'\n");
    expect_warnings(OWN LISTENER "certificates: [own]}]\n" BASIC
                                 "rules: [{proxy: p, action: allow, users: [alice, '*', '-',\n"
                                 "  bob]}]\n"
                                 "user-limits: [{proxy: p, user: alice}, {proxy: p, user: '-'},\n"
                                 "  {proxy: p, user: carol}]\n",
                    "f:5: rules[0].users[3]: there is no 'bob' in users\n"
                    "f:7: user-limits[2].user: there is no 'carol' in users\n");
    expect_warnings("proxies: [{name: p}]\nrules: [{proxy: p, action: allow, users: [bob]}]\n",
                    "f:2: rules[0].users[0]: 'bob' is nobody: proxy 'p' has 'authentication: "
                    "none'\n");
    write_users(0644);
    expect_warnings(BASIC "rules: [{proxy: p, action: allow}]\n",
                    "f:1: proxies[0].users-file: anybody on this host may read users and guess at "
                    "the hashes in it; chmod 0640\n");
}
END_TEST

/* Certificates name users that no file does; a file that is not there is a fault, told elsewhere.
 */
START_TEST(does_not_warn_of_what_may_be_meant)
{
    write_users(0640);
    expect_warnings("", "");
    expect_warnings("proxies: [{name: p, authentication: any, users-file: users}]\n"
                    "rules: [{proxy: p, action: allow, users: [bob]}]\n",
                    "");
    expect_warnings("proxies: [{name: p, authentication: basic, users-file: absent}]\n"
                    "rules: [{proxy: p, action: allow, users: [bob]}]\n",
                    "");
}
END_TEST

UNIT_MAIN("proxies", setup, teardown, options_are_those_of_the_file,
          nobody_is_asked_unless_the_file_says, certificates_alone_are_no_passwords,
          rules_are_its_own_in_the_files_order, users_have_limits_of_their_own,
          warns_of_what_is_hardly_meant, does_not_warn_of_what_may_be_meant)
