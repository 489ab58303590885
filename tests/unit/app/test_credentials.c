/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/credentials.h"

#include <sys/stat.h>

#include "document.h"

#define D43    "0123456789abcdefghijklmnopqrstuvwxyzABCDEF."
#define D53    D43 "0123456789"
#define D86    D43 D43
#define SHA512 "$6$salt$" D86

static struct credentials *held;

static void setup(void)
{
    document_setup();
    held = NULL;
}

static void teardown(void)
{
    credentials_release(held);
    unlink("users");
    document_teardown();
}

static void write_bytes(const char *text, size_t n)
{
    FILE *f = fopen("users", "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    fclose(f);
}

/* Loads what is written, and expects these faults. */
static void load(const char *faults)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config_faults f = {.file = "f"};
    credentials_release(held);
    held = credentials_load("users", CONFIG_PLACE("proxies", 0, "users-file", -1), &f);
    config_faults_flush(&f, out);
    fclose(out);
    ck_assert_str_eq(errors, faults);
    ck_assert_int_eq(!held, faults[0] != '\0');
    free(errors);
}

static void load_text(const char *text, const char *faults)
{
    write_bytes(text, strlen(text));
    load(faults);
}

/* A fault in one line. */
static void refused(const char *line, const char *why)
{
    char text[512];
    char fault[512];
    snprintf(text, sizeof(text), "# first\n%s\nlast:" SHA512 "\n", line);
    snprintf(fault, sizeof(fault), "f: proxies[0].users-file: users:2: %s\n", why);
    load_text(text, fault);
}

START_TEST(users_are_found_by_name)
{
    load_text("# comment: with a colon\n"
              "\n"
              "zoe:" SHA512 "\r\n"
              "   \n"
              "alice:$y$j9T$salt$" D43 "  \n"
              "Jos\xc3\xa9 B.:$2b$05$" D53,
              "");
    ck_assert_uint_eq(credentials_users(held), 3);
    ck_assert_str_eq(credentials_find(held, "zoe"), SHA512);
    ck_assert_str_eq(credentials_find(held, "alice"), "$y$j9T$salt$" D43);
    ck_assert_str_eq(credentials_find(held, "Jos\xc3\xa9 B."), "$2b$05$" D53);
    ck_assert_ptr_null(credentials_find(held, "Zoe"));
    ck_assert_ptr_null(credentials_find(held, "zo"));
    ck_assert_ptr_null(credentials_find(held, "zoee"));
    ck_assert_ptr_null(credentials_find(held, ""));
    ck_assert_ptr_null(credentials_find(held, "# comment"));
}
END_TEST

START_TEST(every_strong_kind_is_taken)
{
    load_text("a:$y$j9T$s$" D43 "\nb:$gy$j9T$s$" D43 "\nc:$7$CU..../....s$" D43 "\nd:$2b$05$" D53
              "\ne:$2y$05$" D53 "\nf:$2a$05$" D53 "\ng:" SHA512 "\nh:$6$rounds=10000$s$" D86
              "\ni:$5$s$" D43 "\n",
              "");
    ck_assert_uint_eq(credentials_users(held), 9);
}
END_TEST

START_TEST(other_kinds_are_refused)
{
    static const char weak[] = "'bob' has an MD5 hash, which is too easily guessed; make another "
                               "by `mkpasswd -m sha-512`";
    static const char none[] =
        "'bob' has no hash of a kind that is taken; make one by `mkpasswd -m sha-512`";
    static const char part[] = "'bob' has a hash that is not whole";
    refused("bob:$1$salt$0123456789012345678901", weak);
    refused("bob:$apr1$salt$0123456789012345678901", weak);
    refused("bob:", "'bob' has no hash");
    refused("bob: ", "'bob' has no hash");
    refused("bob:plain password", none);
    refused("bob:abNANd1rDfiNc", none);
    refused("bob:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", none);
    refused("bob:!", none);
    refused("bob:!" SHA512, none);
    refused("bob:" SHA512 ":19000:0:", none);
    refused("bob:$2x$05$" D53, none);
    refused("bob:$6$sa lt$" D86, none);
    refused("bob:$6$", part);
    refused("bob:$6$" D86, part);
    refused("bob:$6$salt$" D43, part);
    refused("bob:" SHA512 ".", part);
    refused("bob:$5$salt$" D86, part);
    refused("bob:$5$salt$0123456789-bcdefghijklmnopqrstuvwxyzABCDEF.", part);
}
END_TEST

/* The hash may be a password in clear, or be all of the line. */
START_TEST(what_may_be_secret_is_not_repeated)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config_faults f = {.file = "f"};
    const char *text = "bob:s3cret\ns3cret\n:s3cret\ncarol:$6$s3cret\n";
    write_bytes(text, strlen(text));
    ck_assert_ptr_null(credentials_load("users", CONFIG_ROOT, &f));
    ck_assert_uint_eq(config_faults_flush(&f, out), 4);
    fclose(out);
    ck_assert_ptr_null(strstr(errors, "s3cret"));
    free(errors);
}
END_TEST

