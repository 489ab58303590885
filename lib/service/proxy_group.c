/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that nobody reaches unasked: IANA's registries of special-purpose addresses for IPv4
 * and IPv6 (RFC 6890), the IPv6 address space registry, and where clouds keep their secrets.
 */
#include <assert.h>

#include "base/bytes.h"
#include "service/proxy_internal.h"

const char *proxy_group_name(enum proxy_group g)
{
    static const char *const name[] = {
#define X(id, name, text) name,
        PROXY_GROUPS(X)
#undef X
    };
    return g < PROXY_GROUP_END ? name[g] : "none";
}

/* ---- IPv4 ---- */

struct net4 {
    uint32_t addr;
    uint8_t len;
    uint8_t group;
};

#define V4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

/* The first that holds an address says its group. Entries that the registry calls globally
 * reachable are not here, but for the anycast addresses of 192.0.0.0/24 (RFC 7723, RFC 8155), which
 * lead to servers of the network's own. */
static const struct net4 net4[] = {
    {V4(169, 254, 169, 254), 32, PROXY_GROUP_METADATA},  /* AWS, Azure, Google, OpenStack ... */
    {V4(169, 254, 170, 2), 32, PROXY_GROUP_METADATA},    /* AWS ECS: credentials of a task */
    {V4(169, 254, 170, 23), 32, PROXY_GROUP_METADATA},   /* AWS EKS: credentials of a pod */
    {V4(169, 254, 42, 42), 32, PROXY_GROUP_METADATA},    /* Scaleway */
    {V4(100, 100, 100, 200), 32, PROXY_GROUP_METADATA},  /* Alibaba Cloud */
    {V4(168, 63, 129, 16), 32, PROXY_GROUP_METADATA},    /* Azure: the host's wire server */
    {V4(192, 0, 0, 192), 32, PROXY_GROUP_METADATA},      /* Oracle Cloud Classic */
    {V4(0, 0, 0, 0), 8, PROXY_GROUP_RESERVED},           /* RFC 791 3.2 */
    {V4(10, 0, 0, 0), 8, PROXY_GROUP_PRIVATE},           /* RFC 1918 */
    {V4(100, 64, 0, 0), 10, PROXY_GROUP_PRIVATE},        /* RFC 6598 */
    {V4(127, 0, 0, 0), 8, PROXY_GROUP_LOOPBACK},         /* RFC 1122 3.2.1.3 */
    {V4(169, 254, 0, 0), 16, PROXY_GROUP_LINK_LOCAL},    /* RFC 3927 */
    {V4(172, 16, 0, 0), 12, PROXY_GROUP_PRIVATE},        /* RFC 1918 */
    {V4(192, 0, 0, 0), 24, PROXY_GROUP_RESERVED},        /* RFC 6890 2.1 */
    {V4(192, 0, 2, 0), 24, PROXY_GROUP_RESERVED},        /* RFC 5737 */
    {V4(192, 88, 99, 0), 24, PROXY_GROUP_RESERVED},      /* RFC 7526: once relays of 6to4 */
    {V4(192, 168, 0, 0), 16, PROXY_GROUP_PRIVATE},       /* RFC 1918 */
    {V4(198, 18, 0, 0), 15, PROXY_GROUP_RESERVED},       /* RFC 2544 */
    {V4(198, 51, 100, 0), 24, PROXY_GROUP_RESERVED},     /* RFC 5737 */
    {V4(203, 0, 113, 0), 24, PROXY_GROUP_RESERVED},      /* RFC 5737 */
    {V4(224, 0, 0, 0), 4, PROXY_GROUP_MULTICAST},        /* RFC 5771 */
    {V4(255, 255, 255, 255), 32, PROXY_GROUP_MULTICAST}, /* RFC 919 7 */
    {V4(240, 0, 0, 0), 4, PROXY_GROUP_RESERVED},         /* RFC 1112 4 */
};

static enum proxy_group group4(uint32_t addr)
{
    for (unsigned i = 0; i < sizeof(net4) / sizeof(net4[0]); i++)
        if ((addr ^ net4[i].addr) >> (32 - net4[i].len) == 0)
            return (enum proxy_group)net4[i].group;
    return PROXY_GROUP_NONE;
}

