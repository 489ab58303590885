/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/verifier.h"

#include <crypt.h>
#include <poll.h>

#include "document.h"

#define WAIT_MS 60000

static struct verifier *verifier;
static struct credentials *credentials;
static unsigned answers;
static struct {
    unsigned worker;
    struct question_answer a;
} got[VERIFIER_MAX + 1];

static void hear(void *ctx, unsigned worker, const struct question_answer *a)
{
    ck_assert_ptr_eq(ctx, &answers);
    ck_assert_uint_le(answers, VERIFIER_MAX);
    ck_assert_uint_eq(a->kind, QUESTION_PASSWORD);
    got[answers].worker = worker;
    got[answers++].a = *a;
}

/* A line for a user, hashed as `setting` says. */
static void write_user(FILE *f, const char *name, const char *password, const char *setting)
{
    struct crypt_data *data = calloc(1, sizeof(*data));
    fprintf(f, "%s:%s\n", name, crypt_rn(password, setting, data, (int)sizeof(*data)));
    free(data);
}

static struct credentials *load(void)
{
    struct config_faults f = {.file = "f"};
    struct credentials *c = credentials_load("users", CONFIG_ROOT, &f);
    ck_assert_uint_eq(config_faults_flush(&f, stderr), 0);
    return c;
}

static void setup(void)
{
    document_setup();
    FILE *f = fopen("users", "w");
    write_user(f, "alice", "wonderland", "$6$rounds=1000$salt$");
    write_user(f, "bob", "b", "$2b$04$abcdefghijklmnopqrstuu");
    write_user(f, "carol", "", "$y$j75$salt$");
    write_user(f, "dave", "d", "$5$rounds=1000$salt$");
    fclose(f);
    credentials = load();
    answers = 0;
    verifier = verifier_create(hear, &answers);
    ck_assert_ptr_nonnull(verifier);
}

static void teardown(void)
{
    verifier_destroy(verifier);
    credentials_release(credentials);
    unlink("users");
    document_teardown();
}

static struct question question(handle_t id, const char *client, const char *user,
                                const char *password)
{
    struct question q = {.id = id, .kind = QUESTION_PASSWORD, .login.credentials = credentials};
    ck_assert(ip_parse(client, &q.client));
    snprintf(q.login.user, sizeof(q.login.user), "%s", user);
    snprintf(q.login.password, sizeof(q.login.password), "%s", password);
    return q;
}

static void ask(handle_t id, const char *client, const char *user, const char *password)
{
    struct question q = question(id, client, user, password);
    verifier_ask(verifier, (unsigned)id + 1, &q);
}

/* Until so many answers are there. */
static void wait_for(unsigned n)
{
    struct pollfd p = {.fd = verifier_fd(verifier), .events = POLLIN};
    while (answers < n) {
        ck_assert_int_eq(poll(&p, 1, WAIT_MS), 1);
        verifier_take(verifier);
    }
    ck_assert_uint_eq(answers, n);
}

static uint64_t counted(enum verifier_counter c)
{
    struct verifier_stats s;
    verifier_stats(verifier, &s);
    return s.count[c];
}

START_TEST(right_is_right_and_wrong_is_wrong)
{
    static const struct {
        const char *user, *password;
        enum connect_outcome outcome;
    } is[] = {
        {"alice", "wonderland", CONNECT_OK}, {"alice", "Wonderland", CONNECT_WRONG},
        {"alice", "", CONNECT_WRONG},        {"bob", "b", CONNECT_OK},
        {"bob", "bb", CONNECT_WRONG},        {"carol", "", CONNECT_OK},
        {"carol", "c", CONNECT_WRONG},       {"dave", "d", CONNECT_OK},
    };
    enum { N = sizeof(is) / sizeof(is[0]) };
    for (unsigned i = 0; i < N; i++)
        ask(i, "192.0.2.1", is[i].user, is[i].password);
    wait_for(N);
    for (unsigned i = 0; i < N; i++) {
        ck_assert_uint_eq(got[i].a.id, i);
        ck_assert_uint_eq(got[i].worker, i + 1);
        ck_assert_uint_eq(got[i].a.answer.outcome, is[i].outcome);
    }
    ck_assert_uint_eq(counted(VERIFIER_QUESTIONS), N);
    ck_assert_uint_eq(counted(VERIFIER_RIGHT), 4);
    ck_assert_uint_eq(counted(VERIFIER_WRONG), 4);
    ck_assert_uint_gt(counted(VERIFIER_TIME_US), 0);
}
END_TEST

/* Whatever the decoy is, its user's password does not let in another. */
START_TEST(unknown_users_are_wrong)
{
    static const char *const password[] = {"wonderland", "b", "", "d"};
    char name[16];
    unsigned n = 0;
    for (unsigned u = 0; u < 8; u++) {
        snprintf(name, sizeof(name), "nobody-%u", u);
        for (unsigned i = 0; i < 4; i++)
            ask(n++, u % 2 ? "192.0.2.1" : "2001:db8::1", name, password[i]);
        if (u % 2)
            wait_for(n);
    }
    for (unsigned i = 0; i < n; i++)
        ck_assert_uint_eq(got[i].a.answer.outcome, CONNECT_WRONG);
}
END_TEST

