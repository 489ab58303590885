/* SPDX-License-Identifier: BSD-3-Clause */
/* Our client drives a server of nghttp2. */
#include "nghttp2_peer.h"

static void connect_with(const nghttp2_settings_entry *entry, size_t n)
{
    peer_connect(true, entry, n);
    peer_run();
}

START_TEST(a_request_is_answered)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_GET, true);
    peer_run();
    ck_assert(t->saw_end && t->heads == 1);
    peer_their_respond(t, "200", false, 0);
    peer_their_write(t, 300000);
    peer_their_finish(t, true);
    peer_run();
    ck_assert_uint_eq(t->our_status, 200);
    ck_assert_uint_eq(t->our_read, 300000);
    ck_assert_uint_eq(t->our_trailers, 1);
    ck_assert(t->our_ended && t->closed);
}
END_TEST

START_TEST(an_upload_with_trailers_goes_whole)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_POST, false);
    peer_our_write(t, 300000);
    peer_our_finish(t, true);
    peer_run();
    ck_assert_uint_eq(t->read, 300000);
    ck_assert_uint_eq(t->trailers, 1);
    peer_their_respond(t, "204", true, 0);
    peer_run();
    ck_assert_uint_eq(t->our_status, 204);
    ck_assert(t->our_ended);
}
END_TEST

START_TEST(informational_responses_are_told)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_GET, true);
    peer_run();
    peer_their_respond(t, "100", false, 0);
    peer_their_respond(t, "103", false, 0);
    peer_run();
    ck_assert_uint_eq(t->our_heads, 2);
    ck_assert_uint_eq(t->our_status, 103);
    peer_their_respond(t, "200", true, 0);
    peer_run();
    ck_assert_uint_eq(t->our_heads, 3);
    ck_assert(t->our_ended);
}
END_TEST

START_TEST(a_server_that_refuses_streams_is_obeyed)
{
    nghttp2_settings_entry e = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 2};
    connect_with(&e, 1);
    struct peer_talk *t = peer_our_request(HTTP_GET, true);
    ck_assert_ptr_nonnull(peer_our_request(HTTP_GET, true));
    ck_assert_ptr_null(peer_our_request(HTTP_GET, true));
    peer_run();
    peer_their_respond(t, "200", true, 0);
    peer_run();
    ck_assert_ptr_nonnull(peer_our_request(HTTP_GET, true));
}
END_TEST

START_TEST(streams_beyond_a_goaway_were_refused)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_GET, true);
    peer_run();
    struct peer_talk *u = peer_our_request(HTTP_GET, true);
    nghttp2_submit_goaway(peer.session, 0, t->id, NGHTTP2_NO_ERROR, NULL, 0);
    peer_from_theirs();
    peer_serve();
    ck_assert_uint_eq(u->our_reset, STREAM_REFUSED);
    ck_assert_ptr_null(peer_our_request(HTTP_GET, true));
    peer_their_respond(t, "200", true, 0);
    peer_run();
    ck_assert(t->our_ended && h2_is_done(&peer.conn));
}
END_TEST

START_TEST(a_notice_of_shutdown_refuses_nothing_yet)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_GET, true);
    nghttp2_submit_shutdown_notice(peer.session);
    peer_run();
    ck_assert_ptr_nonnull(t->s);
    peer_their_respond(t, "200", true, 0);
    peer_run();
    ck_assert(t->our_ended);
}
END_TEST

START_TEST(a_response_with_a_large_head_is_told)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_GET, true);
    peer_run();
    peer_their_respond(t, "200", true, 50000);
    peer_run();
    ck_assert_uint_eq(t->our_field_bytes, 50000);
    ck_assert(t->our_ended);
}
END_TEST

START_TEST(a_reset_says_whether_to_try_again)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_GET, true);
    struct peer_talk *u = peer_our_request(HTTP_GET, true);
    peer_run();
    nghttp2_submit_rst_stream(peer.session, 0, t->id, NGHTTP2_REFUSED_STREAM);
    nghttp2_submit_rst_stream(peer.session, 0, u->id, NGHTTP2_INTERNAL_ERROR);
    peer_run();
    ck_assert_uint_eq(t->our_reset, STREAM_REFUSED);
    ck_assert_uint_eq(u->our_reset, STREAM_RESET);
}
END_TEST

START_TEST(a_tunnel_is_half_closed_by_either_side)
{
    connect_with(NULL, 0);
    struct peer_talk *t = peer_our_request(HTTP_CONNECT, false);
    peer_run();
    peer_their_respond(t, "200", false, 0);
    peer_our_write(t, 1000);
    peer_our_finish(t, false);
    peer_run();
    ck_assert(t->saw_end && !t->closed);
    peer_their_write(t, 70000);
    peer_their_finish(t, false);
    peer_run();
    ck_assert_uint_eq(t->our_read, 70000);
    ck_assert(t->our_ended && t->closed);
}
END_TEST

START_TEST(a_window_that_turned_negative_holds_content_and_not_the_end)
{
    connect_with(NULL, 0);
    peer.late = true;
    struct peer_talk *t = peer_our_request(HTTP_POST, false);
    peer_our_write(t, 30000);
    peer_run();
    nghttp2_settings_entry e = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
    nghttp2_submit_settings(peer.session, 0, &e, 1);
    peer_run();
    ck_assert_int_eq(h2_stream_of(&t->s->stream)->send_window, -30000);
    peer_our_finish(t, false);
    peer_run();
    ck_assert(t->saw_end);
    ck_assert_uint_eq(t->read, 30000);
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

UNIT_MAIN("nghttp2_client", peer_setup, peer_teardown, a_request_is_answered,
          an_upload_with_trailers_goes_whole, informational_responses_are_told,
          a_server_that_refuses_streams_is_obeyed, streams_beyond_a_goaway_were_refused,
          a_notice_of_shutdown_refuses_nothing_yet, a_response_with_a_large_head_is_told,
          a_reset_says_whether_to_try_again, a_tunnel_is_half_closed_by_either_side,
          a_window_that_turned_negative_holds_content_and_not_the_end, anything_in_any_order)
