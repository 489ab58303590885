/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

#include <stdio.h>
#include <string.h>

struct service service;
static struct stack_listener listeners[STACK_LISTENERS_MAX];

static struct peer peer_of(const struct ip_addr *addr, const struct ip_addr *us, uint16_t port,
                           uint16_t us_port)
{
    return (struct peer){.addr = *addr,
                         .us = *us,
                         .port = port,
                         .us_port = us_port,
                         .seq = seq32(PEER_ISS),
                         .window = 60000,
                         .options = {.has_mss = true, .mss = 1400}};
}

struct peer peer4(uint16_t port, uint16_t us_port)
{
    return peer_of(&PEER4, &US4, port, us_port);
}

struct peer peer6(uint16_t port, uint16_t us_port)
{
    return peer_of(&PEER6, &US6, port, us_port);
}

void peer_sends(const struct peer *p, const struct tcp_hdr *h, uint32_t n)
{
    frame_payload(&host.frame, n);
    frame_push_tcp(&host.frame, h, &p->addr, &p->us);
    if (ip_is_v4(&p->addr))
        hear_ip4(&p->addr, &p->us, IP_PROTO_TCP);
    else
        hear_ip6(&p->addr, &p->us, IP_PROTO_TCP);
    turn();
}

struct tcp_hdr peer_header(const struct peer *p, uint16_t flags)
{
    struct tcp_hdr h = {.src_port = p->port,
                        .dst_port = p->us_port,
                        .seq = p->seq,
                        .ack = flags & TCP_ACK ? p->ack : seq32(0),
                        .flags = flags,
                        .window = p->window};
    if (flags & TCP_SYN)
        h.options = p->options;
    h.options.has_timestamps = p->options.has_timestamps;
    h.options.ts_value = p->options.ts_value;
    h.options.ts_echo = p->options.ts_echo;
    return h;
}

void peer_says(struct peer *p, uint16_t flags, uint32_t n)
{
    struct tcp_hdr h = peer_header(p, flags);
    p->seq = seq32_add(p->seq, tcp_seq_len(&h, n));
    peer_sends(p, &h, n);
}

const struct tcp_hdr *peer_hears(struct peer *p, uint16_t flags, uint32_t *n)
{
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->kind, FRAME_TCP);
    const struct tcp_hdr *h = &s->tcp;
    uint32_t data = s->upper_len - h->len;
    ck_assert_ip(s->src, p->us);
    ck_assert_ip(s->dst, p->addr);
    ck_assert_uint_eq(h->src_port, p->us_port);
    ck_assert_uint_eq(h->dst_port, p->port);
    ck_assert_msg(h->flags == flags, "flags are %x, not %x", h->flags, flags);
    if ((flags & TCP_SYN) && !(flags & TCP_RST))
        p->ack = h->seq;
    if (!(flags & TCP_RST))
        ck_assert_uint_eq(h->seq.v, p->ack.v);
    if (flags & TCP_ACK && !(flags & TCP_RST))
        ck_assert_uint_eq(h->ack.v, p->seq.v);
    p->ack = seq32_add(h->seq, tcp_seq_len(h, data));
    if (h->options.has_timestamps)
        p->options.ts_echo = h->options.ts_value;
    if (n)
        *n = data;
    return h;
}

void peer_open(struct peer *p)
{
    unsigned opened = service.opened;
    peer_says(p, TCP_SYN, 0);
    peer_hears(p, TCP_SYN | TCP_ACK, NULL);
    peer_says(p, TCP_ACK, 0);
    ck_assert_uint_eq(service.opened, opened + 1);
}

void peer_asked(struct peer *p)
{
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->kind, FRAME_TCP);
    ck_assert_ip(s->dst, p->addr);
    ck_assert_uint_eq(s->tcp.dst_port, p->port);
    ck_assert_uint_eq(s->tcp.flags, TCP_SYN);
    p->us = s->src;
    p->us_port = s->tcp.src_port;
    p->ack = seq32_add(s->tcp.seq, 1);
}

void peer_accepts(struct peer *p)
{
    peer_says(p, TCP_SYN | TCP_ACK, 0);
    peer_hears(p, TCP_ACK, NULL);
}

struct stream *connect_to(const struct peer *p, enum stack_error *error)
{
    struct stack_connect to = {.remote = p->addr, .port = p->port, .service = &noting};
    struct stream *s = stack_connect(host.stack, &to, host.now, error);
    turn();
    return s;
}

void peer_parts(struct peer *p)
{
    stream_end(service.stream);
    peer_hears(p, TCP_ACK | TCP_FIN, NULL);
    peer_says(p, TCP_ACK | TCP_FIN, 0);
    peer_hears(p, TCP_ACK, NULL);
}

/* The service */

static void on_opened(struct stream *s)
{
    service.opened++;
    service.stream = s;
}

static void on_data(struct stream *s, struct pkt *view, bool end)
{
    uint32_t n = view ? view->len : 0;
    service.bytes += n;
    service.end |= end;
    if (service.echo && view)
        stream_write_pkt(s, view);
    else
        pkt_free(view);
    if (!service.hold)
        stream_consume(s, n);
}

static void on_writable(struct stream *s)
{
    (void)s;
    service.writable++;
}

static void on_ended(struct stream *s)
{
    (void)s;
    service.ended++;
}

static void on_reset(struct stream *s, enum stream_code code)
{
    service.reset++;
    service.code = code;
    service.stream = s;
}

const struct stream_service noting = {.name = "noting",
                                      .opened = on_opened,
                                      .data = on_data,
                                      .writable = on_writable,
                                      .ended = on_ended,
                                      .reset = on_reset};

struct stack_listener *listen_on(const char *name, uint16_t port)
{
    host.config.listener = listeners;
    struct stack_listener *l = &listeners[host.config.n_listeners++];
    *l = (struct stack_listener){.port = port, .service = &noting};
    snprintf(l->name, sizeof(l->name), "%s", name);
    return l;
}

/* The control core's view */

bool connection(const struct peer *p, struct ctl_connection *row)
{
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = row, .max = 1};
    do {
        stack_control(host.stack, &r, host.now);
        if (r.n == 1 && ip_eq(&row->remote, &p->addr) && ip_eq(&row->local, &p->us) &&
            row->remote_port == p->port && row->local_port == p->us_port)
            return true;
    } while (r.more);
    return false;
}

struct ctl_listener listener_row(const char *name)
{
    struct ctl_listener rows[STACK_LISTENERS_MAX];
    struct ctl_request r = {
        .kind = CTL_LISTENERS, .rows.listener = rows, .max = STACK_LISTENERS_MAX};
    stack_control(host.stack, &r, host.now);
    ck_assert(!r.more);
    for (uint32_t i = 0; i < r.n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i];
    ck_abort_msg("no such listener: %s", name);
}

unsigned connections(void)
{
    static struct ctl_connection rows[64];
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 64};
    unsigned n = 0;
    do {
        stack_control(host.stack, &r, host.now);
        n += r.n;
    } while (r.more);
    return n;
}
