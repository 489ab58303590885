/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_keys.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const config_driver_names[] = {
#define X(id, name, text) name,
    CONFIG_DRIVERS(X)
#undef X
};
const unsigned config_n_drivers = COUNT(config_driver_names);

static const char *const driver_texts[] = {
#define X(id, name, text) text,
    CONFIG_DRIVERS(X)
#undef X
};

static const char *const carriers[] = {
    [STACK_CARRIER_TCP] = "tcp", [STACK_CARRIER_HTTP2] = "http2"};
static const char *const services[] = {
#define X(id, name, text) name,
    SERVICES(X)
#undef X
};
static const char *const service_texts[] = {
#define X(id, name, text) text,
    SERVICES(X)
#undef X
};
/* The others are not of HTTP/2. */
static const char *const schedulers[] = {
    [SCHED_DEFICIT] = "deficit", [SCHED_ROUND_ROBIN] = "round-robin", [SCHED_URGENCY] = "urgency",
    [SCHED_TREE] = "tree",       [SCHED_FIRST_COME] = "first-come",   [SCHED_RANDOM] = "random"};
static const char *const congestions[] = {
#define X(id, name, text) name,
    TCP_CONGESTIONS(X)
#undef X
};
static const char *const ecns[] = {
    [TCP_ECN_ACCEPT] = "accept", [TCP_ECN_REQUEST] = "request", [TCP_ECN_OFF] = "off"};
static const char *const versions[] = {[TLS_VERSION_1_2] = "1.2", [TLS_VERSION_1_3] = "1.3"};
static const char *const client_auths[] = {[TLS_CLIENT_AUTH_OFF] = "off",
                                           [TLS_CLIENT_AUTH_OPTIONAL] = "optional",
                                           [TLS_CLIENT_AUTH_REQUIRED] = "required"};
static const char *const authentications[] = {
#define X(id, name) name,
    CONFIG_AUTHENTICATIONS(X)
#undef X
};
static const char *const groups[] = {
#define X(id, name, text) name,
    PROXY_GROUPS(X)
#undef X
};
static const char *const group_texts[] = {
#define X(id, name, text) text,
    PROXY_GROUPS(X)
#undef X
};
static const char *const actions[] = {"deny", "allow"};  /* by the value of allow */
static const char *const roles[] = {"client", "server"}; /* by the value of memif_server */
static const char *const idles[] = {
    [CONFIG_IDLE_SLEEP] = "sleep", [CONFIG_IDLE_PAUSE] = "pause", [CONFIG_IDLE_POLL] = "poll"};
static const char *const hugepages[] = {
    [CONFIG_HUGEPAGES_AUTO] = "auto", [CONFIG_HUGEPAGES_ON] = "on", [CONFIG_HUGEPAGES_OFF] = "off"};
static const char *const levels[] = {[CONFIG_LOG_ERROR] = "error",
                                     [CONFIG_LOG_WARNING] = "warning",
                                     [CONFIG_LOG_NOTICE] = "notice",
                                     [CONFIG_LOG_INFO] = "info",
                                     [CONFIG_LOG_DEBUG] = "debug"};

#define MEMBER(type, m) .offset = offsetof(type, m), .size = sizeof(((type *)0)->m)
#define DEVICE(m)       MEMBER(struct config_device, m)
#define LISTENER(m)     MEMBER(struct config_listener, m)
#define CERTIFICATE(m)  MEMBER(struct config_certificate, m)
#define ORIGIN(m)       MEMBER(struct config_origin, m)
#define RESPONSE(m)     MEMBER(struct config_response, m)
#define PROXY(m)        MEMBER(struct config_proxy, m)
#define RULE(m)         MEMBER(struct config_rule, m)
#define USER_LIMIT(m)   MEMBER(struct config_user_limit, m)
#define HOST(m)         MEMBER(struct resolver_host, m)
#define CONFIG(m)       MEMBER(struct config, m)
#define NAMES(n)        .names = (n), .max = COUNT(n)
#define RANGE(a, b)     .min = (a), .max = (b)
#define ON(driver)      (1u << CONFIG_DRIVER_##driver)

#define TIME(u) .unit = TICK_##u

#define MIB (1024u * 1024)
/* struct sockaddr_un holds 108 bytes with the NUL. */
#define SOCKET_PATH_MAX 107
#define FILE_PATH_MAX   1023

/* clang-format off */
static const struct config_key device_keys[] = {
    {"name", CONFIG_NAME, DEVICE(iface.name), .max = IFACE_NAME_MAX - 1, .sample = "lan0",
     .needed = ~0u,
     .text = "what you call it here and in all output: a-z 0-9 _ . -"},
    {"driver", CONFIG_ENUM, DEVICE(driver), NAMES(config_driver_names), .sample = "af_xdp",
     .needed = ~0u,
     .text = "what it is reached by"},
    {"interface", CONFIG_INTERFACE, DEVICE(interface), .max = 15, .sample = "eth1",
     .drivers = ON(AF_XDP) | ON(AF_PACKET) | ON(TAP) | ON(VIRTIO_USER),
     .needed = ON(AF_XDP) | ON(AF_PACKET),
     .text = "kernel interface to take over; of a tap or vhost-net: to create"},
    {"pci", CONFIG_PCI, DEVICE(pci), .sample = "0000:03:00.0",
     .drivers = ON(PCI), .needed = ON(PCI),
     .text = "address of the NIC, as lspci -D prints it"},
    {"path", CONFIG_PATH, DEVICE(path), .max = SOCKET_PATH_MAX, .sample = "/run/vhost0.sock",
     .drivers = ON(VIRTIO_USER) | ON(MEMIF), .needed = ON(VIRTIO_USER) | ON(MEMIF),
     .text = "socket shared with the other side, or /dev/vhost-net"},
    {"role", CONFIG_ENUM, DEVICE(memif_server), NAMES(roles), .preset = "client",
     .drivers = ON(MEMIF),
     .text = "server: makes the socket; client: connects to it and owns the memory"},
    {"id", CONFIG_UINT, DEVICE(memif_id), RANGE(0, UINT16_MAX), .preset = "0",
     .drivers = ON(MEMIF),
     .text = "tells the interfaces on one socket apart; the same on both sides"},
    {"rx-file", CONFIG_PATH, DEVICE(rx_file), .max = FILE_PATH_MAX, .sample = "in.pcap",
     .drivers = ON(PCAP),
     .text = "capture whose packets come in"},
    {"tx-file", CONFIG_PATH, DEVICE(tx_file), .max = FILE_PATH_MAX, .sample = "out.pcap",
     .drivers = ON(PCAP),
     .text = "capture that packets sent are written to"},
    {"args", CONFIG_TEXT, DEVICE(args), .sample = "busy_budget=64",
     .drivers = ~ON(RING),
     .text = "more arguments for the DPDK driver, key=value,..., passed on as they are"},
    {"queues", CONFIG_UINT, DEVICE(queues), RANGE(0, CONFIG_QUEUES_MAX), .preset = "0",
     .text = "receive and transmit queues; 0: one for each worker, as far as the device has them"},
    {"rx-descriptors", CONFIG_UINT, DEVICE(rx_descriptors), RANGE(0, 32768), .preset = "0",
     .text = "length of a receive queue in packets; 0: the driver's choice"},
    {"tx-descriptors", CONFIG_UINT, DEVICE(tx_descriptors), RANGE(0, 32768), .preset = "0",
     .text = "length of a transmit queue in packets; 0: the driver's choice"},
    {"promiscuous", CONFIG_BOOL, DEVICE(promiscuous), .preset = "false",
     .text = "receive also what is sent to other stations"},
    {"mac", CONFIG_MAC, DEVICE(iface.mac), .sample = "02:00:00:00:00:01",
     .text = "station address, in place of the device's own"},
    {"mtu", CONFIG_UINT, DEVICE(iface.mtu), RANGE(68, UINT16_MAX), .preset = "1500",
     .text = "bytes of the largest IP packet; below 1280 there is no IPv6"},
    {"vlan", CONFIG_UINT, DEVICE(iface.vlan), RANGE(0, 4094), .preset = "0",
     .text = "802.1Q id of its traffic; 0: untagged"},
    {"addresses", CONFIG_ADDRESSES, DEVICE(iface.addr), .max = IFACE_ADDRS_MAX,
     .sample = "192.0.2.10/24, \"2001:db8::10/64\"", .live = true,
     .text = "ours, IPv4 and IPv6, with the length of the network's prefix"},
    {"gateways", CONFIG_GATEWAYS, DEVICE(iface.gateway4), .max = 2,
     .sample = "192.0.2.1, \"fe80::1\"", .live = true,
     .text = "way to everywhere else, at most one IPv4 and one IPv6"},
    {"ipv6", CONFIG_BOOL, DEVICE(iface.ipv6), .preset = "true",
     .text = "false: no link-local address and no neighbour discovery"},
};

