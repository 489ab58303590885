/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_UNIT_H
#define MILLRACE_TESTS_UNIT_H

/*
 * One Check program for each source file of lib/, reporting as TAP. A test file ends with
 *
 *     UNIT_MAIN("wheel", setup, teardown, fires_in_order, survives_the_wrap)
 *
 * setup and teardown run around every test in its own process; both may be NULL. Teardown asserts
 * that nothing is leaked.
 */

#include <check.h>
#include <stdlib.h>

int unit_run(const char *name, void (*setup)(void), void (*teardown)(void),
             const TTest *const *tests, size_t n);

#define UNIT_MAIN(name, setup, teardown, ...)                                            \
    int main(void)                                                                       \
    {                                                                                    \
        const TTest *const tests[] = {__VA_ARGS__};                                      \
        return unit_run(name, setup, teardown, tests, sizeof(tests) / sizeof(tests[0])); \
    }

#endif
