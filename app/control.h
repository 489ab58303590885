/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONTROL_H
#define MILLRACE_APP_CONTROL_H

/*
 * The control core's loop: signals, the control socket, the watchdog, a running capture. It is the
 * control thread of app/runtime.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/http.h"
#include "app/runtime.h"

/*
 * Blocks the signals that control_run takes: before the first other thread starts, so that all
 * inherit it. DPDK's TAP driver needs the others.
 */
bool control_block_signals(void);

/* Runs until SIGTERM or SIGINT; serves http, which stays the caller's. False: it could not start,
 * and the log has said why. */
bool control_run(struct runtime *rt, struct http *http);

#endif
