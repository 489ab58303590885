/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CREDENTIALS_H
#define MILLRACE_APP_CREDENTIALS_H

/*
 * Who may log in, and by which password: a file with a line for each user, `name:hash`, where the
 * hash is one of crypt(3) as `mkpasswd -m sha-512` and `openssl passwd -6` print it:
 *
 *     # the gateway's users
 *     alice:$6$Yq0o1PCFSHhbYxgz$fBzd...
 *     bob:$y$j9T$mZ6yVp5ZZuTjDMd0Tlx.P1$K3gm...
 *
 * Empty lines, and those that begin with #, mean nothing. The file is read whole and never changed;
 * hashes that are easily guessed, and what is no hash, are refused. Counted references, of the
 * control thread; other threads may read what that holds for them.
 */

#include <stdbool.h>

#include "app/config_fault.h"

#define CREDENTIALS_FILE_MAX (16u << 20) /* bytes */
#define CREDENTIALS_NAME_MAX 63u         /* bytes of a name */
#define CREDENTIALS_MAX      65536u      /* users */

/* Kinds of hashes that are taken. X(what they begin with, characters behind the last '$') */
#define CREDENTIALS_KINDS(X)     \
    X("$y$", 43)  /* yescrypt */ \
    X("$gy$", 43) /* the same */ \
    X("$7$", 43)  /* scrypt */   \
    X("$2b$", 53) /* bcrypt */   \
    X("$2y$", 53)                \
    X("$2a$", 53)                \
    X("$6$", 86) /* SHA-512 */   \
    X("$5$", 43) /* SHA-256 */

struct credentials;

/* One reference. NULL, with faults at `place`, which name the file and its lines: it cannot be
 * read, or something in it is refused. */
struct credentials *credentials_load(const char *path, const struct config_place *place,
                                     struct config_faults *f);
struct credentials *credentials_hold(struct credentials *c); /* c, which may be NULL, as below */
void credentials_release(struct credentials *c);

unsigned credentials_users(const struct credentials *c);
/* Anybody on this host may read the file, and guess at the hashes. */
bool credentials_exposed(const struct credentials *c);
/* The user's hash; NULL: there is no such user. */
const char *credentials_find(const struct credentials *c, const char *name);
/* The hash of some user, always the same for a name, whatever the name: so that to refuse one who
 * is unknown takes as long as to refuse one who is not. NULL: there are no users. */
const char *credentials_decoy(const struct credentials *c, const char *name);

#endif