static uint64_t cost_of(const char *user)
{
    uint64_t before = counted(VERIFIER_TIME_US);
    ask(0, "192.0.2.1", user, "wrong");
    wait_for(answers + 1);
    return counted(VERIFIER_TIME_US) - before;
}

/* By the processor's time, which nobody else's work changes much. */
START_TEST(unknown_users_cost_as_much)
{
    FILE *f = fopen("users", "w");
    write_user(f, "slow", "x", "$6$rounds=100000$salt$");
    fclose(f);
    credentials_release(credentials);
    credentials = load();
    uint64_t known = cost_of("slow");
    uint64_t unknown = cost_of("nobody");
    ck_assert_uint_gt(unknown, known / 4);
    ck_assert_uint_lt(unknown, known * 4);
}
END_TEST

START_TEST(without_users_all_are_wrong)
{
    fclose(fopen("users", "w"));
    credentials_release(credentials);
    credentials = load();
    ask(1, "192.0.2.1", "alice", "wonderland");
    wait_for(1);
    ck_assert_uint_eq(got[0].a.answer.outcome, CONNECT_WRONG);
}
END_TEST

/* What is answered and not taken is still in the queue: no race with the thread. */
START_TEST(a_client_has_a_bound)
{
    for (unsigned i = 0; i < VERIFIER_CLIENT_MAX; i++)
        ask(i, i % 2 ? "192.0.2.1" : "192.0.2.254", "bob", "b");
    ck_assert_uint_eq(answers, 0);
    ask(100, "192.0.2.99", "bob", "b");
    ck_assert_uint_eq(answers, 1);
    ck_assert_uint_eq(got[0].a.id, 100);
    ck_assert_uint_eq(got[0].worker, 101);
    ck_assert_uint_eq(got[0].a.answer.outcome, CONNECT_BUSY);
    ask(101, "192.0.3.1", "bob", "b"); /* another /24 */
    ck_assert_uint_eq(answers, 1);
    for (unsigned i = 0; i < VERIFIER_CLIENT_MAX; i++)
        ask(200 + i, i % 2 ? "2001:db8:0:1::1" : "2001:db8:0:ff::1", "bob", "b");
    ck_assert_uint_eq(answers, 1);
    ask(300, "2001:db8::", "bob", "b");
    ck_assert_uint_eq(answers, 2);
    ask(301, "2001:db8:0:100::", "bob", "b"); /* another /56 */
    ck_assert_uint_eq(answers, 2);
    ck_assert_uint_eq(counted(VERIFIER_BUSY_CLIENT), 2);
    ck_assert_uint_eq(counted(VERIFIER_BUSY_QUEUE), 0);
    wait_for(2 + 2 * VERIFIER_CLIENT_MAX + 2);
    ask(1, "192.0.2.1", "bob", "b");
    wait_for(2 + 2 * VERIFIER_CLIENT_MAX + 3);
    ck_assert_uint_eq(got[answers - 1].a.answer.outcome, CONNECT_OK);
}
END_TEST

static void fill(unsigned n)
{
    char client[16];
    for (unsigned i = 0; i < n; i++) {
        snprintf(client, sizeof(client), "10.0.%u.1", i);
        ask(i, client, "bob", "b");
    }
}

START_TEST(so_has_the_queue)
{
    struct verifier_stats s;
    fill(VERIFIER_MAX);
    ck_assert_uint_eq(answers, 0);
    verifier_stats(verifier, &s);
    ck_assert_uint_eq(s.waiting, VERIFIER_MAX);
    ask(1000, "192.0.2.1", "bob", "b");
    ck_assert_uint_eq(answers, 1);
    ck_assert_uint_eq(got[0].a.answer.outcome, CONNECT_BUSY);
    ck_assert_uint_eq(counted(VERIFIER_BUSY_QUEUE), 1);
    wait_for(VERIFIER_MAX + 1);
    for (unsigned i = 0; i < VERIFIER_MAX; i++)
        ck_assert_uint_eq(got[i + 1].a.id, i);
    verifier_stats(verifier, &s);
    ck_assert_uint_eq(s.waiting, 0);
}
END_TEST

START_TEST(credentials_live_until_the_answer)
{
    ask(1, "192.0.2.1", "bob", "b");
    credentials_release(credentials);
    unlink("users");
    FILE *f = fopen("users", "w");
    write_user(f, "bob", "another", "$2b$04$abcdefghijklmnopqrstuu");
    fclose(f);
    credentials = load();
    ask(2, "192.0.2.1", "bob", "b");
    wait_for(2);
    ck_assert_uint_eq(got[0].a.answer.outcome, CONNECT_OK);
    ck_assert_uint_eq(got[1].a.answer.outcome, CONNECT_WRONG);
}
END_TEST

START_TEST(it_ends_while_some_wait)
{
    fill(VERIFIER_MAX);
    credentials_release(credentials);
    credentials = NULL;
    verifier_destroy(verifier);
    verifier = NULL;
    ck_assert_uint_eq(answers, 0);
    verifier_destroy(NULL);
}
END_TEST

UNIT_MAIN("verifier", setup, teardown, right_is_right_and_wrong_is_wrong, unknown_users_are_wrong,
          unknown_users_cost_as_much, without_users_all_are_wrong, a_client_has_a_bound,
          so_has_the_queue, credentials_live_until_the_answer, it_ends_while_some_wait)
