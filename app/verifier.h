/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_VERIFIER_H
#define MILLRACE_APP_VERIFIER_H

/*
 * Whether passwords are right. To find out is made to take long, a tenth of a second and more, so a
 * thread of its own does it, one after the other, and neither workers nor the control thread wait.
 *
 * Who is refused learns nothing from how long it took: a user who is unknown is checked like one
 * who is known, against the hash of another. Passwords are wiped as soon as they were looked at.
 *
 * Control thread only.
 */

#include <stdint.h>

#include "app/credentials.h"
#include "app/questions.h"

#define VERIFIER_MAX        256u /* questions that are not answered yet, */
#define VERIFIER_CLIENT_MAX 8u   /* and those of a client's /24 or /56 */

/* X(enumerator, name, what is counted) */
#define VERIFIER_COUNTERS(X)                                                            \
    X(QUESTIONS, "questions", "passwords that came to be checked")                      \
    X(RIGHT, "right", "those that were right")                                          \
    X(WRONG, "wrong", "those that were wrong, or their user unknown")                   \
    X(BUSY_QUEUE, "busy_queue", "refused unchecked: too many wait")                     \
    X(BUSY_CLIENT, "busy_client", "refused unchecked: too many of one client's prefix") \
    X(TIME_US, "time_us", "microseconds of a processor's time that checks took, in sum")

enum verifier_counter {
#define X(id, name, text) VERIFIER_##id,
    VERIFIER_COUNTERS(X)
#undef X
        VERIFIER_COUNTER_END
};

struct verifier_stats {
    uint64_t count[VERIFIER_COUNTER_END];
    uint32_t waiting; /* questions, now */
};

struct verifier;

/* What it gives to whoever asked, within verifier_ask or verifier_take. Must not call back in. */
typedef void verifier_answer(void *ctx, unsigned worker, const struct question_answer *a);

/* NULL: no memory, descriptor or thread. */
struct verifier *verifier_create(verifier_answer *answer, void *ctx);
/* Waits for the check that is at work, if there is one; who else waits is not answered. v may be
 * NULL. */
void verifier_destroy(struct verifier *v);

/* q: of kind QUESTION_PASSWORD, copied; its credentials are a struct credentials, held until the
 * answer. Answered now or later, exactly once. */
void verifier_ask(struct verifier *v, unsigned worker, const struct question *q);

int verifier_fd(const struct verifier *v); /* can be read when there is something to take */
void verifier_take(struct verifier *v);    /* gives the answers there are */

void verifier_stats(const struct verifier *v, struct verifier_stats *s);

#endif
