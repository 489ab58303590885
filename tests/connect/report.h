/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_REPORT_H
#define CONNECT_REPORT_H

/* What each stream had, and how equal that was. */

#include "session.h"

/* Writes it to the options' file, if there is one, at once and whole. */
void report_write(const struct session *s);

#endif
