/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/heap.h"
#include "support/unit.h"

/*
 * Streams with a carrier that notes what it is asked, and a service that notes what it is told, all
 * in one text, and does then what the test says.
 */
enum event { OPENED, DATA, WRITABLE, ENDED, RESET };

struct end {
    struct stream stream;
    char name;
    uint32_t consumed; /* told to the carrier */
    unsigned woken;
    unsigned aborted;
    void (*then)(struct end *e, enum event event);
};

static struct heap heap;
static struct heap_pool pool;
static struct stream_ready ready;
static struct end a;
static struct end b;
static struct end c;
static char text[4096];
static size_t text_len;

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + text_len, sizeof(text) - text_len, format, args);
    va_end(args);
    ck_assert_int_gt(n, 0);
    text_len += (size_t)n;
    ck_assert_uint_lt(text_len, sizeof(text));
}

/* What was told since the last time, one after the other. */
#define heard(expected)                   \
    do {                                  \
        ck_assert_str_eq(text, expected); \
        text_len = 0;                     \
        text[0] = 0;                      \
    } while (0)

static struct end *end_of(struct stream *s)
{
    return container_of(s, struct end, stream);
}

static void then(struct stream *s, enum event event)
{
    struct end *e = end_of(s);
    if (e->then)
        e->then(e, event);
}

static void told_opened(struct stream *s)
{
    say("%c:opened ", end_of(s)->name);
    then(s, OPENED);
}

static void told_data(struct stream *s, struct pkt *view, bool end)
{
    say("%c:", end_of(s)->name);
    if (view) {
        ck_assert_ptr_null(view->next);
        ck_assert_uint_eq(view->total, view->len);
        say("%.*s", (int)view->len, view->data);
    }
    say(end ? "|end " : " ");
    pkt_free(view);
    then(s, DATA);
}

static void told_writable(struct stream *s)
{
    say("%c:writable ", end_of(s)->name);
    ck_assert(stream_writable(s));
    then(s, WRITABLE);
}

static void told_ended(struct stream *s)
{
    say("%c:ended ", end_of(s)->name);
    then(s, ENDED);
}

static void told_reset(struct stream *s, enum stream_code code)
{
    say("%c:%s ", end_of(s)->name, stream_code_name(code));
    then(s, RESET);
}

static const struct stream_service service = {
    .name = "test",
    .opened = told_opened,
    .data = told_data,
    .writable = told_writable,
    .ended = told_ended,
    .reset = told_reset,
};

static void asked_consume(struct stream *s, uint32_t n)
{
    ck_assert_uint_gt(n, 0);
    end_of(s)->consumed += n;
}

static void asked_ready(struct stream *s)
{
    end_of(s)->woken++;
}

static void asked_abort(struct stream *s)
{
    end_of(s)->aborted++;
}

static const struct stream_carrier carrier = {
    .consume = asked_consume,
    .ready = asked_ready,
    .abort = asked_abort,
};

static void begin(struct end *e, char name)
{
    *e = (struct end){.name = name};
    stream_init(&e->stream, &service, &carrier, &ready, &heap.mem, 16);
    stream_set_marks(&e->stream, 100, 40);
}

static void setup(void)
{
    heap_init(&heap);
    heap_pool_init(&pool, 16, 200);
    stream_ready_init(&ready);
    begin(&a, 'a');
    begin(&b, 'b');
    begin(&c, 'c');
}

static void teardown(void)
{
    stream_fini(&a.stream);
    stream_fini(&b.stream);
    stream_fini(&c.stream);
    ck_assert(stream_ready_empty(&ready));
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(heap.blocks, 0);
}

static bool run(void)
{
    return stream_ready_run(&ready, 100, 100);
}

static struct pkt *bytes(const char *what, size_t view)
{
    return heap_pkt(&pool, what, strlen(what), view);
}

static void arrived(struct end *e, const char *what)
{
    stream_arrived(&e->stream, bytes(what, 0));
}

static void write_zeroes(struct end *e, uint32_t n)
{
    static const char zeroes[1000];
    ck_assert(stream_write(&e->stream, vec_of_const(zeroes, n)));
}

