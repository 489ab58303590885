#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Scripts are sound: scripts.py ROOT. shellcheck has nothing to say; Python compiles."""
import os
import shutil
import subprocess
import sys

import common

SHELLS = ("sh", "bash", "dash")


def shell_scripts(root, files):
    return [f for f in files if f.endswith(".sh") or common.interpreter(root, f) in SHELLS]


def python_scripts(root, files):
    return [
        f for f in files if f.endswith(".py") or common.interpreter(root, f).startswith("python")
    ]


def check_shell(root, names):
    if not names:
        return []
    run = subprocess.run(
        ["shellcheck", "--format=gcc", *names],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return run.stdout.splitlines() if run.returncode else []


def check_python(root, names):
    problems = []
    for name in names:
        try:
            compile(common.read(root, name), name, "exec")
        except (SyntaxError, ValueError) as error:
            problems.append(f"{name}: {error}")
    return problems


def check_executable(root, files):
    """A script that names its interpreter is there to be run."""
    return [
        f"{f} begins with #! and is not executable"
        for f in files
        if common.interpreter(root, f) and not os.access(os.path.join(root, f), os.X_OK)
    ]


def main(root):
    files = common.tracked(root)
    shellcheck = shutil.which("shellcheck")
    return common.tap(
        [
            (
                "shellcheck",
                check_shell(root, shell_scripts(root, files)) if shellcheck else None,
                None if shellcheck else "shellcheck is not installed",
            ),
            ("Python compiles", check_python(root, python_scripts(root, files)), None),
            ("scripts are executable", check_executable(root, files), None),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
