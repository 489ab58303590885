/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any history of clients, targets, answers and time, against a model. Each byte of the input is
 * what happens next and to whom. Bytes reach the other side in order and none twice, of either
 * direction; none passes before a target is connected, and none of a failed client's behind a hole;
 * an end is passed on behind all that came before it; the reset of a target is heard behind its
 * last byte; each side is told an end once and nothing after it; the log hears of each tunnel once;
 * and when all are over nothing is held.
 */
#include <stdlib.h>

#define GOT_MAX  4096u
#define need(ok) ((ok) ? (void)0 : abort())
#include "unit/service/tunnels.h"

#define STEPS_MAX 600u
#define BEGUN_MAX 12u
#define WINDOW    2000u /* of each party */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the model knows of a party. */
struct known {
    struct party *other; /* NULL: not joined */
    uint32_t sent;
    uint8_t seed; /* of its bytes */
    bool ended;   /* it has sent its end */
    bool failed;  /* it was reset */
};

static struct known known[PARTIES];
static const uint8_t *next;
static const uint8_t *last;
static unsigned begun; /* requests */

static uint8_t take(void)
{
    return next < last ? *next++ : 0;
}

static struct known *known_of(const struct party *p)
{
    return &known[p - tn.party];
}

/* What p sends at that place. */
static uint8_t byte_at(const struct party *p, uint32_t at)
{
    return (uint8_t)((at * 7 / 3) ^ known_of(p)->seed);
}

/* ---- what must be so at any time ---- */

static struct party *joined(const struct party *p)
{
    return known_of(p)->other;
}

static bool is_new(const struct party *p)
{
    return !p->client && !party_over(p) && !joined(p) && (p->http.stream.bits & STREAM_OPENED);
}

/* A target that has opened is joined to the client of its tunnel. */
static void join(void)
{
    struct party *target = NULL;
    struct party *client = NULL;
    for (unsigned i = 0; i < tn.n_parties; i++)
        if (is_new(&tn.party[i])) {
            need(!target);
            target = &tn.party[i];
        }
    need(target);
    for (unsigned i = 0; i < tn.n_parties; i++) {
        struct party *p = &tn.party[i];
        if (!p->client || party_over(p) || p->http.stream.user != target->http.stream.user)
            continue;
        need(!client && !joined(p));
        client = p;
    }
    need(client);
    known_of(client)->other = target;
    known_of(target)->other = client;
}

static void check_bytes(const struct party *p)
{
    const struct party *from = joined(p);
    need(from || p->got + party_queued(p) == 0);
    if (!from)
        return;
    need(p->got + party_queued(p) <= known_of(from)->sent);
    need(from->consumed <= known_of(from)->sent);
    need(!party_told_end(p) || known_of(from)->ended);
    /* The end comes behind all. */
    if (party_told_end(p) && !known_of(p)->failed && !party_over(p))
        need(p->got + party_queued(p) == known_of(from)->sent);
}

static void check_party(const struct party *p)
{
    need(p->aborted <= 1 && p->responses <= 1);
    need(!p->aborted || party_over(p));
    need(party_queued(p) <= HIGH + WINDOW); /* of one that was reset, all passes */
    need(!party_over(p) || p->consumed == known_of(p)->sent);
    if (p->client && p->status != 200) {
        need(party_queued(p) == 0);
        return;
    }
    check_bytes(p);
}

/* RST_STREAM(CONNECT_ERROR) of a client that did not fail: it has all. */
static void check_reset(const struct party *p)
{
    if (!p->client || !p->says_why || p->why != HTTP_ABORT_CONNECT_ERROR)
        return;
    need(joined(p) && known_of(joined(p))->failed);
    need(known_of(p)->failed || p->got == known_of(joined(p))->sent);
}

static void check(void)
{
    uint32_t live = connect_tunnels(tn.connect);
    need(tn.last.n + live == begun);
    for (unsigned i = 0; i < tn.n_parties; i++) {
        check_party(&tn.party[i]);
        check_reset(&tn.party[i]);
    }
    need(live > 0 || connect_deadline(tn.connect) == TICK_NEVER);
}

/* ---- what may happen ---- */

