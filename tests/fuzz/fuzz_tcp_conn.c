/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection, brought to any of its states, and then spoken to by a peer that says anything
 * near the edges of what is allowed, while time passes, its service reads and writes, paths change
 * and memory runs out. What its service reads and what it sends is held to the model of
 * support/tcp_end.h; it acknowledges only what has come; at no time is it busy without an end; and
 * left alone by its peer it comes to its end and holds nothing.
 */
#include <stddef.h>

#include "base/bytes.h"
#include "support/tcp_end.h"

#define OPS    400u
#define COME   (1u << 17) /* positions of the peer's stream that may come */
#define OPEN_S 3          /* peer's window scale, where it has one */

#define IRS seq32(UINT32_C(0xfffffc00))
#define ISS seq32(UINT32_C(0xfffffd00))

struct fuzz {
    struct reader in; /* zeroes when it has run out */
    struct tcp_end end;
    uint32_t ts_heard; /* last timestamp of ours */
    uint8_t scale;     /* the peer's */
    bool timestamps;   /* in each segment of its */
    /* What the peer has sent, whether it was taken or not. */
    uint8_t come[COME + 1]; /* the last never does */
    uint32_t come_to;       /* all before has */
    uint32_t come_max;      /* none from here on */
    uint32_t fin_at;        /* the least position at which an end has come */
};

static struct fuzz fuzz;

static struct tcp_conn *conn(struct fuzz *f)
{
    return &f->end.conn;
}

/* ---- what it says ---- */

static void on_said(struct tcp_end *e, const struct tcp_hdr *h, const uint8_t *data, uint32_t len,
                    const struct pkt *p, uint8_t ecn)
{
    struct fuzz *f = e->user;
    (void)data, (void)len, (void)p, (void)ecn;
    if (h->options.has_timestamps)
        f->ts_heard = h->options.ts_value;
    if (!(h->flags & TCP_ACK) || (h->flags & TCP_RST))
        return;
    uint32_t acked = h->ack.v - IRS.v - 1;
    require(acked <= f->come_to || (acked == f->come_to + 1 && f->fin_at <= f->come_to));
    require(h->options.n_sack == 0 || (e->conn.flags & TCP_CONN_SACK));
}

/* ---- what the peer says ---- */

static void note_come(struct fuzz *f, seq32_t first, uint32_t len, bool fin)
{
    uint32_t at = first.v - IRS.v - 1, end = at + len;
    uint32_t from = at > COME ? 0 : at; /* it may begin before the first byte */
    uint32_t to = at > COME && end >= at ? 0 : end > COME ? COME : end;
    memset(f->come + from, 1, to - from);
    f->come_max = to > f->come_max ? to : f->come_max;
    while (f->come[f->come_to])
        f->come_to++;
    if (fin && at + len < f->fin_at)
        f->fin_at = at + len;
}

static void hear(struct fuzz *f, struct tcp_hdr *h, uint32_t len, uint8_t ecn)
{
    struct tcp_end *e = &f->end;
    seq32_t first = seq32_add(h->seq, !!(h->flags & TCP_SYN));
    uint32_t at = first.v - IRS.v - 1;
    if (at <= COME && at + len > COME) /* that is all it has to say */
        return;
    h->src_port = e->key.remote_port;
    h->dst_port = e->key.local_port;
    const uint8_t *bytes = end_bytes(e->salt_in, first.v - IRS.v - 1, len);
    struct pkt *p = heap_pkt(&e->pool, bytes, len, len & 1 ? 300 : 0);
    if (!p)
        return;
    note_come(f, first, len, h->flags & TCP_FIN);
    tcp_input(conn(f), h, p, ecn, e->now);
}

static uint32_t peer_clock(const struct fuzz *f)
{
    return UINT32_C(0xffffff00) + (uint32_t)(f->end.now / TICK_MS);
}

static void stamp(struct fuzz *f, struct tcp_hdr *h)
{
    h->options.has_timestamps = f->timestamps;
    h->options.ts_value = peer_clock(f);
    h->options.ts_echo = f->ts_heard;
}

/* As a peer that has heard all would say it. */
static void hear_proper(struct fuzz *f, uint16_t flags, uint16_t window, uint32_t len)
{
    const struct tcp_conn *c = conn(f);
    struct tcp_hdr h = {.seq = c->receiver.nxt,
                        .ack = f->end.syn_said ? f->end.high_said : c->iss,
                        .flags = (uint16_t)(flags | TCP_ACK),
                        .window = window};
    stamp(f, &h);
    hear(f, &h, len, 0);
}

