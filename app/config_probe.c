/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/assets.h"
#include "app/config_fault.h"
#include "app/config_value.h"
#include "app/netdev.h"
#include "app/plan.h"
#include "app/proxies.h"

#define CPUS_ONLINE "/sys/devices/system/cpu/online"
#define PCI_DEVICES "/sys/bus/pci/devices"
#define TUN_DEVICE  "/dev/net/tun"

#define DEVICE(i, name) CONFIG_PLACE("devices", (int)(i), (name), -1)

/* Whether text, "0-3,8-11", has core. */
static bool range_has(char *text, unsigned core)
{
    char *rest;
    uint64_t first;
    uint64_t last;
    for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
        if (config_range_parse(part, UINT_MAX, &first, &last) && core >= first && core <= last)
            return true;
    return false;
}

static void probe_core(unsigned core, const char *online, const struct config_place *place,
                       struct config_faults *f)
{
    char copy[256];
    snprintf(copy, sizeof(copy), "%s", online);
    if (online[0] && !range_has(copy, core))
        config_fault(f, place, "core %u is not online here (%s are)", core, online);
}

static void probe_cores(const struct config *c, struct config_faults *f)
{
    char online[256] = "";
    FILE *in = fopen(CPUS_ONLINE, "re");
    if (in && fgets(online, sizeof(online), in))
        online[strcspn(online, "\n")] = 0;
    if (in)
        fclose(in);
    for (unsigned i = 0; i < c->workers.n; i++)
        probe_core(c->workers.core[i], online, CONFIG_PLACE("workers", -1, "cores", (int)i), f);
    if (c->control.core >= 0)
        probe_core((unsigned)c->control.core, online, CONFIG_PLACE("control", -1, "core", -1), f);
}

/* The directory that holds path, cut in place: "." where path has no slash. */
static const char *parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return strcpy(path, ".");
    slash[slash == path] = 0;
    return path;
}

static void probe_made(const char *path, const struct config_place *place, struct config_faults *f)
{
    struct stat st;
    if (stat(path, &st) < 0)
        config_fault(f, place, "%s: %s", path, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        config_fault(f, place, "%s is not a directory", path);
    else if (access(path, W_OK | X_OK) < 0)
        config_fault(f, place, "cannot write to %s: %s", path, strerror(errno));
}

/* Whether directory can be written to, or be made where it is missing. */
static void probe_directory(const char *directory, const struct config_place *place,
                            struct config_faults *f)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s", directory) >= (int)sizeof(path))
        return;
    while (access(path, F_OK) < 0 && errno == ENOENT && strcmp(path, ".") && strcmp(path, "/"))
        parent(path);
    probe_made(path, place, f);
}

/* Whether file can be appended to, or be made: its directory is not. */
static void probe_log(const char *file, const struct config_place *place, struct config_faults *f)
{
    char path[PATH_MAX];
    struct stat st;
    if (snprintf(path, sizeof(path), "%s", file) >= (int)sizeof(path))
        return;
    if (stat(path, &st) < 0)
        probe_made(parent(path), place, f);
    else if (S_ISDIR(st.st_mode))
        config_fault(f, place, "%s is a directory", path);
    else if (access(path, W_OK) < 0)
        config_fault(f, place, "cannot write to %s: %s", path, strerror(errno));
}

static void probe_parent(const char *file, const struct config_place *place,
                         struct config_faults *f)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s", file) < (int)sizeof(path))
        probe_directory(parent(path), place, f);
}

static void probe_readable(const char *path, const struct config_place *place,
                           struct config_faults *f)
{
    if (access(path, R_OK) < 0)
        config_fault(f, place, "cannot read %s: %s", path, strerror(errno));
}

static void probe_interface(const char *name, const struct config_place *place,
                            struct config_faults *f)
{
    if (!if_nametoindex(name))
        config_fault(f, place, "there is no interface '%s' in this network namespace", name);
}

static void probe_pci(const char *address, const struct config_place *place,
                      struct config_faults *f)
{
    char path[64];
    snprintf(path, sizeof(path), PCI_DEVICES "/%s", address);
    if (access(path, F_OK) < 0)
        config_fault(f, place, "there is no PCI device %s (lspci -D lists them)", address);
}

/* Each AF_XDP socket is bound to one of the interface's own queues. */
static void probe_xdp(const struct config_device *d, unsigned n, struct config_faults *f)
{
    unsigned combined;
    probe_interface(d->interface, DEVICE(n, "interface"), f);
    unsigned has = netdev_queues(d->interface, &combined);
    if (if_nametoindex(d->interface) && d->queues > has)
        config_fault(f, DEVICE(n, "queues"),
                     "interface '%s' has %u receive queue%s, not %u; lower it, or type: ethtool -L "
                     "%s combined %u",
                     d->interface, has, has == 1 ? "" : "s", d->queues, d->interface, d->queues);
}

