/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_check.h"

#include <inttypes.h>
#include <string.h>

#include "app/plan.h"

#define IP6_MTU_MIN         1280 /* RFC 8200 5 */
#define WATCHDOG_MS_MIN     100  /* how often the control core looks */
#define TCP_MEMORY_MIN      (1u << 20)
#define DEVICE(i, name, at) CONFIG_PLACE("devices", (int)(i), (name), (at))
#define LISTENER(i, name)   CONFIG_PLACE("listeners", (int)(i), (name), -1)
#define KEY(section, name)  CONFIG_PLACE((section), -1, (name), -1)

void config_fault_unknown(struct config_faults *f, const struct config_place *place,
                          const char *noun, const char *section, const char *name,
                          const char *const *known, unsigned n)
{
    char quoted[CONFIG_QUOTE_MAX];
    const char *near = config_nearest(name, known, n);
    if (near)
        config_fault(f, place, "there is no %s '%s' (did you mean '%s'?)", noun,
                     config_quote(name, quoted), near);
    else
        config_fault(f, place, "there is no %s '%s' in the section '%s'", noun,
                     config_quote(name, quoted), section);
}

static bool has_ipv6(const struct iface_config *i, unsigned *at)
{
    for (*at = 0; *at < i->n_addrs; (*at)++)
        if (!ip_is_v4(&i->addr[*at].addr))
            return true;
    return false;
}

static void check_ipv6(const struct iface_config *i, unsigned n, struct config_faults *f)
{
    unsigned at;
    if (!has_ipv6(i, &at))
        return;
    if (!i->ipv6)
        config_fault(f, DEVICE(n, "addresses", (int)at), "an IPv6 address, but ipv6 is false");
    else if (i->mtu < IP6_MTU_MIN)
        config_fault(f, DEVICE(n, "mtu", -1), "%u is too small for the device's IPv6 addresses, %d",
                     i->mtu, IP6_MTU_MIN);
}

static bool reaches(const struct iface_config *i, const struct ip_addr *gateway)
{
    if (!ip_is_v4(gateway) && ip_is_link_local(gateway))
        return i->ipv6;
    for (unsigned n = 0; n < i->n_addrs; n++)
        if (ip_in_prefix(&i->addr[n], gateway))
            return true;
    return false;
}

static void check_gateway(const struct iface_config *i, const struct ip_addr *gateway, unsigned n,
                          struct config_faults *f)
{
    char text[IP_ADDR_TEXT];
    if (ip_eq(gateway, &IP_ADDR_ANY6))
        return;
    ip_format(gateway, text);
    if (!reaches(i, gateway))
        config_fault(f, DEVICE(n, "gateways", -1), "%s is in none of the device's networks", text);
    for (unsigned a = 0; a < i->n_addrs; a++) {
        if (ip_eq(&i->addr[a].addr, gateway))
            config_fault(f, DEVICE(n, "gateways", -1), "%s is the device's own address", text);
        else if (ip_is_subnet_broadcast(&i->addr[a], gateway))
            config_fault(f, DEVICE(n, "gateways", -1), "%s is a broadcast address", text);
    }
}

static void check_driver(const struct config_device *d, unsigned n, struct config_faults *f)
{
    if (d->driver == CONFIG_DRIVER_PCAP && !d->rx_file && !d->tx_file)
        config_fault(f, DEVICE(n, NULL, -1), "driver 'pcap' needs 'rx-file', 'tx-file' or both");
    if (d->rx_file && d->tx_file && !strcmp(d->rx_file, d->tx_file))
        config_fault(f, DEVICE(n, "tx-file", -1), "the same file as rx-file");
}

/* The same address twice: a host cannot tell which of its devices a packet to it belongs to. */
static void check_addresses_apart(const struct config *c, unsigned n, struct config_faults *f)
{
    const struct iface_config *mine = &c->device[n].iface;
    char text[IP_ADDR_TEXT];
    for (unsigned a = 0; a < mine->n_addrs; a++)
        for (unsigned other = 0; other < n; other++) {
            const struct iface_config *theirs = &c->device[other].iface;
            for (unsigned b = 0; b < theirs->n_addrs; b++)
                if (ip_eq(&mine->addr[a].addr, &theirs->addr[b].addr)) {
                    ip_format(&mine->addr[a].addr, text);
                    config_fault(f, DEVICE(n, "addresses", (int)a),
                                 "%s is an address of '%s' already", text, theirs->name);
                }
        }
}

static bool same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* What two devices would have to share: the key's name; NULL: nothing. */
static const char *shared(const struct config_device *a, const struct config_device *b)
{
    if (same(a->iface.name, b->iface.name))
        return "name";
    if (same(a->pci, b->pci))
        return "pci";
    if (same(a->interface, b->interface))
        return "interface";
    /* One memif socket carries many interfaces, told apart by id; /dev/vhost-net is for all. */
    bool memif = a->driver == CONFIG_DRIVER_MEMIF && b->driver == CONFIG_DRIVER_MEMIF;
    if (same(a->path, b->path) && strcmp(a->path, "/dev/vhost-net") != 0 &&
        (!memif || a->memif_id == b->memif_id))
        return memif ? "id" : "path";
    return same(a->tx_file, b->tx_file) ? "tx-file" : NULL;
}

/* A process is one side of a memif socket. */
static bool both_sides(const struct config_device *a, const struct config_device *b)
{
    return a->driver == CONFIG_DRIVER_MEMIF && b->driver == CONFIG_DRIVER_MEMIF &&
           same(a->path, b->path) && a->memif_server != b->memif_server;
}

