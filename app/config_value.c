/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_value.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/config_fault.h"
#include "app/config_list.h"

_Static_assert(CONFIG_WORKERS_MAX <= CONFIG_LIST_MAX && IFACE_ADDRS_MAX <= CONFIG_LIST_MAX,
               "words have room for every list");
_Static_assert(IP_ADDR_TEXT + 4 <= CONFIG_VALUE_MAX, "a word has room for a prefix");

bool config_refuse(struct config_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return false;
}

static void *member(const struct config_key *k, void *base)
{
    return (char *)base + k->offset;
}

static const void *member_const(const struct config_key *k, const void *base)
{
    return (const char *)base + k->offset;
}

static void store(const struct config_key *k, void *base, uint64_t value)
{
    void *to = member(k, base);
    switch (k->size) {
    case 1: memcpy(to, &(uint8_t){(uint8_t)value}, 1); break;
    case 2: memcpy(to, &(uint16_t){(uint16_t)value}, 2); break;
    case 4: memcpy(to, &(uint32_t){(uint32_t)value}, 4); break;
    case 8: memcpy(to, &value, 8); break;
    default: assert(false && "no number of a key has another size");
    }
}

static uint64_t fetch(const struct config_key *k, const void *base)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64 = 0;
    const void *from = member_const(k, base);
    switch (k->size) {
    case 1: memcpy(&u8, from, 1); return u8;
    case 2: memcpy(&u16, from, 2); return u16;
    case 4: memcpy(&u32, from, 4); return u32;
    case 8: memcpy(&u64, from, 8); return u64;
    default: assert(false && "no number of a key has another size"); return 0;
    }
}

/* Digits of base (8 or 10) from *text on, which is left at what follows them. */
static bool digits(const char **text, unsigned base, uint64_t *value)
{
    const char *p = *text;
    uint64_t v = 0;
    for (; *p >= '0' && *p < (char)('0' + base); p++) {
        unsigned digit = (unsigned)(*p - '0');
        v = v > (UINT64_MAX - digit) / base ? UINT64_MAX : v * base + digit;
    }
    if (p == *text)
        return false;
    *value = v;
    *text = p;
    return true;
}

static bool within(const struct config_key *k, uint64_t value, const char *text,
                   struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    if (value >= k->min && value <= k->max)
        return true;
    return config_refuse(why, "%s is outside %" PRIu64 "..%" PRIu64, config_quote(text, quoted),
                         k->min, k->max);
}

static bool read_uint(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    const char *p = text[0] == '-' ? text + 1 : text;
    uint64_t value;
    if (!digits(&p, 10, &value) || *p)
        return config_refuse(why, "'%s' is not a whole number", config_quote(text, quoted));
    if (text[0] == '-' && value > 0)
        value = UINT64_MAX; /* no key takes less than 0, nor this much */
    if (!within(k, value, text, why))
        return false;
    store(k, base, value);
    return true;
}

static bool read_time(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    if (!read_uint(k, base, text, why))
        return false;
    uint64_t units = fetch(k, base);
    store(k, base, units ? units * k->unit : TICK_NEVER);
    return true;
}

static bool unit_of(const char *name, uint64_t *unit)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"kB", 1000},
        {"KB", 1000},
        {"MB", 1000 * 1000},
        {"GB", 1000 * 1000 * 1000},
        {"TB", UINT64_C(1000) * 1000 * 1000 * 1000},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {"TiB", UINT64_C(1) << 40},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(units[i].name, name)) {
            *unit = units[i].bytes;
            return true;
        }
    return false;
}

static bool read_size(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    const char *p = text;
    uint64_t value;
    uint64_t unit;
    if (!digits(&p, 10, &value))
        return config_refuse(why, "'%s' is not a size such as 100 MiB", config_quote(text, quoted));
    while (*p == ' ')
        p++;
    if (!unit_of(p, &unit))
        return config_refuse(
            why, "'%s' is no unit: B, kB, MB, GB, TB (1000) or KiB, MiB, GiB, TiB (1024)",
            config_quote(p, quoted));
    value = value > UINT64_MAX / unit ? UINT64_MAX : value * unit;
    if (!within(k, value, text, why))
        return false;
    store(k, base, value);
    return true;
}

