/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CONVERSATIONS_REPORT_H
#define MILLRACE_CONVERSATIONS_REPORT_H

/*
 * What a process that plays a script leaves behind, however it ends: where it was, what went wrong,
 * and the last of what was said. It lies in memory that its parent sees, too.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

#define REPORT_LINES 24
#define REPORT_WIDTH 240

struct report {
    unsigned line; /* of the script */
    char wrong[1200];
    bool ours_learnt;
    uint32_t ours; /* our first initial sequence number, in connection 1 */
    unsigned n;    /* lines of the transcript, ever */
    char transcript[REPORT_LINES][REPORT_WIDTH];
    bool loud; /* it is printed as it grows */
};

extern struct report *report;

/* A line of the transcript. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The script has failed, in the line that report says. */
noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