static const struct config_key listeners_keys[] = {
    {"name", CONFIG_NAME, LISTENER(name), .max = STACK_LISTENER_NAME_MAX - 1, .sample = "web",
     .needed = ~0u, .live = true,
     .text = "what you call it here and in all output: a-z 0-9 _ . -"},
    {"protocol", CONFIG_ENUM, LISTENER(carrier), NAMES(carriers), .preset = "tcp",
     .sample = "http2", .live = true,
     .text = "what carries the service: tcp (if not given), or http2, over TLS or without"},
    {"address", CONFIG_ADDRESS, LISTENER(addr), .preset = "any", .live = true,
     .text = "one of a device's; any (or ::): all of ours; 0.0.0.0: all IPv4 ones"},
    {"port", CONFIG_UINT, LISTENER(port), RANGE(1, UINT16_MAX), .sample = "443",
     .needed = ~0u, .live = true,
     .text = "of listeners on one port, the one with the most specific address answers"},
    {"service", CONFIG_ENUM, LISTENER(service), NAMES(services), .sample = "origin",
     .needed = ~0u, .live = true,
     .text = "who answers"},
    {"backlog", CONFIG_UINT, LISTENER(backlog), RANGE(1, 1u << 20), .preset = "1024", .live = true,
     .text = "half-open connections that a worker keeps; SYN cookies are for those beyond"},
    {"syn-cookies", CONFIG_BOOL, LISTENER(syn_cookies), .preset = "true", .live = true,
     .text = "false: what the backlog does not hold is dropped"},
    {"origin", CONFIG_NAME, LISTENER(origin), .max = CONFIG_NAME_MAX - 1, .sample = "site",
     .live = true,
     .text = "of service origin: what it serves, one of `origins`"},
    {"proxy", CONFIG_NAME, LISTENER(proxy), .max = CONFIG_NAME_MAX - 1, .sample = "egress",
     .live = true,
     .text = "of service connect: who may go where, one of `proxies`"},
    {"scheduler", CONFIG_ENUM, LISTENER(scheduler), NAMES(schedulers), .preset = "deficit",
     .live = true,
     .text = "of http2, whose turn it is to send: deficit (equal bytes), round-robin (frames), "
             "urgency (RFC 9218), tree (RFC 7540); to compare with: first-come, random"},
    {"certificates", CONFIG_CERTIFICATES, LISTENER(certificate),
     .max = CONFIG_LISTENER_CERTIFICATES, .sample = "example", .live = true,
     .text = "of http2: from `certificates`, the first for clients that name no host; none: "
             "cleartext"},
    {"client-auth", CONFIG_ENUM, LISTENER(client_auth), NAMES(client_auths), .preset = "off",
     .sample = "optional", .live = true,
     .text = "of TLS: off (if not given), optional or required: certificates of clients"},
    {"client-ca", CONFIG_PATH, LISTENER(client_ca), .max = FILE_PATH_MAX,
     .sample = "/etc/millrace/clients.pem", .live = true,
     .text = "PEM file of those who may have signed them"},
    {"handshakes", CONFIG_UINT, LISTENER(handshakes), RANGE(1, 1u << 20), .preset = "1024",
     .live = true,
     .text = "of TLS: under way in a worker at once; beyond, the oldest of over a second gives way"},
    {"prefix-handshakes", CONFIG_UINT, LISTENER(prefix_handshakes), RANGE(1, 1u << 20),
     .preset = "512", .live = true,
     .text = "of these, from one /24 of IPv4 or /56 of IPv6"},
    {"handshake-timeout-s", CONFIG_TIME, LISTENER(handshake_timeout), RANGE(1, 3600), TIME(SEC),
     .preset = "10", .live = true,
     .text = "seconds until one is given up"},
};

static const struct config_key certificates_keys[] = {
    {"name", CONFIG_NAME, CERTIFICATE(name), .max = CONFIG_NAME_MAX - 1, .sample = "example",
     .needed = ~0u, .live = true,
     .text = "what listeners call it: a-z 0-9 _ . -"},
    {"certificate", CONFIG_PATH, CERTIFICATE(certificate), .max = FILE_PATH_MAX,
     .sample = "/etc/millrace/example.pem", .needed = ~0u, .live = true,
     .text = "PEM file: the certificate, and behind it its chain"},
    {"key", CONFIG_PATH, CERTIFICATE(key), .max = FILE_PATH_MAX,
     .sample = "/etc/millrace/example.key", .needed = ~0u, .live = true,
     .text = "PEM file of its key, RSA or ECDSA"},
};

