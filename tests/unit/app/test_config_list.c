/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_list.h"

#include <string.h>

#include "support/unit.h"

static struct config_words words;

static const struct config_key *key(const char *section, const char *name)
{
    const struct config_section *s = config_section_find(section);
    ck_assert_ptr_nonnull(s);
    const struct config_key *k = config_key_find(s, name);
    ck_assert_ptr_nonnull(k);
    return k;
}

/* What the texts, up to NULL, are read as, is written again as these; base is zeroed. */
static void expect(const char *section, const char *name, void *base, const char *const *text,
                   const char *const *expected)
{
    struct config_why why = {""};
    const struct config_key *k = key(section, name);
    unsigned n = 0;
    for (; *text; text++)
        ck_assert_msg(config_value_read(k, base, *text, &why), "%s: %s", *text, why.text);
    config_value_write(k, base, &words);
    for (; expected[n]; n++) {
        ck_assert_uint_lt(n, words.n);
        ck_assert_str_eq(words.value[n], expected[n]);
    }
    ck_assert_uint_eq(words.n, n);
    config_value_free(k, base);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(lists_are_written_as_they_were_read)
{
    struct config_rule r = {0};
    struct config_proxy p = {0};
    expect("rules", "users", &r, TEXTS("a", "*", "-", "a b"), TEXTS("a", "*", "-", "a b"));
    expect("rules", "names", &r, TEXTS("A.example.", "=b", "_c-d.e"),
           TEXTS("a.example", "=b", "_c-d.e"));
    expect("rules", "prefixes", &r, TEXTS("10.0.0.0/8", "192.0.2.1", "2001:DB8::/32", "::/0"),
           TEXTS("10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32", "::/0"));
    expect("rules", "ports", &r, TEXTS("443", "8000-8100", "1-65535", "9-9"),
           TEXTS("443", "8000-8100", "1-65535", "9"));
    expect("proxies", "egress", &p, TEXTS("192.0.2.1", "2001:db8::1"),
           TEXTS("192.0.2.1", "2001:db8::1"));
    expect("proxies", "permit", &p, TEXTS("own", "private", "own"), TEXTS("private", "own"));
    static const struct config_rule no_rule;
    ck_assert_mem_eq(&r, &no_rule, sizeof(r));
}
END_TEST

START_TEST(those_of_the_resolver_too)
{
    struct resolver_host h = {0};
    static struct config c;
    expect("hosts", "addresses", &h, TEXTS("192.0.2.1", "2001:db8::1"),
           TEXTS("192.0.2.1", "2001:db8::1"));
    expect("hosts", "name", &h, TEXTS("WWW.Example."), TEXTS("www.example"));
    expect("resolver", "servers", &c,
           TEXTS("192.0.2.53", "192.0.2.53:54", "2001:db8::53", "[2001:db8::53]:65535",
                 "[2001:db8::54]"),
           TEXTS("192.0.2.53", "192.0.2.53:54", "2001:db8::53", "[2001:db8::53]:65535",
                 "2001:db8::54"));
}
END_TEST

/* Every item that a list can have has room among the words. */
START_TEST(the_longest_list_can_be_written)
{
    struct config_rule r = {0};
    struct config_why why;
    char text[16];
    const struct config_key *k = key("rules", "ports");
    for (unsigned i = 1; i <= k->max; i++) {
        snprintf(text, sizeof(text), "%u-65535", i);
        ck_assert(config_value_read(k, &r, text, &why));
    }
    config_value_write(k, &r, &words);
    ck_assert_uint_eq(words.n, CONFIG_LIST_MAX);
    ck_assert_str_eq(words.value[CONFIG_LIST_MAX - 1], "256-65535");
    config_value_free(k, &r);
}
END_TEST

/* What is refused changes nothing. */
static void refuse(const char *name, const char *text)
{
    struct config_rule r = {0};
    static const struct config_rule no_rule;
    struct config_why why = {""};
    ck_assert_msg(!config_value_read(key("rules", name), &r, text, &why), "%s", text);
    ck_assert(why.text[0]);
    ck_assert_mem_eq(&r, &no_rule, sizeof(r));
}

START_TEST(refuses_what_is_none)
{
    refuse("users", "");
    refuse("users", "a:b");
    refuse("users", "a\x7f");
    refuse("users", "a\tb");
    refuse("users", "123456789.123456789.123456789.123456789.123456789.123456789.1234");
    refuse("names", "");
    refuse("names", "=");
    refuse("names", "==a");
    refuse("names", "*");
    refuse("names", "*.a");
    refuse("names", ".");
    refuse("names", "a..b");
    refuse("names", "-a");
    refuse("names", "a:1");
    refuse("names", "a/b");
    refuse("names", "192.0.2.1");
    refuse("names", "1.2.3");
    refuse("names", "[2001:db8::1]");
    refuse("prefixes", "");
    refuse("prefixes", "10.0.0.0/33");
    refuse("prefixes", "10.0.0.1/31");
    refuse("prefixes", "2001:db8::1/64");
    refuse("prefixes", "::ffff:10.0.0.0/104");
    refuse("ports", "");
    refuse("ports", "0");
    refuse("ports", "0-1");
    refuse("ports", "2-1");
    refuse("ports", "65536");
    refuse("ports", "1-");
    refuse("ports", "-1");
    refuse("ports", " 1");
}
END_TEST

UNIT_MAIN("config_list", NULL, NULL, lists_are_written_as_they_were_read, those_of_the_resolver_too,
          the_longest_list_can_be_written, refuses_what_is_none)
