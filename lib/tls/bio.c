/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "tls/internal.h"

/*
 * The two ends of OpenSSL: records are read out of the views that came, and written into packets of
 * the pool, so that no buffer lies between. Never the end of a file: a transport that has ended is
 * no affair of OpenSSL's (conn.c).
 */

/* Where the next byte to send goes; NULL: no packets. */
static struct pkt *out_room(struct tls_conn *c)
{
    struct pkt *v = c->out_last;
    if (v && v->tailroom > 0 && pkt_writable(v))
        return v;
    v = c->spare;
    if (v)
        c->spare = v->next;
    else if (!(v = pkt_alloc(c->tls->pool)))
        return NULL;
    v->next = NULL;
    if (c->out)
        c->out_last->next = v;
    else
        c->out = v;
    c->out_last = v;
    return v;
}

static int bio_write(BIO *b, const char *src, size_t len, size_t *done)
{
    struct tls_conn *c = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    struct pkt *v;
    size_t at = 0;
    while (at < len && (v = out_room(c))) {
        size_t n = len - at < v->tailroom ? len - at : v->tailroom;
        memcpy(v->data + v->len, src + at, n);
        v->len += (uint32_t)n;
        v->tailroom = (uint16_t)(v->tailroom - n);
        c->out->total += (uint32_t)n;
        at += n;
    }
    *done = at;
    if (at > 0)
        return 1;
    c->starved = true;
    BIO_set_retry_write(b);
    return -1;
}

static int bio_read(BIO *b, char *dst, size_t room, size_t *done)
{
    struct tls_conn *c = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    uint32_t n = room < c->allowed ? (uint32_t)room : c->allowed;
    *done = n;
    if (n == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    pkt_copy_out(c->in, 0, dst, n);
    c->in = pkt_advance(c->in, n);
    c->allowed -= n;
    if (c->in->total == 0) {
        pkt_free(c->in);
        c->in = c->in_last = NULL;
    }
    return 1;
}

static long bio_ctrl(BIO *b, int what, long arg, void *pointer)
{
    (void)b;
    (void)arg;
    (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_bio_method(void)
{
    /* A fixed number: those that OpenSSL hands out are few, and never come back. */
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 127, "packets");
    if (!m)
        return NULL;
    BIO_meth_set_write_ex(m, bio_write);
    BIO_meth_set_read_ex(m, bio_read);
    BIO_meth_set_ctrl(m, bio_ctrl);
    return m;
}

BIO *tls_bio_new(const BIO_METHOD *method, struct tls_conn *c)
{
    BIO *b = BIO_new(method);
    if (!b)
        return NULL;
    BIO_set_data(b, c);
    BIO_set_init(b, 1);
    return b;
}

bool tls_bio_reserve(struct tls_conn *c, uint32_t n)
{
    const struct pkt *last = c->out_last;
    uint32_t have = last && pkt_writable(last) ? last->tailroom : 0;
    while (have < n) {
        struct pkt *v = pkt_alloc(c->tls->pool);
        if (!v) {
            tls_bio_unreserve(c);
            return false;
        }
        v->next = c->spare;
        c->spare = v;
        have += v->tailroom;
    }
    return true;
}

void tls_bio_unreserve(struct tls_conn *c)
{
    pkt_free(c->spare);
    c->spare = NULL;
}
