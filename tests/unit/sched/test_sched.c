/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/sched.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "support/dies.h"
#include "support/sched_model.h"
#include "support/unit.h"

#define Q 16384u

/* Streams A, B, C, ... each with frames of a size of its own, and always more of them. */
struct flow {
    struct sched_node node;
    uint32_t frame;
    uint64_t sent;
};

static struct sched s;
static struct sched_settings settings;
static struct flow flow[26];
static char said[4096];

static void flows_begin(enum sched_policy policy, uint32_t frame)
{
    settings = (struct sched_settings){0};
    sched_settings_fill(&settings);
    sched_init(&s, policy, &settings, 1);
    for (int i = 0; i < 26; i++) {
        flow[i] = (struct flow){.frame = frame};
        sched_node_init(&flow[i].node, &sched_priority_default);
    }
}

static void ready(const char *names)
{
    for (; *names; names++)
        sched_ready(&s, &flow[*names - 'A'].node);
}

static void unready(const char *names)
{
    for (; *names; names++)
        sched_remove(&s, &flow[*names - 'A'].node);
}

/* Another priority: p, but of the streams named. */
static void prioritise(const char *names, struct sched_priority p)
{
    if (p.weight == 0)
        p.weight = SCHED_WEIGHT_DEFAULT;
    for (; *names; names++)
        sched_prioritise(&s, &flow[*names - 'A'].node, &p);
}

static struct flow *next(void)
{
    struct sched_node *n = sched_pick(&s);
    ck_assert_ptr_nonnull(n);
    ck_assert_ptr_eq(sched_pick(&s), n);
    return container_of(n, struct flow, node);
}

static char name_of(const struct flow *f)
{
    return (char)('A' + (f - flow));
}

static char send_bytes(uint32_t bytes, bool part)
{
    struct flow *f = next();
    f->sent += bytes;
    sched_charge(&s, &f->node, bytes, part);
    ck_assert(sched_ok(&s));
    return name_of(f);
}

/* Who sends the next n frames. */
static const char *frames(unsigned n)
{
    size_t len = 0;
    for (; n > 0; n--)
        len += (size_t)snprintf(said + len, sizeof(said) - len, "%s%c", len > 0 ? "," : "",
                                send_bytes(next()->frame, false));
    return said;
}

/* So many frames, of which nobody asks whose. */
static void many_frames(unsigned n)
{
    for (; n > 0; n--)
        send_bytes(next()->frame, false);
}

/* One frame, after which its stream has nothing more. */
static char last_frame(void)
{
    struct flow *f = next();
    send_bytes(f->frame, false);
    sched_remove(&s, &f->node);
    return name_of(f);
}

/* Parts of a thousand of all that was sent, as "A:500 B:500". */
static const char *shares(const char *names)
{
    uint64_t all = 0;
    size_t len = 0;
    for (const char *n = names; *n; n++)
        all += flow[*n - 'A'].sent;
    for (const char *n = names; *n; n++) {
        uint64_t part = (flow[*n - 'A'].sent * 1000 + all / 2) / all;
        len += (size_t)snprintf(said + len, sizeof(said) - len, "%s%c:%u", len > 0 ? " " : "", *n,
                                (unsigned)part);
    }
    return said;
}

/* ---- all of them ---- */

START_TEST(policies_have_names)
{
    ck_assert_str_eq(sched_policy_name(SCHED_DEFICIT), "deficit");
    ck_assert_str_eq(sched_policy_name(SCHED_PACKET), "round-robin-packet");
    ck_assert_str_eq(sched_policy_name(SCHED_RANDOM), "random");
}
END_TEST

static const enum sched_policy flat[] = {SCHED_DEFICIT,    SCHED_ROUND_ROBIN, SCHED_URGENCY,
                                         SCHED_FIRST_COME, SCHED_PACKET,      SCHED_PRIORITY,
                                         SCHED_WEIGHTED,   SCHED_RANDOM};
#define FLAT (int)(sizeof(flat) / sizeof(flat[0]))

static void nobody_is_ready_at_first_by(enum sched_policy policy)
{
    flows_begin(policy, Q);
    ck_assert(sched_empty(&s));
    ck_assert_ptr_null(sched_pick(&s));
    sched_packet_end(&s);
    unready("A");
    ck_assert_ptr_null(sched_pick(&s));
}

