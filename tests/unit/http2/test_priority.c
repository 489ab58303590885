/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/priority.h"

#include "nghttp2_peer.h"
#include "wire.h"

static struct h2_conn *const server = &pair.server.conn;

/* By policy, from a client with so much to say of NO_RFC7540_PRIORITIES (2: nothing). */
static void greet(enum sched_policy policy, uint32_t no_priorities)
{
    h2_pair_connect();
    h2_schedule(server, policy);
    h2_pair_inject(&pair.server, H2_PREFACE, H2_PREFACE_SIZE);
    if (no_priorities < 2)
        wire_setting(H2_SETTINGS_NO_RFC7540_PRIORITIES, no_priorities);
    else
        wire_zeroes(H2_SETTINGS, 0, 0, 0);
    wire_zeroes(H2_SETTINGS, H2_FLAG_ACK, 0, 0);
    wire_word(H2_WINDOW_UPDATE, 0, 1u << 24);
    wire_take(true);
}

static uint32_t add_field(uint8_t *to, const char *value)
{
    static const char name[] = "priority";
    uint32_t n = (uint32_t)strlen(value);
    to[0] = 0; /* literal, a new name */
    to[1] = sizeof(name) - 1;
    memcpy(to + 2, name, to[1]);
    to[2 + to[1]] = (uint8_t)n;
    memcpy(to + 3 + to[1], value, n);
    return 3 + to[1] + n;
}

/* Three frames of content, by those fields. */
static void ask_with(uint32_t id, const char *one, const char *two)
{
    uint8_t block[128];
    uint32_t n = wire_block(block, false, "/49152");
    if (one)
        n += add_field(block + n, one);
    if (two)
        n += add_field(block + n, two);
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM, id, block, n);
}

static void ask(uint32_t id, const char *field)
{
    ask_with(id, field, NULL);
}

static void put_dependency(uint8_t *to, uint32_t on, uint32_t weight, bool exclusive)
{
    on |= exclusive ? 1u << 31 : 0;
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(on >> (24 - 8 * i));
    to[4] = (uint8_t)(weight - 1);
}

/* The same, by the priority part of HEADERS. */
static void ask_below(uint32_t id, uint32_t on, uint32_t weight, bool exclusive)
{
    uint8_t payload[128];
    put_dependency(payload, on, weight, exclusive);
    uint32_t n = 5 + wire_block(payload + 5, false, "/49152");
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM | H2_FLAG_PRIORITY, id, payload,
               n);
}

static void depend(uint32_t id, uint32_t on, uint32_t weight, bool exclusive)
{
    uint8_t payload[5];
    put_dependency(payload, on, weight, exclusive);
    wire_frame(H2_PRIORITY, 0, id, payload, sizeof(payload));
}

static void update(uint32_t id, const char *value)
{
    uint8_t payload[64] = {0, 0, (uint8_t)(id >> 8), (uint8_t)id};
    uint32_t n = (uint32_t)strlen(value);
    memcpy(payload + 4, value, n);
    wire_frame(H2_PRIORITY_UPDATE, 0, 0, payload, 4 + n);
}

/* Whose DATA frames come: stream 1 is a, 3 is b. */
static const char *order(void)
{
    static char names[256];
    uint32_t used = 0;
    h2_pair_serve();
    wire_n = h2_output(server, wire_out, sizeof(wire_out), pair.now); /* no frame is cut */
    for (uint32_t at = 0; at < wire_n;) {
        struct h2_frame f = h2_frame_parse(wire_out + at);
        if (f.type == H2_DATA && f.length > 0)
            names[used++] = (char)('a' + f.stream / 2);
        at += H2_FRAME_HEADER + f.length;
    }
    names[used] = 0;
    return names;
}

static const struct h2_stream *stream(const struct h2_conn *c, uint32_t id)
{
    const struct h2_stream *s = h2_streams_find(&c->streams, id);
    ck_assert_ptr_nonnull(s);
    return s;
}

static uint64_t lost(void)
{
    return counter_get(&pair.server.counters, COUNTER_H2_PRIORITIES_LOST);
}

/* ---- RFC 9218 ---- */

START_TEST(the_most_urgent_goes_first)
{
    greet(SCHED_URGENCY, 2);
    ask(1, NULL);
    ask(3, "u=5");
    ask(5, "u=0");
    ask(7, "u=4");
    ck_assert_str_eq(order(), "cccaaadddbbb");
}
END_TEST

