/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config.h"

#include "document.h"

/* The machine is the one the test runs on: all that is taken for granted is core 0, lo and /dev. */
static void expect_probe(const char *text, const char *expected)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config *c = document_valid(text);
    unsigned n = config_probe(c, "f", out);
    fclose(out);
    unsigned lines = 0;
    for (const char *p = errors; (p = strchr(p, '\n')); p++)
        lines++;
    ck_assert_uint_eq(n, lines);
    ck_assert_str_eq(errors, expected);
    config_free(c);
    free(errors);
}

#define HERE                                \
    "control: {socket: x/y/control.sock}\n" \
    "capture: {directory: ./c}\n"

START_TEST(finds_what_is_there)
{
    expect_probe(HERE "devices: [{name: a, driver: ring}]\n"
                      "workers: {cores: [0]}\nlog: {file: millrace.log}\n",
                 "");
    expect_probe(HERE "devices:\n"
                      "- {name: a, driver: af_packet, interface: lo}\n"
                      "- {name: b, driver: ring}\n"
                      "- {name: c, driver: null}\n"
                      "- {name: d, driver: pcap, rx-file: f, tx-file: out}\n"
                      "- {name: e, driver: memif, path: m.sock, role: server}\n"
                      "- {name: g, driver: memif, path: f}\n",
                 "");
}
END_TEST

START_TEST(misses_devices)
{
    expect_probe(
        HERE "devices:\n"
             "- {name: a, driver: af_xdp, interface: none0}\n"
             "- {name: b, driver: pci, pci: ffff:ff:1f.7}\n"
             "- {name: c, driver: virtio_user, path: ./none}\n"
             "- {name: d, driver: pcap, rx-file: none, tx-file: f/out}\n"
             "- {name: e, driver: memif, path: f/m.sock, role: server}\n"
             "- {name: g, driver: memif, path: none}\n"
             "- {name: h, driver: virtio_user, path: ./other, args: 'server=1'}\n",
        "f:4: devices[0].interface: there is no interface 'none0' in this network namespace\n"
        "f:5: devices[1].pci: there is no PCI device ffff:ff:1f.7 (lspci -D lists them)\n"
        "f:6: devices[2].path: cannot read ./none: No such file or directory\n"
        "f:7: devices[3].rx-file: cannot read none: No such file or directory\n"
        "f:7: devices[3].tx-file: f is not a directory\n"
        "f:8: devices[4].path: f is not a directory\n"
        "f:9: devices[5].path: cannot read none: No such file or directory\n");
}
END_TEST

START_TEST(misses_queues)
{
    expect_probe(HERE "devices:\n"
                      "- name: b\n"
                      "  driver: af_xdp\n"
                      "  queues: 3\n"
                      "  interface: lo\n",
                 "f:6: devices[0].queues: interface 'lo' has 1 receive queue, not 3; lower it, or "
                 "type: ethtool -L lo combined 3\n");
}
END_TEST

START_TEST(misses_what_http_names)
{
    expect_probe(HERE "devices: [{name: a, driver: ring}]\n"
                      "certificates: [{name: c, certificate: none.pem, key: f}]\n"
                      "origins: [{name: o, directory: none}]\n"
                      "responses: [{origin: o, path: /, file: none.txt}]\n"
                      "access-log: {file: f/x/log}\n"
                      "listeners: [{name: w, port: 1, protocol: http2, service: origin,\n"
                      "  origin: o, certificates: [c]}]\n",
                 "f:4: certificates[0].certificate: none.pem: cannot open: No such file or "
                 "directory\n"
                 "f:5: origins[0].directory: none: No such file or directory\n"
                 "f:6: responses[0].file: none.txt: cannot open: No such file or directory\n"
                 "f:7: access-log.file: f/x: Not a directory\n");
}
END_TEST

/* Such a file is valid, but there is nothing to start. */
START_TEST(misses_any_device)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config *c = document_valid("devices:\nlog: {file: f/x/log}\n");
    ck_assert_uint_eq(config_probe_start(c, "f", out), 1);
    fclose(out);
    ck_assert_str_eq(errors, "f:1: devices: names no devices, so there is nothing to do; add or "
                             "uncomment one\n");
    config_free(c);
    free(errors);
}
END_TEST

START_TEST(misses_cores)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config *c = document_valid("workers: {cores: [0, 1023]}\n"
                                      "control: {socket: s, core: 1022}\n"
                                      "capture: {directory: .}\n");
    ck_assert_uint_eq(config_probe(c, "f", out), 3);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(errors, "f:1: workers.cores[1]: core 1023 is not online here (0"));
    ck_assert_ptr_nonnull(strstr(errors, "f:2: control.core: core 1022 is not online here (0"));
    config_free(c);
    free(errors);
}
END_TEST

START_TEST(misses_memory)
{
    expect_probe(HERE "devices: [{name: a, driver: ring}]\n"
                      "memory:\n  packets: 65536\n  megabytes: 175\n",
                 "f:6: memory.megabytes: 175 is too little for the packets of these devices and "
                 "workers, 65536; they want 256 (0: computed)\n");
    expect_probe(HERE "devices: [{name: a, driver: ring}]\n"
                      "memory:\n  packets: 65536\n  megabytes: 177\n",
                 "");
}
END_TEST

START_TEST(misses_places)
{
    expect_probe("devices: [{name: a, driver: ring}]\n"
                 "control: {socket: f/control.sock, group: no-such-group}\n"
                 "capture: {directory: f}\n"
                 "log: {file: f/x/log}\n",
                 "f:2: control.socket: f is not a directory\n"
                 "f:2: control.group: there is no group 'no-such-group'\n"
                 "f:3: capture.directory: f is not a directory\n"
                 "f:4: log.file: f/x: Not a directory\n");
}
END_TEST

/* That of a log is not made. */
START_TEST(misses_directories_of_logs)
{
    expect_probe(HERE "devices: [{name: a, driver: ring}]\n"
                      "log: {file: a/log}\n"
                      "access-log: {file: .}\n",
                 "f:4: log.file: a: No such file or directory\n"
                 "f:5: access-log.file: . is a directory\n");
    expect_probe(HERE "devices: [{name: a, driver: ring}]\n"
                      "log: {file: a}\n"
                      "access-log: {file: f}\n",
                 "");
}
END_TEST

UNIT_MAIN("config_probe", document_setup, document_teardown, finds_what_is_there, misses_devices,
          misses_queues, misses_any_device, misses_what_http_names, misses_cores, misses_memory,
          misses_places, misses_directories_of_logs)
