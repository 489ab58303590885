/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/resolver.h"

/* Of the two ways to ask, c-ares 1.18 has the one that later ones call old. */
#define CARES_NO_DEPRECATED
#include <ares.h>
#include <arpa/nameser.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "app/dns_answer.h"
#include "stack/flow.h" /* SipHash */

#define ENTRY_BUCKETS  8192u /* power of two, as the next */
#define CLIENT_BUCKETS 256u
#define EVENTS         32
#define LABEL_MAX      63u
/* That servers fail is believed for a while: at least 1 s, so that a name that is asked for again
 * and again does no harm to them (RFC 9520 3.2). */
#define FAILURE_TTL (2 * TICK_SEC)

/* Who asks: a /24 or a /56. There while it has questions. */
struct client {
    struct list node; /* of its bucket */
    struct ip_addr prefix;
    uint32_t queries; /* under way that it began */
    uint32_t waiting; /* questions of its own */
};

/* A question that is not answered yet. */
struct waiter {
    struct list node; /* of its entry */
    struct client *client;
    handle_t id;
    uint16_t asker;
    unsigned worker;
};

/* A name and a family: asked for, then known. */
struct entry {
    struct list node;  /* of its bucket */
    struct list place; /* in asking, or in known */
    struct resolver *resolver;
    struct list waiters;
    struct client *client; /* who began the query; NULL: none is under way */
    tick_t began;          /* of the query */
    tick_t expires;        /* valid when known, as the answer */
    struct connect_answer answer;
    char name[PROXY_NAME_MAX + 1]; /* as normal() makes it */
};

struct resolver {
    struct mem *mem;
    resolver_answer *answer;
    void *ctx;
    ares_channel channel;
    int epoll;
    tick_t now; /* of the call that is being served */
    struct siphash_key key;
    struct resolver_settings settings;
    struct resolver_host *host; /* by name */
    uint32_t n_hosts;
    struct slab *entries;
    struct slab *waiters;
    struct slab *clients;
    struct list asking;
    struct list known; /* the last used first */
    uint32_t n_asking;
    uint32_t n_known;
    uint64_t count[RESOLVER_COUNTER_END];
    struct list entry[ENTRY_BUCKETS];
    struct list client[CLIENT_BUCKETS];
};

/* ---- settings ---- */

/* X(member, default, least, most) */
#define NUMBERS(X)                                \
    X(timeout_ms, 2000, 10, 60000)                \
    X(tries, 2, 1, 10)                            \
    X(cache_entries, 4096, 1, RESOLVER_CACHE_MAX) \
    X(min_ttl_s, 0, 0, 86400)                     \
    X(max_ttl_s, 3600, 1, 604800)                 \
    X(negative_ttl_s, 30, 1, 86400)               \
    X(queries, 512, 1, RESOLVER_QUERIES_MAX)      \
    X(client_queries, 64, 1, RESOLVER_QUERIES_MAX)

static bool within(uint64_t value, uint64_t least, uint64_t most)
{
    return value >= least && value <= most;
}

bool resolver_settings_fill(struct resolver_settings *s)
{
    bool ok = s->n_servers <= RESOLVER_SERVERS_MAX;
#define X(member, preset, least, most) \
    if (s->member == 0)                \
        s->member = preset;            \
    ok = ok && within(s->member, least, most);
    NUMBERS(X)
#undef X
    return ok && s->min_ttl_s <= s->max_ttl_s;
}

static bool same_servers(const struct resolver_settings *a, const struct resolver_settings *b)
{
    bool same = a->n_servers == b->n_servers;
    for (uint32_t i = 0; same && i < a->n_servers; i++)
        same =
            ip_eq(&a->server[i].addr, &b->server[i].addr) && a->server[i].port == b->server[i].port;
    return same;
}

/* ---- names ---- */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Lower case, without the last dot. False: it is no name of the DNS as hosts have it (RFC 1123 2.1;
 * underscores are met). Neither are escapes, which c-ares would read in it. */
static bool normal(const char *text, char name[PROXY_NAME_MAX + 1])
{
    size_t n = 0, label = 0;
    for (; text[n]; n++) {
        if (n == PROXY_NAME_MAX)
            return false;
        name[n] = text[n] >= 'A' && text[n] <= 'Z' ? (char)(text[n] + ('a' - 'A')) : text[n];
        bool dot = name[n] == '.';
        if (dot ? label == 0 : !name_char(name[n]) || label == LABEL_MAX)
            return false;
        label = dot ? 0 : label + 1;
    }
    if (n > 0 && label == 0)
        n--;
    name[n] = '\0';
    return n > 0;
}

