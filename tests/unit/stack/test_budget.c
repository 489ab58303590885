/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between connections: who has an endless backlog delays another's small answer by at most one
 * budget. The busy one's peer has just acknowledged all that was under way, so that it could send
 * many budgets at once; then the other one asks.
 */
#include <string.h>

#include "peer.h"
#include "stack/session.h"

#define BUDGET (64u << 10)
#define MSS    1400u /* the segment that fills a budget may go beyond it */
#define ANSWER 100u

#define BUSY_PORT  7
#define QUIET_PORT 9
#define HTTP_PORT  80

static uint8_t content[1u << 20];

/* ---- services ---- */

static void fill(struct stream *s)
{
    while (stream_writable(s))
        ck_assert(stream_write(s, vec_of_const(content, 50000)));
}

static void drop(struct stream *s, struct pkt *view, bool end)
{
    uint32_t n = view ? view->len : 0;
    (void)end;
    pkt_free(view);
    stream_consume(s, n);
}

static void answer(struct stream *s, struct pkt *view, bool end)
{
    drop(s, view, end);
    ck_assert(stream_write(s, vec_of_const(content, ANSWER)));
}

static const struct stream_service endless = {
    .name = "busy", .opened = fill, .data = drop, .writable = fill};
static const struct stream_service answering = {.name = "quiet", .data = answer};

/* "/": without end; else a small one. */
static void on_head(struct http_stream *s, const struct http_head *h, bool end)
{
    struct http_head head = {.status = 200, .content_length = HTTP_LENGTH_NONE};
    (void)end;
    ck_assert(http_respond(s, &head, false));
    if (h->path.n == 1) {
        fill(&s->stream);
        return;
    }
    ck_assert(stream_write(&s->stream, vec_of_const(content, ANSWER)));
    stream_end(&s->stream);
}

static const struct http_service http = {
    .stream = {.name = "http", .http = true, .data = drop, .writable = fill}, .head = on_head};

/* ---- the fixture ---- */

static struct peer other; /* who asks for little */
static struct peer greedy;

/* A window that holds many budgets, and a path that lets them go at once. */
static void setup(void)
{
    host_setup();
    host.config.limits.tx_queue = 4096;
    host.config.tcp.initial_window = 400;
    host.config.tcp.no_pacing = true;
    host.config.tcp.send_buffer = 1u << 20;
    listen_on("busy", BUSY_PORT)->service = &endless;
    listen_on("quiet", QUIET_PORT)->service = &answering;
    struct stack_listener *l = listen_on("http", HTTP_PORT);
    l->carrier = STACK_CARRIER_HTTP2;
    l->service = &http.stream;
    host_boot();
    meet4();
}

static void say(struct peer *p, uint16_t flags, const void *bytes, uint32_t n)
{
    struct tcp_hdr h = peer_header(p, flags);
    p->seq = seq32_add(p->seq, tcp_seq_len(&h, n));
    frame_bytes(&host.frame, bytes, n);
    frame_push_tcp(&host.frame, &h, &p->addr, &p->us);
    hear_ip4(&p->addr, &p->us, IP_PROTO_TCP);
}

/* The next segment that leaves is whose, and of how much content? Takes bursts of `room` packets.
 * NULL: none does. */
static struct peer *next_segment(unsigned room, uint32_t *n)
{
    struct pkt **out = host.out[0].p;
    for (unsigned rounds = 0; host.out[0].first == host.out[0].end; rounds++) {
        ck_assert_uint_lt(rounds, 1000);
        host.out[0].first = 0;
        host.out[0].end = stack_output(host.stack, 0, out, room, host.now);
        if (host.out[0].end == 0 && stack_pending(host.stack, 0) == 0)
            return NULL;
    }
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->kind, FRAME_TCP);
    struct peer *p = s->tcp.dst_port == other.port ? &other : &greedy;
    *n = s->upper_len - s->tcp.len;
    p->ack = seq32_add(s->tcp.seq, tcp_seq_len(&s->tcp, *n));
    return p;
}

/* All that can leave has left. Returns bytes of the greedy one's. */
static uint32_t exhaust(unsigned room)
{
    uint32_t n, all = 0;
    for (struct peer *p; (p = next_segment(room, &n));)
        all += p == &greedy ? n : 0;
    return all;
}

static struct peer open_wide(uint16_t port, uint16_t us_port)
{
    struct peer p = peer4(port, us_port);
    p.options.has_wscale = true;
    p.options.wscale = 10;
    p.options.sack_permitted = true;
    peer_says(&p, TCP_SYN, 0);
    peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
    say(&p, TCP_ACK, NULL, 0);
    return p;
}

/* ---- HTTP/2, by hand ---- */

/* GET, of all there is or of a little. */
static void ask(struct peer *p, uint8_t id, bool all)
{
    static const uint8_t head[] = {0x82, 0x86, 0x01, 1, 'a'}, path[] = {0x04, 2, '/', 'x'};
    uint8_t bytes[64];
    struct h2_frame f = {.length = sizeof(head) + (all ? 1 : sizeof(path)),
                         .type = H2_HEADERS,
                         .flags = H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM,
                         .stream = id};
    uint8_t *at = h2_frame_write(bytes, &f);
    memcpy(at, head, sizeof(head));
    at[sizeof(head)] = 0x84; /* "/" */
    if (!all)
        memcpy(at + sizeof(head), path, sizeof(path));
    say(p, TCP_ACK | TCP_PSH, bytes, H2_FRAME_HEADER + f.length);
}

