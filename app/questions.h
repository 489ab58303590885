/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_QUESTIONS_H
#define MILLRACE_APP_QUESTIONS_H

/*
 * What a worker asks the control core and cannot wait for: the addresses of a name, whether a
 * password is right. A ring each way; a worker has at most QUESTIONS_MAX under way, so that the way
 * back has room for every answer, and neither side waits or loses one. Names that nobody answers
 * for leave room for passwords, and one client's questions for those of others: here, for the
 * bounds of the other side come too late for a burst.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/byte_ring.h"
#include "service/connect.h"
#include "stack/flow.h" /* SipHash */

#define QUESTIONS_MAX         1024u
#define QUESTIONS_NAMES_MAX   (QUESTIONS_MAX * 3 / 4) /* from so many on no name is asked for */
#define QUESTIONS_CLIENT_MAX  (QUESTIONS_MAX / 4)     /* of a client's /24 or /56 */
#define QUESTIONS_ASKERS      1024u                   /* places that clients share by hash */
#define QUESTION_PASSWORD_MAX 127u

enum question_kind { QUESTION_NAME, QUESTION_PASSWORD };

struct question {
    handle_t id;
    uint16_t asker; /* the client's place */
    uint8_t kind;   /* enum question_kind */
    bool v6;        /* NAME: the family */
    struct ip_addr client;
    union {
        char name[PROXY_NAME_MAX + 1];
        struct {
            const void *credentials;
            char user[PROXY_USER_MAX + 1];
            char password[QUESTION_PASSWORD_MAX + 1];
        } login;
    };
};

struct question_answer {
    handle_t id;
    uint16_t asker;               /* as in the question */
    uint8_t kind;                 /* enum question_kind */
    struct connect_answer answer; /* PASSWORD: outcome only */
};

struct questions {
    struct byte_ring *asked;
    struct byte_ring *answered;
    int wake; /* an eventfd of the control core's, which a worker writes to */
    /* The worker's own. */
    uint32_t under_way;
    struct siphash_key key;           /* random: nobody chooses whose place to share */
    uint16_t asker[QUESTIONS_ASKERS]; /* how many are under way of it */
};

/* Control, before the worker runs and after. False: no memory, or no random bytes. */
bool questions_init(struct questions *q, int wake);
void questions_fini(struct questions *q);

/* Worker. False: too many are under way, or of this client, or the text is too long. */
bool questions_ask_name(struct questions *q, handle_t id, const char *name, bool v6,
                        const struct ip_addr *client);
bool questions_ask_password(struct questions *q, handle_t id, const void *credentials,
                            const char *user, const char *password, const struct ip_addr *client);
/* Worker: gives the answers that have come to c. Returns how many. */
unsigned questions_hear(struct questions *q, struct connect *c, tick_t now);

/* Control: the oldest, valid until the pop; NULL: none. A password is wiped by the pop. */
const struct question *questions_peek(struct questions *q);
void questions_pop(struct questions *q);
/* Control: there is room for it. */
void questions_answer(struct questions *q, const struct question_answer *a);

#endif