static void out_is(struct end *e, const char *expected)
{
    char out[100] = {0};
    ck_assert_uint_eq(vec_queue_bytes(&e->stream.out), strlen(expected));
    vec_queue_flatten(&e->stream.out, 0, out, (uint32_t)strlen(expected));
    ck_assert_str_eq(out, expected);
}

START_TEST(a_life_in_order)
{
    stream_opened(&a.stream);
    arrived(&a, "hello");
    heard("");
    ck_assert(!run());
    heard("a:opened a:hello ");
    ck_assert(stream_write(&a.stream, vec_of_const("answer", 6)));
    ck_assert_uint_eq(a.woken, 1);
    out_is(&a, "answer");
    stream_consume(&a.stream, 5);
    ck_assert_uint_eq(a.consumed, 5);
    stream_arrived_end(&a.stream);
    run();
    heard("a:|end ");
    stream_end(&a.stream);
    stream_end(&a.stream);
    ck_assert_uint_eq(a.woken, 2);
    stream_acked(&a.stream, 6);
    ck_assert(stream_ready_empty(&ready));
    stream_finished(&a.stream);
    ck_assert(!stream_over(&a.stream));
    run();
    heard("a:ended ");
    ck_assert(stream_over(&a.stream));
    ck_assert_uint_eq(a.woken, 3); /* to be told that it may go */
    ck_assert_uint_eq(a.aborted, 0);
}
END_TEST

START_TEST(the_last_view_carries_the_end)
{
    stream_arrived(&a.stream, bytes("onetwo", 3));
    stream_arrived(&a.stream, bytes("last", 0));
    stream_arrived_end(&a.stream);
    stream_arrived_end(&a.stream);
    run();
    heard("a:one a:two a:last|end ");
    ck_assert(!run());
    heard("");
    ck_assert_uint_eq(stream_unconsumed(&a.stream), 10);
}
END_TEST

START_TEST(views_without_bytes_are_not_given)
{
    struct pkt *p = bytes("ab", 1);
    struct pkt *middle = p->next;
    p->next = bytes("", 0);
    p->next->next = middle;
    middle->next = bytes("", 0);
    stream_arrived(&a.stream, p);
    ck_assert_uint_eq(pool.held, 2);
    stream_arrived_end(&a.stream);
    run();
    heard("a:a a:b|end ");
}
END_TEST

/* A packet of one view with room behind its bytes. */
static struct pkt *roomy(const char *what)
{
    struct pkt *p = pkt_alloc(&pool.pool);
    size_t len = strlen(what);
    memcpy(pkt_put(p, (uint32_t)len), what, len);
    return p;
}

START_TEST(small_pieces_arrive_together)
{
    stream_arrived(&a.stream, roomy("one"));
    stream_arrived(&a.stream, roomy("two"));
    stream_arrived(&a.stream, bytes("three", 3));
    ck_assert_uint_eq(pool.held, 1);
    ck_assert_uint_eq(stream_cost(&a.stream), PKT_COST);
    stream_arrived(&b.stream, bytes("full", 0));
    stream_arrived(&b.stream, roomy("one"));
    stream_arrived(&b.stream, roomy("two"));
    run();
    heard("a:onetwothree b:full b:onetwo ");
    ck_assert_uint_eq(stream_unconsumed(&a.stream), 11);
}
END_TEST

START_TEST(a_busy_stream_goes_behind_the_others)
{
    stream_arrived(&a.stream, bytes("12345", 1));
    stream_arrived_end(&a.stream);
    arrived(&b, "b");
    ck_assert(stream_ready_run(&ready, 100, 2));
    heard("a:1 a:2 b:b ");
    arrived(&b, "b");
    ck_assert(stream_ready_run(&ready, 100, 2));
    heard("a:3 a:4 b:b ");
    ck_assert(!stream_ready_run(&ready, 100, 2));
    heard("a:5|end ");
}
END_TEST

START_TEST(more_news_keep_its_place)
{
    arrived(&a, "1");
    arrived(&b, "1");
    arrived(&a, "2");
    ck_assert(!run());
    heard("a:1 a:2 b:1 ");
}
END_TEST

