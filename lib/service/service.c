/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/service.h"

#include <assert.h>

#include "service/connect.h"
#include "service/origin.h"

static const struct {
    const char *name;
    const char *text;
} about[] = {
#define X(id, name, text) [SERVICE_##id] = {name, text},
    SERVICES(X)
#undef X
};

const char *service_name(enum service s)
{
    assert(s < SERVICE_END);
    return about[s].name;
}

const char *service_text(enum service s)
{
    assert(s < SERVICE_END);
    return about[s].text;
}

const struct stream_service *service_of(enum service s)
{
    static const struct stream_service *const service[] = {
        [SERVICE_ECHO] = &service_echo,
        [SERVICE_DISCARD] = &service_discard,
        [SERVICE_SOURCE] = &service_source,
        [SERVICE_ORIGIN] = &service_origin.stream,
        [SERVICE_CONNECT] = &service_connect.stream,
    };
    _Static_assert(sizeof(service) / sizeof(service[0]) == SERVICE_END, "each has one");
    assert(s < SERVICE_END);
    return service[s];
}
