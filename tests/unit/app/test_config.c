/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config.h"

#include <dirent.h>
#include <limits.h>

#include "document.h"

static void expect_ip(const struct ip_addr *a, const char *expected)
{
    char text[IP_ADDR_TEXT];
    ip_format(a, text);
    ck_assert_str_eq(text, expected);
}

/* Those of lib/tcp. */
static void expect_tcp_defaults(const struct tcp_settings *t)
{
    struct tcp_settings of_lib = {0};
    ck_assert(tcp_settings_fill(&of_lib));
    ck_assert_int_eq(t->congestion, of_lib.congestion);
    ck_assert_int_eq(t->ecn, of_lib.ecn);
    ck_assert(!t->no_timestamps && !t->no_sack && !t->no_window_scaling && !t->nagle &&
              !t->no_pacing);
#define SAME(member) ck_assert_uint_eq(t->member, of_lib.member)
    SAME(initial_window);
    SAME(receive_buffer);
    SAME(receive_buffer_max);
    SAME(send_buffer);
    SAME(send_buffer_max);
    SAME(promises);
    SAME(challenge_rate);
    SAME(reset_rate);
    SAME(rto_min);
    SAME(delayed_ack);
    SAME(connect_timeout);
    SAME(accept_timeout);
    SAME(user_timeout);
    SAME(fin_timeout);
    SAME(time_wait);
    /* Ours: nobody else would notice a client that has vanished. */
    ck_assert_uint_eq(t->keepalive, 7200 * TICK_SEC);
    SAME(keepalive_interval);
    SAME(keepalive_probes);
    SAME(port_min);
    SAME(port_max);
#undef SAME
}

static void expect_defaults(const struct config *c)
{
    ck_assert_uint_eq(c->n_devices, 0);
    ck_assert_uint_eq(c->workers.n, 1);
    ck_assert_uint_eq(c->workers.core[0], 0);
    ck_assert_int_eq(c->workers.idle, CONFIG_IDLE_SLEEP);
    ck_assert_uint_eq(c->workers.max_sleep_us, 1000);
    ck_assert_uint_eq(c->workers.burst, 32);
    ck_assert_int_eq(c->control.core, -1);
    ck_assert_str_eq(c->control.socket, "/run/millrace/control.sock");
    ck_assert_uint_eq(c->control.mode, 0660);
    ck_assert_ptr_null(c->control.group);
    ck_assert_uint_eq(c->control.port, 0);
    ck_assert_int_eq(c->memory.hugepages, CONFIG_HUGEPAGES_AUTO);
    ck_assert_uint_eq(c->memory.megabytes, 0);
    ck_assert_uint_eq(c->memory.packets, 0);
    ck_assert_ptr_null(c->memory.eal_args);
    ck_assert_str_eq(c->memory.file_prefix, "millrace");
    ck_assert_str_eq(c->capture.directory, "/run/millrace/capture");
    ck_assert_uint_eq(c->capture.max_bytes, 100u << 20);
    ck_assert_uint_eq(c->capture.snaplen, 262144);
    ck_assert_int_eq(c->log.level, CONFIG_LOG_NOTICE);
    ck_assert_ptr_null(c->log.file);
    ck_assert(!c->log.json);
    ck_assert_uint_eq(c->health.watchdog_ms, 1000);
    ck_assert(c->icmp.echo && c->icmp.errors);
    ck_assert_uint_eq(c->icmp.error_rate, 100);
    ck_assert_uint_eq(c->icmp.error_burst, 50);
    ck_assert_uint_eq(c->limits.neighbours, 4096);
    ck_assert_uint_eq(c->limits.neighbour_queue, 64);
    ck_assert_uint_eq(c->limits.paths, 4096);
    ck_assert_uint_eq(c->limits.reass_datagrams, 256);
    ck_assert_uint_eq(c->limits.reass_bytes, 4u << 20);
    ck_assert_uint_eq(c->limits.flows, 1u << 20);
    ck_assert_uint_eq(c->limits.time_wait, 65536);
    ck_assert_uint_eq(c->limits.tcp_memory, 0);
    ck_assert_uint_eq(c->limits.tx_queue, 4096);
    ck_assert_uint_eq(c->tunnels, 65536);
    ck_assert_uint_eq(c->n_proxies + c->n_rules + c->n_user_limits + c->n_hosts, 0);
    ck_assert_uint_eq(c->n_listeners, 0);
    expect_tcp_defaults(&c->tcp);
}

START_TEST(nothing_is_all_defaults)
{
    static const char *const documents[] = {
        "",
        "# a comment\n",
        "---\n",
        "{}",
        "~",
        "devices:\nworkers:\nlog: ~\n",
        "workers: {}\ndevices: []\n",
        "workers:\n  idle:\n  cores: []\ncontrol:\n  group: ~\n"};
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        struct config *c = document_valid(documents[i]);
        expect_defaults(c);
        config_free(c);
    }
}
END_TEST

START_TEST(the_example_is_all_defaults)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    config_print_example(out);
    fclose(out);
    struct config *c = document_valid(text);
    expect_defaults(c);
    config_free(c);
    free(text);
}
END_TEST

/* What the example says about devices, with the keys that are not af_xdp's left out. */
START_TEST(the_examples_device_is_valid)
{
    static const char *const foreign[] = {"pci", "path", "role", "id", "rx-file", "tx-file"};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    config_print_example(out);
    fclose(out);

    char document[4096] = "devices:\n";
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (!strcmp(line, "workers:"))
            break;
        bool device = !strncmp(line, "#   - ", 6) || !strncmp(line, "#     ", 6);
        for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
            device = device && strncmp(line + 6, foreign[i], strlen(foreign[i])) != 0;
        if (device && line[6] != '#')
            strcat(strcat(document, line + 1), "\n");
    }
    struct config *c = document_valid(document);
    ck_assert_uint_eq(c->n_devices, 1);
    ck_assert_str_eq(c->device[0].iface.name, "lan0");
    ck_assert_uint_eq(c->device[0].iface.n_addrs, 2);
    config_free(c);
    free(text);
}
END_TEST

/* Appends to document what the example says in a section that is a list, but lines with one of
 * these texts, up to NULL. */
