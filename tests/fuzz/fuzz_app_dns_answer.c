/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A name server's message: what is taken from it is of the family that was asked for and within its
 * bounds, and a second look finds the same. With the answers' count at 0 there is no address. The
 * first byte chooses the family.
 */
#include <stdlib.h>
#include <string.h>

#include "app/dns_answer.h"
#include "base/bytes.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define NAME    "a.example" /* as the seeds have it */
#define ANSWERS 6u          /* where their count stands */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct dns_answer *a, bool v6)
{
    require(a->n <= CONNECT_ADDRS_MAX);
    require(a->n == 0 || a->has_ttl);
    require(a->ttl <= INT32_MAX);
    for (unsigned i = 0; i < a->n; i++)
        require(ip_is_v4(&a->addr[i]) != v6);
}

static void check_without_answers(const uint8_t *message, size_t len, bool v6)
{
    struct dns_answer a;
    uint8_t *copy = malloc(len);
    require(copy != NULL);
    memcpy(copy, message, len);
    store_be16(copy + ANSWERS, 0);
    require(!dns_answer_parse(copy, len, NAME, v6, &a) || a.n == 0);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    bool v6 = data[0] & 1;
    struct dns_answer a, again;
    bool ok = dns_answer_parse(data + 1, size - 1, NAME, v6, &a);
    require(dns_answer_parse(data + 1, size - 1, NAME, v6, &again) == ok);
    if (!ok)
        return 0;
    require(memcmp(&a, &again, sizeof(a)) == 0);
    check(&a, v6);
    check_without_answers(data + 1, size - 1, v6);
    return 0;
}
