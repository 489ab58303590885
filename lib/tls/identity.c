/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/identity.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "tls/internal.h"
#include "wire/addr.h"

/* As strong as RSA with 2048 bits (NIST SP 800-57). */
#define STRENGTH_MIN 112

static const char no_memory[] = "no memory";

int identity_no_password(char *buf, int size, int writing, void *asked)
{
    (void)buf;
    (void)size;
    (void)writing;
    if (asked)
        *(bool *)asked = true;
    return -1;
}

const char *identity_error(void)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return why ? why : "refused";
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool identity_fold(const char *name, size_t len, char *dst, size_t room)
{
    if (len > 0 && name[len - 1] == '.')
        len--;
    if (len == 0 || len >= room)
        return false;
    for (size_t i = 0; i < len; i++)
        dst[i] = lower(name[i]);
    dst[len] = 0;
    return true;
}

/* ---- PEM ---- */

static const char *load_chain(struct identity *id, const struct tls_identity *from)
{
    BIO *b = BIO_new_mem_buf(from->chain, (int)from->chain_len);
    X509 *above;
    bool ok = true;
    id->chain = sk_X509_new_null();
    id->cert = PEM_read_bio_X509(b, NULL, identity_no_password, NULL);
    while (ok && id->cert && id->chain &&
           (above = PEM_read_bio_X509(b, NULL, identity_no_password, NULL))) {
        ok = sk_X509_push(id->chain, above) > 0;
        if (!ok)
            X509_free(above);
    }
    bool all = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    BIO_free(b);
    ERR_clear_error();
    if (!id->chain || !ok)
        return no_memory;
    if (!id->cert)
        return all ? "no certificate in it" : "a certificate that is broken";
    return all ? NULL : "a certificate of its chain is broken";
}

static const char *load_key(struct identity *id, const struct tls_identity *from)
{
    bool asked = false;
    BIO *b = BIO_new_mem_buf(from->key, (int)from->key_len);
    id->key = PEM_read_bio_PrivateKey(b, NULL, identity_no_password, &asked);
    BIO_free(b);
    ERR_clear_error();
    if (id->key)
        return NULL;
    return asked ? "the private key is encrypted" : "no private key in it that can be read";
}

static const char *check_key(struct identity *id)
{
    switch (EVP_PKEY_get_base_id(id->key)) {
    case EVP_PKEY_RSA: id->kind = IDENTITY_RSA; break;
    case EVP_PKEY_RSA_PSS: id->kind = IDENTITY_RSA_PSS; break;
    case EVP_PKEY_EC: id->kind = IDENTITY_EC; break;
    case EVP_PKEY_ED25519:
    case EVP_PKEY_ED448: id->kind = IDENTITY_EDWARDS; break;
    default: return "a kind of key that TLS does not know";
    }
    bool match = X509_check_private_key(id->cert, id->key) == 1;
    ERR_clear_error();
    if (!match)
        return "the private key is not that of the certificate";
    return EVP_PKEY_get_security_bits(id->key) < STRENGTH_MIN ? "the key is too weak" : NULL;
}

/* ---- names ---- */

static bool add_dns(struct identity *id, const ASN1_STRING *s)
{
    char folded[256];
    const char *text = (const char *)ASN1_STRING_get0_data(s);
    size_t len = (size_t)ASN1_STRING_length(s);
    if (memchr(text, 0, len) || !identity_fold(text, len, folded, sizeof(folded)))
        return true; /* no host can ask for it */
    id->name[id->n_names] = OPENSSL_strdup(folded);
    return id->name[id->n_names] && ++id->n_names > 0;
}

static void print_ip(BIO *out, const ASN1_STRING *s)
{
    char text[IP_ADDR_TEXT];
    struct ip_addr a;
    const uint8_t *bytes = ASN1_STRING_get0_data(s);
    if (ASN1_STRING_length(s) == 4)
        a = ip_from_v4(load_be32(bytes));
    else if (ASN1_STRING_length(s) == sizeof(a.b))
        memcpy(a.b, bytes, sizeof(a.b));
    else
        return;
    ip_format(&a, text);
    BIO_printf(out, "%s%s", BIO_pending(out) > 0 ? "," : "", text);
}

static bool load_names(struct identity *id, BIO *out)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(id->cert, NID_subject_alt_name, NULL, NULL);
    int n = all ? sk_GENERAL_NAME_num(all) : 0;
    bool ok = true;
    if (n > 0)
        ok = (id->name = OPENSSL_zalloc((size_t)n * sizeof(*id->name))) != NULL;
    for (int i = 0; ok && i < n; i++) {
        const GENERAL_NAME *g = sk_GENERAL_NAME_value(all, i);
        if (g->type == GEN_IPADD)
            print_ip(out, g->d.iPAddress);
        if (g->type != GEN_DNS)
            continue;
        unsigned before = id->n_names;
        ok = add_dns(id, g->d.dNSName);
        if (id->n_names > before)
            BIO_printf(out, "%s%s", BIO_pending(out) > 0 ? "," : "", id->name[before]);
    }
    GENERAL_NAMES_free(all);
    ERR_clear_error();
    return ok;
}