static void copy_example(const char *section, const char *const *without, char document[8192])
{
    char *text;
    size_t size;
    char *rest;
    char head[32];
    FILE *out = open_memstream(&text, &size);
    config_print_example(out);
    fclose(out);
    snprintf(head, sizeof(head), "\n%s:\n", section);
    char *from = strstr(text, head);
    ck_assert_ptr_nonnull(from);
    strcat(document, head);
    for (char *line = strtok_r(from + strlen(head), "\n", &rest); line && line[0] == '#';
         line = strtok_r(NULL, "\n", &rest)) {
        bool wanted = strlen(line) > 6 && line[2] == ' ' && line[6] != '#';
        for (const char *const *w = without; *w; w++)
            wanted = wanted && !strstr(line, *w);
        if (wanted)
            strcat(strcat(document, line + 1), "\n");
    }
    free(text);
}

/* And about listeners and what they name. */
START_TEST(the_examples_listener_is_valid)
{
    static const char *const lists[] = {"listeners", "certificates", "origins", "responses"};
    static const char *const without[] = {"file: /srv/health", "proxy: egress", NULL};
    char document[8192] = "";
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        copy_example(lists[i], without, document);
    struct config *c = document_valid(document);
    ck_assert_uint_eq(c->n_listeners, 1);
    ck_assert_str_eq(c->listener[0].name, "web");
    ck_assert_uint_eq(c->listener[0].port, 443);
    ck_assert_int_eq(c->listener[0].service, SERVICE_ORIGIN);
    ck_assert_uint_eq(c->listener[0].backlog, 1024);
    ck_assert_ptr_eq(config_certificate_find(c, c->listener[0].certificate[0]), c->certificate);
    ck_assert_ptr_eq(config_origin_find(c, c->listener[0].origin), c->origin);
    ck_assert_str_eq(c->response[0].path, "/health");
    config_free(c);
}
END_TEST

START_TEST(the_examples_proxy_is_valid)
{
    static const char *const lists[] = {"proxies", "rules", "user-limits", "hosts"};
    static const char *const all[] = {NULL};
    char document[8192] = "devices: [{name: a, driver: ring, addresses: [192.0.2.10/24]}]\n";
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        copy_example(lists[i], all, document);
    struct config *c = document_valid(document);
    ck_assert_uint_eq(c->n_proxies, 1);
    ck_assert_ptr_eq(config_proxy_find(c, "egress"), c->proxy);
    ck_assert_int_eq(c->proxy[0].authentication, CONFIG_AUTHENTICATION_BASIC);
    ck_assert_uint_eq(c->proxy[0].egress.n, 1);
    ck_assert(c->rule[0].allow);
    ck_assert_uint_eq(c->rule[0].names.n, 2);
    ck_assert_uint_eq(c->rule[0].ports.n, 2);
    ck_assert_str_eq(c->user_limit[0].user, "alice");
    ck_assert_uint_eq(c->host[0].n_addrs, 2);
    config_free(c);
}
END_TEST

START_TEST(every_key_of_tcp_arrives)
{
    struct config *c = document_valid(
        "tcp: {congestion: newreno, ecn: request, timestamps: no, sack: no, window-scaling: no,\n"
        "  nagle: yes, pacing: no, initial-window: 2, receive-buffer: 8 KiB,\n"
        "  receive-buffer-max: 16 KiB, send-buffer: 4 KiB, send-buffer-max: 1 MiB,\n"
        "  promises: 16, challenge-rate: 1, reset-rate: 2, rto-min-ms: 30, delayed-ack-ms: 4,\n"
        "  connect-timeout-s: 5, accept-timeout-s: 6, user-timeout-s: 7, fin-timeout-s: 8,\n"
        "  time-wait-s: 9, keepalive-s: 0, keepalive-interval-s: 11, keepalive-probes: 12,\n"
        "  port-min: 13, port-max: 14}\n"
        "limits: {time-wait: 16, tcp-memory: 1 MiB}\n");
    const struct tcp_settings *t = &c->tcp;
    ck_assert_int_eq(t->congestion, TCP_NEWRENO);
    ck_assert_int_eq(t->ecn, TCP_ECN_REQUEST);
    ck_assert(t->no_timestamps && t->no_sack && t->no_window_scaling && t->nagle && t->no_pacing);
    ck_assert_uint_eq(t->initial_window, 2);
    ck_assert_uint_eq(t->receive_buffer, 8192);
    ck_assert_uint_eq(t->receive_buffer_max, 16384);
    ck_assert_uint_eq(t->send_buffer, 4096);
    ck_assert_uint_eq(t->send_buffer_max, 1 << 20);
    ck_assert_uint_eq(t->promises, 16);
    ck_assert_uint_eq(t->challenge_rate, 1);
    ck_assert_uint_eq(t->reset_rate, 2);
    ck_assert_uint_eq(t->rto_min, 30 * TICK_MS);
    ck_assert_uint_eq(t->delayed_ack, 4 * TICK_MS);
    ck_assert_uint_eq(t->connect_timeout, 5 * TICK_SEC);
    ck_assert_uint_eq(t->accept_timeout, 6 * TICK_SEC);
    ck_assert_uint_eq(t->user_timeout, 7 * TICK_SEC);
    ck_assert_uint_eq(t->fin_timeout, 8 * TICK_SEC);
    ck_assert_uint_eq(t->time_wait, 9 * TICK_SEC);
    ck_assert_uint_eq(t->keepalive, TICK_NEVER);
    ck_assert_uint_eq(t->keepalive_interval, 11 * TICK_SEC);
    ck_assert_uint_eq(t->keepalive_probes, 12);
    ck_assert_uint_eq(t->port_min, 13);
    ck_assert_uint_eq(t->port_max, 14);
    ck_assert_uint_eq(c->limits.time_wait, 16);
    ck_assert_uint_eq(c->limits.tcp_memory, 1 << 20);
    config_free(c);
}
END_TEST