static const struct config_key tls_keys[] = {
    {"min-version", CONFIG_ENUM, CONFIG(tls.min_version), NAMES(versions), .preset = "1.2",
     .live = true,
     .text = "of the protocol: 1.2 or 1.3"},
    {"ciphers", CONFIG_TEXT, CONFIG(tls.ciphers), .sample = "ECDHE+AESGCM:ECDHE+CHACHA20",
     .live = true,
     .text = "of TLS 1.2, as openssl ciphers takes them; otherwise ECDHE with AEAD"},
    {"suites", CONFIG_TEXT, CONFIG(tls.suites),
     .sample = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384", .live = true,
     .text = "of TLS 1.3; otherwise OpenSSL's"},
    {"groups", CONFIG_TEXT, CONFIG(tls.groups), .sample = "X25519:P-256", .live = true,
     .text = "for key exchange; otherwise OpenSSL's"},
    {"tickets", CONFIG_UINT, CONFIG(tls.tickets), RANGE(0, 8), .preset = "1", .live = true,
     .text = "session tickets sent, each good for one connection more; 0: no resumption"},
    {"ticket-lifetime-s", CONFIG_TIME, CONFIG(tls.ticket_lifetime), RANGE(60, 604800), TIME(SEC),
     .preset = "3600",
     .text = "seconds that a ticket is good for; its keys rotate in that time"},
};

static const struct config_key origins_keys[] = {
    {"name", CONFIG_NAME, ORIGIN(name), .max = CONFIG_NAME_MAX - 1, .sample = "site",
     .needed = ~0u, .live = true,
     .text = "what listeners and responses call it: a-z 0-9 _ . -"},
    {"directory", CONFIG_PATH, ORIGIN(directory), .max = FILE_PATH_MAX,
     .sample = "/srv/www", .live = true,
     .text = "whose files are served, read at start and at each reload; hidden ones are not"},
    {"bytes", CONFIG_BOOL, ORIGIN(options.bytes), .preset = "false", .live = true,
     .text = "answer /bytes/N with N bytes of a pattern, for measurements"},
    {"echo", CONFIG_BOOL, ORIGIN(options.echo), .preset = "false", .live = true,
     .text = "answer POST and PUT to /echo with what was sent"},
    {"max-entries", CONFIG_UINT, ORIGIN(options.max_entries), RANGE(1, 1u << 20),
     .preset = "65536", .live = true,
     .text = "paths that it may have"},
    {"max-bytes", CONFIG_SIZE, ORIGIN(options.max_bytes), RANGE(1, 1ull << 40),
     .preset = "1 GiB", .live = true,
     .text = "of all its content, which is kept in memory"},
    {"max-upload", CONFIG_SIZE, ORIGIN(options.max_upload), RANGE(0, 1ull << 50), .preset = "0",
     .live = true,
     .text = "of one request to /echo; 0: no bound"},
};

static const struct config_key responses_keys[] = {
    {"origin", CONFIG_NAME, RESPONSE(origin), .max = CONFIG_NAME_MAX - 1, .sample = "site",
     .needed = ~0u, .live = true,
     .text = "whose answer it is"},
    {"path", CONFIG_PATH, RESPONSE(path), .max = FILE_PATH_MAX, .sample = "/health",
     .needed = ~0u, .live = true,
     .text = "of the request, percent-encoding undone"},
    {"status", CONFIG_UINT, RESPONSE(status), RANGE(200, 599), .preset = "200", .live = true,
     .text = "code of the answer"},
    {"type", CONFIG_TEXT, RESPONSE(type), .sample = "text/plain", .live = true,
     .text = "content-type; otherwise by the ending of path, without one of a body text/plain"},
    {"body", CONFIG_TEXT, RESPONSE(body), .sample = "fine", .live = true,
     .text = "what it says; or, in its place,"},
    {"file", CONFIG_PATH, RESPONSE(file), .max = FILE_PATH_MAX, .sample = "/srv/health.txt",
     .live = true,
     .text = "a file that has it, read at start and at each reload"},
};

#define TUNNELS_MAX (1u << 20)

static const struct config_key proxies_keys[] = {
    {"name", CONFIG_NAME, PROXY(name), .max = CONFIG_NAME_MAX - 1, .sample = "egress",
     .needed = ~0u, .live = true,
     .text = "what listeners and rules call it, and proxy-status does: a-z 0-9 _ . -"},
    {"realm", CONFIG_TEXT, PROXY(realm), .sample = "Egress of example.com", .live = true,
     .text = "what one who is asked for a password is shown; otherwise the name"},
    {"authentication", CONFIG_ENUM, PROXY(authentication), NAMES(authentications),
     .preset = "none", .sample = "basic", .live = true,
     .text = "none (if not given), basic (a password), certificate (that of TLS), any of these"},
    {"users-file", CONFIG_PATH, PROXY(users_file), .max = FILE_PATH_MAX,
     .sample = "/etc/millrace/users", .live = true,
     .text = "lines of user:hash, as `openssl passwd -6` makes hashes; read at each reload"},
    {"permit", CONFIG_SET, PROXY(permit), NAMES(groups), .sample = "private", .live = true,
     .text = "groups of addresses that no rule opens unless they stand here; see above"},
    {"egress", CONFIG_ADDRS, PROXY(egress), .max = PROXY_EGRESS_MAX, .sample = "192.0.2.10",
     .live = true,
     .text = "addresses of ours that tunnels come from; none of a family: any"},
    {"connect-timeout-s", CONFIG_TIME, PROXY(connect_timeout), RANGE(1, 3600), TIME(SEC),
     .preset = "10", .live = true,
     .text = "seconds until the target, its name found and all, has to have answered"},
    {"idle-timeout-s", CONFIG_TIME, PROXY(idle_timeout), RANGE(1, 604800), TIME(SEC),
     .preset = "300", .live = true,
     .text = "seconds without a byte either way until a tunnel is ended"},
    {"half-open-timeout-s", CONFIG_TIME, PROXY(half_open_timeout), RANGE(1, 604800), TIME(SEC),
     .preset = "60", .live = true,
     .text = "the same where one side has said that it is done"},
    {"lifetime-s", CONFIG_TIME, PROXY(lifetime), RANGE(0, 31536000), TIME(SEC), .preset = "0",
     .live = true,
     .text = "seconds that a tunnel may live; 0: no bound"},
    {"max-tunnels", CONFIG_UINT, PROXY(limits.tunnels), RANGE(0, TUNNELS_MAX), .preset = "0",
     .live = true,
     .text = "of one user at once, unless `user-limits` say; 0: no bound"},
    {"tunnels-per-second", CONFIG_UINT, PROXY(limits.rate), RANGE(0, 1000000), .preset = "0",
     .live = true,
     .text = "new ones of one user, as many at once; 0: no bound"},
    {"bytes-per-second", CONFIG_SIZE, PROXY(limits.bytes), RANGE(0, 1ull << 40), .preset = "0",
     .live = true,
     .text = "of one user, both ways together; 0: no bound"},
};

