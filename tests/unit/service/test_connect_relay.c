/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/unit.h"

#define need(ok) ck_assert(ok)
#include "tunnels.h"

#define S TICK_SEC

static struct party *client;
static struct party *target;
static uint8_t noise[8192];

static void setup(void)
{
    tn_start(&(struct proxy_options){.lifetime = 0});
    for (uint32_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)(i * 31 >> 3);
}

static void teardown(void)
{
    tn_stop();
}

static void begin(bool end)
{
    client = tn_ask("11.0.0.9:443", (struct http_text){NULL, 0}, end);
    target = tn_newest();
    ck_assert_ptr_ne(client, target);
}

static void open_tunnel(void)
{
    begin(false);
    party_opens(target);
    ck_assert_uint_eq(client->status, 200);
}

/* It is no more, for this reason. */
static void ended_as(enum tunnel_end why)
{
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    ck_assert_uint_eq(tn.last.n, 1);
    ck_assert_uint_eq(tn.last.r.end, why);
    ck_assert(connect_deadline(tn.connect) == TICK_NEVER);
    ck_assert_uint_eq(proxy_users(tn.proxy), 0);
}

static void got(const struct party *p, const char *text)
{
    ck_assert_uint_eq(p->got, strlen(text));
    ck_assert(memcmp(p->bytes, text, p->got) == 0);
}

START_TEST(says_200_when_the_target_is_connected)
{
    begin(false);
    ck_assert_uint_eq(client->responses, 0);
    ck_assert_uint_eq(tn.opened, 0);
    tn_later(3 * S);
    party_opens(target);
    ck_assert_uint_eq(client->responses, 1);
    ck_assert_uint_eq(client->status, 200);
    ck_assert(!client->head_ends);
    ck_assert_str_eq(client->field, "");
    ck_assert_uint_eq(tn.opened, 1);
    ck_assert_uint_eq(target->port, 443);
}
END_TEST

START_TEST(the_200_has_a_date_where_the_time_is_known)
{
    tn.env.wall = INT64_C(1700000000) * (int64_t)S - 1000 * (int64_t)S;
    open_tunnel();
    ck_assert_str_eq(client->field, "date: Tue, 14 Nov 2023 22:13:20 GMT\n");
}
END_TEST

START_TEST(bytes_pass_both_ways)
{
    open_tunnel();
    party_sends(client, "ping");
    party_sends(target, "pong pong");
    ck_assert_uint_eq(client->consumed, 4);
    ck_assert_uint_eq(target->consumed, 9);
    party_takes_all(client);
    party_takes_all(target);
    got(target, "ping");
    got(client, "pong pong");
    connect_kill(tn.connect, 0, tn.env.now);
    party_fails(client, STREAM_RESET);
    ck_assert_uint_eq(tn.last.r.to_target, 4);
    ck_assert_uint_eq(tn.last.r.to_client, 9);
}
END_TEST

START_TEST(what_came_before_the_200_waits_and_passes)
{
    begin(false);
    party_sends(client, "early ");
    ck_assert_uint_eq(client->consumed, 0);
    party_sends(client, "bird");
    party_opens(target);
    ck_assert_uint_eq(client->consumed, 10);
    party_takes_all(target);
    got(target, "early bird");
}
END_TEST

START_TEST(what_came_before_a_failure_is_thrown_away)
{
    begin(false);
    party_sends(client, "early");
    party_fails(target, STREAM_REFUSED);
    ck_assert_uint_eq(client->status, 502);
    ck_assert(client->head_ends);
    ck_assert_uint_eq(client->consumed, 5);
    party_sends(client, "late");
    ck_assert_uint_eq(client->consumed, 9);
    party_ends(client);
    party_finishes(client);
    ended_as(TUNNEL_REFUSED);
}
END_TEST