START_TEST(listeners_arrive)
{
    struct config *c = document_valid(
        "devices: [{name: a, driver: ring, addresses: [10.0.0.1/24, 'fd00::1/64']}]\n"
        "listeners:\n"
        "- {name: echo, port: 7, service: echo}\n"
        "- {name: echo-4, port: 7, service: discard, address: 0.0.0.0, protocol: tcp}\n"
        "- {name: echo.a, port: 7, service: source, address: 10.0.0.1, backlog: 1,\n"
        "   syn-cookies: no}\n"
        "- {name: six, port: 65535, service: source, address: 'fd00::1'}\n"
        "- {name: link, port: 65535, service: source, address: 'fe80::1'}\n");
    ck_assert_uint_eq(c->n_listeners, 5);
    expect_ip(&c->listener[0].addr, "::");
    ck_assert_int_eq(c->listener[0].service, SERVICE_ECHO);
    ck_assert_uint_eq(c->listener[0].backlog, 1024);
    ck_assert(c->listener[0].syn_cookies);
    expect_ip(&c->listener[1].addr, "0.0.0.0");
    ck_assert_int_eq(c->listener[1].carrier, STACK_CARRIER_TCP);
    ck_assert_int_eq(c->listener[1].service, SERVICE_DISCARD);
    ck_assert_str_eq(c->listener[2].name, "echo.a");
    expect_ip(&c->listener[2].addr, "10.0.0.1");
    ck_assert_uint_eq(c->listener[2].backlog, 1);
    ck_assert(!c->listener[2].syn_cookies);
    ck_assert_uint_eq(c->listener[3].port, 65535);
    config_free(c);
}
END_TEST

START_TEST(every_key_arrives)
{
    struct config *c = document_valid("devices:\n"
                                      "  - name: lan0\n"
                                      "    driver: pci\n"
                                      "    pci: 03:0A.1\n"
                                      "    args: a=1,b=2\n"
                                      "    queues: 3\n"
                                      "    rx-descriptors: 1024\n"
                                      "    tx-descriptors: 512\n"
                                      "    promiscuous: yes\n"
                                      "    mac: 02:00:00:AB:00:01\n"
                                      "    mtu: 9000\n"
                                      "    vlan: 4094\n"
                                      "    addresses: [10.0.0.1/24, 'fd00::1/64', 10.0.0.2/24]\n"
                                      "    gateways: [fe80::1, 10.0.0.254]\n"
                                      "workers: {cores: [4, '6-8', 1], idle: poll, burst: 64,\n"
                                      "  max-sleep-us: 1}\n"
                                      "control: {core: 0, socket: /s, mode: 0600, group: g,\n"
                                      "  port: 9100}\n"
                                      "memory: {hugepages: off, megabytes: 512, packets: 1000,\n"
                                      "  eal-args: --a b, file-prefix: x}\n"
                                      "capture: {directory: /c, max-size: 2 GB, snaplen: 96}\n"
                                      "log: {level: debug, file: /l, json: true}\n"
                                      "health: {watchdog-ms: 0}\n"
                                      "icmp: {echo: false, errors: off, error-rate: 1,\n"
                                      "  error-burst: 2}\n"
                                      "limits: {neighbours: 16, neighbour-queue: 1, paths: 17,\n"
                                      "  reassembly-datagrams: 3, reassembly-bytes: 256 KiB,\n"
                                      "  flows: 64, tx-queue: 65}\n");
    const struct config_device *d = &c->device[0];
    ck_assert_uint_eq(c->n_devices, 1);
    ck_assert_str_eq(d->iface.name, "lan0");
    ck_assert_int_eq(d->driver, CONFIG_DRIVER_PCI);
    ck_assert_str_eq(d->pci, "0000:03:0a.1");
    ck_assert_str_eq(d->args, "a=1,b=2");
    ck_assert_uint_eq(d->queues, 3);
    ck_assert_uint_eq(d->rx_descriptors, 1024);
    ck_assert_uint_eq(d->tx_descriptors, 512);
    ck_assert(d->promiscuous && d->mac_set && d->iface.ipv6);
    ck_assert_mem_eq(d->iface.mac.b, "\x02\x00\x00\xab\x00\x01", 6);
    ck_assert_uint_eq(d->iface.mtu, 9000);
    ck_assert_uint_eq(d->iface.vlan, 4094);
    ck_assert_uint_eq(d->iface.n_addrs, 3);
    expect_ip(&d->iface.addr[1].addr, "fd00::1");
    ck_assert_uint_eq(d->iface.addr[1].len, 64);
    expect_ip(&d->iface.addr[2].addr, "10.0.0.2");
    ck_assert_uint_eq(d->iface.addr[2].len, 24);
    expect_ip(&d->iface.gateway4, "10.0.0.254");
    expect_ip(&d->iface.gateway6, "fe80::1");
    ck_assert_uint_eq(c->workers.n, 5);
    ck_assert_mem_eq(c->workers.core, ((uint16_t[]){4, 6, 7, 8, 1}), 5 * sizeof(uint16_t));
    ck_assert_int_eq(c->workers.idle, CONFIG_IDLE_POLL);
    ck_assert_uint_eq(c->workers.burst, 64);
    ck_assert_uint_eq(c->workers.max_sleep_us, 1);
    ck_assert_int_eq(c->control.core, 0);
    ck_assert_str_eq(c->control.socket, "/s");
    ck_assert_uint_eq(c->control.mode, 0600);
    ck_assert_str_eq(c->control.group, "g");
    ck_assert_uint_eq(c->control.port, 9100);
    ck_assert_int_eq(c->memory.hugepages, CONFIG_HUGEPAGES_OFF);
    ck_assert_uint_eq(c->memory.megabytes, 512);
    ck_assert_uint_eq(c->memory.packets, 1000);
    ck_assert_str_eq(c->memory.eal_args, "--a b");
    ck_assert_str_eq(c->memory.file_prefix, "x");
    ck_assert_str_eq(c->capture.directory, "/c");
    ck_assert_uint_eq(c->capture.max_bytes, 2000000000);
    ck_assert_uint_eq(c->capture.snaplen, 96);
    ck_assert_int_eq(c->log.level, CONFIG_LOG_DEBUG);
    ck_assert_str_eq(c->log.file, "/l");
    ck_assert(c->log.json);
    ck_assert_uint_eq(c->health.watchdog_ms, 0);
    ck_assert(!c->icmp.echo && !c->icmp.errors);
    ck_assert_uint_eq(c->icmp.error_rate, 1);
    ck_assert_uint_eq(c->icmp.error_burst, 2);
    ck_assert_uint_eq(c->limits.neighbours, 16);
    ck_assert_uint_eq(c->limits.neighbour_queue, 1);
    ck_assert_uint_eq(c->limits.paths, 17);
    ck_assert_uint_eq(c->limits.reass_datagrams, 3);
    ck_assert_uint_eq(c->limits.reass_bytes, 262144);
    ck_assert_uint_eq(c->limits.flows, 64);
    ck_assert_uint_eq(c->limits.tx_queue, 65);
    config_free(c);
}
END_TEST

