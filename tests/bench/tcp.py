#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""TCP against the kernel's: tcp.py BUILD [DRIVER...] [CASE...]. Needs root and two cores.

Both serve the same on the same wire, in turns: a veth pair without offloads (no TSO, GSO, GRO,
checksums), one core that serves, one that makes the load. The kernel's server is epoll_server.c; the
load, tcp_load.c, is the kernel's TCP for both. Medians of the rounds are printed.

The load costs its core more than ours costs the other, so we are seldom busy all the time, and what
goes over the wire says little about us. Therefore `value` is what the serving core does for each
second that it is busy. That is not what it would do with more work, but less: bursts would be longer
then, and each costs a system call. `rate` is what went over the wire, `busy` and `load` the shares of
the two cores in use; with peer_ in front the kernel's. Where busy is 1, value and rate are the same.

What counts as busy:

  Millrace   turns of the worker that did work, by the time stamp counter. In them are the driver and
             all that the kernel does for it on that core, which is most: a system call for each burst
             sent, a copy of each packet.
  the kernel all the time in which the core was not idle: the server, its system calls, interrupts.
             Where other programs run there, the server's own time and all interrupts, if that is
             less: interrupts during system calls count twice then, and the value is too low.

A packet on a veth pair is received by the core that sent it, for all that it costs. Receive packet
steering brings the kernel's IP and TCP on either side to the core that they belong to; what stays
with the sender is what a network card would do by itself: for AF_XDP, that includes the copy into the
worker's memory. So each side pays for its own protocol, and for sending.

  echo/N       64 bytes there and back on each of N connections
  bulk-tx, -rx one connection that sends, or receives, as much as goes
  conn         connections opened, one request of 64 bytes, closed by the client
  idle-memory  bytes for each connection that has had one request and is open. Ours: what the process
               has grown by. The kernel's: sockets, inodes, files, directory and epoll entries of both
               ends, less those that the same client has with the other server, and what the server
               has grown by.
  syn-flood    SYNs answered with cookies, from addresses of the test's own net that nobody has, while
               another client opens RATE connections a second; `legitimate` is the share of those
               that got their reply within a second.

With `the device alone` as the peer: cycles, ours beside those that dpdk-testpmd needs on the same
device, in full bursts. For a request, to return as many packets of 64 bytes (icmpecho); for a packet of
bulk, to send (txonly) or to receive (rxonly) one of 1,514 bytes and nothing else. The ratio can hardly
reach 1.

The machine should do nothing else: `others` is the share of the serving core that others have had."""
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build-release"
os.environ["MILLRACE"] = f"{BUILD}/app/millrace"
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "smoke"))
import echo  # noqa: E402
import machine  # noqa: E402
from lab import Lab  # noqa: E402
from tap import Missing  # noqa: E402

LOAD = f"{BUILD}/tests/bench/tcp_load"
FLOOD = f"{BUILD}/tests/bench/syn_flood"
EPOLL_SERVER = f"{BUILD}/tests/bench/epoll_server"

ROUNDS = 5
SECONDS = 2
DRIVERS = ("af_xdp", "af_packet")
ADDRESS = "10.77.0.1"
CLIENT = "10.77.0.2"
NET = 24
OURS = [f"10.77.0.{i}" for i in range(16, 48)]  # that connections come from
NOBODYS = "10.77.128.0"  # and those after it: routed to the client, which keeps silent
FLOOD_SOURCES = 32768
FLOOD_RATE = 200000
RATE = 500
IDLE = 16000  # 20,000 files are all that some machines allow
REQUEST = 64
FRAME, LARGE = 78, 1514  # lengths
PORTS = {"echo": 7, "discard": 9, "source": 19}
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def say(text):
    print(f"tcp: {text}", file=sys.stderr, flush=True)


# ---- the wire ----


class Wire:
    """The server's namespace and the load's."""

    def __init__(self, lab, driver, cores):
        self.lab = lab
        self.driver = driver
        self.answers, self.loads = cores
        self.here = lab.namespace("a")
        self.there = lab.namespace("b")
        lab.veth(self.here, "mill0", self.there, "peer0")
        self.steer(self.here, "mill0", self.answers)
        self.steer(self.there, "peer0", self.loads)
        self.here.silent("mill0")
        # Ports and their TIME-WAIT must not be what is measured.
        self.there.sysctl("net.ipv4.ip_local_port_range", "1024 65535")
        self.there.sysctl("net.ipv4.tcp_tw_reuse", 1)
        self.there.sysctl("net.ipv4.tcp_max_tw_buckets", 1000000)
        self.here.up("mill0")
        self.there.up("peer0", *(f"{a}/{NET}" for a in [CLIENT, *OURS]))
        self.there.connected("peer0")

    def steer(self, namespace, interface, core):
        """Packets that arrive there are that core's affair. /sys shows the namespace in which it was
        mounted."""
        file = f"/sys/class/net/{interface}/queues/rx-0/rps_cpus"
        namespace.run(
            *("unshare", "-m", "sh", "-c"),
            f"mount -t sysfs none /sys && echo {1 << core:x} > {file}",
        )

    def load(self, mode, port, connections, rate=0, seconds=SECONDS):
        """A load that has been started."""
        words = [mode, ADDRESS, port, OURS[0], len(OURS), connections, seconds, REQUEST, rate]
        return self.there.spawn(
            *("taskset", "-c", str(self.loads), LOAD, *map(str, words)),
            stdout=subprocess.PIPE,
            text=True,
        )

    def flood(self, seconds, length=FRAME):
        """Frames from nobody that have begun to come."""
        words = [ADDRESS, PORTS["echo"], NOBODYS, FLOOD_SOURCES, FLOOD_RATE, seconds, length]
        return self.there.spawn(
            *("taskset", "-c", str(self.loads), FLOOD, "peer0", self.here.mac("mill0")),
            *map(str, words),
            stdout=subprocess.DEVNULL,
        )


# ---- cores and memory ----


def runtime(path):
    """Seconds that a thread has run, ever."""
    with open(f"/proc/{path}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def thread_named(name):
    """One of the kernel's."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            if file.read().strip() == name:
                return pid
    raise Missing(f"there is no thread {name}")


