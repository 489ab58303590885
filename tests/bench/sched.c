/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * <policy>/<streams>: to pick the next of so many ready streams and charge it for a frame, in
 * nanoseconds; .../ready: one of them leaves and comes back. Streams are as large as a stream of
 * HTTP/2 is, and have become ready in random order, so that neighbours in a ring are none in
 * memory.
 *
 * Peers, on the same streams and frames in the same run: nghttp2, whose scheduler is reached
 * through its session only, so that its figure has the framing in it (no byte is copied); an array
 * ordered by key with binary search and memmove (the first leaves, and comes back with another
 * key), and a queue whose first is shifted out of an array, as prior art had them.
 */

#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "sched/sched.h"

#define ROUNDS      5
#define COUNT_MAX   (1u << 20) /* operations a round */
#define ROUND_NS    1e7        /* and for slow ones so long */
#define STREAMS_MAX 100000u
#define FRAME       16384u /* a turn of DEFICIT, too */
#define SMALL       100u   /* nghttp2's, so that windows of 2^31 last */

struct stream {
    _Alignas(64) struct sched_node node;
    uint8_t rest[416];
};

struct bench {
    enum sched_policy policy;
    uint32_t n;
    struct sched_settings settings;
    struct sched sched;
    struct stream *stream;
    uint32_t *order; /* of becoming ready */
    uint32_t at;     /* in order: the next to leave and come back */
    struct stream **array;
    nghttp2_session *session;
    uint64_t picked; /* of nghttp2 */
};

enum peer { SHIFT = 1, ARRAY = 2, NGHTTP2 = 4 };

static const struct {
    enum sched_policy policy;
    const char *name;
    unsigned peers; /* that do something like it */
} policies[] = {
    {SCHED_DEFICIT, "drr", SHIFT | ARRAY | NGHTTP2},
    {SCHED_ROUND_ROBIN, "rr", SHIFT},
    {SCHED_PACKET, "rr-packet", SHIFT},
    {SCHED_URGENCY, "urgency", SHIFT | NGHTTP2},
    {SCHED_WEIGHTED, "wfq", ARRAY | NGHTTP2},
    {SCHED_PRIORITY, "priority", ARRAY},
    {SCHED_FIRST_COME, "first-come", ARRAY},
    {SCHED_RANDOM, "random", ARRAY},
};

static void *must(void *p, const char *what)
{
    if (!p) {
        fprintf(stderr, "sched: no %s\n", what);
        exit(1);
    }
    return p;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others do meanwhile does not count */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- what is measured: so many operations ---- */

typedef void (*operations_fn)(struct bench *b, uint32_t count);

static void ours_pick(struct bench *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct sched_node *n = sched_pick(&b->sched);
        sched_charge(&b->sched, n, FRAME, false);
        if (b->policy == SCHED_PACKET)
            sched_packet_end(&b->sched);
    }
}

static void ours_ready(struct bench *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct sched_node *n = &b->stream[b->order[b->at]].node;
        sched_remove(&b->sched, n);
        sched_ready(&b->sched, n);
        b->at = b->at + 1 < b->n ? b->at + 1 : 0;
    }
}

/* Of an ordered array: the first is charged, and moves behind those of a smaller key. */
static void array_pick(struct bench *b, uint32_t count)
{
    struct stream **a = b->array;
    for (uint32_t i = 0; i < count; i++) {
        struct stream *s = a[0];
        s->node.key += FRAME * 256 / s->node.p.weight;
        uint32_t low = 1;
        for (uint32_t high = b->n; low < high;) {
            uint32_t middle = low + (high - low) / 2;
            if (a[middle]->node.key <= s->node.key)
                low = middle + 1;
            else
                high = middle;
        }
        memmove(a, a + 1, (low - 1) * sizeof(*a));
        a[low - 1] = s;
    }
}

static void shift_pick(struct bench *b, uint32_t count)
{
    struct stream **a = b->array;
    for (uint32_t i = 0; i < count; i++) {
        struct stream *s = a[0];
        memmove(a, a + 1, (b->n - 1) * sizeof(*a));
        s->node.deficit -= FRAME;
        a[b->n - 1] = s;
    }
}

static void nghttp2_pick(struct bench *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *out;
        if (nghttp2_session_mem_send(b->session, &out) <= 0) {
            fprintf(stderr, "sched: nghttp2 has stopped sending\n");
            exit(1);
        }
    }
}

/* ---- a server of nghttp2 with so many responses ---- */

static ssize_t a_frame(nghttp2_session *session, int32_t id, uint8_t *out, size_t len,
                       uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)session;
    (void)id;
    (void)out;
    (void)flags;
    (void)source;
    struct bench *b = user;
    b->picked++;
    return len < SMALL ? (ssize_t)len : SMALL;
}

static int answer(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
    (void)user;
    const nghttp2_nv status = {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE};
    const nghttp2_data_provider content = {.read_callback = a_frame};
    if (f->hd.type != NGHTTP2_HEADERS)
        return 0;
    return nghttp2_submit_response(session, f->hd.stream_id, &status, 1, &content);
}

static void feed(struct bench *b, const void *bytes, size_t len)
{
    if (nghttp2_session_mem_recv(b->session, bytes, len) != (ssize_t)len) {
        fprintf(stderr, "sched: nghttp2 does not take what a client says\n");
        exit(1);
    }
}

