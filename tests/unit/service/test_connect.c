/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/unit.h"

#define need(ok) ck_assert(ok)
#include "tunnels.h"

#define S TICK_SEC

static struct party *client;
static struct party *target;

static void setup(void)
{
    tn_start(&(struct proxy_options){.idle_timeout = 100 * S,
                                     .half_open_timeout = 20 * S,
                                     .lifetime = 1000 * S,
                                     .basic = false,
                                     .credentials = &tn});
}

static void teardown(void)
{
    tn_stop();
}

static void open_tunnel(void)
{
    client = tn_client("11.0.0.9:443");
    target = tn_newest();
    party_opens(target);
}

/* At exactly that time both are reset, for that reason. */
static void cut_at(tick_t at, enum tunnel_end why)
{
    unsigned before = tn.last.n;
    tn_until(at - 1);
    ck_assert_uint_eq(tn.last.n, before);
    tn_until(at);
    ck_assert_uint_eq(tn.last.n, before + 1);
    ck_assert_uint_eq(tn.last.r.end, why);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    ck_assert(party_over(client) && party_over(target));
    ck_assert(connect_deadline(tn.connect) == TICK_NEVER);
}

START_TEST(ends_and_states_have_names)
{
    ck_assert_str_eq(tunnel_end_name(TUNNEL_DONE), "done");
    ck_assert_str_eq(tunnel_end_name(TUNNEL_CONNECT_TIMEOUT), "connect_timeout");
    ck_assert_str_eq(tunnel_state_name(TUNNEL_STATE_VERIFYING), "verifying");
    ck_assert_str_eq(tunnel_state_name(TUNNEL_STATE_HALF_CLOSED), "half-closed");
}
END_TEST

/* ---- time ---- */

START_TEST(an_idle_tunnel_is_cut)
{
    open_tunnel();
    cut_at(tn.env.now + 100 * S, TUNNEL_IDLE);
    ck_assert_uint_eq(target->aborted, 1);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(client->why, HTTP_ABORT_CANCEL);
}
END_TEST

START_TEST(a_byte_either_way_puts_it_off)
{
    open_tunnel();
    tn_later(99 * S);
    party_sends(client, "x");
    tn_later(99 * S);
    party_sends(target, "x");
    cut_at(tn.env.now + 100 * S, TUNNEL_IDLE);
}
END_TEST

START_TEST(a_half_open_tunnel_is_cut_sooner)
{
    open_tunnel();
    party_ends(client);
    cut_at(tn.env.now + 20 * S, TUNNEL_HALF_OPEN);
    open_tunnel();
    party_ends(target);
    tn_later(19 * S);
    party_sends(client, "x");
    cut_at(tn.env.now + 20 * S, TUNNEL_HALF_OPEN);
}
END_TEST

/* An end is a sign of life, too: whoever hears it may have an answer. */
START_TEST(half_open_time_counts_from_the_end)
{
    open_tunnel();
    tn_later(90 * S);
    party_ends(client);
    cut_at(tn.env.now + 20 * S, TUNNEL_HALF_OPEN);
    open_tunnel();
    tn_later(90 * S);
    party_ends(target);
    cut_at(tn.env.now + 20 * S, TUNNEL_HALF_OPEN);
}
END_TEST

START_TEST(half_open_time_counts_from_a_lost_target)
{
    static uint8_t bytes[3000];
    open_tunnel();
    party_puts(target, bytes, sizeof(bytes), 300);
    tn_run();
    tn_later(90 * S);
    party_fails(target, STREAM_RESET);
    tn_later(19 * S);
    ck_assert_uint_eq(client->aborted, 0);
    party_takes(client, 900); /* it reads, if slowly */
    tn_later(19 * S);
    ck_assert_uint_eq(client->aborted, 0);
    party_takes_all(client);
    ck_assert_uint_eq(client->got, 3000);
    ck_assert_uint_eq(client->why, HTTP_ABORT_CONNECT_ERROR);
}
END_TEST

START_TEST(a_client_that_never_takes_a_lost_targets_bytes_is_cut)
{
    static uint8_t bytes[3000];
    open_tunnel();
    party_puts(target, bytes, sizeof(bytes), 300);
    party_fails(target, STREAM_RESET);
    tick_t at = tn.env.now + 20 * S;
    tn_until(at - 1);
    ck_assert_uint_eq(client->aborted, 0);
    tn_until(at);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(tn.last.r.end, TUNNEL_TARGET_RESET);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
}
END_TEST

