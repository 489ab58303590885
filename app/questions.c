/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/questions.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define ASKED_BYTES    (512u * 1024)
#define ANSWERED_BYTES (256u * 1024)

/* What a record takes of a ring. */
#define ROOM(type) (BYTE_RING_HEADER + (sizeof(type) + 7) / 8 * 8)

/* One more for the record whose room the reader gives back when it is done with it, and one for the
 * end of the ring, where none fits. */
_Static_assert((QUESTIONS_MAX + 2) * ROOM(struct question) <= ASKED_BYTES, "room for all");
_Static_assert((QUESTIONS_MAX + 2) * ROOM(struct question_answer) <= ANSWERED_BYTES,
               "room for an answer to each");

bool questions_init(struct questions *q, int wake)
{
    *q = (struct questions){.wake = wake};
    q->asked = byte_ring_create(ASKED_BYTES);
    q->answered = byte_ring_create(ANSWERED_BYTES);
    if (q->asked && q->answered && getrandom(&q->key, sizeof(q->key), 0) == sizeof(q->key))
        return true;
    questions_fini(q);
    return false;
}

void questions_fini(struct questions *q)
{
    while (q->asked && questions_peek(q))
        questions_pop(q); /* passwords that nobody has looked at */
    byte_ring_destroy(q->asked);
    byte_ring_destroy(q->answered);
    *q = (struct questions){.wake = -1};
}

static uint16_t asker_of(const struct questions *q, const struct ip_addr *client)
{
    size_t kept = ip_is_v4(client) ? 15 : 7;
    return (uint16_t)(siphash13(&q->key, client->b, kept) % QUESTIONS_ASKERS);
}

static bool is_room(const struct questions *q, enum question_kind kind, uint16_t asker)
{
    uint32_t most = kind == QUESTION_NAME ? QUESTIONS_NAMES_MAX : QUESTIONS_MAX;
    return q->under_way < most && q->asker[asker] < QUESTIONS_CLIENT_MAX;
}

/* A question to be filled in, in the ring itself: a password is nowhere else. NULL: no room. */
static struct question *begin(struct questions *q, handle_t id, enum question_kind kind,
                              const struct ip_addr *client)
{
    uint16_t asker = asker_of(q, client);
    if (!is_room(q, kind, asker))
        return NULL;
    struct question *to = byte_ring_reserve(q->asked, sizeof(*to));
    assert(to && "fewer are under way than the ring holds");
    memset(to, 0, sizeof(*to));
    to->id = id;
    to->asker = asker;
    to->kind = (uint8_t)kind;
    to->client = *client;
    return to;
}

/*
 * The eventfd is written for each question and not only for the first: whether the other side has
 * seen the ring empty, and will sleep, cannot be known here without a fence on its side, too. A
 * question is rare enough, as a lookup or a crypt(3) follows. The write cannot fail but where the
 * count is at its end, and then the other side wakes anyway.
 */
static void ask(struct questions *q, const struct question *to)
{
    q->under_way++;
    q->asker[to->asker]++;
    byte_ring_commit(q->asked);
    ssize_t ignored = write(q->wake, &(uint64_t){1}, sizeof(uint64_t));
    (void)ignored;
}

bool questions_ask_name(struct questions *q, handle_t id, const char *name, bool v6,
                        const struct ip_addr *client)
{
    size_t n = strlen(name);
    struct question *to = n <= PROXY_NAME_MAX ? begin(q, id, QUESTION_NAME, client) : NULL;
    if (!to)
        return false;
    to->v6 = v6;
    memcpy(to->name, name, n);
    ask(q, to);
    return true;
}

bool questions_ask_password(struct questions *q, handle_t id, const void *credentials,
                            const char *user, const char *password, const struct ip_addr *client)
{
    size_t n_user = strlen(user);
    size_t n_password = strlen(password);
    bool fits = n_user <= PROXY_USER_MAX && n_password <= QUESTION_PASSWORD_MAX;
    struct question *to = fits ? begin(q, id, QUESTION_PASSWORD, client) : NULL;
    if (!to)
        return false;
    to->login.credentials = credentials;
    memcpy(to->login.user, user, n_user);
    memcpy(to->login.password, password, n_password);
    ask(q, to);
    return true;
}

unsigned questions_hear(struct questions *q, struct connect *c, tick_t now)
{
    unsigned n = 0;
    const struct question_answer *a;
    /* No more than were under way, as an answer may lead to the next question. */
    for (unsigned most = q->under_way; n < most && (a = byte_ring_peek(q->answered)); n++) {
        assert(q->under_way > 0 && q->asker[a->asker] > 0 && "each question is answered once");
        q->under_way--;
        q->asker[a->asker]--;
        if (a->kind == QUESTION_NAME)
            connect_resolved(c, a->id, &a->answer, now);
        else
            connect_verified(c, a->id, (enum connect_outcome)a->answer.outcome, now);
        byte_ring_pop(q->answered);
    }
    return n;
}

const struct question *questions_peek(struct questions *q)
{
    return byte_ring_peek(q->asked);
}

void questions_pop(struct questions *q)
{
    const struct question *done = byte_ring_peek(q->asked);
    assert(done && "it has been peeked at");
    if (done->kind == QUESTION_PASSWORD)
        explicit_bzero((void *)(uintptr_t)done, sizeof(*done)); /* the ring's memory is ours */
    byte_ring_pop(q->asked);
}

void questions_answer(struct questions *q, const struct question_answer *a)
{
    struct question_answer *to = byte_ring_reserve(q->answered, sizeof(*to));
    assert(to && "the way back has room for an answer to each question");
    *to = *a;
    byte_ring_commit(q->answered);
}