START_TEST(every_driver_has_its_keys)
{
    struct config *c =
        document_valid("devices:\n"
                       "- {name: a, driver: af_xdp, interface: eth0, args: busy_budget=0}\n"
                       "- {name: b, driver: af_packet, interface: eth1}\n"
                       "- {name: c, driver: tap}\n"
                       "- {name: d, driver: tap, interface: mill0}\n"
                       "- {name: e, driver: virtio_user, path: /dev/vhost-net}\n"
                       "- {name: f, driver: virtio_user, path: /dev/vhost-net, interface: v}\n"
                       "- {name: g, driver: memif, path: /m, role: client, id: 7}\n"
                       "- {name: h, driver: memif, path: /m, id: 8}\n"
                       "- {name: m, driver: memif, path: /n, id: 8, role: server}\n"
                       "- {name: i, driver: ring}\n"
                       "- {name: j, driver: null}\n"
                       "- {name: k, driver: pcap, rx-file: in}\n"
                       "- {name: l, driver: pcap, rx-file: in, tx-file: out}\n");
    ck_assert_uint_eq(c->n_devices, 13);
    ck_assert_str_eq(c->device[0].interface, "eth0");
    ck_assert_str_eq(c->device[2].interface, "c");
    ck_assert_str_eq(c->device[3].interface, "mill0");
    ck_assert(!c->device[6].memif_server && !c->device[7].memif_server);
    ck_assert(c->device[8].memif_server);
    ck_assert_uint_eq(c->device[6].memif_id, 7);
    ck_assert_int_eq(c->device[10].driver, CONFIG_DRIVER_NULL);
    ck_assert_str_eq(config_driver_name(c->device[10].driver), "null");
    ck_assert_str_eq(c->device[12].tx_file, "out");
    config_free(c);
}
END_TEST

/* An anchor is ordinary YAML: the second device shares the first one's gateways. */
START_TEST(aliases_are_followed)
{
    struct config *c = document_valid(
        "devices:\n"
        "- {name: a, driver: ring, addresses: [10.0.0.1/24], gateways: &g [10.0.0.9]}\n"
        "- {name: b, driver: ring, addresses: [10.0.0.2/24], gateways: *g}\n");
    expect_ip(&c->device[1].iface.gateway4, "10.0.0.9");
    config_free(c);
    document_refused("devices: &d [*d]\n", "f:1: devices[0]: has to be a mapping of keys to "
                                           "values\n");
    document_refused("devices: *d\n", "f:1: found undefined alias\n");
}
END_TEST

/* The examples of the front page of every complaint: exact text, in the order of the file. */
START_TEST(every_fault_has_its_line)
{
    document_refused(
        "devices:\n"
        "  - name: lan0\n"
        "    driver: af_xdp\n"
        "    interface: eth0\n"
        "    adresses: [10.0.0.1/24]\n"
        "    mtu: 70000\n"
        "    addresses:\n"
        "      - 10.0.0.1/24\n"
        "      - 10.0.0.255/24\n"
        "    cores: 3\n"
        "  - name: Bad\n"
        "    driver: af_xpd\n"
        "workers:\n"
        "  idle: poool\n"
        "divices: 3\n"
        "capture: {max-size: 3 MBB}\n",
        "f:5: devices[0]: unknown key 'adresses' (did you mean 'addresses'?)\n"
        "f:6: devices[0].mtu: 70000 is outside 68..65535\n"
        "f:9: devices[0].addresses[1]: 10.0.0.255/24 is a broadcast address\n"
        "f:10: devices[0]: unknown key 'cores' (it belongs in 'workers')\n"
        "f:11: devices[1].name: 'Bad' is not 1 to 31 of a-z 0-9 _ . -\n"
        "f:12: devices[1].driver: unknown value 'af_xpd' (did you mean 'af_xdp'?)\n"
        "f:14: workers.idle: unknown value 'poool' (did you mean 'poll'?)\n"
        "f:15: unknown key 'divices' (did you mean 'devices'?)\n"
        "f:16: capture.max-size: 'MBB' is no unit: B, kB, MB, GB, TB (1000) or KiB, MiB, GiB, TiB "
        "(1024)\n");
}
END_TEST

