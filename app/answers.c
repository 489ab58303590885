/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/log.h"

#define QUESTIONS_A_RUN 256 /* of one worker, before others are looked at */

static void give(void *ctx, unsigned worker, const struct question_answer *answer)
{
    struct answers *a = ctx;
    questions_answer(&a->questions[worker], answer);
}

static bool watch(struct answers *a, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static bool init(struct answers *a, const struct config *c)
{
    memory_init(&a->memory);
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    a->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (a->epoll < 0 || !watch(a, a->wake))
        return false;
    for (unsigned i = 0; i < a->n_workers; i++)
        if (!questions_init(&a->questions[i], a->wake))
            return false;
    a->resolver = resolver_create(&a->memory.mem, &c->resolver, c->host, c->n_hosts, give, a);
    a->verifier = verifier_create(give, a);
    return a->resolver && a->verifier && watch(a, resolver_fd(a->resolver)) &&
           watch(a, verifier_fd(a->verifier));
}

bool answers_init(struct answers *a, const struct config *c, const struct assets_store *assets,
                  unsigned n_workers)
{
    *a = (struct answers){.epoll = -1, .wake = -1, .assets = assets, .n_workers = n_workers};
    a->questions = calloc(n_workers, sizeof(*a->questions));
    if (a->questions && init(a, c))
        return true;
    log_error("resolver: %s", errno ? strerror(errno) : "cannot start");
    return false;
}

void answers_fini(struct answers *a)
{
    if (!a->questions)
        return;
    verifier_destroy(a->verifier);
    resolver_destroy(a->resolver);
    for (unsigned i = 0; i < a->n_workers; i++)
        questions_fini(&a->questions[i]);
    free(a->questions);
    if (a->wake >= 0)
        close(a->wake);
    if (a->epoll >= 0)
        close(a->epoll);
    *a = (struct answers){0};
}

bool answers_configure(struct answers *a, const struct config *c, tick_t now)
{
    return resolver_configure(a->resolver, &c->resolver, c->host, c->n_hosts, now);
}

/* Whoever asked may be gone, and with it the proxy whose credentials are named. */
static void hear_password(struct answers *a, unsigned worker, const struct question *asked)
{
    if (assets_has_credentials(a->assets, asked->login.credentials)) {
        verifier_ask(a->verifier, worker, asked);
        return;
    }
    struct question_answer none = {.id = asked->id,
                                   .asker = asked->asker,
                                   .kind = asked->kind,
                                   .answer.outcome = CONNECT_BUSY};
    give(a, worker, &none);
}

static void hear(struct answers *a, unsigned worker, tick_t now)
{
    struct questions *q = &a->questions[worker];
    const struct question *asked;
    for (unsigned n = 0; n < QUESTIONS_A_RUN && (asked = questions_peek(q)); n++) {
        if (asked->kind == QUESTION_NAME)
            resolver_ask(a->resolver, worker, asked, now);
        else
            hear_password(a, worker, asked);
        questions_pop(q);
    }
}

/* Is there more than was taken in one run? Then the next is due at once. */
static bool more(const struct answers *a)
{
    for (unsigned i = 0; i < a->n_workers; i++)
        if (questions_peek(&a->questions[i]))
            return true;
    return false;
}

void answers_run(struct answers *a, tick_t now)
{
    uint64_t times;
    ssize_t ignored = read(a->wake, &times, sizeof(times)); /* before the rings are looked at */
    (void)ignored;
    for (unsigned i = 0; i < a->n_workers; i++)
        hear(a, i, now);
    resolver_run(a->resolver, now);
    verifier_take(a->verifier);
}

tick_t answers_deadline(const struct answers *a, tick_t now)
{
    return more(a) ? now : resolver_deadline(a->resolver, now);
}
