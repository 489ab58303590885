/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new configuration for a running appliance, all or nothing: the file is validated whole, then
 * each worker is told; where one cannot, those before it are told the old one again. The letters
 * for both are there before the first is posted, so that the way back cannot fail.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/engine.h"
#include "app/log.h"

#define MAIL_TIMEOUT_MS 1000

struct reload_mail {
    struct mail mail;
    struct stack_config config;
    struct iface_config *iface;      /* owned */
    struct stack_listener *listener; /* owned */
    struct assets *assets;           /* that the listeners point to; held */
    enum config_idle idle;
    uint32_t max_sleep_us;
    uint32_t access_sample;
    tick_t now; /* the same for all: trials of new addresses end at the same moment */
    int error;  /* out: stack_configure's */
};

static void reload_run(struct worker *w, struct mail *m)
{
    struct reload_mail *r = (struct reload_mail *)m;
    r->error = stack_configure(w->stack, &r->config, r->now);
    if (r->error < 0)
        return;
    connect_forget(w->tunnels.connect);
    w->max_sleep_us = r->max_sleep_us;
    w->access.sample = r->access_sample;
    w->sleep_us = 0;
    atomic_store_explicit(&w->idle, (int)r->idle, memory_order_relaxed);
}

static void reload_release(struct mail *m)
{
    struct reload_mail *r = (struct reload_mail *)m;
    free(r->iface);
    free(r->listener);
    assets_release(r->assets);
    free(r);
}

/* A configuration, and what it names in files. */
struct revision {
    struct config *config;
    struct assets *assets;
};

static struct reload_mail *reload_mail(const struct runtime *rt, const struct revision *v,
                                       unsigned w, bool firm, tick_t now)
{
    const struct config *c = v->config;
    struct reload_mail *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->assets = assets_hold(v->assets);
    r->iface = engine_ifaces(rt, c);
    r->listener = engine_listeners(c, v->assets);
    r->mail = (struct mail){.run = reload_run, .release = reload_release, .firm = firm};
    if (!r->iface || !r->listener) {
        reload_release(&r->mail);
        return NULL;
    }
    r->config = engine_stack_config(rt, c, r->iface, r->listener, w);
    r->now = now;
    r->idle = c->workers.idle;
    r->max_sleep_us = c->workers.max_sleep_us;
    r->access_sample = c->access_log.sample;
    return r;
}

/* One for each worker. */
struct letters {
    struct reload_mail *to[CONFIG_WORKERS_MAX];
};

static bool write_letters(const struct runtime *rt, const struct revision *v, bool firm,
                          struct letters *l)
{
    bool all = true;
    tick_t now = engine_now(rt);
    for (unsigned w = 0; w < rt->n_workers; w++) {
        l->to[w] = reload_mail(rt, v, w, firm, now);
        all &= l->to[w] != NULL;
    }
    return all;
}

static void tear_up(const struct runtime *rt, struct letters *l)
{
    for (unsigned w = 0; w < rt->n_workers; w++)
        if (l->to[w])
            reload_release(&l->to[w]->mail);
}

/* 0 or a runtime_error. *taken: the worker has the new configuration, or may yet. */
static int tell(struct runtime *rt, unsigned w, struct letters *l, bool *taken)
{
    struct mailbox *box = &rt->worker[w].mail;
    *taken = false;
    if (!mailbox_post(box, &l->to[w]->mail))
        return RUNTIME_E_FULL;
    enum mail_outcome how = mailbox_wait(box, &l->to[w]->mail, MAIL_TIMEOUT_MS);
    if (how != MAIL_BACK) {
        l->to[w] = NULL; /* the box's */
        *taken = how == MAIL_LATE;
        return RUNTIME_E_TIMEOUT;
    }
    *taken = l->to[w]->error == 0;
    return *taken ? 0 : RUNTIME_E_REFUSED;
}

