/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two connections with each other, over paths that lose, repeat, delay and mark segments as the
 * input says and swallow those that are too long, between services that read and write at any pace,
 * for a time with little memory: both read all that the other wrote, and both are told that it
 * ended in order. Where nothing was in the way that takes no longer than round trips do.
 */
#include <stddef.h>

#include "base/bytes.h"
#include "support/tcp_end.h"

#define START        (7 * TICK_SEC)
#define TROUBLE_ENDS (START + 20 * TICK_SEC) /* segments are lost, and memory is short, before */
#define GIVE_UP      (START + 3600 * TICK_SEC)
#define FLYING       8192u
#define CALM_TIME    TICK_SEC
/* A timer that has backed off as far as it does, and the pauses of services. */
#define TROUBLED_TIME (200 * TICK_SEC)
#define MTU           1500u
#define SENT_MAX      20000u /* for what two services write, if no ACK asks for another */

/* A segment on its way. */
struct flying {
    tick_t due;
    uint64_t order; /* of those that are due at once the first sent comes first */
    unsigned to;
    struct tcp_hdr h;
    uint8_t ecn;
    uint32_t len;
    uint8_t data[];
};

struct side {
    struct tcp_end end;
    struct tcp_path path;
    uint32_t amount; /* that its service writes */
    uint32_t chunk;  /* at once */
    tick_t pause;    /* between two times that it consumes what it has read; 0: at once */
    tick_t consumes_at;
    bool begun;
    bool too_long; /* it sent what the path does not carry, and is told so */
    unsigned lost; /* of its segments, the last in a row */
};

struct pair {
    struct reader in; /* zeroes when it has run out */
    struct side side[2];
    struct flying *flying[FLYING]; /* a heap, the first to come on top */
    unsigned n_flying;
    uint64_t sent;
    tick_t now;
    uint32_t carries; /* IP packets up to so long */
    bool says_too_big;
    bool both_open;
    bool calm; /* nothing was in the way: no loss, no delay, no want of memory, no lazy service */
};

static struct pair pair;

/* ---- the path ---- */

