/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/isn.h"

/* The secret serves more than one purpose; what is hashed says which. */
enum purpose {
    PURPOSE_ISN = 1,
    PURPOSE_TIMESTAMPS = 2,
};

static uint32_t hash(const struct siphash_key *secret, const struct flow_key *flow,
                     enum purpose purpose)
{
    struct {
        struct flow_key flow;
        uint64_t purpose;
    } text = {*flow, purpose};
    _Static_assert(sizeof(text) == 48, "no padding, and another length than a cookie's text");
    return (uint32_t)siphash24(secret, &text, sizeof(text));
}

seq32_t tcp_isn(const struct siphash_key *secret, const struct flow_key *flow, tick_t now)
{
    /* RFC 6528 3: ISN = M + F(...) */
    return seq32_add(seq32((uint32_t)(now / (4 * TICK_US))), hash(secret, flow, PURPOSE_ISN));
}

uint32_t tcp_ts_offset(const struct siphash_key *secret, const struct flow_key *flow)
{
    return hash(secret, flow, PURPOSE_TIMESTAMPS); /* RFC 7323 7.1 */
}