static const struct config_key rules_keys[] = {
    {"proxy", CONFIG_NAME, RULE(proxy), .max = CONFIG_NAME_MAX - 1, .sample = "egress",
     .needed = ~0u, .live = true,
     .text = "whose rule it is: the first of its rules that matches decides; none: denied"},
    {"action", CONFIG_ENUM, RULE(allow), NAMES(actions), .sample = "allow", .needed = ~0u,
     .live = true,
     .text = "allow or deny, where each list that is given has something that matches"},
    {"users", CONFIG_USERS, RULE(users), .max = CONFIG_LIST_MAX, .sample = "alice, bob",
     .live = true,
     .text = "\"*\": any that is known; \"-\": those that are not"},
    {"names", CONFIG_HOSTS, RULE(names), .max = CONFIG_LIST_MAX,
     .sample = "example.com, =www.example.org", .live = true,
     .text = "that the client gives; example.com: it and all below; =example.com: only it"},
    {"prefixes", CONFIG_PREFIXES, RULE(prefixes), .max = CONFIG_LIST_MAX,
     .sample = "203.0.113.0/24, \"2001:db8:1::/48\"", .live = true,
     .text = "of the address that is dialled, whatever name has led to it"},
    {"ports", CONFIG_PORTS, RULE(ports), .max = CONFIG_LIST_MAX, .sample = "443, \"8000-8100\"",
     .live = true,
     .text = "of the target"},
};

static const struct config_key user_limits_keys[] = {
    {"proxy", CONFIG_NAME, USER_LIMIT(proxy), .max = CONFIG_NAME_MAX - 1, .sample = "egress",
     .needed = ~0u, .live = true,
     .text = "whose user it is"},
    {"user", CONFIG_USER, USER_LIMIT(user), .sample = "alice", .needed = ~0u, .live = true,
     .text = "by name; \"-\": all that are not known, together"},
    {"tunnels", CONFIG_UINT, USER_LIMIT(limits.tunnels), RANGE(0, TUNNELS_MAX), .preset = "0",
     .live = true,
     .text = "at once, in place of max-tunnels; 0: no bound"},
    {"tunnels-per-second", CONFIG_UINT, USER_LIMIT(limits.rate), RANGE(0, 1000000),
     .preset = "0", .live = true,
     .text = "new ones, as many at once; 0: no bound"},
    {"bytes-per-second", CONFIG_SIZE, USER_LIMIT(limits.bytes), RANGE(0, 1ull << 40),
     .preset = "0", .live = true,
     .text = "both ways together; 0: no bound"},
};

#define RESOLVER(m) CONFIG(resolver.m)

static const struct config_key resolver_keys[] = {
    {"servers", CONFIG_SERVERS, RESOLVER(server), .max = RESOLVER_SERVERS_MAX,
     .sample = "192.0.2.53, \"[2001:db8::53]:5353\"", .live = true,
     .text = "asked in this order, over the kernel's network; none: those of /etc/resolv.conf"},
    {"timeout-ms", CONFIG_UINT, RESOLVER(timeout_ms), RANGE(10, 60000), .preset = "2000",
     .live = true,
     .text = "milliseconds that a server has at first, longer at the next try"},
    {"tries", CONFIG_UINT, RESOLVER(tries), RANGE(1, 10), .preset = "2", .live = true,
     .text = "of each server"},
    {"cache-entries", CONFIG_UINT, RESOLVER(cache_entries), RANGE(1, RESOLVER_CACHE_MAX),
     .preset = "4096", .live = true,
     .text = "names that are remembered, IPv4 and IPv6 each one"},
    {"min-ttl-s", CONFIG_UINT, RESOLVER(min_ttl_s), RANGE(0, 86400), .preset = "0", .live = true,
     .text = "seconds that an answer is kept at least, whatever it says itself"},
    {"max-ttl-s", CONFIG_UINT, RESOLVER(max_ttl_s), RANGE(1, 604800), .preset = "3600",
     .live = true,
     .text = "and at most"},
    {"negative-ttl-s", CONFIG_UINT, RESOLVER(negative_ttl_s), RANGE(1, 86400), .preset = "30",
     .live = true,
     .text = "seconds that there is no such name, where its zone does not say"},
    {"queries", CONFIG_UINT, RESOLVER(queries), RANGE(1, RESOLVER_QUERIES_MAX), .preset = "512",
     .live = true,
     .text = "under way at once"},
    {"client-queries", CONFIG_UINT, RESOLVER(client_queries), RANGE(1, RESOLVER_QUERIES_MAX),
     .preset = "64", .live = true,
     .text = "of these, for clients of one /24 of IPv4 or /56 of IPv6"},
};

static const struct config_key hosts_keys[] = {
    {"name", CONFIG_HOST, HOST(name), .sample = "intranet.example.com", .needed = ~0u,
     .live = true,
     .text = "for which no server is asked"},
    {"addresses", CONFIG_HOST_ADDRS, HOST(addr), .max = RESOLVER_HOST_ADDRS_MAX,
     .sample = "198.51.100.7, \"2001:db8::7\"", .needed = ~0u, .live = true,
     .text = "that it has, of each family in the order to be tried"},
};

static const struct config_key access_log_keys[] = {
    {"sample", CONFIG_UINT, CONFIG(access_log.sample), RANGE(0, 1000000), .preset = "0",
     .live = true,
     .text = "1: every request is logged; 100: each hundredth of a worker; 0: none"},
    {"file", CONFIG_PATH, CONFIG(access_log.file), .max = FILE_PATH_MAX,
     .sample = "/var/log/millrace-access.log", .live = true,
     .text = "appended to, in place of standard output; opened anew at SIGUSR1 and at a reload"},
};

#define H2(m)        CONFIG(http2.m)
#define STREAMS_MAX  1000000
#define RATE         RANGE(1, 1000000), .live = true
#define SECONDS      RANGE(1, 86400), TIME(SEC), .live = true
#define H2_WINDOW_MAX ((1u << 31) - 1) /* RFC 9113 6.9.1 */

