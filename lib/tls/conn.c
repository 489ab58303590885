/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/conn.h"

#include <openssl/err.h>
#include <string.h>

#include "base/invariant.h"
#include "tls/internal.h"

#define RECORD_HEADER 5u
/* The most of a record that may be received (RFC 5246 6.2.3; RFC 8446 5.2 allows less). */
#define RECORD_MOST (RECORD_HEADER + TLS_RECORD_MAX + 2048u)
/* What every cipher allowed adds at least to the content: a tag. */
#define RECORD_LEAST_OVERHEAD (RECORD_HEADER + 16u)
/* What a write may add: the record's overhead, and an answer to a KeyUpdate before it. */
#define WRITE_OVERHEAD 160u

/* Records without content, KeyUpdate and others, each of which makes us work: so many, and one more
 * for so many bytes of content; and those of a handshake, of which a large one has a dozen. */
#define BARREN_MAX    32u
#define BARREN_BYTES  1024u
#define HANDSHAKE_MAX 256u

/* Fits one segment of the smallest usual path, with TCP's options and the record's overhead. */
#define RECORD_SMALL  1350u
#define RECORD_WARM   UINT64_C(65536) /* bytes until records are large */
#define RECORD_SILENT TICK_SEC        /* and after which they are small again */

bool tls_init(struct tls *t, struct pkt_pool *pool, struct counters *counters,
              const uint8_t seed[32], tick_t ticket_lifetime, tick_t now)
{
    *t = (struct tls){.pool = pool, .counters = counters, .now = now};
    t->bio_method = tls_bio_method();
    t->ticket_cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    if (t->bio_method && t->ticket_cipher &&
        tls_tickets_init(&t->tickets, seed, ticket_lifetime, now))
        return true;
    tls_fini(t);
    return false;
}

void tls_fini(struct tls *t)
{
    tls_tickets_fini(&t->tickets);
    BIO_meth_free(t->bio_method);
    EVP_CIPHER_free(t->ticket_cipher);
    t->bio_method = t->ticket_cipher = NULL;
}

static bool conn_ok(const struct tls_conn *c)
{
    return !c->spare && c->allowed == 0 && (!c->in || (pkt_ok(c->in) && c->in->total > 0)) &&
           (!c->out || (pkt_ok(c->out) && c->out->total > 0)) && !c->in == !c->in_last &&
           !c->out == !c->out_last;
}

/* OpenSSL judges a call by the errors that it finds afterwards, whoever has left them. Looking
 * costs less than clearing. */
