/* SPDX-License-Identifier: BSD-3-Clause */
/* RFC 4861 7.3 and its appendix C, edge by edge. */
#include "stack/neigh.h"

#include <string.h>

#include "support/heap.h"
#include "support/unit.h"

static const struct mac_addr MAC_A = {{2, 0, 0, 0, 0, 0xa}};
static const struct mac_addr MAC_B = {{2, 0, 0, 0, 0, 0xb}};

static struct heap heap;
static struct heap_pool pool;
static struct wheel wheel;
static struct counters counters;
static struct neigh_args args;
static struct neigh_cache *cache;
static tick_t now;
static struct ip_addr gateway;

static struct {
    unsigned n;
    bool unicast;
    struct ip_addr addr;
    struct mac_addr to;
    uint16_t iface;
    tick_t when;
} asked;

static struct {
    unsigned n;
    uint32_t first, last; /* user of the packets */
    struct mac_addr mac;
    uint16_t iface;
} sent;

static struct ip_addr addr(unsigned n)
{
    return (struct ip_addr){{0xfe, 0x80, [14] = (uint8_t)(n >> 8), (uint8_t)n}};
}

static void on_solicit(void *ctx, uint16_t iface, const struct ip_addr *a,
                       const struct mac_addr *to, tick_t when)
{
    ck_assert_ptr_eq(ctx, &args);
    asked.n++;
    asked.unicast = to;
    asked.addr = *a;
    asked.iface = iface;
    asked.when = when;
    if (to)
        asked.to = *to;
}

static void on_transmit(void *ctx, uint16_t iface, struct pkt *p, const struct mac_addr *mac,
                        tick_t when)
{
    ck_assert_ptr_eq(ctx, &args);
    ck_assert_uint_eq(when, now);
    if (sent.n++ == 0)
        sent.first = p->user;
    ck_assert(sent.n == 1 || p->user == sent.last + 1); /* in order */
    sent.last = p->user;
    sent.mac = *mac;
    sent.iface = iface;
    pkt_free(p);
}

static bool on_is_router(void *ctx, uint16_t iface, const struct ip_addr *a)
{
    (void)iface;
    ck_assert_ptr_eq(ctx, &args);
    return ip_eq(a, &gateway);
}

#define WAITING 9

static void make(uint32_t max, uint32_t queue)
{
    args = (struct neigh_args){.mem = &heap.mem,
                               .wheel = &wheel,
                               .counters = &counters,
                               .key = {1, 2},
                               .seed = 5,
                               .max = max,
                               .queue = queue,
                               .waiting = WAITING,
                               .solicit = on_solicit,
                               .transmit = on_transmit,
                               .is_router = on_is_router,
                               .ctx = &args};
    cache = neigh_create(&args);
    ck_assert_ptr_nonnull(cache);
}

static void setup(void)
{
    heap_init(&heap);
    heap_pool_init(&pool, 64, 256);
    now = 77 * TICK_SEC;
    wheel_init(&wheel, now);
    gateway = addr(999);
    make(16, 3);
}

static void teardown(void)
{
    if (cache)
        neigh_destroy(cache);
    ck_assert_uint_eq(wheel_next(&wheel), TICK_NEVER);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(heap.blocks, 0);
}

/* Time goes by, timers fire when they are due. */
static void pass(tick_t d)
{
    tick_t end = now + d;
    for (tick_t next; (next = wheel_next(&wheel)) <= end;) {
        now = next > now ? next : now;
        wheel_expire(&wheel, now);
    }
    now = end;
    wheel_expire(&wheel, now);
}

static uint32_t serial;

static void send_on(uint16_t iface, unsigned n)
{
    struct ip_addr a = addr(n);
    struct pkt *p = heap_pkt(&pool, "packet", 6, 0);
    p->user = ++serial;
    neigh_send(cache, iface, &a, p, now);
}

static void send(unsigned n)
{
    send_on(0, n);
}

static bool learn(unsigned n, const struct mac_addr *mac, bool solicited, bool override,
                  bool create)
{
    struct ip_addr a = addr(n);
    struct neigh_news news = {
        .mac = mac, .solicited = solicited, .override = override, .create = create};
    return neigh_learn(cache, 0, &a, &news, now);
}