static const struct config_key http2_keys[] = {
    {"max-streams", CONFIG_UINT, H2(max_streams), RANGE(1, STREAMS_MAX), .preset = "128",
     .live = true,
     .text = "that a client may have open at once"},
    {"stream-window", CONFIG_SIZE, H2(stream_window), RANGE(1024, H2_WINDOW_MAX),
     .preset = "256 KiB", .live = true,
     .text = "what a stream may receive ahead of its service"},
    {"connection-window", CONFIG_SIZE, H2(connection_window), RANGE(65535, H2_WINDOW_MAX),
     .preset = "1 MiB", .live = true,
     .text = "and all streams of a connection together"},
    {"max-frame", CONFIG_SIZE, H2(max_frame), RANGE(16384, 16777215), .preset = "16 KiB",
     .live = true,
     .text = "largest payload of a frame that is received"},
    {"header-table", CONFIG_SIZE, H2(header_table), RANGE(1, 65536), .preset = "4 KiB",
     .live = true,
     .text = "memory of header compression, each way"},
    {"header-list", CONFIG_SIZE, H2(header_list), RANGE(1024, MIB), .preset = "64 KiB",
     .live = true,
     .text = "of a request's head, uncompressed; a larger one is answered 431"},
    {"header-fields", CONFIG_UINT, H2(header_fields), RANGE(10, 10000), .preset = "100",
     .live = true,
     .text = "fields of a head, each crumb of a cookie one"},
    {"connect-protocol", CONFIG_BOOL, H2(connect_protocol), .preset = "false", .live = true,
     .text = "announce extended CONNECT (RFC 8441)"},
    {"glitches", CONFIG_UINT, H2(glitches), RATE, .preset = "1000",
     .text = "points for odd behaviour: at 75 % a connection is drained, at 100 % ended"},
    {"glitches-recover", CONFIG_UINT, H2(glitches_recover), RATE, .preset = "1",
     .text = "of them forgiven a second"},
    {"rst-burst", CONFIG_UINT, H2(rst_burst), RATE, .preset = "1000",
     .text = "RST_STREAM received in a row until the connection is ended"},
    {"rst-rate", CONFIG_UINT, H2(rst_rate), RATE, .preset = "33",
     .text = "and a second from then on"},
    {"reset-burst", CONFIG_UINT, H2(reset_burst), RATE, .preset = "200",
     .text = "streams that a client makes us reset, in a row, until it is ended"},
    {"reset-rate", CONFIG_UINT, H2(reset_rate), RATE, .preset = "7",
     .text = "and a second"},
    {"ping-burst", CONFIG_UINT, H2(ping_burst), RATE, .preset = "200",
     .text = "PING in a row"},
    {"ping-rate", CONFIG_UINT, H2(ping_rate), RATE, .preset = "100",
     .text = "and a second"},
    {"settings-burst", CONFIG_UINT, H2(settings_burst), RATE, .preset = "20",
     .text = "SETTINGS in a row"},
    {"settings-rate", CONFIG_UINT, H2(settings_rate), RATE, .preset = "2",
     .text = "and a second"},
    {"settings-entries", CONFIG_UINT, H2(settings_entries), RATE, .preset = "32",
     .text = "in one of them"},
    {"continuations", CONFIG_UINT, H2(continuations), RATE, .preset = "8",
     .text = "CONTINUATION frames of one head"},
    {"total-streams", CONFIG_UINT, H2(total_streams), RANGE(1, 1u << 30),
     .preset = "1073741824", .live = true,
     .text = "of a connection's life, before it is drained"},
    {"memory", CONFIG_SIZE, H2(memory), RANGE(64 * 1024, 1u << 30), .preset = "32 MiB",
     .live = true,
     .text = "that one connection may pin; half, or of what is free, and it is sent no more"},
    {"progress-bytes", CONFIG_SIZE, H2(progress_bytes), RANGE(1, MIB), .preset = "1 KiB",
     .live = true,
     .text = "of a response that have to leave in"},
    {"progress-timeout-s", CONFIG_TIME, H2(progress_timeout), SECONDS, .preset = "30",
     .text = "seconds, where the client's windows hold it up; otherwise its stream is reset"},
    {"preface-timeout-s", CONFIG_TIME, H2(preface_timeout), SECONDS, .preset = "10",
     .text = "seconds that the first bytes of a connection may take"},
    {"headers-timeout-s", CONFIG_TIME, H2(headers_timeout), SECONDS, .preset = "10",
     .text = "seconds that a head may take"},
    {"idle-timeout-s", CONFIG_TIME, H2(idle_timeout), SECONDS, .preset = "300",
     .text = "seconds without streams until a connection is ended"},
    {"settings-timeout-s", CONFIG_TIME, H2(settings_timeout), SECONDS, .preset = "10",
     .text = "seconds until our SETTINGS have to be acknowledged"},
    {"drain-timeout-s", CONFIG_TIME, H2(drain_timeout), SECONDS, .preset = "30",
     .text = "seconds that the last streams have when a connection is drained, and at SIGTERM"},
    {"quantum", CONFIG_SIZE, H2(sched.quantum), RANGE(1024, MIB), .preset = "16 KiB", .live = true,
     .text = "of scheduler deficit: what a stream sends until it is the next one's turn"},
    {"min-share-per-mille", CONFIG_UINT, H2(sched.min_share), RANGE(1, 142), .preset = "10",
     .live = true,
     .text = "of scheduler urgency: what the less urgent are left, each urgency, in thousandths"},
};

static const struct config_key workers_keys[] = {
    {"cores", CONFIG_CORES, CONFIG(workers.core), .max = CONFIG_WORKERS_MAX, .preset = "0",
     .text = "one worker on each: numbers, and ranges such as \"2-5\""},
    {"idle", CONFIG_ENUM, CONFIG(workers.idle), NAMES(idles), .preset = "sleep", .live = true,
     .text = "without work: sleep (little CPU), pause (all of it, cooler) or poll (least delay)"},
    {"max-sleep-us", CONFIG_UINT, CONFIG(workers.max_sleep_us), RANGE(1, 100000), .preset = "1000",
     .live = true,
     .text = "longest sleep in microseconds: what a first packet may wait"},
    {"burst", CONFIG_UINT, CONFIG(workers.burst), RANGE(1, CONFIG_BURST_MAX), .preset = "32",
     .text = "packets taken from a queue at once, at most"},
};

static const struct config_key control_keys[] = {
    {"core", CONFIG_CORE, CONFIG(control.core), .max = CONFIG_CORE_MAX, .preset = "any",
     .text = "the control thread's core; any: where the kernel puts it"},
    {"socket", CONFIG_PATH, CONFIG(control.socket), .max = SOCKET_PATH_MAX,
     .preset = "/run/millrace/control.sock",
     .text = "UNIX socket that millracectl and curl speak HTTP to"},
    {"mode", CONFIG_OCTAL, CONFIG(control.mode), .max = 0777, .preset = "0660",
     .text = "of the socket: who may write may change what runs"},
    {"group", CONFIG_TEXT, CONFIG(control.group), .sample = "millrace",
     .text = "of the socket"},
    {"port", CONFIG_UINT, CONFIG(control.port), RANGE(0, UINT16_MAX), .preset = "0",
     .text = "TCP port on the kernel's loopback for scrapers, read-only; 0: none"},
};