def resident(pid):
    """Bytes."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE


class Core:
    def __init__(self, number):
        self.number = number
        self.softirqd = thread_named(f"ksoftirqd/{number}")

    def look(self, thread):
        """Seconds since some time: all, not idle, of the server's thread, of interrupts."""
        with open("/proc/stat", encoding="ascii") as file:
            line = next(l for l in file if l.startswith(f"cpu{self.number} ")).split()
        idle, iowait, irq, softirq, steal = (int(n) / TICK for n in line[4:9])
        wall = time.monotonic() - steal
        interrupts = irq + softirq + runtime(self.softirqd)
        return wall, wall - idle - iowait, runtime(thread), interrupts


# Of a socket in the hands of a process that waits for it by epoll.
SLABS = ("TCP", "sock_inode_cache", "filp", "eventpoll_epi", "eventpoll_pwq")


class Slabs:
    """What the kernel has allocated."""

    def __init__(self):
        self.bytes = {}
        self.size = {}
        with open("/proc/slabinfo", encoding="ascii") as file:
            for line in file:
                words = line.split()
                if words[0] in (*SLABS, "dentry"):
                    self.size[words[0]] = int(words[3])
                    self.bytes[words[0]] = int(words[1]) * int(words[3])

    def since(self, before, sockets):
        """Directory entries come and go with all that a machine does: one for each socket."""
        more = sum(self.bytes.get(name, 0) - before.bytes.get(name, 0) for name in SLABS)
        return more + sockets * self.size["dentry"]


# ---- who serves ----


class Kernel:
    name = "the kernel's TCP with epoll"

    def __init__(self, wire):
        self.wire = wire
        self.core = Core(wire.answers)
        here = wire.here
        here.sysctl("net.ipv4.tcp_max_syn_backlog", 4096)
        here.ip("link", "set", "mill0", "arp", "on")
        here.ip("addr", "add", f"{ADDRESS}/{NET}", "dev", "mill0")
        here.ip("route", "add", f"{NOBODYS}/17", "via", CLIENT)
        self.process = here.spawn(
            *("taskset", "-c", str(wire.answers), EPOLL_SERVER, ADDRESS),
            *(str(PORTS[p]) for p in ("echo", "discard", "source")),
            "600",
            stdout=subprocess.PIPE,
            text=True,
        )
        if "listening" not in self.process.stdout.readline():
            raise AssertionError("epoll_server does not listen")
        self.thread = self.pid = self.process.pid

    def counts(self):
        path = "/proc/thread-self/net/netstat"
        with self.wire.here.inside(), open(path, encoding="ascii") as file:
            names, numbers = next(file).split(), next(file).split()
        return {"cookies": int(numbers[names.index("SyncookiesSent")])}

    def busy(self, _wall, active, own, interrupts, _counted):
        return min(active, own + interrupts)

    def stop(self):
        machine.end(self.process)


