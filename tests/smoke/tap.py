# SPDX-License-Identifier: BSD-3-Clause
"""Cases in groups that share what their group has set up, as TAP.

A group's `setup` is a function that returns a context manager; what that gives goes to each case. If
it has a method `explain(since)`, a failed case prints the lines it returns; `mark()`, if it has that,
is called before each case and its value handed to explain."""
import os
import signal
import sys
import traceback


class Missing(Exception):
    """A peer, a tool or a feature of the kernel that this machine lacks. In CI it has to be there."""


class Group:
    def __init__(self, name, setup, *cases):
        self.name = name
        self.setup = setup
        self.cases = cases

    def title(self, case):
        return f"{self.name}: {case.__name__.replace('_', ' ')}"


def note(text):
    """A diagnostic of the case that runs."""
    for line in str(text).splitlines():
        print("#", line, flush=True)


class Report:
    def __init__(self, total):
        self.number = 0
        self.failed = 0
        print(f"1..{total}", flush=True)

    def line(self, title, good, directive=""):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {title}{directive}", flush=True)

    def missing(self, title, why):
        if os.environ.get("CI"):
            self.line(title, False)
            note(f"missing, and in CI it has to be there: {why}")
        else:
            self.line(title, True, f" # SKIP {why}")

    def broken(self, title):
        """From within an except clause."""
        self.line(title, False)
        kind, error, trace = sys.exc_info()
        if kind is not AssertionError:
            note("".join(traceback.format_tb(trace)).rstrip())
            note(f"{kind.__name__}: {error}")
            return
        last = traceback.extract_tb(trace)[-1]
        note(f"{os.path.basename(last.filename)}:{last.lineno}: {error or last.line}")


def run_case(report, title, case, given):
    mark = given.mark() if hasattr(given, "mark") else None
    try:
        case(given)
    except Missing as why:
        report.missing(title, why)
    except Exception:  # pylint: disable=broad-except
        report.broken(title)
        if hasattr(given, "explain"):
            note("\n".join(given.explain(mark)))
    else:
        report.line(title, True)


def run_group(report, group):
    done = report.number
    try:
        with group.setup() as given:
            for case in group.cases:
                run_case(report, group.title(case), case, given)
    except Missing as why:
        for case in group.cases[report.number - done :]:
            report.missing(group.title(case), why)
    except Exception:  # pylint: disable=broad-except
        left = group.cases[report.number - done :]
        if not left:  # all cases have reported: it is the end of the group that failed
            report.failed += 1
            note(f"{group.name}: at the end: {traceback.format_exc(limit=-1)}")
        for case in left:
            report.broken(group.title(case))


def interrupted(number, _):
    """The with-blocks on the way out clean up. Once is enough: they are not to be cut short."""
    for again in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)
    print(f"Bail out! {signal.Signals(number).name}", flush=True)
    raise SystemExit(128 + number)


def main(*groups):
    """Exits: 0 when nothing failed."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupted)
    report = Report(sum(len(g.cases) for g in groups))
    for group in groups:
        run_group(report, group)
    sys.exit(1 if report.failed else 0)
