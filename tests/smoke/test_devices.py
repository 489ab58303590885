#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Devices that need no hardware: with several queues, several at once, and those without a kernel
interface."""
import re
import struct
from functools import partial

import tap
from appliance import Appliance
from frames import ARP, BROADCAST, IPV4, Parsed, arp, echo, ether
from lab import Lab, Pair
from machine import poll
from test_ping import ping_all
from test_workers import Crowd, refuse_all

DRIVERS = ("af_xdp", "af_packet", "tap")
MAC, PEER = "02:00:00:00:00:01", "02:00:00:00:00:99"


# ---- two queues, two workers ----


def is_one_device_with_two_queues(lab):
    ports = lab.app.get("/v1/ports")["ports"]
    assert len(ports) == 1 and ports[0]["rx_queues"] == ports[0]["tx_queues"] == 2, ports
    assert [lane["worker"] for lane in ports[0]["lanes"]] == [0, 1], ports


def receives_on_both(lab):
    """The kernel spreads by flow, the stack by its own hash: each datagram is counted once."""
    lab.app.settle()
    before, after = refuse_all(lab, b"to nobody")
    took = [
        after.counts["rx_packets"][w]
        - before.counts["rx_packets"][w]
        - (after.counts["handed_in"][w] - before.counts["handed_in"][w])
        + (after.counts["wrong_worker"][w] - before.counts["wrong_worker"][w])
        for w in (0, 1)
    ]
    tap.note(f"received by queue: {took}")
    assert min(took) > 0, took


def puts_fragments_together_wherever_they_arrive(lab):
    for source, address in ("10.77.0.2", "10.77.0.1"), ("fd77::2", "fd77::1"):
        ping_all(lab, address, "-I", source)  # so that each worker knows the way back
        ping_all(lab, address, "-I", source, "-s", "65507")
    refuse_all(lab, bytes(4000))


# ---- several devices ----


class Several(Pair):
    """One of each, all with the same peer but for the null device."""

    def __init__(self):
        super().__init__("af_xdp")
        self.config["devices"] += [
            {
                "name": "second",
                "driver": "af_packet",
                "interface": "mill1",
                "addresses": ["10.81.0.1/24", "fd81::1/64"],
            },
            {"name": "third", "driver": "tap", "addresses": ["10.82.0.1/24", "fd82::1/64"]},
            {"name": "fourth", "driver": "null", "addresses": ["10.83.0.1/24"]},
        ]

    def watch(self, namespace, interface):
        """Called when the first cable is there: adds the second."""
        super().watch(namespace, interface)
        self.veth(self.host, "mill1", self.peer, "peer1")
        self.host.sysctl("net.ipv6.conf.mill1.disable_ipv6", 1)
        self.host.up("mill1")
        self.peer.up("peer1", "10.81.0.2/24", "fd81::2/64")
        self.peer.connected("peer1")

    def _build(self):
        super()._build()
        self.host.up("third", "10.82.0.2/24", "fd82::2/64")


def answers_on_all_of_them(lab):
    lab.app.settle()
    for address in "10.77.0.1", "fd77::1", "10.81.0.1", "fd81::1":
        ping_all(lab, address, "-s", "3000")
    for address in "10.82.0.1", "fd82::1":
        lab.host.run("ping", "-n", "-c", "1", "-W", "5", "-s", "3000", address)
    names = [p["device"] for p in lab.app.get("/v1/ports")["ports"]]
    assert names == ["mill0", "second", "third", "fourth"], names


def keeps_their_neighbours_apart(lab):
    rows = lab.app.get("/v1/neighbours")["neighbours"]
    where = {r["address"]: r["device"] for r in rows if not r["address"].startswith("fe80")}
    assert where == {
        **{"10.77.0.2": "mill0", "fd77::2": "mill0", "10.81.0.2": "second"},
        **{"fd81::2": "second", "10.82.0.2": "third", "fd82::2": "third"},
    }, where


# ---- without a kernel interface ----


class Alone(Lab):
    """A namespace; each case starts what it wants."""

    def __enter__(self):
        super().__enter__()
        self.host = self.namespace("a")
        return self

    def start(self, driver, *addresses, **more):
        device = {"name": f"{driver}0", "driver": driver, "mac": MAC, "addresses": list(addresses)}
        return self.appliance(self.host, {"devices": [{**device, **more}]})


def null_swallows_what_is_sent(lab):
    app = lab.start("null", "10.84.0.1/24", "fd84::1/64")
    app.settle()
    app.announced()
    assert app.addresses()["fd84::1"] == "preferred", app.addresses()
    now = app.snapshot()
    assert now.count("tx_packets") >= 6 and now.count("rx_packets") == 0, now.counts
    assert app.stop() == 0


def ring_brings_its_own_packets_back(lab):
    """Which must not look like another host with our addresses."""
    app = lab.start("ring", "10.85.0.1/24", "fd85::1/64")
    app.settle()
    app.announced()
    assert set(app.addresses().values()) == {"preferred"}, app.addresses()
    now = app.snapshot()
    assert now.count("rx_packets") == now.count("tx_packets") == now.drops["ether_source"] > 0
    assert app.stop() == 0


def read_pcap(name):
    with open(name, "rb") as file:
        raw = file.read()[24:]
    while raw:
        length = struct.unpack("<IIII", raw[:16])[2]
        yield Parsed(raw[16 : 16 + length])
        raw = raw[16 + length :]


def pcap_answers_what_it_reads(lab):
    frames = [ether(BROADCAST, PEER, ARP, arp(1, PEER, "10.86.0.2", BROADCAST, "10.86.0.1"))]
    for seq in range(20):
        frames.append(ether(MAC, PEER, IPV4, echo("10.86.0.2", "10.86.0.1", 5, seq)))
    source, sink = f"{lab.directory}/in.pcap", f"{lab.directory}/out.pcap"
    with open(source, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
    app = lab.start("pcap", "10.86.0.1/24", **{"rx-file": source, "tx-file": sink})
    poll("all are answered", 10, lambda: app.published().count("icmp_tx_echo") == 20)
    assert app.stop() == 0
    sent = list(read_pcap(sink))
    assert sum(f.arp_operation == 2 and f.dst == PEER for f in sent) == 1
    replies = [f for f in sent if f.icmp_type == 0]
    assert [f.icmp_seq for f in replies] == list(range(20)), len(replies)
    assert {(f.dst, f.ip_src) for f in replies} == {(PEER, "10.86.0.1")}


def memif_carries_both_ways(lab):
    """Between two appliances: the second finds by asking that the first has its address."""
    path = f"{lab.directory}/memif.sock"
    one = lab.start("memif", "10.87.0.1/24", "fd87::1/64", path=path, role="server")
    one.settle()
    other = {"path": path, "role": "client", "mac": PEER}
    two = lab.start("memif", "10.87.0.2/24", "fd87::1/64", "fd87::2/64", **other)
    for app in one, two:
        poll("the link is up", 10, lambda a=app: a.get("/v1/ports")["ports"][0]["link"]["up"])
    two.settle()
    assert two.addresses()["fd87::2"] == "preferred", two.addresses()
    assert two.addresses()["fd87::1"] == "duplicate", two.addresses()
    assert one.addresses()["fd87::1"] == "preferred", one.addresses()
    assert two.stop() == 0
    poll("the link is down", 10, lambda: not one.get("/v1/ports")["ports"][0]["link"]["up"])
    assert one.stop() == 0


def virtio_user_says_that_nobody_is_there(lab):
    config = {"name": "v0", "driver": "virtio_user", "path": f"{lab.directory}/nobody.sock"}
    app = Appliance(lab, lab.host, {"devices": [config]}, name="virtio")
    lab.stack.callback(app.kill)
    app.launch()
    assert app.process.wait(20) == 1, app.log_text()
    assert "nobody.sock: No such file or directory" in app.log_text(), app.log_text()


def accepts_more_arguments_for_the_driver(lab):
    app = lab.start("null", args="size=128")
    assert app.stop() == 0
    bad = Appliance(lab, lab.host, {"devices": [app.config["devices"][0] | {"args": "nope=1"}]})
    lab.stack.callback(bad.kill)
    bad.launch()
    assert bad.process.wait(20) == 1 and re.search(r"device null0", bad.log_text()), bad.log_text()


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                f"two queues of {driver}",
                partial(Crowd, driver, queues=2),
                is_one_device_with_two_queues,
                receives_on_both,
                puts_fragments_together_wherever_they_arrive,
            )
            for driver in DRIVERS
        ),
        tap.Group("four devices", Several, answers_on_all_of_them, keeps_their_neighbours_apart),
        tap.Group(
            "no kernel",
            Alone,
            null_swallows_what_is_sent,
            ring_brings_its_own_packets_back,
            pcap_answers_what_it_reads,
            memif_carries_both_ways,
            virtio_user_says_that_nobody_is_there,
            accepts_more_arguments_for_the_driver,
        ),
    )
