/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_TCP_END_H
#define MILLRACE_TESTS_TCP_END_H

/*
 * One end of a TCP connection with memory of its own and a service whose bytes follow from their
 * positions, so that what it reads is checked against one integer. Each segment that it sends is
 * held to what a TCP may say:
 *
 *   a position always has the same byte, none is sent that was not written, and the end stands
 *   behind the last; nothing new lies beyond the peer's window, but for a probe of one; no segment
 *   is longer than the peer and the path take; acknowledgments and the window's right edge never
 *   move back; nothing follows a reset.
 *
 * What may have been acknowledged the user knows: `said`.
 */

#include <stdlib.h>
#include <string.h>

#include "support/heap.h"
#include "tcp/conn.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define END_IP4_LEN 20u
#define END_IP6_LEN 40u
#define END_MSS_MIN 60u /* tcp/internal.h: shorter segments are not cut for anybody */

struct tcp_end {
    struct heap heap;
    struct heap_pool pool;
    struct counters counters;
    struct rng rng;
    struct tcp_settings settings;
    struct flow_key key;
    struct tcp tcp;
    struct tcp_conn conn;
    bool lives; /* conn is valid */
    tick_t now;
    bool woken; /* tcp_output is due, whether there is something to send or not */

    /* Its service. Positions are of the bytes of one direction; salts tell the directions apart. */
    uint8_t salt_in;
    uint8_t salt_out;
    bool lazy; /* what is read is consumed later, by who asks for that */
    bool opened;
    bool end_read;
    bool end_written;
    bool told_ended;
    bool told_reset;
    bool aborted;
    enum stream_code code;
    uint32_t read;
    uint32_t written;

    /* What was said. */
    bool acks_said; /* the next two are valid */
    bool reset_said;
    seq32_t ack_said;
    seq32_t right_said;
    seq32_t high_said;    /* one past the highest number sent */
    bool syn_said;        /* high_said is valid */
    uint8_t bytes[70000]; /* of one segment */

    /* A segment that was sent and found sound; data has len bytes. */
    void (*said)(struct tcp_end *e, const struct tcp_hdr *h, const uint8_t *data, uint32_t len,
                 const struct pkt *p, uint8_t ecn);
    void *user;
};

/* Bytes follow from their positions modulo a prime that is more than what is ever under way. */
#define END_PERIOD 65521u
#define END_MOST   70000u

/* Of so many bytes as are asked for at once, from position on. */
static inline const uint8_t *end_bytes(uint8_t salt, uint32_t position, uint32_t len)
{
    static uint8_t bytes[END_PERIOD + END_MOST];
    require(len <= END_MOST);
    if (bytes[1] == 0)
        for (uint32_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)(i % END_PERIOD * UINT32_C(2654435761) >> 13);
    /* What comes before the first byte is no reason for a break. */
    uint64_t from = UINT64_C(65536) * END_PERIOD + (uint64_t)(int32_t)position + salt * 1000u;
    return bytes + from % END_PERIOD;
}

/* ---- what it says ---- */

static inline uint32_t end_position(const struct tcp_end *e, seq32_t seq)
{
    return seq.v - e->conn.iss.v - 1;
}

static inline void end_check_length(const struct tcp_end *e, const struct tcp_hdr *h, uint32_t len,
                                    const struct pkt *p)
{
    const struct tcp_conn *c = &e->conn;
    uint32_t ip = ip_is_v4(&e->key.remote) ? END_IP4_LEN : END_IP6_LEN;
    uint32_t most = c->path.mtu - ip - TCP_LEN;
    if (c->mss < most)
        most = c->mss;
    if (most < END_MSS_MIN)
        most = END_MSS_MIN;
    if (p->flags & PKT_TX_TSO) {
        require(c->path.tso && len > p->tso_mss && p->tso_mss > 0);
        len = p->tso_mss;
    }
    require(len == 0 || h->len - TCP_LEN + len <= most); /* RFC 6691 2 */
}

static inline void end_check_ack(struct tcp_end *e, const struct tcp_hdr *h)
{
    uint32_t unit = h->flags & TCP_SYN ? 1 : 1u << e->conn.receiver.scale;
    seq32_t right = seq32_add(h->ack, h->window * unit);
    if (e->acks_said)
        require(seq32_ge(h->ack, e->ack_said));
    if (e->acks_said && !(h->flags & TCP_SYN)) /* RFC 7323 2.4: what the field cannot tell is cut */
        require(seq32_gt(seq32_add(right, unit), e->right_said));
    e->ack_said = h->ack;
    e->right_said = e->acks_said ? seq32_max(right, e->right_said) : right;
    e->acks_said = true;
}