START_TEST(names_are_names)
{
    char longest[64 + sizeof(SHA512) + 1];
    refused("bob", "no ':' between a name and a hash");
    refused(":" SHA512, "no name before the ':'");
    refused("b\tb:" SHA512, "the name has control characters");
    refused("b\x7f:" SHA512, "the name has control characters");
    snprintf(longest, sizeof(longest), "%064d:" SHA512, 0);
    refused(longest, "the name is longer than 63 bytes");
    load_text(longest + 1, "");
    longest[64] = '\0';
    ck_assert_ptr_nonnull(credentials_find(held, longest + 1));
}
END_TEST

START_TEST(a_name_is_there_once)
{
    load_text("bob:" SHA512 "\nalice:" SHA512 "\nbob:$5$s$" D43 "\n#\nbob:" SHA512 "\n",
              "f: proxies[0].users-file: users:3: 'bob' is there already, in line 1\n"
              "f: proxies[0].users-file: users:5: 'bob' is there already, in line 3\n");
}
END_TEST

START_TEST(all_faults_are_told_at_once)
{
    load_text("bob\nx:\nbob:" SHA512 "\n",
              "f: proxies[0].users-file: users:1: no ':' between a name and a hash\n"
              "f: proxies[0].users-file: users:2: 'x' has no hash\n");
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    static const char nul[] = "bob:" SHA512 "\0x\n";
    write_bytes(nul, sizeof(nul) - 1);
    load("f: proxies[0].users-file: users:1: a NUL\n");
}
END_TEST

START_TEST(a_file_without_users_is_one)
{
    load_text("", "");
    ck_assert_uint_eq(credentials_users(held), 0);
    ck_assert_ptr_null(credentials_find(held, "bob"));
    ck_assert_ptr_null(credentials_decoy(held, "bob"));
    load_text("# nobody yet", "");
    ck_assert_uint_eq(credentials_users(held), 0);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_a_fault)
{
    load("f: proxies[0].users-file: users: cannot open: No such file or directory\n");
    ck_assert_int_eq(mkdir("users", 0755), 0);
    load("f: proxies[0].users-file: users: cannot read: Is a directory\n");
    ck_assert_int_eq(rmdir("users"), 0);
    write_bytes("", 0);
    ck_assert_int_eq(truncate("users", CREDENTIALS_FILE_MAX + 1), 0);
    load("f: proxies[0].users-file: users: larger than 16384 KiB\n");
}
END_TEST

static void write_users(unsigned n)
{
    FILE *f = fopen("users", "w");
    ck_assert_ptr_nonnull(f);
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "user-%u:%s\n", i, SHA512);
    fclose(f);
}

START_TEST(as_many_as_the_bound_are_users)
{
    write_users(CREDENTIALS_MAX);
    load("");
    ck_assert_uint_eq(credentials_users(held), CREDENTIALS_MAX);
    ck_assert_ptr_nonnull(credentials_find(held, "user-0"));
    ck_assert_ptr_nonnull(credentials_find(held, "user-65535"));
    ck_assert_ptr_null(credentials_find(held, "user-65536"));
    write_users(CREDENTIALS_MAX + 1);
    load("f: proxies[0].users-file: users: more than 65536 users\n");
}
END_TEST

START_TEST(a_file_for_everybody_is_noticed)
{
    load_text("bob:" SHA512 "\n", "");
    ck_assert_int_eq(chmod("users", 0644), 0);
    load("");
    ck_assert(credentials_exposed(held));
    ck_assert_int_eq(chmod("users", 0640), 0);
    load("");
    ck_assert(!credentials_exposed(held));
}
END_TEST

START_TEST(decoys_are_hashes_of_users)
{
    char name[16];
    bool seen[2] = {false, false};
    load_text("a:" SHA512 "\nb:$5$s$" D43 "\n", "");
    for (unsigned i = 0; i < 64; i++) {
        snprintf(name, sizeof(name), "nobody-%u", i);
        const char *decoy = credentials_decoy(held, name);
        bool second = strcmp(decoy, SHA512) != 0;
        if (second)
            ck_assert_str_eq(decoy, "$5$s$" D43);
        seen[second] = true;
        ck_assert_ptr_eq(credentials_decoy(held, name), decoy);
    }
    ck_assert(seen[0] && seen[1]);
}
END_TEST

START_TEST(the_last_reference_ends_it)
{
    load_text("bob:" SHA512 "\n", "");
    struct credentials *same = credentials_hold(held);
    ck_assert_ptr_eq(same, held);
    credentials_release(held);
    held = same;
    ck_assert_str_eq(credentials_find(held, "bob"), SHA512);
    ck_assert_ptr_null(credentials_hold(NULL));
    credentials_release(NULL);
}
END_TEST

UNIT_MAIN("credentials", setup, teardown, users_are_found_by_name, every_strong_kind_is_taken,
          other_kinds_are_refused, what_may_be_secret_is_not_repeated, names_are_names,
          a_name_is_there_once, all_faults_are_told_at_once, bytes_that_are_no_text_are_refused,
          a_file_without_users_is_one, a_file_that_cannot_be_read_is_a_fault,
          as_many_as_the_bound_are_users, a_file_for_everybody_is_noticed,
          decoys_are_hashes_of_users, the_last_reference_ends_it)
