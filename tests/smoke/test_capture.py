#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Captures hold each packet, both ways, as another program reads them; so do the counters."""
import os
from functools import partial

import machine
import tap
from frames import ARP, BROADCAST, ICMP, ICMPV6, IPV4, IPV6, UDP, arp, echo, neighbour_solicit, udp
from lab import Pair

V4, V6 = "10.77.0.1", "fd77::1"
PEER4, PEER6, PEER = "10.77.0.2", "fd77::2", "02:00:00:00:00:99"
PINGS4, PINGS6, DATAGRAMS4, DATAGRAMS6 = 50, 30, 40, 20
SMALLEST = 65536  # bytes a capture may be limited to
FIELDS = (
    *("frame.interface_name", "frame.packet_flags_direction", "ip.proto", "ipv6.nxt"),
    *("icmp.type", "icmpv6.type", "udp.dstport", "frame.len"),
)
CHECKSUMS = ("ip", "udp", "icmp", "icmpv6")
IN, OUT = "0x00000001", "0x00000002"
ERRORS = {"error-rate": 1000000, "error-burst": 1000000}


# ---- tshark ----


def tshark(file, *words):
    """Its output, by lines."""
    checks = []
    for proto in "ip", "udp":
        checks += ["-o", f"{proto}.check_checksum:TRUE"]
    home = {**os.environ, "HOME": os.path.dirname(file)}
    return machine.run("tshark", "-n", "-r", file, *checks, *words, env=home).stdout.splitlines()


def packets(file):
    """Of each packet the FIELDS; the outer header's where an ICMP error quotes another."""
    words = ["-T", "fields", "-E", "occurrence=f"]
    for name in FIELDS:
        words += ["-e", name]
    return [dict(zip(FIELDS, line.split("\t"))) for line in tshark(file, *words)]


def check_sound(file):
    bad = " || ".join(f'{p}.checksum.status == "Bad"' for p in CHECKSUMS)
    wrong = tshark(file, "-Y", f"_ws.malformed || _ws.expert.severity == error || {bad}")
    assert not wrong, "\n".join(wrong[:10])


def count(rows, **wanted):
    """How many have these values; '_' stands for '.' in a field's name."""
    fields = {name.replace("_", ".", 1): value for name, value in wanted.items()}
    return sum(all(r[name] == value for name, value in fields.items()) for r in rows)


# ---- captures ----


def control(pair, action, status=200, **options):
    reply = pair.app.get("/v1/capture", "POST", {"action": action, **options}, status)
    return reply["capture"] if status == 200 else reply["error"]["message"]


def introduce(pair):
    """Each worker learns of the peer from a question; for five seconds it then asks nothing back
    (RFC 4861 10, DELAY_FIRST_PROBE_TIME)."""
    pair.app.settle()
    pair.app.announced()
    pair.app.get("/v1/neighbours", "DELETE")
    pair.discard()
    ask = arp(1, PEER, PEER4, "00:00:00:00:00:00", V4)
    pair.send(ask, ARP, dst=BROADCAST)
    pair.receive("an ARP reply", lambda f: f.arp_operation == 2)
    pair.send(neighbour_solicit(PEER6, V6, PEER), IPV6)
    pair.receive("an advertisement", lambda f: f.icmp_type == 136)


def traffic(pair):
    for seq in range(PINGS4):
        pair.send(echo(PEER4, V4, 2, seq, bytes(seq)), IPV4)
    for seq in range(PINGS6):
        pair.send(echo(PEER6, V6, 2, seq, bytes(seq)), IPV6)
    for port in range(DATAGRAMS4):
        pair.send(udp(PEER4, V4, 1024 + port, 9), IPV4)
    for port in range(DATAGRAMS6):
        pair.send(udp(PEER6, V6, 1024 + port, 9), IPV6)
    return PINGS4 + PINGS6 + DATAGRAMS4 + DATAGRAMS6


def counters_are_what_was_sent(pair):
    introduce(pair)
    before = pair.app.snapshot()
    sent = traffic(pair)
    after = pair.app.after(before, rx_packets=sent)
    expected = {
        "rx_packets": sent,
        "tx_packets": sent,
        "icmp_rx_echo": PINGS4 + PINGS6,
        "icmp_tx_echo": PINGS4 + PINGS6,
        "icmp_tx_errors": DATAGRAMS4 + DATAGRAMS6,
        "icmp_rx_errors": 0,
        "icmp_errors_limited": 0,
        "frag_rx": 0,
    }
    counted = after.counted(before, *expected)
    assert counted == expected, counted
    assert after.dropped(before) == {"udp_port": DATAGRAMS4 + DATAGRAMS6}, after.dropped(before)