START_TEST(incremental_ones_go_in_turn_and_others_one_after_the_other)
{
    greet(SCHED_URGENCY, 1);
    ask(1, "i");
    ask(3, "i");
    ck_assert_str_eq(order(), "ababab");
    ask(5, NULL);
    ask(7, NULL);
    ck_assert_str_eq(order(), "cccddd");
}
END_TEST

START_TEST(several_fields_are_one)
{
    greet(SCHED_URGENCY, 2);
    ask_with(1, "u=6", "i");
    ask_with(3, "u=6", "u=1"); /* the last one counts */
    ask_with(5, "u=0", "?!");  /* not to be parsed, so there is none */
    ck_assert_uint_eq(stream(server, 1)->place.node.p.urgency, 6);
    ck_assert(stream(server, 1)->place.node.p.incremental);
    ck_assert_uint_eq(stream(server, 5)->place.node.p.urgency, SCHED_URGENCY_DEFAULT);
    ck_assert_str_eq(order(), "bbbcccaaa");
}
END_TEST

START_TEST(an_update_takes_effect_at_once)
{
    greet(SCHED_URGENCY, 2);
    ask(1, "u=1");
    ask(3, "u=2");
    update(3, "u=0");
    update(1, "i"); /* what it does not say is the default */
    ck_assert_uint_eq(stream(server, 1)->place.node.p.urgency, SCHED_URGENCY_DEFAULT);
    ck_assert(stream(server, 1)->place.node.p.incremental);
    ck_assert_str_eq(order(), "bbbaaa");
}
END_TEST

START_TEST(an_update_before_its_stream_goes_before_the_field)
{
    greet(SCHED_URGENCY, 2);
    update(3, "u=6");
    update(3, "u=0, i"); /* the latest */
    update(1, "u=7");
    ck_assert_uint_eq(server->priorities.n_early, 2);
    ck_assert_uint_gt(h2_priorities_cost(server), 0);
    ask(1, "u=1");
    ask(3, "u=5");
    ck_assert_uint_eq(server->priorities.n_early, 0);
    ck_assert(stream(server, 3)->place.node.p.incremental);
    ck_assert_str_eq(order(), "bbbaaa");
}
END_TEST

START_TEST(an_update_of_a_closed_stream_is_ignored)
{
    greet(SCHED_URGENCY, 2);
    ask(3, NULL); /* and 1 is passed over */
    ck_assert_str_eq(order(), "bbb");
    update(1, "u=0");
    update(3, "u=0");
    ck_assert_uint_eq(server->priorities.n_early, 0);
    ck_assert_uint_eq(h2_priorities_cost(server), 0);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
}
END_TEST

/* RFC 9218 7.1 */
START_TEST(updates_of_more_streams_than_may_be_open_end_the_connection)
{
    pair.settings[1].max_streams = 4;
    greet(SCHED_URGENCY, 2);
    ask(1, NULL);
    update(3, "u=0");
    update(5, "u=0");
    update(7, "u=0");
    update(7, "u=1"); /* no stream more */
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    ask(5, NULL); /* 3 is closed by it, so this leaves room for one */
    update(9, "u=1");
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    update(11, "u=1");
    wire_expect_end(H2_PROTOCOL_ERROR);
}
END_TEST

/* RFC 9218 7.1 */
START_TEST(a_server_that_sends_updates_ends_the_connection)
{
    static const struct h2_frame f = {.type = H2_PRIORITY_UPDATE, .length = 4};
    uint8_t frame[H2_FRAME_HEADER + 4] = {[H2_FRAME_HEADER + 3] = 2};
    h2_frame_write(frame, &f);
    h2_pair_connect();
    h2_pair_run();
    ck_assert(!h2_has(&pair.client.conn, H2_CONN_FAILED));
    h2_pair_inject(&pair.client, frame, sizeof(frame));
    ck_assert(h2_has(&pair.client.conn, H2_CONN_FAILED));
    ck_assert_int_eq((int)pair.client.conn.error, H2_PROTOCOL_ERROR);
}
END_TEST

START_TEST(the_oldest_update_goes_where_there_are_too_many)
{
    pair.settings[1].max_streams = 2 * H2_EARLY_MOST;
    pair.settings[1].glitches = 1u << 20;
    greet(SCHED_URGENCY, 2);
    for (uint32_t i = 0; i < H2_EARLY_MOST; i++)
        update(1 + 2 * i, "u=0");
    ck_assert_uint_eq(lost(), 0);
    update(1 + 2 * H2_EARLY_MOST, "u=0");
    ck_assert_uint_eq(lost(), 1);
    ck_assert_uint_eq(server->priorities.n_early, H2_EARLY_MOST);
    ask(1, NULL);
    ask(3, NULL);
    ck_assert_uint_eq(stream(server, 1)->place.node.p.urgency, SCHED_URGENCY_DEFAULT);
    ck_assert_uint_eq(stream(server, 3)->place.node.p.urgency, 0);
}
END_TEST