/* ---- IPv6 ---- */

struct net6 {
    uint64_t high;
    uint64_t low;
    uint8_t len;
    uint8_t group;
};

/* Two groups of hexadecimal digits, or four. */
#define V6_2(a, b)       (UINT64_C(a) << 48 | UINT64_C(b) << 32)
#define V6_4(a, b, c, d) (V6_2(a, b) | UINT64_C(c) << 16 | UINT64_C(d))

/* As above. The anycast addresses of 2001:1::/32 (RFC 7723, RFC 8155, RFC 9665) are left reserved.
 * What no unicast address has been given out of yet is reserved, too: all but 2000::/3 (RFC 4291
 * 2.4). */
static const struct net6 net6[] = {
    {V6_2(0xfd00, 0xec2), 0x254, 128, PROXY_GROUP_METADATA},     /* AWS */
    {V6_2(0xfd00, 0xec2), 0x23, 128, PROXY_GROUP_METADATA},      /* AWS EKS */
    {V6_2(0xfd20, 0xce), 0x254, 128, PROXY_GROUP_METADATA},      /* Google */
    {V6_2(0xfd00, 0xc1), 0xa9fea9fe, 128, PROXY_GROUP_METADATA}, /* Oracle */
    {V6_2(0xfd00, 0x42), 0x42, 128, PROXY_GROUP_METADATA},       /* Scaleway */
    {V6_2(0xfe80, 0), 0xa9fea9fe, 128, PROXY_GROUP_METADATA},    /* OpenStack */
    {0, 1, 128, PROXY_GROUP_LOOPBACK},                           /* RFC 4291 2.5.3 */
    {V6_2(0x64, 0xff9b), 0, 96, PROXY_GROUP_NONE},               /* RFC 6052 2.1 */
    {V6_2(0x2001, 0), 0, 32, PROXY_GROUP_NONE},                  /* RFC 4380 2.6 */
    {V6_2(0x2001, 3), 0, 32, PROXY_GROUP_NONE},                  /* RFC 7450 */
    {V6_4(0x2001, 4, 0x112, 0), 0, 48, PROXY_GROUP_NONE},        /* RFC 7535 */
    {V6_2(0x2001, 0x20), 0, 28, PROXY_GROUP_NONE},               /* RFC 7343 */
    {V6_2(0x2001, 0x30), 0, 28, PROXY_GROUP_NONE},               /* RFC 9374 */
    {V6_2(0x2001, 0), 0, 23, PROXY_GROUP_RESERVED},              /* RFC 2928 */
    {V6_2(0x2001, 0xdb8), 0, 32, PROXY_GROUP_RESERVED},          /* RFC 3849 */
    {V6_2(0x3fff, 0), 0, 20, PROXY_GROUP_RESERVED},              /* RFC 9637 */
    {V6_2(0x2000, 0), 0, 3, PROXY_GROUP_NONE},                   /* RFC 4291 2.5.4 */
    {V6_2(0xfc00, 0), 0, 7, PROXY_GROUP_PRIVATE},                /* RFC 4193 */
    {V6_2(0xfe80, 0), 0, 10, PROXY_GROUP_LINK_LOCAL},            /* RFC 4291 2.5.6 */
    {V6_2(0xfec0, 0), 0, 10, PROXY_GROUP_PRIVATE},               /* RFC 3879 */
    {V6_2(0xff00, 0), 0, 8, PROXY_GROUP_MULTICAST},              /* RFC 4291 2.7 */
};

static bool in_net6(uint64_t high, uint64_t low, const struct net6 *net)
{
    if (net->len <= 64)
        return (high ^ net->high) >> (64 - net->len) == 0;
    return high == net->high && (low ^ net->low) >> (128 - net->len) == 0;
}

static enum proxy_group group6(const struct ip_addr *a)
{
    uint64_t high = load_be64(a->b);
    uint64_t low = load_be64(a->b + 8);
    for (unsigned i = 0; i < sizeof(net6) / sizeof(net6[0]); i++)
        if (in_net6(high, low, &net6[i]))
            return (enum proxy_group)net6[i].group;
    return PROXY_GROUP_RESERVED;
}

