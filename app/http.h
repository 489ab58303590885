/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_HTTP_H
#define MILLRACE_APP_HTTP_H

/*
 * The control socket: HTTP/1.1 over a UNIX socket and, if asked, over a loopback TCP port. It lives
 * on the control thread, which waits for http_fd among its other descriptors and then calls
 * http_run; no function here waits.
 */

#include "app/config.h"
#include "app/runtime.h"

struct http;

/*
 * Binds the sockets of config->control, and listens: clients wait until http_start. NULL: a line in
 * the log has said why and what to do.
 */
struct http *http_open(const struct config *config);

/* Serves from now on. False: the log has said why; http_stop is due. */
bool http_start(struct http *h, struct runtime *rt);

/* An epoll descriptor, readable when http_run has something to do. */
int http_fd(const struct http *h);

/* Serves what is ready, and ends what has timed out. */
void http_run(struct http *h);

/* Milliseconds until http_run is to be called even though http_fd was silent; -1: no need. */
int http_timeout(const struct http *h);

/* Closes all connections and removes the socket file, also where it was not started. h may be NULL.
 */
void http_stop(struct http *h);

#endif
