/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_H
#define MILLRACE_APP_CONFIG_H

/*
 * The configuration file: one YAML document, read whole by libcyaml and validated whole before
 * anything of it is used. Every key has a default, so that an empty file is a valid configuration
 * without devices.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/resolver.h"
#include "service/origin.h"
#include "service/proxy.h"
#include "service/service.h"
#include "stack/iface.h"
#include "stack/stack.h"

#define CONFIG_WORKERS_MAX 64
#define CONFIG_QUEUES_MAX  64
#define CONFIG_CORE_MAX    1023
#define CONFIG_BURST_MAX   256
#define CONFIG_CAPTURE_MIN (64u * 1024) /* bytes of a capture file's limit */
#define CONFIG_SNAPLEN_MIN 64u          /* bytes kept of a packet */
#define CONFIG_SNAPLEN_MAX 262144u
#define CONFIG_NAME_MAX    32 /* of what entries of lists are called, with the NUL */

#define CONFIG_LISTENER_CERTIFICATES 8

/* X(enumerator, name in the file, what it is) */
#define CONFIG_DRIVERS(X)                                                       \
    X(PCI, "pci", "a NIC by PCI address")                                       \
    X(AF_XDP, "af_xdp", "a kernel interface by AF_XDP sockets")                 \
    X(AF_PACKET, "af_packet", "a kernel interface by packet sockets")           \
    X(TAP, "tap", "a TAP interface that we create")                             \
    X(VIRTIO_USER, "virtio_user", "a vhost-user socket or /dev/vhost-net")      \
    X(MEMIF, "memif", "shared memory with VPP, grout or another DPDK process")  \
    X(RING, "ring", "an in-process loop, for tests")                            \
    X(NULL, "null", "a device that receives nothing and swallows what is sent") \
    X(PCAP, "pcap", "capture files in and out")

enum config_driver {
#define X(id, name, text) CONFIG_DRIVER_##id,
    CONFIG_DRIVERS(X)
#undef X
};

/* Transport protocols. X(enumerator, name) */
#define CONFIG_PROTOCOLS(X) X(TCP, "tcp")

enum config_protocol {
#define X(id, name) CONFIG_PROTOCOL_##id,
    CONFIG_PROTOCOLS(X)
#undef X
};

enum config_idle {
    CONFIG_IDLE_SLEEP, /* pauses, then sleeps bounded by the next deadline and by max-sleep: the
                          default */
    CONFIG_IDLE_PAUSE, /* pause instructions only */
    CONFIG_IDLE_POLL,  /* never rests */
};

enum config_hugepages {
    CONFIG_HUGEPAGES_AUTO, /* use them where there are some */
    CONFIG_HUGEPAGES_ON,   /* refuse to start without */
    CONFIG_HUGEPAGES_OFF,
};

enum config_log_level {
    CONFIG_LOG_ERROR,
    CONFIG_LOG_WARNING,
    CONFIG_LOG_NOTICE,
    CONFIG_LOG_INFO,
    CONFIG_LOG_DEBUG,
};

/* How a proxy knows its users. X(enumerator, name) */
#define CONFIG_AUTHENTICATIONS(X)                            \
    X(NONE, "none")               /* not at all */           \
    X(BASIC, "basic")             /* by name and password */ \
    X(CERTIFICATE, "certificate") /* by that of their TLS */ \
    X(ANY, "any")                 /* by either */

enum config_authentication {
#define X(id, name) CONFIG_AUTHENTICATION_##id,
    CONFIG_AUTHENTICATIONS(X)
#undef X
};

/* The values of a key that is a list of any length, in the file's order. */
struct config_list {
    void *v; /* the first; of what type, says the member's comment */
    unsigned n;
};