START_TEST(nobody_is_ready_at_first)
{
    for (int i = 0; i < FLAT; i++)
        nobody_is_ready_at_first_by(flat[i]);
}
END_TEST

static void ready_twice_is_once_by(enum sched_policy policy)
{
    flows_begin(policy, Q);
    ready("AABA");
    ck_assert_uint_eq(s.n, 2);
    ck_assert(sched_is_ready(&flow[0].node));
    unready("A");
    ck_assert_str_eq(frames(3), "B,B,B");
    ready("AA");
    unready("AA");
    ck_assert_uint_eq(s.n, 1);
    ck_assert_str_eq(frames(3), "B,B,B");
}

START_TEST(ready_twice_is_once)
{
    for (int i = 0; i < FLAT; i++)
        ready_twice_is_once_by(flat[i]);
}
END_TEST

static void closed_inside_its_own_turn_by(enum sched_policy policy)
{
    flows_begin(policy, 1000);
    ready("ABC");
    struct flow *first = next();
    send_bytes(1000, true); /* its turn, and the frame's, go on */
    sched_remove(&s, &first->node);
    ck_assert_uint_eq(s.n, 2);
    struct flow *second = next();
    ck_assert_ptr_ne(second, first);
    sched_remove(&s, &second->node); /* picked, and never charged */
    struct flow *third = next();
    ck_assert_ptr_ne(third, first);
    ck_assert_ptr_ne(third, second);
    many_frames(10);
    sched_remove(&s, &third->node);
    ck_assert(sched_empty(&s));
}

START_TEST(closed_inside_its_own_turn)
{
    for (int i = 0; i < FLAT; i++)
        closed_inside_its_own_turn_by(flat[i]);
}
END_TEST

static void a_slot_used_again_has_nothing_of_the_last_one_by(enum sched_policy policy)
{
    flows_begin(policy, Q);
    ready("ABC");
    many_frames(1);
    unready("ABC");
    memset(&flow[0], 0xa5, sizeof(flow[0]));
    flow[0] = (struct flow){.frame = Q};
    sched_node_init(&flow[0].node, &sched_priority_default);
    ck_assert(!sched_is_ready(&flow[0].node));
    ck_assert(sched_empty(&s));
    ready("BA");
    ck_assert_uint_eq(s.n, 2);
    many_frames(100);
    unready("AB");
    ck_assert_ptr_null(sched_pick(&s));
}

START_TEST(a_slot_used_again_has_nothing_of_the_last_one)
{
    for (int i = 0; i < FLAT; i++)
        a_slot_used_again_has_nothing_of_the_last_one_by(flat[i]);
}
END_TEST

static void nothing_rotates_without_progress_by(enum sched_policy policy)
{
    flows_begin(policy, Q);
    ready("ABC");
    many_frames(4);
    struct flow *first = next();
    for (int i = 0; i < 100; i++) { /* no window */
        ck_assert_ptr_eq(next(), first);
        sched_packet_end(&s);
        sched_packet_end(&s);
        if (policy == SCHED_PACKET)
            first = next(); /* it had sent in the packet before the first of these */
    }
    send_bytes(Q, false);
    sched_packet_end(&s);
}

START_TEST(nothing_rotates_without_progress)
{
    for (int i = 0; i < FLAT; i++)
        nothing_rotates_without_progress_by(flat[i]);
}
END_TEST

START_TEST(an_idle_packet_turns_nobody_away)
{
    flows_begin(SCHED_PACKET, 100);
    ready("ABC");
    for (int i = 0; i < 10; i++)
        sched_packet_end(&s);
    ck_assert_str_eq(frames(2), "A,A");
    for (int i = 0; i < 10; i++)
        sched_packet_end(&s);
    ck_assert_str_eq(frames(1), "B");
}
END_TEST

static void ten_thousand_opens_and_closes_leave_nothing_by(enum sched_policy policy)
{
    flows_begin(policy, Q);
    ready("Z");
    for (int i = 0; i < 10000; i++) {
        struct flow *f = &flow[i % 25];
        *f = (struct flow){.frame = 1};
        sched_node_init(&f->node, &sched_priority_default);
        sched_ready(&s, &f->node);
        ck_assert_uint_eq(s.n, 2);
        sched_remove(&s, &f->node);
        memset(f, 0xa5, sizeof(*f)); /* nobody looks at it any more */
    }
    ck_assert_uint_eq(s.n, 1);
    ck_assert(sched_ok(&s));
    ck_assert_str_eq(frames(2), "Z,Z");
}