static bool read_octal(const struct config_key *k, void *base, const char *text,
                       struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    const char *p = strncmp(text, "0o", 2) ? text : text + 2;
    uint64_t value;
    if (!digits(&p, 8, &value) || *p || value > k->max)
        return config_refuse(why, "'%s' is not a file mode such as 0660",
                             config_quote(text, quoted));
    store(k, base, value);
    return true;
}

static bool read_bool(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    char quoted[CONFIG_QUOTE_MAX];
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcasecmp(words[i], text)) {
            store(k, base, i & 1);
            return true;
        }
    return config_refuse(why, "'%s' is neither true nor false", config_quote(text, quoted));
}

static bool read_bool_not(const struct config_key *k, void *base, const char *text,
                          struct config_why *why)
{
    if (!read_bool(k, base, text, why))
        return false;
    store(k, base, !fetch(k, base));
    return true;
}

static void list_names(const char *const *name, unsigned n, char *dst, size_t size)
{
    size_t used = 0;
    dst[0] = 0;
    for (unsigned i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(dst + used, size - used, "%s%s", i ? ", " : "", name[i]);
}

static bool refuse_name(const struct config_key *k, const char *text, struct config_why *why)
{
    const char *known[CONFIG_NAMES_MAX] = {NULL};
    unsigned n = 0;
    char quoted[CONFIG_QUOTE_MAX];
    char names[160];
    for (unsigned i = 0; i < k->max; i++)
        if (k->names[i])
            known[n++] = k->names[i];
    const char *near = config_nearest(text, known, n);
    if (near)
        return config_refuse(why, "unknown value '%s' (did you mean '%s'?)",
                             config_quote(text, quoted), near);
    list_names(known, n, names, sizeof(names));
    return config_refuse(why, "unknown value '%s' (one of %s)", config_quote(text, quoted), names);
}

/* The value that text is a name of; -1: of none. */
static int named(const struct config_key *k, const char *text)
{
    assert(k->max <= CONFIG_NAMES_MAX && "no key has more names");
    for (unsigned i = 0; i < k->max; i++)
        if (k->names[i] && !strcmp(k->names[i], text))
            return (int)i;
    return -1;
}

static bool read_enum(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    int value = named(k, text);
    if (value < 0)
        return refuse_name(k, text, why);
    store(k, base, (uint64_t)value);
    return true;
}

static bool read_set(const struct config_key *k, void *base, const char *text,
                     struct config_why *why)
{
    int bit = named(k, text);
    if (bit < 0)
        return refuse_name(k, text, why);
    store(k, base, fetch(k, base) | UINT64_C(1) << bit);
    return true;
}

static bool read_core(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    if (strcmp(text, "any"))
        return read_uint(k, base, text, why);
    store(k, base, (uint64_t)-1);
    return true;
}

static bool keep(const struct config_key *k, void *base, const char *text, struct config_why *why)
{
    char *copy = strdup(text);
    if (!copy)
        return config_refuse(why, "out of memory");
    config_value_free(k, base);
    memcpy(member(k, base), &copy, sizeof(copy));
    return true;
}

static bool read_text(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    return keep(k, base, text, why);
}

static bool read_path(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    if (strlen(text) > k->max)
        return config_refuse(why, "path of %zu bytes, longer than %" PRIu64, strlen(text), k->max);
    /* DPDK's arguments for a device are separated by commas, without a way to quote them. */
    if (k->drivers && strchr(text, ','))
        return config_refuse(why, "'%s': a device's path cannot contain a comma",
                             config_quote(text, quoted));
    return keep(k, base, text, why);
}

static bool is_word(const struct config_key *k, const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
    return n > 0 && n <= k->max && !text[n];
}

static bool read_word(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    if (!is_word(k, text) || text[0] == '.') /* it becomes a directory's name */
        return config_refuse(why, "'%s' is not 1 to %" PRIu64 " of a-z 0-9 _ . -, the first no dot",
                             config_quote(text, quoted), k->max);
    return keep(k, base, text, why);
}

static bool read_name(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    if (!is_word(k, text))
        return config_refuse(why, "'%s' is not 1 to %" PRIu64 " of a-z 0-9 _ . -",
                             config_quote(text, quoted), k->max);
    memcpy(member(k, base), text, strlen(text) + 1);
    return true;
}

static bool read_user(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    const char *unfit = config_user_unfit(text);
    if (unfit)
        return config_refuse(why, "'%s' cannot be a user's name: it %s", config_quote(text, quoted),
                             unfit);
    return keep(k, base, text, why);
}

static bool read_host(const struct config_key *k, void *base, const char *text,
                      struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    char name[PROXY_NAME_MAX + 1];
    if (!config_host_name(text, name))
        return config_refuse(why, "'%s' is not a name such as www.example.com",
                             config_quote(text, quoted));
    assert(k->size == sizeof(name) && "the member has room for every name");
    memcpy(member(k, base), name, sizeof(name));
    return true;
}

static bool read_interface(const struct config_key *k, void *base, const char *text,
                           struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    bool good = strcmp(text, ".") && strcmp(text, "..") && strlen(text) <= k->max;
    for (const char *p = text; *p; p++)
        good = good && isgraph((unsigned char)*p) && !strchr("/:,=", *p);
    if (!good)
        return config_refuse(why,
                             "'%s' cannot be an interface's name (1 to %" PRIu64 " characters)",
                             config_quote(text, quoted), k->max);
    return keep(k, base, text, why);
}

/* n hex digits in either case, followed by `then`. */
static bool hex(const char **text, unsigned n, char then, unsigned *value)
{
    const char *p = *text;
    *value = 0;
    for (unsigned i = 0; i < n; i++, p++) {
        if (!isxdigit((unsigned char)*p))
            return false;
        unsigned digit = (unsigned)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 0x20) - 'a' + 10);
        *value = *value << 4 | digit;
    }
    if (*p != then)
        return false;
    *text = then ? p + 1 : p;
    return true;
}