struct config_device {
    enum config_driver driver;
    char *pci;       /* driver pci: "0000:03:00.0" */
    char *interface; /* af_xdp, af_packet: existing; tap: to create (the device's name by default,
                        already filled in); virtio_user: to create, or NULL; otherwise NULL */
    char *path;      /* virtio_user, memif: socket */
    char *rx_file;   /* pcap */
    char *tx_file;   /* pcap */
    char *args;      /* more driver arguments, appended as they are */
    bool memif_server;
    uint16_t memif_id;
    uint16_t queues;         /* 0: one for each worker, as far as the device has them */
    uint16_t rx_descriptors; /* 0: the driver's default */
    uint16_t tx_descriptors;
    bool promiscuous;
    bool mac_set; /* iface.mac is from the file; otherwise the device's own is filled in at start */
    /* name, mtu, vlan, addresses, gateways, ipv6; mac and offload are filled in at start */
    struct iface_config iface;
};

/* A port that a service answers on. */
struct config_listener {
    char name[STACK_LISTENER_NAME_MAX];
    enum stack_carrier carrier; /* the key `protocol` */
    struct ip_addr addr;        /* ours; 0.0.0.0 and ::, see struct stack_listener */
    uint16_t port;
    enum service service;
    uint32_t backlog;
    bool syn_cookies;
    /* With a protocol of HTTP. */
    char origin[CONFIG_NAME_MAX]; /* "": none */
    char proxy[CONFIG_NAME_MAX];  /* "": none */
    enum sched_policy scheduler;
    char certificate[CONFIG_LISTENER_CERTIFICATES][CONFIG_NAME_MAX]; /* names */
    unsigned n_certificates;                                         /* 0: cleartext */
    char *client_ca;                                                 /* PEM file; NULL: none */
    enum tls_client_auth client_auth;
    uint32_t handshakes;
    uint32_t prefix_handshakes;
    tick_t handshake_timeout;
};

struct config_certificate {
    char name[CONFIG_NAME_MAX];
    char *certificate; /* PEM file: the certificate and its chain */
    char *key;         /* PEM file */
};

struct config_origin {
    char name[CONFIG_NAME_MAX];
    char *directory; /* NULL: no files */
    struct origin_options options;
};

/* A fixed answer of an origin. */
struct config_response {
    char origin[CONFIG_NAME_MAX];
    char *path;
    uint16_t status;
    char *type; /* NULL: by the ending of path, see site.c */
    char *body; /* what is served: this, */
    char *file; /* or what this holds; both NULL: nothing */
};

struct config_proxy {
    char name[CONFIG_NAME_MAX];
    char *realm; /* NULL: its name */
    enum config_authentication authentication;
    char *users_file;          /* see credentials.h; NULL: none */
    uint32_t permit;           /* bits 1 << enum proxy_group */
    struct config_list egress; /* struct ip_addr */
    tick_t connect_timeout;
    tick_t idle_timeout;
    tick_t half_open_timeout;
    tick_t lifetime;            /* TICK_NEVER: no bound */
    struct proxy_limits limits; /* of each user that has none of its own */
};

/* Who may go where; of one proxy, in the file's order. */
struct config_rule {
    char proxy[CONFIG_NAME_MAX];
    bool allow;
    struct config_list users;    /* char * */
    struct config_list names;    /* char *, in lower case */
    struct config_list prefixes; /* struct ip_prefix */
    struct config_list ports;    /* struct proxy_port_range */
};

struct config_user_limit {
    char proxy[CONFIG_NAME_MAX];
    char *user; /* "-": nobody in particular */
    struct proxy_limits limits;
};

struct config_tree;

struct config {
    struct config_tree *tree; /* where its keys stand in the file, for config_probe */
    struct config_device *device;
    unsigned n_devices;
    struct config_listener *listener;
    unsigned n_listeners;
    struct config_certificate *certificate;
    unsigned n_certificates;
    struct config_origin *origin;
    unsigned n_origins;
    struct config_response *response;
    unsigned n_responses;
    struct config_proxy *proxy;
    unsigned n_proxies;
    struct config_rule *rule;
    unsigned n_rules;
    struct config_user_limit *user_limit;
    unsigned n_user_limits;
    struct resolver_host *host;
    unsigned n_hosts;

