#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""nghttp, h2load, Node's client and python3-h2: each with habits of its own."""
import functools
import os
import random
import re
import subprocess

import tap
from h2client import H2Client
from h2lab import IMAGES, MIB, SMALL, V4, V6, Served, named, origin
from machine import end
from tcp import same, source_bytes

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h2client.js")
WAYS = (V4, True), (V6, False)


# ---- nghttp ----


def statuses(text):
    """Of the answers in a verbose output, by status."""
    found = re.findall(r"recv \(stream_id=\d+\) :status: (\d+)", text)
    return {status: found.count(status) for status in set(found)}


def nghttp_fetches_a_page_with_all_it_needs(given):
    """With the priorities of RFC 7540, which are to be ignored."""
    for address, tls in WAYS:
        text = given.client("nghttp", "-nav", "--no-push", f"{origin(address, tls)}/").stdout
        assert statuses(text) == {"200": IMAGES + 2}, statuses(text)
        assert "GOAWAY" not in text.split("send GOAWAY")[0], text[-2000:]


def nghttp_asks_many_times(given):
    for address, tls in WAYS:
        for words in (), ("-w10", "-W12"), ("-b200",), ("-c0",), ("-c100", "-c4096"):
            url = f"{origin(address, tls)}/16k.bin"
            text = given.client("nghttp", "-nv", "-m50", *words, url).stdout
            assert statuses(text) == {"200": 50}, (words, statuses(text))


def nghttp_sends_a_head_in_pieces(given):
    """CONTINUATION."""
    text = given.client("nghttp", "-v", "--continuation", f"{origin()}/small.txt").stdout
    assert statuses(text) == {"200": 1} and SMALL.decode() in text, text


def nghttp_sends_trailers_and_padding(given):
    path = given.new_path()
    with open(path, "wb") as file:
        file.write(b"content")
    done = given.client(
        "nghttp", "-v", "--trailer", "x: 1", "-b", "99", "-d", path, origin() + "/echo"
    )
    assert statuses(done.stdout) == {"200": 1} and "content" in done.stdout, done.stdout


# ---- h2load ----


def h2load_on_one_connection(given):
    for address, tls in WAYS:
        words = ["-c1", "-m100", "-n20000"]
        load = given.h2load("/small.txt", *words, address=address, tls=tls)
        load.check(20000, len(SMALL))


def h2load_on_a_hundred_connections(given):
    for address, tls in WAYS:
        words = ["-c100", "-m100", "-n20000"]
        load = given.h2load("/small.txt", *words, address=address, tls=tls)
        load.check(20000, len(SMALL))


def h2load_of_large_content(given):
    for address, tls in WAYS:
        words = ["-c4", "-m10", "-n100", "-w30", "-W30"]
        given.h2load("/1m.bin", *words, address=address, tls=tls).check(100, MIB)


def h2load_of_large_content_through_small_windows(given):
    words = ["-c4", "-m10", "-n40", "-w12", "-W13"]
    given.h2load("/1m.bin", *words).check(40, MIB)


def h2load_of_uploads(given):
    path = f"{given.site}/16k.bin"
    words = ["-c10", "-m20", "-n1000", "-d", path]
    given.h2load("/echo", *words).check(1000, 16 << 10)


