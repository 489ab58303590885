/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_TUNNEL_H
#define MILLRACE_SERVICE_TUNNEL_H

/*
 * What the files of the service `connect` share and nobody else sees.
 *
 *   connect.c        the worker's, a tunnel's life, its timer, who looks
 *   connect_head.c   the request: what it asks for, who asks (407), its answer
 *   connect_login.c  Basic, and passwords that were right a moment ago
 *   connect_search.c addresses, and which of them answers first (RFC 8305)
 *   connect_relay.c  bytes each way, and the ends
 *
 * Timers: one a tunnel, for the first of
 *   begun + connect_timeout   until the target is connected: the tunnel fails
 *   search.next_at            the next address is dialled
 *   idle                      no byte for idle_timeout, with one direction ended for
 *                             half_open_timeout: both sides are reset. Put off when it fires, not
 *                             when bytes pass
 *   begun + lifetime          the same
 *   resume_at                 the user's bytes a second allow more
 */

#include <assert.h>

#include "base/siphash.h"
#include "base/wheel.h"
#include "service/connect.h"

#define TUNNEL_LISTENER_MAX 32u /* of a listener's name, in the log */

#define CHECKS 1024u /* passwords that are being looked at */
#define LOGINS 1024u /* passwords remembered by a worker */

/* One that was right. */
struct login {
    uint64_t hash[2]; /* of the credentials, the user and the password; 0, 0: none */
    tick_t until;
};

/* One that is being looked at, and all who wait for that: a client that opens many tunnels at once
 * shows the same password with each. */
struct check {
    struct list place;   /* in connect.checks */
    struct list waiting; /* tunnels */
    uint64_t hash[2];
};

struct connect {
    struct connect_env env;
    struct http_env *http; /* the worker's, known from the first request on */
    struct slab *tunnels;
    struct slab *checking;
    struct list checks; /* those under way, the oldest first */
    struct wheel wheel;
    tick_t now; /* of the last call that said so */
    struct siphash_key key[2];
    struct login *login; /* LOGINS of them, by hash */
    uint64_t forgotten;  /* how often */
};

/* Looking for a target that answers. */
struct search {
    struct proxy_target target;
    struct ip_addr addr[2][CONNECT_ADDRS_MAX]; /* of IPv4, of IPv6: allowed, in order */
    uint8_t n[2];
    uint8_t tried[2];
    bool waits[2];   /* an answer of this family is to come */
    bool last;       /* the family that was dialled last: IPv6 */
    bool begun;      /* one was dialled */
    uint8_t n_dials; /* of dial that are under way */
    uint8_t why;     /* enum tunnel_end, should none be left */
    tick_t heard_at;
    tick_t dialled_at;
    tick_t next_at;
    struct dial {
        struct stream *stream; /* NULL: free */
        struct ip_addr to;
    } dial[2 * CONNECT_ADDRS_MAX];
};

struct tunnel {
    struct connect *connect;
    const struct proxy *proxy;     /* held */
    struct proxy_account *account; /* NULL: not open yet */
    struct http_peer peer;         /* a copy: the client may be gone before the target is */
    struct http_stream *client;    /* NULL: it is over */
    struct stream *target;         /* NULL: none yet, or it is over */
    struct search *search;         /* NULL: over */
    struct timer timer;
    struct pkt *late; /* what a target said before its reset, and the client has no room for */
    struct pkt *late_last;
    char *authority; /* as it came */
    uint32_t authority_n;
    uint16_t port;
    uint16_t status;
    uint16_t worker;       /* that proxy counts; peer.env, which says so too, may end before t */
    uint8_t state;         /* enum tunnel_state */
    uint8_t end;           /* enum tunnel_end; DONE while nothing has ended it */
    bool client_ended : 1; /* END_STREAM has come */
    bool target_ended : 1; /* FIN has */
    bool target_lost : 1;  /* it was reset: the client hears so when it has all that came before */
    bool paused : 1;       /* until resume_at: the user's bytes a second are used up */
    int64_t allowance;     /* bytes that may pass before proxy_take is asked again */
    tick_t began;
    tick_t resolved;
    tick_t connected;
    tick_t active; /* when a byte last passed, or an end; with a target lost, was taken */
    tick_t resume_at;
    uint64_t to_target;
    uint64_t to_client;
    struct ip_addr addr; /* that answered */
    char listener[TUNNEL_LISTENER_MAX];
    char user[PROXY_USER_MAX + 1];
    struct list waiting; /* in check.waiting */
    uint64_t login[2];   /* hash of its credentials, for login_remember */
};

static inline const struct proxy_options *tunnel_options(const struct tunnel *t)
{
    return proxy_options(t->proxy);
}

static inline struct mem *tunnel_mem(const struct tunnel *t)
{
    return t->connect->env.mem;
}

/* A stream of t's tells something: what time is it? */
static inline void tunnel_enter(struct tunnel *t)
{
    t->connect->now = t->connect->http->now;
}

/* As much of `from` as `room` holds with a NUL behind it. */
static inline void tunnel_copy_text(char *to, const char *from, size_t room)
{
    size_t n = 0;
    for (; n < room - 1 && from[n]; n++)
        to[n] = from[n];
    to[n] = 0;
}

/* connect.c */
/* For s and what it asks for, with a search for target. NULL: no memory, or too many. */
struct tunnel *tunnel_create(struct connect *c, struct http_stream *s, const struct http_head *h,
                             const struct proxy_target *target);
/* What ends it, if nothing has yet. */
void tunnel_ends(struct tunnel *t, enum tunnel_end why);
/* The timer is armed anew; and, where both sides are over, it is logged and is no more. */
void tunnel_settle(struct tunnel *t);

/* connect_head.c */
/* The client is answered with what `why` says, and is over for t. Before the 200. */
void tunnel_refuse(struct tunnel *t, enum tunnel_end why);
/* Who asks is known: where it may go is next. */
void tunnel_go(struct tunnel *t);

/* connect_login.c */
enum login_is { LOGIN_NONE, LOGIN_RIGHT, LOGIN_ASKED, LOGIN_BUSY };
/* value: of proxy-authorization (RFC 7617 2). t->user is set, the password of LOGIN_ASKED is being
 * looked at. NONE: it is no such thing. */
enum login_is login_check(struct tunnel *t, struct http_text value);

/* connect_search.c */
void search_begin(struct tunnel *t);
/* Whatever it has under way is given up. */
void search_end(struct tunnel *t);
/* An answer. */
void search_hear(struct tunnel *t, const struct connect_answer *a);
/* Dials what is due. t may be refused afterwards. */
void search_look(struct tunnel *t);
/* The service of a connection under way. */
extern const struct stream_service connect_dialled;

/* connect_relay.c */
/* target is connected: the client hears 200, and they are joined. */
void relay_begin(struct tunnel *t, struct stream *target);
/* The user may send again, or it is to be seen whether. */
void relay_resume(struct tunnel *t);
/* Both sides are reset. */
void relay_cut(struct tunnel *t, enum tunnel_end why);
/* The client's side, from its request on. */
extern const struct stream_service connect_client;

#endif