START_TEST(who_was_not_reached_comes_first_the_next_time)
{
    stream_arrived(&a.stream, bytes("12", 1));
    arrived(&b, "b");
    arrived(&c, "c");
    ck_assert(stream_ready_run(&ready, 2, 1));
    heard("a:1 b:b ");
    ck_assert(stream_ready_run(&ready, 1, 1));
    heard("c:c ");
    ck_assert(!stream_ready_run(&ready, 1, 1));
    heard("a:2 ");
}
END_TEST

static void a_feeds_b(struct end *e, enum event event)
{
    struct end *other = e == &a ? &b : &a;
    if (event == DATA)
        arrived(other, e == &a ? "from a" : "from b");
}

START_TEST(what_is_caused_meanwhile_waits)
{
    a.then = b.then = a_feeds_b;
    arrived(&a, "go");
    for (unsigned i = 0; i < 3; i++) { /* for ever, but one a turn */
        ck_assert(run());
        heard(i == 0 ? "a:go " : i % 2 ? "b:from a " : "a:from b ");
    }
}
END_TEST

static void feeds_itself(struct end *e, enum event event)
{
    if (event == DATA)
        arrived(e, "again");
}

START_TEST(so_does_what_a_stream_causes_in_itself_beyond_its_share)
{
    a.then = feeds_itself;
    arrived(&a, "go");
    ck_assert(stream_ready_run(&ready, 100, 2));
    heard("a:go a:again ");
    ck_assert(stream_ready_run(&ready, 100, 1));
    heard("a:again ");
}
END_TEST

START_TEST(marks_tell_when_to_write)
{
    ck_assert_uint_eq(stream_room(&a.stream), 100);
    write_zeroes(&a, 99);
    ck_assert_uint_eq(stream_room(&a.stream), 1);
    stream_acked(&a.stream, 99); /* never was at the mark */
    ck_assert(stream_ready_empty(&ready));
    write_zeroes(&a, 100);
    ck_assert(!stream_writable(&a.stream));
    ck_assert_uint_eq(stream_room(&a.stream), 0);
    write_zeroes(&a, 50); /* is taken all the same */
    stream_acked(&a.stream, 109);
    ck_assert(stream_writable(&a.stream));
    ck_assert(stream_ready_empty(&ready));
    stream_acked(&a.stream, 1);
    stream_acked(&a.stream, 1);
    run();
    heard("a:writable ");
    stream_acked(&a.stream, 39);
    ck_assert(!run());
    heard("");
}
END_TEST

START_TEST(full_again_before_it_is_told_is_not_told)
{
    write_zeroes(&a, 100);
    stream_acked(&a.stream, 100);
    write_zeroes(&a, 100);
    run();
    heard("");
    stream_acked(&a.stream, 60);
    run();
    heard("a:writable ");
}
END_TEST

START_TEST(many_small_promises_are_too_much_as_well)
{
    for (unsigned i = 0; i < 8; i++) {
        ck_assert(stream_writable(&a.stream));
        write_zeroes(&a, 1);
    }
    ck_assert(!stream_writable(&a.stream));
    stream_acked(&a.stream, 3);
    ck_assert(stream_writable(&a.stream));
    run();
    heard("");
    stream_acked(&a.stream, 1);
    run();
    heard("a:writable ");
}
END_TEST

START_TEST(higher_marks_may_make_it_writable)
{
    write_zeroes(&a, 100);
    stream_set_marks(&a.stream, 200, 99);
    ck_assert(stream_ready_empty(&ready));
    ck_assert(stream_writable(&a.stream));
    stream_set_marks(&a.stream, 300, 100);
    run();
    heard("a:writable ");
    stream_set_marks(&a.stream, 50, 10);
    stream_acked(&a.stream, 90);
    run();
    heard("a:writable ");
}
END_TEST

START_TEST(nothing_is_writable_after_the_end)
{
    write_zeroes(&a, 100);
    stream_end(&a.stream);
    ck_assert(!stream_writable(&a.stream));
    stream_acked(&a.stream, 100);
    write_zeroes(&b, 100);
    stream_acked(&b.stream, 100);
    stream_end(&b.stream);
    run();
    heard("");
}
END_TEST

