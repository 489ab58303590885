/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_RUN_H
#define MILLRACE_SIM_RUN_H

/*
 * Runs simulations as tests. A test program ends with
 *
 *     SIM_MAIN("faults", everything_that_arrives_is_exact, ...)
 *
 * The seed of whatever fails, a crash or a sanitizer's report included, is printed with the command
 * that repeats it. From the environment, which `make sim` sets from SEED, SEEDS, CAPTURE and
 * UPDATE:
 *
 *     SIM_SEED     run this seed only
 *     SIM_SEEDS    run so many, on all processors
 *     SIM_CAPTURE  write what passes capture nodes to this file
 *     SIM_UPDATE   rewrite golden tables
 */

#include <stdbool.h>
#include <stdint.h>

#include "support/unit.h"

#define SIM_MAIN(name, ...)                                                          \
    int main(void)                                                                   \
    {                                                                                \
        const TTest *const tests[] = {__VA_ARGS__};                                  \
        return run_tests(name, tests, (unsigned)(sizeof(tests) / sizeof(tests[0]))); \
    }

int run_tests(const char *name, const TTest *const *tests, unsigned n);

/* As ck_assert, which notes in a file each time that it was there: not for each packet. */
#define must(condition)          must_msg(condition, "%s", #condition)
#define must_msg(condition, ...) ((condition) ? (void)0 : ck_abort_msg(__VA_ARGS__))

/* The seed of a test that needs just one. */
uint64_t run_seed(uint64_t otherwise);
/* Calls each with `count` seeds, or as the environment says. */
void run_seeds(uint64_t count, void (*each)(uint64_t seed));

/* The same, shared out among all processors: what `each` leaves in memory is lost. */
void run_seeds_shared(uint64_t count, void (*each)(uint64_t seed));

/* Does the environment say which seeds? Then a test of certain ones has nothing to do. */
bool run_asked(void);

/* NULL: not asked for. */
const char *run_capture(void);

/*
 * Compares the text of a table with the file of that name among the golden ones, and fails with the
 * first line that differs; or rewrites the file.
 */
void run_golden(const char *file, const char *text);

/* For sim.c: what fails from here on fails with this seed. */
void run_begins(uint64_t seed);
void run_ends(void);

#endif
