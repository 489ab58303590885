/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/cert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define DAYS_DEFAULT  365
#define DAYS_MAX      36500
#define RSA_BITS      2048
#define SERIAL_BYTES  16   /* RFC 5280 4.1.2.2: at most 20 */
#define BACKDATED     3600 /* seconds: clocks differ */
#define NAME_MAX_HOST 253

static const char help[] =
    "millrace cert --out DIR: a self-signed certificate and its key, for a first run\n"
    "\n"
    "  --out DIR    where " CERT_FILE " and " CERT_KEY_FILE " go; both are new\n"
    "  --name HOST  a host's name or IP address that it is for; may be given again\n"
    "               (localhost, 127.0.0.1 and ::1)\n"
    "  --days N     how long it is good for (365)\n"
    "  --rsa        a key for RSA of 2048 bits, in place of ECDSA on P-256\n";

__attribute__((format(printf, 2, 3))) static bool refuse(char why[static CERT_WHY_MAX],
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, CERT_WHY_MAX, format, args);
    va_end(args);
    return false;
}

static bool openssl_refuses(char why[static CERT_WHY_MAX])
{
    char text[256];
    ERR_error_string_n(ERR_peek_last_error(), text, sizeof(text));
    ERR_clear_error();
    return refuse(why, "OpenSSL: %s", text);
}

/* ---- names ---- */

static bool is_address(const char *name)
{
    struct in6_addr a;
    return inet_pton(AF_INET, name, &a) == 1 || inet_pton(AF_INET6, name, &a) == 1;
}

/* Letters, digits, - and dots, and one * in front: nothing that could mean something more to the
 * list that the names are put in. */
static bool is_host(const char *name)
{
    const char *from = strncmp(name, "*.", 2) ? name : name + 2;
    size_t n = strspn(from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
    return n > 0 && !from[n] && from[0] != '.' && from[0] != '-' && strlen(name) <= NAME_MAX_HOST;
}

/* "DNS:a,IP:::1", to be freed; NULL with the reason. */
static char *alternative_names(const struct cert_options *o, char why[static CERT_WHY_MAX])
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        refuse(why, "out of memory");
        return NULL;
    }
    for (unsigned i = 0; i < o->n_names; i++) {
        bool address = is_address(o->name[i]);
        if (!address && !is_host(o->name[i])) {
            refuse(why, "'%.80s' is neither a host's name nor an IP address", o->name[i]);
            fclose(out);
            free(text);
            return NULL;
        }
        fprintf(out, "%s%s:%s", i ? "," : "", address ? "IP" : "DNS", o->name[i]);
    }
    fclose(out);
    return text;
}

/* ---- certificate ---- */

static EVP_PKEY *make_key(bool rsa)
{
    return rsa ? EVP_RSA_gen(RSA_BITS) : EVP_EC_gen("P-256");
}

static bool add_extension(X509 *x, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool good = e && X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
    return good;
}

/* It may sign itself and nothing else. */
static bool add_extensions(X509 *x, const char *names)
{
    return add_extension(x, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(x, NID_key_usage, "critical,digitalSignature") &&
           add_extension(x, NID_ext_key_usage, "serverAuth") &&
           add_extension(x, NID_subject_key_identifier, "hash") &&
           add_extension(x, NID_subject_alt_name, names);
}

static bool set_serial(X509 *x)
{
    uint8_t bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] = (uint8_t)((bytes[0] & 0x7f) | 0x40); /* positive, and of one length */
    BIGNUM *n = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool good = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
    BN_free(n);
    return good;
}

static bool set_subject(X509 *x, const char *name)
{
    X509_NAME *subject = X509_get_subject_name(x);
    char common[65]; /* RFC 5280 A.1: ub-common-name */
    snprintf(common, sizeof(common), "%s", name);
    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)common,
                                      -1, -1, 0) &&
           X509_set_issuer_name(x, subject);
}

static X509 *make_certificate(const struct cert_options *o, const char *names, EVP_PKEY *key)
{
    X509 *x = X509_new();
    if (x && X509_set_version(x, X509_VERSION_3) && set_serial(x) && set_subject(x, o->name[0]) &&
        X509_gmtime_adj(X509_getm_notBefore(x), -BACKDATED) &&
        X509_time_adj_ex(X509_getm_notAfter(x), (int)o->days, 0, NULL) && X509_set_pubkey(x, key) &&
        add_extensions(x, names) && X509_sign(x, key, EVP_sha256()))
        return x;
    X509_free(x);
    return NULL;
}

/* ---- files ---- */

static bool path_of(const struct cert_options *o, const char *name, char path[static PATH_MAX],
                    char why[static CERT_WHY_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s", o->directory, name) < PATH_MAX)
        return true;
    return refuse(why, "that directory's path is too long");
}

/* NULL, with the reason: it is there already, for one. */
static FILE *make_file(const char *path, mode_t mode, char why[static CERT_WHY_MAX])
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out)
        return out;
    refuse(why, "%.400s: %s", path,
           errno == EEXIST ? "is there already, and is left alone" : strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    return NULL;
}