def h2load_killed_in_mid_run(given):
    """Whatever it was at: a handshake, small answers, large ones, uploads."""
    given.needs_appliance()
    loads = (
        ("/small.txt", "-c50", "-m100"),
        ("/1m.bin", "-c20", "-m20", "-w30", "-W30"),
        ("/echo", "-c20", "-m20", "-d", f"{given.site}/1m.bin"),
    )
    for path, *words in loads:
        for tls in True, False:
            for sent in 1, 4 << 20:  # at once, and with much under way
                before = given.app.snapshot()
                load = given.peer.spawn(
                    *("h2load", "-n100000000", *words, origin(tls=tls) + path),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                given.app.after(before, tcp_tx_bytes=sent)
                assert load.poll() is None, "it has ended by itself"
                end(load)
    given.nothing_is_left()
    same(given.curl(f"{origin()}/small.txt").body(), SMALL)


# ---- Node ----


def node(given, name, address=V4, tls=True):
    given.client("node", "--no-warnings", SCRIPT, name, named("", tls), address)


def node_opens_many_streams(given):
    for way in WAYS:
        node(given, "streams", *way)


def node_uploads_as_fast_as_it_may(given):
    for way in WAYS:
        node(given, "upload", *way)


def node_pings(given):
    node(given, "ping")


def node_changes_its_settings(given):
    node(given, "settings")


def node_sends_trailers(given):
    node(given, "trailers")


def node_cancels_streams(given):
    node(given, "cancel")


def node_closes_gracefully(given):
    node(given, "close")


def node_says_goaway(given):
    node(given, "goaway")


# ---- python3-h2 ----


def python_reads_through_small_windows(given):
    """Of a KiB, given back in parts of any size that is not too silly; the connection's by halves.
    Not on so many streams that updates for what was not sent since the last make it suspicious."""
    chance = random.Random(6)
    size, n = 20_000, 8
    for way in WAYS:
        with H2Client(given, *way, window=1024) as client:
            streams = [client.request(f"/bytes/{size}") for _ in range(n)]
            owed, total = dict.fromkeys(streams, 0), 0
            while not client.ended.issuperset(streams):
                for stream, used in client.step().items():
                    owed[stream] += used
                    total += used
                for stream in [s for s, k in owed.items() if k >= 256]:
                    part = chance.randint(256, owed[stream])
                    client.credit(part, stream)
                    owed[stream] -= part
                if total > 1 << 15:
                    client.credit(total)
                    total = 0
            for stream in streams:
                assert client.status[stream] == 200
                same(client.body[stream], source_bytes(0, size))


def python_asks_again_and_again(given):
    """On one connection, a hundred at a time."""
    for way in WAYS:
        with H2Client(given, *way) as client:
            for _ in range(20):
                streams = [client.request("/small.txt") for _ in range(100)]
                client.finish(streams)
                assert all(client.body[s] == SMALL for s in streams)


def python_uploads_on_many_streams(given):
    """By turns, with padding, as far as the server's windows go."""
    chance = random.Random(7)
    data = chance.randbytes(300_000)
    with H2Client(given) as client:
        left = {client.request("/echo", "POST", end=False): memoryview(data) for _ in range(16)}
        streams = list(left)
        while left:
            moved = 0
            for stream in list(left):
                part = left[stream][: chance.randint(1, 40_000)]
                n = client.send(stream, part, chance.choice((0, 1, 255)))
                moved += n
                left[stream] = left[stream][n:]
                if not left[stream]:
                    client.end(stream)
                    del left[stream]
            if not moved:
                client.take()
        client.finish(streams)
        for stream in streams:
            same(client.body[stream], data)


def leaves_nothing(given):
    given.nothing_is_left()


NGHTTP = (
    nghttp_fetches_a_page_with_all_it_needs,
    nghttp_asks_many_times,
    nghttp_sends_a_head_in_pieces,
    nghttp_sends_trailers_and_padding,
)
H2LOAD = (
    h2load_on_one_connection,
    h2load_on_a_hundred_connections,
    h2load_of_large_content,
    h2load_of_large_content_through_small_windows,
    h2load_of_uploads,
    h2load_killed_in_mid_run,
)
NODE = (
    node_opens_many_streams,
    node_uploads_as_fast_as_it_may,
    node_pings,
    node_changes_its_settings,
    node_sends_trailers,
    node_cancels_streams,
    node_closes_gracefully,
    node_says_goaway,
)
PYTHON = (
    python_reads_through_small_windows,
    python_asks_again_and_again,
    python_uploads_on_many_streams,
)

if __name__ == "__main__":
    tap.main(
        tap.Group("af_xdp", Served, *NGHTTP, *H2LOAD, *NODE, *PYTHON, leaves_nothing),
        tap.Group(
            "tap",
            functools.partial(Served, "tap"),
            nghttp_fetches_a_page_with_all_it_needs,
            h2load_on_a_hundred_connections,
            h2load_of_large_content,
            node_opens_many_streams,
            leaves_nothing,
        ),
    )
