# SPDX-License-Identifier: BSD-3-Clause
"""What the lints share: the files that git tracks, and TAP."""
import os
import subprocess
import sys


def walk(root):
    """Every file below root that is not a build's or git's."""
    for folder, folders, names in os.walk(root):
        folders[:] = [
            f for f in folders if f not in (".git", "__pycache__") and not f.startswith("build")
        ]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def tracked(root):
    """The project's files, relative to root: those git tracks, or all where there is no git."""
    try:
        # Run by root in another user's checkout, git would refuse without safe.directory.
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        ).stdout
        names = listed.split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = walk(root)
    return sorted(n for n in names if n and os.path.isfile(os.path.join(root, n)))


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def interpreter(root, name):
    """The program that a script's first line names: "sh", "bash", "python3"; "" for other files."""
    with open(os.path.join(root, name), "rb") as file:
        first = file.readline(200)
    if not first.startswith(b"#!"):
        return ""
    words = [w for w in first[2:].decode("utf-8", "replace").split() if not w.startswith("-")]
    words = [os.path.basename(w) for w in words]
    return words[1] if words[0] == "env" and len(words) > 1 else words[0]


def tap(cases):
    """Prints cases (name, problems or None, why skipped or None) as TAP. The exit status."""
    print(f"1..{len(cases)}")
    failed = False
    for number, (name, problems, skip) in enumerate(cases, 1):
        for problem in problems or []:
            print(f"# {problem}")
        failed = failed or bool(problems)
        print(
            ("not " if problems else "")
            + f"ok {number} - {name}"
            + (f" # SKIP {skip}" if skip else "")
        )
    sys.stdout.flush()
    return 1 if failed else 0