static void begin(void)
{
    static const char *const authority[] = {"11.0.0.9:443", "name.example:443", "127.0.0.1:80",
                                            "[2600::7]:80", "bad"};
    static const char *const login[] = {"Basic QTpi", "Basic QTpj", "none"};
    uint8_t how = take();
    if (begun == BEGUN_MAX || tn.n_parties + 4 >= PARTIES || tn.n_asked + 2 > QUESTIONS)
        return;
    begun++;
    known[tn.n_parties] = (struct known){.seed = (uint8_t)(how * 37), .ended = how & 0x80};
    tn_tell(authority[how % 5], tn_text(login[how / 5 % 3]), how & 0x80);
}

static void answer_name(void)
{
    uint8_t how = take();
    if (tn.n_asked == 0)
        return;
    const struct question *q = &tn.asked[(how & 15) % tn.n_asked];
    struct connect_answer a = {
        .outcome = how & 64 ? CONNECT_OK : (uint8_t)(how >> 4 & 3), .v6 = q->v6, .n = how >> 4 & 3};
    for (uint8_t i = 0; i < a.n; i++)
        a.addr[i] = q->v6 ? tn_v6(i) : tn_v4(i);
    connect_resolved(tn.connect, q->id, &a, tn.env.now);
}

static void answer_password(void)
{
    uint8_t how = take();
    if (tn.n_verify == 0)
        return;
    static const enum connect_outcome o[] = {CONNECT_OK, CONNECT_OK, CONNECT_WRONG, CONNECT_BUSY};
    connect_verified(tn.connect, tn.verify[(how & 15) % tn.n_verify].id, o[how >> 4 & 3],
                     tn.env.now);
}

static bool is_gone(const struct party *p)
{
    return party_over(p) || (p->http.stream.bits & (STREAM_TELL_ENDED | STREAM_TELL_RESET));
}

static bool is_open(const struct party *p)
{
    return p->client || (p->http.stream.bits & (STREAM_TELL_OPENED | STREAM_OPENED));
}

static void send_some(struct party *p, uint8_t how)
{
    struct known *k = known_of(p);
    uint8_t bytes[300];
    uint32_t n = 1 + (uint32_t)how * 299 / 255;
    if (is_gone(p) || !is_open(p) || k->ended || k->sent - p->consumed + n > WINDOW ||
        k->sent + n > GOT_MAX)
        return;
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = byte_at(p, k->sent + i);
    k->sent += n;
    party_puts(p, bytes, n, how & 1 ? 0 : 1 + how % 50);
}

static void end_it(struct party *p)
{
    if (is_gone(p) || !is_open(p) || known_of(p)->ended)
        return;
    known_of(p)->ended = true;
    stream_arrived_end(&p->http.stream);
}

static void fail_it(struct party *p, uint8_t how)
{
    if (is_gone(p))
        return;
    known_of(p)->failed = true;
    stream_failed(&p->http.stream, (enum stream_code)(1 + how % (STREAM_CODE_END - 1)));
}

static void open_it(struct party *p)
{
    if (!p->client && !is_gone(p) && !is_open(p))
        stream_opened(&p->http.stream);
}

static void finish_it(struct party *p)
{
    if (is_gone(p) || !party_told_end(p) || !known_of(p)->ended || party_queued(p) > 0)
        return;
    stream_finished(&p->http.stream);
}

static void read_some(struct party *p, uint8_t how)
{
    uint32_t n = party_queued(p) < how * 8u ? party_queued(p) : how * 8u;
    uint32_t at = p->got;
    if (n == 0 || is_gone(p))
        return;
    vec_queue_flatten(&p->http.stream.out, 0, p->bytes + at, n);
    p->got += n;
    stream_acked(&p->http.stream, n);
    for (; at < p->got; at++)
        need(p->bytes[at] == byte_at(joined(p), at));
}

static void some_party(uint8_t what)
{
    if (tn.n_parties == 0)
        return;
    struct party *p = &tn.party[take() % tn.n_parties];
    uint8_t how = take();
    switch (what) {
    case 0: send_some(p, how); break;
    case 1: read_some(p, how); break;
    case 2: end_it(p); break;
    case 3: fail_it(p, how); break;
    case 4: open_it(p); break;
    case 5: finish_it(p); break;
    default: p->refuses = how & 1; break;
    }
}