    struct {
        unsigned n; /* workers; at least 1 */
        uint16_t core[CONFIG_WORKERS_MAX];
        enum config_idle idle;
        uint32_t max_sleep_us; /* longest sleep of an idle worker */
        uint16_t burst;        /* packets a receive call takes at most */
    } workers;

    struct {
        int core; /* -1: wherever the kernel puts it */
        char *socket;
        uint32_t mode; /* of the socket, e.g. 0660 */
        char *group;   /* of the socket, NULL: unchanged */
        uint16_t port; /* loopback TCP for scrapers, 0: none */
    } control;

    struct {
        enum config_hugepages hugepages;
        uint32_t megabytes; /* 0: computed from devices and workers */
        uint32_t packets;   /* in each NUMA node's pool; 0: computed */
        char *eal_args;     /* the escape hatch: appended to EAL's arguments */
        char *file_prefix;  /* tells appliances on one machine apart */
    } memory;

    struct {
        char *directory;
        uint64_t max_bytes; /* of one capture file, unless the request says less */
        uint32_t snaplen;   /* bytes kept of each packet */
    } capture;

    struct {
        enum config_log_level level;
        char *file; /* NULL: standard error */
        bool json;
    } log;

    struct {
        uint32_t watchdog_ms; /* a worker that stands still this long is reported; 0: off */
    } health;

    struct {
        enum tls_version min_version;
        char *ciphers; /* of TLS 1.2; NULL: the default, as in all three */
        char *suites;  /* of TLS 1.3 */
        char *groups;
        uint32_t tickets;
        tick_t ticket_lifetime;
    } tls;

    struct {
        char *file;      /* NULL: standard output */
        uint32_t sample; /* one request of so many is logged; 0: none */
    } access_log;

    struct stack_icmp icmp;
    struct tcp_settings tcp;
    struct h2_settings http2;
    struct stack_limits limits; /* tcp_memory 0: plan_tcp_memory says */
    uint32_t tunnels;           /* of CONNECT, in each worker */
    struct resolver_settings resolver;
};

/*
 * Reads and validates. NULL where it is not valid: each fault is one line on errors, `file:line:
 * key: what is wrong (did you mean …?)`, in the order of the file. Nothing outside the file is
 * looked at: whether cores and devices exist is config_probe's question. No limit but tcp_memory is
 * left at 0, and nothing in tcp and http2, nor of the resolver but min_ttl_s and servers: the
 * defaults are filled in.
 */
struct config *config_load(const char *file, FILE *errors);
void config_free(struct config *c);

/* What a listener, a response or a rule names; NULL: there is none of that name. */
const struct config_certificate *config_certificate_find(const struct config *c, const char *name);
const struct config_origin *config_origin_find(const struct config *c, const char *name);
const struct config_proxy *config_proxy_find(const struct config *c, const char *name);

/*
 * Does this machine have what the configuration names? Faults as above; returns their number.
 * config_probe_start: only what no start gets past, devices, cores and memory.
 */
unsigned config_probe(const struct config *c, const char *file, FILE *errors);
unsigned config_probe_start(const struct config *c, const char *file, FILE *errors);
/* What it allows, and hardly means: lines as above; returns their number. */
unsigned config_warn(const struct config *c, const char *file, FILE *warnings);

/*
 * What of next can be put in force without a restart, given now: true and nothing on errors where
 * all of it; each key that needs a restart is one line on errors.
 */
bool config_reloadable(const struct config *now, const struct config *next, FILE *errors);

const char *config_driver_name(enum config_driver d);

/* The whole schema as a commented YAML document with every default: `millrace --example`. */
void config_print_example(FILE *out);

#endif
