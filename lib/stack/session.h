/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_SESSION_H
#define MILLRACE_STACK_SESSION_H

/*
 * What stands between a TCP connection and a service of HTTP: TLS, where the listener has a
 * context, and HTTP/2. To TCP a session is the service of its stream; it ends before the connection
 * where that has only the other side's FIN to wait for, and after it where services of its streams
 * have yet to hear of their end.
 *
 *   session.c    life, timers, one turn of all         handshakes.c  how many, and of whom
 *   session_in.c from TCP to HTTP/2                    session_out.c from HTTP/2 to TCP
 *
 * A turn (sessions_serve) reads at most one TLS record, or as much cleartext, of a session (behind
 * the last step of a handshake, too), and then writes; so what a peer sends in one burst is
 * answered record by record. Where there is more to do the session stays in its list, and
 * stack_pending says so. Handshakes cost hundreds of times what a record costs: HANDSHAKE_STEPS of
 * all sessions are done between two calls of stack_input or stack_expire, first come first served,
 * and while that many are done stack_deadline says that it wants the next.
 *
 * Timers: one a session. In the handshake it is listener.handshake_timeout after the connection
 * opened, and resets it; then h2_deadline, which resets it where the other side does not even take
 * what was to be said at its end. It stops when the session has said its end: from there
 * on TCP's own timers do.
 *
 * Memory that a session pins (h2_cost, tls_cost, and what waits here) is in tcp.memory, like TCP's
 * own.
 */

#include "http2/conn.h"
#include "stack/conn.h"
#include "tls/conn.h"

enum session_phase {
    SESSION_HANDSHAKE,
    SESSION_OPEN,
    SESSION_CLOSING, /* it has said its end; what still arrives is thrown away */
    SESSION_LOST,    /* TCP is over, or was aborted: services are to hear of it, and no more */
};

struct session {
    struct h2_conn h2;   /* from OPEN on, see begun */
    struct tls_conn tls; /* where the listener had a context */
    struct stack *stack;
    struct conn *conn; /* NULL: LOST */
    struct listener *listener;
    struct session_settings *settings;
    const struct http_service *service;
    void (*context_release)(const void *context, uint16_t worker); /* of peer.context */
    struct http_peer peer;
    struct list reading; /* in sessions.handshakes or .reading: has input */
    struct list writing; /* in sessions.writing: may have output, or is to be looked at */
    struct timer timer;
    struct pkt *in; /* cleartext not yet read, a chain; its total is kept */
    struct pkt *in_last;
    char *user;    /* peer.user, where there is one */
    uint8_t *held; /* a record's content for which there were no packets */
    uint32_t held_len;
    uint32_t charged;  /* of tcp.memory */
    struct list place; /* in listener->waiting, from the start of a handshake to its end */
    tick_t handshake_at;
    uint16_t prefix; /* its place in listener->prefix, while it counts there */
    uint8_t phase;   /* enum session_phase */
    bool secure : 1;
    bool begun : 1;   /* h2 is there */
    bool in_end : 1;  /* TCP's other side has ended */
    bool in_told : 1; /* and HTTP/2 knows */
    bool drain : 1;   /* was shut down, or is to be as soon as it is open */
};

/* An idle one is a few of these and OpenSSL's own. */
_Static_assert(sizeof(struct session) <= 1664 - 8, "of which HTTP/2 has most");

/* session.c */
extern const struct stream_service session_service;
struct session *session_of(const struct conn *c); /* NULL: it has none, or none any more */
bool sessions_create(struct stack *s, const struct h2_settings *settings, tick_t lifetime,
                     tick_t now);
/* The connections are still there. */
void sessions_fini(struct stack *s);

/* New settings for new sessions, in two steps of which only the first can fail. */
struct sessions_change {
    struct session_settings *settings;
    struct h2_fields fields; /* where heads may be larger than before */
    bool larger;
};
/* False: no memory. */
bool sessions_prepare(struct stack *s, const struct h2_settings *settings,
                      struct sessions_change *change);
void sessions_cancel(struct stack *s, struct sessions_change *change);
void sessions_take(struct stack *s, struct sessions_change *change);

/* Listeners may have been given other contexts: requests from now on are for those. */
void sessions_see_contexts(struct stack *s);

/* One turn of those that have something to do. */
void sessions_serve(struct stack *s, tick_t now);
/* Is there any, in this turn? */
bool sessions_pending(const struct stack *s);
/* Is there a handshake that waits for the next? */
static inline bool sessions_wait(const struct stack *s)
{
    return s->sessions.steps == 0 && !list_empty(&s->sessions.handshakes);
}
void sessions_next_turn(struct stack *s);
/* TCP has sent of c, or has heard that it arrived, so that its session may have more. */
void session_sent(struct conn *c);
/* Graceful end (h2_shutdown_by); TICK_NEVER: by when settings say. */
void session_shutdown(struct session *x, tick_t by, tick_t now);
/* The same for r->max of all, from r->cursor on. */
void sessions_shutdown(struct stack *s, struct ctl_request *r, tick_t now);
/* Reset, for what was done here. */
void session_abort(struct session *x, enum stream_code code, tick_t now);
void session_wants_reading(struct session *x);
void session_wants_writing(struct session *x);
/* The handshake is over, or there is none. False: no memory. */
bool session_begin(struct session *x, tick_t now);

/* session_in.c */
/* A view that has come from TCP, taken, or NULL; end: nothing follows. */
void session_arrived(struct session *x, struct pkt *view, bool end);
bool session_can_read(const struct session *x);
/* One record, one step of a handshake, or as much cleartext. */
void session_read(struct session *x, tick_t now);
void session_drop_input(struct session *x);
/* The other side broke a rule, or we are to tell it that it will not do: the alert goes out. */
void session_tls_failed(struct session *x, tick_t now);
/* Bytes that TCP has given and that were not read yet. */
uint32_t session_waiting(const struct session *x);
/* Whatever of what TCP gave does not wait here was dealt with: its window opens again. */
void session_consume(struct session *x);

/* session_out.c */
/* Can it send something, now? */
bool session_can_write(const struct session *x);
/* A few records. */
void session_write(struct session *x, tick_t now);
/* close_notify, where there is TLS, and TCP's end. */
void session_end(struct session *x, tick_t now);

/* handshakes.c */
/* Is there room for one more from its address? Then it counts. */
bool handshake_enter(struct session *x, tick_t now);
void handshake_leave(struct session *x);

#endif