START_TEST(a_target_that_lingers_is_cut)
{
    open_tunnel();
    party_sends(client, "nobody takes this");
    party_ends(client);
    party_ends(target);
    tn_later(5 * S);
    party_finishes(client);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 1);
    cut_at(tn.env.now + 15 * S, TUNNEL_HALF_OPEN);
    ck_assert_uint_eq(target->aborted, 1);
}
END_TEST

START_TEST(a_lifetime_ends_what_is_busy)
{
    open_tunnel();
    tick_t began = tn.env.now;
    for (unsigned i = 0; i < 19; i++) {
        tn_later(50 * S);
        party_sends(client, "x");
    }
    cut_at(began + 1000 * S, TUNNEL_LIFETIME);
}
END_TEST

START_TEST(a_lifetime_counts_from_the_request)
{
    client = tn_client("11.0.0.9:443");
    target = tn_newest();
    tick_t began = tn.env.now;
    tn_later(9 * S);
    party_opens(target);
    for (unsigned i = 0; i < 10; i++) {
        tn_later(99 * S);
        party_sends(target, "x");
        party_takes_all(client);
    }
    cut_at(began + 1000 * S, TUNNEL_LIFETIME);
}
END_TEST

/* ---- who looks ---- */

static unsigned seen[TUNNEL_STATE_END];
static unsigned look_at_most;

static bool look(void *ctx, const struct tunnel_record *r)
{
    ck_assert_ptr_eq(ctx, seen);
    if (look_at_most == 0)
        return false;
    look_at_most--;
    seen[r->state]++;
    ck_assert_uint_eq(r->end, TUNNEL_DONE);
    ck_assert_str_eq(r->proxy, "mill");
    return true;
}

/* One tunnel in each state, two of those that are open. */
static void one_in_each(void)
{
    tn_stop();
    tn_start(&(struct proxy_options){.certificate = true, .basic = true, .credentials = &tn});
    tn_ask("11.0.0.9:443", tn_text("Basic QTpi"), false);
    tn.peer.user = "carol";
    tn_client("name.example:443");
    tn_client("11.0.0.9:443");
    open_tunnel();
    open_tunnel();
    party_ends(target);
    open_tunnel();
}

START_TEST(all_are_listed)
{
    one_in_each();
    uint32_t cursor = 0;
    look_at_most = UINT32_MAX;
    connect_list(tn.connect, &cursor, look, seen, tn.env.now);
    ck_assert_uint_eq(cursor, UINT32_MAX);
    for (unsigned i = 0; i < TUNNEL_STATE_END; i++)
        ck_assert_uint_eq(seen[i], i == TUNNEL_STATE_OPEN ? 2 : 1);
}
END_TEST

START_TEST(a_list_can_be_cut_anywhere)
{
    one_in_each();
    uint32_t cursor = 0;
    unsigned calls = 0;
    for (; cursor != UINT32_MAX; calls++) {
        look_at_most = 2;
        connect_list(tn.connect, &cursor, look, seen, tn.env.now);
    }
    ck_assert_uint_ge(calls, 3);
    for (unsigned i = 0; i < TUNNEL_STATE_END; i++)
        ck_assert_uint_eq(seen[i], i == TUNNEL_STATE_OPEN ? 2 : 1);
}
END_TEST

static bool note_id(void *ctx, const struct tunnel_record *r)
{
    *(uint64_t *)ctx = r->id;
    return false;
}

START_TEST(any_can_be_killed)
{
    one_in_each();
    uint64_t id = 0;
    for (uint32_t left = 6; left > 0; left--) {
        uint32_t cursor = 0;
        connect_list(tn.connect, &cursor, note_id, &id, tn.env.now);
        ck_assert_uint_eq(connect_tunnels(tn.connect), left);
        ck_assert(connect_kill(tn.connect, id, tn.env.now));
        ck_assert_uint_eq(tn.last.r.end, TUNNEL_KILLED);
        ck_assert_uint_eq(tn.last.r.id, id);
        ck_assert(!connect_kill(tn.connect, id, tn.env.now));
    }
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    tn_run();
    for (unsigned i = 0; i < tn.n_parties; i++) {
        ck_assert(party_over(&tn.party[i]));
        ck_assert_uint_eq(tn.party[i].aborted, 1);
    }
    ck_assert(connect_deadline(tn.connect) == TICK_NEVER);
    ck_assert_uint_eq(proxy_users(tn.proxy), 0);
}
END_TEST

