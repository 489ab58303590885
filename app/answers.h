/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_ANSWERS_H
#define MILLRACE_APP_ANSWERS_H

/*
 * The control core's side of workers' questions (app/questions.h): names go to the resolver,
 * passwords to the verifier. Control thread only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/assets.h"
#include "app/config.h"
#include "app/memory.h"
#include "app/questions.h"
#include "app/resolver.h"
#include "app/verifier.h"

struct answers {
    int epoll; /* of the three below; readable when there is something to do */
    int wake;  /* workers write to it */
    unsigned n_workers;
    struct questions *questions; /* by worker */
    const struct assets_store *assets;
    struct resolver *resolver;
    struct verifier *verifier;
    struct memory memory; /* the resolver's */
};

/* False: the log says why; answers_fini is due in either case. */
bool answers_init(struct answers *a, const struct config *c, const struct assets_store *assets,
                  unsigned n_workers);
/* After the workers. a may be zeroed. */
void answers_fini(struct answers *a);
/* Other settings from now on. False: no memory, and all is as it was. */
bool answers_configure(struct answers *a, const struct config *c, tick_t now);

/* Takes what has been asked, gives what is known. */
void answers_run(struct answers *a, tick_t now);
/* When to call it at the latest. */
tick_t answers_deadline(const struct answers *a, tick_t now);

#endif