static const struct config_key memory_keys[] = {
    {"hugepages", CONFIG_ENUM, CONFIG(memory.hugepages), NAMES(hugepages), .preset = "auto",
     .text = "auto: where there are some; on: no start without; off: ordinary pages"},
    {"megabytes", CONFIG_UINT, CONFIG(memory.megabytes), RANGE(0, 1024 * 1024), .preset = "0",
     .text = "for packets and DPDK, in MiB; 0: computed from devices and workers"},
    {"packets", CONFIG_UINT, CONFIG(memory.packets), RANGE(0, 1u << 26), .preset = "0",
     .text = "in each NUMA node's pool; 0: computed from devices and workers"},
    {"eal-args", CONFIG_TEXT, CONFIG(memory.eal_args), .sample = "--log-level=lib.eal:debug",
     .text = "escape hatch: more arguments for DPDK's EAL"},
    {"file-prefix", CONFIG_WORD, CONFIG(memory.file_prefix), .max = 31, .preset = "millrace",
     .text = "tells DPDK processes on one machine apart"},
};

static const struct config_key capture_keys[] = {
    {"directory", CONFIG_PATH, CONFIG(capture.directory), .max = FILE_PATH_MAX,
     .preset = "/run/millrace/capture", .live = true,
     .text = "where capture files go, and nowhere else; in memory, so that no disk is waited for"},
    {"max-size", CONFIG_SIZE, CONFIG(capture.max_bytes), RANGE(CONFIG_CAPTURE_MIN, 1ull << 40),
     .preset = "100 MiB", .live = true,
     .text = "a capture ends at this size"},
    {"snaplen", CONFIG_UINT, CONFIG(capture.snaplen), RANGE(CONFIG_SNAPLEN_MIN, CONFIG_SNAPLEN_MAX),
     .preset = "262144",
     .live = true,
     .text = "bytes kept of each packet"},
};

static const struct config_key log_keys[] = {
    {"level", CONFIG_ENUM, CONFIG(log.level), NAMES(levels), .preset = "notice", .live = true,
     .text = "error, warning, notice, info or debug: this and what is graver"},
    {"file", CONFIG_PATH, CONFIG(log.file), .max = FILE_PATH_MAX,
     .sample = "/var/log/millrace.log", .live = true,
     .text = "appended to, in place of standard error"},
    {"json", CONFIG_BOOL, CONFIG(log.json), .preset = "false", .live = true,
     .text = "one JSON object a line, in place of text"},
};

static const struct config_key health_keys[] = {
    {"watchdog-ms", CONFIG_UINT, CONFIG(health.watchdog_ms), RANGE(0, 60000), .preset = "1000",
     .live = true,
     .text = "milliseconds without a turn until a worker is reported; 0: never"},
};

static const struct config_key icmp_keys[] = {
    {"echo", CONFIG_BOOL, CONFIG(icmp.echo), .preset = "true", .live = true,
     .text = "answer ping"},
    {"errors", CONFIG_BOOL, CONFIG(icmp.errors), .preset = "true", .live = true,
     .text = "tell senders: unreachable, time exceeded, too big, parameter problem"},
    {"error-rate", CONFIG_UINT, CONFIG(icmp.error_rate), RANGE(1, 1000000), .preset = "100",
     .live = true,
     .text = "errors a second, all together, for each worker"},
    {"error-burst", CONFIG_UINT, CONFIG(icmp.error_burst), RANGE(1, 1000000), .preset = "50",
     .live = true,
     .text = "errors in a row before the rate counts"},
};

/* Bytes of a window: what window scaling can say (RFC 7323 2.3). */
#define WINDOW_MIN 4096
#define WINDOW_MAX (65535u << 14)