static seq32_t near(struct fuzz *f, seq32_t base)
{
    uint8_t how = reader_u8(&f->in);
    uint8_t n = how & 0xf;
    switch (how >> 4) {
    case 0: return seq32_add(base, n);
    case 1: return seq32_sub(base, n);
    case 2: return seq32_add(base, n * 100u);
    case 3: return seq32_sub(base, n * 100u);
    case 4: return seq32_add(base, n * 1460u);
    case 5: return seq32_sub(base, n * 1460u);
    case 6: return seq32_add(base, reader_u16(&f->in));
    case 7: return seq32_sub(base, reader_u16(&f->in));
    case 8: return seq32_add(base, (UINT32_C(1) << 31) + n - 8);
    case 9: return seq32_add(base, (UINT32_C(1) << 30) + n - 8);
    default: return base;
    }
}

static seq32_t some_seq(struct fuzz *f)
{
    const struct tcp_receiver *r = &conn(f)->receiver;
    switch (reader_u8(&f->in) % 8) {
    case 0: return near(f, r->right);
    case 1: return near(f, IRS);
    case 2: return near(f, seq32_add(IRS, 1 + f->come_to));
    case 3: return near(f, seq32_add(IRS, 1 + f->fin_at));
    default: return near(f, r->nxt);
    }
}

/* Where a record in flight begins. */
static seq32_t some_edge(struct fuzz *f)
{
    const struct inflight *in = &conn(f)->sender.inflight;
    uint32_t n = inflight_count(in);
    uint8_t which = reader_u8(&f->in);
    if (n == 0 || which >= 0xf0)
        return near(f, conn(f)->sender.nxt);
    const struct tcp_seg *g = inflight_at(in, in->head + which % n);
    return which & 0x40 ? tcp_seg_end(g) : g->seq;
}

static seq32_t some_ack(struct fuzz *f)
{
    const struct tcp_conn *c = conn(f);
    switch (reader_u8(&f->in) % 8) {
    case 0: return near(f, c->sender.una);
    case 1: return near(f, c->iss);
    case 2: return near(f, f->end.high_said);
    case 3:
    case 4: return some_edge(f);
    default: return near(f, c->sender.nxt);
    }
}

static uint32_t some_len(struct fuzz *f)
{
    uint8_t n = reader_u8(&f->in);
    switch (n >> 6) {
    case 0: return 0;
    case 1: return n & 0x3f;
    case 2: return (n & 0x3fu) * 32;
    default: return 1448u * (1 + (n & 3));
    }
}

static uint16_t some_window(struct fuzz *f)
{
    uint8_t n = reader_u8(&f->in);
    switch (n >> 6) {
    case 0: return 0;
    case 1: return n & 0x3f;
    case 2: return (uint16_t)((n & 0x3f) * 64);
    default: return UINT16_MAX;
    }
}

static void some_options(struct fuzz *f, struct tcp_options *o)
{
    uint8_t how = reader_u8(&f->in);
    if (how & 1) {
        o->has_timestamps = !(how & 2);
        o->ts_value += how & 4 ? reader_u16(&f->in) - 0x8000u : 0;
        o->ts_echo += how & 8 ? reader_u16(&f->in) - 0xf000u : 0;
    }
    unsigned blocks = how >> 4 & 7;
    for (o->n_sack = 0; o->n_sack < blocks && o->n_sack < TCP_SACK_MAX; o->n_sack++) {
        o->sack[o->n_sack].left = some_edge(f);
        o->sack[o->n_sack].right = some_edge(f);
    }
    if (how & 0x80) {
        o->has_mss = o->has_wscale = true;
        o->mss = reader_u16(&f->in);
        o->wscale = how & 0xf;
        o->sack_permitted = true;
    }
}

static void hear_some(struct fuzz *f)
{
    static const uint16_t flags[16] = {TCP_ACK,
                                       TCP_ACK,
                                       TCP_ACK,
                                       TCP_ACK | TCP_PSH,
                                       TCP_ACK | TCP_FIN,
                                       TCP_ACK | TCP_FIN | TCP_PSH,
                                       TCP_RST,
                                       TCP_RST | TCP_ACK,
                                       TCP_SYN,
                                       TCP_SYN | TCP_ACK,
                                       0,
                                       TCP_FIN,
                                       TCP_ACK | TCP_URG,
                                       TCP_ACK | TCP_ECE,
                                       TCP_ACK | TCP_CWR,
                                       TCP_SYN | TCP_FIN | TCP_ACK | TCP_ECE | TCP_CWR};
    uint8_t how = reader_u8(&f->in);
    struct tcp_hdr h = {.flags = flags[how & 0xf]};
    h.seq = some_seq(f);
    if (conn(f)->state == TCP_SYN_SENT) /* it has no more than one first number */
        h.seq = IRS;
    h.ack = some_ack(f);
    h.window = some_window(f);
    stamp(f, &h);
    if (how & 0x10)
        some_options(f, &h.options);
    hear(f, &h, some_len(f), how >> 6);
}