static void check_devices_apart(const struct config *c, unsigned n, struct config_faults *f)
{
    for (unsigned other = 0; other < n; other++) {
        if (both_sides(&c->device[n], &c->device[other]))
            config_fault(f, DEVICE(n, "role", -1), "not that of devices[%u] on the same socket",
                         other);
        const char *key = shared(&c->device[n], &c->device[other]);
        if (key)
            config_fault(f, DEVICE(n, key, -1), "the same as that of devices[%u]", other);
        if (c->device[n].mac_set && c->device[other].mac_set &&
            mac_eq(&c->device[n].iface.mac, &c->device[other].iface.mac))
            config_fault(f, DEVICE(n, "mac", -1), "the same as that of devices[%u]", other);
    }
}

static void check_workers(const struct config *c, struct config_faults *f)
{
    if (c->control.core < 0 || c->workers.idle == CONFIG_IDLE_SLEEP)
        return;
    for (unsigned i = 0; i < c->workers.n; i++)
        if (c->workers.core[i] == c->control.core)
            config_fault(f, CONFIG_PLACE("control", -1, "core", -1),
                         "core %d has a worker that never sleeps: take another core, or say "
                         "'idle: sleep' under workers",
                         c->control.core);
}

static void check_watchdog(const struct config *c, struct config_faults *f)
{
    const struct config_place *place = CONFIG_PLACE("health", -1, "watchdog-ms", -1);
    uint32_t ms = c->health.watchdog_ms;
    if (!ms)
        return;
    if (ms < WATCHDOG_MS_MIN)
        config_fault(f, place, "%u is less than %d, how often workers are looked at (0: never)", ms,
                     WATCHDOG_MS_MIN);
    else if (c->workers.idle == CONFIG_IDLE_SLEEP && ms * 1000ull <= 2ull * c->workers.max_sleep_us)
        config_fault(f, place,
                     "%u is too close to max-sleep-us: %u, so that a worker at rest would be "
                     "reported",
                     ms, c->workers.max_sleep_us);
}

bool config_is_ours(const struct config *c, const struct ip_addr *a)
{
    for (unsigned n = 0; n < c->n_devices; n++) {
        const struct iface_config *i = &c->device[n].iface;
        if (!ip_is_v4(a) && ip_is_link_local(a) && i->ipv6)
            return true;
        for (unsigned at = 0; at < i->n_addrs; at++)
            if (ip_eq(&i->addr[at].addr, a))
                return true;
    }
    return ip_is_unspecified(a);
}

static void check_listener(const struct config *c, unsigned n, struct config_faults *f)
{
    const struct config_listener *l = &c->listener[n];
    char text[IP_ADDR_TEXT];
    ip_format(&l->addr, text);
    if (!config_is_ours(c, &l->addr))
        config_fault(f, LISTENER(n, "address"), "%s is no device's address", text);
    for (unsigned other = 0; other < n; other++) {
        const struct config_listener *o = &c->listener[other];
        if (!strcmp(o->name, l->name))
            config_fault(f, LISTENER(n, "name"), "the same as that of listeners[%u]", other);
        if (o->port == l->port && ip_eq(&o->addr, &l->addr))
            config_fault(f, LISTENER(n, "port"), "'%s' has port %u of that address already",
                         o->name, l->port);
    }
}

static void check_tcp(const struct config *c, struct config_faults *f)
{
    const struct tcp_settings *t = &c->tcp;
    struct tcp_settings all = *t;
    unsigned before = f->n;
    if (t->receive_buffer > t->receive_buffer_max)
        config_fault(f, KEY("tcp", "receive-buffer"), "%u is more than receive-buffer-max, %u",
                     t->receive_buffer, t->receive_buffer_max);
    if (t->no_window_scaling && t->receive_buffer > UINT16_MAX + 1u)
        config_fault(f, KEY("tcp", "receive-buffer"),
                     "without window-scaling there is no window over 64 KiB");
    if (t->send_buffer > t->send_buffer_max)
        config_fault(f, KEY("tcp", "send-buffer"), "%u is more than send-buffer-max, %u",
                     t->send_buffer, t->send_buffer_max);
    if (t->port_min > t->port_max)
        config_fault(f, KEY("tcp", "port-min"), "%u is more than port-max, %u", t->port_min,
                     t->port_max);
    if (f->n == before && !tcp_settings_fill(&all))
        config_fault(f, KEY("tcp", NULL), "these settings do not go together");
}

static void check_tcp_memory(const struct config *c, struct config_faults *f)
{
    const struct config_place *place = KEY("limits", "tcp-memory");
    uint64_t memory = c->limits.tcp_memory;
    if (!memory)
        return;
    if (memory < TCP_MEMORY_MIN)
        config_fault(f, place, "%" PRIu64 " is less than 1 MiB (0: computed)", memory);
    else if (memory > plan_tcp_memory_most(c))
        config_fault(f, place,
                     "%" PRIu64 " is more than a pool of %u packets has for each worker: %" PRIu64,
                     memory, plan_packets(c), plan_tcp_memory_most(c));
}

void config_check(const struct config *c, struct config_faults *f)
{
    for (unsigned n = 0; n < c->n_devices; n++) {
        const struct iface_config *i = &c->device[n].iface;
        check_driver(&c->device[n], n, f);
        check_ipv6(i, n, f);
        check_gateway(i, &i->gateway4, n, f);
        check_gateway(i, &i->gateway6, n, f);
        check_devices_apart(c, n, f);
        check_addresses_apart(c, n, f);
    }
    for (unsigned n = 0; n < c->n_listeners; n++)
        check_listener(c, n, f);
    check_workers(c, f);
    check_watchdog(c, f);
    check_tcp(c, f);
    check_tcp_memory(c, f);
    config_check_http(c, f);
    config_check_proxy(c, f);
}
