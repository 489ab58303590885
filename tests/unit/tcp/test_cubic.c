/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/cc_cubic.h"

#include <string.h>

#include "base/rng.h"
#include "cc_flow.h"

#define LARGE (UINT32_C(1) << 30)
#define HOUR  (3600 * TICK_SEC)

static struct flow f;

static void setup(void)
{
    flow_open(&f, TCP_CUBIC, LARGE);
}

/* ---- arithmetic ---- */

static bool is_root(uint64_t root, uint64_t n)
{
    long double next = (long double)(root + 1);
    return root * root * root <= n && next * next * next > (long double)n;
}

START_TEST(cube_roots_are_exact)
{
    uint64_t wrong = 0;
    for (uint64_t n = 0; n < 100000; n++)
        wrong += !is_root(tcp_cube_root(n), n);
    for (uint64_t r = 1; r <= 2642245; r += 997) {
        wrong += tcp_cube_root(r * r * r) != r;
        wrong += tcp_cube_root(r * r * r - 1) != r - 1;
    }
    ck_assert_uint_eq(tcp_cube_root(UINT64_MAX), 2642245);
    struct rng rng;
    rng_seed(&rng, 7);
    for (int i = 0; i < 100000; i++) {
        uint64_t n = rng_u64(&rng) >> rng_below(&rng, 64);
        wrong += !is_root(tcp_cube_root(n), n);
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* RFC 9438's in floating point: segments and seconds. */
static long double cube_root(long double x)
{
    long double r = x > 1 ? x : 1;
    for (int i = 0; i < 64; i++)
        r -= (r * r * r - x) / (3 * r * r);
    return r;
}

static long double distance(long double a, long double b)
{
    return a > b ? a - b : b - a;
}

START_TEST(rises_as_the_formula)
{
    for (uint64_t us = 0; us < 2000000000; us += us / 50 + 1) {
        long double t = (long double)us / 1e6L;
        long double right = 0.4L * t * t * t * MSS;
        ck_assert(distance((long double)tcp_cubic_rise(MSS, us), right) < 2 + 0.0004L * t * MSS);
    }
    uint64_t most = tcp_cubic_rise(1, UINT64_MAX);
    ck_assert_uint_gt(most, UINT32_MAX);
    ck_assert_uint_eq(tcp_cubic_rise(1, 1000 * HOUR), most);
    ck_assert_uint_gt(tcp_cubic_rise(UINT16_MAX, UINT64_MAX), UINT32_MAX);
}
END_TEST

START_TEST(time_is_the_inverse)
{
    static const uint32_t sizes[] = {1, 88, 536, MSS, 8960, UINT16_MAX};
    for (unsigned i = 0; i < 6; i++)
        for (uint64_t bytes = 1; bytes <= UINT32_MAX; bytes += bytes / 20 + 1) {
            long double s = cube_root((long double)bytes / sizes[i] / 0.4L);
            long double got = tcp_cubic_time(sizes[i], (uint32_t)bytes);
            ck_assert(distance(got, s * 1e6L) < 2 + s);
        }
    ck_assert_uint_eq(tcp_cubic_time(MSS, 0), 0);
}
END_TEST

/* ---- the window ---- */

/* All of RFC 9438 4.2 to 4.5 in floating point, bytes. */
struct model {
    long double cwnd, w_max, w_est, prior, k;
    tick_t epoch;
};

static void model_begin(struct model *m, const struct flow *flow, long double w_max,
                        long double prior)
{
    m->cwnd = m->w_est = flow->cc.cwnd;
    m->w_max = w_max;
    m->prior = prior;
    m->k = cube_root((w_max - m->cwnd) / MSS / 0.4L);
    m->epoch = flow->now;
}

static long double model_curve(const struct model *m, tick_t t)
{
    long double s = (long double)t / 1e9L - m->k;
    return 0.4L * s * s * s * MSS + m->w_max;
}

static void model_ack(struct model *m, uint32_t n, tick_t now, tick_t rtt)
{
    m->w_est += (m->w_est < m->prior ? 9.0L / 17 : 1) * MSS * n / m->cwnd;
    if (model_curve(m, now - m->epoch) < m->w_est) {
        m->cwnd = m->w_est > m->cwnd ? m->w_est : m->cwnd;
        return;
    }
    long double target = model_curve(m, now - m->epoch + rtt);
    target = target > 1.5L * m->cwnd ? 1.5L * m->cwnd : target;
    if (target > m->cwnd)
        m->cwnd += n * (target - m->cwnd) / m->cwnd;
}

/* From a loss at `window`, side by side for so long. At most 200 acknowledgments a round trip. */
static void compare(uint32_t window, tick_t rtt, tick_t span)
{
    setup();
    f.rtt = rtt;
    flow_avoid(&f, window);
    struct model m = {0};
    bool begun = false;
    for (tick_t end = f.now + span; f.now < end && f.cc.cwnd < LARGE / 2;) {
        uint32_t n = f.cc.cwnd / 200 > MSS ? f.cc.cwnd / 200 : MSS;
        f.now += f.rtt * n / f.cc.cwnd;
        if (!begun)
            model_begin(&m, &f, window, window);
        begun = true;
        model_ack(&m, n, f.now, f.rtt);
        flow_ack(&f, n);
        long double off = distance(m.cwnd, f.cc.cwnd);
        if (off >= MSS && off >= m.cwnd / 10000)
            ck_abort_msg("%Lf, not %u, after %Lf s", m.cwnd, f.cc.cwnd,
                         (long double)(f.now - m.epoch) / 1e9L);
    }
}

START_TEST(grows_as_rfc_9438_says)
{
    compare(20 * MSS, TICK_MS, 20 * TICK_SEC); /* Reno's region */
    compare(20 * MSS, 10 * TICK_MS, 60 * TICK_SEC);
    compare(100 * MSS, 40 * TICK_MS, 120 * TICK_SEC);
    compare(1000 * MSS, 100 * TICK_MS, 180 * TICK_SEC);
    compare(10000 * MSS, 300 * TICK_MS, 300 * TICK_SEC);
    compare(400000000, 100 * TICK_MS, 120 * TICK_SEC);
}
END_TEST

START_TEST(is_where_it_was_after_k)
{
    flow_avoid(&f, 1000 * MSS);
    tick_t start = f.now;
    flow_round(&f, MSS);
    /* cbrt(300 / 0.4): nine seconds and a little */
    ck_assert_uint_ge(f.cc.cubic.stage.k, 9085600);
    ck_assert_uint_le(f.cc.cubic.stage.k, 9085603);
    uint32_t half = 0;
    while (f.now < start + 9085 * TICK_MS) {
        flow_round(&f, MSS);
        if (half == 0 && f.now >= start + 4543 * TICK_MS)
            half = f.cc.cwnd;
    }
    ck_assert_uint_ge(f.cc.cwnd, 999 * MSS);
    ck_assert_uint_le(f.cc.cwnd, 1001 * MSS);
    /* Half the time makes seven eighths of the way. */
    ck_assert_uint_ge(half, 959 * MSS);
    ck_assert_uint_le(half, 967 * MSS);
}
END_TEST

/* Mean growth of a round trip over so many. */
static double mean_growth(unsigned rounds)
{
    uint32_t before = f.cc.cwnd;
    for (unsigned i = 0; i < rounds; i++)
        flow_round(&f, MSS);
    return (double)(f.cc.cwnd - before) / MSS / rounds;
}

START_TEST(on_a_short_path_it_is_as_fast_as_reno)
{
    f.rtt = TICK_MS;
    flow_avoid(&f, 40 * MSS);
    double slower = mean_growth(20); /* to regain 12 segments takes 22 */
    ck_assert(slower > 0.50 && slower < 0.53);
    mean_growth(4);
    double after = mean_growth(20);
    ck_assert(after > 0.97 && after < 1.03);
}
END_TEST

START_TEST(small_acknowledgments_make_a_large_window_grow_too)
{
    flow_avoid(&f, LARGE);
    flow_ack(&f, MSS);
    uint32_t before = f.cc.cwnd;
    /* A hundredth of the window in pieces of which each is worth less than a byte. */
    uint32_t n = before / 100 / MSS;
    tick_t start = f.now;
    for (uint32_t i = 1; i <= n; i++) {
        f.now = start + TICK_MS * i / n;
        flow_ack(&f, MSS);
    }
    uint32_t fine = f.cc.cwnd - before;
    setup();
    flow_avoid(&f, LARGE);
    flow_ack(&f, MSS);
    f.now += TICK_MS / 2;
    flow_ack(&f, n * MSS);
    uint32_t coarse = f.cc.cwnd - before;
    ck_assert_uint_gt(fine, 1000);
    ck_assert_int_le(abs((int)fine - (int)coarse), (int)(fine / 100));
}
END_TEST

START_TEST(an_old_stage_and_a_large_window_do_not_overflow)
{
    flow_avoid(&f, LARGE);
    flow_ack(&f, MSS);
    for (int hours = 0; hours < 1000; hours++) {
        uint32_t before = f.cc.cwnd;
        f.cc.cubic.updated = f.now += HOUR; /* no pause */
        flow_ack(&f, 64 * MSS);
        ck_assert_uint_ge(f.cc.cwnd, before);
        ck_assert_uint_le(f.cc.cwnd, LARGE);
    }
    flow_round(&f, 64 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, LARGE);
}
END_TEST

START_TEST(never_grows_by_more_than_half_a_round_trip)
{
    flow_avoid(&f, 100 * MSS);
    flow_round(&f, MSS);
    f.cc.cubic.updated = f.now += HOUR;
    uint32_t before = f.cc.cwnd;
    flow_ack(&f, before);
    ck_assert_uint_eq(f.cc.cwnd, before + before / 2);
}
END_TEST

/* ---- reductions ---- */

START_TEST(loss_takes_three_tenths)
{
    f.cc.cwnd = f.cc.ssthresh = 100 * MSS;
    f.cc.cubic = (struct tcp_cubic){.stage.epoch = TICK_NEVER};
    f.cc.ops->congested(&f.cc, 100 * MSS, false, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 70 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 100 * MSS);
    ck_assert_uint_eq(f.cc.cubic.stage.w_max, 100 * MSS);
}
END_TEST

START_TEST(what_is_in_flight_counts_for_ssthresh)
{
    flow_avoid(&f, 100 * MSS);
    f.cc.ops->congested(&f.cc, 20 * MSS, false, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 14 * MSS);
}
END_TEST

START_TEST(loss_below_the_last_maximum_gives_way_faster)
{
    flow_avoid(&f, 100 * MSS);
    flow_lose(&f); /* at 70 */
    ck_assert_uint_eq(f.cc.cubic.stage.w_max, 70 * MSS * 85 / 100);
    ck_assert_uint_eq(f.cc.ssthresh, 49 * MSS);
}
END_TEST

START_TEST(loss_above_it_does_not)
{
    flow_avoid(&f, 100 * MSS);
    f.cc.cwnd = 101 * MSS;
    flow_lose(&f);
    ck_assert_uint_eq(f.cc.cubic.stage.w_max, 101 * MSS);
}
END_TEST

START_TEST(ecn_takes_half_of_that)
{
    flow_avoid(&f, 100 * MSS);
    f.cc.cwnd = 100 * MSS;
    f.cc.ops->congested(&f.cc, 100 * MSS, true, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 85 * MSS);
}
END_TEST

START_TEST(ecn_in_slow_start_counts_as_loss)
{
    f.cc.ops->congested(&f.cc, 10 * MSS, true, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 7 * MSS);
}
END_TEST

START_TEST(loss_leaves_two_segments_ecn_one)
{
    for (int i = 0; i < 20; i++)
        flow_lose(&f);
    ck_assert_uint_eq(f.cc.cwnd, 2 * MSS);
    for (int i = 0; i < 20; i++) {
        f.cc.ops->congested(&f.cc, f.cc.cwnd, true, f.now);
        f.cc.cwnd = f.cc.ssthresh;
    }
    ck_assert_uint_eq(f.cc.cwnd, MSS);
}
END_TEST

START_TEST(a_timeout_forgets_the_maximum)
{
    flow_avoid(&f, 1000 * MSS);
    flow_round(&f, MSS);
    f.cc.cwnd = 900 * MSS;
    flow_time_out(&f);
    ck_assert_uint_eq(f.cc.ssthresh, 630 * MSS);
    while (tcp_cc_slow_start(&f.cc))
        flow_round(&f, MSS);
    flow_ack(&f, MSS);
    ck_assert_uint_eq(f.cc.cubic.stage.k, 0);
    ck_assert_uint_eq(f.cc.cubic.stage.w_max, 630 * MSS);
    ck_assert_uint_eq(f.cc.cubic.stage.prior, 900 * MSS);
}
END_TEST

START_TEST(slow_start_without_loss_goes_on_from_where_it_is)
{
    flow_round(&f, MSS);
    f.rtt += 20 * TICK_MS;
    for (int i = 0; i < 6; i++)
        flow_round(&f, MSS);
    ck_assert(!tcp_cc_slow_start(&f.cc));
    uint32_t start = f.cc.ssthresh;
    ck_assert_uint_eq(f.cc.cubic.stage.w_max, start);
    ck_assert_uint_eq(f.cc.cubic.stage.k, 0);
    double growth = mean_growth(20);
    ck_assert(growth > 0.97); /* alpha is 1: nothing has been lost that is to be regained */
}
END_TEST

/* ---- pauses ---- */

static struct flow twin;

/* Both have gone through the same; f pauses, and then both do the same again. */
static void same_after(void)
{
    for (int i = 0; i < 50; i++) {
        flow_round(&f, MSS);
        flow_round(&twin, MSS);
        uint32_t window = twin.cc.cwnd;
        ck_assert_int_le(abs((int)f.cc.cwnd - (int)window), (int)(window / 500));
    }
}

static void in_the_middle(void)
{
    flow_avoid(&f, 1000 * MSS);
    for (int i = 0; i < 30; i++)
        flow_round(&f, MSS);
    twin = f;
}

START_TEST(time_does_not_pass_while_the_window_is_not_in_use)
{
    in_the_middle();
    f.unused = true;
    for (int i = 0; i < 6000; i++) { /* ten minutes */
        f.now += f.rtt;
        flow_ack(&f, MSS);
    }
    f.unused = false;
    ck_assert_uint_eq(f.cc.cwnd, twin.cc.cwnd);
    same_after();
}
END_TEST

START_TEST(nor_while_nothing_is_sent)
{
    in_the_middle();
    f.now += 600 * TICK_SEC + f.rtt;
    twin.now += twin.rtt;
    same_after();
}
END_TEST

START_TEST(short_gaps_are_none)
{
    in_the_middle();
    for (int i = 0; i < 50; i++) {
        f.now += f.rtt * (i % 2 ? 19 : 1) / 10; /* unsteady, one acknowledgment a round trip */
        flow_ack(&f, f.cc.cwnd);
        flow_round(&twin, MSS);
    }
    ck_assert_int_le(abs((int)f.cc.cwnd - (int)twin.cc.cwnd), (int)(20 * MSS));
    ck_assert_uint_eq(f.cc.cubic.stage.epoch, twin.cc.cubic.stage.epoch);
}
END_TEST

START_TEST(after_a_long_silence_a_new_stage_begins)
{
    in_the_middle();
    uint32_t w_max = f.cc.cubic.stage.w_max;
    f.now += HOUR;
    f.cc.ops->restarted(&f.cc, f.now);
    ck_assert_uint_eq(f.cc.cwnd, 10 * MSS);
    while (tcp_cc_slow_start(&f.cc))
        flow_round(&f, MSS);
    flow_round(&f, MSS);
    ck_assert_uint_gt(f.cc.cubic.stage.epoch, HOUR);
    ck_assert_uint_eq(f.cc.cubic.stage.w_max, w_max);
    ck_assert_uint_gt(f.cc.cubic.stage.k, 9000000);
}
END_TEST

/* ---- mistakes ---- */

static void undo(const struct tcp_cc *before)
{
    f.cc.cwnd = before->cwnd;
    f.cc.ssthresh = before->ssthresh;
    f.cc.ops->undone(&f.cc, f.now);
}

START_TEST(a_mistaken_loss_changes_nothing)
{
    in_the_middle();
    struct tcp_cc before = f.cc;
    flow_lose(&f);
    flow_ack(&f, MSS);
    undo(&before);
    ck_assert_int_eq(memcmp(&f.cc.cubic.stage, &before.cubic.stage, sizeof(before.cubic.stage)), 0);
    same_after();
}
END_TEST

START_TEST(nor_does_a_mistaken_timeout)
{
    in_the_middle();
    struct tcp_cc before = f.cc;
    flow_time_out(&f);
    flow_ack(&f, MSS);
    undo(&before);
    ck_assert_int_eq(memcmp(&f.cc.cubic.stage, &before.cubic.stage, sizeof(before.cubic.stage)), 0);
    flow_ack(&f, MSS);
    flow_ack(&twin, MSS);
    same_after();
}
END_TEST

START_TEST(a_mistake_in_the_first_slow_start_is_forgotten)
{
    struct tcp_cc before = f.cc;
    flow_lose(&f);
    undo(&before);
    flow_round(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 20 * MSS);
    /* Round trips are watched as before. */
    flow_round(&f, MSS);
    f.rtt += 20 * TICK_MS;
    for (int i = 0; i < 7; i++)
        flow_round(&f, MSS);
    ck_assert(!tcp_cc_slow_start(&f.cc));
}
END_TEST

START_TEST(other_segments_begin_a_stage_that_fits_them)
{
    in_the_middle();
    uint32_t before = f.cc.cwnd;
    tcp_cc_set_mss(&f.cc, 536);
    f.now += f.rtt;
    flow_ack(&f, 536);
    ck_assert_uint_ge(f.cc.cwnd, before);
    ck_assert_uint_le(f.cc.cwnd, before + 536);
    ck_assert_uint_eq(f.cc.cubic.stage.epoch, f.now);
    ck_assert_uint_eq(f.cc.cubic.stage.k, tcp_cubic_time(536, 1000 * MSS - before));
}
END_TEST

UNIT_MAIN("cubic", setup, NULL, cube_roots_are_exact, rises_as_the_formula, time_is_the_inverse,
          grows_as_rfc_9438_says, is_where_it_was_after_k, on_a_short_path_it_is_as_fast_as_reno,
          small_acknowledgments_make_a_large_window_grow_too,
          an_old_stage_and_a_large_window_do_not_overflow,
          never_grows_by_more_than_half_a_round_trip, loss_takes_three_tenths,
          what_is_in_flight_counts_for_ssthresh, loss_below_the_last_maximum_gives_way_faster,
          loss_above_it_does_not, ecn_takes_half_of_that, ecn_in_slow_start_counts_as_loss,
          loss_leaves_two_segments_ecn_one, a_timeout_forgets_the_maximum,
          slow_start_without_loss_goes_on_from_where_it_is,
          time_does_not_pass_while_the_window_is_not_in_use, nor_while_nothing_is_sent,
          short_gaps_are_none, after_a_long_silence_a_new_stage_begins,
          a_mistaken_loss_changes_nothing, nor_does_a_mistaken_timeout,
          a_mistake_in_the_first_slow_start_is_forgotten,
          other_segments_begin_a_stage_that_fits_them)