static bool row(unsigned n, struct ctl_neighbour *r)
{
    struct ctl_neighbour rows[64];
    uint64_t cursor = 0;
    uint32_t got = 0;
    struct ip_addr a = addr(n);
    ck_assert(!neigh_list(cache, rows, 64, &cursor, &got, now));
    ck_assert_uint_eq(got, neigh_count(cache));
    for (uint32_t i = 0; i < got; i++)
        if (ip_eq(&rows[i].addr, &a)) {
            *r = rows[i];
            return true;
        }
    return false;
}

#define GONE (-1)

static int state(unsigned n)
{
    struct ctl_neighbour r;
    return row(n, &r) ? (int)r.state : GONE;
}

/* How long the neighbour stays REACHABLE. */
static tick_t until_stale(unsigned n)
{
    tick_t start = now;
    while (state(n) == CTL_NEIGHBOUR_REACHABLE)
        pass(wheel_next(&wheel) - now);
    ck_assert_int_eq(state(n), CTL_NEIGHBOUR_STALE);
    return now - start;
}

static struct mac_addr mac(unsigned n)
{
    struct ctl_neighbour r = {0};
    row(n, &r);
    return r.mac;
}

static void expect_asked(unsigned n, bool unicast)
{
    ck_assert_uint_eq(asked.n, n);
    ck_assert_uint_eq(asked.unicast, unicast);
    asked.n = 0;
}

static void expect_sent(unsigned n)
{
    ck_assert_uint_eq(sent.n, n);
    memset(&sent, 0, sizeof(sent));
}

static uint64_t dropped(enum drop why)
{
    return counter_drops(&counters, why);
}

/* An entry of each state, for neighbour 1 with MAC_A where it is known. */
static void to_incomplete(void)
{
    send(1);
    expect_asked(1, false);
}

static void to_reachable(void)
{
    to_incomplete();
    learn(1, &MAC_A, true, true, false);
    expect_sent(1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
}

static void to_stale(void)
{
    learn(1, &MAC_A, false, true, true);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_STALE);
}

static void to_delay(void)
{
    to_stale();
    send(1);
    expect_sent(1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_DELAY);
}

static void to_probe(void)
{
    to_delay();
    pass(5 * TICK_SEC);
    expect_asked(1, true);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_PROBE);
}

static void to_failed(void)
{
    to_incomplete();
    pass(3 * TICK_SEC);
    asked.n = 0;
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_FAILED);
}

/* RFC 4861 7.2.2 */
START_TEST(an_unknown_neighbour_is_asked_for_three_times)
{
    send(1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_INCOMPLETE);
    ck_assert_mem_eq(asked.addr.b, addr(1).b, 16);
    expect_asked(1, false);
    send(1);
    ck_assert_uint_eq(asked.n, 0); /* one question is enough */
    pass(TICK_SEC - 1);
    ck_assert_uint_eq(asked.n, 0);
    pass(1);
    expect_asked(1, false);
    pass(TICK_SEC);
    expect_asked(1, false);
    pass(TICK_SEC - 1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_INCOMPLETE);
    ck_assert_uint_eq(dropped(DROP_NEIGH_UNREACHABLE), 0);
    pass(1);
    ck_assert_uint_eq(asked.n, 0);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_FAILED);
    ck_assert_uint_eq(dropped(DROP_NEIGH_UNREACHABLE), 2);
    expect_sent(0);
}
END_TEST

START_TEST(a_failed_one_is_left_alone_for_a_second)
{
    to_failed();
    send(1);
    ck_assert_uint_eq(asked.n, 0);
    ck_assert_uint_eq(dropped(DROP_NEIGH_UNREACHABLE), 2);
    pass(TICK_SEC - 1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_FAILED);
    pass(1);
    ck_assert_int_eq(state(1), GONE);
    send(1);
    expect_asked(1, false);
}
END_TEST

START_TEST(packets_wait_in_order_and_the_oldest_makes_room)
{
    for (int i = 0; i < 5; i++)
        send(1);
    struct ctl_neighbour r;
    ck_assert(row(1, &r));
    ck_assert_uint_eq(r.queued, 3);
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 2);
    ck_assert(learn(1, &MAC_A, true, true, false));
    ck_assert_uint_eq(sent.first, 3);
    ck_assert_uint_eq(sent.last, 5);
    ck_assert_mem_eq(sent.mac.b, MAC_A.b, 6);
    expect_sent(3);
    ck_assert_uint_eq(counter_drops(&counters, DROP_NEIGH_UNREACHABLE), 0);
}
END_TEST