static void pass_time(void)
{
    static const tick_t span[] = {1,        TICK_MS,      30 * TICK_MS, 50 * TICK_MS, 250 * TICK_MS,
                                  TICK_SEC, 9 * TICK_SEC, 70 * TICK_SEC};
    uint8_t how = take();
    tn.env.now += span[how & 7];
    if (connect_deadline(tn.connect) <= tn.env.now)
        connect_expire(tn.connect, tn.env.now);
}

static bool kill_it(void *ctx, const struct tunnel_record *r)
{
    need(r->end < TUNNEL_END_END && r->state < TUNNEL_STATE_END);
    *(uint64_t *)ctx = r->id;
    return false;
}

static void kill_one(void)
{
    uint64_t id = 0;
    uint32_t cursor = take() % 8;
    connect_list(tn.connect, &cursor, kill_it, &id, tn.env.now);
    connect_kill(tn.connect, id, tn.env.now);
}

static void turn_a_knob(void)
{
    uint8_t how = take();
    tn.busy = how & 1 && how & 2;
    tn.no_v6 = (how >> 2 & 3) == 3;
    tn.no_dial = how & 16 ? (how & 32 ? STREAM_UNREACHABLE : STREAM_NO_MEMORY) : STREAM_OK;
    tn.own = tn_v6(how >> 6);
    if (how == 255)
        connect_forget(tn.connect);
}

static void step(void)
{
    uint8_t what = take();
    switch (what & 15) {
    case 0: begin(); break;
    case 1: answer_name(); break;
    case 2: answer_password(); break;
    case 3: pass_time(); break;
    case 4: turn_a_knob(); break;
    case 5: kill_one(); break;
    case 6:
    case 7:
    case 8: some_party(0); break;
    default: some_party((uint8_t)((what & 15) - 9)); break;
    }
    /* A turn of the worker, or what may happen before it. */
    if (!(what & 16))
        stream_ready_run(&tn.ready, 1 + (what >> 5 & 3), 1 + (what >> 7) * 3u);
}

/* ---- the whole ---- */

/* Made once each, for their books of accounts are large; what is in those is older than any meter
 * remembers, as time goes on from input to input. */
static const struct proxy *proxy_like(uint8_t how)
{
    static struct heap heap;
    static struct proxy *made[32];
    enum proxy_error error;
    struct proxy_options o = {.name = "mill",
                              .rule = tn_any(),
                              .n_rules = 1,
                              .basic = how & 1,
                              .credentials = &tn,
                              .limits = {.tunnels = how & 2 ? 3 : 0,
                                         .bytes = how & 4 ? 2000 : 0,
                                         .rate = how & 8 ? 4 : 0},
                              .lifetime = how & 16 ? 200 * TICK_SEC : 0};
    if (!heap.mem.alloc)
        heap_init(&heap);
    if (!made[how]) {
        made[how] = proxy_create(&heap.mem, &o, NULL, &error);
        need(made[how]);
        proxy_enforce(made[how]);
    }
    return made[how];
}

static void start(const struct proxy *proxy)
{
    static tick_t age;
    tn_init();
    age += 1000 * TICK_SEC;
    tn.env.now += age;
    tn.peer.context = proxy;
    tn_connect(0);
    need(tn.connect);
    tn.connected = join;
    memset(known, 0, sizeof(known));
    begun = 0;
}

/* All that is left is reset. */
static void wind_down(void)
{
    for (unsigned i = 0; i < tn.n_parties; i++)
        fail_it(&tn.party[i], 0);
    tn_run();
    check();
    need(connect_tunnels(tn.connect) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    next = data;
    last = data + size;
    const struct proxy *proxy = proxy_like(take() & 31);
    start(proxy);
    for (unsigned i = 0; i < STEPS_MAX && next < last; i++) {
        step();
        check();
    }
    wind_down();
    need(proxy_users(proxy) == 0);
    tn_stop();
    return 0;
}