/* ---- opening ---- */

static struct tcp_hdr peer_syn(struct fuzz *f, uint8_t options, uint16_t flags)
{
    struct tcp_hdr h = {.seq = IRS, .flags = flags, .window = some_window(f)};
    h.options.has_mss = !(options & 1);
    h.options.mss = options & 2 ? reader_u16(&f->in) : 1460;
    h.options.has_wscale = options & 4;
    h.options.wscale = OPEN_S;
    h.options.sack_permitted = options & 8;
    h.ack = f->end.syn_said ? f->end.high_said : seq32_add(ISS, 1);
    f->timestamps = options & 16;
    if (options & 32)
        h.flags |= TCP_ECE | (flags & TCP_ACK ? 0 : TCP_CWR);
    stamp(f, &h);
    return h;
}

/* SYN-SENT or SYN-RECEIVED, and mostly on to ESTABLISHED. */
static void open_some(struct fuzz *f, const struct tcp_path *path)
{
    struct tcp_end *e = &f->end;
    uint8_t how = reader_u8(&f->in);
    uint8_t options = reader_u8(&f->in);
    end_open(e, path);
    if ((how & 3) == 0) {
        struct tcp_hdr syn = peer_syn(f, options, TCP_SYN);
        tcp_accept(conn(f), &syn, ISS, 0, e->now);
    } else if ((how & 3) == 1) {
        struct tcp_hdr syn = peer_syn(f, options, TCP_SYN);
        if (tcp_accept_cookie(conn(f), &syn, ISS, e->now)) {
            e->high_said = seq32_add(ISS, 1);
            e->syn_said = true;
        }
    } else {
        tcp_connect(conn(f), ISS, e->now);
        end_output(e);
        if (how & 4)
            return;
        struct tcp_hdr syn = peer_syn(f, options, how & 1 ? TCP_SYN : TCP_SYN | TCP_ACK);
        hear(f, &syn, 0, 0);
    }
    if (how & 8)
        return;
    end_output(e);
    hear_proper(f, 0, some_window(f), 0);
    end_serve(e, 16);
    end_output(e);
}

/* To a later state, as far as the opening went. */
static void advance(struct fuzz *f)
{
    struct tcp_end *e = &f->end;
    uint8_t how = reader_u8(&f->in);
    if (conn(f)->state != TCP_ESTABLISHED || !(how & 0x80))
        return;
    if (how & 1)
        end_write(e, 1 + reader_u16(&f->in) % 8000, how & 2);
    if (how & 4)
        hear_proper(f, TCP_FIN, UINT16_MAX, how & 8 ? 100 : 0);
    if (how & 16)
        end_finish_writing(e);
    end_output(e);
    if (how & 32)
        hear_proper(f, 0, UINT16_MAX, 0);
    if (how & 64)
        hear_proper(f, 0, 0, 0);
}

/* ---- what else happens ---- */

static void pass(struct fuzz *f)
{
    struct tcp_end *e = &f->end;
    uint8_t how = reader_u8(&f->in);
    tick_t deadline = tcp_deadline(conn(f));
    if (how & 0x80)
        e->now += (tick_t)(how & 0x7f) * (how & 1 ? TICK_MS : TICK_SEC);
    else if (deadline != TICK_NEVER && deadline > e->now)
        e->now = deadline - (how & 1);
    end_expire(e);
}

static void send_some(struct fuzz *f)
{
    uint8_t how = reader_u8(&f->in);
    struct tcp_end *e = &f->end;
    if (how == 0) {
        end_output(e);
        return;
    }
    bool wanted = tcp_wants_output(conn(f), e->now);
    e->woken = false;
    unsigned n = tcp_output(conn(f), 1 + (how & 3), 1 + (how >> 2) * 64u, e->now);
    require(wanted || n == 0);
    require(!wanted || n > 0 || end_short_of_memory(e) || !tcp_wants_output(conn(f), e->now));
}

static void change_path(struct fuzz *f)
{
    static const uint16_t mtu[8] = {1500, 1280, 576, 296, 128, 1400, 9000, 1492};
    uint8_t how = reader_u8(&f->in);
    struct tcp_path path = conn(f)->path;
    path.mtu = mtu[how & 7];
    if (path.mtu > path.iface_mtu)
        path.mtu = path.iface_mtu;
    path.tso = (how & 8) && path.multi && path.checksum;
    tcp_path_changed(conn(f), &path, f->end.now);
}

static void starve(struct fuzz *f)
{
    struct tcp_end *e = &f->end;
    uint8_t how = reader_u8(&f->in);
    e->pool.limit = e->heap.limit = SIZE_MAX;
    e->tcp.memory_max = UINT64_C(1) << 30;
    if (how & 1)
        e->pool.limit = e->pool.held + (how >> 4);
    if (how & 2)
        e->heap.limit = e->heap.bytes + (how >> 4) * 64u;
    if (how & 4)
        e->tcp.memory_max = 1;
}

