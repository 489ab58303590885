#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Each malformed packet of a corpus adds to one drop reason, and to nothing else at all."""
import contextlib
import itertools
import os
from collections import Counter, namedtuple
from functools import partial

import machine
import tap
from corpus import corpus
from lab import Pair
from machine import Missing, poll

ALWAYS = {"turns", "sleeps", "busy_cycles", "idle_cycles", "busy_seconds", "idle_seconds"}
SHOWN = 20  # complaints
BATCH = 16


def changes(after, before):
    """Counters that have moved, without those that time moves."""
    moved = {n: after.count(n) - before.count(n) for n in after.counts if n not in ALWAYS}
    return {n: k for n, k in moved.items() if k}


def batches(samples):
    """Neighbours that are to be dropped for one reason, so that none can stand for another: where
    one is dropped for something else, the sums of its batch are wrong."""
    for _, some in itertools.groupby(samples, lambda one: one.reason):
        while batch := list(itertools.islice(some, BATCH)):
            yield batch


class Ledger:
    """Batches go out one after another, each seen through; what one counts too much or too late, the
    next has to answer for."""

    def __init__(self, pair):
        self.pair = pair
        self.before = pair.app.snapshot()

    def send(self, batch):
        for one in batch:
            for frame in one.frames:
                self.pair.raw.send(frame)

    def since(self, after):
        before, self.before = self.before, after
        return after.dropped(before), changes(after, before)

    def complaints(self, samples):
        found = []
        for batch in batches(samples):
            told = self.wrong(batch)
            if told and len(batch) > 1:  # whose fault was it?
                told = " ".join(filter(None, (self.wrong([one]) for one in batch))) or told
            found += [told] * bool(told)
            if len(found) > SHOWN:
                break
        return found

    def wrong(self, batch):
        """What is wrong with what a batch did; None: nothing."""
        frames = [f for one in batch for f in one.frames]
        expected = Counter(rx_packets=len(frames), rx_bytes=sum(map(len, frames)))
        for one in batch:
            expected.update(one.also)
        self.send(batch)
        try:
            after = self.pair.app.after(self.before, rx_packets=len(frames))
        except AssertionError as error:
            self.before = self.pair.app.snapshot()
            return f"{names(batch)}: {error}"
        dropped, moved = self.since(after)
        reason = batch[0].reason
        if dropped == {reason: len(frames)} and moved == expected:
            return None
        return (
            f"{names(batch)}: dropped {dropped}, not for {reason}; counted {moved}, not {dict(expected)}"
        )


def names(batch):
    return ", ".join(one.name for one in batch)


def each_is_dropped_for_its_reason(pair):
    pair.app.quiet()
    samples = list(corpus(pair.app.mac()))
    complaints = Ledger(pair).complaints(samples)
    reasons = {one.reason for one in samples}
    tap.note(f"{len(samples)} samples, {len(reasons)} of {len(pair.app.published().drops)} reasons")
    assert not complaints, "\n".join(complaints)


# ---- the corpus of the unit tests ----

CORPUS = os.environ.get("CORPUS", f"{machine.ROOT}/build/tests/corpus")
SHORTEST = 14  # bytes of a frame that a packet socket takes
Unit = namedtuple("Unit", "name reason times frames")  # times: how often it counts


def unit_samples(pair):
    ours = (pair.app.mac(), "10.77.0.1", "fd77::1")
    for line in machine.run(
        CORPUS, *ours, pair.peer_mac(), "10.77.0.2", "fd77::2"
    ).stdout.splitlines():
        name, reason, times, *frames = line.split(" ")
        frames = [bytes.fromhex(f) for f in frames]
        if min(len(f) for f in frames) >= SHORTEST:
            yield Unit(name, reason, int(times), frames)


class UnitLedger(Ledger):
    """Of a peer who says more than we send, so that only drops are looked at."""

    def wrong(self, batch):
        self.send(batch)
        after, expected = self.before, {batch[0].reason: sum(one.times for one in batch)}
        with contextlib.suppress(AssertionError):
            after = poll("drops", 10, lambda: self.dropped(expected), step=0.002)
        dropped, _ = self.since(after)
        return None if dropped == expected else f"{names(batch)}: {dropped}, not {dict(expected)}"

    def dropped(self, expected):
        now = self.pair.app.published()
        enough = sum(now.dropped(self.before).values()) >= sum(expected.values())
        return now if enough else None


def so_are_those_of_the_unit_tests(pair):
    """With a kernel as peer, whom the appliance may ask where it is, and answer."""
    if not os.path.exists(CORPUS):
        raise Missing(f"no {CORPUS}")
    pair.app.quiet()
    pair.ping("-c", "1", "10.77.0.1")
    pair.ping("-c", "1", "fd77::1")
    samples = list(unit_samples(pair))
    complaints = UnitLedger(pair).complaints(samples)
    tap.note(f"{len(samples)} samples")
    assert not complaints, "\n".join(complaints)


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
