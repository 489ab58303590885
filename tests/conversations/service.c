/* SPDX-License-Identifier: BSD-3-Clause */
#include "service.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tcp/conn.h"

#define GOT_MAX (8u << 20)

uint8_t content_byte(char kind, uint32_t n)
{
    return (uint8_t)(n * 7 + (n >> 8) * 31 + (n >> 16) * 59 + (unsigned char)kind);
}

/* Ours to send: context is the position of the first byte. */
static void flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        dst[i] = content_byte('O', v->arg + offset + i);
}

static const struct vec_ops ours = {.flatten = flatten};

void service_write(struct flow *f, uint32_t n)
{
    if (!f->stream)
        fail("there is no connection to write to");
    struct vec v = {.ops = &ours, .len = n, .arg = (uint32_t)f->written + 1};
    f->written += n;
    if (!stream_write(f->stream, v))
        fail("the stream takes no more");
}

void service_read(struct flow *f, uint32_t n)
{
    if (!f->stream)
        fail("there is no connection to read from");
    if (n > f->unread)
        fail("%u bytes are there to read, not %u", f->unread, n);
    f->unread -= n;
    stream_consume(f->stream, n);
}

/* Connections that the peer opened are known by its port. */
static struct flow *flow_behind(struct stream *s)
{
    const struct tcp_conn *c = container_of(s, struct tcp_conn, stream);
    return flow_of(flow_by_port(c->key->remote_port));
}

static void tell(struct flow *f, enum verb what)
{
    if (f->told & 1u << what && what != TOLD_WRITABLE)
        fail("the service was told twice of one thing");
    f->told |= 1u << what;
}

static void opened(struct stream *s)
{
    struct flow *f = flow_behind(s);
    if (f->stream && f->stream != s)
        fail("opened, while there is a connection already");
    f->stream = s;
    note("%38s opened", "");
    tell(f, TOLD_OPENED);
}

static void keep(struct flow *f, const struct pkt *view)
{
    if (!f->got)
        f->got = malloc(GOT_MAX);
    if (!f->got || view->len > GOT_MAX - f->n_got)
        fail("more bytes than a conversation has");
    memcpy(f->got + f->n_got, view->data, view->len);
    f->n_got += view->len;
    f->unread += view->len;
}

static void data(struct stream *s, struct pkt *view, bool end)
{
    struct flow *f = flow_behind(s);
    if (f->stream != s)
        fail("data of a connection that is over");
    if (view) {
        if (view->next)
            fail("more than one view at once");
        note("%38s data %zu:%zu", "", f->n_got + 1, f->n_got + view->len + 1);
        keep(f, view);
        pkt_free(view);
    }
    if (end) {
        note("%38s end", "");
        tell(f, TOLD_END);
    }
    if (!world_settings()->manual && f->unread > 0)
        service_read(f, f->unread);
}

static void writable(struct stream *s)
{
    tell(flow_behind(s), TOLD_WRITABLE);
}

static void over(struct stream *s, enum verb what)
{
    struct flow *f = flow_behind(s);
    if (f->stream != s)
        fail("the service was told of the end twice");
    f->stream = NULL;
    tell(f, what);
}

static void ended(struct stream *s)
{
    note("%38s ended", "");
    over(s, TOLD_ENDED);
}

static void reset(struct stream *s, enum stream_code code)
{
    flow_behind(s)->code = code;
    note("%38s reset %s", "", stream_code_name(code));
    over(s, TOLD_RESET);
}

const struct stream_service conversation_service = {.name = "conversation",
                                                    .opened = opened,
                                                    .data = data,
                                                    .writable = writable,
                                                    .ended = ended,
                                                    .reset = reset};