/* Views of a reset stream come in several turns, and the target may open between them. */
START_TEST(of_a_client_that_was_reset_nothing_passes_behind_a_hole)
{
    begin(false);
    party_puts(client, "abcdefgh", 8, 1);
    stream_failed(&client->http.stream, STREAM_RESET);
    stream_ready_run(&tn.ready, 1, 2);
    stream_opened(&target->http.stream);
    for (unsigned i = 0; i < 10; i++) {
        stream_ready_run(&tn.ready, 1, 2);
        ck_assert_uint_eq(party_queued(target), 0);
    }
    tn_run();
    ck_assert_uint_eq(client->consumed, 8);
    ck_assert_uint_eq(target->aborted, 1);
    ended_as(TUNNEL_CLIENT_RESET);
}
END_TEST

START_TEST(the_client_ends_first)
{
    open_tunnel();
    party_sends(client, "question");
    party_ends(client);
    ck_assert(party_told_end(target));
    ck_assert(!party_told_end(client));
    party_takes_all(target);
    party_sends(target, "answer");
    party_ends(target);
    ck_assert(party_told_end(client));
    party_finishes(target);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 1);
    party_finishes(client);
    got(client, "answer");
    got(target, "question");
    ended_as(TUNNEL_DONE);
}
END_TEST

START_TEST(the_target_ends_first)
{
    open_tunnel();
    party_sends(target, "banner");
    party_ends(target);
    ck_assert(party_told_end(client));
    ck_assert(!party_told_end(target));
    party_sends(client, "thanks");
    party_ends(client);
    party_finishes(client);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 1);
    party_finishes(target);
    got(client, "banner");
    got(target, "thanks");
    ended_as(TUNNEL_DONE);
    ck_assert_uint_eq(tn.last.r.status, 200);
    ck_assert_uint_eq(tn.last.r.state, TUNNEL_STATE_HALF_CLOSED);
}
END_TEST

START_TEST(a_request_may_end_the_clients_direction)
{
    begin(true);
    ck_assert(!party_told_end(target));
    party_opens(target);
    ck_assert(party_told_end(target));
    party_sends(target, "all the same");
    party_ends(target);
    party_finishes(target);
    party_finishes(client);
    got(client, "all the same");
    ended_as(TUNNEL_DONE);
}
END_TEST

START_TEST(an_end_before_the_200_waits)
{
    begin(false);
    party_sends(client, "x");
    party_ends(client);
    party_opens(target);
    ck_assert(party_told_end(target));
    party_takes_all(target);
    got(target, "x");
}
END_TEST

START_TEST(a_reset_of_the_target_is_heard_behind_its_last_byte)
{
    open_tunnel();
    party_puts(target, "last words", 10, 4);
    party_fails(target, STREAM_RESET);
    ck_assert_uint_eq(client->aborted, 0);
    party_takes(client, 9);
    ck_assert_uint_eq(client->aborted, 0);
    party_takes(client, 1);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert(client->says_why && client->why == HTTP_ABORT_CONNECT_ERROR);
    got(client, "last words");
    ended_as(TUNNEL_TARGET_RESET);
}
END_TEST

START_TEST(a_reset_with_nothing_under_way_is_heard_at_once)
{
    open_tunnel();
    party_fails(target, STREAM_RESET);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert(client->says_why && client->why == HTTP_ABORT_CONNECT_ERROR);
    ended_as(TUNNEL_TARGET_RESET);
}
END_TEST

START_TEST(a_full_client_gets_all_before_the_reset)
{
    open_tunnel();
    party_puts(target, noise, 4500, 300);
    tn_run();
    ck_assert_uint_eq(party_queued(client), 1200);
    ck_assert_uint_eq(target->consumed, 1200);
    party_fails(target, STREAM_RESET);
    ck_assert_uint_eq(target->consumed, 4500);
    party_sends(client, "into the void");
    ck_assert_uint_eq(client->consumed, 13);
    while (client->got < 4500) {
        ck_assert_uint_eq(client->aborted, 0);
        ck_assert_uint_le(party_queued(client), 1300);
        party_takes(client, party_queued(client) < 100 ? party_queued(client) : 100);
    }
    ck_assert(memcmp(client->bytes, noise, 4500) == 0);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(client->why, HTTP_ABORT_CONNECT_ERROR);
    ended_as(TUNNEL_TARGET_RESET);
    ck_assert_uint_eq(tn.last.r.to_client, 4500);
}
END_TEST

