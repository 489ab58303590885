/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_value.h"

#include <string.h>

#include "support/unit.h"

static struct config config;
static struct config_device device;
static struct config_listener listener;

static void *base_of(const struct config_section *s)
{
    if (s->entry == sizeof(device))
        return &device;
    return s->entry == sizeof(listener) ? (void *)&listener : (void *)&config;
}

static const struct config_key *key(const char *section, const char *name, void **base)
{
    const struct config_section *s = config_section_find(section);
    ck_assert_ptr_nonnull(s);
    const struct config_key *k = config_key_find(s, name);
    ck_assert_ptr_nonnull(k);
    *base = base_of(s);
    return k;
}

/* What text is read as, written again: NULL: refused, and nothing has changed. */
static void expect(const char *section, const char *name, const char *text, const char *expected)
{
    struct config_why why = {""};
    struct config_words w;
    void *base;
    const struct config_key *k = key(section, name, &base);
    memset(&config, 0, sizeof(config));
    memset(&device, 0, sizeof(device));
    memset(&listener, 0, sizeof(listener));
    bool good = config_value_read(k, base, text, &why);
    ck_assert_msg(good == (expected != NULL), "%s.%s: %s: %s", section, name, text, why.text);
    if (good) {
        config_value_write(k, base, &w);
        ck_assert_msg(w.n == (expected[0] ? 1 : 0), "%s: %s: %u", name, text, w.n);
        if (w.n)
            ck_assert_str_eq(w.value[0], expected);
        config_value_free(k, base);
        return;
    }
    static const struct config no_config;
    static const struct config_device no_device;
    static const struct config_listener no_listener;
    ck_assert(why.text[0]);
    ck_assert_mem_eq(&config, &no_config, sizeof(config));
    ck_assert_mem_eq(&device, &no_device, sizeof(device));
    ck_assert_mem_eq(&listener, &no_listener, sizeof(listener));
}

START_TEST(numbers)
{
    expect("devices", "mtu", "68", "68");
    expect("devices", "mtu", "65535", "65535");
    expect("devices", "mtu", "0001500", "1500");
    expect("devices", "mtu", "67", NULL);
    expect("devices", "mtu", "65536", NULL);
    expect("devices", "mtu", "18446744073709551616", NULL);
    expect("devices", "mtu", "99999999999999999999999999999", NULL);
    expect("devices", "mtu", "-1500", NULL);
    expect("devices", "mtu", "1500.0", NULL);
    expect("devices", "mtu", "1e3", NULL);
    expect("devices", "mtu", "0x500", NULL);
    expect("devices", "mtu", " 1500", NULL);
    expect("devices", "vlan", "0", "0");
    expect("devices", "vlan", "-0", "0");
    expect("devices", "vlan", "-", NULL);
    expect("devices", "vlan", "4095", NULL);
    expect("memory", "packets", "67108864", "67108864");
}
END_TEST

START_TEST(sizes)
{
    expect("capture", "max-size", "65536", "65536");
    expect("capture", "max-size", "65536 B", "65536");
    expect("capture", "max-size", "64KiB", "65536");
    expect("capture", "max-size", "100 kB", "100000");
    expect("capture", "max-size", "100 KB", "100000");
    expect("capture", "max-size", "3   MB", "3000000");
    expect("capture", "max-size", "3 MiB", "3145728");
    expect("capture", "max-size", "2 GB", "2000000000");
    expect("capture", "max-size", "2 GiB", "2147483648");
    expect("capture", "max-size", "1 TB", "1000000000000");
    expect("capture", "max-size", "1 TiB", "1099511627776");
    expect("capture", "max-size", "1099511627777", NULL);
    expect("capture", "max-size", "2 TiB", NULL);
    expect("capture", "max-size", "18446744073709551615 TiB", NULL);
    expect("capture", "max-size", "16777216 TiB", NULL); /* 2^64 */
    expect("capture", "max-size", "65535", NULL);
    expect("capture", "max-size", "100 M", NULL);
    expect("capture", "max-size", "100 mb", NULL);
    expect("capture", "max-size", "1.5 GB", NULL);
    expect("capture", "max-size", "MB", NULL);
    expect("capture", "max-size", "-1 MB", NULL);
    expect("limits", "reassembly-bytes", "2 GiB", "2147483648");
    expect("limits", "reassembly-bytes", "4 GiB", NULL);
    expect("limits", "reassembly-bytes", "256 KiB", "262144");
    expect("limits", "reassembly-bytes", "255 KiB", NULL);
    expect("limits", "neighbour-queue", "64", "64");
    expect("limits", "neighbour-queue", "65", NULL);
}
END_TEST

