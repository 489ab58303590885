/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_SHOW_H
#define MILLRACE_APP_SHOW_H

/*
 * The appliance's JSON as a person reads it. With before, the reply of some seconds
 * ago, totals are shown as what they grew by in a second.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct show {
    const json_t *now;
    const json_t *before; /* NULL: totals */
    double seconds;       /* between the two */
    FILE *out;
    int columns; /* of the terminal; 0: it is none, and a row is a line */
    bool detail; /* of connections and tunnels: all that is known, in place of a table */
};

typedef void show_function(const struct show *s);

show_function show_workers, show_ports, show_neighbours, show_addresses, show_paths, show_drops,
    show_health, show_config, show_capture, show_memory, show_version, show_connections,
    show_listeners, show_drain, show_tunnels, show_resolver;

#endif
