/* SPDX-License-Identifier: BSD-3-Clause */
/* How many echoes come back, by loss and size: a table to be compared with the committed one, and
 * with what arithmetic says. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "sim/delay.h"
#include "sim/loss.h"
#include "sim/plan.h"
#include "sim/run.h"

#define PINGER 100
#define PINGS  500

static const uint32_t sizes[] = {56, 1472, 8000, 20000, 65507};
static const unsigned percents[] = {0, 1, 2, 5, 10, 20};

/* The slow build leaves out the longest two. */
#define SIZES    (sizeof(sizes) / sizeof(sizes[0]) - (SIM_SLOW ? 2 : 0))
#define PERCENTS (sizeof(percents) / sizeof(percents[0]))

static unsigned fragments(uint32_t size, unsigned family)
{
    uint32_t head = family ? 40 : 20;
    if (head + 8 + size <= 1500)
        return 1;
    uint32_t room = (1500 - head - (family ? 8 : 0)) & ~7u;
    return (8 + size + room - 1) / room;
}

/* Replies to PINGS requests. */
static unsigned measure(unsigned family, uint32_t size, unsigned percent)
{
    struct sim s;
    sim_init(&s, size * 100 + percent);
    struct sim_host_config hc = plan_host(1);
    struct sim_host *host = sim_host_create(&s, &hc);
    struct pinger_config pc = plan_pinger(PINGER);
    struct pinger *pinger = pinger_create(&s, &pc);
    struct loss *loss = loss_create(&s, 0);
    node_chain((struct node *[]){&pinger->node, &loss->node, delay_create(&s, TICK_MS, 0),
                                 &host->node, NULL});
    sim_run(&s, 5 * TICK_SEC);
    struct ip_addr to = plan_addr(1, family);
    struct mac_addr mac = plan_mac(1);
    pinger_fix(pinger, &to, &mac);
    pinger_ping(pinger, &to, 0);
    sim_run(&s, TICK_SEC);
    unsigned before = pinger_answered(pinger);
    ck_assert_uint_eq(before, 1);
    /* From here on the table depends on the seed and on replies alone, not on how a start goes. */
    rng_seed(&s.rng, size * 100 + percent);
    loss->millionths = percent * SIM_PERCENT;
    for (unsigned i = 0; i < PINGS; i++) {
        pinger_ping(pinger, &to, size);
        sim_run(&s, TICK_SEC / 10);
    }
    sim_run(&s, 100 * TICK_SEC);
    unsigned answered = pinger_answered(pinger) - before;
    sim_fini(&s);
    return answered;
}

/* Every fragment there and back has to arrive. The stack's own questions get lost too, and cost it
 * a few replies more. */
static void compare(unsigned answered, unsigned n_fragments, unsigned percent)
{
    double p = pow(1 - percent / 100.0, 2.0 * n_fragments);
    double deviation = sqrt(PINGS * p * (1 - p));
    double expected = PINGS * p;
    ck_assert_msg(answered <= expected + 4 * deviation + 1 &&
                      answered >= expected * (1 - percent / 400.0) - 4 * deviation - 1,
                  "%u fragments, %u %%: %u answered, %.1f expected", n_fragments, percent, answered,
                  expected);
}

static char text[8192];
static size_t len;

static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void print(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    len += (size_t)vsnprintf(text + len, sizeof(text) - len, format, ap);
    va_end(ap);
    ck_assert_uint_lt(len, sizeof(text));
}

static void print_family(unsigned family)
{
    print("\nIPv%u", family ? 6 : 4);
    for (unsigned i = 0; i < SIZES; i++)
        print("%8u", sizes[i]);
    print("\n    ");
    for (unsigned i = 0; i < SIZES; i++)
        print("%8u", fragments(sizes[i], family));
    print("\n");
    for (unsigned k = 0; k < PERCENTS; k++) {
        print("%2u %%", percents[k]);
        for (unsigned i = 0; i < SIZES; i++) {
            unsigned answered = measure(family, sizes[i], percents[k]);
            compare(answered, fragments(sizes[i], family), percents[k]);
            print("%8.1f", 100.0 * answered / PINGS);
        }
        print("\n");
    }
}

START_TEST(replies_by_loss_and_size)
{
    print(
        "Echo requests answered, in per cent of %u, by loss in each direction and bytes of data;\n"
        "below those, the fragments that they come in at an MTU of 1500.\n",
        PINGS);
    print_family(0);
    print_family(1);
    if (!SIM_SLOW)
        run_golden("echo.txt", text);
}
END_TEST

SIM_MAIN("echo_table", replies_by_loss_and_size)
