#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""ICMP echo against dpdk-testpmd's icmpecho mode on the same devices: echo.py BUILD [DRIVER...]. Needs
root and two cores.

One core answers: our worker or testpmd's, never both, in turns on the same interface with the same
driver arguments, burst (32) and memory (no hugepages). The other core makes the load (pinger.c): more
requests than either can answer, from eight addresses, a window of them outstanding, so that nothing
is lost and the answering core is always busy. Medians of the rounds are printed:

  packets/s      right replies that came back. testpmd swaps addresses and patches a checksum; it
                 checks nothing, looks nothing up, would answer any address. We are a host: checksums
                 verified, addresses, routes, path MTU and neighbour looked up, everything counted.
  cycles/packet  of the time stamp counter, for each reply. Ours: the cycles of turns that did work.
                 testpmd's: its record-core-cycles, of the bursts that were not empty. In both the
                 driver and the kernel's work for a packet sent are included, which on these devices
                 is nine tenths and more of all; `bench_stack` has our part alone.

The keys busy and load are shares of a core: of ours in turns that did work, and of the load's.

The interface is one end of a veth pair, and for tap a bridge joins that end to the TAP interface."""
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build-release"
os.environ["MILLRACE"] = f"{BUILD}/app/millrace"
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "smoke"))
import machine  # noqa: E402
from lab import Lab  # noqa: E402
from tap import Missing  # noqa: E402

PINGER = f"{BUILD}/tests/bench/pinger"
ROUNDS = 7
SECONDS = 2
WINDOW = 256
BURST = 32
ADDRESS = "192.0.2.1"
LOAD_FROM = "192.0.2.64"
MAC = "02:00:00:00:00:10"
NICE = -15

# What the appliance hands to the driver, and so testpmd too.
VDEV = {
    "af_xdp": "net_af_xdp0,iface=mill0,start_queue=0,queue_count=1",
    "af_packet": "net_af_packet0,iface=mill0,qpairs=1,framesz=2048,blocksz=65536,framecnt=512",
    "tap": "net_tap0,iface=tap0",
}
INTERFACE = {"af_xdp": "mill0", "af_packet": "mill0", "tap": "tap0"}


def say(text):
    print(f"echo: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def undisturbed():
    """Whatever else runs on this machine takes as little of its cores as may be, for both sides."""
    group = f"/proc/{os.getpid()}/autogroup"
    try:
        with open(group, encoding="ascii") as file:
            before = re.search(r"nice (-?\d+)", file.read())[1]
    except OSError:
        before = None  # no autogroups: niceness alone does it
    os.nice(NICE)
    try:
        if before is not None:
            set_group(group, NICE)
        yield
    finally:
        if before is not None:
            set_group(group, before)


def set_group(path, nice):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(nice))


class Cable:
    """The appliance's side and the load's, which outlive those who answer."""

    def __init__(self, lab, driver, cores):
        self.lab = lab
        self.driver = driver
        self.answers, self.loads = cores
        self.here = lab.namespace("a")
        self.there = lab.namespace("b")
        lab.veth(self.here, "mill0", self.there, "peer0")
        # With it the kernel takes frames that come without a socket buffer, as the load's do.
        self.here.run("ethtool", "-K", "mill0", "gro", "on")
        for namespace, interface in (self.here, "mill0"), (self.there, "peer0"):
            namespace.silent(interface)
            namespace.up(interface)
        if driver == "tap":
            self.here.sysctl("net.bridge.bridge-nf-call-iptables", 0)
            self.here.ip("link", "add", "br0", "type", "bridge")
            self.here.ip("link", "set", "mill0", "master", "br0")
            self.here.silent("br0")
            self.here.up("br0")
        self.there.connected("peer0")

    def join(self):
        """The device is there: a TAP interface that it made is still to be connected."""
        if self.driver == "tap":
            self.here.silent("tap0")
            self.here.ip("link", "set", "tap0", "master", "br0", "up")

    def load(self, mac):
        """What the load saw."""
        done = self.there.run(
            *("taskset", "-c", str(self.loads), PINGER),
            *("peer0", mac, ADDRESS, LOAD_FROM, str(WINDOW), str(SECONDS)),
            timeout=SECONDS + 20,
        )
        seen = json.loads(done.stdout)
        if seen["wrong"] or seen["lost"]:
            say(f"{self.driver}: {seen['wrong']} wrong replies, {seen['lost']} lost")
        return seen


def run_ours(cable):
    device = {
        "name": "mill0",
        "driver": cable.driver,
        "addresses": [f"{ADDRESS}/24"],
        "ipv6": False,
        "interface": INTERFACE[cable.driver],
    }
    if cable.driver == "tap":
        device["mac"] = MAC
    config = {
        "devices": [device],
        "workers": {"cores": [cable.answers], "idle": "poll", "burst": BURST},
        "control": {"core": cable.loads},
        "memory": {"hugepages": "off"},
    }
    app = cable.lab.appliance(cable.here, config)
    app.settle(seconds=20)
    cable.join()
    before = app.snapshot()
    seen = cable.load(app.mac())
    after = app.snapshot()
    app.stop()
    counted = after.counted(before, "busy_cycles", "icmp_tx_echo")
    cycles = counted["busy_cycles"] / counted["icmp_tx_echo"]
    hz = after.count("busy_cycles") / after.value["millrace_busy_seconds_total", 'worker="0"']
    return {
        "packets/s": seen["pps"],
        "cycles/packet": cycles,
        "busy": cycles * seen["pps"] / hz,
        "load": seen["cpu"],
    }


class Testpmd:
    def __init__(self, cable):
        self.log = f"{cable.lab.directory}/testpmd.log"
        self.prefix = f"{machine.RUN}-testpmd"
        argv = [
            *("ip", "netns", "exec", cable.here.name, "stdbuf", "-oL", "dpdk-testpmd"),
            *("-l", f"{cable.answers},{cable.loads}", "--main-lcore", str(cable.loads)),
            *("--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--file-prefix", self.prefix),
            *("--vdev", VDEV[cable.driver], "--"),
            *("-i", "--forward-mode=icmpecho", "--nb-cores=1", f"--burst={BURST}"),
            "--total-num-mbufs=16383",
        ]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                preexec_fn=machine.die_with_parent,
            )
        cable.lab.stack.callback(shutil.rmtree, f"{machine.DPDK}/{self.prefix}", True)
        cable.lab.stack.callback(machine.end, self.process)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def type(self, line, answer):
        """The match of what it prints in answer."""

        def answered():
            if self.process.poll() is not None:
                raise AssertionError(f"testpmd has ended:\n{self.text()}")
            return re.search(answer, self.text())

        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        try:
            return machine.poll(f"testpmd: {line}", 20, answered, step=0.02)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text()}") from None

    def stop(self):
        self.process.communicate("stop\nquit\n", timeout=20)


def run_testpmd(cable):
    testpmd = Testpmd(cable)
    testpmd.type("set record-core-cycles on", "testpmd> ")
    testpmd.type("start", "icmpecho packet forwarding")
    cable.join()
    seen = cable.load(MAC)
    cycles = testpmd.type("show fwd stats all", r"CPU cycles/packet=([\d.]+)")[1]
    testpmd.stop()
    return {"packets/s": seen["pps"], "cycles/packet": float(cycles), "load": seen["cpu"]}


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def report(driver, ours, peers):
    for unit, better in ("packets/s", lambda a, b: a / b), ("cycles/packet", lambda a, b: b / a):
        value, peer = median(ours, unit), median(peers, unit)
        figure = {
            "bench": "echo",
            "case": f"echo/{driver}",
            "unit": unit,
            "value": round(value),
            "peer": "dpdk-testpmd icmpecho",
            "peer_value": round(peer),
            "ratio": round(better(value, peer), 2),
            "busy": round(median(ours, "busy"), 2),
            "load": round(median(ours, "load"), 2),
        }
        print(json.dumps(figure), flush=True)


def compare(driver, cores):
    ours, peers = [], []
    with Lab() as lab:
        cable = Cable(lab, driver, cores)
        for i in range(ROUNDS):
            ours.append(run_ours(cable))
            peers.append(run_testpmd(cable))
            each = ", ".join(
                f"{who} {run['packets/s']:.0f} packets/s {run['cycles/packet']:.0f} cycles"
                for who, run in (("millrace", ours[-1]), ("testpmd", peers[-1]))
            )
            say(f"{driver}, round {i + 1} of {ROUNDS}: {each}")
    report(driver, ours, peers)


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        sys.exit("echo: needs two cores: one that answers, one for the load")
    try:
        with undisturbed():
            for driver in sys.argv[2:] or VDEV:
                compare(driver, cores)
    except Missing as why:
        sys.exit(f"echo: {why}")


if __name__ == "__main__":
    main()