START_TEST(the_bound_of_promises_refuses)
{
    for (unsigned i = 0; i < 16; i++)
        write_zeroes(&a, 1);
    ck_assert(!stream_write(&a.stream, vec_of_const("x", 1)));
    ck_assert(!stream_over(&a.stream));
    stream_write_pkt(&a.stream, bytes("x", 0));
    ck_assert(stream_over(&a.stream));
    ck_assert_uint_eq(a.aborted, 1);
    ck_assert_uint_eq(vec_queue_count(&a.stream.out), 0);
    run();
    heard("");
}
END_TEST

START_TEST(packets_are_written)
{
    stream_write_pkt(&a.stream, bytes("", 0));
    ck_assert_uint_eq(a.woken, 0);
    stream_write_pkt(&a.stream, bytes("a pa", 1));
    stream_write_pkt(&a.stream, bytes("cket", 0));
    ck_assert_uint_eq(a.woken, 2);
    out_is(&a, "a packet");
}
END_TEST

START_TEST(small_packets_share_a_promise)
{
    stream_write_pkt(&a.stream, roomy("x"));
    for (unsigned i = 1; i < 50; i++)
        stream_write_pkt(&a.stream, bytes("x", 0));
    ck_assert_uint_eq(vec_queue_count(&a.stream.out), 1);
    ck_assert_uint_eq(pool.held, 1);
    ck_assert_uint_eq(stream_room(&a.stream), 50);
}
END_TEST

START_TEST(a_reset_comes_behind_what_has_arrived)
{
    stream_opened(&a.stream);
    stream_arrived(&a.stream, bytes("12", 1));
    stream_arrived_end(&a.stream);
    stream_failed(&a.stream, STREAM_RESET);
    ck_assert(stream_ready_run(&ready, 1, 1));
    heard("a:opened a:1 ");
    ck_assert(!stream_ready_run(&ready, 1, 1));
    heard("a:2|end a:reset ");
    ck_assert(stream_over(&a.stream));
    ck_assert_uint_eq(a.consumed, 2); /* nobody will */
    ck_assert_uint_eq(a.woken, 1);
    ck_assert_uint_eq(a.aborted, 0);
}
END_TEST

START_TEST(what_failed_takes_no_more_and_says_so)
{
    write_zeroes(&a, 100);
    stream_write_pkt(&a.stream, bytes("lost", 0));
    a.woken = 0;
    stream_failed(&a.stream, STREAM_TIMEOUT);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert(!stream_writable(&a.stream));
    ck_assert_uint_eq(stream_room(&a.stream), 0);
    ck_assert(stream_write(&a.stream, vec_of_pkt(bytes("freed", 2))));
    stream_write_pkt(&a.stream, bytes("freed", 2));
    stream_acked(&a.stream, 100);
    stream_end(&a.stream);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(a.woken, 0);
    stream_failed(&a.stream, STREAM_KILLED); /* is no news */
    run();
    heard("a:timeout ");
}
END_TEST

START_TEST(it_may_fail_to_open)
{
    stream_failed(&a.stream, STREAM_REFUSED);
    run();
    heard("a:refused ");
}
END_TEST

START_TEST(what_ended_in_order_does_not_fail)
{
    stream_end(&a.stream);
    stream_arrived_end(&a.stream);
    stream_finished(&a.stream);
    stream_failed(&a.stream, STREAM_KILLED);
    run();
    heard("a:|end a:ended ");
}
END_TEST

