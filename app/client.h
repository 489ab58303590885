/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CLIENT_H
#define MILLRACE_APP_CLIENT_H

/*
 * One HTTP/1.1 exchange over the appliance's control socket: `Connection: close`, a body whose
 * length is named or that ends with the connection. Our own server speaks no more than that.
 */

#include <stddef.h>

#define CLIENT_ERROR_TEXT 512
#define CLIENT_BODY_MAX   (64u << 20)

struct client_reply {
    int status; /* 200 */
    char *body; /* NUL-terminated; freed by client_reply_free */
    size_t len;
};

enum client_error {
    CLIENT_E_UNREACHABLE = -1, /* nobody answers at that path, or we may not ask */
    CLIENT_E_BROKEN = -2,      /* the answer was cut short, too late or not HTTP */
    CLIENT_E_MEMORY = -3,
};

/*
 * body may be NULL. 0 and a reply, or an error and one sentence on error that says what to do.
 * target is the path with its query, already percent-encoded.
 */
int client_call(const char *socket, const char *method, const char *target, const char *body,
                struct client_reply *reply, char error[CLIENT_ERROR_TEXT]);
void client_reply_free(struct client_reply *reply);

/*
 * Reads `HTTP/1.1 200 …`, headers and body from all that the server sent. 0 or an error; text is
 * cut short by NULs in its place.
 */
int client_parse(char *text, size_t len, struct client_reply *reply);

#endif
