/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/certificates.h"

#include <sys/stat.h>

#include "app/cert.h"
#include "document.h"

static void setup(void)
{
    char why[CERT_WHY_MAX];
    document_setup();
    ck_assert(cert_make(
        &(struct cert_options){.directory = "a", .name = {"a.example"}, .n_names = 1, .days = 1},
        why));
    ck_assert(cert_make(&(struct cert_options){.directory = "b", .days = 1, .rsa = true}, why));
}

static void teardown(void)
{
    unlink("a/" CERT_FILE);
    unlink("a/" CERT_KEY_FILE);
    unlink("b/" CERT_FILE);
    unlink("b/" CERT_KEY_FILE);
    unlink("large");
    rmdir("a");
    rmdir("b");
    document_teardown();
}

#define PAIR(name, from, key_from) \
    "- {name: " name ", certificate: " from "/certificate.pem, key: " key_from "/key.pem}\n"
#define LISTENER(more)       \
    "origins: [{name: o}]\n" \
    "listeners: [{name: w, port: 1, protocol: http2, service: origin, origin: o, " more "}]\n"

static struct tls_context *load(const char *text, const char *faults)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config *c = document_valid(text);
    struct config_faults f = {.file = "f", .tree = c->tree};
    struct tls_context *t = certificates_load(c, 0, &f);
    config_faults_flush(&f, out);
    fclose(out);
    ck_assert_str_eq(errors, faults);
    free(errors);
    config_free(c);
    return t;
}

START_TEST(a_listener_has_its_certificates_in_order)
{
    struct tls_context *t = load("certificates:\n" PAIR("a", "a", "a") PAIR("b", "b", "b")
                                     LISTENER("certificates: [b, a]"),
                                 "");
    ck_assert_ptr_nonnull(t);
    ck_assert_uint_eq(tls_context_n_identities(t), 2);
    ck_assert_str_eq(tls_context_identity(t, 0)->name, "b");
    ck_assert_str_eq(tls_context_identity(t, 0)->key, "RSA 2048");
    ck_assert_str_eq(tls_context_identity(t, 1)->name, "a");
    tls_context_release(t);
}
END_TEST

START_TEST(clients_are_asked_for_theirs)
{
    struct tls_context *t = load("certificates:\n" PAIR("a", "a", "a")
                                     LISTENER("certificates: [a], client-auth: required, "
                                              "client-ca: b/certificate.pem"),
                                 "");
    ck_assert_ptr_nonnull(t);
    tls_context_release(t);
}
END_TEST

START_TEST(files_that_cannot_be_read_are_named)
{
    FILE *out = fopen("large", "w");
    ck_assert_int_eq(ftruncate(fileno(out), CERTIFICATES_FILE_MAX + 1), 0);
    fclose(out);
    ck_assert_ptr_null(load(
        "certificates:\n" PAIR("a", "a", "none") "- {name: b, certificate: large, key: .}\n" LISTENER(
            "certificates: [a, b], client-auth: optional, client-ca: no.pem"),
        "f:2: certificates[0].key: none/key.pem: cannot open: No such file or directory\n"
        "f:3: certificates[1].certificate: large: larger than 1024 KiB\n"
        "f:3: certificates[1].key: .: cannot read: Is a directory\n"
        "f:5: listeners[0].client-ca: no.pem: cannot open: No such file or directory\n"));
}
END_TEST

START_TEST(what_does_not_belong_together_is_named)
{
    ck_assert_ptr_null(load("certificates:\n" PAIR("mixed", "a", "b")
                                LISTENER("certificates: [mixed]"),
                            "f:2: certificates[0]: the private key is not that of the certificate "
                            "(a/certificate.pem, b/key.pem)\n"));
}
END_TEST

START_TEST(what_is_no_certificates_fault_is_where_it_was_written)
{
    ck_assert_ptr_null(load("tls: {ciphers: nonsense}\ncertificates:\n" PAIR("a", "a", "a")
                                LISTENER("certificates: [a]"),
                            "f:1: tls.ciphers: nonsense: no such ciphers\n"));
    ck_assert_ptr_null(load("tls: {groups: none}\ncertificates:\n" PAIR("a", "a", "a")
                                LISTENER("certificates: [a]"),
                            "f:1: tls.groups: none: no such groups\n"));
    ck_assert_ptr_null(load("tls: {ciphers: DHE+aRSA+AES128+AESGCM}\ncertificates:\n" PAIR(
                                "a", "a", "a") LISTENER("certificates: [a]"),
                            "f:1: tls: DHE-RSA-AES128-GCM-SHA256: not ECDHE with AEAD and a whole "
                            "tag\n"));
    ck_assert_ptr_null(load("certificates:\n" PAIR("a", "a", "a")
                                LISTENER("certificates: [a], client-auth: required, "
                                         "client-ca: a/key.pem"),
                            "f:4: listeners[0].client-ca: a/key.pem: no certificate in it\n"));
}
END_TEST

#define DAY 86400

START_TEST(the_end_is_foreseen)
{
    const struct tls_identity_info id = {.name = "own",
                                         .key = "EC P-256",
                                         .names = "a.example",
                                         .not_before = 365 * DAY,
                                         .not_after = 395 * DAY};
    static const struct {
        int64_t now;
        bool good;
        const char *text;
    } is[] = {
        {365 * DAY - 1, false, "own: not valid before 1971-01-01; clients refuse it"},
        {365 * DAY, true, "own: EC P-256, until 1971-01-31, for a.example"},
        {385 * DAY, true, "own: EC P-256, until 1971-01-31, for a.example"},
        {385 * DAY + 1, false, "own: expires on 1971-01-31; renew it, then reload"},
        {395 * DAY, false, "own: expires on 1971-01-31; renew it, then reload"},
        {395 * DAY + 1, false, "own: expired on 1971-01-31; clients refuse it"},
    };
    for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
        char text[CERTIFICATES_TEXT_MAX];
        ck_assert_int_eq(certificates_describe(&id, is[i].now, text), is[i].good);
        ck_assert_str_eq(text, is[i].text);
    }
    const struct tls_identity_info year = {
        .name = "y", .not_after = 365 * DAY, .names = "", .key = "", .subject = ""};
    char text[CERTIFICATES_TEXT_MAX];
    ck_assert(certificates_describe(&year, 351 * DAY, text));
    ck_assert(!certificates_describe(&year, 351 * DAY + 1, text));
}
END_TEST

UNIT_MAIN("certificates", setup, teardown, a_listener_has_its_certificates_in_order,
          clients_are_asked_for_theirs, files_that_cannot_be_read_are_named,
          what_does_not_belong_together_is_named,
          what_is_no_certificates_fault_is_where_it_was_written, the_end_is_foreseen)