class Millrace:
    name = "millrace"

    def __init__(self, wire, more=None):
        """more: sections of the configuration."""
        self.core = Core(wire.answers)
        self.wire = wire
        device = {
            "name": "mill0",
            "driver": wire.driver,
            "interface": "mill0",
            "addresses": [f"{ADDRESS}/{NET}"],
            "gateways": [CLIENT],
            "ipv6": False,
        }
        config = {
            "devices": [device],
            "listeners": [{"name": s, "port": port, "service": s} for s, port in PORTS.items()],
            "workers": {"cores": [wire.answers], "idle": "poll"},
            "control": {"core": wire.loads},
            "memory": {"hugepages": "off"},
            **(more or {}),
        }
        self.app = wire.lab.appliance(wire.here, config)
        self.app.settle(seconds=20)
        self.pid = self.app.process.pid
        self.thread = self.worker()

    def worker(self):
        """The thread that may run on that core and no other."""
        for task in os.listdir(f"/proc/{self.pid}/task"):
            if os.sched_getaffinity(int(task)) == {self.wire.answers}:
                return f"{self.pid}/task/{task}"
        raise AssertionError("no worker is where it should be")

    def counts(self):
        now = self.app.published()
        return {
            "cookies": now.count("tcp_cookies_tx"),
            "rx": now.count("rx_packets"),
            "tx": now.count("tx_packets"),
            "cycles": now.count("busy_cycles"),
            "turned": now.value["millrace_busy_seconds_total", 'worker="0"'],
        }

    def busy(self, wall, _active, own, _interrupts, counted):
        """Turns take longer where others run, too."""
        return counted["turned"] * own / wall

    def stop(self):
        self.app.stop()


@contextlib.contextmanager
def serving(kind, driver, cores):
    with Lab() as lab:
        server = kind(Wire(lab, driver, cores))
        yield server
        server.stop()


# ---- runs ----


class Span:
    """What the server did from one moment to another."""

    def __init__(self, server):
        self.server = server
        self.start = self.now()

    def now(self):
        return self.server.core.look(self.server.thread), self.server.counts()

    def end(self):
        (looked, counts), (before, counted) = self.now(), self.start
        wall, active, own, interrupts = (b - a for a, b in zip(before, looked))
        counted = {k: counts[k] - counted[k] for k in counts}
        busy = self.server.busy(wall, active, own, interrupts, counted)
        return {
            **{k: n / wall for k, n in counted.items()},
            "busy": busy / wall,
            "others": max(0, active - own - interrupts) / wall,
        }


def begun(load):
    if load.stdout.readline().strip() != "begin":
        raise AssertionError(f"the load ended with {load.wait()}")


def watch(server, load):
    """What a load saw, with the server's part of it."""
    begun(load)
    span = Span(server)
    line = load.stdout.readline()
    seen = span.end()
    if load.wait() != 0:
        raise AssertionError(f"the load ended with {load.returncode}")
    return {**json.loads(line), **seen}


def rated(seen, rate):
    """rate: of what the case counts, a second."""
    run = {"value": rate / seen["busy"], "rate": rate, "load": seen["cpu"]}
    return {**seen, **run}


def run_echo(server, connections):
    seen = watch(server, server.wire.load("echo", PORTS["echo"], connections))
    return rated(seen, seen["requests"] / seen["seconds"])


def run_bulk(server, mode):
    port = PORTS["source" if mode == "bulk-tx" else "discard"]
    seen = watch(server, server.wire.load(mode, port, 1))
    return rated(seen, seen["bytes"] * 8 / 1e9 / seen["seconds"])


def run_conn(server):
    seen = watch(server, server.wire.load("conn", PORTS["echo"], 64))
    return rated(seen, seen["requests"] / seen["seconds"])


def run_idle(server):
    watch(
        server, server.wire.load("echo", PORTS["echo"], 16, seconds=1)
    )  # to touch what is touched
    before, slabs = resident(server.pid), Slabs()
    load = server.wire.load("idle", PORTS["echo"], IDLE)
    begun(load)
    grown, more = resident(server.pid) - before, Slabs().since(slabs, IDLE)
    if load.wait() != 0:
        raise AssertionError(f"the load ended with {load.returncode}")
    return {"grown": grown / IDLE, "slabs": more / IDLE, "value": grown / IDLE}


def run_flood(server):
    flood = server.wire.flood(SECONDS + 4)
    time.sleep(0.5)
    seen = watch(server, server.wire.load("conn", PORTS["echo"], 2 * RATE, rate=RATE))
    machine.end(flood)
    legitimate = seen["requests"] / seen["seconds"] / RATE
    return {**rated(seen, seen["cookies"]), "legitimate": min(1, legitimate)}


CASES = {  # the last one leaves traces
    "idle-memory": ("bytes/connection", run_idle),
    "echo/1": ("requests/s/core", lambda server: run_echo(server, 1)),
    "echo/100": ("requests/s/core", lambda server: run_echo(server, 100)),
    "echo/10000": ("requests/s/core", lambda server: run_echo(server, 10000)),
    "bulk-tx": ("Gbit/s/core", lambda server: run_bulk(server, "bulk-tx")),
    "bulk-rx": ("Gbit/s/core", lambda server: run_bulk(server, "bulk-rx")),
    "conn": ("connections/s/core", run_conn),
    "syn-flood": ("SYNs/s/core", run_flood),
}


