/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Basic (RFC 7617). Whether a password is right costs milliseconds on purpose, so the control core
 * finds out; one that was right is remembered for a while as a keyed hash of 128 bits.
 */
#include <string.h>

#include "service/tunnel.h"

#define REMEMBERED (300 * TICK_SEC)
#define PLAIN_MAX  (PROXY_USER_MAX + 1 + 127) /* name, colon, password */

/* RFC 4648 4, with or without padding. Returns the length, or -1. */
static int decode(struct http_text in, char out[PLAIN_MAX])
{
    uint32_t bits = 0;
    unsigned n_bits = 0;
    int n = 0;
    while (in.n > 0 && in.p[in.n - 1] == '=')
        in.n--;
    if (in.n == 0 || in.n % 4 == 1)
        return -1;
    for (uint32_t i = 0; i < in.n; i++) {
        static const char digits[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *digit = in.p[i] ? strchr(digits, in.p[i]) : NULL;
        if (!digit)
            return -1;
        bits = bits << 6 | (uint32_t)(digit - digits);
        n_bits += 6;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        if (n == PLAIN_MAX)
            return -1;
        out[n++] = (char)(uint8_t)(bits >> n_bits);
    }
    return n;
}

/* "Basic", without regard to case, and spaces: the rest. */
static bool take_scheme(struct http_text *v)
{
    static const char scheme[] = "basic";
    uint32_t i = 0;
    for (; i < sizeof(scheme) - 1; i++)
        if (i >= v->n || (v->p[i] | 0x20) != scheme[i])
            return false;
    if (i >= v->n || v->p[i] != ' ')
        return false;
    while (i < v->n && v->p[i] == ' ')
        i++;
    *v = (struct http_text){v->p + i, v->n - i};
    return true;
}

/* The name into t->user; the password, and the NUL behind it, into password. */
static bool split(struct tunnel *t, const char *plain, uint32_t n, char password[PLAIN_MAX + 1])
{
    const char *colon = memchr(plain, ':', n);
    uint32_t name = colon ? (uint32_t)(colon - plain) : 0;
    if (!colon || name == 0 || name > PROXY_USER_MAX || memchr(plain, 0, n))
        return false;
    memcpy(t->user, plain, name);
    t->user[name] = 0;
    memcpy(password, colon + 1, n - name - 1);
    password[n - name - 1] = 0;
    return true;
}

/* Compilers drop a memset of what is never read again. */
static void wipe(void *p, size_t n)
{
    for (volatile uint8_t *v = p; n > 0; n--)
        *v++ = 0;
}

struct plain_login {
    const void *credentials;
    uint64_t forgotten; /* what was asked for before connect_forget is of no use behind it */
    char plain[PLAIN_MAX];
};

static void hash_login(struct tunnel *t, const char *plain, uint32_t n)
{
    struct plain_login l = {.credentials = tunnel_options(t)->credentials,
                            .forgotten = t->connect->forgotten};
    memcpy(l.plain, plain, n);
    for (unsigned i = 0; i < 2; i++)
        t->login[i] = siphash24(&t->connect->key[i], &l, offsetof(struct plain_login, plain) + n);
    wipe(&l, sizeof(l));
}

static struct login *place(struct tunnel *t)
{
    return &t->connect->login[t->login[0] % LOGINS];
}

static bool is_remembered(struct tunnel *t)
{
    const struct login *l = place(t);
    /* Not found out bit by bit: the key is secret. */
    return l->hash[0] == t->login[0] && l->hash[1] == t->login[1] && t->connect->now < l->until;
}

static void remember(struct tunnel *t)
{
    *place(t) = (struct login){.hash = {t->login[0], t->login[1]},
                               .until = tick_after(t->connect->now, REMEMBERED)};
}

/* NULL: none of that is under way. There are few: whoever answers has bounds. */
static struct check *check_of(struct connect *c, const uint64_t hash[2])
{
    list_for_each (it, &c->checks) {
        struct check *k = container_of(it, struct check, place);
        if (k->hash[0] == hash[0] && k->hash[1] == hash[1])
            return k;
    }
    return NULL;
}

static void check_end(struct connect *c, struct check *k)
{
    list_remove(&k->place);
    slab_free(c->checking, k);
}

/* NULL: nobody can be asked now. */
static struct check *begin(struct tunnel *t, const char *password)
{
    struct connect *c = t->connect;
    handle_t id;
    struct check *k = slab_alloc(c->checking, &id);
    if (!k)
        return NULL;
    list_init(&k->waiting);
    list_push_back(&c->checks, &k->place);
    memcpy(k->hash, t->login, sizeof(k->hash));
    if (c->env.verify(c->env.ctx, id, tunnel_options(t)->credentials, t->user, password,
                      &t->peer.addr))
        return k;
    check_end(c, k);
    return NULL;
}

static enum login_is ask(struct tunnel *t, const char *password)
{
    struct check *k = check_of(t->connect, t->login);
    t->state = TUNNEL_STATE_VERIFYING;
    if (!k)
        k = begin(t, password);
    if (!k)
        return LOGIN_BUSY;
    list_push_back(&k->waiting, &t->waiting);
    return LOGIN_ASKED;
}

static void tell(struct tunnel *t, enum connect_outcome o)
{
    if (!t->search)
        return;
    if (o == CONNECT_OK) {
        remember(t);
        tunnel_go(t);
    } else {
        tunnel_refuse(t, o == CONNECT_WRONG ? TUNNEL_UNKNOWN_USER : TUNNEL_LIMIT);
    }
    tunnel_settle(t);
}

void connect_verified(struct connect *c, handle_t id, enum connect_outcome o, tick_t now)
{
    struct check *k = slab_get(c->checking, id);
    struct list waiting;
    c->now = now;
    if (!k)
        return;
    list_init(&waiting); /* one that ends meanwhile leaves it */
    list_splice_back(&waiting, &k->waiting);
    check_end(c, k);
    for (struct list *first; (first = list_first(&waiting));) {
        list_remove(first);
        tell(container_of(first, struct tunnel, waiting), o);
    }
}

static enum login_is check(struct tunnel *t, struct http_text value, char *plain, char *password)
{
    int n = take_scheme(&value) ? decode(value, plain) : -1;
    if (n < 0 || !split(t, plain, (uint32_t)n, password))
        return LOGIN_NONE;
    hash_login(t, plain, (uint32_t)n);
    return is_remembered(t) ? LOGIN_RIGHT : ask(t, password);
}

enum login_is login_check(struct tunnel *t, struct http_text value)
{
    char plain[PLAIN_MAX];
    char password[PLAIN_MAX + 1];
    enum login_is is = check(t, value, plain, password);
    wipe(plain, sizeof(plain));
    wipe(password, sizeof(password));
    return is;
}