START_TEST(an_abort_returns_all_credit)
{
    stream_arrived(&a.stream, bytes("123456", 1));
    stream_ready_run(&ready, 1, 4);
    stream_consume(&a.stream, 1);
    stream_write_pkt(&a.stream, bytes("unsent", 0));
    stream_abort(&a.stream);
    ck_assert_uint_eq(a.aborted, 1);
    ck_assert_uint_eq(a.consumed, 6);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert(stream_ready_empty(&ready));
    arrived(&a, "more");
    ck_assert_uint_eq(a.consumed, 10);
    ck_assert_uint_eq(pool.held, 0);
    stream_consume(&a.stream, 3); /* of what it had been given */
    stream_abort(&a.stream);
    stream_end(&a.stream);
    stream_opened(&a.stream);
    stream_arrived_end(&a.stream);
    stream_finished(&a.stream);
    stream_failed(&a.stream, STREAM_RESET);
    ck_assert(stream_write(&a.stream, vec_of_pkt(bytes("x", 0))));
    stream_write_pkt(&a.stream, bytes("x", 0));
    stream_acked(&a.stream, 6);
    stream_set_marks(&a.stream, 3, 1);
    run();
    heard("a:1 a:2 a:3 a:4 ");
    ck_assert_uint_eq(a.consumed, 10);
    ck_assert_uint_eq(a.aborted, 1);
}
END_TEST

static void holds(struct end *e, enum event event)
{
    if (event == DATA)
        stream_hold(&e->stream);
}

START_TEST(data_waits_while_it_is_held)
{
    a.then = holds;
    stream_arrived(&a.stream, bytes("123", 1));
    ck_assert(!run());
    heard("a:1 ");
    arrived(&a, "4");
    stream_arrived_end(&a.stream);
    ck_assert(stream_ready_empty(&ready));
    stream_release(&a.stream);
    ck_assert(!run());
    heard("a:2 ");
    a.then = NULL;
    stream_release(&a.stream);
    stream_release(&a.stream);
    ck_assert(!run());
    heard("a:3 a:4|end ");
    stream_hold(&a.stream);
    stream_end(&a.stream);
    stream_finished(&a.stream);
    run();
    heard("a:ended "); /* no data was left to hold */
}
END_TEST

START_TEST(what_is_held_does_not_end_but_may_fail)
{
    stream_hold(&a.stream);
    stream_hold(&b.stream);
    stream_opened(&a.stream);
    arrived(&a, "a");
    arrived(&b, "b");
    stream_arrived_end(&a.stream);
    stream_end(&a.stream);
    stream_finished(&a.stream);
    run();
    heard("a:opened ");
    stream_release(&a.stream);
    stream_failed(&b.stream, STREAM_RESET);
    stream_hold(&b.stream); /* too late */
    run();
    heard("a:a|end a:ended b:b b:reset ");
}
END_TEST

static void releases(struct end *e, enum event event)
{
    if (event == WRITABLE)
        stream_release(&e->stream);
}

START_TEST(writable_may_release_at_once)
{
    a.then = releases;
    stream_hold(&a.stream);
    arrived(&a, "1");
    write_zeroes(&a, 100);
    stream_acked(&a.stream, 100);
    ck_assert(!run());
    heard("a:writable a:1 ");
}
END_TEST

static void aborts(struct end *e, enum event event)
{
    (void)event;
    stream_abort(&e->stream);
}

START_TEST(may_abort_whatever_it_is_told)
{
    a.then = b.then = c.then = aborts;
    stream_opened(&a.stream);
    write_zeroes(&b, 100);
    stream_acked(&b.stream, 100);
    struct end *all[] = {&a, &b, &c};
    for (unsigned i = 0; i < 3; i++) {
        stream_arrived(&all[i]->stream, bytes("123", 1));
        stream_arrived_end(&all[i]->stream);
    }
    ck_assert(!run());
    heard("a:opened b:writable c:1 ");
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(all[i]->aborted, 1);
        ck_assert_uint_eq(all[i]->consumed, 3);
    }
}
END_TEST

static void aborts_at_the_last(struct end *e, enum event event)
{
    if (event == ENDED || event == RESET)
        stream_abort(&e->stream);
}

START_TEST(may_call_anything_when_it_is_over)
{
    a.then = b.then = aborts_at_the_last;
    stream_end(&a.stream);
    stream_arrived_end(&a.stream);
    stream_finished(&a.stream);
    stream_failed(&b.stream, STREAM_RESET);
    run();
    heard("a:|end a:ended b:reset ");
    ck_assert_uint_eq(a.aborted + b.aborted, 0);
}
END_TEST