/* As a server the driver makes the socket itself. */
static void probe_vhost(const struct config_device *d, unsigned n, struct config_faults *f)
{
    if (d->args && strstr(d->args, "server=1"))
        probe_parent(d->path, DEVICE(n, "path"), f);
    else
        probe_readable(d->path, DEVICE(n, "path"), f);
}

static void probe_device(const struct config_device *d, unsigned n, struct config_faults *f)
{
    switch (d->driver) {
    case CONFIG_DRIVER_PCI: probe_pci(d->pci, DEVICE(n, "pci"), f); break;
    case CONFIG_DRIVER_AF_XDP: probe_xdp(d, n, f); break;
    case CONFIG_DRIVER_AF_PACKET: probe_interface(d->interface, DEVICE(n, "interface"), f); break;
    case CONFIG_DRIVER_TAP: probe_readable(TUN_DEVICE, DEVICE(n, "driver"), f); break;
    case CONFIG_DRIVER_VIRTIO_USER: probe_vhost(d, n, f); break;
    case CONFIG_DRIVER_MEMIF:
        if (d->memif_server)
            probe_parent(d->path, DEVICE(n, "path"), f);
        else /* DPDK 22.11 does not start one whose server is not there */
            probe_readable(d->path, DEVICE(n, "path"), f);
        break;
    case CONFIG_DRIVER_PCAP:
        if (d->rx_file)
            probe_readable(d->rx_file, DEVICE(n, "rx-file"), f);
        if (d->tx_file)
            probe_parent(d->tx_file, DEVICE(n, "tx-file"), f);
        break;
    case CONFIG_DRIVER_RING:
    case CONFIG_DRIVER_NULL: break; /* always there */
    }
}

static void probe_start(const struct config *c, struct config_faults *f)
{
    if (c->n_devices == 0)
        config_fault(f, CONFIG_PLACE("devices", -1, NULL, -1),
                     "names no devices, so there is nothing to do; add or uncomment one");
    for (unsigned i = 0; i < c->n_devices; i++)
        probe_device(&c->device[i], i, f);
    probe_cores(c, f);
    if (c->memory.megabytes && c->memory.megabytes < plan_megabytes_least(c))
        config_fault(f, CONFIG_PLACE("memory", -1, "megabytes", -1),
                     "%u is too little for the packets of these devices and workers, %u; they want "
                     "%u (0: computed)",
                     c->memory.megabytes, plan_packets(c), plan_megabytes_wanted(c));
}

unsigned config_probe_start(const struct config *c, const char *file, FILE *errors)
{
    struct config_faults f = {.file = file, .tree = c->tree};
    probe_start(c, &f);
    return config_faults_flush(&f, errors);
}

/* Tries what a start or a reload would read. */
static void probe_assets(const struct config *c, struct config_faults *f)
{
    struct assets_store store = {0};
    assets_release(assets_load(&store, c, NULL, f));
    assets_reap(&store);
}

static void warn_proxy(const struct config *c, unsigned n, struct config_faults *f)
{
    struct config_faults ignored = {0}; /* config_probe tells */
    struct credentials *credentials = NULL;
    if (proxies_ask_password(&c->proxy[n]))
        credentials = credentials_load(c->proxy[n].users_file, CONFIG_ROOT, &ignored);
    config_faults_forget(&ignored);
    if (credentials || !proxies_ask_password(&c->proxy[n]))
        proxies_warn(c, n, credentials, f);
    credentials_release(credentials);
}

unsigned config_warn(const struct config *c, const char *file, FILE *warnings)
{
    struct config_faults f = {.file = file, .tree = c->tree};
    for (unsigned i = 0; i < c->n_proxies; i++)
        warn_proxy(c, i, &f);
    return config_faults_flush(&f, warnings);
}

unsigned config_probe(const struct config *c, const char *file, FILE *errors)
{
    struct config_faults f = {.file = file, .tree = c->tree};
    probe_start(c, &f);
    probe_parent(c->control.socket, CONFIG_PLACE("control", -1, "socket", -1), &f);
    if (c->control.group && !getgrnam(c->control.group))
        config_fault(&f, CONFIG_PLACE("control", -1, "group", -1), "there is no group '%s'",
                     c->control.group);
    probe_directory(c->capture.directory, CONFIG_PLACE("capture", -1, "directory", -1), &f);
    if (c->log.file)
        probe_log(c->log.file, CONFIG_PLACE("log", -1, "file", -1), &f);
    if (c->access_log.file)
        probe_log(c->access_log.file, CONFIG_PLACE("access-log", -1, "file", -1), &f);
    probe_assets(c, &f);
    return config_faults_flush(&f, errors);
}
