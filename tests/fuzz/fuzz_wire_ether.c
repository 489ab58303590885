/* SPDX-License-Identifier: BSD-3-Clause */
/* An accepted header re-emits to the bytes it was read from. */
#include <stdlib.h>

#include "wire/error.h"
#include "wire/ether.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ether_hdr h;
    int n = ether_parse(data, size, &h);
    if (n < 0) {
        require(n == -WIRE_ETHER_SHORT && size < ETHER_TAGGED_LEN);
        return 0;
    }
    uint8_t out[ETHER_TAGGED_LEN];
    require((size_t)n <= size && (size_t)n == ether_len(&h));
    require(ether_emit(&h, out) == (size_t)n);
    require(memcmp(out, data, (size_t)n) == 0);
    return 0;
}
