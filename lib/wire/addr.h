/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_ADDR_H
#define MILLRACE_WIRE_ADDR_H

/*
 * One address type for both families: 16 bytes in network order, IPv4 as ::ffff:a.b.c.d (RFC
 * 4291 2.5.5.2). One comparison, one hash, one table for both. On the wire an IPv6 packet with a
 * mapped address is refused (wire/ipv6.h), so the two never mix.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

struct ip_addr {
    uint8_t b[16];
};

struct mac_addr {
    uint8_t b[6];
};

/* An address with the length of its network, in the family's own bits (0..32 or 0..128). */
struct ip_prefix {
    struct ip_addr addr;
    uint8_t len;
};

/* Longest text with its NUL: eight groups, or a mapped address. */
#define IP_ADDR_TEXT  46
#define MAC_ADDR_TEXT 18

extern const struct ip_addr IP_ADDR_ANY6; /* :: */

static inline struct ip_addr ip_from_v4(uint32_t host_order)
{
    struct ip_addr a = {{0}};
    store_be64(a.b + 8, UINT64_C(0xffff) << 32 | host_order);
    return a;
}

/* Half 0 or 1 of the address as it lies in memory, for comparing and hashing by words. */
static inline uint64_t ip_half(const struct ip_addr *a, unsigned which)
{
    uint64_t half;
    memcpy(&half, a->b + 8 * which, sizeof(half));
    return half;
}

static inline bool ip_is_v4(const struct ip_addr *a)
{
    static const uint8_t mapped[4] = {0, 0, 0xff, 0xff};
    return ip_half(a, 0) == 0 && memcmp(a->b + 8, mapped, sizeof(mapped)) == 0;
}

/* Host order; a must be IPv4. */
static inline uint32_t ip_v4(const struct ip_addr *a)
{
    return (uint32_t)a->b[12] << 24 | (uint32_t)a->b[13] << 16 | (uint32_t)a->b[14] << 8 | a->b[15];
}

static inline bool ip_eq(const struct ip_addr *a, const struct ip_addr *b)
{
    return ((ip_half(a, 0) ^ ip_half(b, 0)) | (ip_half(a, 1) ^ ip_half(b, 1))) == 0;
}

static inline bool mac_eq(const struct mac_addr *a, const struct mac_addr *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

/* 0.0.0.0 or :: */
bool ip_is_unspecified(const struct ip_addr *a);
/* 127/8 or ::1 */
bool ip_is_loopback(const struct ip_addr *a);
/* 224/4 or ff00::/8 */
bool ip_is_multicast(const struct ip_addr *a);
/* 169.254/16 or fe80::/10 */
bool ip_is_link_local(const struct ip_addr *a);
/* 255.255.255.255 */
bool ip_is_limited_broadcast(const struct ip_addr *a);
/* The all-ones host of an IPv4 prefix shorter than /31 (RFC 3021). */
bool ip_is_subnet_broadcast(const struct ip_prefix *net, const struct ip_addr *a);

/* Same family, and a lies within net. */
bool ip_in_prefix(const struct ip_prefix *net, const struct ip_addr *a);

/* ff02::1:ffXX:XXXX of a (RFC 4291 2.7.1). */
struct ip_addr ip_solicited_node(const struct ip_addr *a);
/* fe80:: with the modified EUI-64 of mac (RFC 4291 appendix A). */
struct ip_addr ip_link_local_of(const struct mac_addr *mac);
/* 33:33:… (RFC 2464 7) or 01:00:5e:… (RFC 1112 6.4); a must be multicast. */
struct mac_addr mac_of_multicast(const struct ip_addr *a);
static inline bool mac_is_multicast(const struct mac_addr *m)
{
    return m->b[0] & 1;
}

/* "192.0.2.1" or "2001:db8::1" (RFC 5952), NUL-terminated. dst holds IP_ADDR_TEXT bytes. Returns
 * the length. */
size_t ip_format(const struct ip_addr *a, char *dst);
size_t mac_format(const struct mac_addr *m, char *dst);
/* Whole-string parsers; false where text is not exactly one address. A mapped IPv6 literal is
 * refused. */
bool ip_parse(const char *text, struct ip_addr *a);
bool mac_parse(const char *text, struct mac_addr *m);
/* "addr/len"; host bits are kept. Without a slash the length is the family's full length. */
bool ip_prefix_parse(const char *text, struct ip_prefix *p);

#endif
