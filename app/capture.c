/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/capture.h"

#include <assert.h>
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
#define SNAPLEN_MAX      (RING_BYTES / 4)

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

static struct capture_mail *post_ring(struct worker *w, struct capture_ring *ring,
                                      struct capture_ring *owned)
{
    struct capture_mail *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    *m = (struct capture_mail){
        .mail = {.run = capture_mail_run, .release = capture_mail_release},
        .ring = ring,
        .owned = owned,
    };
    if (mailbox_post(&w->mail, &m->mail))
        return m;
    free(m);
    return NULL;
}

/*
 * 0: the worker has it. RUNTIME_E_FULL: it will not. RUNTIME_E_TIMEOUT: it will when it moves
 * again, and owned is destroyed then.
 */
static int set_ring(struct worker *w, struct capture_ring *ring, struct capture_ring *owned)
{
    struct capture_mail *m = post_ring(w, ring, owned);
    if (!m)
        return RUNTIME_E_FULL;
    if (!mailbox_wait(&w->mail, &m->mail, MAIL_TIMEOUT_MS))
        return RUNTIME_E_TIMEOUT;
    m->owned = NULL; /* the caller's again */
    capture_mail_release(&m->mail);
    return 0;
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

/* One name, not a path, so that nothing outside of the directory can be written. */
static bool name_ok(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 200;
}

/* A new file in the configured directory. */
static int open_file(struct capture *c, const char *directory, const char *name, char *error,
                     size_t room)
{
    char made[64];
    if (!name) {
        default_name(made, sizeof(made));
        name = made;
    }
    if (!name_ok(name))
        return refuse(error, room, "'%s' is not a plain file name", name);
    if (mkdir(directory, 0750) != 0 && errno != EEXIST)
        return refuse(error, room, "%s: %s", directory, strerror(errno));
    int n = snprintf(c->path, sizeof(c->path), "%s/%s", directory, name);
    if (n < 0 || (size_t)n >= sizeof(c->path))
        return refuse(error, room, "the path is too long");
    c->fd = open(c->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (c->fd < 0)
        return refuse(error, room, "%s: %s", c->path, strerror(errno));
    return 0;
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
    for (unsigned i = 0; i < rt->n_workers; i++) {
        if (!c->ring[i])
            continue;
        if (set_ring(&rt->worker[i], NULL, c->ring[i]) == 0)
            continue;
        collect_lost(rt, c->ring[i]);
        c->ring[i] = NULL; /* the letter's, or lost with a worker that does not move */
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
        int set = set_ring(&rt->worker[i], ring, NULL);
        if (set == RUNTIME_E_FULL) {
            capture_ring_destroy(ring);
        } else if (set == RUNTIME_E_TIMEOUT) {
            struct capture_mail *back = post_ring(&rt->worker[i], NULL, ring);
            if (back)
                back->mail.given_up = true;
        }
        if (set < 0)
            return refuse(error, room, "worker %u does not answer", i);
        c->ring[i] = ring;
    }
    return 0;
}

int runtime_capture_start(struct runtime *rt, const struct runtime_capture_options *o, char *error,
                          size_t room)
{
    struct capture *c = &rt->capture;
    if (c->state == CAPTURE_RUNNING)
        return refuse(error, room, "a capture to %s runs; stop it first", c->path);
    if (o->worker >= (int)rt->n_workers)
        return refuse(error, room, "there is no worker %d; the last one is %u", o->worker,
                      rt->n_workers - 1);
    *c = (struct capture){
        .state = CAPTURE_OFF,
        .worker = o->worker < 0 ? -1 : o->worker,
        .max_bytes = o->max_bytes ? o->max_bytes : rt->config->capture.max_bytes,
        .snaplen = o->snaplen ? o->snaplen : rt->config->capture.snaplen,
        .fd = -1,
    };
    if (c->snaplen > SNAPLEN_MAX)
        c->snaplen = SNAPLEN_MAX;
    int ret = open_file(c, rt->config->capture.directory, o->file, error, room);
    if (ret < 0)
        return ret;
    start_file(rt);
    c->started = engine_now(rt);
    c->wall = wall_now() - c->started;
    ret = start_workers(rt, error, room);
    if (ret < 0) {
        stop_workers(rt);
        destroy_rings(rt);
        close(c->fd);
        unlink(c->path);
        return ret;
    }
    c->state = CAPTURE_RUNNING;
    log_notice("capture to %s started", c->path);
    return 0;
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
        c->packets++;
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
               (unsigned long long)c->packets, c->error[0] ? ", " : "", c->error);
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
        .packets = c->packets,
        .bytes = c->file.bytes,
        .error = c->error[0] ? c->error : NULL,
    };
    for (uint16_t i = 0; i < rt->n_ports; i++)
        to->lost += lost_of(rt, i);
    if (c->state != CAPTURE_OFF)
        to->running =
            tick_since(c->state == CAPTURE_RUNNING ? engine_now(rt) : c->ended, c->started);
}