static const struct config_key tcp_keys[] = {
    {"congestion", CONFIG_ENUM, CONFIG(tcp.congestion), NAMES(congestions), .preset = "cubic",
     .live = true,
     .text = "control of congestion: cubic (RFC 9438) or newreno (RFC 5681)"},
    {"ecn", CONFIG_ENUM, CONFIG(tcp.ecn), NAMES(ecns), .preset = "accept", .live = true,
     .text = "explicit congestion notification: accept where asked for, request it too, or off"},
    {"timestamps", CONFIG_BOOL_NOT, CONFIG(tcp.no_timestamps), .preset = "true", .live = true,
     .text = "round-trip times of every segment, and protection of wrapped sequence numbers"},
    {"sack", CONFIG_BOOL_NOT, CONFIG(tcp.no_sack), .preset = "true", .live = true,
     .text = "selective acknowledgment: several losses are repaired in one round trip"},
    {"window-scaling", CONFIG_BOOL_NOT, CONFIG(tcp.no_window_scaling), .preset = "true",
     .live = true,
     .text = "windows beyond 64 KiB"},
    {"nagle", CONFIG_BOOL, CONFIG(tcp.nagle), .preset = "false", .live = true,
     .text = "hold small segments back while others are unacknowledged"},
    {"pacing", CONFIG_BOOL_NOT, CONFIG(tcp.no_pacing), .preset = "true", .live = true,
     .text = "spread segments over the round trip where that takes over a millisecond"},
    {"initial-window", CONFIG_UINT, CONFIG(tcp.initial_window), RANGE(1, 100), .preset = "10",
     .live = true,
     .text = "segments that a new connection may send at once (RFC 6928)"},
    {"receive-buffer", CONFIG_SIZE, CONFIG(tcp.receive_buffer), RANGE(WINDOW_MIN, WINDOW_MAX),
     .preset = "64 KiB", .live = true,
     .text = "what a connection may have unread at first"},
    {"receive-buffer-max", CONFIG_SIZE, CONFIG(tcp.receive_buffer_max),
     RANGE(WINDOW_MIN, WINDOW_MAX), .preset = "4 MiB", .live = true,
     .text = "up to which that grows with bandwidth times round trip"},
    {"send-buffer", CONFIG_SIZE, CONFIG(tcp.send_buffer), RANGE(WINDOW_MIN, WINDOW_MAX),
     .preset = "64 KiB", .live = true,
     .text = "what a service may have unacknowledged at first"},
    {"send-buffer-max", CONFIG_SIZE, CONFIG(tcp.send_buffer_max), RANGE(WINDOW_MIN, WINDOW_MAX),
     .preset = "4 MiB", .live = true,
     .text = "up to which that grows with the congestion window"},
    {"promises", CONFIG_UINT, CONFIG(tcp.promises), RANGE(16, 1u << 20), .preset = "1024",
     .live = true,
     .text = "pieces of data that one connection may have queued to send"},
    {"challenge-rate", CONFIG_UINT, CONFIG(tcp.challenge_rate), RANGE(1, 1000000),
     .preset = "1000", .live = true,
     .text = "answers a second of a worker to doubtful SYN and RST (RFC 5961)"},
    {"reset-rate", CONFIG_UINT, CONFIG(tcp.reset_rate), RANGE(1, 1000000), .preset = "1000",
     .live = true,
     .text = "resets a second of a worker to segments of no connection"},
    {"rto-min-ms", CONFIG_TIME, CONFIG(tcp.rto_min), RANGE(1, 60000), TIME(MS), .preset = "200",
     .live = true,
     .text = "milliseconds that a retransmission waits at least"},
    {"delayed-ack-ms", CONFIG_TIME, CONFIG(tcp.delayed_ack), RANGE(1, 500), TIME(MS),
     .preset = "40", .live = true,
     .text = "milliseconds that an acknowledgment may wait for company"},
    {"connect-timeout-s", CONFIG_TIME, CONFIG(tcp.connect_timeout), RANGE(1, 3600), TIME(SEC),
     .preset = "180", .live = true,
     .text = "seconds until a connection that we open is given up"},
    {"accept-timeout-s", CONFIG_TIME, CONFIG(tcp.accept_timeout), RANGE(1, 3600), TIME(SEC),
     .preset = "60", .live = true,
     .text = "seconds until a half-open one is forgotten"},
    {"user-timeout-s", CONFIG_TIME, CONFIG(tcp.user_timeout), RANGE(1, 86400), TIME(SEC),
     .preset = "300", .live = true,
     .text = "seconds without an acknowledgment of what was sent until one is given up"},
    {"fin-timeout-s", CONFIG_TIME, CONFIG(tcp.fin_timeout), RANGE(1, 3600), TIME(SEC),
     .preset = "60", .live = true,
     .text = "seconds that one which we have ended waits for the other side's end"},
    {"time-wait-s", CONFIG_TIME, CONFIG(tcp.time_wait), RANGE(1, 240), TIME(SEC), .preset = "60",
     .live = true,
     .text = "seconds in TIME-WAIT"},
    {"keepalive-s", CONFIG_TIME, CONFIG(tcp.keepalive), RANGE(0, 604800), TIME(SEC),
     .preset = "7200", .live = true,
     .text = "seconds of silence until the other side is asked; 0: never"},
    {"keepalive-interval-s", CONFIG_TIME, CONFIG(tcp.keepalive_interval), RANGE(1, 3600),
     TIME(SEC), .preset = "75", .live = true,
     .text = "seconds between such questions"},
    {"keepalive-probes", CONFIG_UINT, CONFIG(tcp.keepalive_probes), RANGE(1, 127), .preset = "9",
     .live = true,
     .text = "of them without an answer until the connection is given up"},
    {"port-min", CONFIG_UINT, CONFIG(tcp.port_min), RANGE(1, UINT16_MAX), .preset = "32768",
     .live = true,
     .text = "of the ports that connections which we open come from"},
    {"port-max", CONFIG_UINT, CONFIG(tcp.port_max), RANGE(1, UINT16_MAX), .preset = "60999",
     .live = true,
     .text = "the last of them"},
};

static const struct config_key limits_keys[] = {
    {"neighbours", CONFIG_UINT, CONFIG(limits.neighbours), RANGE(16, 1u << 20), .preset = "4096",
     .text = "entries of the ARP and neighbour table"},
    {"neighbour-queue", CONFIG_UINT, CONFIG(limits.neighbour_queue), RANGE(1, 64),
     .preset = "64",
     .text = "packets that wait for one neighbour's answer; a datagram of 64 KiB is 46"},
    {"paths", CONFIG_UINT, CONFIG(limits.paths), RANGE(16, 1u << 20), .preset = "4096",
     .text = "destinations whose path MTU is remembered"},
    {"reassembly-datagrams", CONFIG_UINT, CONFIG(limits.reass_datagrams), RANGE(1, 1u << 20),
     .preset = "256",
     .text = "datagrams with fragments missing, at once"},
    /* One datagram of 64 KiB in fragments of 1,500 bytes pins some 105 KiB of buffers. */
    {"reassembly-bytes", CONFIG_SIZE, CONFIG(limits.reass_bytes), RANGE(256 * 1024, 1u << 31),
     .preset = "4 MiB",
     .text = "held by their fragments"},
    {"flows", CONFIG_UINT, CONFIG(limits.flows), RANGE(64, 1u << 27), .preset = "1048576",
     .text = "connections"},
    {"time-wait", CONFIG_UINT, CONFIG(limits.time_wait), RANGE(16, 1u << 24), .preset = "65536",
     .text = "of them in TIME-WAIT, where the oldest makes room"},
    {"streams", CONFIG_UINT, CONFIG(limits.streams), RANGE(64, 1u << 27), .preset = "1048576",
     .text = "of HTTP/2, open at once"},
    {"tunnels", CONFIG_UINT, CONFIG(tunnels), RANGE(1, TUNNELS_MAX), .preset = "65536",
     .text = "of CONNECT, at once"},
    {"tcp-memory", CONFIG_SIZE, CONFIG(limits.tcp_memory), RANGE(0, 1ull << 40), .preset = "0",
     .text = "buffers that TCP holds data in; 0: what the pool has besides its other uses"},
    {"tx-queue", CONFIG_UINT, CONFIG(limits.tx_queue), RANGE(64, 1u << 20), .preset = "4096",
     .text = "packets that wait for one device"},
};

#define SECTION(section, keys) .name = (section), .key = (keys), .n_keys = COUNT(keys)
#define LIST(one, member, number, most) \
    .noun = (one), .entry = sizeof(*((struct config *)0)->member), \
    .first = offsetof(struct config, member), .count = offsetof(struct config, number), \
    .max = (most)