static void ask(struct bench *b, uint32_t stream)
{
    /* GET https / of "a", with "priority: u=3,i" */
    uint8_t head[] = "\0\0\x1a\1\5....\x82\x87\x84\x41\1a\0\x08priority\x05u=3,i";
    uint32_t id = 2 * stream + 1;
    for (unsigned i = 0; i < 4; i++)
        head[5 + i] = (uint8_t)(id >> (24 - 8 * i));
    head[2] = (uint8_t)(sizeof(head) - 1 - 9);
    feed(b, head, sizeof(head) - 1);
}

static void session_open(struct bench *b, bool urgency)
{
    /* A preface, SETTINGS with an INITIAL_WINDOW_SIZE of 2^31 - 1, and as much for the connection
     */
    static const uint8_t hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                                   "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
                                   "\0\0\4\x8\0\0\0\0\0\x7f\xfe\0\0";
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, urgency ? 1 : 0}};
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        must(NULL, "nghttp2");
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, answer);
    if (nghttp2_session_server_new(&b->session, callbacks, b) != 0)
        must(NULL, "nghttp2");
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(b->session, NGHTTP2_FLAG_NONE, settings, 2);
    feed(b, hello, sizeof(hello) - 1);
    for (uint32_t i = 0; i < b->n; i++)
        ask(b, i);
    while (b->picked < b->n) /* what is sent before content */
        nghttp2_pick(b, 1);
}

/* ---- ours ---- */

static void shuffle(uint32_t *v, uint32_t n, struct rng *r)
{
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t k = (uint32_t)rng_below(r, i + 1);
        uint32_t old = v[i];
        v[i] = v[k];
        v[k] = old;
    }
}

static void bench_open(struct bench *b, enum sched_policy policy, uint32_t n)
{
    struct rng r;
    rng_seed(&r, n);
    *b = (struct bench){.policy = policy, .n = n};
    b->stream = must(aligned_alloc(64, n * sizeof(*b->stream)), "memory");
    b->order = must(calloc(n, sizeof(*b->order)), "memory");
    b->array = must(calloc(n, sizeof(struct stream *)), "memory");
    sched_settings_fill(&b->settings);
    sched_init(&b->sched, policy, &b->settings, 1);
    for (uint32_t i = 0; i < n; i++)
        b->order[i] = i;
    shuffle(b->order, n, &r);
    for (uint32_t i = 0; i < n; i++) {
        struct stream *s = &b->stream[b->order[i]];
        struct sched_priority p = {.order = i,
                                   .weight = (uint16_t)(1 + rng_below(&r, SCHED_WEIGHT_MAX)),
                                   .urgency = SCHED_URGENCY_DEFAULT,
                                   .incremental = true};
        sched_node_init(&s->node, &p);
        sched_ready(&b->sched, &s->node);
        b->array[i] = s;
    }
}

static void bench_close(struct bench *b)
{
    if (b->session)
        nghttp2_session_del(b->session);
    free(b->array);
    free(b->order);
    free(b->stream);
}

/* ---- figures ---- */

static double ns_each(struct bench *b, operations_fn f, uint32_t count)
{
    double start = now_ns();
    f(b, count);
    return (now_ns() - start) / count;
}

/* How many a round, after all streams have had a turn, or many. */
static uint32_t enough(struct bench *b, operations_fn f)
{
    double end = now_ns() + 4 * ROUND_NS;
    uint32_t count = 16;
    for (uint32_t i = 0; i < 2 * b->n && now_ns() < end; i += 100)
        f(b, 100);
    while (count < COUNT_MAX && ns_each(b, f, count) * count < ROUND_NS)
        count *= 2;
    return count;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), by_value);
    return v[ROUNDS / 2];
}

/* Both in turns. peer has streams of its own, for it orders them its own way. */
static void figure(const char *policy, struct bench *b, const char *suffix, operations_fn ours,
                   struct bench *other, const char *peer, operations_fn theirs)
{
    double mine[ROUNDS];
    double its[ROUNDS];
    uint32_t my_count = enough(b, ours);
    uint32_t its_count = enough(other, theirs);
    for (int i = 0; i < ROUNDS; i++) {
        mine[i] = ns_each(b, ours, my_count);
        its[i] = ns_each(other, theirs, its_count);
    }
    double value = median(mine);
    double peer_value = median(its);
    printf("{\"bench\":\"sched\",\"case\":\"%s/%u%s\",\"unit\":\"ns/%s\",\"value\":%.1f,"
           "\"peer\":\"%s\",\"peer_value\":%.1f,\"ratio\":%.2f}\n",
           policy, b->n, suffix, *suffix ? "change" : "pick", value, peer, peer_value,
           peer_value / value);
    fflush(stdout);
}

static void bench_policy(size_t i, uint32_t n)
{
    struct bench b;
    struct bench other;
    const char *name = policies[i].name;
    unsigned peers = policies[i].peers;
    bench_open(&b, policies[i].policy, n);
    bench_open(&other, SCHED_WEIGHTED, n);
    if (peers & SHIFT)
        figure(name, &b, "", ours_pick, &other, "shift queue", shift_pick);
    if (peers & ARRAY)
        figure(name, &b, "", ours_pick, &other, "ordered array", array_pick);
    figure(name, &b, "/ready", ours_ready, &other, "ordered array", array_pick);
    if (peers & NGHTTP2) {
        session_open(&other, policies[i].policy == SCHED_URGENCY);
        figure(name, &b, "", ours_pick, &other, "nghttp2", nghttp2_pick);
    }
    bench_close(&other);
    bench_close(&b);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        for (uint32_t n = 10; n <= STREAMS_MAX; n *= 10)
            bench_policy(i, n);
    }
    return 0;
}
