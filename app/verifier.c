/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/verifier.h"

#include <crypt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <openssl/crypto.h>

struct check {
    unsigned worker;
    struct credentials *credentials; /* held */
    uint8_t outcome;                 /* enum connect_outcome, once it is done */
    uint64_t took_us;
    struct question q;
};

struct verifier {
    verifier_answer *answer;
    void *ctx;
    int fd;
    pthread_t thread;
    struct crypt_data *crypt; /* the thread's */
    uint64_t count[VERIFIER_COUNTER_END];
    uint32_t taken; /* the control thread's, as check[taken .. done) is */
    pthread_mutex_t lock;
    pthread_cond_t more;
    uint32_t done;  /* written by the thread, with the lock; check[done .. asked) is its own */
    uint32_t asked; /* written by the control thread, with the lock; free-running as the others */
    bool stop;      /* the same */
    struct check check[VERIFIER_MAX];
};

static struct check *check_at(struct verifier *v, uint32_t n)
{
    return &v->check[n % VERIFIER_MAX];
}

/* ---- the thread ---- */

static uint64_t spent_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Where they differ does not show in the time it takes. */
static bool same(const char *a, const char *b)
{
    size_t n = strlen(a);
    return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}

static bool is_right(struct crypt_data *crypt, const struct check *c)
{
    const char *user = c->q.login.user;
    const char *known = credentials_find(c->credentials, user);
    const char *hash = known ? known : credentials_decoy(c->credentials, user);
    if (!hash)
        return false;
    const char *got = crypt_rn(c->q.login.password, hash, crypt, (int)sizeof(*crypt));
    bool right = got && same(got, hash);
    explicit_bzero(crypt, sizeof(*crypt));
    return right && known; /* the decoy's password opens nothing */
}

static void run(struct crypt_data *crypt, struct check *c)
{
    uint64_t start = spent_us();
    c->outcome = is_right(crypt, c) ? CONNECT_OK : CONNECT_WRONG;
    explicit_bzero(c->q.login.password, sizeof(c->q.login.password));
    c->took_us = spent_us() - start;
}

/* NULL: it is to end. */
static struct check *next_check(struct verifier *v)
{
    pthread_mutex_lock(&v->lock);
    while (!v->stop && v->done == v->asked)
        pthread_cond_wait(&v->more, &v->lock);
    struct check *c = v->stop ? NULL : check_at(v, v->done);
    pthread_mutex_unlock(&v->lock);
    return c;
}

static void tell(struct verifier *v)
{
    pthread_mutex_lock(&v->lock);
    v->done++;
    pthread_mutex_unlock(&v->lock);
    ssize_t ignored = write(v->fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)ignored; /* it would be full after 2^64 answers that nobody took */
}

static void *thread_main(void *arg)
{
    struct verifier *v = arg;
    sigset_t all;
    sigfillset(&all); /* signals are the control thread's to handle */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (struct check *c; (c = next_check(v));) {
        run(v->crypt, c);
        tell(v);
    }
    return NULL;
}

/* ---- the control thread ---- */

struct verifier *verifier_create(verifier_answer *answer, void *ctx)
{
    struct verifier *v = calloc(1, sizeof(*v));
    if (!v)
        return NULL;
    v->answer = answer;
    v->ctx = ctx;
    v->crypt = calloc(1, sizeof(*v->crypt));
    v->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->more, NULL);
    if (v->crypt && v->fd >= 0 && pthread_create(&v->thread, NULL, thread_main, v) == 0)
        return v;
    if (v->fd >= 0)
        close(v->fd);
    free(v->crypt);
    free(v);
    return NULL;
}

static void stop(struct verifier *v)
{
    pthread_mutex_lock(&v->lock);
    v->stop = true;
    pthread_cond_signal(&v->more);
    pthread_mutex_unlock(&v->lock);
    pthread_join(v->thread, NULL);
}

/* The oldest is done with. */
static void forget(struct verifier *v)
{
    struct check *c = check_at(v, v->taken++);
    credentials_release(c->credentials);
    explicit_bzero(c, sizeof(*c));
}

void verifier_destroy(struct verifier *v)
{
    if (!v)
        return;
    stop(v);
    while (v->taken != v->asked)
        forget(v);
    pthread_cond_destroy(&v->more);
    pthread_mutex_destroy(&v->lock);
    close(v->fd);
    free(v->crypt);
    free(v);
}

static bool same_prefix(const struct ip_addr *a, const struct ip_addr *b)
{
    const struct ip_prefix p = {*a, ip_is_v4(a) ? 24 : 56};
    return ip_in_prefix(&p, b);
}

static unsigned waiting_of(struct verifier *v, const struct ip_addr *client)
{
    unsigned n = 0;
    for (uint32_t i = v->taken; i != v->asked; i++)
        n += same_prefix(client, &check_at(v, i)->q.client);
    return n;
}

static void answer(struct verifier *v, unsigned worker, const struct question *q, uint8_t outcome)
{
    const struct question_answer a = {
        .id = q->id, .asker = q->asker, .kind = QUESTION_PASSWORD, .answer.outcome = outcome};
    v->answer(v->ctx, worker, &a);
}

static void enqueue(struct verifier *v, unsigned worker, const struct question *q)
{
    *check_at(v, v->asked) = (struct check){
        .worker = worker,
        .credentials = credentials_hold((struct credentials *)(uintptr_t)q->login.credentials),
        .q = *q};
    pthread_mutex_lock(&v->lock);
    v->asked++;
    pthread_cond_signal(&v->more);
    pthread_mutex_unlock(&v->lock);
}

void verifier_ask(struct verifier *v, unsigned worker, const struct question *q)
{
    v->count[VERIFIER_QUESTIONS]++;
    bool full = v->asked - v->taken == VERIFIER_MAX;
    if (!full && waiting_of(v, &q->client) < VERIFIER_CLIENT_MAX) {
        enqueue(v, worker, q);
        return;
    }
    v->count[full ? VERIFIER_BUSY_QUEUE : VERIFIER_BUSY_CLIENT]++;
    answer(v, worker, q, CONNECT_BUSY);
}

int verifier_fd(const struct verifier *v)
{
    return v->fd;
}

static uint32_t done(struct verifier *v)
{
    pthread_mutex_lock(&v->lock);
    uint32_t n = v->done;
    pthread_mutex_unlock(&v->lock);
    return n;
}

void verifier_take(struct verifier *v)
{
    uint64_t n;
    ssize_t ignored = read(v->fd, &n, sizeof(n)); /* first: what is done later tells again */
    (void)ignored;
    for (uint32_t end = done(v); v->taken != end;) {
        const struct check *c = check_at(v, v->taken);
        v->count[c->outcome == CONNECT_OK ? VERIFIER_RIGHT : VERIFIER_WRONG]++;
        v->count[VERIFIER_TIME_US] += c->took_us;
        answer(v, c->worker, &c->q, c->outcome);
        forget(v);
    }
}

void verifier_stats(const struct verifier *v, struct verifier_stats *s)
{
    memcpy(s->count, v->count, sizeof(s->count));
    s->waiting = v->asked - v->taken;
}
