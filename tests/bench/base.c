/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of lib/base that a packet meets, each against a peer in the same run: rounds of ours
 * and of the peer take turns, and medians are printed.
 *
 * wheel/<timers> is one step of a worker's clock: a timer is put off as an acknowledgement would,
 * time goes on, what is due fires and is armed again. Against a binary heap. `wheel` is the case
 * of 10,000.
 *
 * slab frees one object and allocates one, among 10,000 live ones. Against malloc, zeroed as ours
 * is.
 *
 * crc32c/<bytes> sums independent buffers, in cache. Against ISA-L, where the build has found it.
 */

#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "base/slab.h"
#include "base/wheel.h"
#include "bench_flow.h"

#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif

#define ROUNDS 9

/* Runs an amount of work fixed by the bench. Returns the number of operations. */
typedef uint64_t (*work_fn)(void *bench);

static double clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others do meanwhile does not count */
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double ns_each(work_fn work, void *bench)
{
    double start = clock_ns();
    uint64_t n = work(bench);
    return (clock_ns() - start) / (double)n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), compare);
    return v[ROUNDS / 2];
}

/* Median nanoseconds of an operation of each. */
static void take_turns(void *bench, work_fn ours, work_fn peer, double *ours_ns, double *peer_ns)
{
    double a[ROUNDS], b[ROUNDS];
    (void)ours(bench); /* warm */
    (void)peer(bench);
    for (int i = 0; i < ROUNDS; i++) {
        a[i] = ns_each(ours, bench);
        b[i] = ns_each(peer, bench);
    }
    *ours_ns = median(a);
    *peer_ns = median(b);
}

static void report(const char *name, const char *unit, double value, const char *peer,
                   double peer_value, double ratio)
{
    printf("{\"bench\":\"base\",\"case\":\"%s\",\"unit\":\"%s\",\"value\":%.2f,\"peer\":\"%s\","
           "\"peer_value\":%.2f,\"ratio\":%.2f}\n",
           name, unit, value, peer, peer_value, ratio);
    fflush(stdout);
}

static void *must(void *p)
{
    if (!p) {
        fprintf(stderr, "base: no memory\n");
        exit(1);
    }
    return p;
}

/* ---- wheel ---- */

#define STEPS     100000
#define DELAY_MIN (200 * TICK_MS)     /* as retransmission timers */
#define DELAY_VAR (UINT64_C(1) << 28) /* 268 ms */

struct heap_timer {
    tick_t when;
    uint32_t place; /* in the heap */
};

struct timers {
    uint32_t n;
    tick_t step; /* one timer is due a step, were none moved */
    struct rng rng;
    struct wheel wheel;
    struct wheel_timer {
        struct timer timer;
        struct timers *owner;
    } * timer;
    uint64_t wheel_fired;
    struct heap_timer *heap_timer;
    struct heap_timer **heap;
    tick_t heap_now;
    uint64_t heap_fired;
};

static tick_t delay(struct timers *b)
{
    return DELAY_MIN + (rng_u64(&b->rng) & (DELAY_VAR - 1));
}

static uint32_t pick(struct timers *b)
{
    return (uint32_t)((rng_u64(&b->rng) >> 32) * b->n >> 32);
}

static void wheel_fired(struct timer *t, tick_t now)
{
    struct timers *b = container_of(t, struct wheel_timer, timer)->owner;
    b->wheel_fired++;
    wheel_arm(&b->wheel, t, now + delay(b));
}

static uint64_t wheel_steps(void *bench)
{
    struct timers *b = bench;
    for (int i = 0; i < STEPS; i++) {
        wheel_arm(&b->wheel, &b->timer[pick(b)].timer, b->wheel.now + delay(b));
        wheel_expire(&b->wheel, b->wheel.now + b->step);
    }
    return STEPS;
}

static void heap_put(struct timers *b, uint32_t place, struct heap_timer *t)
{
    b->heap[place] = t;
    t->place = place;
}

