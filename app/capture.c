/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/capture.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/engine.h"
#include "app/log.h"

#define RING_BYTES       (4u << 20) /* for each worker */
#define DRAIN_PACKETS    20000 /* at most in one go, so that the control thread stays responsive */
#define MAIL_TIMEOUT_MS  500
#define STATISTICS_BYTES 64 /* of an interface at the end of the file, rounded up */

_Static_assert(CONFIG_SNAPLEN_MAX <= RING_BYTES / 4, "a ring holds several of the largest packets");

const char *capture_state_name(enum capture_state s)
{
    static const char *const names[] = {
#define X(id, name) [CAPTURE_##id] = name,
        CAPTURE_STATES(X)
#undef X
    };
    return names[s];
}

/* ---- the letter that hands a worker its ring, or takes it away ---- */

struct capture_mail {
    struct mail mail;
    struct capture_ring *ring;  /* the worker's from now on; NULL: none */
    struct capture_ring *owned; /* destroyed with the letter */
};

static void capture_mail_run(struct worker *w, struct mail *m)
{
    w->capture = ((struct capture_mail *)m)->ring;
}

static void capture_mail_release(struct mail *m)
{
    struct capture_mail *c = (struct capture_mail *)m;
    capture_ring_destroy(c->owned);
    free(c);
}

/* firm: a ring is taken back whenever the worker moves again. */
static struct capture_mail *post_ring(struct worker *w, struct capture_ring *ring,
                                      struct capture_ring *owned, bool firm)
{
    struct capture_mail *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    *m = (struct capture_mail){
        .mail = {.run = capture_mail_run, .release = capture_mail_release, .firm = firm},
        .ring = ring,
        .owned = owned,
    };
    if (mailbox_post(&w->mail, &m->mail))
        return m;
    free(m);
    return NULL;
}

/* False: the worker does not have it, and it is gone. */
static bool give_ring(struct worker *w, struct capture_ring *ring)
{
    struct capture_mail *m = post_ring(w, ring, NULL, false);
    enum mail_outcome how = m ? mailbox_wait(&w->mail, &m->mail, MAIL_TIMEOUT_MS) : MAIL_REVOKED;
    if (how == MAIL_BACK) {
        capture_mail_release(&m->mail);
        return true;
    }
    if (how == MAIL_REVOKED) {
        capture_ring_destroy(ring);
        return false;
    }
    struct capture_mail *back = post_ring(w, NULL, ring, true);
    if (back)
        mailbox_forget(&back->mail);
    return false;
}

/* m: a letter that takes the worker's ring; NULL: there was no memory for one. True: the ring is
 * the caller's. */
static bool ring_is_back(struct worker *w, struct capture_mail *m, unsigned timeout_ms)
{
    if (!m || mailbox_wait(&w->mail, &m->mail, timeout_ms) != MAIL_BACK)
        return false;
    m->owned = NULL;
    capture_mail_release(&m->mail);
    return true;
}

/* ---- start ---- */

__attribute__((format(printf, 3, 4))) static int refuse(char *error, size_t room,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, room, format, args);
    va_end(args);
    return RUNTIME_E_REFUSED;
}

static uint64_t wall_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * TICK_SEC + (uint64_t)t.tv_nsec;
}

static void default_name(char *to, size_t room)
{
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(to, room, "millrace-%Y%m%d-%H%M%S.pcapng", &tm);
}

/* One name, not a path, so that nothing outside of the directory can be written; and nothing in it
 * that a terminal would obey. */
static bool name_ok(const char *name)
{
    for (const char *c = name; *c; c++)
        if (iscntrl((unsigned char)*c) || *c == '/')
            return false;
    return name[0] && name[0] != '.' && strlen(name) < 200;
}

static bool name_file(char path[CAPTURE_PATH_MAX], const char *directory, const char *name,
                      char *error, size_t room)
{
    char made[64];
    if (!name) {
        default_name(made, sizeof(made));
        name = made;
    }
    int n = snprintf(path, CAPTURE_PATH_MAX, "%s/%s", directory, name);
    if (!name_ok(name))
        refuse(error, room, "'%s' is not a plain file name", name);
    else if (n < 0 || n >= CAPTURE_PATH_MAX)
        refuse(error, room, "the path is too long");
    else if (mkdir(directory, 0750) != 0 && errno != EEXIST)
        refuse(error, room, "%s: %s", directory, strerror(errno));
    else
        return true;
    return false;
}

/* A new file. Negative: error says why not. */
static int make_file(const char *path, char *error, size_t room)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (fd >= 0)
        return fd;
    return refuse(error, room, "%s: %s%s", path, strerror(errno),
                  errno == EEXIST ? "; name another file, or remove that one" : "");
}