static void forget_errors(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

/* ---- beginning and end ---- */

/* Fatal alerts, sent and received. */
static void on_info(const SSL *ssl, int where, int value)
{
    struct tls_conn *c = SSL_get_app_data(ssl);
    if (!(where & SSL_CB_ALERT) || value >> 8 != SSL3_AL_FATAL)
        return;
    c->alert = (uint8_t)value;
    counter_add(c->tls->counters,
                where & SSL_CB_READ ? COUNTER_TLS_ALERTS_RX : COUNTER_TLS_ALERTS_TX, 1);
}

static bool begin(struct tls_conn *c, struct tls *t, struct tls_context *context, tick_t now)
{
    *c = (struct tls_conn){.tls = t, .context = context};
    t->now = now;
    SSL *ssl = tls_context_ssl(context);
    BIO *bio = tls_bio_new(t->bio_method, c);
    if (!ssl || !bio || SSL_set_app_data(ssl, c) != 1) {
        SSL_free(ssl);
        BIO_free(bio);
        ERR_clear_error();
        return false;
    }
    SSL_set_bio(ssl, bio, bio);
    SSL_set_info_callback(ssl, on_info);
    c->ssl = ssl;
    tls_context_hold(context);
    return true;
}

bool tls_accept(struct tls_conn *c, struct tls *t, struct tls_context *context, tick_t now)
{
    if (!begin(c, t, context, now))
        return false;
    SSL_set_accept_state(c->ssl);
    return true;
}

static void set_session(SSL *ssl, const uint8_t *der, size_t len)
{
    SSL_SESSION *session = d2i_SSL_SESSION(NULL, &der, (long)len);
    if (session)
        SSL_set_session(ssl, session);
    SSL_SESSION_free(session);
}

static bool set_name(SSL *ssl, const char *name)
{
    /* RFC 6066 3: an address is no name of a host. */
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1)
        return true;
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

bool tls_connect(struct tls_conn *c, struct tls *t, struct tls_context *context, const char *name,
                 const uint8_t *session, size_t session_len, tick_t now)
{
    if (!begin(c, t, context, now))
        return false;
    c->flags = TLS_CONN_CLIENT;
    c->due = true;
    SSL_set_connect_state(c->ssl);
    bool ok = !name || set_name(c->ssl, name);
    /* A session that cannot be used is not worth a failure. */
    if (ok && session)
        set_session(c->ssl, session, session_len);
    ERR_clear_error();
    if (!ok)
        tls_conn_fini(c);
    return ok;
}

void tls_conn_fini(struct tls_conn *c)
{
    SSL_free(c->ssl);
    pkt_free(c->in);
    pkt_free(c->out);
    tls_context_release(c->context);
    *c = (struct tls_conn){.flags = c->flags};
}

/* ---- input ---- */

void tls_input(struct tls_conn *c, struct pkt *p)
{
    if (p->total == 0 || c->flags & (TLS_CONN_FAILED | TLS_CONN_IN_END)) {
        pkt_free(p);
        return;
    }
    if (c->in) {
        c->in->total += p->total;
        c->in_last->next = p;
    } else {
        c->in = p;
    }
    while (p->next)
        p = p->next;
    c->in_last = p;
    invariant(conn_ok(c));
}

void tls_input_end(struct tls_conn *c)
{
    c->transport_end = true;
}

/*
 * Bytes of the record that begins there, once all of them are there, so that no part of one waits
 * in OpenSSL, which would keep a buffer for it; 0: not yet. What cannot be a record is all that
 * there is: let OpenSSL say so. *whole: it is one.
 */
static uint32_t record_at(const struct tls_conn *c, uint32_t at, uint8_t *type, bool *whole)
{
    uint8_t h[RECORD_HEADER];
    if (!c->in || c->in->total - at < sizeof(h))
        return 0;
    pkt_copy_out(c->in, at, h, sizeof(h));
    uint32_t len = RECORD_HEADER + ((uint32_t)h[3] << 8 | h[4]);
    *type = h[0];
    *whole = h[0] >= SSL3_RT_CHANGE_CIPHER_SPEC && h[0] <= SSL3_RT_APPLICATION_DATA &&
             h[1] == SSL3_VERSION_MAJOR && len <= RECORD_MOST;
    if (!*whole)
        return c->in->total - at;
    return len <= c->in->total - at ? len : 0;
}

/* Bytes of the first record; of the handshake's ChangeCipherSpec with the one behind it, where that
 * is there: it is no step of its own, and in 1.3 nothing at all (RFC 8446 D.4). */
static uint32_t next_record(const struct tls_conn *c, bool *whole)
{
    uint8_t type;
    uint32_t len = record_at(c, 0, &type, whole);
    if (len == 0 || !*whole || type != SSL3_RT_CHANGE_CIPHER_SPEC || c->flags & TLS_CONN_OPEN)
        return len;
    bool good;
    uint32_t next = record_at(c, len, &type, &good);
    return next > 0 && good ? len + next : len;
}

bool tls_readable(const struct tls_conn *c)
{
    bool whole;
    if (c->flags & (TLS_CONN_FAILED | TLS_CONN_IN_END | TLS_CONN_TRUNCATED))
        return false;
    return c->due || c->transport_end || next_record(c, &whole) > 0;
}

/* Nothing of it is read any more. */
static void stop_reading(struct tls_conn *c, enum tls_conn_flag why)
{
    c->flags = (uint16_t)(c->flags | why);
    if ((c->flags & (TLS_CONN_OPEN | TLS_CONN_BEGUN)) == TLS_CONN_BEGUN)
        counter_add(c->tls->counters, COUNTER_TLS_FAILED, 1);
    pkt_free(c->in);
    c->in = c->in_last = NULL;
}

static enum tls_result fail(struct tls_conn *c)
{
    ERR_clear_error();
    stop_reading(c, TLS_CONN_FAILED);
    return TLS_ERROR;
}

/* OpenSSL got no further. */
static enum tls_result stopped(struct tls_conn *c, int result)
{
    int why = SSL_get_error(c->ssl, result);
    ERR_clear_error();
    switch (why) {
    case SSL_ERROR_WANT_READ: return TLS_PROGRESS;
    case SSL_ERROR_WANT_WRITE: c->due = true; return TLS_STARVED;
    case SSL_ERROR_ZERO_RETURN: stop_reading(c, TLS_CONN_IN_END); return TLS_END;
    default: return fail(c);
    }
}

/* The transport has ended, and there is no record any more. */
static enum tls_result cut_off(struct tls_conn *c)
{
    if (c->flags & TLS_CONN_TRUNCATED)
        return TLS_END;
    stop_reading(c, TLS_CONN_TRUNCATED);
    if (c->flags & TLS_CONN_OPEN)
        counter_add(c->tls->counters, COUNTER_TLS_TRUNCATED, 1);
    return TLS_END;
}

/*
 * The ephemeral keys have done their work, but OpenSSL would keep them as long as the connection: a
 * secret that ought to be gone, and 3 KB where the group is P-256. A key that is given a type loses
 * what it was; its shell is OpenSSL's to free.
 */
static void drop_key(EVP_PKEY *key)
{
    EVP_PKEY_set_type(key, EVP_PKEY_X25519);
    EVP_PKEY_free(key);
}

static void drop_exchange(SSL *ssl)
{
    EVP_PKEY *key;
    if (SSL_get_tmp_key(ssl, &key))
        drop_key(key);
    if (SSL_get_peer_tmp_key(ssl, &key))
        drop_key(key);
}

static void opened(struct tls_conn *c)
{
    c->flags |= TLS_CONN_OPEN;
    c->barren = 0;
    drop_exchange(c->ssl);
    bool resumed = SSL_session_reused(c->ssl);
    if (resumed)
        c->flags |= TLS_CONN_RESUMED;
    counter_add(c->tls->counters, resumed ? COUNTER_TLS_RESUMED : COUNTER_TLS_FULL, 1);
}

static void begun(struct tls_conn *c)
{
    c->flags |= TLS_CONN_BEGUN;
    if (!(c->flags & TLS_CONN_CLIENT))
        counter_add(c->tls->counters, COUNTER_TLS_ACCEPTED, 1);
}

/*
 * Nothing came of a record but work. A client's KeyUpdate that has come in part would keep us from
 * writing until the rest has: nobody in earnest cuts five bytes.
 */
static enum tls_result barren(struct tls_conn *c, int result)
{
    bool open = c->flags & TLS_CONN_OPEN;
    enum tls_result r = stopped(c, result);
    if (r != TLS_PROGRESS)
        return r;
    bool cut = open && !(c->flags & TLS_CONN_CLIENT) && SSL_in_init(c->ssl);
    c->barren += BARREN_BYTES;
    bool many = c->barren > (open ? BARREN_MAX : HANDSHAKE_MAX) * BARREN_BYTES;
    return cut || many ? fail(c) : r;
}

static enum tls_result shake_hands(struct tls_conn *c)
{
    if (!(c->flags & TLS_CONN_BEGUN))
        begun(c);
    int result = SSL_do_handshake(c->ssl);
    if (result != 1)
        return barren(c, result);
    opened(c);
    return TLS_PROGRESS;
}

/* As much of a record's content as p has room for. Returns how much. */
static uint32_t read_into(SSL *ssl, struct pkt *p, int *result)
{
    uint32_t got = 0;
    pkt_for_each (v, p) {
        size_t n;
        if (got > 0 && SSL_pending(ssl) == 0)
            break;
        *result = SSL_read_ex(ssl, v->data, v->len, &n);
        if (*result != 1)
            break;
        got += (uint32_t)n;
    }
    return got;
}

static enum tls_result read_content(struct tls_conn *c, uint32_t record, struct pkt **plain)
{
    uint32_t most = record > RECORD_LEAST_OVERHEAD ? record - RECORD_LEAST_OVERHEAD : 1;
    struct pkt *p = pkt_alloc_len(c->tls->pool, most < TLS_RECORD_MAX ? most : TLS_RECORD_MAX);
    if (!p) {
        c->due = true;
        return TLS_STARVED;
    }
    int result;
    uint32_t got = read_into(c->ssl, p, &result);
    if (got == 0) {
        pkt_free(p);
        return barren(c, result);
    }
    assert(SSL_pending(c->ssl) == 0 && "a record's content is shorter than the record");
    c->barren -= got < c->barren ? got : c->barren;
    pkt_trim(p, got);
    *plain = p;
    counter_add(c->tls->counters, COUNTER_TLS_RX_RECORDS, 1);
    counter_add(c->tls->counters, COUNTER_TLS_RX_BYTES, got);
    return TLS_DATA;
}

/* One record, or what waits to be sent. */
static enum tls_result step(struct tls_conn *c, uint32_t record, struct pkt **plain)
{
    forget_errors();
    c->due = c->starved = false;
    c->allowed = record;
    enum tls_result r = c->flags & TLS_CONN_OPEN ? read_content(c, record, plain) : shake_hands(c);
    c->allowed = 0;
    return r;
}

enum tls_result tls_read(struct tls_conn *c, struct pkt **plain, tick_t now)
{
    bool whole = true;
    *plain = NULL;
    c->tls->now = now;
    if (c->flags & TLS_CONN_FAILED)
        return TLS_ERROR;
    if (c->flags & TLS_CONN_IN_END)
        return TLS_END;
    uint32_t record = next_record(c, &whole);
    if (record == 0 && !c->due)
        return c->transport_end ? cut_off(c) : TLS_AGAIN;
    enum tls_result r = step(c, record, plain);
    /* OpenSSL would also take the hello of SSL 2 (RFC 9113 9.2: TLS 1.2 or later). */
    if (!whole && r != TLS_ERROR && r != TLS_STARVED)
        r = fail(c);
    invariant(conn_ok(c));
    return r;
}

/* ---- output ---- */

static bool silent(const struct tls_conn *c, tick_t now)
{
    return tick_since(now, c->written_at) > RECORD_SILENT;
}

uint32_t tls_record_size(const struct tls_conn *c, tick_t now)
{
    return c->written < RECORD_WARM || silent(c, now) ? RECORD_SMALL : TLS_RECORD_MAX;
}

static void note_written(struct tls_conn *c, uint32_t len, tick_t now)
{
    c->written = (silent(c, now) ? 0 : c->written) + len;
    c->written_at = now;
    counter_add(c->tls->counters, COUNTER_TLS_TX_RECORDS, 1);
    counter_add(c->tls->counters, COUNTER_TLS_TX_BYTES, len);
}

bool tls_write(struct tls_conn *c, const uint8_t *bytes, uint32_t len, tick_t now)
{
    assert(c->flags & TLS_CONN_OPEN && !(c->flags & TLS_CONN_OUT_END));
    assert(len > 0 && len <= TLS_RECORD_MAX && "one record");
    if (c->flags & TLS_CONN_FAILED)
        return true;
    if (!tls_bio_reserve(c, len + WRITE_OVERHEAD))
        return false;
    size_t written;
    forget_errors();
    c->tls->now = now;
    int result = SSL_write_ex(c->ssl, bytes, len, &written);
    tls_bio_unreserve(c);
    if (result == 1) {
        note_written(c, len, now);
        invariant(conn_ok(c));
        return true;
    }
    enum tls_result r = stopped(c, result);
    assert(r != TLS_STARVED && "room was put by");
    return r != TLS_PROGRESS; /* that is amid a message of the handshake */
}

bool tls_end(struct tls_conn *c, tick_t now)
{
    if (c->flags & TLS_CONN_OUT_END)
        return true;
    if (c->flags & TLS_CONN_OPEN && !(c->flags & TLS_CONN_FAILED)) {
        if (!tls_bio_reserve(c, WRITE_OVERHEAD))
            return false;
        c->tls->now = now;
        SSL_shutdown(c->ssl);
        ERR_clear_error();
        tls_bio_unreserve(c);
    }
    c->flags |= TLS_CONN_OUT_END;
    invariant(conn_ok(c));
    return true;
}

struct pkt *tls_take(struct tls_conn *c)
{
    struct pkt *p = c->out;
    c->out = c->out_last = NULL;
    return p;
}

/* ---- what is known of it ---- */

const char *tls_version_name(const struct tls_conn *c)
{
    return SSL_get_version(c->ssl);
}

const char *tls_cipher_name(const struct tls_conn *c)
{
    return SSL_get_cipher_name(c->ssl);
}

const char *tls_group_name(const struct tls_conn *c)
{
    SSL *ssl = c->ssl;
    const char *name = SSL_group_to_name(ssl, (int)SSL_get_negotiated_group(ssl));
    return name ? name : "";
}

const char *tls_server_name(const struct tls_conn *c)
{
    const char *name = SSL_get_servername(c->ssl, TLSEXT_NAMETYPE_host_name);
    return name ? name : "";
}

const char *tls_peer_subject(const struct tls_conn *c, char *buf, size_t size)
{
    buf[0] = 0;
    X509 *cert = SSL_get1_peer_certificate(c->ssl);
    if (cert)
        tls_name_text(X509_get_subject_name(cert), buf, size);
    X509_free(cert);
    return buf;
}

size_t tls_session(const struct tls_conn *c, uint8_t *der, size_t room)
{
    SSL_SESSION *session = SSL_get_session(c->ssl);
    if (!session || !SSL_SESSION_is_resumable(session))
        return 0;
    int len = i2d_SSL_SESSION(session, NULL);
    if (len <= 0 || (size_t)len > room)
        return 0;
    return (size_t)i2d_SSL_SESSION(session, &der);
}

uint32_t tls_cost(const struct tls_conn *c)
{
    return pkt_cost(c->in) + pkt_cost(c->out);
}