/* Who is asked for longest loses first, a packet at a time; nobody else does. */
START_TEST(what_waits_for_all_is_bounded)
{
    struct ctl_neighbour r;
    for (unsigned n = 1; n <= 3; n++)
        for (int i = 0; i < 3; i++)
            send(n);
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 0);
    send(4);
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 1);
    ck_assert(row(1, &r) && r.queued == 2);
    send(4);
    send(4);
    ck_assert(row(1, &r) && r.queued == 0 && r.state == CTL_NEIGHBOUR_INCOMPLETE);
    send(5);
    ck_assert(row(2, &r) && r.queued == 2);
    send(1); /* waits again, as the last */
    send(5);
    ck_assert(row(2, &r) && r.queued == 0);
    ck_assert(row(1, &r) && r.queued == 1);
    ck_assert(row(4, &r) && r.queued == 3);
    pass(3 * TICK_SEC);
    ck_assert_uint_eq(counter_drops(&counters, DROP_NEIGH_UNREACHABLE), WAITING);
    ck_assert_uint_eq(pool.held, 0);
}
END_TEST

static void send_chain(unsigned n, unsigned views)
{
    struct ip_addr a = addr(n);
    struct pkt *p = heap_pkt(&pool, "packet", 6, 0);
    for (unsigned i = 1; i < views; i++)
        pkt_append(p, heap_pkt(&pool, "more", 4, 0));
    p->user = ++serial;
    neigh_send(cache, 0, &a, p, now);
}

/* A short packet that came in many fragments holds many buffers. */
START_TEST(what_waits_is_counted_in_buffers)
{
    struct ctl_neighbour r;
    send_chain(1, WAITING);
    ck_assert_uint_eq(pool.held, WAITING);
    send_chain(2, WAITING - 1);
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 1);
    ck_assert_uint_eq(pool.held, WAITING - 1);
    send(2);
    ck_assert(row(2, &r) && r.queued == 2);
    send_chain(3, 2);
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 2);
    ck_assert(row(2, &r) && r.queued == 1);
    send_chain(2, WAITING); /* all of its own, and then all others' */
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 4);
    ck_assert(row(2, &r) && r.queued == 1);
    ck_assert(row(3, &r) && r.queued == 0);
    send_chain(3, WAITING + 1);
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 5);
    ck_assert_uint_eq(pool.held, WAITING);
    learn(2, &MAC_A, true, true, false);
    expect_sent(1);
    ck_assert_uint_eq(pool.held, 0);
}
END_TEST

START_TEST(a_queue_of_one)
{
    neigh_destroy(cache);
    make(4, 1);
    send(1);
    send(1);
    ck_assert_uint_eq(dropped(DROP_NEIGH_QUEUE_FULL), 1);
    learn(1, &MAC_A, true, true, false);
    ck_assert_uint_eq(sent.first, 2);
    expect_sent(1);
}
END_TEST

START_TEST(reachable_lasts_half_to_one_and_a_half_of_thirty_seconds)
{
    tick_t shortest = TICK_NEVER, longest = 0;
    for (unsigned n = 1; n <= 7; n++) {
        send(n);
        learn(n, &MAC_A, true, true, false);
        tick_t lasts = until_stale(n);
        shortest = lasts < shortest ? lasts : shortest;
        longest = lasts > longest ? lasts : longest;
    }
    ck_assert_uint_ge(shortest, 15 * TICK_SEC);
    ck_assert_uint_lt(longest, 45 * TICK_SEC);
    ck_assert_uint_gt(longest, shortest);
}
END_TEST

START_TEST(stale_has_no_timer_and_use_makes_it_delay)
{
    to_stale();
    ck_assert_uint_eq(wheel_next(&wheel), TICK_NEVER);
    pass(3600 * TICK_SEC);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_STALE);
    send(1);
    expect_sent(1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_DELAY);
    pass(5 * TICK_SEC - 1);
    send(1); /* does not put it off */
    expect_sent(1);
    ck_assert_uint_eq(asked.n, 0);
    pass(1);
    expect_asked(1, true);
    ck_assert_mem_eq(asked.to.b, MAC_A.b, 6);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_PROBE);
}
END_TEST

