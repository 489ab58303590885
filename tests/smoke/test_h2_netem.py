#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""A hundred mebibytes each way on 32 streams of one connection, over a line that delays by 50 ms and
loses packets: netem in a user-mode Linux between client and appliance."""
import contextlib
import os
import time
from collections import Counter

import tap
from h2lab import MIB, PIECE, V4, V6, Served, origin
from tap import note
from tcp import same
from uml import Cable

STREAMS = 32
SIZE = 100 * MIB // STREAMS
LINE = "delay 25ms loss 0.01%"
PATIENCE = 150  # seconds


class Rough(Served):
    """With netem in between."""

    def __init__(self):
        super().__init__("af_packet")
        self.cable = None

    def veth(self, one, one_name, other, other_name, queues=1):
        self.cable = Cable(self, one, one_name, other, other_name)

    def explain(self, since):
        return super().explain(since) + self.cable.explain()


def content(i):
    """Of stream i: each its own."""
    shift = 4096 * i + 1
    data = PIECE[shift:] + PIECE[:shift]
    return (data * (SIZE // MIB + 1))[:SIZE]


def echoes_on_many_streams(given, address=V4):
    """Up and down at once."""
    given.cable.shape(LINE)
    directory = given.new_path()
    os.mkdir(directory)
    words = []
    for i in range(STREAMS):
        with open(f"{directory}/up{i}", "wb") as file:
            file.write(content(i))
        words += ["-T", f"{directory}/up{i}", "-o", f"{directory}/down{i}"]
        words += [f"{origin(address)}/echo"]
    before, lost, start = given.app.snapshot(), given.cable.lost(), time.monotonic()
    done = given.client(
        *("curl", "-sSk", "--http2", "-Z", "--parallel-max", str(STREAMS)),
        *("-w", "%{http_code} %{num_connects}\n", *words),
        check=False,
        timeout=PATIENCE,
    )
    took = time.monotonic() - start
    after, lost = given.app.snapshot(), given.cable.lost() - lost
    assert Counter(done.stdout.split()[::2]) == {"200": STREAMS}, done.stdout + done.stderr
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-2000:]}"
    for i in range(STREAMS):
        with open(f"{directory}/down{i}", "rb") as file:
            same(file.read(), content(i))
    counted = after.counted(before, "tcp_retransmits", "tcp_rto", "h2_opened", "h2_streams_opened")
    note(f"{took:.1f} s, {counted}, {lost} lost on the way to netem")
    assert counted["h2_opened"] == 1 and counted["h2_streams_opened"] == STREAMS, counted


def leaves_nothing(given):
    given.nothing_is_left(30)


if __name__ == "__main__":
    tap.main(tap.Group("50 ms", Rough, echoes_on_many_streams, leaves_nothing))