/* Numbers of the sequence space. */
static inline void end_check_numbers(struct tcp_end *e, const struct tcp_hdr *h, uint32_t len)
{
    const struct tcp_conn *c = &e->conn;
    seq32_t end = seq32_add(h->seq, tcp_seq_len(h, len));
    if (!e->syn_said) {
        require((h->flags & TCP_SYN) || (c->flags & TCP_CONN_COOKIE));
        e->high_said = seq32_add(c->iss, 1);
        e->syn_said = true;
    }
    require(seq32_le(h->seq, e->high_said) && seq32_ge(h->seq, seq32_sub(c->sender.una, 1)));
    if (!seq32_gt(end, e->high_said))
        return;
    seq32_t edge = seq32_add(c->sender.una, c->snd_wnd);
    bool probe = seq32_eq(h->seq, c->sender.una) && seq32_eq(end, seq32_add(h->seq, 1));
    require(seq32_le(end, edge) || probe);
    e->high_said = end;
}

static inline void end_check_data(const struct tcp_end *e, const struct tcp_hdr *h,
                                  const uint8_t *data, uint32_t len)
{
    uint32_t position = end_position(e, h->seq);
    if (len > 0) {
        require(position <= e->written && len <= e->written - position);
        require(memcmp(data, end_bytes(e->salt_out, position, len), len) == 0);
    }
    if (h->flags & TCP_FIN)
        require(e->end_written && position + len == e->written);
}

static inline void end_check(struct tcp_end *e, const struct tcp_hdr *h, const uint8_t *data,
                             uint32_t len, const struct pkt *p)
{
    require(!e->reset_said);
    require(h->src_port == e->key.local_port && h->dst_port == e->key.remote_port);
    require(h->urgent == 0 && !(h->flags & (TCP_URG | TCP_AE)));
    if (h->flags & TCP_RST) {
        require(len == 0 && !(h->flags & (TCP_SYN | TCP_FIN)));
        e->reset_said = e->conn.state > TCP_SYN_RECEIVED;
        return;
    }
    if (h->flags & TCP_SYN)
        require(len == 0 && seq32_eq(h->seq, e->conn.iss));
    else
        require(h->flags & TCP_ACK);
    if (h->flags & TCP_ACK)
        end_check_ack(e, h);
    end_check_length(e, h, len, p);
    end_check_numbers(e, h, len);
    end_check_data(e, h, data, len);
}

static inline void end_check_sum(const struct tcp_end *e, const struct pkt *p)
{
    if (e->conn.path.checksum) {
        require((p->flags & PKT_TX_L4_CSUM) && p->l4_proto == IP_PROTO_TCP);
        return;
    }
    struct checksum sum = checksum_pseudo(&e->key.local, &e->key.remote, IP_PROTO_TCP, p->total);
    require(checksum_ok(checksum_add(sum, e->bytes, p->total)));
}

static inline void end_transmit(struct tcp_conn *c, struct pkt *p, uint8_t ecn, tick_t now)
{
    struct tcp_end *e = container_of(c, struct tcp_end, conn);
    struct tcp_hdr h;
    require(e->lives && now == e->now && pkt_ok(p) && p->total <= sizeof(e->bytes));
    require(!p->next || c->path.multi);
    pkt_copy_out(p, 0, e->bytes, p->total);
    int n = tcp_parse(e->bytes, p->total, p->total, &h);
    require(n > 0);
    end_check_sum(e, p);
    end_check(e, &h, e->bytes + n, p->total - (uint32_t)n, p);
    if (e->said)
        e->said(e, &h, e->bytes + n, p->total - (uint32_t)n, p, ecn);
    pkt_free(p);
}

static inline void end_wake(struct tcp_conn *c)
{
    struct tcp_end *e = container_of(c, struct tcp_end, conn);
    require(e->lives);
    e->woken = true;
}

/* ---- its service ---- */

static inline struct tcp_end *end_of(struct stream *s)
{
    return container_of(container_of(s, struct tcp_conn, stream), struct tcp_end, conn);
}

static inline void end_expect_told(const struct tcp_end *e)
{
    require(!e->told_ended && !e->told_reset && !e->aborted);
}

static inline void end_on_opened(struct stream *s)
{
    struct tcp_end *e = end_of(s);
    end_expect_told(e);
    require(!e->opened);
    e->opened = true;
}

static inline void end_on_data(struct stream *s, struct pkt *view, bool end)
{
    struct tcp_end *e = end_of(s);
    end_expect_told(e);
    require(e->opened && !e->end_read && (view || end));
    if (view) {
        require(!view->next && view->len > 0);
        require(memcmp(view->data, end_bytes(e->salt_in, e->read, view->len), view->len) == 0);
        e->read += view->len;
        pkt_free(view);
    }
    e->end_read = end;
    if (!e->lazy)
        stream_consume(s, stream_unconsumed(s));
}

static inline void end_on_writable(struct stream *s)
{
    end_expect_told(end_of(s));
    require(end_of(s)->opened && !end_of(s)->end_written);
}