/* RFC 9218 11 */
START_TEST(a_tunnel_is_incremental_whatever_is_said)
{
    static const uint8_t head[] = "\x02\x07"
                                  "CONNECT"
                                  "\x01\x08"
                                  "tunnel:1";
    uint8_t block[64];
    greet(SCHED_URGENCY, 2);
    memcpy(block, head, sizeof(head) - 1);
    uint32_t n = sizeof(head) - 1;
    n += add_field(block + n, "u=1, i=?0");
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS, 1, block, n);
    const struct sched_priority *p = &stream(server, 1)->place.node.p;
    ck_assert_uint_eq(p->urgency, 1);
    ck_assert(p->incremental);
    update(1, "u=2, i=?0");
    ck_assert_uint_eq(p->urgency, 2);
    ck_assert(p->incremental);
}
END_TEST

/* ---- which signal ---- */

static bool announces_none(void)
{
    struct h2_frame f;
    h2_pair_connect();
    wire_take(false);
    const uint8_t *at = wire_find(H2_SETTINGS, 0, &f);
    ck_assert_ptr_nonnull(at);
    for (uint32_t i = 0; i < f.length; i += H2_SETTINGS_ENTRY) {
        if (h2_setting_id(at + i) == H2_SETTINGS_NO_RFC7540_PRIORITIES)
            return h2_setting_value(at + i) == 1;
    }
    return false;
}

/* RFC 9218 2.1 */
START_TEST(only_the_tree_announces_that_it_follows_the_old_signals)
{
    ck_assert(announces_none());
    struct h2_frame f = {0};
    h2_pair_teardown();
    h2_pair_setup();
    h2_pair_connect();
    h2_schedule(server, SCHED_TREE);
    wire_take(false);
    const uint8_t *at = wire_find(H2_SETTINGS, 0, &f);
    for (uint32_t i = 0; i < f.length; i += H2_SETTINGS_ENTRY)
        ck_assert_uint_ne(h2_setting_id(at + i), H2_SETTINGS_NO_RFC7540_PRIORITIES);
    ck_assert_uint_eq(wire_n, H2_FRAME_HEADER + f.length + H2_WINDOW_UPDATE_SIZE);
}
END_TEST

START_TEST(a_client_without_the_old_signals_has_urgency)
{
    greet(SCHED_TREE, 1);
    ck_assert_uint_eq(server->sched.policy, SCHED_URGENCY);
    depend(1, 0, 1, false); /* it said that it would not */
    ck_assert_uint_eq(server->priorities.n_kept, 0);
    ask(1, "u=5");
    ask(3, "u=0");
    ck_assert_str_eq(order(), "bbbaaa");
    for (uint32_t said = 0; said < 3; said += 2) {
        h2_pair_teardown();
        h2_pair_setup();
        greet(SCHED_TREE, said);
        ck_assert_uint_eq(server->sched.policy, SCHED_TREE);
    }
}
END_TEST

START_TEST(other_policies_follow_nothing)
{
    pair.settings[1].max_streams = 4;
    greet(SCHED_DEFICIT, 2);
    depend(3, 1, 16, false);
    for (uint32_t i = 0; i < 8; i++)
        update(1 + 2 * i, "u=0");
    ask(1, "u=7");
    ask_below(3, 1, 1, true);
    ck_assert_uint_eq(h2_priorities_cost(server), 0);
    ck_assert_str_eq(order(), "ababab");
}
END_TEST

/* ---- RFC 7540 5.3 ---- */

START_TEST(streams_share_by_weight)
{
    greet(SCHED_TREE, 2);
    ask_below(1, 0, 1, false);
    ask_below(3, 0, 2, false);
    ask(5, "u=0"); /* 16, and what the field says is nothing here */
    ck_assert_str_eq(order(), "abcccbaba");
}
END_TEST

START_TEST(a_dependent_stream_waits)
{
    greet(SCHED_TREE, 2);
    ask(1, NULL);
    ask_below(3, 1, 256, false);
    ask_below(5, 1, 256, true); /* between them */
    ck_assert_str_eq(order(), "aaacccbbb");
}
END_TEST

