/* SPDX-License-Identifier: BSD-3-Clause */
/* A session's way in: what TCP delivered, through TLS, to HTTP/2. */
#include <string.h>

#include "stack/session.h"

/* So much waits here before TCP is asked to keep the rest: a record is never cut off by it. */
#define WAITING_MAX (2 * TLS_RECORD_MAX)

/* And so much of it keeps no window shut, for a record, which TLS reads only when it is whole, may
 * be larger than that (RFC 8446 5.2). */
#define WINDOW_FREE (TLS_RECORD_MAX + 256 + 5)

/* Cleartext given to HTTP/2 at once. */
#define CLEAR_MAX TLS_RECORD_MAX

static struct stream *stream_of(const struct session *x)
{
    return &x->conn->tcp.stream;
}

uint32_t session_waiting(const struct session *x)
{
    if (x->phase == SESSION_CLOSING)
        return 0; /* it will not be read */
    const struct pkt *in = x->secure ? x->tls.in : x->in;
    return in ? in->total : 0;
}

static void append(struct session *x, struct pkt *view)
{
    uint32_t len = view->len;
    if (!x->in) {
        x->in = x->in_last = view;
        return;
    }
    x->in->total += len;
    if (pkt_merge(x->in_last, view))
        return;
    x->in_last->next = view;
    x->in_last = view;
}

void session_consume(struct session *x)
{
    struct stream *s = stream_of(x);
    uint32_t waits = session_waiting(x);
    uint32_t keep = x->secure ? WINDOW_FREE : 0;
    uint32_t unread = waits > keep ? waits - keep : 0;
    if (stream_unconsumed(s) > unread)
        stream_consume(s, stream_unconsumed(s) - unread);
    if ((s->bits & STREAM_HELD) && waits < WAITING_MAX)
        stream_release(s);
}

void session_arrived(struct session *x, struct pkt *view, bool end)
{
    if (x->phase == SESSION_CLOSING) {
        pkt_free(view);
        session_consume(x);
        return;
    }
    if (view && x->secure)
        tls_input(&x->tls, view);
    else if (view)
        append(x, view);
    if (end) {
        x->in_end = true;
        if (x->secure)
            tls_input_end(&x->tls);
    }
    if (session_waiting(x) >= WAITING_MAX)
        stream_hold(stream_of(x));
    session_consume(x);
    session_wants_reading(x);
}

bool session_can_read(const struct session *x)
{
    if (x->phase == SESSION_HANDSHAKE)
        return tls_readable(&x->tls);
    if (x->phase != SESSION_OPEN || x->in_told || h2_blocked(&x->h2))
        return false;
    return x->secure ? tls_readable(&x->tls) : x->in || x->in_end;
}

void session_drop_input(struct session *x)
{
    pkt_free(x->in);
    x->in = NULL;
}

static void tell_end(struct session *x, tick_t now)
{
    x->in_told = true;
    h2_input_end(&x->h2, now);
}

/* Whole views from the front of what waits, of at least CLEAR_MAX bytes together. */
static struct pkt *take_clear(struct session *x)
{
    struct pkt *head = x->in;
    struct pkt *last = head;
    uint32_t n = head->len;
    for (; n < CLEAR_MAX && last->next; n += last->len)
        last = last->next;
    x->in = last->next;
    if (x->in)
        x->in->total = head->total - n;
    last->next = NULL;
    head->total = n;
    return head;
}

static void read_clear(struct session *x, tick_t now)
{
    if (x->in)
        h2_input(&x->h2, take_clear(x), now);
    if (!x->in && x->in_end && !x->in_told)
        tell_end(x, now);
}

/* False: no memory. */
static bool learn_user(struct session *x)
{
    char name[TLS_PEER_NAME_MAX + 1];
    size_t size = strlen(tls_peer_name(&x->tls, name)) + 1;
    if (!name[0])
        return true;
    x->user = mem_alloc(x->stack->env.mem, size, 1);
    if (x->user)
        x->peer.user = memcpy(x->user, name, size);
    return x->user;
}

static void handshake_over(struct session *x, tick_t now)
{
    handshake_leave(x);
    x->peer.tls = tls_version_name(&x->tls);
    x->peer.cipher = tls_cipher_name(&x->tls);
    if (!learn_user(x) || !session_begin(x, now))
        session_abort(x, STREAM_NO_MEMORY, now);
}

void session_tls_failed(struct session *x, tick_t now)
{
    if (x->begun)
        h2_failed(&x->h2, STREAM_RESET, now);
    session_end(x, now);
}

/* Does nothing follow in TLS? In the handshake that is the end of all. */
static void tls_ended(struct session *x, tick_t now)
{
    if (x->begun)
        tell_end(x, now);
    else
        session_end(x, now);
}

static void read_tls(struct session *x, tick_t now)
{
    struct pkt *plain = NULL;
    enum tls_result result = tls_read(&x->tls, &plain, now);
    if (x->phase == SESSION_HANDSHAKE && (x->tls.flags & TLS_CONN_OPEN))
        handshake_over(x, now);
    if (x->phase == SESSION_LOST) {
        pkt_free(plain);
        return;
    }
    switch (result) {
    case TLS_DATA: h2_input(&x->h2, plain, now); break;
    case TLS_END: tls_ended(x, now); break;
    case TLS_ERROR: session_tls_failed(x, now); break;
    case TLS_AGAIN:
    case TLS_PROGRESS:
    case TLS_STARVED: break;
    }
}

void session_read(struct session *x, tick_t now)
{
    if (x->secure)
        read_tls(x, now);
    else
        read_clear(x, now);
    if (x->conn)
        session_consume(x);
}
