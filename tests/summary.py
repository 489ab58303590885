#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the cases of the last `meson test` of build directories: tests/summary.py DIR...

Prints what failed with its output, then a line of exactly "N passed, N failed, N skipped". The
exit status is 0 only when something passed and nothing failed. A test that crashed, timed out,
printed no TAP or another number of cases than it planned has failed, whatever its cases say; so
has a build directory without a log."""
import json
import os
import re
import sys

CASE = re.compile(
    r"^(not )?ok\b(?:\s+\d+)?(?:\s*-\s*)?([^#]*)(?:#\s*(skip|todo)\b.*)?", re.IGNORECASE
)
PLAN = re.compile(r"^1\.\.(\d+)\s*(#\s*skip\b.*)?", re.IGNORECASE)
GOOD = ("OK", "SKIP", "EXPECTEDFAIL")
SHOWN = 200  # lines of a failed test's output, from its end


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def log_path(build):
    return os.path.join(build, "meson-logs", "testlog.json")


def read_tap(text):
    """The count of the cases in TAP, and what is wrong with it as a whole (None: nothing)."""
    count = Count()
    plan = None
    cases = 0
    for line in text.splitlines():
        if line.startswith("Bail out!"):
            return count, line
        found = PLAN.match(line)
        if found:
            plan = int(found[1])
            if plan == 0 and found[2]:
                count.skipped += 1
            continue
        found = CASE.match(line)
        if not found:
            continue
        cases += 1
        directive = (found[3] or "").lower()
        if directive == "skip":
            count.skipped += 1
        elif found[1] and directive != "todo":
            count.failed += 1
        else:
            count.passed += 1
    if plan is None:
        return count, "no TAP plan"
    if plan != cases:
        return count, f"{cases} cases of {plan} planned"
    return count, None


def count_test(test):
    """The count of one entry of the log, and why it failed as a whole (None: a case says it)."""
    count, wrong = read_tap(test.get("stdout") or "")
    result, status = test.get("result"), test.get("returncode", 0)
    # A status of 1 is how a program says that a case of its own has failed.
    if result not in GOOD and not (
        result in ("FAIL", "ERROR") and status in (0, 1) and count.failed > 0
    ):
        wrong = wrong or f"{result}, exit status {status}"
    if wrong:
        count.failed += 1
    return count, wrong


def show_failure(build, test, wrong):
    print(f"\n--- {build}: {test['name']}" + (f": {wrong}" if wrong else ""))
    for stream in ("stdout", "stderr"):
        lines = (test.get(stream) or "").splitlines()
        if len(lines) > SHOWN:
            print(f"[{len(lines) - SHOWN} lines not shown]")
        for line in lines[-SHOWN:]:
            print(line)


def read_log(build):
    """The entries of a log; raises OSError or ValueError."""
    with open(log_path(build), encoding="utf-8", errors="replace") as log:
        return [json.loads(line) for line in log if line.strip()]


def count_build(build, expected):
    total = Count()
    try:
        tests = read_log(build)
    except (OSError, ValueError) as error:
        print(f"\n--- {build}: no log of its tests: {error}")
        total.failed += 1
        return total
    for test in tests:
        count, wrong = count_test(test)
        if count.failed:
            show_failure(build, test, wrong)
        total.add(count)
    lost = (expected or len(tests)) - len(tests)
    if lost > 0:
        print(f"\n--- {build}: {lost} tests did not run")
        total.failed += lost
    return total


def report(builds):
    """builds: for each directory the names of the tests to be run, or None. The exit status."""
    total = Count()
    for build, names in builds.items():
        total.add(count_build(build, names and len(names)))
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 0 if total.failed == 0 and total.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(report({build: None for build in sys.argv[1:]}))