static bool under(const char *name, const char *top)
{
    size_t n = strlen(name), m = strlen(top);
    return n >= m && strcmp(name + n - m, top) == 0 && (n == m || name[n - m - 1] == '.');
}

/* Names that no server is asked for. What localhost is would be for us to say, and a proxy's client
 * means its own, not ours. */
static bool special(const char *name)
{
    static const char *const top[] = {
        "localhost", /* RFC 6761 6.3 */
        "invalid",   /* RFC 6761 6.4 */
        "onion",     /* RFC 7686 2 */
    };
    for (size_t i = 0; i < sizeof(top) / sizeof(top[0]); i++)
        if (under(name, top[i]))
            return true;
    return false;
}

/* ---- hosts ---- */

static int host_order(const void *a, const void *b)
{
    return strcmp(((const struct resolver_host *)a)->name, ((const struct resolver_host *)b)->name);
}

static void hosts_free(struct mem *mem, struct resolver_host *host, uint32_t n)
{
    mem_free(mem, host, n * sizeof(*host));
}

/* Sorted, with normal names. Sets *to to NULL where there are none. False: no memory. */
static bool hosts_copy(struct mem *mem, const struct resolver_host *from, uint32_t n,
                       struct resolver_host **to)
{
    *to = n > 0 ? mem_alloc(mem, n * sizeof(**to), _Alignof(struct resolver_host)) : NULL;
    if (n == 0 || !*to)
        return n == 0;
    for (uint32_t i = 0; i < n; i++) {
        (*to)[i] = from[i];
        if (!normal(from[i].name, (*to)[i].name))
            (*to)[i].name[0] = '\0'; /* which nobody can ask for */
    }
    qsort(*to, n, sizeof(**to), host_order);
    return true;
}

static const struct resolver_host *host_find(const struct resolver *r, const char *name)
{
    struct resolver_host key;
    strcpy(key.name, name);
    return r->n_hosts > 0 ? bsearch(&key, r->host, r->n_hosts, sizeof(key), host_order) : NULL;
}

static void host_answer(const struct resolver_host *h, struct connect_answer *a)
{
    for (uint32_t i = 0; i < h->n_addrs && a->n < CONNECT_ADDRS_MAX; i++)
        if (ip_is_v4(&h->addr[i]) != a->v6)
            a->addr[a->n++] = h->addr[i];
    a->outcome = a->n > 0 ? CONNECT_OK : CONNECT_NO_NAME;
}

/* ---- clients ---- */

static struct ip_addr prefix_of(const struct ip_addr *a)
{
    struct ip_addr p = *a;
    unsigned kept = ip_is_v4(a) ? 15 : 7;
    memset(p.b + kept, 0, sizeof(p.b) - kept);
    return p;
}

/* NULL: no memory. */
static struct client *client_get(struct resolver *r, const struct ip_addr *addr)
{
    struct ip_addr prefix = prefix_of(addr);
    uint64_t hash = siphash13(&r->key, prefix.b, sizeof(prefix.b));
    struct list *bucket = &r->client[hash & (CLIENT_BUCKETS - 1)];
    list_for_each (it, bucket) {
        struct client *c = container_of(it, struct client, node);
        if (ip_eq(&c->prefix, &prefix))
            return c;
    }
    handle_t handle;
    struct client *c = slab_alloc(r->clients, &handle);
    if (!c)
        return NULL;
    c->prefix = prefix;
    list_push_front(bucket, &c->node);
    return c;
}

static void client_drop_idle(struct resolver *r, struct client *c)
{
    if (c->queries > 0 || c->waiting > 0)
        return;
    list_remove(&c->node);
    slab_free(r->clients, c);
}

/* ---- entries ---- */

static struct list *entry_bucket(struct resolver *r, const char *name)
{
    return &r->entry[siphash13(&r->key, name, strlen(name)) & (ENTRY_BUCKETS - 1)];
}

static struct entry *entry_find(struct resolver *r, const char *name, bool v6)
{
    list_for_each (it, entry_bucket(r, name)) {
        struct entry *e = container_of(it, struct entry, node);
        if (e->answer.v6 == v6 && strcmp(e->name, name) == 0)
            return e;
    }
    return NULL;
}

