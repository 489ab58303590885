#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The closing count itself: tests/summary.py is given logs of every kind of success and failure."""
import contextlib
import io
import json
import os
import sys
import tempfile

import common

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import summary  # noqa: E402


def entry(stdout, result="OK", status=0):
    """One test, as meson logs it."""
    return {"name": "t", "stdout": stdout, "result": result, "returncode": status}


def closing(log, expected=None):
    """The last line and the exit status for a log: entries, text as it is, or None for no file."""
    with tempfile.TemporaryDirectory(prefix="millrace-count-") as build:
        if log is not None:
            os.mkdir(os.path.join(build, "meson-logs"))
            text = log if isinstance(log, str) else "".join(json.dumps(e) + "\n" for e in log)
            with open(summary.log_path(build), "w", encoding="utf-8") as file:
                file.write(text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = summary.report({build: expected})
    return out.getvalue().splitlines()[-1], status


FINE = entry("ok 1 - a.c:s:one: Passed\nok 2 - a.c:s:two: Passed\n1..2\n")

# Name, log, tests that were to run, (passed, failed, skipped), exit status.
CASES = [
    ("passes", [FINE], None, (2, 0, 0), 0),
    ("two programs", [FINE, FINE], ["t", "u"], (4, 0, 0), 0),
    ("a skipped case", [entry("1..2\nok 1 - a\nok 2 - b # SKIP no NIC\n")], None, (1, 0, 1), 0),
    ("skipped whole", [FINE, entry("1..0 # SKIP not root\n", "SKIP")], None, (2, 0, 1), 0),
    ("nothing but skips", [entry("1..1\nok 1 - a # SKIP no\n", "SKIP")], None, (0, 0, 1), 1),
    ("a case fails", [entry("1..2\nok 1\nnot ok 2 - b\n", "FAIL")], None, (1, 1, 0), 1),
    ("and says so", [entry("1..2\nok 1\nnot ok 2 - b\n", "ERROR", 1)], None, (1, 1, 0), 1),
    ("a failure that was skipped", [entry("1..2\nok 1\nnot ok 2 # SKIP b\n")], None, (1, 0, 1), 0),
    ("a name with a number sign", [entry("1..1\nok 1 - issue #skipper\n")], None, (1, 0, 0), 0),
    ("crash after good cases", [entry("ok 1\n1..1\n", "ERROR", -11)], None, (1, 1, 0), 1),
    ("crash before the plan", [entry("ok 1\nok 2\n", "ERROR", -6)], None, (2, 1, 0), 1),
    ("crash after a bad case", [entry("1..1\nnot ok 1\n", "ERROR", -6)], None, (0, 2, 0), 1),
    ("exit status alone", [entry("1..1\nok 1\n", "ERROR", 1)], None, (1, 1, 0), 1),
    ("timeout", [entry("1..1\nok 1\n", "TIMEOUT", -15)], None, (1, 1, 0), 1),
    ("interrupted", [entry("1..1\nok 1\n", "INTERRUPT", -2)], None, (1, 1, 0), 1),
    ("bail out", [entry("1..2\nok 1\nBail out! no memory\n", "ERROR", 1)], None, (1, 1, 0), 1),
    ("fewer than planned", [entry("1..3\nok 1\nok 2\n")], None, (2, 1, 0), 1),
    ("no output", [FINE, entry("")], None, (2, 1, 0), 1),
    ("output that is not TAP", [FINE, entry("all is well\n")], None, (2, 1, 0), 1),
    ("no log", None, None, (0, 1, 0), 1),
    ("half a log", '{"name": "t", "std', None, (0, 1, 0), 1),
    ("an empty log", "", ["t", "u"], (0, 2, 0), 1),
    ("a test that did not run", [FINE], ["t", "u"], (2, 1, 0), 1),
]


def judge(log, expected, counts, status):
    want = "{} passed, {} failed, {} skipped".format(*counts), status
    got = closing(log, expected)
    return [] if got == want else [f"{got[0]!r}, exit status {got[1]}, not {want[0]!r}, {want[1]}"]


if __name__ == "__main__":
    sys.exit(common.tap([(name, judge(*rest), None) for name, *rest in CASES]))
