/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_end.h"

static void data(struct stream *s, struct pkt *view, bool last)
{
    (void)s;
    (void)last;
    pkt_free(view);
}

static const struct stream_service service = {.data = data};
static unsigned logged;
static struct http_record last_record;
static char record_text[1024];

static void note_it(void *ctx, const struct http_peer *peer, const struct http_record *r)
{
    ck_assert_ptr_eq(ctx, &logged);
    ck_assert_ptr_eq(peer, &end.peer);
    logged++;
    last_record = *r;
    snprintf(record_text, sizeof(record_text), "%.*s|%.*s|%.*s|%.*s|%.*s", (int)r->method.n,
             r->method.p, (int)r->authority.n, r->authority.p, (int)r->path.n, r->path.p,
             (int)r->user_agent.n, r->user_agent.p, (int)r->referer.n, r->referer.p);
}

static void setup(void)
{
    end_init(&service);
    logged = 0;
    end.env.log = note_it;
    end.env.ctx = &logged;
}

/* A request's head, whose texts are gone when this returns. */
static void begin(struct http_stream *s, const char *method, const char *path, const char *agent)
{
    char copy[5][1024];
    const char *from[5] = {method, "example.org", path, agent, "https://example.net/"};
    struct http_text t[5];
    for (unsigned i = 0; i < 5; i++) {
        snprintf(copy[i], sizeof(copy[i]), "%s", from[i]);
        t[i] = (struct http_text){copy[i], (uint32_t)strlen(copy[i])};
    }
    struct http_field field[] = {{HTTP_TEXT("user-agent"), t[3], false},
                                 {HTTP_TEXT("referer"), t[4], false}};
    struct http_head h = {.method = http_method_of(t[0]),
                          .method_name = t[0],
                          .authority = t[1],
                          .path = t[2],
                          .field = field,
                          .n_fields = 2};
    s->method = (uint8_t)h.method;
    http_log_begin(s, &h);
    memset(copy, '#', sizeof(copy));
}

START_TEST(a_request_is_recorded)
{
    end.http.began = 1000;
    end.http.status = 200;
    end.http.sent = 5;
    begin(&end.http, "GET", "/a?b", "curl");
    ck_assert_uint_eq(logged, 0);
    http_log_received(&end.http, 7);
    http_log_received(&end.http, 8);
    end.env.now = 1500;
    http_log_end(&end.http, STREAM_OK);
    ck_assert_uint_eq(logged, 1);
    ck_assert_str_eq(record_text, "GET|example.org|/a?b|curl|https://example.net/");
    ck_assert_uint_eq(last_record.began, 1000);
    ck_assert_uint_eq(last_record.took, 500);
    ck_assert_uint_eq(last_record.sent, 5);
    ck_assert_uint_eq(last_record.received, 15);
    ck_assert_uint_eq(last_record.status, 200);
    ck_assert_uint_eq(last_record.outcome, STREAM_OK);
    http_log_end(&end.http, STREAM_RESET); /* once only */
    ck_assert_uint_eq(logged, 1);
    ck_assert_uint_eq(slab_live(end.env.notes), 0);
}
END_TEST

START_TEST(long_texts_are_cut)
{
    char path[600];
    char agent[600];
    memset(path, 'p', sizeof(path));
    memset(agent, 'a', sizeof(agent));
    path[599] = agent[599] = 0;
    begin(&end.http, "AVERYLONGMETHODNAME", path, agent);
    http_log_end(&end.http, STREAM_RESET);
    ck_assert_uint_eq(last_record.method.n, 16);
    ck_assert(strncmp(record_text, "AVERYLONGMETHODN|", 17) == 0);
    ck_assert_uint_eq(last_record.path.n, 256);
    ck_assert_uint_eq(last_record.user_agent.n, 128);
    ck_assert_uint_eq(last_record.outcome, STREAM_RESET);
    ck_assert(strstr(record_text, "|https://example.net/"));
}
END_TEST

START_TEST(nothing_is_kept_while_it_is_off)
{
    end.env.log = NULL;
    begin(&end.http, "GET", "/", "x");
    http_log_received(&end.http, 5);
    end.env.log = note_it;
    http_log_end(&end.http, STREAM_OK);
    ck_assert_uint_eq(logged, 0);
    ck_assert_ptr_null(end.env.notes);
}
END_TEST

START_TEST(off_in_the_middle_leaves_nothing)
{
    begin(&end.http, "GET", "/", "x");
    end.env.log = NULL;
    http_log_end(&end.http, STREAM_OK);
    ck_assert_uint_eq(logged, 0);
    ck_assert_uint_eq(slab_live(end.env.notes), 0);
}
END_TEST

START_TEST(without_memory_it_is_recorded_without_texts)
{
    end.heap.limit = 0;
    end.http.status = 404;
    begin(&end.http, "HEAD", "/", "x");
    http_log_received(&end.http, 5);
    http_log_end(&end.http, STREAM_OK);
    ck_assert_uint_eq(logged, 1);
    ck_assert_str_eq(record_text, "HEAD||||");
    ck_assert_uint_eq(last_record.status, 404);
}
END_TEST

START_TEST(notes_do_not_meet)
{
    static struct http_stream s[300];
    char path[32];
    for (unsigned i = 0; i < 300; i++) {
        s[i].peer = &end.peer;
        snprintf(path, sizeof(path), "/%u", i);
        begin(&s[i], "GET", path, "x");
        http_log_received(&s[i], i);
    }
    for (unsigned i = 300; i-- > 0;) {
        char expected[64];
        http_log_end(&s[i], STREAM_OK);
        snprintf(expected, sizeof(expected), "GET|example.org|/%u|x|https://example.net/", i);
        ck_assert_str_eq(record_text, expected);
        ck_assert_uint_eq(last_record.received, i);
    }
}
END_TEST

START_TEST(beyond_its_bound_it_does_without_texts)
{
    struct http_stream *s = calloc(HTTP_NOTES_MAX + 1, sizeof(*s));
    for (unsigned i = 0; i <= HTTP_NOTES_MAX; i++) {
        s[i].peer = &end.peer;
        begin(&s[i], "GET", "/", "x");
    }
    http_log_end(&s[HTTP_NOTES_MAX], STREAM_OK);
    ck_assert_str_eq(record_text, "GET||||");
    http_log_end(&s[HTTP_NOTES_MAX - 1], STREAM_OK);
    ck_assert_str_eq(record_text, "GET|example.org|/|x|https://example.net/");
    free(s);
}
END_TEST

UNIT_MAIN("http_log", setup, end_fini, a_request_is_recorded, long_texts_are_cut,
          nothing_is_kept_while_it_is_off, off_in_the_middle_leaves_nothing,
          without_memory_it_is_recorded_without_texts, notes_do_not_meet,
          beyond_its_bound_it_does_without_texts)
