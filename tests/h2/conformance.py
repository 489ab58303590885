#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Does a server keep to RFC 9113, 7541, 8441 and 9218? As TAP.

Every situation of h2spec's list is here, and others; --list names each case with the numbers of
h2spec's that it stands for. A case has a connection of its own and waits for events only: none takes
long unless it fails."""
import argparse
import contextlib
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "smoke")]

import cases_flow  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import cases_frames  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import cases_hpack  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import cases_messages  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import cases_streams  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import tap  # noqa: E402  pylint: disable=wrong-import-position
from peer import CASES, Target  # noqa: E402  pylint: disable=wrong-import-position


class Case:
    """One of them, as tap.py wants it: called with what has a target."""

    def __init__(self, function):
        self.function = function
        self.title = function.title

    def __call__(self, given):
        self.function(given.target)


class Suite(tap.Group):
    """All cases with `only` in their titles, and more behind them."""

    def __init__(self, name, setup, *more, only=""):
        super().__init__(name, setup, *(Case(c) for c in CASES if only in c.title), *more)

    def title(self, case):
        return f"{self.name}: {case.title}" if isinstance(case, Case) else super().title(case)


def same_as_h2spec():
    """The numbers of all its cases that have one here."""
    return {number for case in CASES for number in case.alike}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--tls", action="store_true", help="not h2c with prior knowledge")
    parser.add_argument("--path", default="/", help="GET gives 200 and a few KB")
    parser.add_argument("--echo", default="/echo", help="POST gives back its content")
    parser.add_argument("--large", default="/bytes/300000", help="GET gives 300,000 bytes or more")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their title")
    parser.add_argument("--list", action="store_true", help="the cases, and h2spec's numbers")
    return parser.parse_args()


def main():
    args = arguments()
    if args.list:
        for case in CASES:
            print(case.title, *(f"[{number}]" for number in case.alike))
        return
    paths = {"path": args.path, "echo": args.echo, "large": args.large}
    target = Target(args.host, args.port, args.tls, **paths)
    name = "TLS" if args.tls else "h2c"
    given = types.SimpleNamespace(target=target)
    tap.main(Suite(name, lambda: contextlib.nullcontext(given), only=args.only))


if __name__ == "__main__":
    main()