static bool read_pci(const struct config_key *k, void *base, const char *text,
                     struct config_why *why)
{
    unsigned domain = 0;
    unsigned bus;
    unsigned device;
    unsigned function;
    char quoted[CONFIG_QUOTE_MAX];
    const char *p = text;
    if (strlen(text) > 7 && !hex(&p, 4, ':', &domain))
        p = "";
    if (!hex(&p, 2, ':', &bus) || !hex(&p, 2, '.', &device) || !hex(&p, 1, 0, &function) ||
        device > 31 || function > 7)
        return config_refuse(why, "'%s' is not a PCI address such as 0000:03:00.0",
                             config_quote(text, quoted));
    char canonical[16];
    snprintf(canonical, sizeof(canonical), "%04x:%02x:%02x.%x", domain, bus, device, function);
    return keep(k, base, canonical, why);
}

static bool read_mac(const struct config_key *k, void *base, const char *text,
                     struct config_why *why)
{
    (void)k;
    struct config_device *d = base;
    struct mac_addr mac;
    static const struct mac_addr zero;
    char quoted[CONFIG_QUOTE_MAX];
    if (!mac_parse(text, &mac))
        return config_refuse(why, "'%s' is not a station address such as 02:00:00:00:00:01",
                             config_quote(text, quoted));
    if (mac_is_multicast(&mac) || mac_eq(&mac, &zero))
        return config_refuse(why, "%s does not stand for one station", text);
    d->iface.mac = mac;
    d->mac_set = true;
    return true;
}

static bool read_address(const struct config_key *k, void *base, const char *text,
                         struct config_why *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    struct ip_addr a = IP_ADDR_ANY6;
    if (strcmp(text, "any") != 0 && !ip_parse(text, &a))
        return config_refuse(why, "'%s' is neither an address (without a length) nor any",
                             config_quote(text, quoted));
    memcpy(member(k, base), &a, sizeof(a));
    return true;
}

bool config_range_parse(const char *text, uint64_t max, uint64_t *first, uint64_t *last)
{
    const char *p = text;
    if (!digits(&p, 10, first))
        return false;
    *last = *first;
    if (*p == '-') {
        p++;
        if (!digits(&p, 10, last))
            return false;
    }
    return !*p && *first <= *last && *last <= max;
}

static bool listed(const struct config *c, uint64_t core)
{
    for (unsigned i = 0; i < c->workers.n; i++)
        if (c->workers.core[i] == core)
            return true;
    return false;
}