START_TEST(a_client_may_go_while_late_bytes_wait)
{
    open_tunnel();
    party_puts(target, noise, 4500, 300);
    party_fails(target, STREAM_RESET);
    party_fails(client, STREAM_RESET);
    ended_as(TUNNEL_TARGET_RESET);
    ck_assert_uint_eq(tn.pool.held, 0);
}
END_TEST

/* The target has ended, and is reset when the client has not read all: END_STREAM is on its way,
 * and what the client sends meets its end. */
START_TEST(a_reset_behind_the_end_is_heard_by_whoever_goes_on)
{
    open_tunnel();
    party_sends(target, "goodbye");
    party_ends(target);
    party_fails(target, STREAM_RESET);
    ck_assert_uint_eq(client->aborted, 0);
    party_sends(client, "a");
    ck_assert_uint_eq(client->aborted, 0);
    party_takes_all(client);
    got(client, "goodbye");
    party_sends(client, "b");
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(client->why, HTTP_ABORT_CONNECT_ERROR);
    ck_assert_uint_eq(client->consumed, 2);
    ended_as(TUNNEL_TARGET_RESET);
}
END_TEST

START_TEST(a_reset_behind_the_end_lets_a_client_end_too)
{
    open_tunnel();
    party_sends(target, "goodbye");
    party_ends(target);
    party_fails(target, STREAM_RESET);
    party_ends(client);
    party_finishes(client);
    ck_assert_uint_eq(client->aborted, 0);
    ended_as(TUNNEL_TARGET_RESET);
}
END_TEST

START_TEST(how_a_target_is_lost_is_told)
{
    static const uint8_t why[][2] = {{STREAM_TIMEOUT, TUNNEL_TARGET_TIMEOUT},
                                     {STREAM_KILLED, TUNNEL_KILLED},
                                     {STREAM_UNREACHABLE, TUNNEL_TARGET_RESET}};
    for (unsigned i = 0; i < 3; i++) {
        open_tunnel();
        party_fails(target, why[i][0]);
        ck_assert_uint_eq(tn.last.r.end, why[i][1]);
        ck_assert_uint_eq(client->aborted, 1);
    }
}
END_TEST

START_TEST(a_reset_of_the_client_resets_the_target)
{
    open_tunnel();
    party_sends(client, "x");
    party_fails(client, STREAM_RESET);
    ck_assert_uint_eq(target->aborted, 1);
    ck_assert(party_over(target));
    ended_as(TUNNEL_CLIENT_RESET);
}
END_TEST

START_TEST(an_operator_may_reset_the_client)
{
    open_tunnel();
    party_fails(client, STREAM_KILLED);
    ck_assert_uint_eq(target->aborted, 1);
    ended_as(TUNNEL_KILLED);
}
END_TEST

/* Both in one turn, in either order. */
START_TEST(both_may_go_at_once)
{
    for (unsigned i = 0; i < 2; i++) {
        open_tunnel();
        stream_failed(i ? &client->http.stream : &target->http.stream, STREAM_RESET);
        stream_failed(i ? &target->http.stream : &client->http.stream, STREAM_RESET);
        tn_run();
        ck_assert_uint_eq(client->aborted + target->aborted, 0);
        ck_assert(party_over(client) && party_over(target));
        ck_assert_uint_eq(tn.last.r.end, i ? TUNNEL_CLIENT_RESET : TUNNEL_TARGET_RESET);
        ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    }
}
END_TEST

