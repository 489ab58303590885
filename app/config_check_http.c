/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "app/config_check.h"

#define NAMES_MAX 256 /* of the longest list */

#define ENTRY(section, i, name) CONFIG_PLACE((section), (int)(i), (name), -1)
#define LISTENER(i, name)       ENTRY("listeners", i, name)

const struct config_certificate *config_certificate_find(const struct config *c, const char *name)
{
    for (unsigned i = 0; i < c->n_certificates; i++)
        if (!strcmp(c->certificate[i].name, name))
            return &c->certificate[i];
    return NULL;
}

const struct config_origin *config_origin_find(const struct config *c, const char *name)
{
    for (unsigned i = 0; i < c->n_origins; i++)
        if (!strcmp(c->origin[i].name, name))
            return &c->origin[i];
    return NULL;
}

static void check_origin_named(const struct config *c, const char *name,
                               const struct config_place *place, struct config_faults *f)
{
    const char *known[NAMES_MAX];
    if (config_origin_find(c, name))
        return;
    for (unsigned i = 0; i < c->n_origins; i++)
        known[i] = c->origin[i].name;
    config_fault_unknown(f, place, "origin", "origins", name, known, c->n_origins);
}

static void check_certificates_named(const struct config *c, const struct config_listener *l,
                                     unsigned n, struct config_faults *f)
{
    const char *known[NAMES_MAX];
    for (unsigned i = 0; i < c->n_certificates; i++)
        known[i] = c->certificate[i].name;
    for (unsigned i = 0; i < l->n_certificates; i++)
        if (!config_certificate_find(c, l->certificate[i]))
            config_fault_unknown(f, CONFIG_PLACE("listeners", (int)n, "certificates", (int)i),
                                 "certificate", "certificates", l->certificate[i], known,
                                 c->n_certificates);
}

/* Whether protocol and service go together. */
static bool check_carrier(const struct config_listener *l, unsigned n, struct config_faults *f)
{
    bool speaks = l->service == SERVICE_ORIGIN || l->service == SERVICE_CONNECT;
    bool http = l->carrier == STACK_CARRIER_HTTP2;
    if (speaks && !http)
        config_fault(f, LISTENER(n, "service"),
                     "service '%s' speaks HTTP: it needs 'protocol: http2'",
                     service_name(l->service));
    else if (http && !speaks)
        config_fault(f, LISTENER(n, "service"),
                     "protocol 'http2' needs a service that speaks HTTP: 'origin' or 'connect'");
    return speaks == http;
}

static void check_origin(const struct config *c, const struct config_listener *l, unsigned n,
                         struct config_faults *f)
{
    bool origin = l->service == SERVICE_ORIGIN;
    if (origin && !l->origin[0])
        config_fault(f, LISTENER(n, NULL), "service 'origin' needs an 'origin' to serve");
    else if (!origin && l->origin[0])
        config_fault(f, LISTENER(n, "origin"), "means nothing to service '%s'",
                     service_name(l->service));
    else if (origin)
        check_origin_named(c, l->origin, LISTENER(n, "origin"), f);
}

static void check_tls(const struct config *c, const struct config_listener *l, unsigned n,
                      struct config_faults *f)
{
    bool wanted = l->client_auth != TLS_CLIENT_AUTH_OFF;
    if (l->n_certificates && l->carrier == STACK_CARRIER_TCP)
        config_fault(f, LISTENER(n, "certificates"), "mean nothing to protocol 'tcp'");
    if (!l->n_certificates && wanted)
        config_fault(f, LISTENER(n, "client-auth"), "means nothing without 'certificates'");
    else if (!l->n_certificates && l->client_ca)
        config_fault(f, LISTENER(n, "client-ca"), "means nothing without 'certificates'");
    else if (wanted && !l->client_ca)
        config_fault(f, LISTENER(n, "client-auth"), "needs 'client-ca'");
    else if (!wanted && l->client_ca)
        config_fault(f, LISTENER(n, "client-ca"),
                     "means nothing unless 'client-auth' is optional or required");
    if (l->prefix_handshakes > l->handshakes)
        config_fault(f, LISTENER(n, "prefix-handshakes"), "%u is more than handshakes, %u",
                     l->prefix_handshakes, l->handshakes);
    check_certificates_named(c, l, n, f);
}

static void check_scheduler(const struct config_listener *l, unsigned n, struct config_faults *f)
{
    if (l->carrier != STACK_CARRIER_HTTP2 && l->scheduler != SCHED_DEFICIT)
        config_fault(f, LISTENER(n, "scheduler"), "means nothing to protocol 'tcp'");
}

static void check_response(const struct config *c, unsigned n, struct config_faults *f)
{
    const struct config_response *r = &c->response[n];
    check_origin_named(c, r->origin, ENTRY("responses", n, "origin"), f);
    if (r->path[0] != '/')
        config_fault(f, ENTRY("responses", n, "path"), "has to begin with /");
    if (r->body && r->file)
        config_fault(f, ENTRY("responses", n, "file"), "there is a 'body' already");
    for (unsigned other = 0; other < n; other++)
        if (!strcmp(c->response[other].origin, r->origin) &&
            !strcmp(c->response[other].path, r->path))
            config_fault(f, ENTRY("responses", n, "path"), "the same as that of responses[%u]",
                         other);
}

static void check_names_apart(const struct config *c, struct config_faults *f)
{
    for (unsigned n = 0; n < c->n_certificates; n++) {
        const struct config_certificate *first = config_certificate_find(c, c->certificate[n].name);
        if (first != &c->certificate[n])
            config_fault(f, ENTRY("certificates", n, "name"),
                         "the same as that of certificates[%td]", first - c->certificate);
    }
    for (unsigned n = 0; n < c->n_origins; n++) {
        const struct config_origin *first = config_origin_find(c, c->origin[n].name);
        if (first != &c->origin[n])
            config_fault(f, ENTRY("origins", n, "name"), "the same as that of origins[%td]",
                         first - c->origin);
    }
}

static void check_http2(const struct config *c, struct config_faults *f)
{
    struct h2_settings all = c->http2;
    if (c->http2.stream_window > c->http2.connection_window)
        config_fault(f, CONFIG_PLACE("http2", -1, "stream-window", -1),
                     "%u is more than connection-window, %u", c->http2.stream_window,
                     c->http2.connection_window);
    else if (!h2_settings_fill(&all))
        config_fault(f, CONFIG_PLACE("http2", -1, NULL, -1), "these settings do not go together");
}

void config_check_http(const struct config *c, struct config_faults *f)
{
    check_names_apart(c, f);
    for (unsigned n = 0; n < c->n_listeners; n++) {
        if (check_carrier(&c->listener[n], n, f))
            check_origin(c, &c->listener[n], n, f);
        check_tls(c, &c->listener[n], n, f);
        check_scheduler(&c->listener[n], n, f);
    }
    for (unsigned n = 0; n < c->n_responses; n++)
        check_response(c, n, f);
    check_http2(c, f);
}
