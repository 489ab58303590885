/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An accepted header re-emits to the bytes it was read from, but for the reserved flag and the
 * checksum; fragments stay within a datagram; the options for later fragments are options again.
 * The first byte says how much of the packet lies in later views.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "wire/error.h"
#include "wire/ipv4.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_emit(const uint8_t *at, const struct ipv4_hdr *h, size_t n)
{
    uint8_t out[IPV4_LEN + IPV4_OPTIONS_MAX];
    uint8_t expect[sizeof(out)];
    memcpy(expect, at, n);
    expect[6] &= 0x7f;
    store_be16(expect + 10, 0);
    require(ipv4_emit(h, true, out) == n);
    require(memcmp(out, expect, n) == 0);

    struct ipv4_hdr again;
    require(ipv4_emit(h, false, out) == n);
    require(ipv4_parse(out, n, IPV4_TOTAL_MAX, false, &again) == (int)n);
}

static void check_options(const struct ipv4_hdr *h)
{
    struct ipv4_hdr later = *h;
    uint8_t out[IPV4_LEN + IPV4_OPTIONS_MAX];
    later.options_len = (uint8_t)ipv4_options_copied(h->options, h->options_len, later.options);
    require(later.options_len <= h->options_len && later.options_len % 4 == 0);
    later.more_fragments = false;
    later.frag_offset = 0;
    size_t n = ipv4_emit(&later, false, out);
    struct ipv4_hdr again;
    require(ipv4_parse(out, n, IPV4_TOTAL_MAX, false, &again) == (int)n);
    require(again.source_route == h->source_route && "source routes are copied");
    /* All that was to be copied has been. */
    uint8_t twice[IPV4_OPTIONS_MAX];
    require(ipv4_options_copied(again.options, again.options_len, twice) == again.options_len);
    require(memcmp(twice, again.options, again.options_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t later = data[0] * 257u;
    const uint8_t *at = data + 1;
    size_t len = size - 1;
    struct ipv4_hdr h;
    int n = ipv4_parse(at, len, len + later, data[0] % 2, &h);
    int quoted = ipv4_parse_quoted(at, len, &h);
    require(n < 0 || quoted == n);
    if (n < 0) {
        require(n >= -WIRE_IP4_FRAGMENT && n <= -WIRE_IP4_SHORT);
        return 0;
    }
    require((size_t)n <= len && (size_t)n == ipv4_len(&h));
    require(h.total_len >= n && h.total_len <= len + later);
    if (ipv4_is_fragment(&h)) {
        require(h.total_len > n && h.frag_offset + h.total_len <= IPV4_TOTAL_MAX);
        require(!h.more_fragments || (h.total_len - n) % 8 == 0);
    }
    check_emit(at, &h, (size_t)n);
    check_options(&h);
    return 0;
}