static bool comes_before(const struct flying *a, const struct flying *b)
{
    return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static void swap(struct pair *p, unsigned a, unsigned b)
{
    struct flying *t = p->flying[a];
    p->flying[a] = p->flying[b];
    p->flying[b] = t;
}

static void push(struct pair *p, struct flying *f)
{
    require(p->n_flying < FLYING);
    unsigned i = p->n_flying++;
    p->flying[i] = f;
    for (; i > 0 && comes_before(p->flying[i], p->flying[(i - 1) / 2]); i = (i - 1) / 2)
        swap(p, i, (i - 1) / 2);
}

static struct flying *pop(struct pair *p)
{
    struct flying *first = p->flying[0];
    p->flying[0] = p->flying[--p->n_flying];
    for (unsigned i = 0;;) {
        unsigned least = i;
        for (unsigned k = 2 * i + 1; k <= 2 * i + 2 && k < p->n_flying; k++)
            if (comes_before(p->flying[k], p->flying[least]))
                least = k;
        if (least == i)
            return first;
        swap(p, i, least);
        i = least;
    }
}

static void fly(struct pair *p, unsigned to, const struct tcp_hdr *h, const uint8_t *data,
                uint32_t len, uint8_t ecn, tick_t delay)
{
    struct flying *f = malloc(sizeof(*f) + len);
    require(f != NULL);
    *f = (struct flying){
        .due = p->now + delay, .order = p->sent++, .to = to, .h = *h, .ecn = ecn, .len = len};
    if (len > 0)
        memcpy(f->data, data, len);
    push(p, f);
}

static void travel(struct pair *p, struct side *from, const struct tcp_hdr *h, const uint8_t *data,
                   uint32_t len, uint8_t ecn)
{
    unsigned to = from == p->side;
    uint32_t ip = ip_is_v4(&from->end.key.remote) ? END_IP4_LEN : END_IP6_LEN;
    uint8_t fate = reader_u8(&p->in);
    tick_t delay = 10 * TICK_MS;
    p->calm = p->calm && ((fate & 7) == 0 || (fate & 7) >= 5);
    if (ip + h->len + len > p->carries) {
        p->calm = false;
        from->too_long = p->says_too_big;
        return;
    }
    switch (fate & 7) {
    case 1:
    case 2:
        if (p->now < TROUBLE_ENDS && from->lost++ < 4)
            return;
        break;
    case 3: delay += (tick_t)(fate >> 3) * 2 * TICK_MS; break;
    case 4: fly(p, to, h, data, len, ecn, delay + (tick_t)(fate >> 3) * 8 * TICK_MS); break;
    case 5: ecn = ecn == ECN_ECT0 ? ECN_CE : ecn; break;
    default: break;
    }
    from->lost = 0;
    fly(p, to, h, data, len, ecn, delay);
}

/* As a device does it that cuts segments. */
static void cut(struct pair *p, struct side *from, const struct tcp_hdr *h, const uint8_t *data,
                uint32_t len, uint32_t mss, uint8_t ecn)
{
    for (uint32_t at = 0; at < len; at += mss) {
        struct tcp_hdr piece = *h;
        uint32_t n = len - at < mss ? len - at : mss;
        piece.seq = seq32_add(h->seq, at);
        if (at > 0)
            piece.flags &= (uint16_t)~TCP_CWR;
        if (at + n < len)
            piece.flags &= (uint16_t) ~(TCP_PSH | TCP_FIN);
        travel(p, from, &piece, data + at, n, ecn);
    }
}

static void on_said(struct tcp_end *e, const struct tcp_hdr *h, const uint8_t *data, uint32_t len,
                    const struct pkt *pkt, uint8_t ecn)
{
    struct pair *p = e->user;
    struct side *from = container_of(e, struct side, end);
    const struct tcp_end *other = &p->side[from == p->side].end;
    seq32_t end = seq32_add(h->seq, tcp_seq_len(h, len));
    require(!(h->flags & TCP_RST));
    if (h->flags & TCP_ACK)
        require(other->syn_said && seq32_le(h->ack, other->high_said));
    if (other->acks_said) /* but for a probe */
        require(seq32_le(end, other->right_said) ||
                seq32_eq(end, seq32_add(e->conn.sender.una, 1)));
    if (pkt->flags & PKT_TX_TSO)
        cut(p, from, h, data, len, pkt->tso_mss, ecn);
    else
        travel(p, from, h, data, len, ecn);
}

/* ---- the ends ---- */

static void arrive(struct pair *p, const struct flying *f)
{
    struct side *s = &p->side[f->to];
    struct tcp_end *e = &s->end;
    if (!s->begun) {
        if (f->h.flags & TCP_ACK)
            return;
        s->begun = true;
        end_open(e, &s->path);
        tcp_accept(&e->conn, &f->h, seq32(0xffffff80), f->ecn, e->now);
        return;
    }
    struct pkt *pkt = heap_pkt(&e->pool, f->data, f->len, 0);
    if (pkt)
        tcp_input(&e->conn, &f->h, pkt, f->ecn, e->now);
}

static void begin(struct pair *p, struct side *s, uint32_t iss)
{
    s->begun = true;
    end_open(&s->end, &s->path);
    tcp_connect(&s->end.conn, seq32(iss), p->now);
}

static void write_some(struct side *s)
{
    struct tcp_end *e = &s->end;
    struct stream *stream = &e->conn.stream;
    for (uint32_t before; e->written < s->amount && stream_writable(stream);) {
        uint32_t left = s->amount - e->written;
        before = e->written;
        end_write(e, left < s->chunk ? left : s->chunk, before & 1);
        if (e->written == before)
            return;
    }
    if (e->written == s->amount && !e->end_written)
        end_finish_writing(e);
}

static void consume(struct pair *p, struct side *s)
{
    struct stream *stream = &s->end.conn.stream;
    if (s->pause == 0 || p->now < s->consumes_at)
        return;
    s->consumes_at = p->now + s->pause;
    s->end.tcp.now = p->now;
    stream_consume(stream, stream_unconsumed(stream));
}

static void turn(struct pair *p, struct side *s)
{
    struct tcp_end *e = &s->end;
    e->now = p->now;
    if (p->now >= TROUBLE_ENDS) {
        e->pool.limit = SIZE_MAX;
        e->tcp.memory_max = UINT64_C(1) << 30;
    }
    if (!s->begun)
        return;
    if (s->too_long) {
        s->path.mtu = (uint16_t)p->carries;
        tcp_path_changed(&e->conn, &s->path, p->now);
        s->too_long = false;
    }
    end_expire(e);
    end_serve(e, 4);
    consume(p, s);
    if (!tcp_is_over(&e->conn))
        write_some(s);
    end_output(e);
}

static bool over(const struct side *s)
{
    return s->begun && tcp_is_over(&s->end.conn);
}

static tick_t next(const struct pair *p, const struct side *s)
{
    const struct tcp_end *e = &s->end;
    if (!s->begun || over(s))
        return TICK_NEVER;
    tick_t t = tcp_deadline(&e->conn);
    if (s->pause && (s->end.conn.stream.unconsumed > 0 || s->end.conn.stream.in))
        t = tick_min(t, s->consumes_at);
    if (!stream_ready_empty(&e->tcp.ready))
        t = p->now;
    if (tcp_wants_output(&e->conn, p->now)) /* when there is memory again */
        t = tick_min(t, p->now + TICK_MS);
    return t;
}

static void run(struct pair *p)
{
    for (unsigned n = 0; !over(&p->side[0]) || !over(&p->side[1]); n++) {
        require(p->sent < SENT_MAX && n < 200000 && p->now < GIVE_UP);
        tick_t t = tick_min(next(p, &p->side[0]), next(p, &p->side[1]));
        if (p->n_flying > 0)
            t = tick_min(t, p->flying[0]->due);
        require(t != TICK_NEVER);
        p->now = t > p->now ? t : p->now;
        for (unsigned i = 0; i < 2; i++)
            p->side[i].end.now = p->now;
        while (p->n_flying > 0 && p->flying[0]->due <= p->now) {
            struct flying *f = pop(p);
            arrive(p, f);
            free(f);
        }
        turn(p, &p->side[0]);
        turn(p, &p->side[1]);
    }
}

/* ---- all of it ---- */

static void start_side(struct pair *p, unsigned which, bool v4)
{
    struct side *s = &p->side[which];
    uint8_t how = reader_u8(&p->in), more = reader_u8(&p->in);
    struct tcp_settings settings = {.congestion = how & 1 ? TCP_NEWRENO : TCP_CUBIC,
                                    .ecn = how & 2 ? TCP_ECN_REQUEST : TCP_ECN_ACCEPT,
                                    .nagle = how & 4,
                                    .no_sack = how & 8,
                                    .no_timestamps = how & 16,
                                    .no_window_scaling = how & 32,
                                    .no_pacing = how & 64,
                                    .user_timeout = 3000 * TICK_SEC,
                                    .fin_timeout = 3000 * TICK_SEC,
                                    .receive_buffer = how & 128 ? 2000 : 0,
                                    .receive_buffer_max = more & 1 ? 6000 : 0,
                                    .send_buffer = more & 1 ? 4000 : 0};
    require(tcp_settings_fill(&settings));
    struct ip_addr a = ip_from_v4(0xc0000201), b = ip_from_v4(0xc0000202);
    if (!v4) {
        a = (struct ip_addr){{0x20, 1, 0xd, 0xb8, [15] = 1}};
        b = (struct ip_addr){{0x20, 1, 0xd, 0xb8, [15] = 2}};
    }
    struct flow_key key = which ? flow_key_of(&b, 80, &a, 4000, IP_PROTO_TCP)
                                : flow_key_of(&a, 4000, &b, 80, IP_PROTO_TCP);
    end_init(&s->end, &key, &settings, START);
    s->end.salt_in = (uint8_t)(1 + which);
    s->end.salt_out = (uint8_t)(2 - which);
    s->end.user = p;
    s->end.said = on_said;
    s->path = (struct tcp_path){.mtu = MTU,
                                .iface_mtu = MTU,
                                .checksum = more & 2,
                                .multi = more & 4,
                                .tso = (more & 6) == 6};
    s->amount = reader_u16(&p->in);
    s->chunk = 300 + reader_u8(&p->in) * 32u;
    s->pause = more & 8 ? (1 + reader_u8(&p->in)) * 5 * TICK_MS : 0;
    s->end.lazy = s->pause > 0;
    s->consumes_at = s->pause;
    s->begun = s->too_long = false;
    s->lost = 0;
    p->calm = p->calm && !(more & 0x38);
    if (more & 16)
        s->end.tcp.memory_max = 1;
    if (more & 32)
        s->end.pool.limit = 8 + (more >> 6) * 8u;
}

static void start(struct pair *p)
{
    static const uint32_t carries[8] = {MTU, MTU, MTU, MTU, 1280, 1280, 1024, 576};
    uint8_t how = reader_u8(&p->in);
    p->now = START;
    p->sent = 0;
    p->n_flying = 0;
    p->carries = carries[how & 7];
    if ((how & 8) && p->carries < 1280) /* RFC 8200 5 */
        p->carries = 1280;
    p->says_too_big = how & 16;
    p->both_open = how & 32;
    p->calm = true;
    start_side(p, 0, !(how & 8));
    start_side(p, 1, !(how & 8));
    begin(p, &p->side[0], UINT32_C(0xffffff00));
    if (p->both_open)
        begin(p, &p->side[1], UINT32_C(0xffffff80));
}

static void finish(struct side *s, const struct side *other)
{
    struct tcp_end *e = &s->end;
    require(e->told_ended && !e->told_reset && e->end_read);
    require(e->read == other->amount && e->written == s->amount);
    e->pool.limit = SIZE_MAX;
    end_fini(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pair *p = &pair;
    p->in = reader_of(data, size);
    start(p);
    run(p);
    require(!p->calm || p->now - START < CALM_TIME); /* nobody has waited for a timer in vain */
    require(p->carries < MTU || p->now < TROUBLE_ENDS + TROUBLED_TIME);
    while (p->n_flying > 0)
        free(pop(p));
    finish(&p->side[0], &p->side[1]);
    finish(&p->side[1], &p->side[0]);
    return 0;
}