/* In neither list. NULL: no memory. */
static struct entry *entry_create(struct resolver *r, const char *name, bool v6)
{
    handle_t handle;
    struct entry *e = slab_alloc(r->entries, &handle);
    if (!e)
        return NULL;
    e->resolver = r;
    e->answer.v6 = v6;
    strcpy(e->name, name);
    list_init(&e->place);
    list_init(&e->waiters);
    list_push_front(entry_bucket(r, name), &e->node);
    return e;
}

/* One in neither list. */
static void entry_destroy(struct entry *e)
{
    assert(!list_linked(&e->place) && list_empty(&e->waiters) && "nobody means it any more");
    list_remove(&e->node);
    slab_free(e->resolver->entries, e);
}

static void unknow(struct entry *e)
{
    list_remove(&e->place);
    e->resolver->n_known--;
}

static void trim(struct resolver *r, uint32_t most)
{
    while (r->n_known > most) {
        struct entry *e = container_of(list_last(&r->known), struct entry, place);
        unknow(e);
        entry_destroy(e);
        r->count[RESOLVER_EVICTED]++;
    }
}

/* Keeps its answer for so long. */
static void know(struct entry *e, tick_t ttl)
{
    struct resolver *r = e->resolver;
    e->expires = tick_after(r->now, ttl);
    list_push_front(&r->known, &e->place);
    r->n_known++;
    trim(r, r->settings.cache_entries);
}

static void check(const struct resolver *r)
{
    (void)r; /* in builds without assertions */
    assert(r->n_asking + r->n_known == slab_live(r->entries) && "each is in one of two lists");
    assert(r->n_known <= r->settings.cache_entries && "trimmed when one was added");
    assert(slab_live(r->waiters) >= r->n_asking && "a query is for somebody");
    assert(slab_live(r->clients) <= slab_live(r->waiters) && "a client is there while it waits");
}

/* ---- queries ---- */

static void give(struct resolver *r, unsigned worker, handle_t id, uint16_t asker,
                 const struct connect_answer *a)
{
    struct question_answer to = {.id = id, .asker = asker, .kind = QUESTION_NAME, .answer = *a};
    r->answer(r->ctx, worker, &to);
}

static void answer_waiters(struct resolver *r, struct entry *e)
{
    for (struct list *it; (it = list_first(&e->waiters));) {
        struct waiter *w = container_of(it, struct waiter, node);
        list_remove(it);
        give(r, w->worker, w->id, w->asker, &e->answer);
        w->client->waiting--;
        client_drop_idle(r, w->client);
        slab_free(r->waiters, w);
    }
}

static tick_t bounded_ttl(const struct resolver_settings *s, uint32_t seconds)
{
    uint32_t ttl = seconds < s->min_ttl_s ? s->min_ttl_s : seconds;
    return (ttl > s->max_ttl_s ? s->max_ttl_s : ttl) * TICK_SEC;
}

static enum resolver_counter failed(struct entry *e, int status, tick_t *ttl)
{
    bool late = status == ARES_ETIMEOUT;
    e->answer.n = 0;
    e->answer.outcome = late ? CONNECT_DNS_TIMEOUT : CONNECT_DNS_ERROR;
    *ttl = FAILURE_TTL;
    return late ? RESOLVER_TIMEOUTS : RESOLVER_ERRORS;
}

/* Puts into e what a query brought. Returns what it is to be counted as. */
static enum resolver_counter learn(struct entry *e, int status, const uint8_t *message, int len,
                                   tick_t *ttl)
{
    const struct resolver_settings *s = &e->resolver->settings;
    struct dns_answer d;
    bool said = status == ARES_SUCCESS || status == ARES_ENODATA || status == ARES_ENOTFOUND;
    if (!said || !message || len < 0 ||
        !dns_answer_parse(message, (size_t)len, e->name, e->answer.v6, &d))
        return failed(e, status, ttl);
    *ttl = bounded_ttl(s, d.has_ttl ? d.ttl : s->negative_ttl_s);
    e->answer.n = d.n;
    e->answer.outcome = d.n > 0 ? CONNECT_OK : CONNECT_NO_NAME;
    memcpy(e->answer.addr, d.addr, d.n * sizeof(d.addr[0]));
    return d.n > 0 ? RESOLVER_RESOLVED : RESOLVER_NO_NAME;
}

/* The query is over, and nothing of it is left but the waiters. */
static void end_query(struct resolver *r, struct entry *e)
{
    r->count[RESOLVER_LATENCY_US] += tick_since(r->now, e->began) / TICK_US;
    list_remove(&e->place);
    r->n_asking--;
    e->client->queries--;
    client_drop_idle(r, e->client);
    e->client = NULL;
}