static void start_file(struct runtime *rt)
{
    struct capture *c = &rt->capture;
    pcapng_start(&c->file, c->fd, "millrace");
    for (unsigned i = 0; i < rt->n_ports; i++)
        pcapng_interface(&c->file, rt->port[i].name, c->snaplen);
}

static bool captures(const struct capture *c, unsigned worker)
{
    return c->worker < 0 || (unsigned)c->worker == worker;
}

static void collect_lost(struct runtime *rt, const struct capture_ring *r)
{
    for (uint16_t i = 0; i < rt->n_ports; i++)
        rt->capture.lost[i] += capture_ring_lost(r, i);
}

/* Takes the rings back; what is in them can still be written. */
static void stop_workers(struct runtime *rt)
{
    struct capture *c = &rt->capture;
    struct capture_mail *m[CONFIG_WORKERS_MAX];
    for (unsigned i = 0; i < rt->n_workers; i++)
        if (c->ring[i])
            m[i] = post_ring(&rt->worker[i], NULL, c->ring[i], true);
    tick_t end = engine_now(rt) + MAIL_TIMEOUT_MS * TICK_MS; /* for all of them together */
    for (unsigned i = 0; i < rt->n_workers; i++) {
        unsigned left = (unsigned)(tick_since(end, engine_now(rt)) / TICK_MS);
        if (!c->ring[i] || ring_is_back(&rt->worker[i], m[i], left))
            continue;
        collect_lost(rt, c->ring[i]);
        c->ring[i] = NULL; /* the letter's */
        log_warning("capture: worker %u did not answer; its last packets are missing", i);
    }
}

static void destroy_rings(struct runtime *rt)
{
    for (unsigned i = 0; i < rt->n_workers; i++) {
        if (rt->capture.ring[i])
            collect_lost(rt, rt->capture.ring[i]);
        capture_ring_destroy(rt->capture.ring[i]);
        rt->capture.ring[i] = NULL;
    }
}

static int start_workers(struct runtime *rt, char *error, size_t room)
{
    struct capture *c = &rt->capture;
    for (unsigned i = 0; i < rt->n_workers; i++) {
        if (!captures(c, i))
            continue;
        struct capture_ring *ring = capture_ring_create(RING_BYTES, c->snaplen);
        if (!ring)
            return refuse(error, room, "no memory for the ring of worker %u", i);
        if (!give_ring(&rt->worker[i], ring))
            return refuse(error, room, "worker %u does not answer", i);
        c->ring[i] = ring;
    }
    return 0;
}

/* Can it be started? 0 or a refusal. */
static int check_options(const struct runtime *rt, const struct runtime_capture_options *o,
                         char *error, size_t room)
{
    uint64_t most = rt->config->capture.max_bytes;
    if (rt->capture.state == CAPTURE_RUNNING)
        return refuse(error, room, "a capture to %s runs; stop it first", rt->capture.path);
    if (o->worker >= (int)rt->n_workers)
        return refuse(error, room, "there is no worker %d; the last one is %u", o->worker,
                      rt->n_workers - 1);
    if (o->max_bytes && (o->max_bytes < CONFIG_CAPTURE_MIN || o->max_bytes > most))
        return refuse(error, room,
                      "the size limit has to be %u to %llu bytes, which is capture.max-size",
                      CONFIG_CAPTURE_MIN, (unsigned long long)most);
    if (o->snaplen && (o->snaplen < CONFIG_SNAPLEN_MIN || o->snaplen > CONFIG_SNAPLEN_MAX))
        return refuse(error, room, "snaplen has to be %u to %u bytes", CONFIG_SNAPLEN_MIN,
                      CONFIG_SNAPLEN_MAX);
    return 0;
}

static int begin(struct runtime *rt, char *error, size_t room)
{
    struct capture *c = &rt->capture;
    start_file(rt);
    c->started = engine_now(rt);
    c->wall = wall_now() - c->started;
    int ret = start_workers(rt, error, room);
    if (ret == 0) {
        c->state = CAPTURE_RUNNING;
        log_notice("capture to %s started", c->path);
        return 0;
    }
    stop_workers(rt);
    destroy_rings(rt);
    close(c->fd);
    unlink(c->path);
    c->path[0] = '\0';
    return ret;
}

int runtime_capture_start(struct runtime *rt, const struct runtime_capture_options *o, char *error,
                          size_t room)
{
    const struct config *config = rt->config;
    char path[CAPTURE_PATH_MAX];
    if (check_options(rt, o, error, room) < 0 ||
        !name_file(path, config->capture.directory, o->file, error, room))
        return RUNTIME_E_REFUSED;
    int fd = make_file(path, error, room);
    if (fd < 0)
        return RUNTIME_E_REFUSED;
    rt->capture = (struct capture){
        .state = CAPTURE_OFF,
        .worker = o->worker < 0 ? -1 : o->worker,
        .max_bytes = o->max_bytes ? o->max_bytes : config->capture.max_bytes,
        .snaplen = o->snaplen ? o->snaplen : config->capture.snaplen,
        .fd = fd,
    };
    memcpy(rt->capture.path, path, sizeof(path));
    return begin(rt, error, room);
}