START_TEST(a_probe_is_unicast_and_sent_three_times)
{
    to_probe();
    send(1); /* packets still go */
    expect_sent(1);
    pass(TICK_SEC);
    expect_asked(1, true);
    pass(TICK_SEC);
    expect_asked(1, true);
    pass(TICK_SEC - 1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_PROBE);
    pass(1);
    ck_assert_uint_eq(asked.n, 0);
    ck_assert_int_eq(state(1), GONE); /* RFC 4861 7.3.3 */
    send(1);
    expect_asked(1, false);
}
END_TEST

START_TEST(an_answer_to_a_probe_proves_reachability)
{
    to_probe();
    learn(1, &MAC_A, true, true, false);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
    pass(14 * TICK_SEC);
    ck_assert_uint_eq(asked.n, 0);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
}
END_TEST

/* RFC 4861 7.3.1 */
START_TEST(progress_of_an_upper_layer_is_proof)
{
    struct ip_addr a = addr(1);
    neigh_confirm(cache, 0, &a, now); /* nobody is known */
    ck_assert_uint_eq(neigh_count(cache), 0);
    to_incomplete();
    neigh_confirm(cache, 0, &a, now); /* impossible, and ignored */
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_INCOMPLETE);
    learn(1, &MAC_A, false, true, false);
    neigh_confirm(cache, 0, &a, now);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
    tick_t lasts = until_stale(1);
    neigh_confirm(cache, 0, &a, now);
    for (int i = 0; i < 10; i++) {
        pass(lasts - 1);
        ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
        neigh_confirm(cache, 0, &a, now);
    }
    ck_assert_uint_eq(until_stale(1), lasts);
    ck_assert_uint_eq(asked.n, 0);
}
END_TEST

START_TEST(and_ends_a_delay_or_a_probe)
{
    struct ip_addr a = addr(1);
    to_delay();
    neigh_confirm(cache, 0, &a, now);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
    pass(5 * TICK_SEC);
    ck_assert_uint_eq(asked.n, 0);
    pass(60 * TICK_SEC);
    send(1);
    expect_sent(1);
    pass(5 * TICK_SEC);
    expect_asked(1, true);
    neigh_confirm(cache, 0, &a, now);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
    pass(10 * TICK_SEC);
    ck_assert_uint_eq(asked.n, 0);
}
END_TEST

/* RFC 4861 appendix C, the rows of received advertisements. The option's MAC: none, the same as
 * known, or another. */
enum option { NONE, SAME, OTHER };

