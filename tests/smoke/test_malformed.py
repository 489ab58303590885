#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Each malformed packet of a corpus adds to one drop reason, and to nothing else at all."""
import contextlib
import os
from functools import partial

import machine
import tap
from corpus import corpus
from lab import Pair
from machine import Missing, poll

ALWAYS = {"turns", "sleeps", "busy_cycles", "idle_cycles", "busy_seconds", "idle_seconds"}
SHOWN = 20  # complaints


def changes(after, before):
    """Counters that have moved, without those that time moves."""
    moved = {n: after.count(n) - before.count(n) for n in after.counts if n not in ALWAYS}
    return {n: k for n, k in moved.items() if k}


def complaint(pair, one, before, after):
    """What is wrong with what one sample did; None: nothing."""
    dropped, moved = after.dropped(before), changes(after, before)
    expected = {
        "rx_packets": len(one.frames),
        "rx_bytes": sum(len(f) for f in one.frames),
        **one.also,
    }
    if dropped == {one.reason: len(one.frames)} and moved == expected:
        return None
    return f"{one.name}: dropped {dropped}, not for {one.reason}; counted {moved}, not {expected}"


def try_all(pair, samples):
    """The complaints. Each sample is seen through before the next is sent."""
    before = pair.app.snapshot()
    complaints = []
    for one in samples:
        for frame in one.frames:
            pair.raw.send(frame)
        try:
            after = pair.app.after(before, rx_packets=len(one.frames))
        except AssertionError as error:
            complaints.append(f"{one.name}: {error}")
            after = pair.app.snapshot()
        else:
            wrong = complaint(pair, one, before, after)
            if wrong:
                complaints.append(wrong)
        before = after
        if len(complaints) > SHOWN:
            break
    return complaints


def each_is_dropped_for_its_reason(pair):
    pair.app.quiet()
    samples = list(corpus(pair.app.mac()))
    complaints = try_all(pair, samples)
    reasons = {one.reason for one in samples}
    tap.note(f"{len(samples)} samples, {len(reasons)} of {len(pair.app.published().drops)} reasons")
    assert not complaints, "\n".join(complaints)


# ---- the corpus of the unit tests ----

CORPUS = os.environ.get("CORPUS", f"{machine.ROOT}/build/tests/corpus")
SHORTEST = 14  # bytes of a frame that a packet socket takes


def unit_samples(pair):
    """Of each its name, reason, how often that counts, and the frames."""
    ours = (pair.app.mac(), "10.77.0.1", "fd77::1")
    for line in machine.run(
        CORPUS, *ours, pair.peer_mac(), "10.77.0.2", "fd77::2"
    ).stdout.splitlines():
        name, reason, times, *frames = line.split(" ")
        frames = [bytes.fromhex(f) for f in frames]
        if min(len(f) for f in frames) >= SHORTEST:
            yield name, reason, int(times), frames


def so_are_those_of_the_unit_tests(pair):
    """With a kernel as peer, whom the appliance may ask where it is, and answer."""
    if not os.path.exists(CORPUS):
        raise Missing(f"no {CORPUS}")
    pair.app.quiet()
    pair.ping("-c", "1", "10.77.0.1")
    pair.ping("-c", "1", "fd77::1")
    before = pair.app.snapshot()
    complaints, number = [], 0
    for name, reason, times, frames in unit_samples(pair):
        for frame in frames:
            pair.raw.send(frame)
        after = before
        with contextlib.suppress(AssertionError):
            after = poll(name, 10, lambda b=before, n=times: drops_since(pair, b, n), step=0.002)
        if after.dropped(before) != {reason: times}:
            complaints.append(f"{name}: dropped {after.dropped(before)}, not {times} for {reason}")
        if len(complaints) > SHOWN:
            break
        before, number = after, number + 1
    tap.note(f"{number} samples")
    assert not complaints, "\n".join(complaints)


def drops_since(pair, before, times):
    now = pair.app.published()
    return now if sum(now.dropped(before).values()) >= times else None


def it_lives_on(pair):
    """And no buffer was kept."""
    health = pair.app.get("/v1/health")
    assert health["status"] == "ok", health
    used = sum(p["in_use"] for p in pair.app.get("/v1/memory")["pools"])
    samples = list(corpus(pair.app.mac()))
    before = pair.app.snapshot()
    for one in samples:
        for frame in one.frames:
            pair.raw.send(frame)
    pair.app.after(before, rx_packets=sum(len(one.frames) for one in samples))
    now = sum(p["in_use"] for p in pair.app.get("/v1/memory")["pools"])
    assert now <= used + 64, f"{now} buffers in use, {used} before"  # a burst on its way


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                driver,
                partial(Pair, driver, silent=True, config={"icmp": {"errors": False}}),
                each_is_dropped_for_its_reason,
                it_lives_on,
            )
            for driver in ("af_xdp", "tap")
        ),
        tap.Group("af_xdp", Pair, so_are_those_of_the_unit_tests),
    )