START_TEST(ten_thousand_opens_and_closes_leave_nothing)
{
    for (int i = 0; i < FLAT; i++)
        ten_thousand_opens_and_closes_leave_nothing_by(flat[i]);
}
END_TEST

static void what_may_not_be_interleaved_is_not_by(enum sched_policy policy)
{
    flows_begin(policy, 1000);
    ready("ABC");
    char first = send_bytes(Q, true);
    prioritise("DEF", (struct sched_priority){0}); /* they would go before it */
    ready("DEF");
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(send_bytes(Q, true), first);
        sched_packet_end(&s);
    }
    ck_assert_int_eq(send_bytes(0, false), first);
    many_frames(20);
}

START_TEST(what_may_not_be_interleaved_is_not)
{
    for (int i = 0; i < FLAT; i++)
        what_may_not_be_interleaved_is_not_by(flat[i]);
}
END_TEST

/* A turn of nothing, again and again, does not keep the others waiting. */
static void a_turn_without_bytes_is_a_turn_by(enum sched_policy policy)
{
    flows_begin(policy, 0);
    prioritise("ABC", (struct sched_priority){.urgency = 3, .incremental = true});
    ready("ABC");
    if (policy == SCHED_RANDOM || policy == SCHED_FIRST_COME || policy == SCHED_PACKET)
        return; /* the others have none coming */
    ck_assert_str_eq(frames(3), "A,B,C");
    if (policy != SCHED_WEIGHTED)
        ck_assert_str_eq(frames(4), "A,B,C,A");
}

START_TEST(a_turn_without_bytes_is_a_turn)
{
    for (int i = 0; i < FLAT; i++)
        a_turn_without_bytes_is_a_turn_by(flat[i]);
}
END_TEST

static void charge_the_idle(void *arg)
{
    sched_charge(&s, arg, 1, false);
}

START_TEST(only_the_ready_can_send)
{
    flows_begin(SCHED_DEFICIT, Q);
    ck_assert(dies(charge_the_idle, &flow[0].node));
    ready("AB");
    send_bytes(1, true);
    ck_assert(dies(charge_the_idle, &flow[1].node)); /* A is in the middle of something */
}
END_TEST

/* ---- round robin ---- */

START_TEST(round_robin_goes_around_by_frames)
{
    flows_begin(SCHED_ROUND_ROBIN, 1000);
    flow[1].frame = Q;
    ready("ABC");
    ck_assert_str_eq(frames(7), "A,B,C,A,B,C,A");
    ready("D"); /* comes last */
    ck_assert_str_eq(frames(5), "B,C,A,D,B");
    unready("C");
    ck_assert_str_eq(frames(4), "A,D,B,A");
    ready("C");
    ck_assert_str_eq(frames(5), "D,B,A,C,D");
}
END_TEST

START_TEST(packets_are_filled_by_one_stream_each)
{
    flows_begin(SCHED_PACKET, 400);
    ready("ABC");
    for (const char *who = "ABCAB"; *who; who++) {
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(send_bytes(400, false), *who);
        sched_packet_end(&s);
    }
    ck_assert_int_eq(last_frame(), 'C'); /* it leaves room for another, */
    ck_assert_str_eq(frames(2), "A,A");  /* which has the rest of the packet */
    sched_packet_end(&s);
    ck_assert_str_eq(frames(1), "B");
    unready("B");
    sched_packet_end(&s); /* B's turn has gone with it, and A's has not begun */
    ck_assert_str_eq(frames(1), "A");
}
END_TEST

/* ---- deficits ---- */

START_TEST(deficits_are_fair_by_bytes)
{
    flows_begin(SCHED_DEFICIT, 1000);
    flow[1].frame = Q;
    flow[2].frame = 5000;
    flow[3].frame = 1;
    ready("ABCD");
    many_frames(200000);
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_le(flow[i].sent, flow[0].sent + Q + 1000);
        ck_assert_uint_ge(flow[i].sent + Q + 1000, flow[0].sent);
    }
    ck_assert_uint_gt(flow[0].sent, 100000);
}
END_TEST

