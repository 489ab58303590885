/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_FAKE_RUNTIME_H
#define MILLRACE_TESTS_FAKE_RUNTIME_H

/*
 * An appliance that is none: app/runtime.h answered from a struct that a test fills, and the log
 * kept as text.
 */

#include "app/runtime.h"

#define FAKE_WORKERS 4
#define FAKE_PORTS   2
#define FAKE_ROWS    2000
#define FAKE_NAMES   8

struct runtime {
    struct config config;
    struct config_device device[FAKE_PORTS];
    unsigned n_workers;
    enum worker_state state[FAKE_WORKERS];
    bool mute[FAKE_WORKERS]; /* does not answer requests */
    bool torn[FAKE_WORKERS]; /* its record cannot be read */
    uint64_t word[FAKE_WORKERS][COUNTERS_WORDS];
    bool stopping;
    bool link_up[FAKE_PORTS];
    bool gone[FAKE_PORTS];
    struct runtime_port_stats stats[FAKE_PORTS];

    struct ctl_neighbour neighbour[FAKE_WORKERS][FAKE_ROWS];
    unsigned n_neighbours[FAKE_WORKERS];
    struct ctl_address address[FAKE_WORKERS][8];
    unsigned n_addresses[FAKE_WORKERS];
    struct ctl_path path[FAKE_WORKERS][8];
    unsigned n_paths[FAKE_WORKERS];
    struct ctl_connection connection[FAKE_WORKERS][FAKE_ROWS];
    unsigned n_connections[FAKE_WORKERS];
    struct ctl_listener listener[FAKE_WORKERS][8];
    unsigned n_listeners[FAKE_WORKERS];
    struct ctl_tunnel tunnel[FAKE_WORKERS][FAKE_ROWS];
    unsigned n_tunnels[FAKE_WORKERS];
    unsigned requests; /* runtime_control calls */
    uint32_t most;     /* rows that one of them asked for */

    struct resolver_stats resolver;
    struct resolver_row name[FAKE_NAMES];
    unsigned n_names;
    struct verifier_stats verifier;

    const char *refuse_reload; /* lines; NULL: it works */
    unsigned reloads;

    struct runtime_draining draining;
    tick_t patience; /* what runtime_drain was given */
    int drain_error; /* what it returns */

    const char *refuse_capture;
    struct runtime_capture capture;
    struct runtime_capture_options started; /* what runtime_capture_start was given */
    char started_file[128];

    char log[8192];
};

/* Two workers that run, two devices "wan0" and "lan.0-x", nothing counted. */
void fake_init(struct runtime *rt);

/* The one whose log log_line writes to; NULL: nowhere. */
extern struct runtime *fake_logging;

/* An address from text that is one. */
struct ip_addr fake_ip(const char *text);

/* Fills a row in worker's table. */
void fake_neighbour(struct runtime *rt, unsigned worker, uint16_t iface, const char *addr,
                    uint8_t mac, tick_t confirmed);

/* An established connection of worker's, of listener "echo"; its id is the next, from 0x100 on. */
struct ctl_connection *fake_connection(struct runtime *rt, unsigned worker, const char *remote,
                                       uint16_t port);

/* An open tunnel of worker's, of proxy "egress", to that port of 192.0.2.7; ids are as above. */
struct ctl_tunnel *fake_tunnel(struct runtime *rt, unsigned worker, uint16_t port);

#endif
