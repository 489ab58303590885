/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser against another that reads options its own way; an accepted header re-emits to one
 * that reads the same, with a checksum that holds. The first byte says how much of the segment lies
 * in later views.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/error.h"
#include "wire/proto.h"
#include "wire/tcp.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the option of this kind stands that counts: the first, or of MSS the first that is not
 * zero. NULL: there is none. *sound: all lengths are possible. */
static const uint8_t *find(const uint8_t *at, size_t len, uint8_t kind, bool *sound)
{
    static const uint8_t lengths[256] = {[2] = 4, [3] = 3, [4] = 2, [8] = 10};
    const uint8_t *found = NULL;
    struct reader r = reader_of(at, len);
    *sound = true;
    while (reader_left(&r) > 0) {
        const uint8_t *here = r.at;
        uint8_t k = reader_u8(&r);
        if (k == 0)
            break;
        if (k == 1)
            continue;
        uint8_t n = reader_u8(&r);
        if (n < 2 || (lengths[k] && n != lengths[k]) || (k == 5 && n % 8 != 2)) {
            *sound = false;
            break;
        }
        reader_skip(&r, n - 2u);
        if (!reader_ok(&r))
            break;
        bool nothing = (k == 2 && here[2] == 0 && here[3] == 0) || (k == 5 && n == 2);
        if (k == kind && !found && !nothing)
            found = here;
    }
    *sound = *sound && reader_ok(&r);
    return found;
}

static void check_syn(const uint8_t *at, size_t len, bool syn, const struct tcp_options *o)
{
    bool sound;
    const uint8_t *p = find(at, len, 2, &sound);
    require(o->has_mss == (syn && p));
    require(!o->has_mss || o->mss == load_be16(p + 2));
    p = find(at, len, 3, &sound);
    require(o->has_wscale == (syn && p));
    require(!o->has_wscale || o->wscale == (p[2] < 14 ? p[2] : 14));
    require(o->sack_permitted == (syn && find(at, len, 4, &sound)));
}

static void check_options(const uint8_t *at, size_t len, bool syn, const struct tcp_options *o)
{
    bool sound;
    check_syn(at, len, syn, o);
    const uint8_t *p = find(at, len, 8, &sound);
    require(o->has_timestamps == !!p);
    require(!p || (o->ts_value == load_be32(p + 2) && o->ts_echo == load_be32(p + 6)));
    p = find(at, len, 5, &sound);
    require(o->n_sack == (p && !syn ? p[1] / 8 : 0) && o->n_sack <= TCP_SACK_MAX);
    for (unsigned i = 0; i < o->n_sack; i++) {
        require(o->sack[i].left.v == load_be32(p + 2 + 8 * i));
        require(o->sack[i].right.v == load_be32(p + 6 + 8 * i));
    }
}

static void check_fields(const uint8_t *at, const struct tcp_hdr *h)
{
    require(h->src_port == load_be16(at) && h->dst_port == load_be16(at + 2));
    require(h->seq.v == load_be32(at + 4) && h->ack.v == load_be32(at + 8));
    require(h->flags == (load_be16(at + 12) & 0x1ff) && h->window == load_be16(at + 14));
    require(h->urgent == load_be16(at + 18) && h->len == (at[12] >> 4) * 4);
}

static void check_emit(struct tcp_hdr h)
{
    /* A peer may have said more than we would. */
    h.flags &= 0xff;
    if (h.options.n_sack > tcp_sack_room(&h.options))
        h.options.n_sack = (uint8_t)tcp_sack_room(&h.options);
    size_t len = tcp_header_len(&h.options);
    uint8_t *out = malloc(len);
    struct ip_addr src = ip_from_v4(0xc0000201);
    struct ip_addr dst = ip_from_v4(0xc0000202);
    struct checksum pseudo = checksum_pseudo(&src, &dst, IP_PROTO_TCP, (uint32_t)len);
    require(tcp_emit(&h, pseudo, out) == len && len % 4 == 0);
    require(checksum_ok(checksum_add(pseudo, out, len)));

    struct tcp_hdr again;
    require(tcp_parse(out, len, len, &again) == (int)len);
    check_fields(out, &again);
    h.len = again.len;
    for (unsigned i = h.options.n_sack; i < TCP_SACK_MAX; i++)
        h.options.sack[i] = (struct tcp_sack){0};
    require(memcmp(h.options.sack, again.options.sack, sizeof(again.options.sack)) == 0);
    require(h.options.mss == again.options.mss && h.options.wscale == again.options.wscale);
    check_options(out + TCP_LEN, len - TCP_LEN, h.flags & TCP_SYN, &h.options);

    uint16_t ours = load_be16(out + 16);
    require(tcp_emit_offload(&h, pseudo, out) == len);
    require(checksum_finish(checksum_add(CHECKSUM_EMPTY, out, len)) == ours);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t len = size - 1;
    size_t available = len + data[0] * 16u;
    const uint8_t *at = data + 1;
    struct tcp_hdr h;
    int n = tcp_parse(at, len, available, &h);
    size_t header = len < TCP_LEN ? 0 : (at[12] >> 4) * 4u;
    bool offset = header >= TCP_LEN && header <= available;
    require((n == -WIRE_TCP_OFFSET) == (len >= TCP_LEN && !offset));
    require((n == -WIRE_TCP_SHORT) == (len < TCP_LEN || (offset && header > len)));
    if (!offset || header > len)
        return 0;
    bool sound;
    find(at + TCP_LEN, header - TCP_LEN, 0, &sound);
    require(n == (sound ? (int)header : -WIRE_TCP_OPTION));
    if (n < 0)
        return 0;
    check_fields(at, &h);
    check_options(at + TCP_LEN, header - TCP_LEN, h.flags & TCP_SYN, &h.options);
    check_emit(h);
    return 0;
}