START_TEST(refuses_what_is_not_one_yaml_document)
{
    static const struct refusal r[] = {
        {"a: [1\n", "f:2: did not find expected ',' or ']' while parsing a flow sequence\n"},
        {"devices:\n  - name: a\n   driver: x\n",
         "f:3: did not find expected '-' indicator while parsing a block collection\n"},
        {"a: 'x\n", "f:2: found unexpected end of stream while scanning a quoted scalar\n"},
        {"\tworkers:\n", "f:1: a tab in front: YAML wants spaces there\n"},
        {"log:\n \tlevel: info\n", "f:2: a tab in front: YAML wants spaces there\n"},
        {"---\nlog: {}\n---\nlog: {}\n", "f:4: a second document; there can be one only\n"},
        {"log: {}\n---\n[\n",
         "f:4: did not find expected node content while parsing a flow node\n"},
        {"\xff\xff", "f: byte 0: invalid leading UTF-8 octet\n"},
        {"workers\n", "f:1: the file has to be a mapping of keys to values\n"},
        {"- devices\n", "f:1: the file has to be a mapping of keys to values\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

START_TEST(refuses_the_wrong_shape)
{
    static const struct refusal r[] = {
        {"devices: {name: a}\n", "f:1: devices: has to be a list: each entry starts with '-'\n"},
        {"devices: lan0\n", "f:1: devices: has to be a list: each entry starts with '-'\n"},
        {"devices: [lan0, ~]\n", "f:1: devices[0]: has to be a mapping of keys to values\n"
                                 "f:1: devices[1]: has to be a mapping of keys to values\n"},
        {"workers: 3\n", "f:1: workers: has to be a mapping of keys to values\n"},
        {"workers: [cores]\n", "f:1: workers: has to be a mapping of keys to values\n"},
        {"workers:\n  cores: 3\n", "f:2: workers.cores: has to be a list: [3]\n"},
        {"workers:\n  cores: {a: 3}\n", "f:2: workers.cores: has to be a list, not a mapping\n"},
        {"workers:\n  cores:\n  - 1\n  - [2]\n",
         "f:4: workers.cores[1]: has to be a single value, not a list\n"},
        {"log:\n  level: [debug]\n  json: {a: b}\n",
         "f:2: log.level: has to be a single value, not a list\n"
         "f:3: log.json: has to be a single value, not a mapping\n"},
        {"? [a]\n: 3\n", "f:1: a key has to be a word\n"},
        {"log: {? {} : 3}\n", "f:1: log: a key has to be a word\n"},
        {"log:\n  json: true\n  level: info\n  json: true\n",
         "f:4: log: key 'json' stands here already, in line 2\n"},
        {"log: {}\nicmp: {}\nlog: {}\n", "f:3: key 'log' stands here already, in line 1\n"},
        {"log: {<<: {json: true}}\n", "f:1: log: unknown key '<<'\n"},
        {"log:\n  file: \"a\\0b\"\n", "f:2: log.file: contains a control character\n"},
        {"log:\n  file: \"a\\nb\"\n", "f:2: log.file: contains a control character\n"},
        {"\"a\\0b\": 3\n", "f:1: unknown key 'a'\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

START_TEST(names_the_nearest_key)
{
    static const struct refusal r[] = {
        {"worker: {}\n", "f:1: unknown key 'worker' (did you mean 'workers'?)\n"},
        {"limits: {neighbors: 3}\n",
         "f:1: limits: unknown key 'neighbors' (did you mean 'neighbours'?)\n"},
        {"limits: {reassembly: 3}\n",
         "f:1: limits: unknown key 'reassembly' (did you mean 'reassembly-datagrams'?)\n"},
        {"workers: {max_sleep_us: 3}\n",
         "f:1: workers: unknown key 'max_sleep_us' (did you mean 'max-sleep-us'?)\n"},
        {"workers: {coers: [3]}\n", "f:1: workers: unknown key 'coers' (did you mean 'cores'?)\n"},
        {"health: {x: 3}\n", "f:1: health: unknown key 'x'\n"},
        {"port: 3\n", "f:1: unknown key 'port' (it belongs in 'control')\n"},
        {"origin: []\n", "f:1: unknown key 'origin' (did you mean 'origins'?)\n"},
        {"devices:\n- name: a\n  driver: ring\n  idle: poll\n",
         "f:4: devices[0]: unknown key 'idle' (it belongs in 'workers')\n"},
        {"\"\\e[31m\": 3\n", "f:1: unknown key '?[31m'\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

START_TEST(asks_for_what_a_driver_needs)
{
    static const struct refusal r[] = {
        {"devices:\n- {}\n", "f:2: devices[0]: a device needs a 'name'\n"
                             "f:2: devices[0]: a device needs a 'driver'\n"},
        {"devices:\n- name: a\n", "f:2: devices[0]: a device needs a 'driver'\n"},
        {"devices:\n- name: a\n  driver: pci\n", "f:2: devices[0]: driver 'pci' needs 'pci'\n"},
        {"devices:\n- name: a\n  driver: af_xdp\n",
         "f:2: devices[0]: driver 'af_xdp' needs 'interface'\n"},
        {"devices:\n- name: a\n  driver: af_packet\n  interface: ~\n",
         "f:2: devices[0]: driver 'af_packet' needs 'interface'\n"},
        {"devices:\n- name: a\n  driver: virtio_user\n",
         "f:2: devices[0]: driver 'virtio_user' needs 'path'\n"},
        {"devices:\n- name: a\n  driver: memif\n",
         "f:2: devices[0]: driver 'memif' needs 'path'\n"},
        {"devices:\n- name: a\n  driver: pcap\n",
         "f:2: devices[0]: driver 'pcap' needs 'rx-file', 'tx-file' or both\n"},
        {"devices:\n- name: a\n  driver: tap\n  pci: 0000:03:00.0\n  role: server\n",
         "f:4: devices[0].pci: 'pci' means nothing to driver 'tap'\n"
         "f:5: devices[0].role: 'role' means nothing to driver 'tap'\n"},
        {"devices:\n- name: a\n  driver: ring\n  args: x=1\n",
         "f:4: devices[0].args: 'args' means nothing to driver 'ring'\n"},
        {"devices:\n- name: a2345678901234567\n  driver: tap\n",
         "f:2: devices[0].name: 'a2345678901234567' cannot be an interface's name (1 to 15 "
         "characters): give 'interface' too\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

#define RING(n, rest) "- {name: " n ", driver: ring" rest "}\n"

START_TEST(refuses_addresses_that_cannot_be)
{
    static const struct refusal r[] = {
        {"devices:\n" RING("a", ", addresses: [224.0.0.1/24, ff02::1/64]"),
         "f:2: devices[0].addresses[0]: 224.0.0.1/24 is a multicast address\n"
         "f:2: devices[0].addresses[1]: ff02::1/64 is a multicast address\n"},
        {"devices:\n" RING("a", ", addresses: [127.0.0.1/8, '::1/128']"),
         "f:2: devices[0].addresses[0]: 127.0.0.1/8 is a loopback address\n"
         "f:2: devices[0].addresses[1]: ::1/128 is a loopback address\n"},
        {"devices:\n" RING("a", ", addresses: [0.0.0.0/8, '::/64']"),
         "f:2: devices[0].addresses[0]: 0.0.0.0/8 is the unspecified address\n"
         "f:2: devices[0].addresses[1]: ::/64 is the unspecified address\n"},
        {"devices:\n" RING("a", ", addresses: [255.255.255.255/32, 10.1.255.255/16]"),
         "f:2: devices[0].addresses[0]: 255.255.255.255/32 is a broadcast address\n"
         "f:2: devices[0].addresses[1]: 10.1.255.255/16 is a broadcast address\n"},
        {"devices:\n" RING("a", ", addresses: [10.0.0.1/0, 'fd00::1/0']"),
         "f:2: devices[0].addresses[0]: 10.0.0.1/0 has no network: a prefix length of 0 takes in "
         "everything\n"
         "f:2: devices[0].addresses[1]: fd00::1/0 has no network: a prefix length of 0 takes in "
         "everything\n"},
        {"devices:\n" RING("a", ", addresses: [10.0.0.0/24, 'fd00::/64']"),
         "f:2: devices[0].addresses[0]: 10.0.0.0/24 is the network, not a host in it\n"
         "f:2: devices[0].addresses[1]: fd00::/64 is the network, not a host in it\n"},
        {"devices:\n" RING("a", ", addresses: [10.0.0.1, 'fd00::1']"),
         "f:2: devices[0].addresses[0]: 10.0.0.1 needs its network's prefix length (/32 if it is "
         "alone)\n"
         "f:2: devices[0].addresses[1]: fd00::1 needs its network's prefix length (/128 if it is "
         "alone)\n"},
        {"devices:\n" RING("a", ", addresses: [10.0.0.1/33, 10.0.0/24, x, '']"),
         "f:2: devices[0].addresses[0]: '10.0.0.1/33' is not an address such as 192.0.2.10/24 or "
         "2001:db8::10/64\n"
         "f:2: devices[0].addresses[1]: '10.0.0/24' is not an address such as 192.0.2.10/24 or "
         "2001:db8::10/64\n"
         "f:2: devices[0].addresses[2]: 'x' is not an address such as 192.0.2.10/24 or "
         "2001:db8::10/64\n"
         "f:2: devices[0].addresses[3]: '' is not an address such as 192.0.2.10/24 or "
         "2001:db8::10/64\n"},
        {"devices:\n" RING("a", ", addresses: [10.0.0.1/24, 10.0.0.1/16]"),
         "f:2: devices[0].addresses[1]: 10.0.0.1/16 is listed twice\n"},
        {"devices:\n" RING("a", ", addresses: [10.0.0.1/24]")
             RING("b", ", addresses: [10.0.1.1/24, 10.0.0.1/30]"),
         "f:3: devices[1].addresses[1]: 10.0.0.1 is an address of 'a' already\n"},
        {"devices:\n" RING("a", ", ipv6: false, addresses: [10.0.0.1/24, 'fd00::1/64']"),
         "f:2: devices[0].addresses[1]: an IPv6 address, but ipv6 is false\n"},
        {"devices:\n" RING("a", ", mtu: 1279, addresses: [10.0.0.1/24, 'fd00::1/64']"),
         "f:2: devices[0].mtu: 1279 is too small for the device's IPv6 addresses, 1280\n"},
    };
    REFUSE_EACH(r);
    /* Both ends of a link of two, and a lone address, are hosts. */
    config_free(document_valid("devices:\n" RING(
        "a", ", mtu: 1280, addresses: [10.0.0.0/31, 10.0.0.3/31, 10.9.0.0/32, 'fd00::/127', "
             "'fd01::/128', 'fe80::1/64']")));
    config_free(document_valid("devices:\n" RING("a", ", mtu: 68, addresses: [10.0.0.1/24]")));
}
END_TEST

START_TEST(refuses_gateways_that_cannot_be)
{
#define A ", addresses: [10.0.0.1/24, 'fd00::1/64'], gateways: "
    static const struct refusal r[] = {
        {"devices:\n" RING("a", A "[10.0.1.1]"),
         "f:2: devices[0].gateways: 10.0.1.1 is in none of the device's networks\n"},
        {"devices:\n" RING("a", A "['fd01::2']"),
         "f:2: devices[0].gateways: fd01::2 is in none of the device's networks\n"},
        {"devices:\n" RING("a", A "[10.0.0.2, 10.0.0.3]"),
         "f:2: devices[0].gateways[1]: 10.0.0.3 is a second IPv4 gateway\n"},
        {"devices:\n" RING("a", A "['fd00::2', 'fe80::2']"),
         "f:2: devices[0].gateways[1]: fe80::2 is a second IPv6 gateway\n"},
        {"devices:\n" RING("a", A "[10.0.0.2, 'fd00::2', 10.0.0.3]"),
         "f:2: devices[0].gateways: has 3 entries, more than 2\n"},
        {"devices:\n" RING("a", A "[10.0.0.1]"),
         "f:2: devices[0].gateways: 10.0.0.1 is the device's own address\n"},
        {"devices:\n" RING("a", A "[10.0.0.255]"),
         "f:2: devices[0].gateways: 10.0.0.255 is a broadcast address\n"},
        {"devices:\n" RING("a", A "[10.0.0.2/24, '::1']"),
         "f:2: devices[0].gateways[0]: '10.0.0.2/24' is not an address (and a gateway has no "
         "prefix length)\n"
         "f:2: devices[0].gateways[1]: ::1 is not the address of one router\n"},
        {"devices:\n" RING("a", ", ipv6: false, gateways: ['fe80::1']"),
         "f:2: devices[0].gateways: fe80::1 is in none of the device's networks\n"},
    };
#undef A
    REFUSE_EACH(r);
    config_free(document_valid("devices:\n" RING("a", ", gateways: ['fe80::1']")));
}
END_TEST

START_TEST(refuses_devices_that_collide)
{
    static const struct refusal r[] = {
        {"devices:\n" RING("a", "") RING("b", "") RING("a", ""),
         "f:4: devices[2].name: the same as that of devices[0]\n"},
        {"devices:\n- {name: a, driver: af_xdp, interface: x}\n"
         "- {name: b, driver: af_packet, interface: x}\n",
         "f:3: devices[1].interface: the same as that of devices[0]\n"},
        {"devices:\n- {name: a, driver: tap}\n- {name: b, driver: af_packet, interface: a}\n",
         "f:3: devices[1].interface: the same as that of devices[0]\n"},
        {"devices:\n- {name: a, driver: pci, pci: 03:00.0}\n"
         "- {name: b, driver: pci, pci: 0000:03:00.0}\n",
         "f:3: devices[1].pci: the same as that of devices[0]\n"},
        {"devices:\n- {name: a, driver: memif, path: /m}\n- {name: b, driver: memif, path: /m}\n",
         "f:3: devices[1].id: the same as that of devices[0]\n"},
        {"devices:\n- {name: a, driver: memif, path: /m, role: server}\n"
         "- {name: b, driver: memif, path: /m, id: 1}\n",
         "f:3: devices[1].role: not that of devices[0] on the same socket\n"},
        {"devices:\n- {name: a, driver: virtio_user, path: /v}\n"
         "- {name: b, driver: virtio_user, path: /v}\n",
         "f:3: devices[1].path: the same as that of devices[0]\n"},
        {"devices:\n- {name: a, driver: pcap, tx-file: /v}\n"
         "- {name: b, driver: pcap, tx-file: /v, rx-file: /v}\n",
         "f:3: devices[1].tx-file: the same file as rx-file\n"
         "f:3: devices[1].tx-file: the same as that of devices[0]\n"},
        {"devices:\n" RING("a", ", mac: 02:00:00:00:00:01") RING("b", ", mac: 02:00:00:00:00:01"),
         "f:3: devices[1].mac: the same as that of devices[0]\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

START_TEST(refuses_listeners_that_cannot_be)
{
    static const struct refusal r[] = {
        {"listeners: {name: a}\n",
         "f:1: listeners: has to be a list: each entry starts with '-'\n"},
        {"listeners:\n- {}\n", "f:2: listeners[0]: a listener needs a 'name'\n"
                               "f:2: listeners[0]: a listener needs a 'port'\n"
                               "f:2: listeners[0]: a listener needs a 'service'\n"},
        {"listeners:\n- name: a\n  port: 0\n  service: ecko\n  adress: 10.0.0.1\n",
         "f:3: listeners[0].port: 0 is outside 1..65535\n"
         "f:4: listeners[0].service: unknown value 'ecko' (did you mean 'echo'?)\n"
         "f:5: listeners[0]: unknown key 'adress' (did you mean 'address'?)\n"},
        {"listeners:\n- {name: a, port: 7, service: http, protocol: udp}\n",
         "f:2: listeners[0].protocol: unknown value 'udp' (one of tcp, http2)\n"
         "f:2: listeners[0].service: unknown value 'http' (one of echo, discard, source, "
         "origin, connect)\n"},
        {"listeners:\n- {name: A, port: 7, service: echo, address: 10.0.0.1/24}\n",
         "f:2: listeners[0].name: 'A' is not 1 to 31 of a-z 0-9 _ . -\n"
         "f:2: listeners[0].address: '10.0.0.1/24' is neither an address (without a length) nor "
         "any\n"},
        {"listeners:\n- {name: a, port: 7, service: echo, address: 10.0.0.1}\n",
         "f:2: listeners[0].address: 10.0.0.1 is no device's address\n"},
        {"devices:\n" RING(
             "a",
             ", ipv6: no") "listeners:\n- {name: a, port: 7, service: echo, address: 'fe80::1'}\n",
         "f:4: listeners[0].address: fe80::1 is no device's address\n"},
        {"listeners:\n- {name: a, port: 7, service: echo}\n"
         "- {name: a, port: 8, service: echo}\n- {name: b, port: 7, service: source}\n"
         "- {name: c, port: 7, service: source, address: 0.0.0.0}\n",
         "f:3: listeners[1].name: the same as that of listeners[0]\n"
         "f:4: listeners[2].port: 'a' has port 7 of that address already\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

START_TEST(refuses_settings_of_tcp_that_contradict)
{
    static const struct refusal r[] = {
        {"tcp: {sac: yes}\n", "f:1: tcp: unknown key 'sac' (did you mean 'sack'?)\n"},
        {"tcp: {congestion: reno}\n",
         "f:1: tcp.congestion: unknown value 'reno' (one of cubic, newreno)\n"},
        {"tcp:\n  receive-buffer: 8 MiB\n  send-buffer: 8 MiB\n",
         "f:2: tcp.receive-buffer: 8388608 is more than receive-buffer-max, 4194304\n"
         "f:3: tcp.send-buffer: 8388608 is more than send-buffer-max, 4194304\n"},
        {"tcp:\n  window-scaling: no\n  receive-buffer: 65 KiB\n",
         "f:3: tcp.receive-buffer: without window-scaling there is no window over 64 KiB\n"},
        {"tcp:\n  port-min: 61000\n", "f:2: tcp.port-min: 61000 is more than port-max, 60999\n"},
        {"tcp:\n  delayed-ack-ms: 501\n  keepalive-probes: 128\n",
         "f:2: tcp.delayed-ack-ms: 501 is outside 1..500\n"
         "f:3: tcp.keepalive-probes: 128 is outside 1..127\n"},
        {"limits: {tcp-memory: 1000 KiB}\n",
         "f:1: limits.tcp-memory: 1024000 is less than 1 MiB (0: computed)\n"},
        {"memory: {packets: 4000}\nlimits: {tcp-memory: 3 MiB}\n",
         "f:2: limits.tcp-memory: 3145728 is more than a pool of 4000 packets has for each worker: "
         "2304000\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

START_TEST(refuses_workers_that_cannot_be)
{
    static const struct refusal r[] = {
        {"workers:\n  cores: [1, '2-5', 3, '0-1', 1]\n",
         "f:2: workers.cores[2]: core 3 is listed twice\n"
         "f:2: workers.cores[3]: core 1 is listed twice\n"
         "f:2: workers.cores[4]: core 1 is listed twice\n"},
        {"workers:\n  cores: ['0-64']\n", "f:2: workers.cores[0]: more than 64 workers\n"},
        {"workers:\n  cores: ['0-62', 70, 71]\n", "f:2: workers.cores[2]: more than 64 workers\n"},
        {"workers:\n  cores: [1024, 5-2, 0x3, '1,2', -1, '3-', ~]\n",
         "f:2: workers.cores[0]: '1024' is not a core (0..1023) nor a range such as \"2-5\"\n"
         "f:2: workers.cores[1]: '5-2' is not a core (0..1023) nor a range such as \"2-5\"\n"
         "f:2: workers.cores[2]: '0x3' is not a core (0..1023) nor a range such as \"2-5\"\n"
         "f:2: workers.cores[3]: '1,2' is not a core (0..1023) nor a range such as \"2-5\"\n"
         "f:2: workers.cores[4]: '-1' is not a core (0..1023) nor a range such as \"2-5\"\n"
         "f:2: workers.cores[5]: '3-' is not a core (0..1023) nor a range such as \"2-5\"\n"
         "f:2: workers.cores[6]: '~' is not a core (0..1023) nor a range such as \"2-5\"\n"},
        {"workers: {cores: [1, 2], idle: poll}\ncontrol:\n  core: 2\n",
         "f:3: control.core: core 2 has a worker that never sleeps: take another core, or say "
         "'idle: sleep' under workers\n"},
        {"workers:\n  max-sleep-us: 100000\nhealth:\n  watchdog-ms: 200\n",
         "f:4: health.watchdog-ms: 200 is too close to max-sleep-us: 100000, so that a worker at "
         "rest would be reported\n"},
        {"health: {watchdog-ms: 99}\n", "f:1: health.watchdog-ms: 99 is less than 100, how often "
                                        "workers are looked at (0: never)\n"},
    };
    REFUSE_EACH(r);
    struct config *c = document_valid("workers: {cores: ['0-62', 70]}\n");
    ck_assert_uint_eq(c->workers.n, 64);
    ck_assert_uint_eq(c->workers.core[62], 62);
    ck_assert_uint_eq(c->workers.core[63], 70);
    config_free(c);
    config_free(document_valid("workers: {cores: [1, 2]}\ncontrol: {core: 2}\n"));
}
END_TEST

START_TEST(bounds_what_it_reads)
{
    char text[2048] = "control:\n  socket: /";
    memset(text + strlen(text), 'x', 106);
    config_free(document_valid(text));
    strcat(text, "x");
    document_refused(text, "f:2: control.socket: path of 108 bytes, longer than 107\n");

    strcpy(text, "devices:\n");
    for (unsigned i = 0; i < IFACE_MAX + 1; i++)
        snprintf(text + strlen(text), 64, "- {name: r%u, driver: ring}\n", i);
    document_refused(text, "f:1: devices: has 17 entries, more than 16\n");

    strcpy(text, "devices:\n- name: a\n  driver: ring\n  addresses: [10.0.0.1/24");
    for (unsigned i = 2; i <= IFACE_ADDRS_MAX; i++)
        snprintf(text + strlen(text), 64, ", 10.0.0.%u/24", i);
    strcat(text, "]\n");
    struct config *c = document_valid(text);
    ck_assert_uint_eq(c->device[0].iface.n_addrs, IFACE_ADDRS_MAX);
    config_free(c);
    strcpy(strchr(text, ']'), ", 10.0.0.99/24]\n");
    document_refused(text, "f:4: devices[0].addresses: has 33 entries, more than 32\n");
}
END_TEST

START_TEST(bounds_the_whole_file)
{
    size_t n = 1024u * 1024;
    char *errors;
    char *text = malloc(n + 1);
    memset(text, '\n', n + 1);
    struct config *c = document_load_bytes(text, n, &errors);
    ck_assert_str_eq(errors, "");
    config_free(c);
    free(errors);
    ck_assert_ptr_null(document_load_bytes(text, n + 1, &errors));
    ck_assert_str_eq(errors, "f: larger than 1024 KiB\n");
    free(errors);
    free(text);

    char many[257 * 8 + 1] = "";
    for (unsigned i = 0; i < 257; i++)
        snprintf(many + strlen(many), 9, "k%u: 1\n", i);
    document_refused(many, "f:1: has more than 256 keys\n");
    strstr(many, "k256")[0] = 0;
    ck_assert_ptr_null(document_load_bytes(many, strlen(many), &errors));
    ck_assert_ptr_nonnull(strstr(errors, "f:64: unknown key 'k63'\nf: and 192 more faults\n"));
    free(errors);
}
END_TEST

START_TEST(says_why_a_file_cannot_be_read)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    ck_assert_ptr_null(config_load("missing", out));
    ck_assert_ptr_null(config_load(".", out));
    fclose(out);
    ck_assert_str_eq(errors, "missing: cannot open: No such file or directory\n"
                             ".: cannot read: Is a directory\n");
    free(errors);
}
END_TEST

/* Every document is either valid or has a fault, whatever its bytes are. */
static void load_anything(const char *bytes, size_t n)
{
    char *errors;
    struct config *c = document_load_bytes(bytes, n, &errors);
    ck_assert_msg(!c == (errors[0] != 0), "%.*s", (int)n, bytes);
    config_free(c);
    free(errors);
}

START_TEST(survives_damage)
{
    static const char good[] = "devices:\n- name: a\n  driver: tap\n  addresses: [10.0.0.1/24]\n"
                               "workers:\n  cores: [1, '2-5']\ncapture: {max-size: 3 MB}\n";
    char bytes[sizeof(good)];
    uint32_t random = 1;
    for (size_t n = 0; n < sizeof(good); n++)
        load_anything(good, n);
    for (unsigned i = 0; i < 3000; i++) {
        memcpy(bytes, good, sizeof(good));
        for (unsigned hits = 0; hits <= i % 4; hits++) {
            random = random * 1664525 + 1013904223;
            bytes[(random >> 8) % (sizeof(good) - 1)] =
                i % 2 ? (char)(random >> 24) : "-:[]{},#&*!|>'\"%@ \n~?"[random >> 24 & 15];
        }
        load_anything(bytes, sizeof(good) - 1);
    }
}
END_TEST

/* Documents for every family of device, each complete by itself. */
START_TEST(the_fragments_are_valid)
{
    unsigned n = 0;
    DIR *dir = opendir(FRAGMENTS);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        const char *dot = strrchr(e->d_name, '.');
        char path[PATH_MAX];
        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", FRAGMENTS, e->d_name);
        struct config *c = config_load(path, stderr);
        ck_assert_msg(c != NULL, "%s", path);
        ck_assert_uint_ge(c->n_devices, 1);
        ck_assert_uint_ge(c->device[0].iface.n_addrs, 1);
        config_free(c);
        n++;
    }
    closedir(dir);
    ck_assert_uint_eq(n, 13);
}
END_TEST

UNIT_MAIN("config", document_setup, document_teardown, nothing_is_all_defaults,
          the_example_is_all_defaults, the_examples_device_is_valid, the_examples_listener_is_valid,
          the_examples_proxy_is_valid, every_key_of_tcp_arrives, listeners_arrive,
          every_key_arrives, every_driver_has_its_keys, aliases_are_followed,
          every_fault_has_its_line, refuses_what_is_not_one_yaml_document, refuses_the_wrong_shape,
          names_the_nearest_key, asks_for_what_a_driver_needs, refuses_addresses_that_cannot_be,
          refuses_gateways_that_cannot_be, refuses_devices_that_collide,
          refuses_listeners_that_cannot_be, refuses_settings_of_tcp_that_contradict,
          refuses_workers_that_cannot_be, bounds_what_it_reads, bounds_the_whole_file,
          says_why_a_file_cannot_be_read, survives_damage, the_fragments_are_valid)