# ---- the device alone ----


def run_testpmd(wire, mode):
    """Cycles for each packet of LARGE bytes."""
    it = echo.Testpmd(wire)
    it.type("set record-core-cycles on", "testpmd> ")
    it.type(f"set fwd {mode}", f"Set {mode} packet")
    it.type(f"set txpkts {LARGE}", "testpmd> ")
    it.type("start", f"{mode} packet forwarding")
    if mode == "rxonly":
        wire.flood(SECONDS, LARGE).wait()
    else:
        time.sleep(SECONDS)
    cycles = it.type("show fwd stats all", r"CPU cycles/packet=([\d.]+)")[1]
    it.stop()
    return float(cycles)


def run_device(driver, cores):
    with Lab() as lab:
        cable = echo.Cable(lab, driver, cores)
        cycles = {"pair": echo.run_testpmd(cable)["cycles/packet"]}
    for mode in "txonly", "rxonly":
        with Lab() as lab:
            cycles[mode] = run_testpmd(Wire(lab, driver, cores), mode)
    return cycles


def against_device(case, seen, device):
    """Cycles, ours and the device's, and for what."""
    cycles = seen["busy"] * seen["cycles"] / seen["turned"]
    if case == "bulk-tx":
        return "cycles/packet", cycles / seen["tx"], device["txonly"]
    if case == "bulk-rx":
        return "cycles/packet", cycles / seen["rx"], device["rxonly"]
    pairs = (seen["rx"] + seen["tx"]) / 2 / seen["rate"]
    unit = "cycles/SYN" if case == "syn-flood" else "cycles/request"
    return unit, cycles / seen["rate"], pairs * device["pair"]


# ---- figures ----


def tidy(number):
    return round(number, 2) if number < 100 else round(number)


def figure(driver, case, unit, ours, peer, peers, ratio, **more):
    line = {
        "bench": "tcp",
        "case": case,
        "unit": unit,
        "value": tidy(ours),
        "peer": peer,
        "peer_value": tidy(peers),
        "ratio": round(ratio, 2),
        "device": driver,
        **{k: tidy(n) for k, n in more.items()},
    }
    print(json.dumps(line), flush=True)


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def report(driver, case, ours, peers, device):
    unit = CASES[case][0]
    if case == "idle-memory":
        client = median(ours, "slabs")  # its end is the kernel's in both
        value, peer = (
            median(ours, "value"),
            median(peers, "value") + median(peers, "slabs") - client,
        )
        figure(driver, case, unit, value, Kernel.name, peer, peer / value)
        return
    keys = ["rate", "busy", "load", "others"] + (["legitimate"] if case == "syn-flood" else [])
    more = {k: median(ours, k) for k in keys}
    more.update({f"peer_{k}": median(peers, k) for k in keys})
    value, peer = median(ours, "value"), median(peers, "value")
    figure(driver, case, unit, value, Kernel.name, peer, value / peer, **more)
    each = [against_device(case, seen, device) for seen in ours]
    value = statistics.median(e[1] for e in each)
    peer = statistics.median(e[2] for e in each)
    figure(driver, case, each[0][0], value, "the device alone", peer, peer / value)


def compare(driver, cases, cores):
    runs = {kind: {case: [] for case in cases} for kind in (Millrace, Kernel)}
    devices = []
    for i in range(ROUNDS):
        devices.append(run_device(driver, cores))
        for kind in runs:
            with serving(kind, driver, cores) as server:
                for case in cases:
                    seen = CASES[case][1](server)
                    runs[kind][case].append(seen)
                    say(
                        f"{driver}, round {i + 1} of {ROUNDS}, {kind.name}, {case}: "
                        + ", ".join(f"{k} {tidy(n)}" for k, n in seen.items())
                    )
    device = {k: median(devices, k) for k in devices[0]}
    say(f"{driver}, testpmd: " + ", ".join(f"{k} {n:.0f} cycles" for k, n in device.items()))
    for case in cases:
        report(driver, case, runs[Millrace][case], runs[Kernel][case], device)


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    drivers = [w for w in sys.argv[2:] if w in DRIVERS] or DRIVERS[:1]
    cases = [c for c in CASES if c in sys.argv[2:]] or list(CASES)
    unknown = set(sys.argv[2:]) - set(DRIVERS) - set(CASES)
    if unknown:
        sys.exit(f"tcp: neither a driver nor a case: {', '.join(unknown)}")
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        sys.exit("tcp: needs two cores: one that serves, one for the load")
    try:
        with echo.undisturbed():
            for driver in drivers:
                compare(driver, cases, cores)
    except Missing as why:
        sys.exit(f"tcp: {why}")


if __name__ == "__main__":
    main()
