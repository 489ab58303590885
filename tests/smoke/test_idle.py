#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""An appliance with nothing to do hardly uses its core, and is awake at once all the same."""
import os
import re
import statistics
import time
from functools import partial

import tap
from lab import Pair
from machine import poll

WATCHED = 3  # seconds
MOST = 0.05  # of a core
FIRSTS = 7
FIRST_MS = 5
ROUNDS = 3
DRIVERS = ("af_xdp", "af_packet", "tap")


def cpu_seconds(pid):
    """By thread: what it ran, to the nanosecond, and its name."""
    threads = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        base = f"/proc/{pid}/task/{thread}"
        with open(f"{base}/schedstat", encoding="ascii") as file:
            ran = int(file.read().split()[0]) / 1e9
        with open(f"{base}/comm", encoding="ascii") as file:
            threads[thread] = ran, file.read().strip()
    return threads


def uses_under_5_percent_of_a_core(pair):
    pair.app.settle()
    pair.app.announced()
    pid = pair.app.process.pid
    before, start = cpu_seconds(pid), time.monotonic()
    poll("the time is over", WATCHED + 1, lambda: time.monotonic() - start >= WATCHED, step=0.1)
    after, took = cpu_seconds(pid), time.monotonic() - start
    share = {t: (ran - before.get(t, (0,))[0]) / took for t, (ran, _) in after.items()}
    busiest = max(share, key=share.get)
    tap.note(
        f"{100 * sum(share.values()):.1f} % of a core,"
        f" {100 * share[busiest]:.1f} % of it in thread {after[busiest][1]}"
    )
    assert sum(share.values()) < MOST, share


def rtt_ms(output):
    found = re.search(r"time=([\d.]+) ms", output)
    assert found, output
    return float(found[1])


def idle(pair):
    """Until the worker sleeps as long as it ever does."""
    before = pair.app.snapshot()
    pair.app.after(before, sleeps=50)


def first_ping_ms(pair):
    """With both sides' ARP: nobody knows anybody."""
    pair.app.get("/v1/neighbours", "DELETE")
    pair.peer.ip("neigh", "flush", "dev", pair.peer_if)
    idle(pair)
    return rtt_ms(pair.ping("-c", "1", "-W", "5", "10.77.0.1"))


def answers_the_first_ping_in_under_5_ms(pair):
    """A ping that the machine itself kept waiting says nothing of the appliance: hence the median,
    and another round where the machine was busy with other things."""
    for _ in range(ROUNDS):
        times = [first_ping_ms(pair) for _ in range(FIRSTS)]
        tap.note("ms: " + " ".join(f"{t:.2f}" for t in times))
        if statistics.median(times) < FIRST_MS:
            return
    raise AssertionError(f"{ROUNDS} times no median under {FIRST_MS} ms")


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                driver,
                partial(Pair, driver),
                uses_under_5_percent_of_a_core,
                answers_the_first_ping_in_under_5_ms,
            )
            for driver in DRIVERS
        )
    )