static void on_reply(void *arg, int status, int timeouts, unsigned char *message, int len)
{
    (void)timeouts;
    if (status == ARES_EDESTRUCTION)
        return; /* resolver_configure asks again, resolver_destroy needs no answer */
    struct entry *e = arg;
    struct resolver *r = e->resolver;
    tick_t ttl;
    r->count[learn(e, status, message, len, &ttl)]++;
    end_query(r, e);
    answer_waiters(r, e);
    if (ttl > 0)
        know(e, ttl);
    else
        entry_destroy(e);
}

/* May end it at once, and e with it. */
static void send_query(struct entry *e)
{
    ares_query(e->resolver->channel, e->name, ns_c_in, e->answer.v6 ? ns_t_aaaa : ns_t_a, on_reply,
               e);
}

static void begin_query(struct resolver *r, struct entry *e, struct client *c)
{
    e->client = c;
    e->began = r->now;
    c->queries++;
    list_push_back(&r->asking, &e->place);
    r->n_asking++;
    r->count[RESOLVER_QUERIES]++;
    send_query(e);
}

/* ---- c-ares ---- */

/* One descriptor stands for them all. */
static void on_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct resolver *r = arg;
    struct epoll_event e = {.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u),
                            .data.fd = fd};
    if (e.events == 0)
        epoll_ctl(r->epoll, EPOLL_CTL_DEL, fd, NULL); /* it is about to be closed */
    else if (epoll_ctl(r->epoll, EPOLL_CTL_MOD, fd, &e) != 0)
        epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e);
}

static bool set_servers(ares_channel channel, const struct resolver_settings *s)
{
    struct ares_addr_port_node node[RESOLVER_SERVERS_MAX];
    memset(node, 0, sizeof(node));
    for (uint32_t i = 0; i < s->n_servers; i++) {
        const struct ip_addr *a = &s->server[i].addr;
        bool v4 = ip_is_v4(a);
        node[i].next = i + 1 < s->n_servers ? &node[i + 1] : NULL;
        node[i].family = v4 ? AF_INET : AF_INET6;
        memcpy(&node[i].addr, v4 ? a->b + 12 : a->b, v4 ? 4 : 16);
        node[i].udp_port = s->server[i].port; /* 0: 53 */
        node[i].tcp_port = s->server[i].port;
    }
    return s->n_servers == 0 || ares_set_servers_ports(channel, node) == ARES_SUCCESS;
}

/* False: no memory. */
static bool channel_open(struct resolver *r, const struct resolver_settings *s, ares_channel *to)
{
    char nothing[] = "/dev/null";
    struct ares_options o;
    memset(&o, 0, sizeof(o));
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS |
               ARES_OPT_SOCK_STATE_CB;
    o.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES; /* a name is absolute */
    o.timeout = (int)s->timeout_ms;
    o.tries = (int)s->tries;
    o.sock_state_cb = on_socket;
    o.sock_state_cb_data = r;
    if (s->n_servers > 0) { /* the system's file has no say then */
        mask |= ARES_OPT_RESOLVCONF;
        o.resolvconf_path = nothing;
    }
#ifdef ARES_OPT_UDP_MAX_QUERIES /* from 1.20 on */
    mask |= ARES_OPT_UDP_MAX_QUERIES;
    o.udp_max_queries = 1; /* a port of its own for each (RFC 5452 9.2) */
#endif
#ifdef ARES_OPT_QUERY_CACHE /* from 1.31 on */
    mask |= ARES_OPT_QUERY_CACHE;
    o.qcache_max_ttl = 0; /* there is one here, which knows its bounds */
#endif
    if (ares_init_options(to, &o, mask) != ARES_SUCCESS)
        return false;
    if (set_servers(*to, s))
        return true;
    ares_destroy(*to);
    return false;
}

/* ---- the resolver ---- */

static void lists_init(struct resolver *r)
{
    list_init(&r->asking);
    list_init(&r->known);
    for (unsigned i = 0; i < ENTRY_BUCKETS; i++)
        list_init(&r->entry[i]);
    for (unsigned i = 0; i < CLIENT_BUCKETS; i++)
        list_init(&r->client[i]);
}

