#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Every text file: text.py ROOT. No stray white space, a licence, under 1,000 lines."""
import os
import sys

import common

LONGEST = 1000
CODE = (".c", ".h", ".py", ".sh", ".service", ".yaml", ".yml")
CODE_NAMES = ("meson.build", "meson_options.txt", "GNUmakefile")
BINARY = (".pcap", ".pcapng", ".bin", ".der", ".png")
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
LICENCE_WITHIN = 3  # lines: below "#!" and the like


def is_text(root, name):
    """The fuzzers' seeds and captures are bytes, whatever they look like."""
    if "/corpus/" in name or name.endswith(BINARY):
        return False
    with open(os.path.join(root, name), "rb") as file:
        return b"\0" not in file.read(8192)


def is_code(root, name):
    return (
        name.endswith(CODE)
        or os.path.basename(name) in CODE_NAMES
        or common.interpreter(root, name) != ""
    )


def check_space(name, text):
    problems = [
        f"{name}:{n}: white space at the end of the line"
        for n, line in enumerate(text.split("\n"), 1)
        if line != line.rstrip()
    ]
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        problems.append(f"{name}: does not end with one newline")
    return problems


def check_length(name, text):
    lines = text.count("\n")
    return [f"{name}: {lines} lines, {LONGEST} or more"] if lines >= LONGEST else []


def check_licence(name, text):
    first = text.split("\n")[:LICENCE_WITHIN]
    return [] if any(LICENCE in line for line in first) else [f"{name}: no {LICENCE}"]


def main(root):
    files = [f for f in common.tracked(root) if is_text(root, f)]
    texts = {f: common.read(root, f) for f in files}
    code = [f for f in files if is_code(root, f)]
    return common.tap(
        [
            ("no stray white space", [p for f in files for p in check_space(f, texts[f])], None),
            (
                f"files under {LONGEST} lines",
                [p for f in code for p in check_length(f, texts[f])],
                None,
            ),
            (
                "licence named",
                [p for f in code if texts[f] for p in check_licence(f, texts[f])],
                None,
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
