/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/control.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "app/engine.h"
#include "app/http.h"
#include "app/log.h"
#include "app/notify.h"
#include "app/telemetry.h"

#define TICK_MS_IDLE    100
#define TICK_MS_CAPTURE 5
#define TICK_MS_ACCESS  10 /* while an access log is written */
#define TICK_MS_DRAIN   50

struct control {
    struct runtime *rt;
    struct http *http;
    int epoll;
    int signals;
    int timer;
    int period_ms; /* of timer */
    tick_t alive_at;
    tick_t links_at;
    tick_t rest_at;
    int access_error;    /* as last said */
    uint64_t duplicates; /* as last seen */
    struct log_limit duplicates_limit;
    bool stop;
};

static void signal_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
}

bool control_block_signals(void)
{
    sigset_t set;
    signal_set(&set);
    signal(SIGPIPE, SIG_IGN);
    /* What the kernel sends when the TAP driver's signals are too many to queue; it is fatal. */
    signal(SIGIO, SIG_IGN);
    return sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

static bool watch(const struct control *c, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static void set_period(struct control *c, int ms)
{
    if (c->period_ms == ms)
        return;
    struct timespec t = {.tv_nsec = (long)ms * 1000000};
    timerfd_settime(c->timer, 0, &(struct itimerspec){.it_interval = t, .it_value = t}, NULL);
    c->period_ms = ms;
}

static void log_lines(const char *what, char *text)
{
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        log_error("%s: %s", what, line);
}

static void reload(struct control *c)
{
    char *text = NULL;
    size_t size;
    notify_reloading();
    FILE *errors = open_memstream(&text, &size);
    if (errors) {
        int ret = runtime_reload(c->rt, errors);
        fclose(errors);
        log_lines("reload", text);
        if (ret < 0)
            log_error("the configuration that was in force stays");
    }
    free(text);
    notify_ready();
}

static void reopen_logs(struct control *c)
{
    char *text = NULL;
    size_t size;
    FILE *errors = open_memstream(&text, &size);
    if (!errors)
        return;
    bool done = engine_reopen_logs(c->rt, errors);
    fclose(errors);
    log_lines("logs", text);
    free(text);
    if (done)
        log_info("log files are opened anew");
}

/* HTTP connections are told, and have a while to end their streams. The second signal ends that.
 */
static void terminate(struct control *c, const char *how)
{
    c->stop = drain_stops(c->rt) || drain_connections(c->rt) == 0;
    log_notice(c->stop ? "%s: stopping" : "%s", how);
    if (!c->stop)
        runtime_drain(c->rt, true, TICK_NEVER);
}

/* One read takes all that wait, so that no storm of SIGHUP keeps a SIGTERM from being seen. */
static void on_signal(struct control *c)
{
    struct signalfd_siginfo s[8];
    bool again = false;
    bool reopen = false;
    ssize_t n = read(c->signals, s, sizeof(s));
    for (ssize_t i = 0; i < n / (ssize_t)sizeof(s[0]); i++) {
        again |= s[i].ssi_signo == SIGHUP;
        reopen |= s[i].ssi_signo == SIGUSR1;
        if (s[i].ssi_signo == SIGHUP || s[i].ssi_signo == SIGUSR1 || c->stop)
            continue;
        terminate(c, s[i].ssi_signo == SIGINT ? "interrupted" : "terminated");
    }
    if (again && !runtime_stopping(c->rt) && !c->stop)
        reload(c); /* which opens the logs, too */
    else if (reopen)
        reopen_logs(c);
}

static void look_at_workers(struct control *c)
{
    struct runtime *rt = c->rt;
    tick_t now = engine_now(rt);
    tick_t limit = rt->config->health.watchdog_ms * TICK_MS;
    bool all = true;
    for (unsigned i = 0; i < rt->n_workers; i++) {
        struct worker *w = &rt->worker[i];
        all &= watchdog_look(&rt->watchdog[i], i, counter_get(&w->counters, COUNTER_TURNS), limit,
                             now);
        mailbox_collect(&w->mail);
    }
    if (all && now >= c->alive_at) {
        notify_alive();
        c->alive_at = tick_after(now, notify_interval());
    }
}

/* Worker 0 finds them, for all. */
static void look_at_addresses(struct control *c)
{
    uint64_t n = counter_get(&c->rt->worker[0].counters, COUNTER_DAD_DUPLICATES);
    if (n == c->duplicates)
        return;
    c->duplicates = n;
    if (log_allow(&c->duplicates_limit, 1, engine_now(c->rt)))
        log_warning("another host has an address of ours, which is not used; millracectl show "
                    "health says which");
}

static void tell_link(struct port *told, const struct runtime_port *p)
{
    if (p->gone && !told->told_gone)
        log_error("device %s: interface '%s' has been removed; restart once there is one again",
                  p->name, p->interface);
    else if (!p->gone && p->link_up == told->told_down)
        log_notice("device %s: link %s", p->name, p->link_up ? "up" : "down");
    told->told_gone = p->gone;
    told->told_down = !p->link_up;
}

/* Once a second, which also bounds what a link that comes and goes can write. */
static void look_at_links(struct control *c)
{
    tick_t now = engine_now(c->rt);
    if (now < c->links_at)
        return;
    c->links_at = tick_after(now, TICK_SEC);
    for (unsigned i = 0; i < c->rt->n_ports; i++) {
        struct runtime_port p;
        runtime_port(c->rt, i, &p);
        tell_link(&c->rt->port[i], &p);
    }
}

static void look_at_access_log(struct control *c)
{
    int error = c->rt->access_log.error;
    if (error != 0 && error != c->access_error)
        log_error("access log: %s", strerror(error));
    c->access_error = error;
}

/* Once a second: the time of day, and what reloads have left. */
static void look_at_rest(struct control *c)
{
    tick_t now = engine_now(c->rt);
    if (now < c->rest_at)
        return;
    c->rest_at = tick_after(now, TICK_SEC);
    engine_set_wall(c->rt);
    assets_reap(&c->rt->assets_store);
    look_at_access_log(c);
}

static void on_timer(struct control *c)
{
    uint64_t times;
    ssize_t ignored = read(c->timer, &times, sizeof(times));
    (void)ignored;
    look_at_workers(c);
    look_at_addresses(c);
    look_at_links(c);
    look_at_rest(c);
    c->stop |= drain_look(c->rt);
    capture_drain(c->rt);
    engine_write_access_log(c->rt);
}

/* How often to look at everything, in milliseconds. */
static int period(const struct control *c)
{
    if (c->rt->capture.state == CAPTURE_RUNNING)
        return TICK_MS_CAPTURE;
    if (c->rt->config->access_log.sample)
        return TICK_MS_ACCESS;
    if (drain_stops(c->rt))
        return TICK_MS_DRAIN;
    int notify = (int)(tick_min(notify_interval() / 2, TICK_MS_IDLE * TICK_MS) / TICK_MS);
    return notify > 0 ? notify : 1;
}

/* Milliseconds until something is due that no descriptor tells of; -1: nothing is. */
static int patience(const struct control *c)
{
    tick_t now = engine_now(c->rt);
    tick_t at = answers_deadline(&c->rt->answers, now);
    int ms = http_timeout(c->http);
    if (at == TICK_NEVER)
        return ms;
    tick_t left = at > now ? (at - now + TICK_MS - 1) / TICK_MS : 0;
    int answers = left < INT_MAX ? (int)left : INT_MAX;
    return ms < 0 || answers < ms ? answers : ms;
}

static void step(struct control *c)
{
    struct epoll_event event[4];
    set_period(c, period(c));
    int n = epoll_wait(c->epoll, event, 4, patience(c));
    for (int i = 0; i < n; i++) {
        if (event[i].data.fd == c->signals)
            on_signal(c);
        else if (event[i].data.fd == c->timer)
            on_timer(c);
    }
    /* After each wait: for what is ready, and for what has timed out. */
    answers_run(&c->rt->answers, engine_now(c->rt));
    http_run(c->http);
}

static bool open_all(struct control *c)
{
    sigset_t set;
    signal_set(&set);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (c->epoll < 0 || c->signals < 0 || c->timer < 0 || !watch(c, c->signals) ||
        !watch(c, c->timer)) {
        log_error("control loop: %s", strerror(errno));
        return false;
    }
    return watch(c, c->rt->answers.epoll) && http_start(c->http, c->rt) &&
           watch(c, http_fd(c->http));
}

static void close_all(struct control *c)
{
    close(c->timer);
    close(c->signals);
    close(c->epoll);
}

bool control_run(struct runtime *rt, struct http *http)
{
    struct control c = {.rt = rt, .http = http, .epoll = -1, .signals = -1, .timer = -1};
    bool ok = open_all(&c);
    if (ok) {
        telemetry_start(rt);
        log_notice("%u worker%s running, control socket %s", rt->n_workers,
                   rt->n_workers == 1 ? "" : "s", rt->config->control.socket);
        notify_ready();
        while (!c.stop)
            step(&c);
        notify_stopping(0);
        telemetry_stop();
        capture_end(rt);
    }
    close_all(&c);
    return ok;
}