static void consume(struct fuzz *f)
{
    uint32_t n = 1 + reader_u16(&f->in);
    uint32_t most = stream_unconsumed(&conn(f)->stream);
    f->end.tcp.now = f->end.now;
    stream_consume(&conn(f)->stream, n < most ? n : most);
}

static void rare(struct fuzz *f)
{
    uint8_t how = reader_u8(&f->in);
    struct tcp_end *e = &f->end;
    switch (how) {
    case 1: end_abort(e); break;
    case 2: tcp_kill(conn(f), e->now); break;
    case 3: tcp_unreachable(conn(f), true, e->now); break;
    case 4: tcp_unreachable(conn(f), false, e->now); break;
    case 5: end_finish_writing(e); break;
    default: require(!tcp_in_flight(conn(f), seq32_add(e->high_said, how))); break;
    }
}

static void step(struct fuzz *f)
{
    struct tcp_end *e = &f->end;
    uint8_t op = reader_u8(&f->in);
    switch (op % 14) {
    case 0:
    case 1:
    case 2:
    case 3: hear_some(f); break;
    case 4: pass(f); break;
    case 5:
    case 6: send_some(f); break;
    case 7: end_write(e, reader_u16(&f->in) % 5000, op & 0x80); break;
    case 8: end_serve(e, 1 + op / 14); break;
    case 9: consume(f); break;
    case 10: hear_proper(f, op & 0x80 ? TCP_FIN : 0, some_window(f), some_len(f)); break;
    case 11: change_path(f); break;
    case 12: starve(f); break;
    default: rare(f); break;
    }
    require(tcp_conn_ok(conn(f)));
    require(e->tcp.memory == conn(f)->charged);
}

/* ---- all of it ---- */

static void start(struct fuzz *f)
{
    uint8_t how = reader_u8(&f->in);
    struct tcp_settings s = {.congestion = how & 1 ? TCP_NEWRENO : TCP_CUBIC,
                             .ecn = how & 2 ? TCP_ECN_REQUEST : TCP_ECN_ACCEPT,
                             .nagle = how & 4,
                             .receive_buffer = how & 8 ? 3000 : 0,
                             .receive_buffer_max = how & 16 ? 0 : 20000,
                             .promises = 16,
                             .user_timeout = 30 * TICK_SEC,
                             .keepalive = 60 * TICK_SEC,
                             .keepalive_interval = 10 * TICK_SEC,
                             .keepalive_probes = 3};
    require(tcp_settings_fill(&s));
    struct ip_addr local = ip_from_v4(0xc0000201), remote = ip_from_v4(0xc0000202);
    if (how & 32) {
        local = (struct ip_addr){{0x20, 1, 0xd, 0xb8, [15] = 1}};
        remote = (struct ip_addr){{0x20, 1, 0xd, 0xb8, [15] = 2}};
    }
    struct flow_key key = flow_key_of(&local, 80, &remote, 4000, IP_PROTO_TCP);
    end_init(&f->end, &key, &s, 7 * TICK_SEC);
    f->end.user = f;
    f->end.said = on_said;
    f->end.salt_in = 1;
    f->end.salt_out = 2;
    f->end.lazy = true;
    struct tcp_path path = {.mtu = 1500,
                            .iface_mtu = 1500,
                            .checksum = how & 64,
                            .multi = how & 128,
                            .tso = (how & 0xc0) == 0xc0};
    open_some(f, &path);
}

/* The peer says nothing any more: sooner or later it is over. */
static void be_left_alone(struct fuzz *f)
{
    struct tcp_end *e = &f->end;
    e->pool.limit = e->heap.limit = SIZE_MAX;
    e->tcp.memory_max = UINT64_C(1) << 30;
    tick_t end = e->now + 3600 * TICK_SEC;
    for (unsigned n = 0;; n++) {
        require(n < 10000 && e->now < end);
        end_expire(e);
        end_serve(e, 1000);
        end_output(e);
        end_serve(e, 1000);
        if (tcp_is_over(conn(f)))
            return;
        tick_t deadline = tcp_deadline(conn(f));
        require(deadline != TICK_NEVER && deadline > e->now);
        e->now = deadline;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz *f = &fuzz;
    memset(f->come, 0, f->come_max);
    f->come_to = f->come_max = 0;
    f->fin_at = UINT32_MAX;
    f->ts_heard = 0;
    f->in = reader_of(data, size);
    start(f);
    advance(f);
    for (unsigned n = 0; n < OPS && reader_left(&f->in) > 0 && !tcp_is_over(conn(f)); n++)
        step(f);
    be_left_alone(f);
    end_fini(&f->end);
    return 0;
}