def holds_each_packet_both_ways(pair):
    introduce(pair)
    before = pair.app.snapshot()
    control(pair, "start", file="both.pcapng")
    sent = traffic(pair)
    pair.app.after(before, tx_packets=sent)
    done = control(pair, "stop")
    assert (done["state"], done["packets"], done["lost"]) == ("stopped", 2 * sent, 0), done
    check_sound(done["file"])
    rows = packets(done["file"])
    assert len(rows) == 2 * sent, len(rows)
    counts = (
        count(rows, icmp_type="8", frame_packet_flags_direction=IN),
        count(rows, icmp_type="0", frame_packet_flags_direction=OUT),
        count(rows, icmpv6_type="128", frame_packet_flags_direction=IN),
        count(rows, icmpv6_type="129", frame_packet_flags_direction=OUT),
        count(rows, ip_proto=str(UDP), frame_packet_flags_direction=IN),
        count(rows, ip_proto=str(ICMP), icmp_type="3", frame_packet_flags_direction=OUT),
        count(rows, ipv6_nxt=str(UDP), frame_packet_flags_direction=IN),
        count(rows, ipv6_nxt=str(ICMPV6), icmpv6_type="1", frame_packet_flags_direction=OUT),
    )
    assert counts == (
        *(PINGS4, PINGS4, PINGS6, PINGS6),
        *(DATAGRAMS4, DATAGRAMS4, DATAGRAMS6, DATAGRAMS6),
    ), counts
    assert count(rows, frame_interface_name="mill0") == 2 * sent
    assert os.stat(done["file"]).st_size == done["bytes"]


def one_runs_at_a_time(pair):
    first = control(pair, "start", file="first.pcapng")
    message = control(pair, "start", file="second.pcapng", status=409)
    assert first["file"] in message and "stop it first" in message, message
    assert pair.app.get("/v1/capture")["capture"]["file"] == first["file"]
    control(pair, "stop")
    assert "no capture runs" in control(pair, "stop", status=409)
    assert not os.path.exists(f"{pair.app.captures}/second.pcapng")


def writes_nowhere_else(pair):
    for name in "../out.pcapng", "/tmp/out.pcapng", ".hidden", "first.pcapng":
        control(pair, "start", file=name, status=409)


def ends_at_its_size(pair):
    introduce(pair)
    control(pair, "start", file="small.pcapng", max_bytes=SMALLEST)
    before = pair.app.snapshot()
    for seq in range(60):
        pair.send(echo(PEER4, V4, 3, seq, bytes(1400)), IPV4)
    pair.app.after(before, tx_packets=60)
    done = machine.poll(
        "the capture is full",
        2,
        lambda: (c := pair.app.get("/v1/capture")["capture"])["state"] == "full" and c,
    )
    assert SMALLEST - 2000 < os.stat(done["file"]).st_size <= SMALLEST, done
    check_sound(done["file"])
    assert len(packets(done["file"])) == done["packets"]


def cuts_packets_to_the_snaplen(pair):
    introduce(pair)
    control(pair, "start", file="cut.pcapng", snaplen=64)
    before = pair.app.snapshot()
    pair.send(echo(PEER4, V4, 4, 1, bytes(1000)), IPV4)
    pair.app.after(before, tx_packets=1)
    done = control(pair, "stop")
    assert done["bytes"] < 1000, done
    assert [r["frame.len"] for r in packets(done["file"])] == ["1042", "1042"]


def holds_one_worker_if_asked(pair):
    """Worker 1 has no queue: what is its own came by worker 0, and leaves by its own hand."""
    introduce(pair)
    for worker in 0, 1:
        before = pair.app.snapshot()
        control(pair, "start", file=f"worker{worker}.pcapng", worker=worker)
        sent = traffic(pair)
        after = pair.app.after(before, tx_packets=sent)
        done = control(pair, "stop")
        check_sound(done["file"])
        rows = packets(done["file"])
        theirs = after.counts["tx_packets"][worker] - before.counts["tx_packets"][worker]
        assert 0 < theirs < sent, theirs
        assert count(rows, frame_packet_flags_direction=OUT) == theirs, (len(rows), theirs)
        assert count(rows, frame_packet_flags_direction=IN) == (0 if worker else sent)


ONE = partial(Pair, silent=True, config={"icmp": ERRORS})
TWO = partial(
    Pair, device={"queues": 1}, silent=True, config={"icmp": ERRORS, "workers": {"cores": [0, 1]}}
)

if __name__ == "__main__":
    tap.main(
        tap.Group(
            "one worker",
            ONE,
            counters_are_what_was_sent,
            holds_each_packet_both_ways,
            one_runs_at_a_time,
            writes_nowhere_else,
            ends_at_its_size,
            cuts_packets_to_the_snaplen,
        ),
        tap.Group("two workers", TWO, holds_one_worker_if_asked),
    )
