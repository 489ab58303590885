/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_fault.h"

#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

static const char *const words[] = {"addresses", "gateways", "mac", "mtu", "queues", "rx-file"};

static void expect_nearest(const char *text, const char *expected)
{
    const char *near = config_nearest(text, words, sizeof(words) / sizeof(words[0]));
    ck_assert_pstr_eq(near, expected);
}

START_TEST(finds_one_or_two_slips)
{
    expect_nearest("addresses", "addresses");
    expect_nearest("adresses", "addresses");
    expect_nearest("adreses", "addresses");
    expect_nearest("addressess", "addresses");
    expect_nearest("queuse", "queues");
    expect_nearest("equesu", NULL);
    expect_nearest("rx_file", "rx-file");
    expect_nearest("mut", "mtu");
    expect_nearest("tx-fiel", "rx-file");
}
END_TEST

START_TEST(takes_a_beginning_for_the_whole)
{
    expect_nearest("addr", "addresses");
    expect_nearest("gate", "gateways");
    expect_nearest("g", NULL);
    expect_nearest("", NULL);
}
END_TEST

START_TEST(does_not_guess_wildly)
{
    char longest[200];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    expect_nearest("abc", NULL);
    expect_nearest("xyz", NULL);
    expect_nearest(longest, NULL);
}
END_TEST

START_TEST(quotes_what_is_fit_to_print)
{
    char dst[CONFIG_QUOTE_MAX];
    ck_assert_str_eq(config_quote("it's", dst), "it's");
    ck_assert_str_eq(config_quote("a\x1b[2J\n\x7f", dst), "a?[2J??");
    ck_assert_str_eq(config_quote("", dst), "");
    char text[100];
    memset(text, 'x', sizeof(text));
    text[68] = 0;
    ck_assert_str_eq(config_quote(text, dst), text);
    text[68] = 'x';
    text[99] = 0;
    config_quote(text, dst);
    ck_assert_uint_eq(strlen(dst), 71);
    ck_assert_str_eq(dst + 67, "x...");
}
END_TEST

static char *flush(struct config_faults *f, unsigned expected)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_uint_eq(config_faults_flush(f, out), expected);
    fclose(out);
    ck_assert_uint_eq(f->n, 0);
    return text;
}

START_TEST(prints_in_the_order_of_lines)
{
    struct config_faults f = {.file = "x.yaml"};
    config_fault_at(&f, 9, CONFIG_PLACE("devices", 2, "addresses", 1), "nine %d", 1);
    config_fault_at(&f, 2, CONFIG_PLACE("workers", -1, "cores", -1), "two");
    config_fault(&f, CONFIG_ROOT, "nowhere");
    config_fault_at(&f, 9, CONFIG_PLACE("devices", 2, NULL, -1), "nine %d", 2);
    char *text = flush(&f, 4);
    ck_assert_str_eq(text, "x.yaml: nowhere\n"
                           "x.yaml:2: workers.cores: two\n"
                           "x.yaml:9: devices[2].addresses[1]: nine 1\n"
                           "x.yaml:9: devices[2]: nine 2\n");
    free(text);
    text = flush(&f, 0);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

START_TEST(counts_what_it_does_not_keep)
{
    struct config_faults f = {.file = "x"};
    for (unsigned i = 0; i < FAULTS_MAX + 3; i++)
        config_fault_at(&f, FAULTS_MAX + 3 - i, CONFIG_ROOT, "%u", i);
    char *text = flush(&f, FAULTS_MAX + 3);
    ck_assert_ptr_eq(strstr(text, "x:4: 63\n"), text);
    ck_assert_ptr_nonnull(strstr(text, "x:67: 0\nx: and 3 more faults\n"));
    free(text);
}
END_TEST

UNIT_MAIN("config_fault", NULL, NULL, finds_one_or_two_slips, takes_a_beginning_for_the_whole,
          does_not_guess_wildly, quotes_what_is_fit_to_print, prints_in_the_order_of_lines,
          counts_what_it_does_not_keep)