START_TEST(a_priority_frame_moves_a_stream)
{
    greet(SCHED_TREE, 2);
    ask(1, NULL);
    ask(3, NULL);
    depend(1, 3, 16, false);
    ck_assert_str_eq(order(), "bbbaaa");
    ask(5, NULL);
    ask_below(7, 5, 16, false);
    depend(5, 7, 16, false); /* on its own descendant */
    ck_assert_str_eq(order(), "dddccc");
}
END_TEST

START_TEST(what_was_said_of_an_idle_stream_holds_when_it_opens)
{
    greet(SCHED_TREE, 2);
    depend(3, 0, 99, false);
    depend(5, 3, 16, false); /* an idle one below an idle one */
    ck_assert_uint_eq(server->priorities.n_kept, 2);
    ck_assert_uint_gt(h2_priorities_cost(server), 0);
    ask(1, NULL);
    ask(3, NULL);
    ask(5, NULL);
    ck_assert_uint_eq(stream(server, 3)->place.node.p.weight, 99);
    ck_assert_ptr_eq(stream(server, 5)->place.parent, &stream(server, 3)->place);
    ck_assert_uint_eq(server->priorities.n_kept, 0);
}
END_TEST

START_TEST(what_depends_on_a_closed_stream_keeps_its_place)
{
    greet(SCHED_TREE, 2);
    ask_below(1, 0, 32, false);
    ck_assert_str_eq(order(), "aaa");
    ask_below(3, 1, 1, false); /* all of a's 32 */
    ask_below(5, 0, 32, false);
    ck_assert_str_eq(order(), "cbcbcb"); /* b owes the last of a */
    pair.now += 2 * TICK_SEC;
    h2_expire(server, pair.now); /* idle: closed ones are forgotten */
    ck_assert_uint_eq(server->priorities.n_kept, 0);
}
END_TEST

/* RFC 7540 5.3.1 */
START_TEST(who_depends_on_what_is_not_there_has_the_default)
{
    greet(SCHED_TREE, 2);
    ask_below(1, 99, 200, true);
    ck_assert_ptr_eq(stream(server, 1)->place.parent, &server->priorities.root);
    ck_assert_uint_eq(stream(server, 1)->place.node.p.weight, SCHED_WEIGHT_DEFAULT);
}
END_TEST

START_TEST(placeholders_are_bounded)
{
    pair.settings[1].max_streams = 4;
    pair.settings[1].glitches = 1u << 20;
    greet(SCHED_TREE, 2);
    for (uint32_t i = 0; i < 10000; i++)
        depend(101 + 2 * i, i % 3 ? 99 + 2 * i : 0, 1 + i % 256, i % 2);
    ck_assert_uint_eq(server->priorities.n_kept, 4 + H2_KEPT_MORE);
    ck_assert_uint_ge(lost(), 10000 - 4 - H2_KEPT_MORE);
    for (uint32_t id = 1; id < 99; id += 2) { /* nor does what is closed add up */
        ask(id, NULL);
        order();
    }
    ck_assert_uint_eq(server->priorities.n_kept, 4 + H2_KEPT_MORE);
    ck_assert(sched_tree_ok(&server->priorities.root));
    ck_assert(!h2_has(server, H2_CONN_FAILED));
}
END_TEST

START_TEST(a_chain_beyond_the_depth_is_counted)
{
    greet(SCHED_TREE, 2);
    for (uint32_t i = 0; i <= SCHED_TREE_DEPTH; i++)
        ask_below(1 + 2 * i, i > 0 ? 2 * i - 1 : 0, 16, false);
    ck_assert_uint_eq(lost(), 1);
}
END_TEST

/* ---- nghttp2 as the client ---- */

static void peers(enum sched_policy policy)
{
    peer_setup();
    peer_connect(false, NULL, 0);
    h2_schedule(&peer.conn, policy);
    peer_run();
}

START_TEST(nghttp2_says_weights)
{
    nghttp2_priority_spec spec;
    peers(SCHED_TREE);
    struct peer_talk *one = peer_their_request("GET", true, 0);
    struct peer_talk *two = peer_their_request("GET", true, 0);
    peer_run();
    nghttp2_priority_spec_init(&spec, one->id, 77, 1);
    ck_assert_int_eq(nghttp2_submit_priority(peer.session, 0, two->id, &spec), 0);
    peer_run();
    const struct h2_stream *s = stream(&peer.conn, (uint32_t)two->id);
    ck_assert_ptr_eq(s->place.parent, &stream(&peer.conn, (uint32_t)one->id)->place);
    ck_assert_uint_eq(s->place.node.p.weight, 77);
    peer_teardown();
}
END_TEST