START_TEST(frames_as_large_as_the_quantum_go_one_by_one)
{
    flows_begin(SCHED_DEFICIT, Q);
    ready("ABC");
    ck_assert_str_eq(frames(7), "A,B,C,A,B,C,A");
    flows_begin(SCHED_DEFICIT, Q - 9); /* as they fill records */
    ready("ABC");
    ck_assert_str_eq(frames(7), "A,B,C,A,B,C,A");
}
END_TEST

START_TEST(a_turn_ends_nearest_to_its_quantum)
{
    flows_begin(SCHED_DEFICIT, 4000);
    ready("AB");
    /* 16,000 and 384 left; once more than half a frame has come together, 5. */
    ck_assert_str_eq(frames(9), "A,A,A,A,B,B,B,B,A");
    flows_begin(SCHED_DEFICIT, 10000);
    ready("AB");
    /* 6,384 left: one more, and 3,616 owed; 12,768: one, and 2,768 left; 19,152: two, 848 owed. */
    ck_assert_str_eq(frames(10), "A,A,B,B,A,B,A,A,B,B");
}
END_TEST

START_TEST(debts_are_kept_and_credit_is_not)
{
    flows_begin(SCHED_DEFICIT, 10000);
    ready("AB");
    many_frames(2);
    unready("A"); /* owing 3,616 */
    ready("A");
    ck_assert_str_eq(frames(4), "B,B,A,B");
    unready("A"); /* with 2,768 left, by which B alone has two frames in its turn after the next */
    ready("A");
    ck_assert_str_eq(frames(8), "B,B,A,A,B,B,A,B");
    flows_begin(SCHED_DEFICIT, 100);
    ready("AB");
    many_frames(1);
    unready("A"); /* with nearly all of its turn left */
    ready("A");
    many_frames(164);
    ck_assert_uint_eq(flow[0].sent, 100);
    ck_assert_uint_eq(flow[1].sent, 16400);
}
END_TEST

/* A tunnel that is fed one frame at a time leaves after each of them. */
START_TEST(to_leave_and_come_back_gains_nothing)
{
    for (uint32_t frame = 1000; frame <= 3 * Q; frame += 1234) {
        flows_begin(SCHED_DEFICIT, Q);
        flow[0].frame = frame;
        ready("AB");
        for (int i = 0; i < 20000; i++) {
            struct flow *f = next();
            send_bytes(f->frame, false);
            if (f != &flow[0])
                continue;
            unready("A");
            ready("A");
        }
        ck_assert_uint_le(flow[0].sent, flow[1].sent + Q + 2 * (uint64_t)frame);
    }
}
END_TEST

START_TEST(a_debt_beyond_the_quantum_is_paid_in_one_turn)
{
    flows_begin(SCHED_DEFICIT, 1000);
    ready("AB");
    send_bytes(1000000, true); /* a message of a megabyte */
    send_bytes(0, false);
    ck_assert_uint_gt(s.quantum, 900000);
    many_frames(10000);
    ck_assert_uint_le(flow[0].sent, flow[1].sent + 1000000 + Q);
    ck_assert_uint_ge(flow[0].sent + 1000000 + Q, flow[1].sent);
    unready("AB");
    ready("B");
    ck_assert_uint_eq(s.quantum, Q);
}
END_TEST

/* ---- by key ---- */

START_TEST(the_first_to_come_goes_on)
{
    flows_begin(SCHED_FIRST_COME, 1000);
    prioritise("A", (struct sched_priority){.order = 3});
    prioritise("B", (struct sched_priority){.order = 1});
    prioritise("CD", (struct sched_priority){.order = 2});
    ready("ADCB");
    ck_assert_str_eq(frames(3), "B,B,B");
    unready("B");
    ck_assert_str_eq(frames(2), "D,D"); /* it was ready before C */
    prioritise("A", (struct sched_priority){.order = 0});
    ck_assert_str_eq(frames(2), "A,A");
    prioritise("A", (struct sched_priority){.order = UINT64_MAX});
    ck_assert_str_eq(frames(2), "D,D");
}
END_TEST