static const struct {
    void (*from)(void);
    bool solicited, override;
    enum option option;
    int state;
    bool changed; /* the MAC address is the other one then */
    bool sent;    /* what waited has gone */
} advert[] = {
    {to_incomplete, false, false, NONE, CTL_NEIGHBOUR_INCOMPLETE, false, false},
    {to_incomplete, true, true, NONE, CTL_NEIGHBOUR_INCOMPLETE, false, false},
    {to_incomplete, false, false, OTHER, CTL_NEIGHBOUR_DELAY, true, true}, /* STALE, and used */
    {to_incomplete, false, true, OTHER, CTL_NEIGHBOUR_DELAY, true, true},
    {to_incomplete, true, false, OTHER, CTL_NEIGHBOUR_REACHABLE, true, true},
    {to_incomplete, true, true, OTHER, CTL_NEIGHBOUR_REACHABLE, true, true},

    {to_reachable, true, false, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_reachable, true, false, OTHER, CTL_NEIGHBOUR_STALE, false, false},
    {to_reachable, true, true, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_reachable, true, true, OTHER, CTL_NEIGHBOUR_REACHABLE, true, false},
    {to_reachable, false, false, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_reachable, false, false, OTHER, CTL_NEIGHBOUR_STALE, false, false},
    {to_reachable, false, true, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_reachable, false, true, OTHER, CTL_NEIGHBOUR_STALE, true, false},
    {to_reachable, true, true, NONE, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_reachable, false, true, NONE, CTL_NEIGHBOUR_REACHABLE, false, false},

    {to_stale, true, false, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_stale, true, false, OTHER, CTL_NEIGHBOUR_STALE, false, false},
    {to_stale, true, true, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_stale, true, true, OTHER, CTL_NEIGHBOUR_REACHABLE, true, false},
    {to_stale, false, false, SAME, CTL_NEIGHBOUR_STALE, false, false},
    {to_stale, false, false, OTHER, CTL_NEIGHBOUR_STALE, false, false},
    {to_stale, false, true, SAME, CTL_NEIGHBOUR_STALE, false, false},
    {to_stale, false, true, OTHER, CTL_NEIGHBOUR_STALE, true, false},
    {to_stale, true, false, NONE, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_stale, false, false, NONE, CTL_NEIGHBOUR_STALE, false, false},

    {to_delay, true, false, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_delay, true, false, OTHER, CTL_NEIGHBOUR_DELAY, false, false},
    {to_delay, true, true, OTHER, CTL_NEIGHBOUR_REACHABLE, true, false},
    {to_delay, false, false, SAME, CTL_NEIGHBOUR_DELAY, false, false},
    {to_delay, false, false, OTHER, CTL_NEIGHBOUR_DELAY, false, false},
    {to_delay, false, true, SAME, CTL_NEIGHBOUR_DELAY, false, false},
    {to_delay, false, true, OTHER, CTL_NEIGHBOUR_STALE, true, false},
    {to_delay, true, true, NONE, CTL_NEIGHBOUR_REACHABLE, false, false},

    {to_probe, true, false, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_probe, true, false, OTHER, CTL_NEIGHBOUR_PROBE, false, false},
    {to_probe, true, true, SAME, CTL_NEIGHBOUR_REACHABLE, false, false},
    {to_probe, true, true, OTHER, CTL_NEIGHBOUR_REACHABLE, true, false},
    {to_probe, false, false, SAME, CTL_NEIGHBOUR_PROBE, false, false},
    {to_probe, false, false, OTHER, CTL_NEIGHBOUR_PROBE, false, false},
    {to_probe, false, true, SAME, CTL_NEIGHBOUR_PROBE, false, false},
    {to_probe, false, true, OTHER, CTL_NEIGHBOUR_STALE, true, false},
    {to_probe, true, true, NONE, CTL_NEIGHBOUR_REACHABLE, false, false},

    {to_failed, true, true, NONE, CTL_NEIGHBOUR_FAILED, false, false},
    {to_failed, true, true, OTHER, CTL_NEIGHBOUR_REACHABLE, true, false},
    {to_failed, false, true, OTHER, CTL_NEIGHBOUR_STALE, true, false},
};

START_TEST(appendix_c_advertisements)
{
    for (unsigned i = 0; i < sizeof(advert) / sizeof(advert[0]); i++) {
        neigh_flush(cache, UINT16_MAX);
        memset(&sent, 0, sizeof(sent));
        advert[i].from();
        const struct mac_addr *m = advert[i].option == NONE   ? NULL
                                   : advert[i].option == SAME ? &MAC_A
                                                              : &MAC_B;
        uint64_t changes = counter_get(&counters, COUNTER_NEIGH_CHANGES);
        ck_assert(learn(1, m, advert[i].solicited, advert[i].override, false));
        ck_assert_msg(state(1) == advert[i].state, "row %u: state %d, not %d", i, state(1),
                      advert[i].state);
        bool known = state(1) != CTL_NEIGHBOUR_INCOMPLETE && state(1) != CTL_NEIGHBOUR_FAILED;
        if (known)
            ck_assert_msg(memcmp(mac(1).b, advert[i].changed ? MAC_B.b : MAC_A.b, 6) == 0,
                          "row %u: MAC", i);
        ck_assert_msg(sent.n == advert[i].sent, "row %u: %u sent", i, sent.n);
        bool was_known = advert[i].from != to_incomplete && advert[i].from != to_failed;
        ck_assert_msg(counter_get(&counters, COUNTER_NEIGH_CHANGES) - changes ==
                          (was_known && advert[i].changed),
                      "row %u: changes", i);
    }
}
END_TEST