static bool read_cores(const struct config_key *k, void *base, const char *text,
                       struct config_why *why)
{
    struct config *c = base;
    uint64_t first;
    uint64_t last;
    char quoted[CONFIG_QUOTE_MAX];
    if (!config_range_parse(text, CONFIG_CORE_MAX, &first, &last))
        return config_refuse(why, "'%s' is not a core (0..%d) nor a range such as \"2-5\"",
                             config_quote(text, quoted), CONFIG_CORE_MAX);
    if (last - first + 1 > k->max - c->workers.n)
        return config_refuse(why, "more than %" PRIu64 " workers", k->max);
    for (uint64_t core = first; core <= last; core++)
        if (listed(c, core))
            return config_refuse(why, "core %" PRIu64 " is listed twice", core);
    for (uint64_t core = first; core <= last; core++)
        c->workers.core[c->workers.n++] = (uint16_t)core;
    return true;
}

bool config_is_network(const struct ip_prefix *p)
{
    unsigned bit = ip_is_v4(&p->addr) ? 96u + p->len : p->len;
    for (; bit < 128; bit++)
        if (p->addr.b[bit / 8] & 0x80u >> bit % 8)
            return false;
    return true;
}

/* NULL where an interface can have this address. */
static const char *unfit(const struct ip_prefix *p)
{
    const struct ip_addr *a = &p->addr;
    unsigned bits = ip_is_v4(a) ? 32 : 128;
    if (ip_is_unspecified(a))
        return "is the unspecified address";
    if (ip_is_loopback(a))
        return "is a loopback address";
    if (ip_is_limited_broadcast(a) || ip_is_subnet_broadcast(p, a))
        return "is a broadcast address";
    if (ip_is_multicast(a))
        return "is a multicast address";
    if (p->len == 0)
        return "has no network: a prefix length of 0 takes in everything";
    /* RFC 3021 and RFC 6164: both ends of a link of two addresses are hosts. */
    if (p->len < bits - 1 && config_is_network(p))
        return "is the network, not a host in it";
    return NULL;
}

static bool read_addresses(const struct config_key *k, void *base, const char *text,
                           struct config_why *why)
{
    (void)k; /* only asserted on */
    struct config_device *d = base;
    struct ip_prefix p;
    char quoted[CONFIG_QUOTE_MAX];
    if (!ip_prefix_parse(text, &p))
        return config_refuse(why, "'%s' is not an address such as 192.0.2.10/24 or 2001:db8::10/64",
                             config_quote(text, quoted));
    if (!strchr(text, '/'))
        return config_refuse(why, "%s needs its network's prefix length (/%d if it is alone)", text,
                             ip_is_v4(&p.addr) ? 32 : 128);
    const char *fault = unfit(&p);
    if (fault)
        return config_refuse(why, "%s %s", text, fault);
    for (unsigned i = 0; i < d->iface.n_addrs; i++)
        if (ip_eq(&d->iface.addr[i].addr, &p.addr))
            return config_refuse(why, "%s is listed twice", text);
    assert(d->iface.n_addrs < k->max && "the loader reads no more");
    d->iface.addr[d->iface.n_addrs++] = p;
    return true;
}

static bool read_gateways(const struct config_key *k, void *base, const char *text,
                          struct config_why *why)
{
    (void)k;
    struct config_device *d = base;
    struct ip_addr a;
    char quoted[CONFIG_QUOTE_MAX];
    if (!ip_parse(text, &a))
        return config_refuse(why, "'%s' is not an address (and a gateway has no prefix length)",
                             config_quote(text, quoted));
    if (ip_is_unspecified(&a) || ip_is_loopback(&a) || ip_is_multicast(&a) ||
        ip_is_limited_broadcast(&a))
        return config_refuse(why, "%s is not the address of one router", text);
    bool v4 = ip_is_v4(&a);
    struct ip_addr *to = v4 ? &d->iface.gateway4 : &d->iface.gateway6;
    if (!ip_eq(to, &IP_ADDR_ANY6))
        return config_refuse(why, "%s is a second IPv%d gateway", text, v4 ? 4 : 6);
    *to = a;
    return true;
}