START_TEST(the_lowest_priority_number_goes_first)
{
    flows_begin(SCHED_PRIORITY, 1000);
    prioritise("AB", (struct sched_priority){.priority = 2});
    prioritise("CD", (struct sched_priority){.priority = 1});
    prioritise("E", (struct sched_priority){.priority = 65535});
    ready("EABCD");
    ck_assert_str_eq(frames(5), "C,D,C,D,C"); /* in turn */
    prioritise("C", (struct sched_priority){.priority = 3});
    ck_assert_str_eq(frames(2), "D,D");
    unready("D");
    ck_assert_str_eq(frames(3), "A,B,A");
    ready("D");
    ck_assert_str_eq(frames(2), "D,D");
    unready("DAB");
    ck_assert_str_eq(frames(2), "C,C");
    unready("C");
    ck_assert_str_eq(frames(2), "E,E");
}
END_TEST

START_TEST(weights_share_the_bytes)
{
    flows_begin(SCHED_WEIGHTED, 1000);
    prioritise("A", (struct sched_priority){.weight = 1});
    prioritise("B", (struct sched_priority){.weight = 2});
    prioritise("C", (struct sched_priority){.weight = 4});
    ready("ABC");
    ck_assert_str_eq(frames(7), "A,B,C,C,B,C,C");
    many_frames(7000 - 7);
    ck_assert_str_eq(shares("ABC"), "A:143 B:286 C:571");
    ck_assert_uint_eq(flow[0].sent, 1000000);
    ck_assert_uint_eq(flow[1].sent, 2000000);
    ck_assert_uint_eq(flow[2].sent, 4000000);
}
END_TEST

/* Weights that divide nothing, and frames so small that each division leaves most of it. */
START_TEST(nothing_is_lost_to_division)
{
    flows_begin(SCHED_WEIGHTED, 1);
    prioritise("A", (struct sched_priority){.weight = 251});
    prioritise("B", (struct sched_priority){.weight = 241});
    prioritise("C", (struct sched_priority){.weight = 3});
    ready("ABC");
    many_frames(495 * 2000);
    for (int i = 0; i < 3; i++) {
        uint64_t share = flow[i].node.p.weight * UINT64_C(2000);
        ck_assert_uint_le(flow[i].sent, share + 2);
        ck_assert_uint_ge(flow[i].sent + 2, share);
    }
}
END_TEST

START_TEST(many_light_ones_beside_a_heavy_one)
{
    static struct flow light[200];
    flows_begin(SCHED_WEIGHTED, Q);
    prioritise("A", (struct sched_priority){.weight = 256});
    ready("A");
    for (int i = 0; i < 200; i++) {
        sched_node_init(&light[i].node, &(struct sched_priority){.weight = 1});
        light[i].sent = 0;
        sched_ready(&s, &light[i].node);
    }
    for (int i = 0; i < 456 * 20; i++) {
        struct flow *f = next();
        f->sent += Q;
        sched_charge(&s, &f->node, Q, false);
    }
    ck_assert_uint_eq(flow[0].sent, 256 * 20 * Q);
    for (int i = 0; i < 200; i++)
        ck_assert_uint_eq(light[i].sent, 20 * Q);
}
END_TEST

START_TEST(who_was_away_saves_nothing_and_keeps_its_debt)
{
    flows_begin(SCHED_WEIGHTED, 1000);
    ready("A");
    many_frames(1000);
    ready("B"); /* not 1,000 frames at once */
    ck_assert_str_eq(frames(6), "B,A,B,A,B,A");
    send_bytes(10000, false);
    unready("B"); /* it was one behind, and has had 10 */
    ready("B");
    ck_assert_str_eq(frames(12), "A,A,A,A,A,A,A,A,A,B,A,B");
}
END_TEST

START_TEST(a_debt_is_of_bytes_whatever_the_weight)
{
    flows_begin(SCHED_WEIGHTED, 1000);
    prioritise("AB", (struct sched_priority){.weight = 1});
    ready("AB");
    many_frames(2);
    ck_assert_int_eq(send_bytes(10000, false), 'A');
    prioritise("A", (struct sched_priority){.weight = 10}); /* 10,000 bytes at that, too */
    ck_assert_str_eq(frames(6), "B,A,B,A,A,A");
    many_frames(11000);
    ck_assert_uint_gt(flow[0].sent, 9900000);
    ck_assert_uint_lt(flow[0].sent, 10100000);
}
END_TEST