/* Windows that hold everything. */
static void greet(struct peer *p)
{
    uint8_t bytes[128] = H2_PREFACE, *at = bytes + H2_PREFACE_SIZE;
    struct h2_frame settings = {.length = H2_SETTINGS_ENTRY, .type = H2_SETTINGS};
    struct h2_frame ack = {.type = H2_SETTINGS, .flags = H2_FLAG_ACK};
    at = h2_frame_write(at, &settings);
    at += h2_setting_write(at, H2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_MAX);
    at += h2_window_update_write(at, 0, H2_WINDOW_MAX - H2_WINDOW_FIRST);
    at = h2_frame_write(at, &ack);
    say(p, TCP_ACK | TCP_PSH, bytes, (uint32_t)(at - bytes));
}

static struct session *session_at(const struct peer *p)
{
    uint32_t cursor = 0;
    struct session *x;
    while ((x = slab_next(host.stack->sessions.slab, &cursor))) {
        if (x->conn->flow.key.remote_port == p->port)
            return x;
    }
    ck_abort_msg("it has no session");
}

/* ---- tests ---- */

/* Bytes of the greedy one's that leave before the answer of the other. */
static uint32_t until_answered(unsigned room)
{
    uint32_t n, before = 0, answered = 0;
    while (answered < ANSWER) {
        struct peer *p = next_segment(room, &n);
        ck_assert_msg(p, "there is no answer");
        if (p == &other)
            answered += n;
        else
            before += n;
    }
    return before;
}

static void expect_one_budget(unsigned room, void (*question)(unsigned i))
{
    for (unsigned i = 0; i < 20; i++) {
        exhaust(room);
        say(&other, TCP_ACK, NULL, 0);
        say(&greedy, TCP_ACK, NULL, 0);
        question(i);
        uint32_t before = until_answered(room);
        ck_assert_uint_le(before, BUDGET + MSS);
        ck_assert_uint_gt(before + exhaust(room), 4 * BUDGET); /* it could have sent all that */
        host.now += TICK_MS;
    }
}

static void question_tcp(unsigned i)
{
    (void)i;
    say(&other, TCP_ACK | TCP_PSH, "?", 1);
}

static void question_http(unsigned i)
{
    ask(&other, (uint8_t)(2 * i + 1), false);
}

static const unsigned rooms[] = {1, 32, 512};

#define ROOMS (sizeof(rooms) / sizeof(rooms[0]))

START_TEST(tcp_beside_tcp)
{
    other = open_wide(1024, QUIET_PORT);
    greedy = open_wide(1025, BUSY_PORT);
    for (unsigned i = 0; i < ROOMS; i++)
        expect_one_budget(rooms[i], question_tcp);
}
END_TEST

START_TEST(http_beside_http)
{
    other = open_wide(1024, HTTP_PORT);
    greedy = open_wide(1025, HTTP_PORT);
    greet(&other);
    greet(&greedy);
    ask(&greedy, 1, true);
    expect_one_budget(512, question_http);
}
END_TEST

START_TEST(tcp_beside_http)
{
    other = open_wide(1024, QUIET_PORT);
    greedy = open_wide(1025, HTTP_PORT);
    greet(&greedy);
    ask(&greedy, 1, true);
    for (unsigned i = 0; i < ROOMS; i++)
        expect_one_budget(rooms[i], question_tcp);
}
END_TEST

START_TEST(http_beside_tcp)
{
    other = open_wide(1024, HTTP_PORT);
    greedy = open_wide(1025, BUSY_PORT);
    greet(&other);
    expect_one_budget(512, question_http);
}
END_TEST

/* The first half of a large flight is lost, and all of that may be sent again at once. */
START_TEST(tcp_beside_what_is_sent_again)
{
    other = open_wide(1024, QUIET_PORT);
    greedy = open_wide(1025, BUSY_PORT);
    seq32_t first = greedy.ack;
    uint32_t flight = exhaust(512);
    seq32_t end = greedy.ack;
    host.now += TICK_MS;
    greedy.ack = first;
    struct tcp_hdr h = peer_header(&greedy, TCP_ACK);
    h.options.n_sack = 1;
    h.options.sack[0] = (struct tcp_sack){seq32_add(first, flight / 2), end};
    frame_bytes(&host.frame, NULL, 0);
    frame_push_tcp(&host.frame, &h, &greedy.addr, &greedy.us);
    hear_ip4(&greedy.addr, &greedy.us, IP_PROTO_TCP);
    question_tcp(0);
    ck_assert_uint_le(until_answered(512), BUDGET + MSS);
    ck_assert_uint_gt(exhaust(512), BUDGET);
    ck_assert_uint_gt(added(COUNTER_TCP_RETRANSMIT_BYTES), 2 * BUDGET);
}
END_TEST

/* Nor does it take longer to make: of what waits in streams one budget is given to TCP a turn. */
START_TEST(a_session_makes_one_budget_a_turn)
{
    struct pkt *out[64];
    greedy = open_wide(1025, HTTP_PORT);
    greet(&greedy);
    ask(&greedy, 1, true);
    exhaust(32);
    say(&greedy, TCP_ACK, NULL, 0);
    uint64_t before = session_at(&greedy)->h2.sent, most = 0;
    for (unsigned i = 0; i < 100; i++) {
        unsigned n = stack_output(host.stack, 0, out, 64, host.now);
        for (unsigned k = 0; k < n; k++)
            pkt_free(out[k]);
        uint64_t sent = session_at(&greedy)->h2.sent;
        most = sent - before > most ? sent - before : most;
        before = sent;
    }
    ck_assert_uint_le(most, BUDGET);
    ck_assert_uint_gt(most, BUDGET / 2);
}
END_TEST

UNIT_MAIN("budget", setup, host_teardown, tcp_beside_tcp, http_beside_http, tcp_beside_http,
          http_beside_tcp, tcp_beside_what_is_sent_again, a_session_makes_one_budget_a_turn)