START_TEST(an_abort_of_what_has_gone_only_wakes)
{
    stream_failed(&a.stream, STREAM_RESET);
    stream_end(&b.stream);
    stream_arrived_end(&b.stream);
    stream_finished(&b.stream);
    b.woken = 0;
    stream_abort(&a.stream);
    stream_abort(&b.stream);
    ck_assert_uint_eq(a.woken, 1);
    ck_assert_uint_eq(b.woken, 1);
    ck_assert_uint_eq(a.aborted + b.aborted, 0);
    run();
    heard("");
}
END_TEST

static void aborts_b(struct end *e, enum event event)
{
    (void)e, (void)event;
    stream_abort(&b.stream);
}

START_TEST(an_abort_takes_another_out_of_the_turn)
{
    a.then = aborts_b;
    arrived(&a, "a");
    arrived(&b, "b");
    arrived(&c, "c");
    run();
    heard("a:a c:c ");
    ck_assert_uint_eq(b.aborted, 1);
}
END_TEST

static void ends_bs_life(struct end *e, enum event event)
{
    (void)e, (void)event;
    stream_fini(&b.stream);
    begin(&b, 'B');
    arrived(&b, "born");
}

START_TEST(a_life_that_ends_while_it_waits)
{
    arrived(&b, "unheard");
    stream_write_pkt(&b.stream, bytes("unsent", 0));
    stream_fini(&b.stream);
    ck_assert(stream_ready_empty(&ready));
    begin(&b, 'b');
    a.then = ends_bs_life;
    arrived(&a, "a");
    arrived(&b, "unheard");
    ck_assert(run());
    heard("a:a ");
    run();
    heard("B:born ");
}
END_TEST

START_TEST(only_data_has_to_be_heard)
{
    static const struct stream_service deaf = {.name = "deaf", .data = told_data};
    a.stream.service = &deaf;
    b.stream.service = &deaf;
    stream_opened(&a.stream);
    write_zeroes(&a, 100);
    stream_acked(&a.stream, 100);
    stream_end(&a.stream);
    stream_arrived_end(&a.stream);
    stream_finished(&a.stream);
    stream_failed(&b.stream, STREAM_RESET);
    ck_assert(!run());
    heard("a:|end ");
    ck_assert(stream_over(&a.stream));
    ck_assert(stream_over(&b.stream));
}
END_TEST

START_TEST(counts_what_waits)
{
    stream_arrived(&a.stream, bytes("1234", 1));
    ck_assert_uint_eq(stream_cost(&a.stream), 4 * PKT_COST);
    stream_ready_run(&ready, 1, 3);
    ck_assert_uint_eq(stream_cost(&a.stream), PKT_COST);
    stream_write_pkt(&a.stream, bytes("12", 1));
    write_zeroes(&a, 100);
    ck_assert_uint_eq(stream_cost(&a.stream), 3 * PKT_COST);
    stream_acked(&a.stream, 2);
    run();
    ck_assert_uint_eq(stream_cost(&a.stream), 0);
}
END_TEST

UNIT_MAIN("stream", setup, teardown, a_life_in_order, the_last_view_carries_the_end,
          views_without_bytes_are_not_given, small_pieces_arrive_together,
          a_busy_stream_goes_behind_the_others, more_news_keep_its_place,
          who_was_not_reached_comes_first_the_next_time, what_is_caused_meanwhile_waits,
          so_does_what_a_stream_causes_in_itself_beyond_its_share, marks_tell_when_to_write,
          full_again_before_it_is_told_is_not_told, many_small_promises_are_too_much_as_well,
          higher_marks_may_make_it_writable, nothing_is_writable_after_the_end,
          the_bound_of_promises_refuses, packets_are_written, small_packets_share_a_promise,
          data_waits_while_it_is_held, what_is_held_does_not_end_but_may_fail,
          writable_may_release_at_once, a_reset_comes_behind_what_has_arrived,
          what_failed_takes_no_more_and_says_so, it_may_fail_to_open,
          what_ended_in_order_does_not_fail, an_abort_returns_all_credit,
          may_abort_whatever_it_is_told, may_call_anything_when_it_is_over,
          an_abort_of_what_has_gone_only_wakes, an_abort_takes_another_out_of_the_turn,
          a_life_that_ends_while_it_waits, only_data_has_to_be_heard, counts_what_waits)
