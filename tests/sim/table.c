/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/table.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/run.h"

void table_print(struct table *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    t->len += (size_t)vsnprintf(t->text + t->len, sizeof(t->text) - t->len, format, ap);
    va_end(ap);
    must(t->len < sizeof(t->text));
}