/* written: what was written to out is good so far. */
static bool finish_file(FILE *out, bool written, const char *path, char why[static CERT_WHY_MAX])
{
    written = written && fflush(out) == 0 && !ferror(out);
    if (fclose(out) == 0 && written)
        return true;
    unlink(path);
    return refuse(why, "%.400s: cannot be written", path);
}

static bool write_files(const struct cert_options *o, X509 *x, EVP_PKEY *key,
                        char why[static CERT_WHY_MAX])
{
    char key_path[PATH_MAX];
    char path[PATH_MAX];
    if (!path_of(o, CERT_KEY_FILE, key_path, why) || !path_of(o, CERT_FILE, path, why))
        return false;
    FILE *out = make_file(key_path, 0600, why);
    if (!out ||
        !finish_file(out, PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL), key_path, why))
        return false;
    out = make_file(path, 0644, why);
    if (out && finish_file(out, PEM_write_X509(out, x), path, why))
        return true;
    unlink(key_path);
    return false;
}

static bool make_and_write(const struct cert_options *o, char why[static CERT_WHY_MAX])
{
    char *names = alternative_names(o, why);
    if (!names)
        return false;
    EVP_PKEY *key = make_key(o->rsa);
    X509 *x = key ? make_certificate(o, names, key) : NULL;
    bool good = x ? write_files(o, x, key, why) : openssl_refuses(why);
    X509_free(x);
    EVP_PKEY_free(key);
    free(names);
    return good;
}

/* Whatever is missing of path, as mkdir -p does. */
static bool make_directory(const char *path, char why[static CERT_WHY_MAX])
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
        return refuse(why, "that directory's path is too long");
    char *end = part;
    do {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char next = *end;
        *end = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return refuse(why, "%.400s: %s", part, strerror(errno));
        *end = next;
    } while (*end);
    return true;
}

bool cert_make(const struct cert_options *o, char why[static CERT_WHY_MAX])
{
    struct cert_options with = *o;
    if (with.n_names == 0) {
        with.name[with.n_names++] = "localhost";
        with.name[with.n_names++] = "127.0.0.1";
        with.name[with.n_names++] = "::1";
    }
    return make_directory(o->directory, why) && make_and_write(&with, why);
}

/* ---- command ---- */

static void say_what_to_write(const char *directory)
{
    char path[PATH_MAX];
    if (!realpath(directory, path))
        snprintf(path, sizeof(path), "%s", directory);
    printf("%s/" CERT_FILE " and its key, " CERT_KEY_FILE ", are made. In the configuration:\n\n"
           "certificates:\n"
           "  - name: own\n"
           "    certificate: %s/" CERT_FILE "\n"
           "    key: %s/" CERT_KEY_FILE "\n"
           "listeners:\n"
           "  - name: web\n"
           "    protocol: http2\n"
           "    port: 443\n"
           "    service: origin\n"
           "    origin: site\n"
           "    certificates: [own]\n"
           "origins:\n"
           "  - name: site\n"
           "    directory: /srv/www\n\n"
           "Nobody vouches for it: clients have to be told to trust it, as with curl --cacert.\n",
           path, path, path);
}

static bool parse_days(const char *text, unsigned *days)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    *days = (unsigned)n;
    return !*end && end != text && errno == 0 && n >= 1 && n <= DAYS_MAX;
}

/* What the command line asks for; -1: go on. */
static int parse(int argc, char **argv, struct cert_options *o)
{
    static const struct option table[] = {
        {"out", required_argument, NULL, 'o'},  {"name", required_argument, NULL, 'n'},
        {"days", required_argument, NULL, 'd'}, {"rsa", no_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        switch (option) {
        case 'o': o->directory = optarg; break;
        case 'r': o->rsa = true; break;
        case 'h': fputs(help, stdout); return 0;
        case 'd':
            if (parse_days(optarg, &o->days))
                break;
            fprintf(stderr, "millrace cert: --days takes 1 to %d\n", DAYS_MAX);
            return 2;
        case 'n':
            if (o->n_names < CERT_NAMES_MAX) {
                o->name[o->n_names++] = optarg;
                break;
            }
            fprintf(stderr, "millrace cert: more than %d names\n", CERT_NAMES_MAX);
            return 2;
        default: fputs("millrace cert --help lists the options\n", stderr); return 2;
        }
    }
    if (o->directory && optind == argc)
        return -1;
    fputs(o->directory ? "millrace cert: takes options only\n"
                       : "millrace cert: --out says where the files go\n",
          stderr);
    return 2;
}

int cert_main(int argc, char **argv)
{
    struct cert_options o = {.days = DAYS_DEFAULT};
    char why[CERT_WHY_MAX];
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
    if (!cert_make(&o, why)) {
        fprintf(stderr, "millrace cert: %s\n", why);
        return 1;
    }
    say_what_to_write(o.directory);
    return 0;
}
