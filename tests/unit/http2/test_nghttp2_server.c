/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of nghttp2 drives our server. */
#include "nghttp2_peer.h"

static void connect_with(const nghttp2_settings_entry *entry, size_t n)
{
    peer_connect(false, entry, n);
    peer_run();
}

START_TEST(a_request_is_answered)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("GET", true, 0);
    peer_run();
    ck_assert(t->our_saw_end && t->s);
    peer_our_respond(t, 200, false);
    peer_our_write(t, 100000);
    peer_our_finish(t, false);
    peer_run();
    ck_assert_uint_eq(t->status, 200);
    ck_assert_uint_eq(t->read, 100000);
    ck_assert(t->closed && t->error == NGHTTP2_NO_ERROR && t->our_ended);
}
END_TEST

START_TEST(an_upload_with_trailers_comes_whole)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("POST", false, 0);
    peer_their_write(t, 1000000);
    peer_their_finish(t, true);
    peer_run();
    ck_assert_uint_eq(t->our_read, 1000000);
    ck_assert_uint_eq(t->our_trailers, 1);
    peer_our_respond(t, 200, false);
    peer_our_finish(t, true);
    peer_run();
    ck_assert_uint_eq(t->trailers, 1);
    ck_assert(t->our_ended && t->saw_end);
}
END_TEST

START_TEST(informational_responses_come_before_the_final_one)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("GET", true, 0);
    peer_run();
    peer_our_respond(t, 100, false);
    peer_our_respond(t, 103, false);
    peer_run();
    ck_assert_uint_eq(t->heads, 2);
    ck_assert_uint_eq(t->status, 103);
    peer_our_respond(t, 204, true);
    peer_run();
    ck_assert_uint_eq(t->status, 204);
    ck_assert(t->our_ended);
}
END_TEST

START_TEST(a_window_of_a_byte_lets_all_through)
{
    nghttp2_settings_entry e = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1};
    peer.settings.glitches = 1u << 20;
    connect_with(&e, 1);
    struct peer_talk *t = peer_their_request("GET", true, 0);
    peer_run();
    peer_our_respond(t, 200, false);
    peer_our_write(t, 300);
    peer_our_finish(t, false);
    peer_run();
    ck_assert_uint_eq(t->read, 300);
    ck_assert(t->our_ended);
}
END_TEST

START_TEST(a_window_that_turned_negative_holds_content_and_not_the_end)
{
    connect_with(NULL, 0);
    peer.late = true;
    struct peer_talk *t = peer_their_request("GET", true, 0);
    struct peer_talk *u = peer_their_request("GET", true, 0);
    peer_run();
    peer_our_respond(t, 200, false);
    peer_our_respond(u, 200, false);
    peer_our_write(t, 20000);
    peer_our_write(u, 20000);
    peer_run();
    nghttp2_settings_entry e = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10000};
    nghttp2_submit_settings(peer.session, 0, &e, 1);
    peer_run();
    const struct h2_stream *s = h2_stream_of(&t->s->stream);
    ck_assert_int_eq(s->send_window, -10000);
    peer_our_write(t, 1);
    peer_our_finish(u, false);
    peer_run();
    ck_assert_uint_eq(t->read, 20000);
    ck_assert(u->saw_end && u->our_ended);
    peer_consume();
    peer_run();
    ck_assert_uint_eq(t->read, 20001);
}
END_TEST

START_TEST(padding_costs_windows_and_is_given_back)
{
    connect_with(NULL, 0);
    peer.padding = 255;
    struct peer_talk *t = peer_their_request("POST", false, 0);
    for (unsigned i = 0; i < 2000; i++) {
        peer_their_write(t, 500);
        peer_run();
    }
    ck_assert_uint_eq(t->our_read, 1000000);
    ck_assert_int_eq(peer.conn.receive_window + peer.conn.credit, peer.settings.connection_window);
}
END_TEST

START_TEST(large_heads_pass_both_ways)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("GET", true, 40000);
    peer_run();
    ck_assert_uint_eq(t->our_field_bytes, 40000);
    ck_assert(t->our_saw_end);
}
END_TEST

START_TEST(a_head_beyond_the_bound_is_answered_431)
{
    peer.settings.header_list = 20000;
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("GET", true, 20000);
    peer_run();
    ck_assert_uint_eq(t->our_heads, 0);
    ck_assert_uint_eq(t->status, 431);
    ck_assert(!h2_has(&peer.conn, H2_CONN_FAILED));
}
END_TEST