/* Worker w was told, and is now told the old configuration. It need not be waited for. */
static void take_back(struct runtime *rt, unsigned w, struct letters *undo)
{
    bool posted = mailbox_post(&rt->worker[w].mail, &undo->to[w]->mail);
    assert(posted && "letters before it are done with, and there is room for a firm one");
    if (!posted)
        return;
    mailbox_forget(&undo->to[w]->mail);
    undo->to[w] = NULL;
}

static int tell_all(struct runtime *rt, struct letters *next, struct letters *undo, FILE *errors)
{
    for (unsigned w = 0; w < rt->n_workers; w++) {
        bool taken;
        int error = tell(rt, w, next, &taken);
        if (error == 0)
            continue;
        fprintf(errors, "worker %u: %s; all is as it was\n", w, runtime_error_text(error));
        for (unsigned back = 0; back < w + taken; back++)
            take_back(rt, back, undo);
        return RUNTIME_E_REFUSED;
    }
    return 0;
}

static int tell_workers(struct runtime *rt, const struct revision *v, FILE *errors)
{
    struct letters next, undo;
    const struct revision now = {rt->config, rt->assets};
    bool written = write_letters(rt, v, false, &next);
    written &= write_letters(rt, &now, true, &undo);
    int error = written ? tell_all(rt, &next, &undo, errors) : RUNTIME_E_REFUSED;
    if (!written)
        fputs("no memory\n", errors);
    tear_up(rt, &next);
    tear_up(rt, &undo);
    return error;
}

/* Each is opened again, though it has the same name: that is how a file is rotated. */
static bool switch_logs(struct runtime *rt, const struct config *c, FILE *errors)
{
    if (!log_open(c->log.level, c->log.file, c->log.json)) {
        fprintf(errors, "log.file: %s: %s\n", c->log.file, strerror(errno));
        return false;
    }
    const char *file = c->access_log.file;
    if (!c->access_log.sample || access_log_open(&rt->access_log, file))
        return true;
    fprintf(errors, "access-log.file: %s: %s\n", file ? file : "standard output", strerror(errno));
    return false;
}

bool engine_reopen_logs(struct runtime *rt, FILE *errors)
{
    return switch_logs(rt, rt->config, errors);
}

/* False: all is as it was. */
static bool put_in_force(struct runtime *rt, const struct revision *v, FILE *errors)
{
    const struct config *now = rt->config;
    if (!switch_logs(rt, v->config, errors)) {
        switch_logs(rt, now, errors);
        return false;
    }
    if (tell_workers(rt, v, errors) == 0)
        return true;
    switch_logs(rt, now, errors);
    return false;
}

/* All that can be found out before anything changes. */
static bool read_revision(struct runtime *rt, struct revision *v, FILE *errors)
{
    v->config = config_load(rt->file, errors);
    if (!v->config || !config_reloadable(rt->config, v->config, errors))
        return false;
    struct config_faults f = {.file = rt->file, .tree = v->config->tree};
    v->assets = assets_load(&rt->assets_store, v->config, rt->assets, &f);
    config_faults_flush(&f, errors);
    return v->assets;
}

static void drop_revision(struct runtime *rt, struct revision *v)
{
    config_free(v->config);
    assets_release(v->assets);
    assets_reap(&rt->assets_store);
}

int runtime_reload(struct runtime *rt, FILE *errors)
{
    struct revision next = {0};
    if (!read_revision(rt, &next, errors) || !put_in_force(rt, &next, errors)) {
        drop_revision(rt, &next);
        return RUNTIME_E_REFUSED;
    }
    struct revision old = {rt->config, rt->assets};
    eal_log(next.config->log.level);
    rt->config = next.config;
    rt->assets = next.assets;
    assets_enforce(rt->assets);
    if (!answers_configure(&rt->answers, rt->config, engine_now(rt)))
        log_error("resolver: no memory for its new settings, the old ones stay");
    drop_revision(rt, &old);
    log_notice("%s is in force", rt->file);
    engine_log_assets(rt);
    return 0;
}
