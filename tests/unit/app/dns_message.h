/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_DNS_MESSAGE_H
#define MILLRACE_TESTS_DNS_MESSAGE_H

/* Messages of a name server, put together field by field (RFC 1035 4). */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_SOA = 6, DNS_AAAA = 28 };
enum dns_rcode { DNS_NOERROR, DNS_FORMERR, DNS_SERVFAIL, DNS_NXDOMAIN, DNS_NOTIMP, DNS_REFUSED };

#define DNS_HEADER 12u

struct dns_message {
    uint8_t b[8192];
    size_t n;
};

static inline void dns_put(struct dns_message *m, const void *bytes, size_t n)
{
    assert(m->n + n <= sizeof(m->b));
    memcpy(m->b + m->n, bytes, n);
    m->n += n;
}

static inline void dns_put16(struct dns_message *m, unsigned value)
{
    uint8_t b[2];
    store_be16(b, (uint16_t)value);
    dns_put(m, b, sizeof(b));
}

static inline void dns_put32(struct dns_message *m, uint32_t value)
{
    uint8_t b[4];
    store_be32(b, value);
    dns_put(m, b, sizeof(b));
}

static inline void dns_put_name(struct dns_message *m, const char *name)
{
    while (*name) {
        size_t n = strcspn(name, ".");
        dns_put(m, &(uint8_t){(uint8_t)n}, 1);
        dns_put(m, name, n);
        name += n + (name[n] == '.');
    }
    dns_put(m, "", 1);
}

/* Counts one more in the field at `at`: 4 questions, 6 answers, 8 authorities. */
static inline void dns_count(struct dns_message *m, unsigned at)
{
    store_be16(m->b + at, (uint16_t)(load_be16(m->b + at) + 1));
}

static inline void dns_begin(struct dns_message *m, uint16_t id, enum dns_rcode rcode)
{
    m->n = 0;
    dns_put16(m, id);
    dns_put16(m, 0x8180u | rcode); /* an answer, recursion desired and available */
    dns_put(m, (const uint8_t[8]){0}, 8);
}

static inline void dns_question(struct dns_message *m, const char *name, enum dns_type type)
{
    dns_count(m, 4);
    dns_put_name(m, name);
    dns_put16(m, type);
    dns_put16(m, 1);
}

static inline void dns_fixed(struct dns_message *m, enum dns_type type, uint32_t ttl, size_t len)
{
    dns_put16(m, type);
    dns_put16(m, 1);
    dns_put32(m, ttl);
    dns_put16(m, (unsigned)len);
}

static inline void dns_a(struct dns_message *m, const char *name, uint32_t ttl, uint32_t addr)
{
    dns_count(m, 6);
    dns_put_name(m, name);
    dns_fixed(m, DNS_A, ttl, 4);
    dns_put32(m, addr);
}

/* 2001:db8::last */
static inline void dns_aaaa(struct dns_message *m, const char *name, uint32_t ttl, uint8_t last)
{
    dns_count(m, 6);
    dns_put_name(m, name);
    dns_fixed(m, DNS_AAAA, ttl, 16);
    dns_put(m, (const uint8_t[16]){0x20, 0x01, 0x0d, 0xb8, [15] = last}, 16);
}

static inline void dns_cname(struct dns_message *m, const char *name, uint32_t ttl, const char *to)
{
    dns_count(m, 6);
    dns_put_name(m, name);
    dns_fixed(m, DNS_CNAME, ttl, strlen(to) + 2);
    dns_put_name(m, to);
}

static inline void dns_soa(struct dns_message *m, uint32_t ttl, uint32_t minimum)
{
    dns_count(m, 8);
    dns_put_name(m, "example");
    dns_fixed(m, DNS_SOA, ttl, 4 + 4 + 20);
    dns_put_name(m, "ns");
    dns_put_name(m, "me");
    for (unsigned i = 0; i < 4; i++)
        dns_put32(m, i);
    dns_put32(m, minimum);
}

#endif
