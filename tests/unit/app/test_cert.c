/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/cert.h"

#include <sys/stat.h>
#include <time.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "document.h"

static char why[CERT_WHY_MAX];

static void teardown(void)
{
    unlink("d/" CERT_FILE);
    unlink("d/" CERT_KEY_FILE);
    rmdir("d");
    document_teardown();
}

static X509 *certificate(void)
{
    FILE *in = fopen("d/" CERT_FILE, "r");
    ck_assert_ptr_nonnull(in);
    X509 *x = PEM_read_X509(in, NULL, NULL, NULL);
    fclose(in);
    ck_assert_ptr_nonnull(x);
    return x;
}

static EVP_PKEY *key(void)
{
    FILE *in = fopen("d/" CERT_KEY_FILE, "r");
    ck_assert_ptr_nonnull(in);
    EVP_PKEY *k = PEM_read_PrivateKey(in, NULL, NULL, NULL);
    fclose(in);
    ck_assert_ptr_nonnull(k);
    return k;
}

static void make(const struct cert_options *o)
{
    ck_assert_msg(cert_make(o, why), "%s", why);
}

START_TEST(it_is_for_its_names)
{
    make(&(struct cert_options){.directory = "d",
                                .name = {"a.example", "*.b.example", "192.0.2.1", "2001:db8::1"},
                                .n_names = 4,
                                .days = 2});
    X509 *x = certificate();
    ck_assert_int_eq(X509_check_host(x, "a.example", 0, 0, NULL), 1);
    ck_assert_int_eq(X509_check_host(x, "c.b.example", 0, 0, NULL), 1);
    ck_assert_int_eq(X509_check_host(x, "c.example", 0, 0, NULL), 0);
    ck_assert_int_eq(X509_check_ip_asc(x, "192.0.2.1", 0), 1);
    ck_assert_int_eq(X509_check_ip_asc(x, "2001:db8::1", 0), 1);
    time_t soon = time(NULL) + 2 * 86400 - 60;
    time_t later = soon + 120;
    ck_assert_int_eq(X509_cmp_time(X509_get0_notAfter(x), &soon), 1);
    ck_assert_int_eq(X509_cmp_time(X509_get0_notAfter(x), &later), -1);
    ck_assert_int_lt(X509_cmp_current_time(X509_get0_notBefore(x)), 0);
    X509_free(x);
}
END_TEST

START_TEST(without_names_it_is_for_this_host)
{
    make(&(struct cert_options){.directory = "d", .days = 1});
    X509 *x = certificate();
    ck_assert_int_eq(X509_check_host(x, "localhost", 0, 0, NULL), 1);
    ck_assert_int_eq(X509_check_ip_asc(x, "127.0.0.1", 0), 1);
    ck_assert_int_eq(X509_check_ip_asc(x, "::1", 0), 1);
    X509_free(x);
}
END_TEST

static void expect_key(bool rsa, int type, int bits)
{
    struct stat st;
    make(&(struct cert_options){.directory = "d", .days = 1, .rsa = rsa});
    X509 *x = certificate();
    EVP_PKEY *k = key();
    ck_assert_int_eq(EVP_PKEY_base_id(k), type);
    ck_assert_int_eq(EVP_PKEY_bits(k), bits);
    ck_assert_int_eq(X509_check_private_key(x, k), 1);
    ck_assert_int_eq(X509_verify(x, k), 1);
    ck_assert_int_eq(stat("d/" CERT_KEY_FILE, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    EVP_PKEY_free(k);
    X509_free(x);
}

START_TEST(the_key_is_of_p256_and_the_owners)
{
    expect_key(false, EVP_PKEY_EC, 256);
}
END_TEST

START_TEST(the_key_may_be_of_rsa)
{
    expect_key(true, EVP_PKEY_RSA, 2048);
}
END_TEST

START_TEST(nothing_is_overwritten)
{
    const struct cert_options o = {.directory = "d", .days = 1};
    make(&o);
    EVP_PKEY *first = key();
    ck_assert(!cert_make(&o, why));
    ck_assert_str_eq(why, "d/" CERT_KEY_FILE ": is there already, and is left alone");
    unlink("d/" CERT_KEY_FILE);
    ck_assert(!cert_make(&o, why));
    ck_assert_str_eq(why, "d/" CERT_FILE ": is there already, and is left alone");
    ck_assert_int_ne(access("d/" CERT_KEY_FILE, F_OK), 0); /* no key without its certificate */
    X509 *x = certificate();
    ck_assert_int_eq(X509_check_private_key(x, first), 1);
    X509_free(x);
    EVP_PKEY_free(first);
}
END_TEST

START_TEST(refuses_names_that_are_none)
{
    static const char *const names[] = {"", "a b", "a,DNS:b", "-a", ".a", "*", "a.*.b", "dir:/x"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct cert_options o = {.directory = "d", .name = {names[i]}, .n_names = 1, .days = 1};
        ck_assert_msg(!cert_make(&o, why), "%s", names[i]);
        ck_assert_msg(strstr(why, "is neither a host's name nor an IP address"), "%s", why);
        ck_assert_int_ne(access("d/" CERT_FILE, F_OK), 0);
    }
}
END_TEST

START_TEST(directories_are_made)
{
    make(&(struct cert_options){.directory = "d/e//f/", .days = 1});
    ck_assert_int_eq(unlink("d/e/f/" CERT_FILE), 0);
    ck_assert_int_eq(unlink("d/e/f/" CERT_KEY_FILE), 0);
    ck_assert_int_eq(rmdir("d/e/f"), 0);
    ck_assert_int_eq(rmdir("d/e"), 0);
    fclose(fopen("d/" CERT_FILE, "w"));
    ck_assert(!cert_make(&(struct cert_options){.directory = "d/" CERT_FILE "/e", .days = 1}, why));
    ck_assert_str_eq(why, "d/" CERT_FILE "/e: Not a directory");
    ck_assert(!cert_make(&(struct cert_options){.directory = "", .days = 1}, why));
    ck_assert_str_eq(why, ": No such file or directory");
}
END_TEST

START_TEST(the_command_checks_its_words)
{
    static const struct {
        const char *word[8];
        int code;
    } calls[] = {
        {{"cert"}, 2},
        {{"cert", "--out", "d", "more"}, 2},
        {{"cert", "--out", "d", "--days", "0"}, 2},
        {{"cert", "--out", "d", "--days", "1x"}, 2},
        {{"cert", "--nonsense"}, 2},
        {{"cert", "--out", "d", "--name", "a b"}, 1},
        {{"cert", "--out", "d", "--name", "a.example", "--days", "3"}, 0},
        {{"cert", "--out", "d"}, 1},
    };
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int argc = 0;
        while (argc < 8 && calls[i].word[argc])
            argc++;
        optind = 0; /* getopt(3): from the start */
        ck_assert_msg(cert_main(argc, (char **)calls[i].word) == calls[i].code, "call %zu", i);
    }
}
END_TEST

UNIT_MAIN("cert", document_setup, teardown, it_is_for_its_names, without_names_it_is_for_this_host,
          the_key_is_of_p256_and_the_owners, the_key_may_be_of_rsa, nothing_is_overwritten,
          refuses_names_that_are_none, directories_are_made, the_command_checks_its_words)
