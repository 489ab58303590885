/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_NOTIFY_H
#define MILLRACE_APP_NOTIFY_H

/* Tells systemd, where it is there and listens, how we are: sd_notify(3). */

#include "stack/stack.h"

void notify_ready(void);
void notify_reloading(void);
/* n HTTP connections are to end before it is as it was. */
void notify_draining(uint64_t n);
/* patience: how long what is under way may take before workers stop. */
void notify_stopping(tick_t patience);
void notify_alive(void);

/* How often it wants to hear notify_alive; TICK_NEVER: not at all. */
tick_t notify_interval(void);

#endif