/* Each of 8, alike, whoever was before: by counts of single ones and of pairs. */
START_TEST(chance_is_fair_and_forgets)
{
    unsigned single[8] = {0};
    unsigned pair[8][8] = {{0}};
    unsigned before = 0;
    flows_begin(SCHED_RANDOM, Q);
    ready("ABCDEFGH");
    for (int i = 0; i < 64000; i++) {
        unsigned who = (unsigned)(send_bytes(Q, false) - 'A');
        single[who]++;
        pair[before][who]++;
        before = who;
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_gt(single[i], 7500); /* 8,000, and 6 standard deviations */
        ck_assert_uint_lt(single[i], 8500);
        for (int k = 0; k < 8; k++) {
            ck_assert_uint_gt(pair[i][k], 810); /* 1,000 */
            ck_assert_uint_lt(pair[i][k], 1190);
        }
    }
}
END_TEST

/* ---- urgency ---- */

static void urgencies(const char *names, uint8_t urgency, bool incremental)
{
    for (; *names; names++)
        prioritise((char[]){*names, 0}, (struct sched_priority){.order = (uint64_t)*names,
                                                                .urgency = urgency,
                                                                .incremental = incremental});
}

START_TEST(the_most_urgent_go_first)
{
    flows_begin(SCHED_URGENCY, 1000);
    urgencies("AB", 3, false);
    urgencies("C", 1, false);
    urgencies("D", 7, true);
    ready("DBAC");
    ck_assert_str_eq(frames(2), "C,C");
    unready("C");
    ck_assert_str_eq(frames(3), "A,A,A"); /* by order, to its end */
    ready("C");
    ck_assert_str_eq(frames(1), "C");
    unready("CA");
    ck_assert_str_eq(frames(2), "B,B");
    unready("B");
    ck_assert_str_eq(frames(2), "D,D");
}
END_TEST

START_TEST(incremental_ones_take_turns)
{
    flows_begin(SCHED_URGENCY, Q);
    urgencies("ABC", 3, true);
    ready("ABC");
    ck_assert_str_eq(frames(6), "A,B,C,A,B,C");
    flow[0].frame = 1000;
    many_frames(50000);
    ck_assert_str_eq(shares("ABC"), "A:333 B:333 C:333");
}
END_TEST

START_TEST(all_that_are_not_incremental_are_one_of_the_ring)
{
    flows_begin(SCHED_URGENCY, Q);
    urgencies("AB", 3, true);
    urgencies("XYZ", 3, false);
    ready("AZBYX");
    ck_assert_str_eq(frames(7), "A,X,B,A,X,B,A");
    unready("X");
    ck_assert_str_eq(frames(4), "Y,B,A,Y");
    ready("X"); /* before Y, in the same place */
    ck_assert_str_eq(frames(4), "B,A,X,B");
    unready("XYZ");
    ck_assert_str_eq(frames(4), "A,B,A,B");
}
END_TEST

START_TEST(priorities_change_at_any_time)
{
    flows_begin(SCHED_URGENCY, Q);
    urgencies("ABC", 3, true);
    ready("ABC");
    ck_assert_str_eq(frames(1), "A");
    urgencies("C", 2, true);
    ck_assert_str_eq(frames(2), "C,C");
    urgencies("C", 4, false);
    ck_assert_str_eq(frames(3), "B,A,B");
    urgencies("A", 3, false);
    urgencies("B", 3, false);
    ck_assert_str_eq(frames(3), "A,A,A");
    urgencies("A", 3, true);
    ck_assert_str_eq(frames(4), "B,A,B,A");
    urgencies("D", 0, false); /* not ready: for when it is */
    ck_assert_str_eq(frames(1), "B");
    ready("D");
    ck_assert_str_eq(frames(2), "D,D");
}
END_TEST

START_TEST(no_class_is_starved)
{
    flows_begin(SCHED_URGENCY, Q);
    urgencies("A", 0, false);
    urgencies("B", 3, true);
    urgencies("C", 7, false);
    flow[1].frame = 700;
    flow[2].frame = 100;
    ready("ABC");
    many_frames(99);
    ck_assert_uint_eq(flow[1].sent + flow[2].sent, 0); /* not before a quantum is due to them */
    many_frames(100000);
    ck_assert_str_eq(shares("ABC"), "A:980 B:10 C:10");
}
END_TEST