static inline void end_on_ended(struct stream *s)
{
    struct tcp_end *e = end_of(s);
    end_expect_told(e);
    require(e->end_read && e->end_written);
    e->told_ended = true;
}

static inline void end_on_reset(struct stream *s, enum stream_code code)
{
    struct tcp_end *e = end_of(s);
    end_expect_told(e);
    e->told_reset = true;
    e->code = code;
}

static const struct stream_service end_service = {.name = "end",
                                                  .opened = end_on_opened,
                                                  .data = end_on_data,
                                                  .writable = end_on_writable,
                                                  .ended = end_on_ended,
                                                  .reset = end_on_reset};

static inline void end_flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    const struct tcp_end *e = v->of.context;
    require(len > 0 && offset < v->len && len <= v->len - offset);
    memcpy(dst, end_bytes(e->salt_out, v->arg + offset, len), len);
}

/* Who opens hears of nothing before, but may write at once. */
static inline bool end_knows(const struct tcp_end *e)
{
    return (e->opened || !(e->conn.flags & TCP_CONN_PASSIVE)) && !e->aborted;
}

/* len bytes; packet: as one, which may be sliced, if there is memory. */
static inline void end_write(struct tcp_end *e, uint32_t len, bool packet)
{
    static const struct vec_ops lazy = {.flatten = end_flatten};
    struct vec v = {.ops = &lazy, .of.context = e, .len = len, .arg = e->written};
    if (len == 0 || len > END_MOST || e->end_written || !end_knows(e))
        return;
    if (packet) {
        struct pkt *p = heap_pkt(&e->pool, end_bytes(e->salt_out, e->written, len), len, 2000);
        if (!p)
            return;
        v = vec_of_pkt(p);
    }
    if (stream_write(&e->conn.stream, v))
        e->written += len;
    else if (v.ops->discard)
        v.ops->discard(&v);
}

static inline void end_finish_writing(struct tcp_end *e)
{
    if (!end_knows(e))
        return;
    e->end_written = true;
    stream_end(&e->conn.stream);
}

static inline void end_abort(struct tcp_end *e)
{
    if (!end_knows(e))
        return;
    e->aborted = true;
    stream_abort(&e->conn.stream);
}

/* ---- its owner ---- */

/* settings: filled. key: local is this end. */
static inline void end_init(struct tcp_end *e, const struct flow_key *key,
                            const struct tcp_settings *settings, tick_t now)
{
    memset(e, 0, offsetof(struct tcp_end, bytes));
    heap_init(&e->heap);
    heap_pool_init(&e->pool, 128, 2048);
    rng_seed(&e->rng, 1);
    e->key = *key;
    e->settings = *settings;
    e->now = now;
    e->tcp = (struct tcp){.mem = &e->heap.mem,
                          .pool = &e->pool.pool,
                          .counters = &e->counters,
                          .rng = &e->rng,
                          .settings = &e->settings,
                          .now = now,
                          .memory_max = UINT64_C(1) << 30,
                          .transmit = end_transmit,
                          .wake = end_wake};
    stream_ready_init(&e->tcp.ready);
    limit_init(&e->tcp.challenges, settings->challenge_rate, settings->challenge_rate, now);
}

static inline void end_open(struct tcp_end *e, const struct tcp_path *path)
{
    tcp_conn_init(&e->conn, &e->tcp, &e->key, path, &end_service);
    e->lives = true;
}

/* It holds nothing any more. */
static inline void end_fini(struct tcp_end *e)
{
    if (e->lives)
        tcp_conn_fini(&e->conn);
    e->lives = false;
    require(e->tcp.memory == 0 && e->heap.blocks == 0 && e->pool.held == 0);
    require(stream_ready_empty(&e->tcp.ready));
}

static inline bool end_short_of_memory(const struct tcp_end *e)
{
    return e->heap.limit != SIZE_MAX || e->pool.limit != SIZE_MAX;
}

static inline void end_serve(struct tcp_end *e, unsigned views)
{
    e->tcp.now = e->now;
    stream_ready_run(&e->tcp.ready, 1, views);
}

/* Time has come to e->now: what is due is dealt with, and then nothing is due any more. */
static inline void end_expire(struct tcp_end *e)
{
    for (unsigned n = 0; tcp_deadline(&e->conn) <= e->now; n++) {
        require(n < 32);
        tcp_expire(&e->conn, e->now);
    }
}

/* It sends what it wants to; that is an end of it, unless memory is short. */
static inline void end_output(struct tcp_end *e)
{
    for (unsigned n = 0; e->woken || tcp_wants_output(&e->conn, e->now); n++) {
        require(n < 4096);
        e->woken = false;
        if (tcp_output(&e->conn, 16, 1u << 16, e->now) == 0 && !tcp_is_over(&e->conn)) {
            require(end_short_of_memory(e) || !tcp_wants_output(&e->conn, e->now));
            break;
        }
    }
}

#endif