/* ---- IPv4 within IPv6 ---- */

struct embedding {
    struct net6 net; /* its group is not looked at */
    uint8_t at[4];   /* which bytes are the IPv4 address */
    uint8_t invert;  /* and are written inverted: 0xff */
};

static const struct embedding embedding[] = {
    {{0, 0, 96, 0}, {12, 13, 14, 15}, 0},                       /* RFC 4291 2.5.5.1 */
    {{0, 0xffff000000000000, 96, 0}, {12, 13, 14, 15}, 0},      /* RFC 2765 2.1 */
    {{V6_2(0x64, 0xff9b), 0, 96, 0}, {12, 13, 14, 15}, 0},      /* RFC 6052 2.1 */
    {{V6_4(0x64, 0xff9b, 1, 0), 0, 48, 0}, {6, 7, 9, 10}, 0},   /* RFC 8215 3, in each */
    {{V6_4(0x64, 0xff9b, 1, 0), 0, 48, 0}, {7, 9, 10, 11}, 0},  /* form of RFC 6052 2.2 */
    {{V6_4(0x64, 0xff9b, 1, 0), 0, 48, 0}, {9, 10, 11, 12}, 0}, /* that fits into it */
    {{V6_4(0x64, 0xff9b, 1, 0), 0, 48, 0}, {12, 13, 14, 15}, 0},
    {{V6_2(0x2002, 0), 0, 16, 0}, {2, 3, 4, 5}, 0},        /* RFC 3056 2 */
    {{V6_2(0x2001, 0), 0, 32, 0}, {4, 5, 6, 7}, 0},        /* RFC 4380 4: the server */
    {{V6_2(0x2001, 0), 0, 32, 0}, {12, 13, 14, 15}, 0xff}, /* RFC 4380 4: the client */
};

static struct ip_addr embedded(const struct ip_addr *a, const struct embedding *e)
{
    struct ip_addr v4 = ip_from_v4(0);
    for (unsigned i = 0; i < 4; i++)
        v4.b[12 + i] = a->b[e->at[i]] ^ e->invert;
    return v4;
}

unsigned proxy_forms(const struct ip_addr *a, struct ip_addr form[PROXY_FORMS_MAX])
{
    uint64_t high = load_be64(a->b);
    uint64_t low = load_be64(a->b + 8);
    unsigned n = 0;
    form[n++] = *a;
    if (ip_is_v4(a) || (high == 0 && low <= 1)) /* :: and ::1 are no IPv4 (RFC 4291 2.5.5.1) */
        return n;
    for (unsigned i = 0; i < sizeof(embedding) / sizeof(embedding[0]); i++) {
        if (!in_net6(high, low, &embedding[i].net))
            continue;
        assert(n < PROXY_FORMS_MAX && "no address is of two nets that embed");
        form[n++] = embedded(a, &embedding[i]);
    }
    return n;
}

bool proxy_stands_for(const struct ip_addr *a, bool (*those)(void *ctx, const struct ip_addr *a),
                      void *ctx)
{
    struct ip_addr form[PROXY_FORMS_MAX];
    unsigned n = proxy_forms(a, form);
    for (unsigned i = 0; i < n; i++)
        if (those(ctx, &form[i]))
            return true;
    return false;
}

uint32_t proxy_groups(const struct ip_addr *form, unsigned n)
{
    uint32_t groups = 0;
    for (unsigned i = 0; i < n; i++) {
        enum proxy_group g = ip_is_v4(&form[i]) ? group4(ip_v4(&form[i])) : group6(&form[i]);
        groups |= 1u << g;
    }
    return groups & ((1u << PROXY_GROUP_NONE) - 1);
}

enum proxy_group proxy_groups_first(uint32_t groups)
{
    unsigned g = PROXY_GROUP_METADATA;
    if (!(groups >> g & 1))
        for (g = 0; g < PROXY_GROUP_NONE && !(groups >> g & 1);)
            g++;
    return (enum proxy_group)g;
}

enum proxy_group proxy_group_of(const struct ip_addr *a)
{
    struct ip_addr form[PROXY_FORMS_MAX];
    return proxy_groups_first(proxy_groups(form, proxy_forms(a, form)));
}
