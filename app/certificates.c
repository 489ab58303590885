/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/certificates.h"

#include <string.h>
#include <time.h>

#include "app/file.h"

#define ERROR_MAX 256

/* PEM files of one listener. */
struct pem {
    struct file chain[CONFIG_LISTENER_CERTIFICATES];
    struct file key[CONFIG_LISTENER_CERTIFICATES];
    struct file client_ca;
};

static bool read_pem(const char *path, struct file *to, const struct config_place *place,
                     struct config_faults *f)
{
    char why[FILE_WHY_MAX];
    if (file_load(path, CERTIFICATES_FILE_MAX, to, why))
        return true;
    config_fault(f, place, "%s: %s", path, why);
    return false;
}

static bool read_all(const struct config *c, unsigned n, struct pem *pem, struct config_faults *f)
{
    const struct config_listener *l = &c->listener[n];
    bool all = true;
    for (unsigned i = 0; i < l->n_certificates; i++) {
        const struct config_certificate *from = config_certificate_find(c, l->certificate[i]);
        int at = (int)(from - c->certificate);
        all &= read_pem(from->certificate, &pem->chain[i],
                        CONFIG_PLACE("certificates", at, "certificate", -1), f);
        all &= read_pem(from->key, &pem->key[i], CONFIG_PLACE("certificates", at, "key", -1), f);
    }
    if (l->client_ca)
        all &= read_pem(l->client_ca, &pem->client_ca,
                        CONFIG_PLACE("listeners", (int)n, "client-ca", -1), f);
    return all;
}

static void free_all(struct pem *pem)
{
    for (unsigned i = 0; i < CONFIG_LISTENER_CERTIFICATES; i++) {
        file_free(&pem->chain[i]);
        file_free(&pem->key[i]);
    }
    file_free(&pem->client_ca);
}

/* What follows "begin: " in error, otherwise NULL. */
static const char *after(const char *error, const char *begin)
{
    size_t n = begin ? strlen(begin) : 0;
    return n && !strncmp(error, begin, n) && !strncmp(error + n, ": ", 2) ? error + n + 2 : NULL;
}

/* The key whose value error begins with; NULL: none's, such as a cipher that HTTP/2 forbids. */
static const char *tls_key(const struct config *c, const char *error)
{
    return after(error, c->tls.ciphers)  ? "ciphers"
           : after(error, c->tls.suites) ? "suites"
           : after(error, c->tls.groups) ? "groups"
                                         : NULL;
}

/* error begins with the certificate that is at fault, or with client-ca, or with a value of tls. */
static void say_why(const struct config *c, unsigned n, const char *error, struct config_faults *f)
{
    const struct config_listener *l = &c->listener[n];
    for (unsigned i = 0; i < l->n_certificates; i++) {
        const struct config_certificate *one = config_certificate_find(c, l->certificate[i]);
        const char *why = after(error, one->name);
        if (!why)
            continue;
        config_fault(f, CONFIG_PLACE("certificates", (int)(one - c->certificate), NULL, -1),
                     "%s (%s, %s)", why, one->certificate, one->key);
        return;
    }
    if (l->client_ca && after(error, "client-ca"))
        config_fault(f, CONFIG_PLACE("listeners", (int)n, "client-ca", -1), "%s: %s", l->client_ca,
                     after(error, "client-ca"));
    else
        config_fault(f, CONFIG_PLACE("tls", -1, tls_key(c, error), -1), "%s", error);
}

static struct tls_context *create(const struct config *c, unsigned n, const struct pem *pem,
                                  struct config_faults *f)
{
    static const char *const alpn[] = {"h2"};
    const struct config_listener *l = &c->listener[n];
    struct tls_identity identity[CONFIG_LISTENER_CERTIFICATES];
    for (unsigned i = 0; i < l->n_certificates; i++)
        identity[i] = (struct tls_identity){
            .name = l->certificate[i],
            .chain = pem->chain[i].bytes,
            .chain_len = pem->chain[i].n,
            .key = pem->key[i].bytes,
            .key_len = pem->key[i].n,
        };
    struct tls_config config = {
        .identity = identity,
        .n_identities = l->n_certificates,
        .min_version = c->tls.min_version,
        .ciphers = c->tls.ciphers,
        .suites = c->tls.suites,
        .groups = c->tls.groups,
        .client_ca = pem->client_ca.bytes,
        .client_ca_len = pem->client_ca.n,
        .client_auth = l->client_auth,
        .tickets = c->tls.tickets,
        .ticket_lifetime = c->tls.ticket_lifetime,
        .alpn = alpn,
        .n_alpn = sizeof(alpn) / sizeof(alpn[0]),
    };
    char error[ERROR_MAX] = "";
    struct tls_context *t = tls_context_create(&config, error, sizeof(error));
    if (!t)
        say_why(c, n, error, f);
    return t;
}

struct tls_context *certificates_load(const struct config *c, unsigned n, struct config_faults *f)
{
    struct pem pem = {0};
    struct tls_context *t = read_all(c, n, &pem, f) ? create(c, n, &pem, f) : NULL;
    free_all(&pem);
    return t;
}

bool certificates_describe(const struct tls_identity_info *id, int64_t now,
                           char text[static CERTIFICATES_TEXT_MAX])
{
    char begin[32];
    char end[32];
    char *at[] = {begin, end};
    const int64_t when[] = {id->not_before, id->not_after};
    for (int i = 0; i < 2; i++) {
        struct tm tm;
        time_t t = (time_t)when[i];
        if (!gmtime_r(&t, &tm) || !strftime(at[i], sizeof(begin), "%Y-%m-%d", &tm))
            strcpy(at[i], "?");
    }
    bool expired = now > id->not_after;
    bool early = now < id->not_before;
    int64_t third = (id->not_after - id->not_before) / 3; /* of one that does not live long */
    int64_t soon_s = (int64_t)CERTIFICATES_SOON * 86400;
    bool soon = id->not_after - now < (third < soon_s ? third : soon_s);
    if (expired)
        snprintf(text, CERTIFICATES_TEXT_MAX, "%s: expired on %s; clients refuse it", id->name,
                 end);
    else if (early)
        snprintf(text, CERTIFICATES_TEXT_MAX, "%s: not valid before %s; clients refuse it",
                 id->name, begin);
    else if (soon)
        snprintf(text, CERTIFICATES_TEXT_MAX, "%s: expires on %s; renew it, then reload", id->name,
                 end);
    else
        snprintf(text, CERTIFICATES_TEXT_MAX, "%s: %s, until %s, for %.128s", id->name, id->key,
                 end, id->names[0] ? id->names : id->subject);
    return !expired && !early && !soon;
}
