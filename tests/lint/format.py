#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""C files stand as .clang-format says: format.py ROOT. With --fix (`make format`) they are made to.

Releases of clang-format differ in details, so only one of them is the judge."""
import os
import re
import shutil
import subprocess
import sys

import common

JUDGE = "14"


def find_tool():
    """clang-format in the judge's release, or (None, why not)."""
    why = "clang-format is not installed"
    for name in (f"clang-format-{JUDGE}", "clang-format"):
        path = shutil.which(name)
        if not path:
            continue
        version = subprocess.run(
            [path, "--version"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        found = re.search(r"version (\d+)", version)
        if found and found[1] == JUDGE:
            return path, None
        why = f"clang-format is {found[1] if found else 'of an unknown version'}, not {JUDGE}"
    return None, why


def c_files(root):
    return [f for f in common.tracked(root) if f.endswith((".c", ".h"))]


def check(tool, root):
    """The first complaint about each file, as clang-format words it."""
    problems = []
    for name in c_files(root):
        run = subprocess.run(
            [tool, "--dry-run", "-Werror", name],
            cwd=root,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            problems.append(
                run.stderr.splitlines()[0] if run.stderr else f"{name}: clang-format failed"
            )
    return problems


def main(arguments):
    tool, why = find_tool()
    if arguments == ["--fix"]:
        if not tool:
            sys.exit(why)
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        return subprocess.run([tool, "-i", *c_files(root)], cwd=root, check=False).returncode
    return common.tap([("C files are formatted", check(tool, arguments[0]) if tool else None, why)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