/* ---- what is said of it ---- */

/* What was printed, as a string of its own. NULL: no memory. */
static char *printed(BIO *b)
{
    char *text;
    long len = BIO_get_mem_data(b, &text);
    return len > 0 ? OPENSSL_strndup(text, (size_t)len) : OPENSSL_strdup("");
}

static bool print_name(BIO *b, const X509_NAME *name)
{
    return b && X509_NAME_print_ex(b, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0;
}

void tls_name_text(const X509_NAME *name, char *buf, size_t size)
{
    BIO *b = BIO_new(BIO_s_mem());
    int n = print_name(b, name) ? BIO_read(b, buf, (int)size - 1) : 0;
    buf[n > 0 ? n : 0] = 0;
    BIO_free(b);
    ERR_clear_error();
}

static int64_t unix_time(const ASN1_TIME *t)
{
    int days = 0;
    int seconds = 0;
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    if (epoch)
        ASN1_TIME_diff(&days, &seconds, epoch, t);
    ASN1_TIME_free(epoch);
    return (int64_t)days * 86400 + seconds;
}

static void print_curve(BIO *b, const EVP_PKEY *key)
{
    static const char *const curve[][2] = {
        {"prime256v1", "P-256"}, {"secp384r1", "P-384"}, {"secp521r1", "P-521"}};
    char name[64] = "";
    EVP_PKEY_get_group_name(key, name, sizeof(name), NULL);
    const char *known = name;
    for (size_t i = 0; i < sizeof(curve) / sizeof(curve[0]); i++) {
        if (strcmp(name, curve[i][0]) == 0)
            known = curve[i][1];
    }
    BIO_printf(b, "EC %s", known);
}

static void print_key(BIO *b, const struct identity *id)
{
    int bits = EVP_PKEY_get_bits(id->key);
    switch (id->kind) {
    case IDENTITY_RSA: BIO_printf(b, "RSA %d", bits); break;
    case IDENTITY_RSA_PSS: BIO_printf(b, "RSA-PSS %d", bits); break;
    case IDENTITY_EC: print_curve(b, id->key); break;
    default:
        BIO_puts(b, EVP_PKEY_get_base_id(id->key) == EVP_PKEY_ED448 ? "Ed448" : "Ed25519");
        break;
    }
}

static bool fingerprint(struct identity *id)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len;
    if (X509_digest(id->cert, EVP_sha256(), digest, &len) != 1)
        return false;
    for (unsigned i = 0; i < 32; i++)
        snprintf(&id->info.fingerprint[2 * i], 3, "%02x", digest[i]);
    return true;
}

static bool describe(struct identity *id, const char *name, BIO *b)
{
    struct tls_identity_info *info = &id->info;
    info->name = OPENSSL_strdup(name);
    info->not_before = unix_time(X509_get0_notBefore(id->cert));
    info->not_after = unix_time(X509_get0_notAfter(id->cert));
    if (!load_names(id, b) || !(info->names = printed(b)))
        return false;
    BIO_reset(b);
    if (!print_name(b, X509_get_subject_name(id->cert)) || !(info->subject = printed(b)))
        return false;
    BIO_reset(b);
    print_key(b, id);
    info->key = printed(b);
    return info->name && info->key && fingerprint(id);
}

const char *identity_load(struct identity *id, const struct tls_identity *from)
{
    *id = (struct identity){.cert = NULL};
    const char *why = load_chain(id, from);
    if (!why)
        why = load_key(id, from);
    if (!why)
        why = check_key(id);
    if (why)
        return why;
    BIO *b = BIO_new(BIO_s_mem());
    if (!b || !describe(id, from->name, b))
        why = no_memory;
    BIO_free(b);
    return why;
}

void identity_fini(struct identity *id)
{
    for (unsigned i = 0; i < id->n_names; i++)
        OPENSSL_free(id->name[i]);
    OPENSSL_free(id->name);
    OPENSSL_free((void *)(uintptr_t)id->info.name);
    OPENSSL_free((void *)(uintptr_t)id->info.subject);
    OPENSSL_free((void *)(uintptr_t)id->info.names);
    OPENSSL_free((void *)(uintptr_t)id->info.key);
    X509_free(id->cert);
    EVP_PKEY_free(id->key);
    sk_X509_pop_free(id->chain, X509_free);
}