static bool read_certificates(const struct config_key *k, void *base, const char *text,
                              struct config_why *why)
{
    struct config_listener *l = base;
    char quoted[CONFIG_QUOTE_MAX];
    if (!*text || strlen(text) >= sizeof(l->certificate[0]))
        return config_refuse(why, "'%s' cannot be a certificate's name",
                             config_quote(text, quoted));
    for (unsigned i = 0; i < l->n_certificates; i++)
        if (!strcmp(l->certificate[i], text))
            return config_refuse(why, "'%s' is listed twice", config_quote(text, quoted));
    assert(l->n_certificates < k->max && "the loader reads no more");
    (void)k;
    snprintf(l->certificate[l->n_certificates++], sizeof(l->certificate[0]), "%s", text);
    return true;
}

static void word(struct config_words *w, const char *value)
{
    w->value[w->n++] = value;
}

static void write_number(const struct config_key *k, const void *base, struct config_words *w)
{
    snprintf(w->buf[0], CONFIG_VALUE_MAX, "%" PRIu64, fetch(k, base));
    word(w, w->buf[0]);
}

static void write_octal(const struct config_key *k, const void *base, struct config_words *w)
{
    snprintf(w->buf[0], CONFIG_VALUE_MAX, "%04" PRIo64, fetch(k, base));
    word(w, w->buf[0]);
}

static void write_time(const struct config_key *k, const void *base, struct config_words *w)
{
    tick_t t = fetch(k, base);
    snprintf(w->buf[0], CONFIG_VALUE_MAX, "%" PRIu64, t == TICK_NEVER ? 0 : t / k->unit);
    word(w, w->buf[0]);
}

static void write_bool(const struct config_key *k, const void *base, struct config_words *w)
{
    word(w, fetch(k, base) ? "true" : "false");
}

static void write_bool_not(const struct config_key *k, const void *base, struct config_words *w)
{
    word(w, fetch(k, base) ? "false" : "true");
}

static void write_enum(const struct config_key *k, const void *base, struct config_words *w)
{
    word(w, k->names[fetch(k, base)]);
}

static void write_set(const struct config_key *k, const void *base, struct config_words *w)
{
    uint64_t bits = fetch(k, base);
    for (unsigned i = 0; i < k->max; i++)
        if (bits >> i & 1)
            word(w, k->names[i]);
}

static void write_core(const struct config_key *k, const void *base, struct config_words *w)
{
    if (fetch(k, base) <= k->max) /* -1, for any, is beyond it */
        write_number(k, base, w);
}

static void write_text(const struct config_key *k, const void *base, struct config_words *w)
{
    char *text;
    memcpy(&text, member_const(k, base), sizeof(text));
    if (text)
        word(w, text);
}

static void write_name(const struct config_key *k, const void *base, struct config_words *w)
{
    const char *name = member_const(k, base);
    if (name[0])
        word(w, name);
}

static void write_mac(const struct config_key *k, const void *base, struct config_words *w)
{
    (void)k;
    const struct config_device *d = base;
    if (!d->mac_set)
        return;
    mac_format(&d->iface.mac, w->buf[0]);
    word(w, w->buf[0]);
}

static void write_address(const struct config_key *k, const void *base, struct config_words *w)
{
    struct ip_addr a;
    memcpy(&a, member_const(k, base), sizeof(a));
    if (ip_eq(&a, &IP_ADDR_ANY6))
        snprintf(w->buf[0], CONFIG_VALUE_MAX, "any");
    else
        ip_format(&a, w->buf[0]);
    word(w, w->buf[0]);
}

static void write_cores(const struct config_key *k, const void *base, struct config_words *w)
{
    (void)k;
    const struct config *c = base;
    for (unsigned i = 0; i < c->workers.n; i++) {
        snprintf(w->buf[i], CONFIG_VALUE_MAX, "%u", c->workers.core[i]);
        word(w, w->buf[i]);
    }
}

static void write_addresses(const struct config_key *k, const void *base, struct config_words *w)
{
    (void)k;
    const struct config_device *d = base;
    for (unsigned i = 0; i < d->iface.n_addrs; i++) {
        size_t n = ip_format(&d->iface.addr[i].addr, w->buf[i]);
        snprintf(w->buf[i] + n, CONFIG_VALUE_MAX - n, "/%u", d->iface.addr[i].len);
        word(w, w->buf[i]);
    }
}