static bool tables_init(struct resolver *r)
{
    uint32_t waiters = PROXY_WORKERS_MAX * QUESTIONS_MAX;
    r->entries = slab_create(r->mem, sizeof(struct entry), _Alignof(struct entry),
                             RESOLVER_CACHE_MAX + RESOLVER_QUERIES_MAX);
    r->waiters = slab_create(r->mem, sizeof(struct waiter), _Alignof(struct waiter), waiters);
    r->clients = slab_create(r->mem, sizeof(struct client), _Alignof(struct client), waiters);
    return r->entries && r->waiters && r->clients;
}

struct resolver *resolver_create(struct mem *mem, const struct resolver_settings *settings,
                                 const struct resolver_host *host, uint32_t n_hosts,
                                 resolver_answer *answer, void *ctx)
{
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
        return NULL;
    struct resolver *r = mem_alloc(mem, sizeof(*r), _Alignof(struct resolver));
    if (!r)
        goto fail_library;
    r->mem = mem;
    r->answer = answer;
    r->ctx = ctx;
    r->settings = *settings;
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    lists_init(r);
    if (r->epoll < 0 || !tables_init(r) ||
        getrandom(&r->key, sizeof(r->key), 0) != sizeof(r->key) ||
        !channel_open(r, settings, &r->channel))
        goto fail_tables;
    if (!hosts_copy(mem, host, n_hosts, &r->host))
        goto fail_channel;
    r->n_hosts = n_hosts;
    return r;
fail_channel:
    ares_destroy(r->channel);
fail_tables:
    slab_destroy(r->clients);
    slab_destroy(r->waiters);
    slab_destroy(r->entries);
    if (r->epoll >= 0)
        close(r->epoll);
    mem_free(mem, r, sizeof(*r));
fail_library:
    ares_library_cleanup();
    return NULL;
}

void resolver_destroy(struct resolver *r)
{
    if (!r)
        return;
    ares_destroy(r->channel);
    hosts_free(r->mem, r->host, r->n_hosts);
    slab_destroy(r->clients);
    slab_destroy(r->waiters);
    slab_destroy(r->entries);
    close(r->epoll);
    mem_free(r->mem, r, sizeof(*r));
    ares_library_cleanup();
}

/* Of the servers there are now. One of these may end at once and take its entry along. */
static void ask_again(struct resolver *r)
{
    struct list again;
    list_init(&again);
    list_splice_back(&again, &r->asking);
    for (struct list *it; (it = list_first(&again));) {
        list_remove(it);
        list_push_back(&r->asking, it);
        send_query(container_of(it, struct entry, place));
    }
}

bool resolver_configure(struct resolver *r, const struct resolver_settings *settings,
                        const struct resolver_host *host, uint32_t n_hosts, tick_t now)
{
    ares_channel channel;
    struct resolver_host *copy;
    if (!hosts_copy(r->mem, host, n_hosts, &copy))
        return false;
    if (!channel_open(r, settings, &channel)) {
        hosts_free(r->mem, copy, n_hosts);
        return false;
    }
    r->now = now;
    ares_destroy(r->channel);
    r->channel = channel;
    hosts_free(r->mem, r->host, r->n_hosts);
    r->host = copy;
    r->n_hosts = n_hosts;
    bool same = same_servers(&r->settings, settings);
    r->settings = *settings;
    trim(r, same ? settings->cache_entries : 0);
    ask_again(r);
    check(r);
    return true;
}

/* What needs no query: false, and nothing is said. */
static bool answer_at_once(struct resolver *r, const char *name, struct connect_answer *a)
{
    const struct resolver_host *h = host_find(r, name);
    if (h) {
        r->count[RESOLVER_HOSTS]++;
        host_answer(h, a);
        return true;
    }
    if (!special(name))
        return false;
    r->count[RESOLVER_SPECIAL]++;
    a->outcome = CONNECT_NO_NAME;
    return true;
}

static bool answer_from_cache(struct resolver *r, struct entry *e, struct connect_answer *a)
{
    if (!e || e->client || r->now >= e->expires)
        return false;
    r->count[e->answer.n > 0 ? RESOLVER_HITS : RESOLVER_NEGATIVE_HITS]++;
    list_remove(&e->place);
    list_push_front(&r->known, &e->place);
    *a = e->answer;
    return true;
}

/* What keeps the client from one more question, whose query is under way already or is to begin;
 * RESOLVER_COUNTER_END: nothing. */
