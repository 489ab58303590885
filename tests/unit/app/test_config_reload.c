/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config.h"

#include "document.h"

static void expect_reload(const char *now, const char *next, const char *expected)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config *a = document_valid(now);
    struct config *b = document_valid(next);
    bool all = config_reloadable(a, b, out);
    fclose(out);
    ck_assert_str_eq(errors, expected);
    ck_assert(all == !expected[0]);
    config_free(a);
    config_free(b);
    free(errors);
}

START_TEST(the_same_is_reloadable)
{
    expect_reload("", "", "");
    expect_reload("workers: {cores: ['1-3']}", "workers: {cores: [1, 2, 3]}", "");
    expect_reload("", "limits: {reassembly-bytes: 4194304}", "");
}
END_TEST

START_TEST(live_keys_are_reloadable)
{
    expect_reload("devices: [{name: a, driver: ring, addresses: [10.0.0.1/24]}]\n",
                  "devices: [{name: a, driver: ring, addresses: [10.0.1.1/24, 'fd00::1/64'],\n"
                  "  gateways: [10.0.1.2]}]\n"
                  "workers: {idle: poll, max-sleep-us: 7}\n"
                  "capture: {directory: /d, max-size: 1 MB, snaplen: 64}\n"
                  "log: {level: debug, file: /f, json: true}\n"
                  "health: {watchdog-ms: 0}\n"
                  "icmp: {echo: no, errors: no, error-rate: 1, error-burst: 1}\n"
                  "tcp: {sack: no, nagle: yes, time-wait-s: 1, keepalive-s: 0, port-min: 1025}\n"
                  "http2: {max-streams: 1, idle-timeout-s: 1}\n"
                  "tls: {min-version: 1.3, tickets: 0, groups: x}\n"
                  "access-log: {sample: 1, file: /a}\n"
                  "certificates: [{name: a, certificate: a, key: b}]\n"
                  "origins: [{name: o, echo: yes}]\n"
                  "responses: [{origin: o, path: /}]\n"
                  "proxies: [{name: p, permit: [own], max-tunnels: 1}]\n"
                  "rules: [{proxy: p, action: allow}]\n"
                  "user-limits: [{proxy: p, user: a, tunnels: 1}]\n"
                  "hosts: [{name: h, addresses: [10.0.0.1]}]\n"
                  "resolver: {servers: [10.0.0.1], timeout-ms: 10, tries: 1, cache-entries: 1,\n"
                  "  min-ttl-s: 1, max-ttl-s: 1, negative-ttl-s: 1, queries: 1,\n"
                  "  client-queries: 1}\n",
                  "");
}
END_TEST

START_TEST(listeners_come_and_go)
{
    static const char one[] = "listeners: [{name: a, port: 7, service: echo}]\n";
    static const char two[] = "listeners: [{name: b, port: 9, service: discard, backlog: 1},\n"
                              "  {name: a, port: 7, service: source, syn-cookies: no}]\n";
    expect_reload("", one, "");
    expect_reload(one, two, "");
    expect_reload(two, one, "");
    expect_reload(one, "", "");
}
END_TEST

START_TEST(the_others_need_a_restart)
{
    expect_reload(
        "workers: {cores: [1]}\n",
        "workers: {cores: [1, 2], burst: 8}\n"
        "control: {core: 1, socket: /s, mode: 0600, group: g, port: 1}\n"
        "memory: {hugepages: on, megabytes: 1, packets: 9999, eal-args: x, file-prefix: y}\n"
        "tls: {ticket-lifetime-s: 60}\n"
        "limits: {flows: 64, time-wait: 64, tunnels: 1, tcp-memory: 1 MiB}\n",
        "workers.cores: needs a restart: 1 now, 1, 2 in the file\n"
        "workers.burst: needs a restart: 32 now, 8 in the file\n"
        "control.core: needs a restart: nothing now, 1 in the file\n"
        "control.socket: needs a restart: /run/millrace/control.sock now, /s in the file\n"
        "control.mode: needs a restart: 0660 now, 0600 in the file\n"
        "control.group: needs a restart: nothing now, g in the file\n"
        "control.port: needs a restart: 0 now, 1 in the file\n"
        "memory.hugepages: needs a restart: auto now, on in the file\n"
        "memory.megabytes: needs a restart: 0 now, 1 in the file\n"
        "memory.packets: needs a restart: 0 now, 9999 in the file\n"
        "memory.eal-args: needs a restart: nothing now, x in the file\n"
        "memory.file-prefix: needs a restart: millrace now, y in the file\n"
        "tls.ticket-lifetime-s: needs a restart: 3600 now, 60 in the file\n"
        "limits.flows: needs a restart: 1048576 now, 64 in the file\n"
        "limits.time-wait: needs a restart: 65536 now, 64 in the file\n"
        "limits.tunnels: needs a restart: 65536 now, 1 in the file\n"
        "limits.tcp-memory: needs a restart: 0 now, 1048576 in the file\n");
}
END_TEST

START_TEST(devices_stay_as_they_are)
{
    expect_reload("devices: [{name: a, driver: ring}]", "",
                  "devices: needs a restart: 1 now, 0 in the file\n");
    expect_reload("devices: [{name: a, driver: ring}, {name: b, driver: tap}]\n",
                  "devices: [{name: a, driver: null, mtu: 1400, vlan: 2},\n"
                  "  {name: c, driver: tap, mac: 02:00:00:00:00:01, ipv6: false}]\n",
                  "devices[0].driver: needs a restart: ring now, null in the file\n"
                  "devices[0].mtu: needs a restart: 1500 now, 1400 in the file\n"
                  "devices[0].vlan: needs a restart: 0 now, 2 in the file\n"
                  "devices[1].name: needs a restart: b now, c in the file\n"
                  "devices[1].interface: needs a restart: b now, c in the file\n"
                  "devices[1].mac: needs a restart: nothing now, 02:00:00:00:00:01 in the file\n"
                  "devices[1].ipv6: needs a restart: true now, false in the file\n");
}
END_TEST

/* The address a device came with is not the file's. */
START_TEST(a_mac_filled_in_at_start_is_no_change)
{
    struct config *now = document_valid("devices: [{name: a, driver: ring}]");
    struct config *next = document_valid("devices: [{name: a, driver: ring}]");
    now->device[0].iface.mac.b[0] = 2;
    now->device[0].iface.offload = 3;
    ck_assert(config_reloadable(now, next, stderr));
    config_free(now);
    config_free(next);
}
END_TEST

UNIT_MAIN("config_reload", document_setup, document_teardown, the_same_is_reloadable,
          live_keys_are_reloadable, listeners_come_and_go, the_others_need_a_restart,
          devices_stay_as_they_are, a_mac_filled_in_at_start_is_no_change)