/* Moves t, which may be anywhere, to where its time belongs. */
static void heap_settle(struct timers *b, struct heap_timer *t)
{
    uint32_t at = t->place;
    for (; at > 0 && b->heap[(at - 1) / 2]->when > t->when; at = (at - 1) / 2)
        heap_put(b, at, b->heap[(at - 1) / 2]);
    for (uint32_t child; (child = 2 * at + 1) < b->n; at = child) {
        if (child + 1 < b->n && b->heap[child + 1]->when < b->heap[child]->when)
            child++;
        if (b->heap[child]->when >= t->when)
            break;
        heap_put(b, at, b->heap[child]);
    }
    heap_put(b, at, t);
}

static void heap_arm(struct timers *b, struct heap_timer *t, tick_t when)
{
    t->when = when;
    heap_settle(b, t);
}

static uint64_t heap_steps(void *bench)
{
    struct timers *b = bench;
    for (int i = 0; i < STEPS; i++) {
        heap_arm(b, &b->heap_timer[pick(b)], b->heap_now + delay(b));
        b->heap_now += b->step;
        while (b->heap[0]->when <= b->heap_now) {
            b->heap_fired++;
            heap_arm(b, b->heap[0], b->heap_now + delay(b));
        }
    }
    return STEPS;
}

static void timers_open(struct timers *b, uint32_t n)
{
    memset(b, 0, sizeof(*b));
    b->n = n;
    b->step = (DELAY_MIN + DELAY_VAR / 2) / n;
    b->timer = must(calloc(n, sizeof(*b->timer)));
    b->heap_timer = must(calloc(n, sizeof(*b->heap_timer)));
    b->heap = must(calloc(n, sizeof(struct heap_timer *)));
    rng_seed(&b->rng, n);
    wheel_init(&b->wheel, 0);
    for (uint32_t i = 0; i < n; i++)
        heap_put(b, i, &b->heap_timer[i]);
    for (uint32_t i = 0; i < n; i++) {
        b->timer[i].owner = b;
        timer_init(&b->timer[i].timer, wheel_fired);
        wheel_arm(&b->wheel, &b->timer[i].timer, delay(b));
        heap_arm(b, &b->heap_timer[i], delay(b));
    }
}

static void timers_close(struct timers *b)
{
    free(b->timer);
    free(b->heap_timer);
    free(b->heap);
}

static void bench_wheel(const char *name, uint32_t n)
{
    static struct timers b;
    double ours, peer;
    timers_open(&b, n);
    take_turns(&b, wheel_steps, heap_steps, &ours, &peer);
    if (b.wheel_fired == 0 || b.heap_fired == 0) {
        fprintf(stderr, "base: %s fired no timer\n", name);
        exit(1);
    }
    report(name, "ns/step", ours, "binary heap", peer, peer / ours);
    timers_close(&b);
}

/* ---- slab ---- */

#define OBJECTS     10000
#define OBJECT_SIZE 200 /* a stream or a neighbour */
#define TURNS       1000000

struct objects {
    struct slab *slab;
    void *ours[OBJECTS];
    void *peer[OBJECTS];
    uint16_t order[65536]; /* which object goes next */
};

static void *libc_alloc(struct mem *mem, size_t size, size_t align)
{
    (void)mem;
    void *block = aligned_alloc(align, (size + align - 1) & ~(align - 1));
    return block ? memset(block, 0, size) : NULL;
}

static void libc_free(struct mem *mem, void *block, size_t size)
{
    (void)mem;
    (void)size;
    free(block);
}

static struct mem memory = {.alloc = libc_alloc, .free = libc_free};

static uint64_t slab_turns(void *bench)
{
    struct objects *b = bench;
    handle_t handle;
    for (uint32_t i = 0; i < TURNS; i++) {
        void **at = &b->ours[b->order[i & 0xffff]];
        slab_free(b->slab, *at);
        *at = must(slab_alloc(b->slab, &handle));
    }
    return TURNS;
}