START_TEST(modes_and_switches)
{
    expect("control", "mode", "0660", "0660");
    expect("control", "mode", "660", "0660");
    expect("control", "mode", "0o600", "0600");
    expect("control", "mode", "0", "0000");
    expect("control", "mode", "1777", NULL);
    expect("control", "mode", "0680", NULL);
    expect("control", "mode", "rw", NULL);
    expect("control", "mode", "0o", NULL);
    static const char *const yes[] = {"true", "yes", "on", "True", "ON"};
    static const char *const no[] = {"false", "no", "off", "False", "NO"};
    for (unsigned i = 0; i < 5; i++) {
        expect("icmp", "echo", yes[i], "true");
        expect("icmp", "echo", no[i], "false");
    }
    expect("icmp", "echo", "1", NULL);
    expect("icmp", "echo", "y", NULL);
}
END_TEST

START_TEST(choices)
{
    expect("workers", "idle", "poll", "poll");
    expect("workers", "idle", "POLL", NULL);
    expect("workers", "idle", "0", NULL);
    expect("devices", "role", "server", "server");
    expect("devices", "driver", "null", "null");
    expect("control", "core", "any", "");
    expect("control", "core", "0", "0");
    expect("control", "core", "1023", "1023");
    expect("control", "core", "1024", NULL);
    expect("control", "core", "-1", NULL);
}
END_TEST

START_TEST(names_and_paths)
{
    expect("devices", "name", "a-z_0.9", "a-z_0.9");
    expect("devices", "name", "a234567890123456789012345678901", "a234567890123456789012345678901");
    expect("devices", "name", "a2345678901234567890123456789012", NULL);
    expect("devices", "name", "", NULL);
    expect("devices", "name", "A", NULL);
    expect("devices", "name", "a b", NULL);
    expect("devices", "name", "a/b", NULL);
    expect("memory", "file-prefix", "mill.1", "mill.1");
    expect("memory", "file-prefix", "../x", NULL);
    expect("memory", "file-prefix", "..", NULL);
    expect("devices", "interface", "enp3s0f0np0", "enp3s0f0np0");
    expect("devices", "interface", "eth0@x", "eth0@x");
    expect("devices", "interface", "a23456789012345", "a23456789012345");
    expect("devices", "interface", "a234567890123456", NULL);
    expect("devices", "interface", "..", NULL);
    expect("devices", "interface", "a/b", NULL);
    expect("devices", "interface", "a b", NULL);
    expect("devices", "interface", "eth0,queues=9", NULL);
    expect("devices", "path", "/run/x.sock", "/run/x.sock");
    expect("devices", "path", "/run/x,y=z", NULL);
    expect("capture", "directory", "/var/a, b", "/var/a, b");
}
END_TEST

START_TEST(hardware_addresses)
{
    expect("devices", "pci", "0000:03:00.0", "0000:03:00.0");
    expect("devices", "pci", "03:00.0", "0000:03:00.0");
    expect("devices", "pci", "ABCD:EF:1f.7", "abcd:ef:1f.7");
    expect("devices", "pci", "0000:03:20.0", NULL);
    expect("devices", "pci", "0000:03:00.8", NULL);
    expect("devices", "pci", "0000:03:00", NULL);
    expect("devices", "pci", "0000:03:00.0x", NULL);
    expect("devices", "pci", "00000:03:00.0", NULL);
    expect("devices", "pci", "3:00.0", NULL);
    expect("devices", "pci", "", NULL);
    expect("devices", "mac", "02:AB:00:00:00:01", "02:ab:00:00:00:01");
    expect("devices", "mac", "01:00:00:00:00:01", NULL);
    expect("devices", "mac", "ff:ff:ff:ff:ff:ff", NULL);
    expect("devices", "mac", "00:00:00:00:00:00", NULL);
    expect("devices", "mac", "02:00:00:00:00", NULL);
}
END_TEST

START_TEST(lists_of_one)
{
    expect("workers", "cores", "7", "7");
    expect("workers", "cores", "7-7", "7");
    expect("workers", "cores", "8-7", NULL);
    expect("devices", "addresses", "192.0.2.1/24", "192.0.2.1/24");
    expect("devices", "addresses", "2001:DB8:0::1/64", "2001:db8::1/64");
    expect("devices", "addresses", "::ffff:10.0.0.1/120", NULL);
    expect("devices", "gateways", "192.0.2.1", "192.0.2.1");
    expect("devices", "gateways", "fe80::1", "fe80::1");
    expect("devices", "gateways", "fe80::1%eth0", NULL);
    expect("devices", "gateways", "255.255.255.255", NULL);
    expect("devices", "gateways", "0.0.0.0", NULL);
}
END_TEST

