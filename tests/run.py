#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Runs suites of tests in build directories and closes with the count of their cases.

    tests/run.py [--only NAME] DIR:SUITE[,SUITE...] ...

NAME is a test's name, or a part of the names of several. What matches nothing is an error."""
import argparse
import json
import os
import subprocess
import sys

import child
import summary

# Leaks count, and the first error ends the program.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:halt_on_error=1:detect_stack_use_after_return=1"
    ":strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def names_in(build, suites):
    """The tests of these suites, by name."""
    # Meson lists what it knew when it last ran: let it run again where a meson.build has changed.
    child.run(["ninja", "-C", build, "build.ninja"], stdout=subprocess.DEVNULL)
    text = subprocess.run(
        ["meson", "introspect", "--tests", build], check=True, stdout=subprocess.PIPE
    ).stdout
    # A suite is listed as "project:suite".
    return [
        t["name"] for t in json.loads(text) if any(s.split(":")[-1] in suites for s in t["suite"])
    ]


def choose(names, only):
    """All without `only`; else those it names in full, else those it is a part of."""
    if not only:
        return names
    return [n for n in names if n == only or n.split("/")[-1] == only] or [
        n for n in names if only in n
    ]


def meson_test(build, names):
    log = summary.log_path(build)
    if os.path.exists(log):
        os.unlink(log)  # so that no older run is counted
    if not names:
        return
    command = ["meson", "test", "-C", build]
    if os.environ.get("FUZZ_SECONDS") or os.environ.get("SIM_SEEDS"):
        command += ["--timeout-multiplier", "0"]  # none: the time was asked for
    child.run(command + names, env={**SANITIZERS, **os.environ})


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--only", metavar="NAME")
    arguments.add_argument("what", nargs="+", metavar="DIR:SUITE,...")
    options = arguments.parse_args()

    plan = []
    for what in options.what:
        build, suites = what.split(":")
        plan.append((build, suites, names_in(build, suites.split(","))))
    chosen = [(build, choose(names, options.only)) for build, _, names in plan]
    if options.only and not any(names for _, names in chosen):
        known = sorted({n for _, _, names in plan for n in names})
        sys.exit(
            f"no test matches T={options.only}; there are:\n  " + "\n  ".join(known or ["none"])
        )

    ran = [(build, names) for build, names in chosen if names]
    for build, names in ran:
        meson_test(build, names)
    return summary.report({build: names for build, names in ran})


if __name__ == "__main__":
    sys.exit(main())