static void write_gateways(const struct config_key *k, const void *base, struct config_words *w)
{
    (void)k;
    const struct config_device *d = base;
    const struct ip_addr *gateway[] = {&d->iface.gateway4, &d->iface.gateway6};
    for (unsigned i = 0; i < 2; i++)
        if (!ip_eq(gateway[i], &IP_ADDR_ANY6)) {
            ip_format(gateway[i], w->buf[i]);
            word(w, w->buf[i]);
        }
}

static void write_certificates(const struct config_key *k, const void *base, struct config_words *w)
{
    (void)k;
    const struct config_listener *l = base;
    for (unsigned i = 0; i < l->n_certificates; i++)
        word(w, l->certificate[i]);
}

static void free_text(const struct config_key *k, void *base)
{
    char *text;
    memcpy(&text, member(k, base), sizeof(text));
    free(text);
    memcpy(member(k, base), &(char *){NULL}, sizeof(text));
}

static const struct kind {
    bool (*read)(const struct config_key *, void *, const char *, struct config_why *);
    void (*write)(const struct config_key *, const void *, struct config_words *);
    void (*free)(const struct config_key *, void *); /* NULL: it holds nothing */
} kinds[] = {
    [CONFIG_UINT] = {read_uint, write_number, NULL},
    [CONFIG_SIZE] = {read_size, write_number, NULL},
    [CONFIG_OCTAL] = {read_octal, write_octal, NULL},
    [CONFIG_TIME] = {read_time, write_time, NULL},
    [CONFIG_BOOL] = {read_bool, write_bool, NULL},
    [CONFIG_BOOL_NOT] = {read_bool_not, write_bool_not, NULL},
    [CONFIG_ENUM] = {read_enum, write_enum, NULL},
    [CONFIG_CORE] = {read_core, write_core, NULL},
    [CONFIG_TEXT] = {read_text, write_text, free_text},
    [CONFIG_PATH] = {read_path, write_text, free_text},
    [CONFIG_WORD] = {read_word, write_text, free_text},
    [CONFIG_NAME] = {read_name, write_name, NULL},
    [CONFIG_USER] = {read_user, write_text, free_text},
    [CONFIG_HOST] = {read_host, write_name, NULL},
    [CONFIG_INTERFACE] = {read_interface, write_text, free_text},
    [CONFIG_PCI] = {read_pci, write_text, free_text},
    [CONFIG_MAC] = {read_mac, write_mac, NULL},
    [CONFIG_ADDRESS] = {read_address, write_address, NULL},
    [CONFIG_CORES] = {read_cores, write_cores, NULL},
    [CONFIG_ADDRESSES] = {read_addresses, write_addresses, NULL},
    [CONFIG_GATEWAYS] = {read_gateways, write_gateways, NULL},
    [CONFIG_CERTIFICATES] = {read_certificates, write_certificates, NULL},
    [CONFIG_SET] = {read_set, write_set, NULL},
    [CONFIG_USERS] = {config_list_read_user, config_list_write_texts, config_list_free_texts},
    [CONFIG_HOSTS] = {config_list_read_name, config_list_write_texts, config_list_free_texts},
    [CONFIG_PREFIXES] = {config_list_read_prefix, config_list_write_prefixes, config_list_free},
    [CONFIG_PORTS] = {config_list_read_ports, config_list_write_ports, config_list_free},
    [CONFIG_ADDRS] = {config_list_read_addr, config_list_write_addrs, config_list_free},
    [CONFIG_HOST_ADDRS] = {config_list_read_host_addr, config_list_write_host_addrs, NULL},
    [CONFIG_SERVERS] = {config_list_read_server, config_list_write_servers, NULL},
};

bool config_value_read(const struct config_key *k, void *base, const char *text,
                       struct config_why *why)
{
    return kinds[k->kind].read(k, base, text, why);
}

void config_value_write(const struct config_key *k, const void *base, struct config_words *w)
{
    w->n = 0;
    kinds[k->kind].write(k, base, w);
}

void config_value_free(const struct config_key *k, void *base)
{
    if (kinds[k->kind].free)
        kinds[k->kind].free(k, base);
}
