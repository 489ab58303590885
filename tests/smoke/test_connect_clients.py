#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Node's HTTP/2 client, curl and Chromium as clients of the proxy: pages over HTTPS through tunnels."""
import os
import re
import shutil
import subprocess

import tap
import targets
from connectlab import SECURE, TARGET4, TARGET6, V4, V6, ConnectPair, literal
from h2lab import FIRST, HTTPS, IMAGES, SMALL, image_colour, image_size, server
from machine import KEEP
from tap import note
from tcp import same
from test_h2_browser import QUIET, SECONDS, colours

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT, SERVER = f"{HERE}/connect_client.js", f"{HERE}/site_server.js"
PROXY = "proxy.test"
WAYS = (V4, TARGET6), (V6, TARGET4)


# ---- Node ----


def node(given, name, port, address=V4, target=TARGET4):
    authority = (
        literal(target, port) if ":" in target or target[0].isdigit() else f"{target}:{port}"
    )
    given.client("node", "--no-warnings", SCRIPT, name, address, str(SECURE), authority)


def node_opens_many_tunnels(given):
    for address, target in WAYS:
        node(given, "echo", targets.ECHO, address, target)


def node_uploads_as_fast_as_it_may(given):
    for address, target in WAYS:
        node(given, "upload", targets.COUNT, address, target)


def node_is_refused(given):
    node(given, "refused", targets.REFUSE)


def node_sees_a_reset(given):
    node(given, "reset", targets.RESET)


def node_cancels_tunnels(given):
    node(given, "cancel", targets.ECHO)


def node_loads_pages_in_a_tunnel(given):
    node(given, "page", HTTPS, target=FIRST)


# ---- curl ----


def curl_loads_pages_through_tunnels(given):
    """By HTTP/2 to the proxy, which curl can from 8.1 on."""
    if "--proxy-http2" not in given.client("curl", "--help", "proxy").stdout:
        note(f"left out: {given.client('curl', '--version').stdout.split(' (')[0]} cannot")
        return
    for address, _ in WAYS:
        proxy = ["--proxy", f"https://{server(address)}:{SECURE}", "--proxy-http2"]
        before = given.app.snapshot()
        reply = given.curl(*proxy, "--proxy-insecure", f"https://{FIRST}/small.txt")
        assert reply.status == 200
        same(reply.body(), SMALL)
        assert given.app.after(before, h2_opened=1).counted(before, "h2_opened") == {"h2_opened": 1}
        curl_loads_many(given, proxy)


def curl_loads_many(given, proxy):
    """Eight at once, in one connection to the proxy, to two names of the server."""
    words = []
    for i in range(8):
        words += [
            "-o",
            f"{given.new_path()}",
            f"https://{FIRST if i % 2 else 'www.' + FIRST}/1m.bin",
        ]
    done = given.client(
        *(
            "curl",
            "-sSk",
            "-Z",
            *proxy,
            "--proxy-insecure",
            "-w",
            "%{http_code} %{size_download}\n",
        ),
        *words,
    )
    assert done.stdout.splitlines() == [f"200 {1 << 20}"] * 8, done.stdout


# ---- Chromium ----


def chromium(given, address, *words):
    """What it prints. It knows the proxy's name, and can look up no other."""
    home = given.new_path()
    os.mkdir(home)
    quiet = [w for w in QUIET if w != "--no-proxy-server"]
    done = given.client(
        "chromium",
        *quiet,
        *(f"--user-data-dir={home}/profile", f"--proxy-server=https://{PROXY}:{SECURE}"),
        f"--host-resolver-rules=MAP {PROXY} {server(address)}, MAP * ~NOTFOUND",
        *words,
        f"https://{FIRST}/",
        timeout=SECONDS,
        env={**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home, "DBUS_SESSION_BUS_ADDRESS": ""},
    )
    shutil.rmtree(home, ignore_errors=True)
    return done.stdout


def chromium_loads_a_page_through_tunnels(given, address=V4):
    given.forget_log()
    text = chromium(given, address, "--dump-dom")
    told = re.search(r'<h1 id="told">(.*?)</h1>', text)
    assert told, text[:2000]
    n = IMAGES + 2  # the page and its style
    assert told[1] == f"{IMAGES} images, {n} of {n} over h2", told[1]
    rows = [r for r in given.tunnels_logged() if r["authority"] == f"{FIRST}:{HTTPS}"]
    assert rows and all(r["status"] == 200 for r in rows), rows


def chromium_loads_a_page_through_tunnels_over_ipv6(given):
    chromium_loads_a_page_through_tunnels(given, V6)


def chromium_shows_it(given):
    """Each image's colour, as large as the image. For an eye the picture is kept, too."""
    os.makedirs(KEEP, exist_ok=True)
    file = f"{KEEP}/test_connect_clients.png"
    chromium(given, V4, f"--screenshot={file}", "--force-device-scale-factor=1")
    note(file)
    with open(file, "rb") as png:
        seen = colours(png.read())
    for i in range(IMAGES):
        width, height = image_size(i)
        assert seen[image_colour(i)] >= width * height, f"image {i} is not on the screen"


def leaves_nothing(given):
    given.nothing_is_left()


class Browsed(ConnectPair):
    """With a web server beside the targets."""

    def _build(self):
        super()._build()
        first = self.pems["first"]
        process = self.target.spawn(
            *("node", SERVER, self.site, first.certificate, first.key, str(HTTPS)),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n", "the web server does not start"

    def _sections(self):
        sections = super()._sections()
        both = [TARGET4, TARGET6]
        sections["hosts"] += [{"name": n, "addresses": both} for n in (FIRST, f"www.{FIRST}")]
        return sections


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            Browsed,
            node_opens_many_tunnels,
            node_uploads_as_fast_as_it_may,
            node_is_refused,
            node_sees_a_reset,
            node_cancels_tunnels,
            node_loads_pages_in_a_tunnel,
            curl_loads_pages_through_tunnels,
            chromium_loads_a_page_through_tunnels,
            chromium_loads_a_page_through_tunnels_over_ipv6,
            chromium_shows_it,
            leaves_nothing,
        )
    )