START_TEST(the_share_of_classes_is_what_was_asked_for)
{
    flows_begin(SCHED_URGENCY, 1000);
    settings.min_share = 100;
    urgencies("A", 2, true);
    urgencies("B", 5, true);
    ready("AB");
    many_frames(100000);
    ck_assert_str_eq(shares("AB"), "A:900 B:100");
    flows_begin(SCHED_URGENCY, 1000);
    settings.min_share = 1000; /* more than there is: a seventh, but for what A has at first */
    for (uint8_t i = 0; i < 8; i++)
        urgencies((char[]){(char)('A' + i), 0}, i, true);
    ready("ABCDEFGH");
    many_frames(100000);
    ck_assert_str_eq(shares("ABCDEFGH"), "A:7 B:142 C:142 D:142 E:142 F:142 G:142 H:142");
}
END_TEST

/* A relay that is fed one frame at a time leaves its class empty after each. */
START_TEST(a_class_that_comes_and_goes_has_its_share)
{
    flows_begin(SCHED_URGENCY, Q);
    urgencies("A", 1, true);
    urgencies("B", 6, true);
    flow[1].frame = 1000;
    ready("AB");
    for (int i = 0; i < 100000; i++) {
        if (send_bytes(next()->frame, false) == 'B') {
            unready("B");
            ready("B");
        }
    }
    ck_assert_str_eq(shares("AB"), "A:990 B:10");
}
END_TEST

/* It had the line alone for long, and is not in debt for that. */
START_TEST(what_a_class_had_in_order_is_no_debt)
{
    flows_begin(SCHED_URGENCY, Q);
    urgencies("A", 1, true);
    urgencies("B", 6, true);
    ready("B");
    many_frames(100000);
    ready("A");
    ck_assert_str_eq(frames(3), "A,A,A");
    many_frames(97);
    ck_assert_int_eq(send_bytes(Q, false), 'B');
    ck_assert_int_eq(send_bytes(Q, false), 'A');
}
END_TEST

/* ---- any history ---- */

START_TEST(random_histories_agree_with_the_model)
{
    uint8_t bytes[2048];
    struct rng rng;
    uint32_t picks = 0;
    for (uint64_t seed = 0; seed < 1100; seed++) {
        rng_seed(&rng, seed);
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)rng_u64(&rng);
        bytes[0] = (uint8_t)seed; /* policies alike */
        picks += sched_model_run(bytes, sizeof(bytes));
    }
    ck_assert_uint_gt(picks, 300000);
}
END_TEST

UNIT_MAIN("sched", NULL, NULL, policies_have_names, nobody_is_ready_at_first, ready_twice_is_once,
          closed_inside_its_own_turn, a_slot_used_again_has_nothing_of_the_last_one,
          nothing_rotates_without_progress, an_idle_packet_turns_nobody_away,
          ten_thousand_opens_and_closes_leave_nothing, what_may_not_be_interleaved_is_not,
          a_turn_without_bytes_is_a_turn, only_the_ready_can_send,
          round_robin_goes_around_by_frames, packets_are_filled_by_one_stream_each,
          deficits_are_fair_by_bytes, frames_as_large_as_the_quantum_go_one_by_one,
          a_turn_ends_nearest_to_its_quantum, debts_are_kept_and_credit_is_not,
          to_leave_and_come_back_gains_nothing, a_debt_beyond_the_quantum_is_paid_in_one_turn,
          the_first_to_come_goes_on, the_lowest_priority_number_goes_first, weights_share_the_bytes,
          nothing_is_lost_to_division, many_light_ones_beside_a_heavy_one,
          who_was_away_saves_nothing_and_keeps_its_debt, a_debt_is_of_bytes_whatever_the_weight,
          chance_is_fair_and_forgets, the_most_urgent_go_first, incremental_ones_take_turns,
          all_that_are_not_incremental_are_one_of_the_ring, priorities_change_at_any_time,
          no_class_is_starved, the_share_of_classes_is_what_was_asked_for,
          a_class_that_comes_and_goes_has_its_share, what_a_class_had_in_order_is_no_debt,
          random_histories_agree_with_the_model)