START_TEST(a_reset_ends_the_stream_on_both_sides)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("POST", false, 0);
    struct peer_talk *u = peer_their_request("POST", false, 0);
    peer_their_write(t, 10);
    peer_run();
    nghttp2_submit_rst_stream(peer.session, 0, t->id, NGHTTP2_CANCEL);
    stream_abort(&u->s->stream);
    u->s = NULL;
    peer_run();
    ck_assert_uint_eq(t->our_reset, STREAM_RESET);
    ck_assert(u->closed && u->error == NGHTTP2_CANCEL);
    ck_assert_uint_eq(peer.conn.n_objects, 0);
}
END_TEST

START_TEST(a_tunnel_is_half_closed_by_either_side)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("CONNECT", false, 0);
    peer_run();
    peer_our_respond(t, 200, false);
    peer_our_write(t, 1000);
    peer_our_finish(t, false);
    peer_run();
    ck_assert(t->saw_end && !t->closed);
    peer_their_write(t, 5000);
    peer_their_finish(t, false);
    peer_run();
    ck_assert_uint_eq(t->our_read, 5000);
    ck_assert(t->our_ended && t->closed);
}
END_TEST

START_TEST(a_table_that_shrinks_and_grows_again_is_followed)
{
    connect_with(NULL, 0);
    for (unsigned i = 0; i < 20; i++) {
        nghttp2_settings_entry e[2] = {{NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, i % 3 ? 0 : 100},
                                       {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096}};
        struct peer_talk *t = peer_their_request("GET", true, 0);
        peer_run();
        if (i % 2) /* one frame says both, or two do */
            nghttp2_submit_settings(peer.session, 0, e, 1);
        peer_run();
        nghttp2_submit_settings(peer.session, 0, e + 1, 1);
        peer_from_theirs();
        peer_our_respond(t, 200, true);
        peer_run();
        ck_assert_uint_eq(t->status, 200);
        peer.now += TICK_SEC;
    }
}
END_TEST

START_TEST(a_ping_comes_back)
{
    connect_with(NULL, 0);
    nghttp2_submit_ping(peer.session, 0, NULL);
    nghttp2_submit_ping(peer.session, 0, NULL);
    peer_run();
    ck_assert_uint_eq(peer.pings, 2);
}
END_TEST

START_TEST(our_goaway_comes_in_two_steps)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("GET", true, 0);
    peer_run();
    h2_shutdown(&peer.conn, peer.now);
    peer_from_ours();
    ck_assert_uint_eq(peer.goaways, 1);
    ck_assert_uint_eq(peer.goaway_at, H2_STREAM_MAX);
    peer_run();
    ck_assert_uint_eq(peer.goaways, 2);
    ck_assert_uint_eq(peer.goaway_at, 1);
    ck_assert_uint_eq(peer.goaway_error, NGHTTP2_NO_ERROR);
    peer_our_respond(t, 200, true);
    peer_run();
    ck_assert(t->our_ended && t->status == 200);
    ck_assert(h2_is_done(&peer.conn));
}
END_TEST

START_TEST(their_goaway_lets_streams_end)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("GET", true, 0);
    peer_run();
    nghttp2_submit_goaway(peer.session, 0, 0, NGHTTP2_NO_ERROR, NULL, 0);
    peer_run();
    ck_assert(!h2_is_done(&peer.conn));
    peer_our_respond(t, 200, true);
    peer_run();
    ck_assert(t->our_ended && h2_is_done(&peer.conn));
}
END_TEST

START_TEST(priority_updates_are_read)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_their_request("GET", true, 0);
    nghttp2_submit_priority_update(peer.session, 0, t->id, (const uint8_t *)"u=0", 3);
    peer_run();
    ck_assert(t->s && !h2_has(&peer.conn, H2_CONN_FAILED));
}
END_TEST

START_TEST(anything_in_any_order)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        if (seed > 0) {
            peer_teardown();
            peer_setup();
        }
        peer_lenient();
        connect_with(NULL, 0);
        peer_random(seed, 600);
    }
}
END_TEST

UNIT_MAIN("nghttp2_server", peer_setup, peer_teardown, a_request_is_answered,
          an_upload_with_trailers_comes_whole, informational_responses_come_before_the_final_one,
          a_window_of_a_byte_lets_all_through,
          a_window_that_turned_negative_holds_content_and_not_the_end,
          padding_costs_windows_and_is_given_back, large_heads_pass_both_ways,
          a_head_beyond_the_bound_is_answered_431, a_reset_ends_the_stream_on_both_sides,
          a_tunnel_is_half_closed_by_either_side, a_table_that_shrinks_and_grows_again_is_followed,
          a_ping_comes_back, our_goaway_comes_in_two_steps, their_goaway_lets_streams_end,
          priority_updates_are_read, anything_in_any_order)
