/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/questions.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/unit.h"

static struct questions q;
static int wake;
static const struct ip_addr CLIENT = {{[10] = 0xff, [11] = 0xff, 192, 0, 2, 1}};

/* Of so many prefixes that no bound of one of them is met, and of none of them twice by hash. */
static const struct ip_addr *client_of(handle_t id)
{
    static struct ip_addr of;
    of = CLIENT;
    of.b[14] = (uint8_t)(id % 8);
    return &of;
}

/* The service's side: what it has heard. */
static struct {
    unsigned names, logins;
    handle_t id;
    enum connect_outcome outcome;
    tick_t now;
    bool ask_again;
} heard;

void connect_resolved(struct connect *c, handle_t id, const struct connect_answer *a, tick_t now)
{
    (void)c;
    heard.names++;
    heard.id = id;
    heard.outcome = (enum connect_outcome)a->outcome;
    heard.now = now;
    if (heard.ask_again)
        ck_assert(questions_ask_name(&q, id, "again.example", a->v6, client_of(id)));
}

void connect_verified(struct connect *c, handle_t id, enum connect_outcome o, tick_t now)
{
    (void)c;
    heard.logins++;
    heard.id = id;
    heard.outcome = o;
    heard.now = now;
}

static void setup(void)
{
    memset(&heard, 0, sizeof(heard));
    wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ck_assert_int_ge(wake, 0);
    ck_assert(questions_init(&q, wake));
    q.key = (struct siphash_key){1, 2}; /* the same places each time */
}

static void teardown(void)
{
    questions_fini(&q);
    questions_fini(&q); /* once more is nothing */
    close(wake);
}

static bool ask_name(handle_t id)
{
    return questions_ask_name(&q, id, "www.example", id % 2, client_of(id));
}

static bool ask_password(handle_t id, const char *password)
{
    return questions_ask_password(&q, id, &wake, "alice", password, client_of(id));
}

/* The control core's turn: answers the oldest question. */
static void answer_next(enum connect_outcome o)
{
    const struct question *p = questions_peek(&q);
    ck_assert_ptr_nonnull(p);
    struct question_answer a = {.id = p->id, .asker = p->asker, .kind = p->kind};
    a.answer.outcome = (uint8_t)o;
    questions_pop(&q);
    questions_answer(&q, &a);
}

