/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl/request.h"

#include <assert.h>

const char *ctl_neighbour_state_name(enum ctl_neighbour_state s)
{
    static const char *const names[] = {
#define X(id, name) [CTL_NEIGHBOUR_##id] = name,
        CTL_NEIGHBOUR_STATES(X)
#undef X
    };
    assert((unsigned)s < sizeof(names) / sizeof(names[0]));
    return names[s];
}

const char *ctl_address_state_name(enum ctl_address_state s)
{
    static const char *const names[] = {
#define X(id, name) [CTL_ADDRESS_##id] = name,
        CTL_ADDRESS_STATES(X)
#undef X
    };
    assert((unsigned)s < sizeof(names) / sizeof(names[0]));
    return names[s];
}

const char *ctl_request_name(enum ctl_request_kind k)
{
    static const char *const names[] = {
#define X(id, name) [CTL_##id] = name,
        CTL_REQUESTS(X)
#undef X
    };
    assert((unsigned)k < CTL_REQUEST_END);
    return names[k];
}