/* Appendix C: solicitations, whose option overrides and proves nothing. */
START_TEST(appendix_c_solicitations)
{
    static const struct {
        void (*from)(void);
        bool other;
        int state;
    } table[] = {
        {to_incomplete, true, CTL_NEIGHBOUR_DELAY}, /* STALE, and used by what waited */
        {to_reachable, false, CTL_NEIGHBOUR_REACHABLE}, {to_reachable, true, CTL_NEIGHBOUR_STALE},
        {to_stale, false, CTL_NEIGHBOUR_STALE},         {to_stale, true, CTL_NEIGHBOUR_STALE},
        {to_delay, false, CTL_NEIGHBOUR_DELAY},         {to_delay, true, CTL_NEIGHBOUR_STALE},
        {to_probe, false, CTL_NEIGHBOUR_PROBE},         {to_probe, true, CTL_NEIGHBOUR_STALE},
        {to_failed, true, CTL_NEIGHBOUR_STALE},
    };
    ck_assert(learn(1, &MAC_A, false, true, true));
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_STALE);
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        neigh_flush(cache, UINT16_MAX);
        memset(&sent, 0, sizeof(sent));
        table[i].from();
        ck_assert(learn(1, table[i].other ? &MAC_B : &MAC_A, false, true, true));
        ck_assert_msg(state(1) == table[i].state, "row %u: state %d", i, state(1));
    }
}
END_TEST

START_TEST(nobody_is_made_without_leave_or_address)
{
    ck_assert(!learn(1, &MAC_A, true, true, false));
    ck_assert(!learn(1, NULL, false, true, true));
    ck_assert_uint_eq(neigh_count(cache), 0);
}
END_TEST

START_TEST(the_same_address_on_two_interfaces_is_two_neighbours)
{
    send_on(0, 1);
    send_on(1, 1);
    ck_assert_uint_eq(neigh_count(cache), 2);
    ck_assert_uint_eq(asked.n, 2);
    learn(1, &MAC_A, true, true, false);
    ck_assert_uint_eq(sent.iface, 0);
    expect_sent(1);
    ck_assert_uint_eq(neigh_flush(cache, 1), 1);
    ck_assert_uint_eq(dropped(DROP_ADMIN_DOWN), 1);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
    ck_assert_uint_eq(neigh_flush(cache, UINT16_MAX), 1);
    ck_assert_uint_eq(neigh_count(cache), 0);
}
END_TEST

/* Answers prove; the rest of 16 entries shares half of the table. */
START_TEST(a_scan_cannot_push_out_who_has_answered)
{
    for (unsigned n = 1; n <= 8; n++) {
        send(n);
        learn(n, &MAC_A, true, true, false);
    }
    memset(&sent, 0, sizeof(sent));
    for (unsigned n = 100; n < 400; n++)
        send(n);
    ck_assert_uint_eq(neigh_count(cache), 16);
    for (unsigned n = 1; n <= 8; n++)
        ck_assert_int_eq(state(n), CTL_NEIGHBOUR_REACHABLE);
    for (unsigned n = 392; n < 400; n++)
        ck_assert_int_eq(state(n), CTL_NEIGHBOUR_INCOMPLETE);
    ck_assert_uint_eq(dropped(DROP_NEIGH_TABLE_FULL), 292); /* what waited for the others */
}
END_TEST

START_TEST(half_of_the_table_is_kept_even_while_it_is_empty)
{
    for (unsigned n = 100; n < 200; n++)
        learn(n, &MAC_A, false, true, true);
    ck_assert_uint_eq(neigh_count(cache), 8);
    ck_assert_int_eq(state(191), GONE);
    ck_assert_int_eq(state(192), CTL_NEIGHBOUR_STALE);
}
END_TEST

START_TEST(the_least_recently_used_makes_room)
{
    for (unsigned n = 1; n <= 8; n++)
        learn(n, &MAC_A, false, true, true);
    send(1); /* used */
    learn(9, &MAC_A, false, true, true);
    ck_assert_int_ne(state(1), GONE);
    ck_assert_int_eq(state(2), GONE);
    learn(3, &MAC_A, false, true, true); /* heard, not used */
    learn(10, &MAC_A, false, true, true);
    ck_assert_int_eq(state(3), GONE);
}
END_TEST

