/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* struct timeval */

#include "carrier.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE 10        /* seconds for each step until the connection stands */
#define UNSENT   (1 << 17) /* bytes that TCP holds before they go: choose streams late */

_Noreturn static void fail_tls(const char *what)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    fail(0, "%s: %s", what, why ? why : "the connection ended, or nothing came");
}

/* ---- TLS ---- */

static void trust(SSL_CTX *tls, const struct options *o)
{
    SSL_CTX_set_verify(tls, o->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (o->cafile && SSL_CTX_load_verify_file(tls, o->cafile) != 1)
        fail_tls(o->cafile);
    if (!o->cafile && SSL_CTX_set_default_verify_paths(tls) != 1)
        fail_tls("what the system trusts");
}

static SSL_CTX *make_context(const struct options *o)
{
    static const uint8_t alpn[] = {2, 'h', '2'};
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    /* RFC 9113 9.2 */
    if (!tls || SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_alpn_protos(tls, alpn, sizeof(alpn)) != 0)
        fail_tls("preparing TLS");
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    trust(tls, o);
    if (o->certificate && SSL_CTX_use_certificate_chain_file(tls, o->certificate) != 1)
        fail_tls(o->certificate);
    if (o->key && SSL_CTX_use_PrivateKey_file(tls, o->key, SSL_FILETYPE_PEM) != 1)
        fail_tls(o->key);
    return tls;
}

/* An address is looked for among the certificate's addresses, and no name is sent (RFC 6066 3). */
static void expect_address(SSL *ssl, const struct endpoint *e)
{
    char text[INET6_ADDRSTRLEN];
    const void *at = e->address.ss_family == AF_INET
                         ? (const void *)&((const struct sockaddr_in *)&e->address)->sin_addr
                         : (const void *)&((const struct sockaddr_in6 *)&e->address)->sin6_addr;
    if (!inet_ntop(e->address.ss_family, at, text, sizeof(text)) ||
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), text) != 1)
        fail_tls("the proxy's address");
}

static void expect_name(SSL *ssl, const char *name)
{
    if (SSL_set_tlsext_host_name(ssl, name) != 1 || SSL_set1_host(ssl, name) != 1)
        fail_tls("the proxy's name");
}

static void shake_hands(struct carrier *c, const struct options *o)
{
    const uint8_t *chosen;
    unsigned len;
    c->tls = make_context(o);
    c->ssl = SSL_new(c->tls);
    if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1)
        fail_tls("preparing TLS");
    if (o->name)
        expect_name(c->ssl, o->name);
    else
        expect_address(c->ssl, &o->proxy);
    if (SSL_connect(c->ssl) != 1)
        fail_tls("shaking hands with the proxy");
    SSL_get0_alpn_selected(c->ssl, &chosen, &len);
    if (len != 2 || memcmp(chosen, "h2", 2) != 0)
        fail(0, "the proxy does not speak h2 (ALPN)");
}

/* ---- TCP ---- */

void carrier_open(struct carrier *c, const struct options *o)
{
    struct timeval patience = {.tv_sec = PATIENCE};
    int yes = 1, unsent = UNSENT;
    c->fd = socket(o->proxy.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        fail(errno, "a socket");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(c->fd, (const struct sockaddr *)&o->proxy.address, o->proxy.len) != 0)
        fail(errno == EINPROGRESS ? ETIMEDOUT : errno, "connecting to the proxy");
    if (!o->clear)
        shake_hands(c, o);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
        fail(errno, "a socket");
}

static ssize_t outcome(ssize_t n, ssize_t none)
{
    if (n > 0)
        return n;
    if (n == 0)
        return none;
    return errno == EAGAIN || errno == EINTR ? CARRIER_WAIT : CARRIER_FAILED;
}

static ssize_t tls_outcome(struct carrier *c, int done, size_t n)
{
    if (done == 1)
        return (ssize_t)n;
    switch (SSL_get_error(c->ssl, done)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return CARRIER_WAIT;
    case SSL_ERROR_ZERO_RETURN: return CARRIER_ENDED;
    default: return CARRIER_FAILED;
    }
}

ssize_t carrier_read(struct carrier *c, void *at, size_t n)
{
    size_t done = 0;
    if (!c->ssl)
        return outcome(recv(c->fd, at, n, 0), CARRIER_ENDED);
    ERR_clear_error();
    int result = SSL_read_ex(c->ssl, at, n, &done);
    return tls_outcome(c, result, done);
}

ssize_t carrier_write(struct carrier *c, const void *at, size_t n)
{
    size_t done = 0;
    if (!c->ssl)
        return outcome(send(c->fd, at, n, MSG_NOSIGNAL), CARRIER_WAIT);
    ERR_clear_error();
    int result = SSL_write_ex(c->ssl, at, n, &done);
    return tls_outcome(c, result, done);
}

void carrier_close(struct carrier *c)
{
    if (c->ssl && SSL_is_init_finished(c->ssl))
        SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    SSL_CTX_free(c->tls);
    close(c->fd);
}
