/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct report *report;

void note(const char *format, ...)
{
    char *to = report->transcript[report->n++ % REPORT_LINES];
    va_list ap;
    va_start(ap, format);
    vsnprintf(to, REPORT_WIDTH, format, ap);
    va_end(ap);
    if (report->loud)
        fprintf(stderr, "%s\n", to);
}

void fail(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(report->wrong, sizeof(report->wrong), format, ap);
    va_end(ap);
    _exit(1);
}