/* With late bytes, and while it is paused: teardown finds what is left. */
START_TEST(a_worker_may_end_with_tunnels_in_any_state)
{
    static uint8_t bytes[3000];
    one_in_each();
    party_puts(target, bytes, sizeof(bytes), 300);
    party_fails(target, STREAM_RESET);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 6);
    tn.env.worker = PROXY_WORKERS_MAX; /* the stack, whose environment that is, ends before */
}
END_TEST

/* ---- memory ---- */

/* There is none for a search. */
static void *alloc_little(struct mem *mem, size_t size, size_t align)
{
    return size > 500 ? NULL : tn_alloc(mem, size, align);
}

START_TEST(memory_may_be_there_for_a_part)
{
    open_tunnel(); /* there is room for another, then */
    size_t before = tn.heap.bytes;
    tn.mem.alloc = alloc_little;
    client = tn_client("11.0.0.9:443");
    ck_assert_uint_eq(client->status, 503);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 1);
    ck_assert_uint_eq(proxy_users(tn.proxy), 1);
    ck_assert_uint_eq(tn.heap.bytes, before);
}
END_TEST

/* All that can be done in a tunnel's life; whoever is over is left out. */
static void a_life(void)
{
    static uint8_t bytes[2000];
    client = tn_ask("name.example:443", tn_text("Basic QTpi"), false);
    party_puts(client, bytes, 700, 90);
    if (tn.n_verify > 0)
        tn_verified(CONNECT_OK);
    if (tn.n_asked > 0) {
        tn_answers(true, 2);
        tn_answers(false, 2);
    }
    tn_later(TICK_SEC);
    target = tn_newest();
    if (target == client)
        return;
    party_opens(target);
    for (unsigned i = 0; i < 20 && !party_over(client) && !party_over(target); i++) {
        party_puts(client, bytes, 200, 20);
        party_puts(target, bytes, 2000, 100);
        tn_run();
        party_takes_all(client);
        party_takes_all(target);
    }
    if (!party_over(client))
        party_ends(client);
    if (!party_over(target))
        party_fails(target, STREAM_RESET);
    party_takes_all(client);
}

START_TEST(memory_may_fail_anywhere)
{
    static const struct proxy_options o = {.basic = true, .credentials = &tn};
    uint64_t k = 0;
    bool all = false;
    for (; !all && k < 3000; k++) {
        tn_stop();
        tn_init();
        tn_proxy(&o);
        tn.chances = k;
        tn_connect(0);
        if (tn.connect)
            a_life();
        all = tn.chances > 0;
        if (tn.connect)
            ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
        ck_assert_uint_eq(proxy_users(tn.proxy), 0);
    }
    ck_assert(all);
    ck_assert_uint_gt(k, 8);
    ck_assert_uint_eq(tn.last.r.end, TUNNEL_TARGET_RESET);
    ck_assert_uint_eq(tn.last.r.to_target, 700 + 20 * 200);
    ck_assert_uint_eq(client->got, 20 * 2000);
}
END_TEST

/* Neither side reads, both send all they may. */
START_TEST(what_a_tunnel_holds_is_bounded)
{
    static uint8_t bytes[300];
    open_tunnel();
    for (unsigned i = 0; i < 10000; i++) {
        struct party *p = i & 1 ? client : target;
        if (p->http.stream.in) /* its window is used up */
            continue;
        party_puts(p, bytes, 1 + i % 300, 0);
        tn_run();
    }
    ck_assert_uint_le(party_queued(client), HIGH + 300);
    ck_assert_uint_le(party_queued(target), HIGH + 300);
    ck_assert_uint_le(tn.pool.held, 100);
}
END_TEST

UNIT_MAIN("connect", setup, teardown, ends_and_states_have_names, an_idle_tunnel_is_cut,
          a_byte_either_way_puts_it_off, a_half_open_tunnel_is_cut_sooner,
          half_open_time_counts_from_the_end, half_open_time_counts_from_a_lost_target,
          a_client_that_never_takes_a_lost_targets_bytes_is_cut, a_target_that_lingers_is_cut,
          a_lifetime_ends_what_is_busy, a_lifetime_counts_from_the_request, all_are_listed,
          a_list_can_be_cut_anywhere, any_can_be_killed, a_worker_may_end_with_tunnels_in_any_state,
          memory_may_be_there_for_a_part, memory_may_fail_anywhere, what_a_tunnel_holds_is_bounded)