/* Bytes of a target for a client that is lost, of which nobody has been told. */
START_TEST(bytes_for_a_lost_client_are_dropped)
{
    open_tunnel();
    party_puts(target, noise, 900, 100);
    stream_failed(&client->http.stream, STREAM_RESET);
    tn_run();
    ck_assert_uint_eq(target->aborted, 1);
    ck_assert_uint_eq(target->consumed, 900);
    ended_as(TUNNEL_CLIENT_RESET);
}
END_TEST

START_TEST(a_client_that_does_not_read_stops_its_target)
{
    open_tunnel();
    party_puts(target, noise, 6000, 300);
    tn_run();
    ck_assert_uint_eq(target->consumed, 1200);
    ck_assert_uint_eq(party_queued(client), 1200);
    party_takes(client, 799);
    ck_assert_uint_eq(target->consumed, 1200);
    party_takes(client, 1);
    ck_assert_uint_eq(target->consumed, 1800);
    party_ends(target);
    ck_assert(!party_told_end(client));
    party_takes_all(client);
    ck_assert(party_told_end(client));
    ck_assert_uint_eq(client->got, 6000);
    ck_assert(memcmp(client->bytes, noise, 6000) == 0);
}
END_TEST

START_TEST(a_target_that_does_not_read_stops_its_client)
{
    open_tunnel();
    party_puts(client, noise, 6000, 300);
    tn_run();
    ck_assert_uint_eq(client->consumed, 1200);
    party_sends(target, "the other way is free");
    ck_assert_uint_eq(target->consumed, 21);
    party_takes_all(target);
    ck_assert_uint_eq(client->consumed, 6000);
    ck_assert(memcmp(target->bytes, noise, 6000) == 0);
}
END_TEST

/* ---- bytes a second ---- */

#define RATE (256u << 10) /* 64 KiB at once */

static void restart(const struct proxy_options *o)
{
    tn_stop();
    tn_start(o);
}

/* p sends n bytes, which leave on the other side at once. */
static void floods(struct party *p, struct party *to, uint32_t n)
{
    for (; n > 0; n -= 256) {
        party_puts(p, noise, 256, 0);
        tn_run();
        to->got = 0;
        party_takes_all(to);
    }
}

START_TEST(a_users_bytes_a_second_pause_both_ways)
{
    restart(&(struct proxy_options){.limits = {.bytes = RATE}});
    open_tunnel();
    floods(client, target, 64u << 10);
    ck_assert_uint_eq(client->consumed, 64u << 10);
    floods(client, target, 1024);
    ck_assert_uint_eq(client->consumed, 64u << 10);
    party_puts(target, noise, 256, 0);
    party_puts(target, noise, 256, 256);
    tn_run();
    ck_assert_uint_le(target->consumed, 256); /* one may pass: what is too much is owed */
    tick_t at = connect_deadline(tn.connect);
    ck_assert(at > tn.env.now && at < tn.env.now + S / 4);
    tn_until(at - 1);
    ck_assert_uint_eq(client->consumed, 64u << 10);
    tn_until(at);
    ck_assert_uint_eq(client->consumed, (64u << 10) + 1024);
    ck_assert_uint_eq(target->consumed, 512);
}
END_TEST

START_TEST(a_users_bytes_a_second_are_exact_over_time)
{
    restart(&(struct proxy_options){.limits = {.bytes = RATE}});
    open_tunnel();
    tick_t began = tn.env.now;
    while (tn.env.now < began + 10 * S) {
        if (client->http.stream.in == NULL)
            party_puts(client, noise, 8000, 8000);
        if (target->http.stream.in == NULL)
            party_puts(target, noise, 8000, 8000);
        tn_later(TICK_MS);
        tn_run();
        client->got = target->got = 0;
        party_takes_all(client);
        party_takes_all(target);
    }
    uint32_t passed = client->consumed + target->consumed;
    ck_assert_uint_ge(passed, RATE * 10);
    ck_assert_uint_le(passed, RATE * 10 + (64u << 10) + 2 * 8000);
}
END_TEST