/* ---- writing ---- */

/* The oldest packet that waits in any ring. */
static struct capture_ring *oldest(struct runtime *rt)
{
    struct capture_ring *best = NULL;
    tick_t tick = TICK_NEVER;
    for (unsigned i = 0; i < rt->n_workers; i++) {
        struct capture_ring *r = rt->capture.ring[i];
        const struct capture_packet *p = r ? capture_ring_peek(r) : NULL;
        if (p && p->tick < tick) {
            best = r;
            tick = p->tick;
        }
    }
    return best;
}

/* Room for the packet, and for the end of the file? */
static bool fits(const struct runtime *rt, const struct capture_packet *p)
{
    const struct capture *c = &rt->capture;
    uint64_t end = (uint64_t)STATISTICS_BYTES * rt->n_ports;
    return c->file.bytes + pcapng_packet_bytes(p->captured) + end <= c->max_bytes;
}

/* Up to n packets. False: the file is full. */
static bool write_packets(struct runtime *rt, unsigned n)
{
    struct capture *c = &rt->capture;
    struct capture_ring *r;
    while (n-- > 0 && (r = oldest(rt))) {
        const struct capture_packet *p = capture_ring_peek(r);
        if (!fits(rt, p))
            return false;
        pcapng_packet(&c->file, p->iface, c->wall + p->tick, p->direction, p->bytes, p->captured,
                      p->length);
        capture_ring_pop(r);
    }
    return true;
}

static uint64_t lost_of(const struct runtime *rt, uint16_t iface)
{
    uint64_t n = rt->capture.lost[iface];
    for (unsigned i = 0; i < rt->n_workers; i++)
        if (rt->capture.ring[i])
            n += capture_ring_lost(rt->capture.ring[i], iface);
    return n;
}

/* why: STOPPED or FULL; writing may make it FAILED. */
static void finish(struct runtime *rt, enum capture_state why)
{
    struct capture *c = &rt->capture;
    stop_workers(rt);
    if (why == CAPTURE_STOPPED && !write_packets(rt, UINT32_MAX))
        why = CAPTURE_FULL;
    destroy_rings(rt);
    c->ended = engine_now(rt);
    for (uint16_t i = 0; i < rt->n_ports; i++)
        pcapng_statistics(&c->file, i, c->wall + c->ended, c->lost[i]);
    if (!pcapng_flush(&c->file)) {
        why = CAPTURE_FAILED;
        snprintf(c->error, sizeof(c->error), "writing: %s", strerror(c->file.error));
    }
    close(c->fd);
    c->fd = -1;
    c->state = why;
    log_notice("capture to %s: %s, %llu packets%s%s", c->path, capture_state_name(why),
               (unsigned long long)c->file.packets, c->error[0] ? ", " : "", c->error);
}

void capture_drain(struct runtime *rt)
{
    struct capture *c = &rt->capture;
    if (c->state != CAPTURE_RUNNING)
        return;
    bool room = write_packets(rt, DRAIN_PACKETS);
    if (!room)
        finish(rt, CAPTURE_FULL);
    else if (!pcapng_flush(&c->file))
        finish(rt, CAPTURE_FAILED);
}

void capture_end(struct runtime *rt)
{
    if (rt->capture.state == CAPTURE_RUNNING)
        finish(rt, CAPTURE_STOPPED);
}

int runtime_capture_stop(struct runtime *rt, char *error, size_t room)
{
    if (rt->capture.state != CAPTURE_RUNNING)
        return refuse(error, room, "no capture runs");
    finish(rt, CAPTURE_STOPPED);
    return 0;
}

void runtime_capture(const struct runtime *rt, struct runtime_capture *to)
{
    const struct capture *c = &rt->capture;
    *to = (struct runtime_capture){
        .state = c->state,
        .worker = c->worker,
        .file = c->path[0] ? c->path : NULL,
        .max_bytes = c->max_bytes,
        .snaplen = c->snaplen,
        .packets = c->file.packets,
        .bytes = c->file.bytes,
        .error = c->error[0] ? c->error : NULL,
    };
    for (uint16_t i = 0; i < rt->n_ports; i++)
        to->lost += lost_of(rt, i);
    if (c->state != CAPTURE_OFF)
        to->running =
            tick_since(c->state == CAPTURE_RUNNING ? engine_now(rt) : c->ended, c->started);
}