START_TEST(nghttp2_says_urgency)
{
    static const uint8_t value[] = {'u', '=', '1', ',', ' ', 'i'};
    peers(SCHED_URGENCY);
    struct peer_talk *t = peer_their_request("GET", true, 0);
    ck_assert_int_eq(nghttp2_submit_priority_update(peer.session, 0, t->id, value, sizeof(value)),
                     0);
    peer_run();
    const struct sched_priority *p = &stream(&peer.conn, (uint32_t)t->id)->place.node.p;
    ck_assert_uint_eq(p->urgency, 1);
    ck_assert(p->incremental);
    peer_teardown();
}
END_TEST

/* Anything at random: nothing is lost, and nothing is leaked. */
START_TEST(urgency_serves_all)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        peer_setup();
        peer_lenient();
        peer_connect(false, NULL, 0);
        h2_schedule(&peer.conn, SCHED_URGENCY);
        peer_run();
        peer_random(seed, 600);
        peer_teardown();
    }
}
END_TEST

/* A stream that is open, was, or may be. */
static uint32_t some_id(struct rng *rng, uint32_t next)
{
    uint32_t id = next + 8 - 2 * (uint32_t)rng_below(rng, 16);
    return id > next + 8 ? 1 : id | 1;
}

/* As many resets as streams that end, and priorities for all. */
static uint32_t random_step(struct rng *rng, uint32_t next)
{
    uint32_t id = some_id(rng, next), on = some_id(rng, next);
    uint32_t weight = 1 + (uint32_t)rng_below(rng, 256);
    bool exclusive = rng_below(rng, 3) == 0;
    switch (rng_below(rng, 5)) {
    case 0: ask_below(next, on == next ? 0 : on, weight, exclusive); return next + 2;
    case 1: ask(next, NULL); return next + 2;
    case 2:
        if (id < next)
            wire_word(H2_RST_STREAM, id, H2_CANCEL);
        return next;
    default:
        if (on != id)
            depend(id, rng_below(rng, 8) ? on : 0, weight, exclusive);
        return next;
    }
}

START_TEST(a_tree_at_random_serves_all)
{
    struct h2_settings *set = &pair.settings[1];
    set->glitches = set->rst_burst = 1u << 20;
    set->max_streams = 40;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        greet(SCHED_TREE, 2);
        uint32_t next = 1;
        for (unsigned i = 0; i < 400; i++) {
            next = random_step(&rng, next);
            if (rng_below(&rng, 4) == 0) {
                h2_pair_serve();
                h2_output(server, wire_out, 20000, pair.now);
            }
            ck_assert(sched_tree_ok(&server->priorities.root));
        }
        do
            h2_pair_serve();
        while (h2_output(server, wire_out, sizeof(wire_out), pair.now) > 0);
        ck_assert(!h2_has(server, H2_CONN_FAILED));
        ck_assert_uint_eq(server->streams.n, 0);
        ck_assert_uint_le(server->priorities.n_kept, 40 + H2_KEPT_MORE);
        struct h2_settings same = *set;
        h2_pair_teardown();
        h2_pair_setup();
        *set = same;
    }
}
END_TEST

static void setup(void)
{
    h2_pair_setup();
}

static void teardown(void)
{
    if (pair.server.conn.h2)
        h2_pair_teardown();
}

UNIT_MAIN("priority", setup, teardown, the_most_urgent_goes_first,
          incremental_ones_go_in_turn_and_others_one_after_the_other, several_fields_are_one,
          an_update_takes_effect_at_once, an_update_before_its_stream_goes_before_the_field,
          an_update_of_a_closed_stream_is_ignored,
          updates_of_more_streams_than_may_be_open_end_the_connection,
          a_server_that_sends_updates_ends_the_connection,
          the_oldest_update_goes_where_there_are_too_many, a_tunnel_is_incremental_whatever_is_said,
          only_the_tree_announces_that_it_follows_the_old_signals,
          a_client_without_the_old_signals_has_urgency, other_policies_follow_nothing,
          streams_share_by_weight, a_dependent_stream_waits, a_priority_frame_moves_a_stream,
          what_was_said_of_an_idle_stream_holds_when_it_opens,
          what_depends_on_a_closed_stream_keeps_its_place,
          who_depends_on_what_is_not_there_has_the_default, placeholders_are_bounded,
          a_chain_beyond_the_depth_is_counted, nghttp2_says_weights, nghttp2_says_urgency,
          urgency_serves_all, a_tree_at_random_serves_all)
