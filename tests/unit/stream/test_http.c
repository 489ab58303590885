/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_end.h"

static void (*on_head)(struct http_stream *s, const struct http_head *h, bool last);

static void told_head(struct http_stream *s, const struct http_head *h, bool last)
{
    end_say("head ", h->status, last);
    if (on_head)
        on_head(s, h, last);
}

static void told_data(struct stream *s, struct pkt *view, bool last)
{
    (void)s;
    pkt_free(view);
    end_say("data ", 0, last);
}

static void told_opened(struct stream *s)
{
    (void)s;
    end_say("opened ", 0, false);
}

static const struct http_service service = {.stream = {.http = true, .data = told_data},
                                            .head = told_head};
static const struct stream_service bytes = {.opened = told_opened, .data = told_data};

static void setup(void)
{
    on_head = NULL;
    end_init(&service.stream);
}

static void said(const char *expected)
{
    ck_assert_str_eq(end.said, expected);
    end.said[0] = 0;
}

static bool respond(uint16_t status, bool last)
{
    struct http_head h = {.status = status, .content_length = HTTP_LENGTH_NONE};
    return http_respond(&end.http, &h, last);
}

static void request(bool last)
{
    struct http_head h = {.method = HTTP_POST};
    http_tell_head(&end.http, &h, last, 77);
}

static void run(void)
{
    for (unsigned i = 0; i < 10 && stream_ready_run(&end.ready, 10, 10); i++)
        ;
}

START_TEST(methods_have_names)
{
    for (enum http_method m = HTTP_OTHER + 1; m < HTTP_METHOD_END; m++) {
        const char *name = http_method_name(m);
        ck_assert_int_eq(http_method_of((struct http_text){name, (uint32_t)strlen(name)}), m);
    }
    ck_assert_int_eq(http_method_of(HTTP_TEXT("get")), HTTP_OTHER);
    ck_assert_int_eq(http_method_of(HTTP_TEXT("GETS")), HTTP_OTHER);
    ck_assert_int_eq(http_method_of((struct http_text){NULL, 0}), HTTP_OTHER);
    ck_assert_str_eq(http_method_name(HTTP_OTHER), "");
    ck_assert_str_eq(http_method_name(HTTP_PATCH), "PATCH");
}
END_TEST

START_TEST(the_first_field_of_a_name_is_found)
{
    struct http_field field[] = {{HTTP_TEXT("a"), HTTP_TEXT("1"), false},
                                 {HTTP_TEXT("bb"), HTTP_TEXT("2"), false},
                                 {HTTP_TEXT("bb"), HTTP_TEXT("3"), false}};
    struct http_head h = {.field = field, .n_fields = 3};
    ck_assert_ptr_eq(http_field_find(&h, HTTP_TEXT("bb")), &field[1]);
    ck_assert_ptr_null(http_field_find(&h, HTTP_TEXT("b")));
    ck_assert_ptr_null(http_field_find(&h, HTTP_TEXT("c")));
}
END_TEST

START_TEST(a_request_is_told_and_answered)
{
    request(false);
    said("head 0 ");
    ck_assert_uint_eq(end.http.began, 77);
    ck_assert_uint_eq(end.http.method, HTTP_POST);
    ck_assert(respond(100, false));
    ck_assert(respond(103, false));
    ck_assert_uint_eq(end.http.status, 0);
    ck_assert(respond(200, false));
    ck_assert_uint_eq(end.http.status, 200);
    ck_assert(!(end.http.stream.bits & STREAM_OUT_END));
    said("100 103 200 ");
    stream_arrived_end(&end.http.stream);
    run();
    said("data 0|end ");
    ck_assert(http_trailers(&end.http, NULL, 3));
    ck_assert(end.http.stream.bits & STREAM_OUT_END);
    said("trailers 3 ");
}
END_TEST

START_TEST(an_end_comes_with_the_head)
{
    request(true);
    said("head 0|end ");
    ck_assert(end.http.stream.bits & STREAM_IN_END);
    ck_assert(respond(204, true));
    said("204|end ");
    ck_assert(end.http.stream.bits & STREAM_OUT_END);
    run();
    said("");
    stream_finished(&end.http.stream);
    run();
    ck_assert(stream_over(&end.http.stream));
}
END_TEST

static void abort_it(struct http_stream *s, const struct http_head *h, bool last)
{
    (void)h;
    (void)last;
    stream_abort(&s->stream);
}

START_TEST(a_service_may_abort_in_its_head)
{
    on_head = abort_it;
    request(false);
    said("head 0 ");
    ck_assert_uint_eq(end.aborted, 1);
    ck_assert(respond(200, false)); /* to nobody */
    ck_assert(http_trailers(&end.http, NULL, 0));
    said("");
    ck_assert_uint_eq(end.http.status, 0);
}
END_TEST

START_TEST(what_is_not_taken_aborts)
{
    request(false);
    end.refuse = true;
    ck_assert(!respond(200, false));
    ck_assert_uint_eq(end.aborted, 1);
    ck_assert_uint_eq(end.http.status, 0);
    stream_fini(&end.http.stream);
    end.refuse = false;
    end_open(&service.stream);
    request(false);
    ck_assert(respond(200, false));
    end.refuse = true;
    ck_assert(!http_trailers(&end.http, NULL, 0));
    ck_assert_uint_eq(end.aborted, 2);
}
END_TEST

START_TEST(a_failed_stream_is_answered_in_vain)
{
    request(false);
    stream_failed(&end.http.stream, STREAM_RESET);
    said("head 0 ");
    ck_assert(respond(200, true));
    said("");
    ck_assert_uint_eq(end.aborted, 0);
    run();
    ck_assert(stream_over(&end.http.stream));
}
END_TEST

START_TEST(it_becomes_another_service)
{
    request(false);
    ck_assert(respond(200, false));
    http_become(&end.http, &bytes);
    said("head 0 200 opened 0 ");
    stream_arrived_end(&end.http.stream);
    run();
    said("data 0|end ");
    ck_assert_ptr_null(http_service_of(end.http.stream.service));
    ck_assert_ptr_eq(http_service_of(&service.stream), &service);
}
END_TEST

START_TEST(what_is_over_becomes_nothing)
{
    request(false);
    stream_abort(&end.http.stream);
    http_become(&end.http, &bytes);
    said("head 0 ");
}
END_TEST

START_TEST(a_client_is_told_of_responses)
{
    stream_opened(&end.http.stream);
    run();
    stream_end(&end.http.stream);
    struct http_head h = {.status = 103};
    http_tell_head(&end.http, &h, false, 5);
    h.status = 304;
    http_tell_head(&end.http, &h, true, 6);
    said("head 103 head 304|end ");
    ck_assert_uint_eq(end.http.began, 0); /* a request's */
    stream_finished(&end.http.stream);
    run();
    ck_assert(stream_over(&end.http.stream));
}
END_TEST

START_TEST(trailers_are_the_carriers_to_give)
{
    uint32_t n = 0;
    ck_assert_ptr_eq(http_received_trailers(&end.http, &n), &end_field);
    ck_assert_uint_eq(n, 1);
}
END_TEST

UNIT_MAIN("http", setup, end_fini, methods_have_names, the_first_field_of_a_name_is_found,
          a_request_is_told_and_answered, an_end_comes_with_the_head,
          a_service_may_abort_in_its_head, what_is_not_taken_aborts,
          a_failed_stream_is_answered_in_vain, it_becomes_another_service,
          what_is_over_becomes_nothing, a_client_is_told_of_responses,
          trailers_are_the_carriers_to_give)
