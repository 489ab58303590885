/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums over pieces and over chains against the definition, byte by byte; the incremental update
 * against summing anew. Input: a view size, two split points, two new bytes, then the data.
 */
#include <stdlib.h>
#include <string.h>

#include "support/heap.h"
#include "wire/checksum.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint16_t naive(const uint8_t *bytes, size_t len)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

static void check_pieces(const uint8_t *bytes, size_t len, size_t split)
{
    struct checksum c = checksum_add(CHECKSUM_EMPTY, bytes, split);
    c = checksum_add(c, bytes + split, len - split);
    require(checksum_fold(c) == naive(bytes, len));
    require(checksum_finish(c) == (uint16_t)~naive(bytes, len));

    size_t header = split & ~(size_t)1;
    c = checksum_add(CHECKSUM_EMPTY, bytes + header, len - header);
    require(checksum_fold(checksum_prepend(c, bytes, header)) == naive(bytes, len));
}

static void check_chain(const uint8_t *bytes, size_t len, size_t view, size_t offset)
{
    struct heap_pool pool;
    heap_pool_init(&pool, 0, 2048);
    struct pkt *p = heap_pkt(&pool, bytes, len, view);
    require(p);
    struct checksum c = checksum_pkt(p, (uint32_t)offset, (uint32_t)(len - offset), CHECKSUM_EMPTY);
    require(checksum_fold(c) == naive(bytes + offset, len - offset));
    c = checksum_pkt(p, 0, (uint32_t)offset, CHECKSUM_EMPTY);
    c = checksum_pkt(p, (uint32_t)offset, (uint32_t)(len - offset), c);
    require(checksum_fold(c) == naive(bytes, len));
    pkt_free(p);
    require(pool.held == 0);
}

/* A word changes: old and new sums agree with the update, but for zero data (wire/checksum.h). */
static void check_update(const uint8_t *bytes, size_t len, size_t at, const uint8_t is[4])
{
    at &= ~(size_t)1;
    if (len < 4 || at > len - 4)
        return;
    uint8_t changed[512];
    memcpy(changed, bytes, len);
    memcpy(changed + at, is, 4);
    uint16_t before = (uint16_t)~naive(bytes, len);
    uint16_t after = (uint16_t)~naive(changed, len);
    if (after == 0xffff || before == 0xffff)
        return;
    uint32_t old32 = (uint32_t)bytes[at] << 24 | (uint32_t)bytes[at + 1] << 16 |
                     (uint32_t)bytes[at + 2] << 8 | bytes[at + 3];
    uint32_t new32 =
        (uint32_t)is[0] << 24 | (uint32_t)is[1] << 16 | (uint32_t)is[2] << 8 | (uint32_t)is[3];
    require(checksum_update32(before, old32, new32) == after);
    uint16_t half = checksum_update16(before, (uint16_t)(old32 >> 16), (uint16_t)(new32 >> 16));
    require(checksum_update16(half, (uint16_t)old32, (uint16_t)new32) == after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 7 || size - 7 > 512)
        return 0;
    const uint8_t *bytes = data + 7;
    size_t len = size - 7;
    size_t split = data[1] * 2u + data[2] % 2;
    split = split > len ? len : split;
    check_pieces(bytes, len, split);
    check_chain(bytes, len, data[0], split);
    check_update(bytes, len, split, data + 3);
    return 0;
}
