/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/names.h"

#include <string.h>

#include "support/unit.h"

#define IDENTITIES 4

static struct identity id[IDENTITIES];
static char *text[IDENTITIES][4];
static struct tls_names names;

/* Identity i with a kind of key and its names, a NULL at the end. */
static void give(unsigned i, enum identity_kind kind, const char *const *of)
{
    id[i] = (struct identity){.kind = kind, .name = text[i]};
    for (; of[id[i].n_names]; id[i].n_names++)
        text[i][id[i].n_names] = (char *)(uintptr_t)of[id[i].n_names];
}

#define GIVE(i, kind, ...) give(i, kind, (const char *const[]){__VA_ARGS__, NULL})

static void teardown(void)
{
    names_fini(&names);
}

/* Which identities, 1 for the first, serve name: by RSA, by EC. */
static void served(const char *name, unsigned rsa, unsigned ec)
{
    const struct tls_set *set = names_find(&names, name);
    ck_assert_msg(set != NULL, "%s", name);
    ck_assert_msg(set->identity[IDENTITY_RSA] == rsa, "%s", name);
    ck_assert_msg(set->identity[IDENTITY_EC] == ec, "%s", name);
}

static void unknown(const char *name)
{
    ck_assert_msg(!names_find(&names, name), "%s", name);
}

START_TEST(finds_names_and_wildcards_of_one_label)
{
    GIVE(0, IDENTITY_EC, "example.com", "*.example.com");
    GIVE(1, IDENTITY_EC, "example.net", "www.example.com");
    ck_assert(names_init(&names, id, 2));
    served("example.com", 0, 1);
    served("a.example.com", 0, 1);
    served("www.example.com", 0, 2); /* the name itself before a wildcard */
    served("example.net", 0, 2);
    unknown("a.b.example.com");
    unknown("www.example.net");
    unknown(".example.com");
    unknown("com");
    unknown("example.org");
    unknown("example.co");
    unknown("example.comm");
    unknown("");
    unknown(".");
}
END_TEST

START_TEST(cares_for_neither_case_nor_a_dot_at_the_end)
{
    GIVE(0, IDENTITY_EC, "example.com", "*.example.com");
    ck_assert(names_init(&names, id, 1));
    served("EXAMPLE.Com", 0, 1);
    served("example.com.", 0, 1);
    served("WWW.example.com.", 0, 1);
    unknown("example.com..");
}
END_TEST

START_TEST(kinds_of_keys_stand_side_by_side)
{
    GIVE(0, IDENTITY_RSA, "a.example", "b.example");
    GIVE(1, IDENTITY_EC, "b.example", "c.example");
    GIVE(2, IDENTITY_RSA, "b.example", "d.example");
    GIVE(3, IDENTITY_EC, "a.example", "b.example");
    ck_assert(names_init(&names, id, 4));
    served("a.example", 1, 4);
    served("b.example", 1, 2); /* the first of each kind */
    served("c.example", 0, 2);
    served("d.example", 3, 0);
}
END_TEST

START_TEST(the_first_set_is_for_everybody_else)
{
    GIVE(0, IDENTITY_RSA, "a.example");
    GIVE(1, IDENTITY_EC, "b.example");
    GIVE(2, IDENTITY_EC, "a.example");
    ck_assert(names_init(&names, id, 3));
    ck_assert_uint_eq(names.set[0].identity[IDENTITY_RSA], 1);
    ck_assert_uint_eq(names.set[0].identity[IDENTITY_EC], 3);
    ck_assert_uint_eq(names.n_sets, 2);
    ck_assert_ptr_eq(names_find(&names, "a.example"), &names.set[0]);
}
END_TEST

START_TEST(those_without_a_name_are_for_everybody_else)
{
    id[0] = (struct identity){.kind = IDENTITY_RSA};
    id[1] = (struct identity){.kind = IDENTITY_EC};
    GIVE(2, IDENTITY_EC, "a.example");
    ck_assert(names_init(&names, id, 3));
    ck_assert_uint_eq(names.set[0].identity[IDENTITY_RSA], 1);
    ck_assert_uint_eq(names.set[0].identity[IDENTITY_EC], 2);
    served("a.example", 0, 3);
}
END_TEST

START_TEST(a_name_is_no_longer_than_it_can_be)
{
    char long_name[400];
    memset(long_name, 'a', sizeof(long_name));
    memcpy(long_name + 10, ".example.com", 13);
    GIVE(0, IDENTITY_EC, "*.example.com");
    ck_assert(names_init(&names, id, 1));
    served(long_name, 0, 1);
    long_name[22] = 'm';
    long_name[sizeof(long_name) - 1] = 0;
    unknown(long_name);
}
END_TEST

START_TEST(many_names_are_found)
{
    static char many[IDENTITIES][200][24];
    static char *of[IDENTITIES][200];
    for (unsigned i = 0; i < IDENTITIES; i++) {
        for (unsigned k = 0; k < 200; k++) {
            snprintf(many[i][k], sizeof(many[i][k]), "%u.%u.example", k * 7919 % 1000, i);
            of[i][k] = many[i][k];
        }
        id[i] = (struct identity){.kind = IDENTITY_EC, .name = of[i], .n_names = 200};
    }
    ck_assert(names_init(&names, id, IDENTITIES));
    for (unsigned i = 0; i < IDENTITIES; i++) {
        for (unsigned k = 0; k < 200; k++)
            served(many[i][k], 0, i + 1);
    }
    ck_assert_uint_eq(names.n, IDENTITIES * 200);
    ck_assert_uint_eq(names.n_sets, IDENTITIES);
}
END_TEST

UNIT_MAIN("tls/names", NULL, teardown, finds_names_and_wildcards_of_one_label,
          cares_for_neither_case_nor_a_dot_at_the_end, kinds_of_keys_stand_side_by_side,
          the_first_set_is_for_everybody_else, those_without_a_name_are_for_everybody_else,
          a_name_is_no_longer_than_it_can_be, many_names_are_found)
