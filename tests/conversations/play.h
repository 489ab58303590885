/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CONVERSATIONS_PLAY_H
#define MILLRACE_CONVERSATIONS_PLAY_H

#include "script.h"

/* Plays the script in a world of its own, and fails (report.h) at the first event that is not as it
 * says. ours: see world_begin. */
void play(const struct script *s, const uint32_t *ours);

#endif