static uint64_t wakes(void)
{
    uint64_t n = 0;
    return read(wake, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

START_TEST(a_name_goes_over_whole)
{
    char longest[PROXY_NAME_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[PROXY_NAME_MAX + 1] = '\0';
    ck_assert(!questions_ask_name(&q, 1, longest, true, &CLIENT));
    ck_assert_ptr_null(questions_peek(&q));
    longest[PROXY_NAME_MAX] = '\0';
    ck_assert(questions_ask_name(&q, 7, longest, true, &CLIENT));
    const struct question *p = questions_peek(&q);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(p->id, 7);
    ck_assert_uint_eq(p->kind, QUESTION_NAME);
    ck_assert(p->v6);
    ck_assert_str_eq(p->name, longest);
    ck_assert(ip_eq(&p->client, &CLIENT));
    questions_pop(&q);
    ck_assert_ptr_null(questions_peek(&q));
}
END_TEST

START_TEST(a_password_goes_over_whole)
{
    char longest[QUESTION_PASSWORD_MAX + 2];
    memset(longest, 'p', sizeof(longest));
    longest[QUESTION_PASSWORD_MAX + 1] = '\0';
    ck_assert(!ask_password(1, longest));
    longest[QUESTION_PASSWORD_MAX] = '\0';
    char user[PROXY_USER_MAX + 2];
    memset(user, 'u', sizeof(user));
    user[PROXY_USER_MAX + 1] = '\0';
    ck_assert(!questions_ask_password(&q, 1, &wake, user, "x", &CLIENT));
    ck_assert_uint_eq(wakes(), 0);
    user[PROXY_USER_MAX] = '\0';
    ck_assert(questions_ask_password(&q, 1, &wake, user, longest, &CLIENT));
    const struct question *p = questions_peek(&q);
    ck_assert_uint_eq(p->kind, QUESTION_PASSWORD);
    ck_assert_ptr_eq(p->login.credentials, &wake);
    ck_assert_str_eq(p->login.user, user);
    ck_assert_str_eq(p->login.password, longest);
}
END_TEST

/* Is the text anywhere in the ring's memory? */
static bool in_ring(const char *text)
{
    return memmem(q.asked->data, q.asked->size, text, strlen(text)) != NULL;
}

START_TEST(a_popped_password_is_nowhere_any_more)
{
    ck_assert(ask_password(1, "open sesame"));
    ck_assert(in_ring("open sesame"));
    questions_pop(&q);
    ck_assert(!in_ring("open sesame"));
    ck_assert(!in_ring("alice"));
}
END_TEST

START_TEST(answers_come_to_the_service)
{
    ck_assert(ask_name(11));
    ck_assert(ask_password(12, "x"));
    ck_assert_uint_eq(questions_hear(&q, NULL, 5), 0);
    answer_next(CONNECT_NO_NAME);
    ck_assert_uint_eq(questions_hear(&q, NULL, 6), 1);
    ck_assert_uint_eq(heard.names, 1);
    ck_assert_uint_eq(heard.id, 11);
    ck_assert_uint_eq(heard.outcome, CONNECT_NO_NAME);
    ck_assert_uint_eq(heard.now, 6);
    answer_next(CONNECT_WRONG);
    ck_assert_uint_eq(questions_hear(&q, NULL, 7), 1);
    ck_assert_uint_eq(heard.logins, 1);
    ck_assert_uint_eq(heard.id, 12);
    ck_assert_uint_eq(heard.outcome, CONNECT_WRONG);
    ck_assert_uint_eq(heard.now, 7);
    ck_assert_uint_eq(q.under_way, 0);
}
END_TEST

/* Over and over, so that the rings' ends are met at every phase. */
START_TEST(all_that_may_be_asked_finds_room_there_and_back)
{
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < QUESTIONS_MAX; i++)
            ck_assert(i % 3 && i < QUESTIONS_NAMES_MAX ? ask_name(i) : ask_password(i, "secret"));
        ck_assert(!ask_name(1));
        ck_assert(!ask_password(1, "x"));
        for (unsigned i = 0; i < QUESTIONS_MAX; i++)
            answer_next(CONNECT_OK);
        ck_assert(!ask_name(1)); /* answered, and not heard yet */
        ck_assert_ptr_null(questions_peek(&q));
        ck_assert_uint_eq(questions_hear(&q, NULL, 1), QUESTIONS_MAX);
        ck_assert(ask_name(1)); /* moves the next round's start */
        answer_next(CONNECT_OK);
        ck_assert_uint_eq(questions_hear(&q, NULL, 1), 1);
    }
    ck_assert_uint_eq(heard.names + heard.logins, 20 * (QUESTIONS_MAX + 1));
}
END_TEST

/* The worst for the way back: all answers wait, and with each that is heard the next is asked and
 * answered. */
START_TEST(an_answer_may_lead_to_the_next_question)
{
    for (unsigned i = 0; i < QUESTIONS_NAMES_MAX; i++)
        ck_assert(ask_name(i));
    for (unsigned i = 0; i < QUESTIONS_NAMES_MAX; i++)
        answer_next(CONNECT_OK);
    heard.ask_again = true;
    for (unsigned round = 0; round < 5; round++) {
        ck_assert_uint_eq(questions_hear(&q, NULL, round), QUESTIONS_NAMES_MAX);
        ck_assert_uint_eq(q.under_way, QUESTIONS_NAMES_MAX);
        for (unsigned i = 0; i < QUESTIONS_NAMES_MAX; i++)
            answer_next(CONNECT_OK);
    }
}
END_TEST

START_TEST(names_leave_room_for_passwords)
{
    for (unsigned i = 0; i < QUESTIONS_NAMES_MAX; i++)
        ck_assert(ask_name(i));
    ck_assert(!ask_name(1));
    for (unsigned i = QUESTIONS_NAMES_MAX; i < QUESTIONS_MAX; i++)
        ck_assert(ask_password(i, "x"));
    ck_assert(!ask_password(1, "x"));
}
END_TEST

/* Whichever of its addresses it asks from, whatever it asks for. */
START_TEST(a_client_leaves_room_for_others)
{
    struct ip_addr neighbour = *client_of(0);
    neighbour.b[15] = 77;
    for (unsigned i = 0; i < QUESTIONS_CLIENT_MAX; i++)
        ck_assert(i % 2 ? ask_name(0) : questions_ask_name(&q, 0, "a", true, &neighbour));
    ck_assert(!ask_name(0));
    ck_assert(!ask_password(0, "x"));
    ck_assert(!questions_ask_name(&q, 0, "a", true, &neighbour));
    ck_assert(ask_name(1));
    answer_next(CONNECT_OK);
    ck_assert(!ask_name(0)); /* answered, and not heard yet */
    ck_assert_uint_eq(questions_hear(&q, NULL, 1), 1);
    ck_assert(ask_name(0));
    ck_assert(!ask_name(0));
}
END_TEST

/* A client is a /56. */
START_TEST(an_ipv6_client_is_one_whatever_its_subnet)
{
    struct ip_addr a = {{0x20, 0x01, 0xd, 0xb8}};
    for (unsigned i = 0; i < QUESTIONS_CLIENT_MAX; i++) {
        a.b[7] = (uint8_t)i;
        ck_assert(questions_ask_name(&q, 0, "a", true, &a));
    }
    ck_assert(!questions_ask_name(&q, 0, "a", true, &a));
    a.b[6] = 1;
    ck_assert(questions_ask_name(&q, 0, "a", true, &a));
}
END_TEST

START_TEST(each_question_wakes)
{
    ck_assert(ask_name(1));
    ck_assert_uint_eq(wakes(), 1);
    ck_assert(ask_name(2)); /* the first is not taken yet */
    ck_assert_uint_eq(wakes(), 1);
    ck_assert(ask_password(3, "x"));
    ck_assert(ask_name(4));
    ck_assert_uint_eq(wakes(), 2);
    ck_assert_uint_eq(wakes(), 0);
}
END_TEST

START_TEST(a_full_count_still_wakes)
{
    uint64_t most = UINT64_MAX - 1;
    ck_assert_int_eq(write(wake, &most, sizeof(most)), sizeof(most));
    ck_assert(ask_name(1));
    ck_assert_uint_ge(wakes(), 1);
}
END_TEST

#define TURNS 20000u

static void *ask_all(void *arg)
{
    unsigned *n_heard = arg;
    for (unsigned asked = 0; *n_heard < TURNS;) {
        if (asked < TURNS)
            asked += ask_name(asked);
        *n_heard += questions_hear(&q, NULL, asked);
    }
    return NULL;
}

/* Sleeps in read whenever there is nothing: a wake that is lost would be the end of it. */
START_TEST(no_wake_is_lost_between_threads)
{
    close(wake);
    wake = eventfd(0, EFD_CLOEXEC);
    q.wake = wake;
    unsigned n_heard = 0;
    pthread_t worker;
    ck_assert_int_eq(pthread_create(&worker, NULL, ask_all, &n_heard), 0);
    for (unsigned answered = 0; answered < TURNS;) {
        uint64_t n;
        ck_assert_int_eq(read(wake, &n, sizeof(n)), sizeof(n));
        for (; questions_peek(&q); answered++)
            answer_next(CONNECT_OK);
    }
    pthread_join(worker, NULL);
    ck_assert_uint_eq(n_heard, TURNS);
    ck_assert_uint_eq(heard.names, TURNS);
}
END_TEST

UNIT_MAIN("questions", setup, teardown, a_name_goes_over_whole, a_password_goes_over_whole,
          a_popped_password_is_nowhere_any_more, answers_come_to_the_service,
          all_that_may_be_asked_finds_room_there_and_back, an_answer_may_lead_to_the_next_question,
          names_leave_room_for_passwords, a_client_leaves_room_for_others,
          an_ipv6_client_is_one_whatever_its_subnet, each_question_wakes, a_full_count_still_wakes,
          no_wake_is_lost_between_threads)
