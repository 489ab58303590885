/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new configuration for a running appliance, all or nothing: the file is validated whole, then
 * each worker is told; where one cannot, those before it are told the old one again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/engine.h"
#include "app/log.h"

#define MAIL_TIMEOUT_MS 1000

struct reload_mail {
    struct mail mail;
    struct stack_config config;
    struct iface_config *iface; /* owned */
    enum config_idle idle;
    uint32_t max_sleep_us;
    int error; /* out: stack_configure's */
};

static void reload_run(struct worker *w, struct mail *m)
{
    struct reload_mail *r = (struct reload_mail *)m;
    r->error = stack_configure(w->stack, &r->config, w->now);
    if (r->error < 0)
        return;
    w->max_sleep_us = r->max_sleep_us;
    w->sleep_us = 0;
    atomic_store_explicit(&w->idle, (int)r->idle, memory_order_relaxed);
}

static void reload_release(struct mail *m)
{
    struct reload_mail *r = (struct reload_mail *)m;
    free(r->iface);
    free(r);
}

static struct reload_mail *reload_mail(const struct runtime *rt, const struct config *c, unsigned w)
{
    struct reload_mail *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->iface = engine_ifaces(rt, c);
    if (!r->iface) {
        free(r);
        return NULL;
    }
    r->mail = (struct mail){.run = reload_run, .release = reload_release};
    r->config = engine_stack_config(rt, c, r->iface, w);
    r->idle = c->workers.idle;
    r->max_sleep_us = c->workers.max_sleep_us;
    return r;
}

static int tell(struct runtime *rt, const struct config *c, unsigned w)
{
    struct mailbox *box = &rt->worker[w].mail;
    struct reload_mail *r = reload_mail(rt, c, w);
    if (!r)
        return RUNTIME_E_MEMORY;
    if (!mailbox_post(box, &r->mail)) {
        reload_release(&r->mail);
        return RUNTIME_E_FULL;
    }
    if (!mailbox_wait(box, &r->mail, MAIL_TIMEOUT_MS))
        return RUNTIME_E_TIMEOUT;
    int error = r->error;
    reload_release(&r->mail);
    if (error == 0)
        return 0;
    return error == STACK_E_MEMORY ? RUNTIME_E_MEMORY : RUNTIME_E_REFUSED;
}

static int tell_all(struct runtime *rt, const struct config *c, FILE *errors)
{
    for (unsigned w = 0; w < rt->n_workers; w++) {
        int error = tell(rt, c, w);
        if (error == 0)
            continue;
        fprintf(errors, "worker %u: %s; all is as it was\n", w, runtime_error_text(error));
        /* A worker that has not answered may still take the new one: it is told as well. */
        unsigned told = error == RUNTIME_E_TIMEOUT ? w + 1 : w;
        for (unsigned back = 0; back < told; back++)
            tell(rt, rt->config, back);
        return RUNTIME_E_REFUSED;
    }
    return 0;
}

int runtime_reload(struct runtime *rt, FILE *errors)
{
    struct config *next = config_load(rt->file, errors);
    if (!next)
        return RUNTIME_E_REFUSED;
    if (!config_reloadable(rt->config, next, errors) || tell_all(rt, next, errors) < 0) {
        config_free(next);
        return RUNTIME_E_REFUSED;
    }
    if (!log_open(next->log.level, next->log.file, next->log.json))
        log_warning("log.file %s: %s; the log stays where it was", next->log.file, strerror(errno));
    eal_log(next->log.level);
    config_free(rt->config);
    rt->config = next;
    log_notice("%s is in force", rt->file);
    return 0;
}
