#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The lints themselves: each is given sound and bad samples and must tell them apart."""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

import common
import format as c_format
import layers
import scripts
import symbols
import text

SPDX_C = "/* SPDX-License-Identifier: BSD-3-Clause */\n"


@contextlib.contextmanager
def folder(files):
    """A folder that holds these files: {name: content}, scripts executable."""
    with tempfile.TemporaryDirectory(prefix="millrace-lint-") as root:
        for name, content in files.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            if content.startswith("#!"):
                os.chmod(path, 0o755)
        yield root


def output(lint, *arguments):
    """What a lint printed, and its exit status."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = lint(*arguments)
    return out.getvalue(), status


def judge(found, wanted):
    """wanted: None where the sample is sound, else a part of the problem to be named."""
    printed, status = found
    if wanted is None:
        return [] if status == 0 else ["a sound sample was refused:", *printed.splitlines()]
    if status != 0 and "not ok" in printed and wanted in printed:
        return []
    return [f"not found: {wanted}", *printed.splitlines()]


def layers_sample(files, listed=("a.c", "a.h")):
    """lib/low and lib/high above it, and app/."""
    sample = {
        "lib/low/a.h": "#include <stdint.h>\n",
        "lib/low/a.c": '#include "low/a.h"\n',
        "lib/high/b.h": '#include "low/a.h"\n',
        **files,
    }
    targets = [
        {
            "name": "millrace_low",
            "type": "static library",
            "target_sources": [
                {
                    "sources": ["/x/" + n for n in listed if n.endswith(".c")],
                    "generated_sources": [
                        "/b/alone_low_" + n[:-2] + ".c" for n in listed if n.endswith(".h")
                    ],
                }
            ],
        },
        {
            "name": "millrace_high",
            "type": "static library",
            "target_sources": [{"sources": ["/b/alone_high_b.c"]}],
        },
    ]
    sample["build/meson-info/intro-targets.json"] = json.dumps(targets)
    with folder(sample) as root:
        return output(layers.main, root, os.path.join(root, "build"), "low:", "high:low")


def symbols_sample(low, high="int high(void);\nint high(void) { return 1; }\n"):
    """Archives of one object each, high above low."""
    compiler = os.environ.get("CC", "cc")
    with folder({"low.c": low, "high.c": high}) as root:
        rows = []
        for lib, below in (("low", ""), ("high", "low")):
            subprocess.run(
                [*compiler.split(), "-O1", "-fno-builtin", "-c", lib + ".c", "-o", lib + ".o"],
                cwd=root,
                check=True,
            )
            subprocess.run(["ar", "rcs", lib + ".a", lib + ".o"], cwd=root, check=True)
            rows.append(f"{lib}:{below}={root}/{lib}.a")
        return output(symbols.main, rows)


def format_sample(content):
    with folder({"a.c": content, ".clang-format": "BasedOnStyle: LLVM\n"}) as root:
        return output(c_format.main, [root])


def scripts_sample(files):
    with folder(files) as root:
        for name in files:
            if name.startswith("plain"):
                os.chmod(os.path.join(root, name), 0o644)
        return output(scripts.main, root)


def text_sample(files):
    with folder(files) as root:
        return output(text.main, root)


LAYERS = [
    (
        "layers: sound",
        lambda: layers_sample({"app/m.c": '#include "stack/stack.h"\n#include <time.h>\n'}),
        None,
    ),
    (
        "layers: upwards",
        lambda: layers_sample({"lib/low/a.c": '#include "high/b.h"\n'}),
        '"high/b.h" is not below low',
    ),
    (
        "layers: odd spacing",
        lambda: layers_sample({"lib/low/a.c": ' # include"high/b.h"\n'}),
        "is not below low",
    ),
    (
        "layers: no library",
        lambda: layers_sample({"lib/low/a.c": '#include "a.h"\n'}),
        "does not name its library",
    ),
    (
        "layers: a clock",
        lambda: layers_sample({"lib/low/a.c": "#include <time.h>\n"}),
        "<time.h> is not for lib/",
    ),
    (
        "layers: DPDK",
        lambda: layers_sample({"lib/high/b.h": "#include <rte_mbuf.h>\n"}),
        "<rte_mbuf.h> is not for lib/",
    ),
    (
        "layers: OpenSSL",
        lambda: layers_sample({"lib/high/b.h": "#include <openssl/ssl.h>\n"}),
        "<openssl/ssl.h> is not for lib/",
    ),
    (
        "layers: app too deep",
        lambda: layers_sample({"app/m.c": '#include "low/a.h"\n'}),
        "is not for app/",
    ),
    (
        "layers: source not built",
        lambda: layers_sample({"lib/low/c.c": ""}),
        "lib/low/c.c is not listed",
    ),
    (
        "layers: header not alone",
        lambda: layers_sample({}, listed=["a.c"]),
        "lib/low/a.h is not listed",
    ),
    (
        "layers: unknown library",
        lambda: layers_sample({"lib/new/n.h": ""}),
        "lib/new is not in the table",
    ),
]

CALL = (
    "#include <stdlib.h>\n#include <time.h>\nvoid low(void);\nvoid high(void);\n"
    "void {1}(void) {{ {0}; }}\n"
)
SYMBOLS = [
    (
        "symbols: sound",
        lambda: symbols_sample(
            "#include <string.h>\nextern const char *const names[];\n"
            'const char *const names[] = {"a"};\nint low(const char *);\n'
            "int low(const char *s) { return (int)strlen(s) + names[0][0]; }\n",
            CALL.format("low()", "high"),
        ),
        None,
    ),
    (
        "symbols: a clock",
        lambda: symbols_sample(CALL.format("clock_gettime(0, NULL)", "low")),
        "needs clock_gettime",
    ),
    ("symbols: memory", lambda: symbols_sample(CALL.format("free(NULL)", "low")), "needs free"),
    (
        "symbols: a weak one",
        lambda: symbols_sample(
            "int now(void) __attribute__((weak));\nint low(void);\n"
            "int low(void) { return now ? now() : 0; }\n"
        ),
        "needs now",
    ),
    ("symbols: upwards", lambda: symbols_sample(CALL.format("high()", "low")), "low.o needs high"),
    (
        "symbols: static of the same name",
        lambda: symbols_sample(
            "static __attribute__((noinline, used)) int low(void) { return 1; }\nint other(void);\n"
            "int other(void) { return low(); }\n",
            CALL.format("low()", "high"),
        ),
        "high.o needs low",
    ),
    (
        "symbols: a global",
        lambda: symbols_sample("int counter = 3;\n"),
        "keeps 4 bytes in .data: counter",
    ),
    (
        "symbols: a zero global",
        lambda: symbols_sample("int counter;\n"),
        "keeps 4 bytes in .bss: counter",
    ),
    (
        "symbols: a static",
        lambda: symbols_sample(
            "int low(void);\nint low(void) { static int calls; return ++calls; }\n"
        ),
        "keeps 4 bytes in .bss: calls",
    ),
    (
        "symbols: thread-local",
        lambda: symbols_sample("_Thread_local int mine = 1;\n"),
        ".tdata: mine",
    ),
    (
        "symbols: pointers to change",
        lambda: symbols_sample("extern int x;\nint *where = &x;\n"),
        ": where",
    ),
]

FORMAT = [
    ("format: sound", lambda: format_sample("int a(void) { return 1; }\n"), None),
    ("format: crooked", lambda: format_sample("int a( void ){return 1;}\n"), "a.c:1"),
]

SCRIPTS = [
    (
        "scripts: sound",
        lambda: scripts_sample(
            {"a.sh": '#!/bin/sh\necho "$1"\n', "b": "#!/usr/bin/env -S python3 -B\n1\n"}
        ),
        None,
    ),
    ("scripts: Python", lambda: scripts_sample({"a.py": "def f(:\n"}), "a.py:"),
    (
        "scripts: Python by its first line",
        lambda: scripts_sample({"a": "#!/usr/bin/env python3\nx = = 1\n"}),
        "a: ",
    ),
    ("scripts: not executable", lambda: scripts_sample({"plain": "#!/bin/sh\n"}), "not executable"),
]
SHELL = [
    ("scripts: shell", lambda: scripts_sample({"a.sh": "#!/bin/sh\nrm -rf $1/\n"}), "a.sh:2"),
    (
        "scripts: shell by its first line",
        lambda: scripts_sample({"a": "#!/usr/bin/env bash\necho $x\n"}),
        "a:2",
    ),
]

TEXT = [
    (
        "text: sound",
        lambda: text_sample({"a.c": SPDX_C, "b.md": "b\n", "tests/fuzz/corpus/x/1": "raw "}),
        None,
    ),
    ("text: space", lambda: text_sample({"b.md": "b \n"}), "b.md:1: white space"),
    ("text: end", lambda: text_sample({"b.md": "b"}), "does not end with one newline"),
    ("text: blank end", lambda: text_sample({"b.md": "b\n\n"}), "does not end with one newline"),
    ("text: licence", lambda: text_sample({"a.c": "int a;\n"}), "a.c: no SPDX"),
    ("text: licence of a script", lambda: text_sample({"run": "#!/bin/sh\n"}), "run: no SPDX"),
    ("text: long", lambda: text_sample({"a.c": SPDX_C + "\n" * 998 + "int a;\n"}), "1000 lines"),
]


def main():
    cases = [
        (name, judge(sample(), wanted), None)
        for name, sample, wanted in LAYERS + SYMBOLS + SCRIPTS + TEXT
    ]
    tool, why = c_format.find_tool()
    cases += [
        (name, judge(sample(), wanted) if tool else None, why) for name, sample, wanted in FORMAT
    ]
    why = None if shutil.which("shellcheck") else "shellcheck is not installed"
    cases += [
        (name, None if why else judge(sample(), wanted), why) for name, sample, wanted in SHELL
    ]
    return common.tap(cases)


if __name__ == "__main__":
    sys.exit(main())
