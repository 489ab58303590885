/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text: what is accepted formats to a text that is accepted and means the same, and formatting that
 * again changes nothing. Bytes: the text of any address, MAC or prefix reads back as itself. Both
 * ways compared with the C library where it agrees on what an address is.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/addr.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_peer(const char *text, bool ours, const struct ip_addr *a)
{
    struct in_addr v4;
    struct in6_addr v6;
    struct ip_addr peer;
    bool theirs = false;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        peer = ip_from_v4(ntohl(v4.s_addr));
        theirs = true;
    } else if (inet_pton(AF_INET6, text, &v6) == 1) {
        memcpy(peer.b, &v6, 16);
        theirs = !ip_is_v4(&peer);
    }
    require(theirs == ours);
    require(!ours || ip_eq(&peer, a));
}

static void check_text(const char *text)
{
    struct ip_addr a;
    bool ok = ip_parse(text, &a);
    check_peer(text, ok, &a);
    struct ip_prefix p;
    bool prefix = ip_prefix_parse(text, &p);
    require(!ok || (prefix && ip_eq(&p.addr, &a) && p.len == (ip_is_v4(&a) ? 32 : 128)));
    require(!prefix || p.len <= (ip_is_v4(&p.addr) ? 32 : 128));
    struct mac_addr m;
    char out[MAC_ADDR_TEXT];
    if (mac_parse(text, &m)) {
        require(mac_format(&m, out) == 17 && strlen(text) == 17);
        for (int i = 0; i < 17; i++)
            require(out[i] == (text[i] >= 'A' && text[i] <= 'F' ? text[i] + 32 : text[i]));
    }
}

static void check_address(const struct ip_addr *a)
{
    char text[IP_ADDR_TEXT];
    struct ip_addr back;
    size_t n = ip_format(a, text);
    require(n < sizeof(text) && strlen(text) == n);
    require(ip_parse(text, &back) && ip_eq(&back, a));
    require(!(ip_is_multicast(a) && ip_is_link_local(a)));

    struct mac_addr mac;
    struct mac_addr mac_back;
    char mac_text[MAC_ADDR_TEXT];
    memcpy(mac.b, a->b + 10, 6);
    require(mac_format(&mac, mac_text) == 17);
    require(mac_parse(mac_text, &mac_back) && mac_eq(&mac, &mac_back));
}

static void check_prefix(const struct ip_addr *a, uint8_t len)
{
    struct ip_prefix p = {.addr = *a, .len = len % (ip_is_v4(a) ? 33 : 129)};
    char text[IP_ADDR_TEXT + 4];
    size_t n = ip_format(a, text);
    snprintf(text + n, sizeof(text) - n, "/%u", p.len);
    struct ip_prefix back;
    require(ip_prefix_parse(text, &back) && ip_eq(&back.addr, a) && back.len == p.len);
    require(ip_in_prefix(&p, a));
    /* The last bit of the network's part takes an address out of it. */
    struct ip_addr other = *a;
    unsigned bit = p.len + (ip_is_v4(a) ? 96u : 0u);
    if (p.len == 0)
        return;
    other.b[(bit - 1) / 8] ^= (uint8_t)(0x80 >> (bit - 1) % 8);
    require(!ip_in_prefix(&p, &other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[64];
    if (size < sizeof(text)) {
        if (size > 0)
            memcpy(text, data, size);
        text[size] = '\0';
        check_text(text);
    }
    if (size >= 17) {
        struct ip_addr a;
        memcpy(a.b, data, 16);
        check_address(&a);
        check_prefix(&a, data[16]);
    }
    return 0;
}
