#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Is standard input OpenMetrics 1.0 text as /metrics has to be? openmetrics.py [--labels A,B,...]

Each complaint is a line; exit status 1 if there are any. Stricter than the standard where the
project is: names begin with millrace_, and only the labels named may be there."""
import argparse
import re
import sys

NAME = re.compile(r"millrace_[a-z][a-z0-9_]*$")
SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r"(?:\{(?P<labels>(?:[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\n]|\\[\\\"n])*\",?)*)\})?"
    r" (?P<value>[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?|NaN|[+-]Inf)$"
)
LABEL = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\n]|\\[\\\"n])*)\"")
TYPES = {"counter", "gauge", "info", "stateset", "unknown"}
SUFFIX = {"counter": "_total", "info": "_info"}


class Checker:
    """Goes through the lines once and collects complaints."""

    def __init__(self, labels):
        self.labels = labels
        self.complaints = []
        self.families = {}  # name: {"TYPE": …, "UNIT": …, "HELP": …}
        self.current = None
        self.series = set()
        self.filled = set()  # families with a sample

    def complain(self, number, text):
        self.complaints.append(f"line {number}: {text}")

    def metadata(self, number, line):
        parts = line.split(" ", 3)
        if len(parts) < 4 or parts[1] not in ("TYPE", "UNIT", "HELP"):
            self.complain(number, f"not a metadata line: {line}")
            return
        _, kind, name, value = parts
        if not NAME.match(name):
            self.complain(number, f"bad name {name}")
        if name != self.current and name in self.families:
            self.complain(number, f"{name} is not in one piece")
        if name in self.filled:
            self.complain(number, f"{kind} of {name} after its samples")
        known = self.families.setdefault(name, {})
        if kind in known:
            self.complain(number, f"second {kind} of {name}")
        known[kind] = value
        self.current = name
        if kind == "TYPE" and value not in TYPES:
            self.complain(number, f"unknown type {value}")
        if kind == "UNIT" and not name.endswith("_" + value):
            self.complain(number, f"{name} does not end with its unit {value}")
        if kind == "TYPE" and value == "counter" and name.endswith("_total"):
            self.complain(number, f"the family {name} must not end with _total")

    def check_labels(self, number, text):
        found = LABEL.findall(text or "")
        names = [name for name, _ in found]
        if len(set(names)) != len(names):
            self.complain(number, "a label twice")
        for name in names:
            if self.labels is not None and name not in self.labels:
                self.complain(number, f"label {name} is not one of {sorted(self.labels)}")
        return tuple(sorted(found))

    def sample(self, number, line):
        match = SAMPLE.match(line)
        if not match:
            self.complain(number, f"not a sample: {line}")
            return
        family = self.families.get(self.current, {})
        suffix = SUFFIX.get(family.get("TYPE"), "")
        if self.current is None or match["name"] != self.current + suffix:
            self.complain(number, f"{match['name']} does not belong to {self.current}")
        if "TYPE" not in family or "HELP" not in family:
            self.complain(number, f"{match['name']} before TYPE and HELP")
        if family.get("TYPE") == "counter" and not float(match["value"]) >= 0:
            self.complain(number, f"counter {match['name']} is {match['value']}")
        series = (match["name"], self.check_labels(number, match["labels"]))
        if series in self.series:
            self.complain(number, f"series twice: {line}")
        self.series.add(series)
        self.filled.add(self.current)

    def check(self, text):
        if not text.endswith("# EOF\n"):
            self.complaints.append("does not end with '# EOF' and a line end")
        lines = text.split("\n")[:-1]
        for number, line in enumerate(lines, 1):
            if line == "# EOF":
                if number != len(lines):
                    self.complain(number, "text after # EOF")
                break
            if line.startswith("#"):
                self.metadata(number, line)
            else:
                self.sample(number, line)
        return self.complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", help="the only labels there may be, parted by commas")
    arguments = parser.parse_args()
    labels = None if arguments.labels is None else set(arguments.labels.split(","))
    checker = Checker(labels)
    for complaint in checker.check(sys.stdin.read()):
        print(complaint)
    if not checker.complaints:
        print(f"{len(checker.families)} families, {len(checker.series)} series")
    sys.exit(1 if checker.complaints else 0)


if __name__ == "__main__":
    main()
