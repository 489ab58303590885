#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Chromium, without a screen, loads a page with a hundred images over one connection."""
import os
import re
import shutil
import struct
import zlib
from collections import Counter

import tap
from h2lab import FIRST, IMAGES, V4, V6, Served, image_colour, image_size
from machine import KEEP
from tap import note

QUIET = (
    "--headless",
    "--no-sandbox",  # it runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-extensions",
    "--disable-features=OptimizationHints,MediaRouter,Translate",
    "--ignore-certificate-errors",
    "--window-size=520,900",
)
SECONDS = 60


def chromium(given, address, *words):
    """What it prints, with its own home, where the site's name is this address and no other is."""
    home = given.new_path()
    os.mkdir(home)
    bracketed = f"[{address}]" if ":" in address else address
    rules = f"MAP {FIRST} {bracketed}, MAP * ~NOTFOUND"
    done = given.client(
        "chromium",
        *QUIET,
        *(f"--user-data-dir={home}/profile", f"--host-resolver-rules={rules}"),
        *words,
        f"https://{FIRST}/",
        timeout=SECONDS,
        env={**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home, "DBUS_SESSION_BUS_ADDRESS": ""},
    )
    shutil.rmtree(home, ignore_errors=True)
    return done.stdout


def loads_all_of_a_page(given, address=V4):
    """Its script looks at each image's size, and at what carried each request."""
    text = chromium(given, address, "--dump-dom")
    told = re.search(r'<h1 id="told">(.*?)</h1>', text)
    assert told, text[:2000]
    n = IMAGES + 2  # the page and its style
    assert told[1] == f"{IMAGES} images, {n} of {n} over h2", told[1]


def loads_all_of_a_page_over_ipv6(given):
    loads_all_of_a_page(given, V6)


# ---- the screen ----


def unfiltered(kind, line, above, step):
    """A line of a PNG; of the five ways that it may stand there (PNG 9.2)."""
    out = bytearray(line)
    for i, value in enumerate(line):
        left = out[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        near = 0
        if kind == 1:
            near = left
        elif kind == 2:
            near = above[i]
        elif kind == 3:
            near = (left + above[i]) // 2
        elif kind == 4:
            guess = left + above[i] - corner
            near = min((left, above[i], corner), key=lambda v, g=guess: abs(g - v))
        out[i] = (value + near) & 255
    return out


def colours(png):
    """How many pixels of each colour a PNG of 8-bit RGB or RGBA has."""
    chunks, at = {}, 8
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        chunks[kind] = chunks.get(kind, b"") + png[at + 8 : at + 8 + size]
        at += size + 12
    width, height, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert depth == 8 and colour in (2, 6), (depth, colour)
    step = 3 if colour == 2 else 4
    data, stride = zlib.decompress(chunks[b"IDAT"]), width * step
    above, found = bytes(stride), Counter()
    for y in range(height):
        start = y * (stride + 1)
        above = unfiltered(data[start], data[start + 1 : start + 1 + stride], above, step)
        found.update(zip(above[::step], above[1::step], above[2::step]))
    return found


def shows_it(given):
    """Each image's colour, as large as the image. For an eye the picture is kept, too."""
    os.makedirs(KEEP, exist_ok=True)
    file = f"{KEEP}/test_h2_browser.png"
    chromium(given, V4, f"--screenshot={file}", "--force-device-scale-factor=1")
    note(file)
    with open(file, "rb") as png:
        seen = colours(png.read())
    for i in range(IMAGES):
        width, height = image_size(i)
        assert seen[image_colour(i)] >= width * height, f"image {i} is not on the screen"


def leaves_nothing(given):
    given.nothing_is_left()


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            Served,
            loads_all_of_a_page,
            loads_all_of_a_page_over_ipv6,
            shows_it,
            leaves_nothing,
        )
    )