const struct config_section config_sections[CONFIG_SECTIONS] = {
    [CONFIG_SECTION_DEVICES] = {SECTION("devices", device_keys),
     LIST("device", device, n_devices, IFACE_MAX),
     .text = "Where packets come from and go to."},
    {SECTION("workers", workers_keys),
     .text = "The cores that carry packets."},
    {SECTION("control", control_keys),
     .text = "The control core and its socket."},
    {SECTION("memory", memory_keys),
     .text = "Memory for packets, and DPDK's own start."},
    {SECTION("capture", capture_keys),
     .text = "Packet captures (pcapng), started on the control socket."},
    {SECTION("log", log_keys),
     .text = "What the control core writes down."},
    {SECTION("health", health_keys),
     .text = "When something counts as wrong."},
    {SECTION("icmp", icmp_keys),
     .text = "What the stack answers."},
    {SECTION("listeners", listeners_keys),
     LIST("listener", listener, n_listeners, STACK_LISTENERS_MAX), .live = true,
     .text = "Ports that services answer on. [reload]"},
    {SECTION("certificates", certificates_keys),
     LIST("certificate", certificate, n_certificates, 64), .live = true,
     .text = "What listeners prove who they are with; millrace cert makes one. [reload]"},
    {SECTION("tls", tls_keys),
     .text = "How TLS connections are made; a change is for new ones."},
    {SECTION("origins", origins_keys),
     LIST("origin", origin, n_origins, 32), .live = true,
     .text = "What HTTP listeners serve. [reload]"},
    {SECTION("responses", responses_keys),
     LIST("response", response, n_responses, 256), .live = true,
     .text = "Fixed answers of origins, beside their files. [reload]"},
    {SECTION("proxies", proxies_keys),
     LIST("proxy", proxy, n_proxies, 32), .live = true,
     .text = "What listeners of service connect do for whom; tunnels that there are live on. [reload]"},
    {SECTION("rules", rules_keys),
     LIST("rule", rule, n_rules, PROXY_RULES_MAX), .live = true,
     .text = "Where users of a proxy may go, in order. [reload]"},
    {SECTION("user-limits", user_limits_keys),
     LIST("limit", user_limit, n_user_limits, 4096), .live = true,
     .text = "What one user of a proxy may have, in place of all that the proxy says. [reload]"},
    {SECTION("resolver", resolver_keys),
     .text = "How names of targets are looked up."},
    {SECTION("hosts", hosts_keys),
     LIST("host", host, n_hosts, RESOLVER_HOSTS_MAX), .live = true,
     .text = "Names of targets whose addresses are known. [reload]"},
    {SECTION("access-log", access_log_keys),
     .text = "One JSON object a line for each HTTP request."},
    {SECTION("http2", http2_keys),
     .text = "HTTP/2 connections, and what one may do to us; a change is for new ones."},
    {SECTION("tcp", tcp_keys),
     .text = "How TCP connections behave; a change is for new ones, and for others where it can be."},
    {SECTION("limits", limits_keys),
     .text = "Every bound that others can push against, for each worker."},
};
/* clang-format on */

_Static_assert(COUNT(device_keys) <= CONFIG_KEYS_MAX && COUNT(http2_keys) <= CONFIG_KEYS_MAX,
               "the largest sections fit");
_Static_assert(COUNT(config_driver_names) <= 32, "a driver is a bit in 32");

const struct config_section *config_section_find(const char *name)
{
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++)
        if (!strcmp(config_sections[i].name, name))
            return &config_sections[i];
    return NULL;
}

const struct config_key *config_key_find(const struct config_section *s, const char *name)
{
    for (unsigned i = 0; i < s->n_keys; i++)
        if (!strcmp(s->key[i].name, name))
            return &s->key[i];
    return NULL;
}

bool config_kind_is_list(enum config_kind kind)
{
    return kind >= CONFIG_CORES;
}

unsigned config_entries(const struct config_section *s, const struct config *c)
{
    unsigned n;
    memcpy(&n, (const char *)c + s->count, sizeof(n));
    return n;
}

static char *first_entry(const struct config_section *s, const struct config *c)
{
    char *first;
    memcpy(&first, (const char *)c + s->first, sizeof(first));
    return first;
}

void *config_entry(const struct config_section *s, const struct config *c, unsigned i)
{
    assert(i < config_entries(s, c));
    return first_entry(s, c) + (size_t)i * s->entry;
}

bool config_entries_make(const struct config_section *s, struct config *c, unsigned n)
{
    assert(!first_entry(s, c) && "made once");
    void *first = calloc(n, s->entry);
    if (!first)
        return false;
    memcpy((char *)c + s->first, &first, sizeof(first));
    memcpy((char *)c + s->count, &n, sizeof(n));
    return true;
}

const char *config_driver_name(enum config_driver d)
{
    assert((unsigned)d < config_n_drivers && "only config_load makes drivers");
    return config_driver_names[d];
}

static void print_drivers(const struct config_key *k, FILE *out)
{
    if (!k->drivers)
        return;
    const char *before = "driver ";
    for (unsigned d = 0; d < config_n_drivers; d++)
        if (k->drivers & 1u << d) {
            fprintf(out, "%s%s", before, config_driver_names[d]);
            before = ", ";
        }
    fputs(": ", out);
}

static void print_value(const struct config_key *k, FILE *out)
{
    const char *value = k->sample ? k->sample : k->preset;
    fprintf(out, config_kind_is_list(k->kind) ? "%s: [%s]\n" : "%s: %s\n", k->name, value);
}

/* Entries of lists stand there as comments: there is no default for those. */
static void print_key(const struct config_section *s, const struct config_key *k, FILE *out)
{
    fputs(s->noun ? "#     # " : "  # ", out);
    if (k->drivers != (uint32_t)~ON(RING))
        print_drivers(k, out);
    fputs(k->text, out);
    if (k->kind == CONFIG_UINT || k->kind == CONFIG_CORE || k->kind == CONFIG_TIME)
        fprintf(out, " (%ju to %ju)", (uintmax_t)k->min, (uintmax_t)k->max);
    fputs(k->live && !s->live ? " [reload]\n" : "\n", out);
    if (s->noun)
        fputs(k == s->key ? "#   - " : "#     ", out);
    else
        fputs(k->preset ? "  " : "  # ", out);
    print_value(k, out);
}

static void print_choices(const char *const *name, const char *const *text, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "#   %-12s %s\n", name[i], text[i]);
}

void config_print_example(FILE *out)
{
    fputs(
        "# Millrace configuration: every key with its default. All may be left out, but for a\n"
        "# device's name and driver and what that driver needs, and a listener's name, port and\n"
        "# service. What is marked [reload] follows a changed file at a reload (SIGHUP); the rest\n"
        "# at the next start.\n"
        "# A device's driver is one of:\n",
        out);
    print_choices(config_driver_names, driver_texts, COUNT(driver_texts), out);
    fputs("# A listener's service is one of:\n", out);
    print_choices(services, service_texts, COUNT(services), out);
    fputs("# Of these groups of addresses a proxy may permit some:\n", out);
    print_choices(groups, group_texts, COUNT(groups), out);
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &config_sections[i];
        fprintf(out, "\n# %s\n%s:\n", s->text, s->name);
        for (unsigned k = 0; k < s->n_keys; k++)
            print_key(s, &s->key[k], out);
    }
}