START_TEST(among_the_proven_too)
{
    for (unsigned n = 1; n <= 16; n++) {
        send(n);
        learn(n, &MAC_A, true, true, false);
        memset(&sent, 0, sizeof(sent));
    }
    ck_assert_uint_eq(neigh_count(cache), 16);
    send(1);
    send(17);
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_REACHABLE);
    ck_assert_int_eq(state(2), GONE);
    ck_assert_int_eq(state(17), CTL_NEIGHBOUR_INCOMPLETE);
    send(18); /* an unproven one goes before any proven one */
    ck_assert_int_eq(state(17), GONE);
    ck_assert_int_eq(state(3), CTL_NEIGHBOUR_REACHABLE);
}
END_TEST

START_TEST(a_gateway_stays)
{
    neigh_destroy(cache);
    make(2, 2);
    gateway = addr(1);
    send(1);
    struct ctl_neighbour r;
    ck_assert(row(1, &r));
    ck_assert(r.router);
    for (unsigned n = 2; n < 50; n++) {
        send(n);
        learn(n, &MAC_A, true, true, false);
        memset(&sent, 0, sizeof(sent));
    }
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_INCOMPLETE);
    neigh_destroy(cache);
    make(1, 1);
    send(1);
    send(2); /* no room at all */
    ck_assert_uint_eq(dropped(DROP_NEIGH_TABLE_FULL), 1);
    ck_assert(!learn(2, &MAC_A, false, true, true));
    ck_assert_int_eq(state(1), CTL_NEIGHBOUR_INCOMPLETE);
}
END_TEST

START_TEST(listing_is_paged)
{
    for (unsigned n = 1; n <= 8; n++)
        learn(n, &MAC_A, false, true, true);
    struct ctl_neighbour rows[3];
    uint64_t cursor = 0;
    uint32_t n = 0, seen = 0;
    bool met[9] = {false};
    for (unsigned page = 0; page < 3; page++) {
        bool more = neigh_list(cache, rows, 3, &cursor, &n, now);
        ck_assert_uint_eq(more, page < 2);
        for (uint32_t i = 0; i < n; i++) {
            unsigned k = rows[i].addr.b[15];
            ck_assert(!met[k]);
            met[k] = true;
            ck_assert_uint_eq(rows[i].confirmed, TICK_NEVER);
        }
        seen += n;
    }
    ck_assert_uint_eq(seen, 8);
}
END_TEST

START_TEST(age_of_the_last_proof)
{
    to_reachable();
    pass(7 * TICK_SEC);
    struct ctl_neighbour r;
    ck_assert(row(1, &r));
    ck_assert_uint_eq(r.confirmed, 7 * TICK_SEC);
    ck_assert_mem_eq(r.mac.b, MAC_A.b, 6);
}
END_TEST

START_TEST(memory_that_is_not_there)
{
    neigh_destroy(cache);
    cache = NULL;
    unsigned failed = 0;
    for (size_t limit = 0; limit <= heap.peak + 64 && !cache; limit += 64) {
        heap.limit = limit;
        cache = neigh_create(&args);
        failed += !cache;
        if (!cache)
            ck_assert_uint_eq(heap.blocks, 0);
    }
    ck_assert_uint_gt(failed, 4);
    ck_assert_ptr_nonnull(cache);
}
END_TEST

UNIT_MAIN("neigh", setup, teardown, an_unknown_neighbour_is_asked_for_three_times,
          a_failed_one_is_left_alone_for_a_second, packets_wait_in_order_and_the_oldest_makes_room,
          what_waits_for_all_is_bounded, what_waits_is_counted_in_buffers, a_queue_of_one,
          reachable_lasts_half_to_one_and_a_half_of_thirty_seconds,
          stale_has_no_timer_and_use_makes_it_delay, a_probe_is_unicast_and_sent_three_times,
          an_answer_to_a_probe_proves_reachability, progress_of_an_upper_layer_is_proof,
          and_ends_a_delay_or_a_probe, appendix_c_advertisements, appendix_c_solicitations,
          nobody_is_made_without_leave_or_address,
          the_same_address_on_two_interfaces_is_two_neighbours,
          a_scan_cannot_push_out_who_has_answered, half_of_the_table_is_kept_even_while_it_is_empty,
          the_least_recently_used_makes_room, among_the_proven_too, a_gateway_stays,
          listing_is_paged, age_of_the_last_proof, memory_that_is_not_there)
