/* SPDX-License-Identifier: BSD-3-Clause */
/* Dates of HTTP (RFC 9110 5.6.7). */
#include "stream/http.h"

struct http_text http_date(struct http_env *env)
{
    (void)env;
    return (struct http_text){0};
}

void http_date_write(char out[HTTP_DATE_SIZE], uint64_t second)
{
    (void)second;
    out[0] = 0;
}

bool http_date_read(struct http_text value, uint64_t *second)
{
    (void)value;
    (void)second;
    return false;
}
