/* SPDX-License-Identifier: BSD-3-Clause */
/* An accepted message re-emits to the bytes it was read from. */
#include <stdlib.h>

#include "wire/arp.h"
#include "wire/error.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arp_msg m;
    int n = arp_parse(data, size, &m);
    if (n < 0) {
        require((n == -WIRE_ARP_SHORT) == (size < ARP_LEN));
        require(n == -WIRE_ARP_SHORT || n == -WIRE_ARP_FORMAT || n == -WIRE_ARP_SENDER);
        return 0;
    }
    uint8_t out[ARP_LEN];
    require(n == ARP_LEN && size >= ARP_LEN);
    require(arp_emit(&m, out) == ARP_LEN);
    require(memcmp(out, data, ARP_LEN) == 0);
    return 0;
}
