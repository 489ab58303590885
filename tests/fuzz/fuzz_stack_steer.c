/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steering of any frame: an owner that exists, the same however the frame is cut into views and
 * whichever way its flow runs.
 */
#include <stdlib.h>
#include <string.h>

#include "stack/steer.h"
#include "support/heap.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define LONGEST 512u

static uint16_t owner_of(const struct steer *s, const uint8_t *frame, size_t len, size_t view)
{
    struct heap_pool pool;
    heap_pool_init(&pool, 0, 64);
    struct pkt *p = heap_pkt(&pool, frame, len, view);
    uint16_t owner = steer_owner(s, p);
    require(owner == STEER_ALL || owner < s->n_workers);
    pkt_free(p);
    require(pool.held == 0);
    return owner;
}

static void swap(uint8_t *at, size_t n)
{
    uint8_t first[16];
    memcpy(first, at, n);
    memmove(at, at + n, n);
    memcpy(at + n, first, n);
}

static bool has_ports(uint8_t proto)
{
    return proto == 6 || proto == 17 || proto == 132;
}

/* Turns a plain frame round; false where that would not be the same flow's other direction. */
static bool reverse(uint8_t *f, size_t len)
{
    if (len < 34 || f[12] != 0x08 || f[13] != 0)
        return false;
    size_t upper = 14 + (size_t)(f[14] & 15) * 4;
    if (f[26] >= 224 || f[30] >= 224 || f[23] == 1)
        return false;
    swap(f + 26, 4);
    bool fragment = (f[20] & 0x3f) || f[21];
    if (has_ports(f[23]) && !fragment && upper >= 34 && len >= upper + 4)
        swap(f + upper, 2);
    return true;
}

static bool reverse6(uint8_t *f, size_t len)
{
    if (len < 58 || f[12] != 0x86 || f[13] != 0xdd || !has_ports(f[20]))
        return false;
    if (f[22] == 0xff || f[38] == 0xff)
        return false;
    swap(f + 22, 16);
    swap(f + 54, 2);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct steer s;
    steer_init(&s, (uint16_t)(1 + data[0] % STEER_SLOTS));
    size_t view = 1 + data[1] % 64;
    uint8_t frame[LONGEST];
    size_t len = size - 2 < LONGEST ? size - 2 : LONGEST;
    memcpy(frame, data + 2, len);
    uint16_t owner = owner_of(&s, frame, len, 0);
    require(owner_of(&s, frame, len, view) == owner);
    if (reverse(frame, len) || reverse6(frame, len))
        require(owner_of(&s, frame, len, 0) == owner);
    return 0;
}
