#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""What the archives of lib/ call and keep: symbols.py [--skip WHY] LIB:BELOW,BELOW...=ARCHIVE ...

Each undefined symbol is defined by the library or by one it may depend on, or is in a short list:
no clock, thread, socket, file, allocation or DPDK gets in. No object holds writable data, so two
stacks in one process never meet."""
import os
import re
import subprocess
import sys

import common

ALLOWED = re.compile(
    "|".join(
        [
            r"mem(cpy|move|set|cmp|chr)",
            r"bcmp",
            r"str(len|nlen|cmp|ncmp|chr|rchr|spn|cspn|str|pbrk)",
            r"v?snprintf",
            r"__(mem(cpy|move|set)|v?snprintf)_chk",  # the same with _FORTIFY_SOURCE
            r"__assert_fail",
            r"__stack_chk_fail",
            # The compiler's own: 128-bit division, bit counts, and which instructions this CPU has.
            r"__u?(div|mod|divmod)[td]i[34]",
            r"__(popcount|clz|ctz)[dt]i2",
            r"__cpu_model",
            r"__cpu_features2",
            r"__cpu_indicator_init",
            r"_GLOBAL_OFFSET_TABLE_",
        ]
    )
)
# What one library may use besides.
OUTSIDE = {
    # OpenSSL, but for what opens files and sockets or takes locks; its memory is its own.
    "tls": re.compile(
        r"(?!.*(file|_fp|_fd|socket|_s_connect|_s_accept|default_verify|load_|THREAD|LOCK))"
        r"((SSL|TLS|EVP|BIO|PEM|X509|ASN1|ERR|GENERAL_NAMES|OSSL_PARAM)_\w+"
        r"|OPENSSL_(cleanse|sk_\w+)|CRYPTO_(malloc|zalloc|free|strn?dup)"
        r"|(d2i|i2d)_SSL_SESSION|HMAC|RAND_bytes)"
    ),
    "http2": re.compile(r"nghttp2_hd_\w+"),
}
# .data.rel.ro is const data with pointers in it: the loader writes it once.
WRITABLE = re.compile(r"\.t?(data|bss)(?!\.rel\.ro)(\.|$)|\*COM\*$")


def nm(archive):
    """(object, name, class, section) of each symbol."""
    out = subprocess.run(
        ["nm", "-A", "-f", "sysv", archive],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    ).stdout
    for line in out.splitlines():
        fields = [f.strip() for f in line.split("|")]
        if len(fields) == 7:
            where, name = fields[0][len(archive) + 1 :].rsplit(":", 1)
            yield os.path.basename(where), name.strip(), fields[2], fields[6]


def writable_sections(archive):
    """(object, section, bytes) of each section that is not empty and may be written."""
    out = subprocess.run(
        ["size", "-A", archive], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    member = ""
    for line in out.splitlines():
        words = line.split()
        if "(ex " in line:
            member = os.path.basename(words[0])
        elif (
            len(words) == 3
            and words[1].isdigit()
            and int(words[1]) > 0
            and WRITABLE.match(words[0])
        ):
            yield member, words[0], int(words[1])


def check_calls(lib, below, archives):
    defined = set()
    undefined = []
    for other in [lib, *below]:
        for obj, name, kind, _ in nm(archives[other]):
            if kind.isupper() and kind != "U":
                defined.add(name)
            elif other == lib and kind in ("U", "w"):
                undefined.append((obj, name))
    return [
        f"{obj} needs {name}"
        for obj, name in undefined
        if name not in defined
        and not ALLOWED.fullmatch(name)
        and not (lib in OUTSIDE and OUTSIDE[lib].fullmatch(name))
    ]


def check_data(archive):
    names = {}
    for obj, name, _, section in nm(archive):
        if WRITABLE.match(section):
            names.setdefault((obj, section), []).append(name)
    problems = []
    for obj, section, size in writable_sections(archive):
        kept = ", ".join(names.get((obj, section), ["unnamed"]))
        problems.append(f"{obj} keeps {size} bytes in {section}: {kept}")
    return problems


def main(arguments):
    skip = None
    if arguments and arguments[0] == "--skip":
        skip = arguments[1]
        arguments = arguments[2:]
    table, archives = {}, {}
    for row in arguments:
        head, archive = row.split("=", 1)
        lib, below = head.split(":")
        table[lib] = [b for b in below.split(",") if b]
        archives[lib] = archive
    cases = []
    for lib, below in table.items():
        calls = None if skip else check_calls(lib, below, archives)
        data = None if skip else check_data(archives[lib])
        cases.append((f"{lib} needs nothing it may not have", calls, skip))
        cases.append((f"{lib} has no writable data", data, skip))
    return common.tap(cases)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