static enum resolver_counter refusal(const struct resolver *r, const struct client *c, bool begins)
{
    if (c->waiting >= RESOLVER_WAITING_MAX)
        return RESOLVER_BUSY_WAITING;
    if (begins && r->n_asking >= r->settings.queries)
        return RESOLVER_BUSY_QUERIES;
    if (begins && c->queries >= r->settings.client_queries)
        return RESOLVER_BUSY_CLIENT;
    return RESOLVER_COUNTER_END;
}

/* Joins the query of e, or begins one. Returns as refusal. */
static enum resolver_counter wait_for(struct resolver *r, struct entry *e, const char *name,
                                      struct client *c, unsigned worker, const struct question *q)
{
    bool begins = !e || !e->client;
    enum resolver_counter why = refusal(r, c, begins);
    if (why != RESOLVER_COUNTER_END)
        return why;
    handle_t handle;
    struct waiter *w = slab_alloc(r->waiters, &handle);
    if (w && !e)
        e = entry_create(r, name, q->v6);
    else if (w && begins)
        unknow(e);
    if (!w || !e) {
        if (w)
            slab_free(r->waiters, w);
        return RESOLVER_BUSY_MEMORY;
    }
    *w = (struct waiter){.client = c, .id = q->id, .asker = q->asker, .worker = worker};
    list_push_back(&e->waiters, &w->node);
    c->waiting++;
    if (begins)
        begin_query(r, e, c);
    else
        r->count[RESOLVER_JOINED]++;
    return RESOLVER_COUNTER_END;
}

void resolver_ask(struct resolver *r, unsigned worker, const struct question *q, tick_t now)
{
    char name[PROXY_NAME_MAX + 1];
    struct connect_answer a = {.outcome = CONNECT_NO_NAME, .v6 = q->v6};
    assert(q->kind == QUESTION_NAME && "passwords are asked of others");
    r->now = now;
    r->count[RESOLVER_QUESTIONS]++;
    if (!normal(q->name, name)) {
        r->count[RESOLVER_SPECIAL]++;
        give(r, worker, q->id, q->asker, &a);
        return;
    }
    struct entry *e = entry_find(r, name, q->v6);
    if (answer_at_once(r, name, &a) || answer_from_cache(r, e, &a)) {
        give(r, worker, q->id, q->asker, &a);
        return;
    }
    struct client *c = client_get(r, &q->client);
    enum resolver_counter why = c ? wait_for(r, e, name, c, worker, q) : RESOLVER_BUSY_MEMORY;
    if (why != RESOLVER_COUNTER_END) {
        if (c)
            client_drop_idle(r, c);
        r->count[why]++;
        a.outcome = CONNECT_BUSY;
        give(r, worker, q->id, q->asker, &a);
    }
    check(r);
}

int resolver_fd(const struct resolver *r)
{
    return r->epoll;
}

tick_t resolver_deadline(const struct resolver *r, tick_t now)
{
    struct timeval left;
    if (!ares_timeout(r->channel, NULL, &left))
        return TICK_NEVER;
    return tick_after(now, (tick_t)left.tv_sec * TICK_SEC + (tick_t)left.tv_usec * TICK_US);
}

/* What is ready beyond EVENTS still is at the next call. A descriptor that c-ares closed meanwhile
 * is one it does not know, or one with nothing to read. */
void resolver_run(struct resolver *r, tick_t now)
{
    struct epoll_event event[EVENTS];
    r->now = now;
    int n = epoll_wait(r->epoll, event, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        bool in = event[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP);
        bool out = event[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP);
        ares_process_fd(r->channel, in ? event[i].data.fd : ARES_SOCKET_BAD,
                        out ? event[i].data.fd : ARES_SOCKET_BAD);
    }
    ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* the timeouts */
    check(r);
}

/* ---- for those who look ---- */

void resolver_stats(const struct resolver *r, struct resolver_stats *s)
{
    memcpy(s->count, r->count, sizeof(s->count));
    s->cached = r->n_known;
    s->under_way = r->n_asking;
    s->waiting = slab_live(r->waiters);
}

void resolver_list(const struct resolver *r, uint32_t *cursor,
                   bool (*each)(void *ctx, const struct resolver_row *row), void *ctx, tick_t now)
{
    for (const struct entry *e; (e = slab_next(r->entries, cursor));) {
        bool asking = e->client != NULL;
        if (!asking && now >= e->expires)
            continue;
        struct resolver_row row = {.name = e->name, .asking = asking, .answer = &e->answer};
        row.left = asking ? 0 : e->expires - now;
        if (!each(ctx, &row))
            return;
    }
    *cursor = UINT32_MAX;
}