/* What is taken at a time may be less than what is owed. */
START_TEST(a_debt_greater_than_what_is_taken_is_paid)
{
    restart(&(struct proxy_options){.limits = {.bytes = 1000}});
    static uint8_t large[60000];
    open_tunnel();
    floods(client, target, (64u << 10) - 256);
    party_puts(client, large, sizeof(large), 0);
    tn_run();
    target->got = 0;
    party_takes_all(target);
    uint32_t before = client->consumed;
    party_puts(client, "x", 1, 0);
    tn_run();
    ck_assert_uint_eq(client->consumed, before);
    ck_assert(connect_deadline(tn.connect) < tn.env.now + 10 * S);
    tn_later(59 * S);
    ck_assert_uint_eq(client->consumed, before);
    tn_later(6 * S);
    ck_assert_uint_eq(client->consumed, before + 1);
}
END_TEST

START_TEST(a_reset_comes_through_a_pause)
{
    restart(&(struct proxy_options){.limits = {.bytes = RATE}});
    open_tunnel();
    floods(client, target, 64u << 10);
    party_puts(target, noise, 600, 300);
    party_fails(target, STREAM_RESET);
    party_takes_all(client);
    ck_assert_uint_eq(client->got, 600);
    ck_assert_uint_eq(client->aborted, 1);
    ended_as(TUNNEL_TARGET_RESET);
}
END_TEST

/* ---- memory ---- */

START_TEST(without_memory_for_the_clients_bytes_both_are_reset)
{
    open_tunnel();
    tn.chances = 0;
    party_sends(client, "x");
    ck_assert_uint_eq(target->aborted, 1);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(client->why, HTTP_ABORT_INTERNAL);
    ended_as(TUNNEL_NO_MEMORY);
}
END_TEST

START_TEST(without_memory_for_the_targets_bytes_both_are_reset)
{
    open_tunnel();
    tn.chances = 0;
    party_sends(target, "x");
    ck_assert_uint_eq(target->aborted, 1);
    ck_assert_uint_eq(client->aborted, 1);
    ended_as(TUNNEL_NO_MEMORY);
}
END_TEST

START_TEST(a_200_that_cannot_be_sent_resets_the_target)
{
    begin(false);
    client->refuses = true;
    party_opens(target);
    ck_assert_uint_eq(client->aborted, 1);
    ck_assert_uint_eq(target->aborted, 1);
    ended_as(TUNNEL_NO_MEMORY);
}
END_TEST

UNIT_MAIN("connect_relay", setup, teardown, says_200_when_the_target_is_connected,
          the_200_has_a_date_where_the_time_is_known, bytes_pass_both_ways,
          what_came_before_the_200_waits_and_passes, what_came_before_a_failure_is_thrown_away,
          of_a_client_that_was_reset_nothing_passes_behind_a_hole, the_client_ends_first,
          the_target_ends_first, a_request_may_end_the_clients_direction,
          an_end_before_the_200_waits, a_reset_of_the_target_is_heard_behind_its_last_byte,
          a_reset_with_nothing_under_way_is_heard_at_once, a_full_client_gets_all_before_the_reset,
          a_client_may_go_while_late_bytes_wait, a_reset_behind_the_end_is_heard_by_whoever_goes_on,
          a_reset_behind_the_end_lets_a_client_end_too, how_a_target_is_lost_is_told,
          a_reset_of_the_client_resets_the_target, an_operator_may_reset_the_client,
          both_may_go_at_once, bytes_for_a_lost_client_are_dropped,
          a_client_that_does_not_read_stops_its_target,
          a_target_that_does_not_read_stops_its_client, a_users_bytes_a_second_pause_both_ways,
          a_users_bytes_a_second_are_exact_over_time, a_debt_greater_than_what_is_taken_is_paid,
          a_reset_comes_through_a_pause, without_memory_for_the_clients_bytes_both_are_reset,
          without_memory_for_the_targets_bytes_both_are_reset,
          a_200_that_cannot_be_sent_resets_the_target)