static void expect_list(const char *section, const char *name, const char *const *text,
                        const char *const *expected, unsigned n)
{
    struct config_why why;
    struct config_words w;
    void *base;
    const struct config_key *k = key(section, name, &base);
    memset(&config, 0, sizeof(config));
    memset(&device, 0, sizeof(device));
    for (; *text; text++)
        ck_assert_msg(config_value_read(k, base, *text, &why), "%s", why.text);
    config_value_write(k, base, &w);
    ck_assert_uint_eq(w.n, n);
    for (unsigned i = 0; i < n; i++)
        ck_assert_str_eq(w.value[i], expected[i]);
}

START_TEST(lists_of_several)
{
    expect_list("workers", "cores", (const char *[]){"3", "1-2", NULL},
                (const char *[]){"3", "1", "2"}, 3);
    expect_list("devices", "addresses",
                (const char *[]){"10.0.0.1/24", "FD00:0::1/64", "10.0.0.2/32", NULL},
                (const char *[]){"10.0.0.1/24", "fd00::1/64", "10.0.0.2/32"}, 3);
    expect_list("devices", "gateways", (const char *[]){"fe80::9", "10.0.0.9", NULL},
                (const char *[]){"10.0.0.9", "fe80::9"}, 2);
    expect_list("devices", "gateways", (const char *[]){NULL}, NULL, 0);
}
END_TEST

START_TEST(times)
{
    expect("tcp", "rto-min-ms", "1", "1");
    ck_assert_uint_eq(config.tcp.rto_min, TICK_MS);
    expect("tcp", "rto-min-ms", "60000", "60000");
    ck_assert_uint_eq(config.tcp.rto_min, 60 * TICK_SEC);
    expect("tcp", "rto-min-ms", "0", NULL);
    expect("tcp", "rto-min-ms", "60001", NULL);
    expect("tcp", "rto-min-ms", "1s", NULL);
    expect("tcp", "keepalive-s", "7200", "7200");
    ck_assert_uint_eq(config.tcp.keepalive, 7200 * TICK_SEC);
    expect("tcp", "keepalive-s", "0", "0");
    ck_assert_uint_eq(config.tcp.keepalive, TICK_NEVER);
}
END_TEST

START_TEST(switches_of_the_contrary)
{
    expect("tcp", "sack", "off", "false");
    ck_assert(config.tcp.no_sack);
    expect("tcp", "sack", "yes", "true");
    ck_assert(!config.tcp.no_sack);
    expect("tcp", "sack", "2", NULL);
}
END_TEST

START_TEST(addresses_of_ours)
{
    expect("listeners", "address", "any", "any");
    expect("listeners", "address", "::", "any");
    expect("listeners", "address", "0.0.0.0", "0.0.0.0");
    expect("listeners", "address", "10.0.0.1", "10.0.0.1");
    expect("listeners", "address", "FD00:0::1", "fd00::1");
    expect("listeners", "address", "10.0.0.1/24", NULL);
    expect("listeners", "address", "all", NULL);
    expect("listeners", "address", "", NULL);
}
END_TEST

/* A key's default is a value of it, its sample too, and a text of it fits one line. */
START_TEST(the_registry_holds_together)
{
    for (unsigned i = 0; i < CONFIG_SECTIONS; i++) {
        const struct config_section *s = &config_sections[i];
        ck_assert_ptr_eq(config_section_find(s->name), s);
        for (unsigned n = 0; n < s->n_keys; n++) {
            const struct config_key *k = &s->key[n];
            struct config_why why;
            void *base = base_of(s);
            ck_assert_ptr_eq(config_key_find(s, k->name), k);
            ck_assert_msg(k->preset || k->sample, "%s.%s", s->name, k->name);
            ck_assert_uint_gt(strlen(k->text), 0);
            if (config_kind_is_list(k->kind) && k->sample)
                continue;
            memset(&config, 0, sizeof(config));
            memset(&device, 0, sizeof(device));
            ck_assert_msg(config_value_read(k, base, k->preset ? k->preset : k->sample, &why),
                          "%s.%s: %s", s->name, k->name, why.text);
            config_value_free(k, base);
        }
    }
}
END_TEST

UNIT_MAIN("config_value", NULL, NULL, numbers, sizes, modes_and_switches, choices, names_and_paths,
          hardware_addresses, times, switches_of_the_contrary, addresses_of_ours, lists_of_one,
          lists_of_several, the_registry_holds_together)
