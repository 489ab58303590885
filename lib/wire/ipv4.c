/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv4 (RFC 791): the picture is in wire/ipv4.h. */
#include "wire/ipv4.h"

#include <assert.h>

#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/error.h"

enum {
    DONT_FRAGMENT = 0x4000,
    MORE_FRAGMENTS = 0x2000,
    OFFSET_MASK = 0x1fff, /* in units of 8 bytes */
};

/*
 * Options (RFC 791 3.1): the type's high bit says that it goes into every fragment. All but the
 * first two have a length, which counts type and length too.
 */
enum {
    OPTION_END = 0,
    OPTION_NOP = 1,
    OPTION_LOOSE_ROUTE = 131,
    OPTION_STRICT_ROUTE = 137,
    OPTION_COPIED = 0x80,
};

/* Bytes of the option at `at`, of which left > 0 remain; 0 where its length is impossible. */
static size_t option_len(const uint8_t *at, size_t left)
{
    if (at[0] == OPTION_NOP)
        return 1;
    if (left < 2 || at[1] < 2 || at[1] > left)
        return 0;
    return at[1];
}

/* RFC 1122 3.2.1.8: options are to be understood or ignored; those with an impossible length are
 * neither. */
static int walk_options(struct ipv4_hdr *h)
{
    for (size_t i = 0; i < h->options_len && h->options[i] != OPTION_END;) {
        size_t n = option_len(h->options + i, h->options_len - i);
        if (n == 0) {
            h->bad_option = (uint8_t)(IPV4_LEN + i);
            return -WIRE_IP4_OPTION;
        }
        if (h->options[i] == OPTION_LOOSE_ROUTE || h->options[i] == OPTION_STRICT_ROUTE)
            h->source_route = true;
        i += n;
    }
    return 0;
}

static int check_fragment(const struct ipv4_hdr *h)
{
    if (!ipv4_is_fragment(h))
        return 0;
    size_t header = ipv4_len(h);
    size_t payload = h->total_len - header;
    if (payload == 0 || (h->more_fragments && payload % 8 != 0))
        return -WIRE_IP4_FRAGMENT; /* RFC 791 3.2: fragments are cut at multiples of 8 bytes */
    if (header + h->frag_offset + payload > IPV4_TOTAL_MAX)
        return -WIRE_IP4_FRAGMENT;
    return 0;
}

static void read_fields(const uint8_t *at, size_t header, struct ipv4_hdr *h)
{
    uint16_t frag = load_be16(at + 6);
    h->tos = at[1];
    h->total_len = load_be16(at + 2);
    h->id = load_be16(at + 4);
    h->dont_fragment = frag & DONT_FRAGMENT;
    h->more_fragments = frag & MORE_FRAGMENTS;
    h->frag_offset = (uint16_t)((frag & OFFSET_MASK) * 8);
    h->ttl = at[8];
    h->proto = at[9];
    h->src = ip_from_v4(load_be32(at + 12));
    h->dst = ip_from_v4(load_be32(at + 16));
    h->source_route = false;
    h->bad_option = 0;
    h->options_len = (uint8_t)(header - IPV4_LEN);
    if (h->options_len > 0) /* hardly ever */
        memcpy(h->options, at + IPV4_LEN, h->options_len);
}

/* A header is a whole number of 32-bit words, and so few that all carries stay in 64 bits. */
static struct checksum sum_header(const uint8_t *at, size_t header)
{
    struct checksum c = CHECKSUM_EMPTY;
    for (size_t i = 0; i < header; i += 4) {
        uint32_t word;
        memcpy(&word, at + i, sizeof(word));
        c.sum += word;
    }
    return c;
}

static int parse(const uint8_t *at, size_t contiguous, size_t available, bool verify,
                 struct ipv4_hdr *h)
{
    if (contiguous < IPV4_LEN)
        return -WIRE_IP4_SHORT;
    if (at[0] >> 4 != 4)
        return -WIRE_IP4_VERSION;
    size_t header = (at[0] & 15u) * 4;
    if (header < IPV4_LEN || header > contiguous)
        return -WIRE_IP4_HEADER_LENGTH;
    read_fields(at, header, h);
    if (h->total_len < header || h->total_len > available)
        return -WIRE_IP4_TOTAL_LENGTH;
    if (verify && !checksum_ok(sum_header(at, header)))
        return -WIRE_IP4_CHECKSUM; /* RFC 1122 3.2.1.2 */
    int error = walk_options(h);
    if (error == 0)
        error = check_fragment(h);
    return error ? error : (int)header;
}

int ipv4_parse(const uint8_t *at, size_t contiguous, size_t available, bool checksum_verified,
               struct ipv4_hdr *h)
{
    assert(contiguous <= available);
    return parse(at, contiguous, available, !checksum_verified, h);
}

int ipv4_parse_quoted(const uint8_t *at, size_t len, struct ipv4_hdr *h)
{
    return parse(at, len, IPV4_TOTAL_MAX, false, h);
}

/* Writes a word and adds it to a sum, which would wait for it to come back from memory. */
static void put_word(uint8_t *at, uint32_t word, struct checksum *c)
{
    uint32_t in_memory;
    store_be32(at, word);
    store_be32((uint8_t *)&in_memory, word);
    c->sum += in_memory;
}

size_t ipv4_emit(const struct ipv4_hdr *h, bool offload, uint8_t *dst)
{
    size_t header = ipv4_len(h);
    assert(h->options_len <= IPV4_OPTIONS_MAX && h->options_len % 4 == 0 && h->total_len >= header);
    assert(h->frag_offset % 8 == 0 && ip_is_v4(&h->src) && ip_is_v4(&h->dst));
    uint32_t frag = (h->dont_fragment ? DONT_FRAGMENT : 0u) |
                    (h->more_fragments ? MORE_FRAGMENTS : 0u) | h->frag_offset / 8u;
    struct checksum c = CHECKSUM_EMPTY;
    put_word(dst, (uint32_t)(0x40 | header / 4) << 24 | (uint32_t)h->tos << 16 | h->total_len, &c);
    put_word(dst + 4, (uint32_t)h->id << 16 | frag, &c);
    put_word(dst + 8, (uint32_t)h->ttl << 24 | (uint32_t)h->proto << 16, &c);
    put_word(dst + 12, ip_v4(&h->src), &c);
    put_word(dst + 16, ip_v4(&h->dst), &c);
    if (h->options_len > 0) {
        memcpy(dst + IPV4_LEN, h->options, h->options_len);
        c.sum += sum_header(h->options, h->options_len).sum;
    }
    if (!offload)
        store_be16(dst + 10, checksum_finish(c));
    return header;
}

size_t ipv4_options_copied(const uint8_t *options, size_t len, uint8_t *dst)
{
    size_t kept = 0;
    for (size_t i = 0; i < len && options[i] != OPTION_END;) {
        size_t n = option_len(options + i, len - i);
        assert(n > 0 && "ipv4_parse accepted them");
        if (options[i] & OPTION_COPIED) {
            memmove(dst + kept, options + i, n);
            kept += n;
        }
        i += n;
    }
    while (kept % 4 != 0)
        dst[kept++] = OPTION_END;
    return kept;
}