static uint64_t malloc_turns(void *bench)
{
    struct objects *b = bench;
    for (uint32_t i = 0; i < TURNS; i++) {
        void **at = &b->peer[b->order[i & 0xffff]];
        free(*at);
        *at = memset(must(malloc(OBJECT_SIZE)), 0, OBJECT_SIZE);
    }
    return TURNS;
}

static void bench_slab(void)
{
    static struct objects b;
    struct rng rng;
    handle_t handle;
    double ours, peer;
    rng_seed(&rng, 1);
    b.slab = must(slab_create(&memory, OBJECT_SIZE, 8, OBJECTS));
    for (int i = 0; i < OBJECTS; i++) {
        b.ours[i] = must(slab_alloc(b.slab, &handle));
        b.peer[i] = must(malloc(OBJECT_SIZE));
    }
    for (size_t i = 0; i < sizeof(b.order) / sizeof(b.order[0]); i++)
        b.order[i] = (uint16_t)rng_below(&rng, OBJECTS);
    take_turns(&b, slab_turns, malloc_turns, &ours, &peer);
    report("slab", "ns/turn", ours, "malloc", peer, peer / ours);
    for (int i = 0; i < OBJECTS; i++)
        free(b.peer[i]);
    slab_destroy(b.slab);
}

/* ---- crc32c ---- */

#ifdef HAVE_ISAL
#define CRC_BYTES (UINT64_C(1) << 26) /* a round */

struct crcs {
    crc32c_fn ours;
    uint8_t *bytes;
    size_t len;
    volatile uint32_t sum; /* so that no call is left out */
};

static uint64_t our_crcs(void *bench)
{
    struct crcs *b = bench;
    uint64_t n = CRC_BYTES / b->len;
    uint32_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum ^= b->ours((uint32_t)i, b->bytes, b->len);
    b->sum = sum;
    return n;
}

static uint64_t isal_crcs(void *bench)
{
    struct crcs *b = bench;
    uint64_t n = CRC_BYTES / b->len;
    uint32_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum ^= ~crc32_iscsi(b->bytes, (int)b->len, ~(uint32_t)i);
    b->sum = sum;
    return n;
}

static void bench_crc32c(void)
{
    static const size_t lengths[] = {64, 256, 1500, 65536};
    struct crcs b = {.ours = crc32c_select(), .bytes = must(aligned_alloc(64, 65536))};
    struct rng rng;
    rng_seed(&rng, 2);
    for (size_t i = 0; i < 65536; i++)
        b.bytes[i] = (uint8_t)rng_u64(&rng);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        char name[32];
        double ours, peer;
        b.len = lengths[i];
        (void)our_crcs(&b);
        uint32_t sum = b.sum;
        (void)isal_crcs(&b);
        if (sum != b.sum) {
            fprintf(stderr, "base: ISA-L has other CRCs of %zu bytes\n", b.len);
            exit(1);
        }
        take_turns(&b, our_crcs, isal_crcs, &ours, &peer);
        snprintf(name, sizeof(name), "crc32c/%zu", b.len);
        report(name, "GB/s", (double)b.len / ours, "isa-l", (double)b.len / peer, peer / ours);
    }
    free(b.bytes);
}
#else
static void bench_crc32c(void)
{
    fprintf(stderr, "base: no crc32c cases, as the build found no ISA-L (package libisal-dev)\n");
}
#endif

int main(void)
{
    bench_wheel("wheel", 10000);
    bench_wheel("wheel/100", 100);
    bench_wheel("wheel/10000", 10000);
    bench_wheel("wheel/1000000", 1000000);
    bench_slab();
    bench_crc32c();
#ifdef HAVE_DPDK
    bench_flow();
#else
    fprintf(stderr, "base: no flow cases, as the build found no DPDK (package libdpdk-dev)\n");
#endif
    return 0;
}
