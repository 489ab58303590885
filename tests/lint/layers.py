#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The borders between the layers: layers.py ROOT BUILD LIB:BELOW,BELOW... ...

The table is that of lib/meson.build. Each include line of a library names its own headers, those
of libraries below it, or one of a few of C's; app/ includes only the libraries meant for it; every
file of a library is in its meson.build."""
import json
import os
import re
import sys

import common

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# For lib/: no time.h, threads, sockets, files or allocation. stdio.h is there for snprintf;
# symbols.py sees what is used of it.
C_HEADERS = {
    "assert.h",
    "inttypes.h",
    "limits.h",
    "stdalign.h",
    "stdarg.h",
    "stdatomic.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdnoreturn.h",
    "string.h",
    "sanitizer/asan_interface.h",
}  # to poison what a pool has taken back
# What one library may use besides; symbols.py knows the names.
OUTSIDE = {
    "tls": re.compile(r"openssl/\w+\.h"),
    "http2": re.compile(r"nghttp2/nghttp2\.h"),
}
NOTHING = re.compile(r"(?!)")
INTRINSICS = re.compile(r"^\w*(intrin|arm_neon|arm_acle)\.h$")

# What the appliance may know of lib/.
FOR_APP = {"stack", "service", "stats", "ctl", "buf"}


def includes(root, name):
    return INCLUDE.findall(common.read(root, name))


def sources_below(files, folder):
    return [f for f in files if f.startswith(folder + "/") and f.endswith((".c", ".h"))]


def check_library(root, files, lib, below):
    problems = []
    for name in sources_below(files, "lib/" + lib):
        for bracket, header in includes(root, name):
            if bracket == "<":
                if (
                    header not in C_HEADERS
                    and not INTRINSICS.match(header)
                    and not OUTSIDE.get(lib, NOTHING).fullmatch(header)
                ):
                    problems.append(f"{name}: <{header}> is not for lib/")
            elif "/" not in header:
                problems.append(f'{name}: "{header}" does not name its library')
            elif header.split("/")[0] not in [lib, *below]:
                problems.append(f'{name}: "{header}" is not below {lib}')
    return problems


def check_app(root, files, table):
    problems = []
    for name in sources_below(files, "app"):
        for bracket, header in includes(root, name):
            layer = header.split("/")[0]
            if bracket == '"' and "/" in header and layer in table and layer not in FOR_APP:
                problems.append(f'{name}: "{header}" is not for app/')
    return problems


def built_files(build):
    """Each library's sources and headers (those it compiles alone), as the build knows them."""
    with open(os.path.join(build, "meson-info", "intro-targets.json"), encoding="utf-8") as file:
        targets = json.load(file)
    known = {}
    for target in targets:
        if target["type"] != "static library" or not target["name"].startswith("millrace_"):
            continue
        lib = target["name"][len("millrace_") :]
        names = known.setdefault(lib, set())
        for group in target["target_sources"]:
            names.update(os.path.basename(s) for s in group.get("sources", []))
            for made in map(
                os.path.basename, group.get("generated_sources", []) + group.get("sources", [])
            ):
                if made.startswith(f"alone_{lib}_"):
                    names.add(made[len(f"alone_{lib}_") : -len(".c")] + ".h")
    return known


def check_listed(files, table, known):
    problems = []
    for lib in table:
        for name in sources_below(files, "lib/" + lib):
            if os.path.basename(name) not in known.get(lib, ()):
                problems.append(f"{name} is not listed in lib/{lib}/meson.build")
    for name in files:
        parts = name.split("/")
        if (
            parts[0] == "lib"
            and len(parts) > 2
            and parts[1] not in table
            and name.endswith((".c", ".h"))
        ):
            problems.append(f"{name}: lib/{parts[1]} is not in the table of lib/meson.build")
    return problems


def main(root, build, *rows):
    table = {
        lib: [b for b in below.split(",") if b] for lib, below in (row.split(":") for row in rows)
    }
    files = common.tracked(root)
    cases = [
        (f"lib/{lib} includes only what is below it", check_library(root, files, lib, below), None)
        for lib, below in table.items()
    ]
    cases.append(("app/ includes only what is meant for it", check_app(root, files, table), None))
    cases.append(
        ("every file under lib/ is built", check_listed(files, table, built_files(build)), None)
    )
    return common.tap(cases)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
