#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""How equally an HTTP/2 CONNECT proxy shares one connection, and how much goes through: connect.py BUILD
[PROXY...] [WAY...]. Needs root and two cores.

iperf3 with 32 streams, each a CONNECT stream on one TLS connection (TLS 1.3, TLS_AES_128_GCM_SHA256,
P-256): its connections go to connect_mux (tests/connect), from there through the proxy, back to iperf3's
server; `forward` by way of the client's uploads, `reverse` (-R) of its downloads. The proxies take
turns, each on one core and the same wire, a veth pair without offloads; the other core has all the rest:
iperf3's two ends, connect_mux, their kernel. nghttpx runs on the kernel's TCP with one thread. As a
forward proxy it needs another one behind it: that is iperf3's server itself, which preloads what grants
CONNECT (connect_h1accept), so that it has the same two connections on the wire as ours for each stream,
and no proxy behind it costs anything. Its windows are as large as ours, its limits out of the way.

Ours runs once with each scheduler: deficit, which is the default, and three to compare it with.

  jain  Jain's index over the streams' bytes in SECONDS, by iperf3's receiving end: 1 where all have the same, 1/32
        where one has all. iperf3's own connection, the 33rd stream, does not count.
  sum   what all streams had together.
  core  the sum by what the serving core was busy (tcp.py says what counts as that): the core of load
        cannot keep ours busy, and `sum` says as much about that one as about the proxy.

Medians of the rounds, a line for each peer, ours with `deficit` as the value; `least` and `most` are
the streams' shares of the mean. On standard error the table of each run's streams."""
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

import tcp  # the first: what it imports has another of that name
import echo
import h2
import machine
from lab import Lab
from tap import Missing

MUX = f"{tcp.BUILD}/tests/connect/connect_mux"
GRANT = f"{tcp.BUILD}/tests/connect/connect_h1accept.so"

ROUNDS = 3
SECONDS = 10
WARM = 1  # seconds that iperf3 leaves out, from the first
STREAMS = 32
TARGET = tcp.OURS[0]
PORT = 5201
WINDOW = 1 << 20
CONNECTION = 32 << 20
WAYS = {"forward": [], "reverse": ["-R"]}
SCHEDULERS = "deficit", "round-robin", "first-come", "random"
COLUMNS = 8  # of the table of streams


def say(text):
    print(f"connect: {text}", file=sys.stderr, flush=True)


# ---- the proxies ----


class Ours(tcp.Millrace):
    scheduler = SCHEDULERS[0]
    grants = False

    def __init__(self, wire, site):
        listener = {
            "name": "proxy",
            "port": h2.PORT,
            "protocol": "http2",
            "service": "connect",
            "certificates": ["bench"],
            "proxy": "bench",
            "scheduler": self.scheduler,
        }
        certificate = {"name": "bench", "certificate": site.at["CERT"], "key": site.at["KEY"]}
        more = {
            "certificates": [certificate],
            "proxies": [{"name": "bench", "permit": ["private"]}],
            "rules": [{"proxy": "bench", "action": "allow", "ports": [str(PORT)]}],
            "listeners": [listener],
            "tls": {"suites": h2.CIPHER, "groups": "P-256"},
            "http2": {"stream-window": WINDOW, "connection-window": CONNECTION},
        }
        super().__init__(wire, more)


def ours(name):
    return type(name, (Ours,), {"scheduler": name, "name": name})


class Nghttpx(h2.Peer):
    name = "nghttpx"
    program = "/usr/sbin/nghttpx"
    grants = True

    def command(self, site):
        return (
            *(self.program, "--conf=/dev/null", "--http2-proxy", "--no-ocsp"),
            *("--single-process", "--single-thread"),  # whose time is known
            *(f"-f{tcp.ADDRESS},{h2.PORT}", f"-b{TARGET},{PORT}"),
            f"--frontend-http2-window-size={WINDOW}",
            f"--frontend-http2-connection-window-size={CONNECTION}",
            f"--frontend-http2-max-concurrent-streams={4 * STREAMS}",
            f"--backend-connections-per-host={4 * STREAMS}",
            "--backend-request-buffer=256K",  # in place of 16K
            *("--accesslog-file=", "--errorlog-file=/dev/stderr"),
            *(site.at["KEY"], site.at["CERT"]),
        )


PROXIES = {**{name: ours(name) for name in SCHEDULERS}, "nghttpx": Nghttpx}


# ---- a run ----


def pinned(proxy, *argv, **options):
    wire = proxy.wire
    return wire.there.spawn("taskset", "-c", str(wire.loads), *argv, text=True, **options)


def start_target(proxy):
    grant = {"LD_PRELOAD": GRANT} if proxy.grants else {}
    pinned(
        proxy,
        *("iperf3", "-s", "-B", TARGET, "-p", str(PORT)),
        env={**os.environ, **grant},
        stdout=subprocess.DEVNULL,
    )


class Mux:
    """connect_mux, and what it has counted."""

    def __init__(self, proxy, site):
        self.file = f"{site.at['TEMP']}/mux.json"
        self.process = pinned(
            proxy,
            *(MUX, "--proxy", f"{tcp.ADDRESS}:{h2.PORT}", "--cafile", site.at["CERT"]),
            *("--name", "bench", "--target", f"{TARGET}:{PORT}", "--report", self.file),
            *("--window", str(WINDOW), "--connection-window", str(CONNECTION)),
            env={**os.environ, "OPENSSL_CONF": site.at["CONF"]},
            stdout=subprocess.PIPE,
        )
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            raise AssertionError(f"connect_mux ended with {self.process.wait()}")
        self.port = line.split()[1]

    def counted(self):
        """Its report of this moment."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.file)
        self.process.send_signal(signal.SIGUSR1)
        machine.poll("connect_mux reports", 5, lambda: os.path.exists(self.file))
        with open(self.file, encoding="ascii") as file:
            return json.load(file)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def moved(seen):
    return seen["sum_up"] + seen["sum_down"]


def span(proxy, mux):
    """bits/s through the proxy, and what its core did, while iperf3 is in full swing."""
    machine.poll("bytes move", 10, lambda: moved(mux.counted()) > 1 << 20, step=0.1)
    time.sleep(WARM)
    before, spent = mux.counted(), h2.Span(proxy)
    time.sleep(SECONDS - 2)
    after, seen = mux.counted(), spent.end()
    rate = 8 * (moved(after) - moved(before)) / (after["clock"] - before["clock"])
    return {"core": rate / seen["busy"], **{k: seen[k] for k in ("busy", "load", "others")}}


def jain(shares):
    return sum(shares) ** 2 / len(shares) / sum(n * n for n in shares)


def table(shares):
    """Mbit/s of each stream."""
    lines = []
    for i in range(0, len(shares), COLUMNS):
        lines.append(" ".join(f"{n * 8 / 1e6 / SECONDS:9.3f}" for n in shares[i : i + COLUMNS]))
    return "\n    ".join(lines)


def run(proxy, site, way):
    mux = Mux(proxy, site)
    with open(f"{site.at['TEMP']}/iperf3.json", "w+", encoding="utf-8") as told:
        iperf3 = pinned(
            proxy,
            *("iperf3", "-J", "-c", "127.0.0.1", "-p", mux.port, "-P", str(STREAMS)),
            *("-t", str(SECONDS), "-O", str(WARM), *WAYS[way]),
            stdout=told,
        )
        seen = span(proxy, mux)
        status = iperf3.wait(SECONDS + 20)
        told.seek(0)
        text = told.read()
    mux.stop()
    streams = json.loads(text)["end"].get("streams", []) if status == 0 else []
    shares = [s["receiver"]["bytes"] for s in streams]
    if len(shares) != STREAMS or not sum(shares):
        raise AssertionError(f"iperf3 ended with {status}, {shares}:\n{text[-2000:]}")
    mean = sum(shares) / STREAMS
    return {
        "jain": jain(shares),
        "sum": sum(s["receiver"]["bits_per_second"] for s in streams),
        "least": min(shares) / mean,
        "most": max(shares) / mean,
        **seen,
    }, shares


@contextlib.contextmanager
def serving(kind, cores):
    with Lab() as lab:
        site = h2.Site(lab)
        wire = tcp.Wire(lab, h2.DRIVER, cores)
        for namespace in wire.here, wire.there:  # all may have it, and unlike BBR it has no pauses
            namespace.sysctl("net.ipv4.tcp_congestion_control", "reno")
        proxy = kind(wire, site)
        start_target(proxy)
        yield proxy, site
        proxy.stop()


# ---- figures ----


UNITS = {"jain": "jain", "sum": "bit/s", "core": "bit/s/core"}
KEYS = {"jain": ("least", "most"), "sum": ("busy", "load", "others"), "core": ("busy", "others")}


def tidy(number):
    return round(number) if number > 1000 else round(number, 6)  # Jain's index needs them


def report(case, way, peer, runs, peers):
    value, peer_value = h2.median(runs, case), h2.median(peers, case)
    line = {
        "bench": "connect",
        "case": f"{case}/{way}",
        "unit": UNITS[case],
        "value": tidy(value),
        "peer": peer,
        "peer_value": tidy(peer_value),
        "ratio": round(value / peer_value, 4 if case == "jain" else 2),
        "device": h2.DRIVER,
    }
    for name, which in ("", runs), ("peer_", peers):
        line.update(
            {name + k: round(statistics.median(r[k] for r in which), 3) for k in KEYS[case]}
        )
    print(json.dumps(line), flush=True)


def present(names):
    """Those that are installed."""
    for name in names:
        if name == "nghttpx" and not shutil.which(Nghttpx.program):
            say(f"{Nghttpx.program} is not installed; left out")
        else:
            yield name


def compare(names, ways, cores):
    runs = {(name, way): [] for name in names for way in ways}
    for i in range(ROUNDS):
        for name in names:
            with serving(PROXIES[name], cores) as (proxy, site):
                for way in ways:
                    seen, shares = run(proxy, site, way)
                    runs[name, way].append(seen)
                    told = ", ".join(f"{k} {tidy(n)}" for k, n in seen.items())
                    say(f"round {i + 1} of {ROUNDS}, {name}, {way}: {told}\n    {table(shares)}")
    first, *others = names
    for way in ways:
        for case in UNITS:
            for name in others:
                report(case, way, name, runs[first, way], runs[name, way])


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    names = [n for n in PROXIES if n in sys.argv[2:]] or list(PROXIES)
    ways = [w for w in WAYS if w in sys.argv[2:]] or list(WAYS)
    unknown = set(sys.argv[2:]) - set(PROXIES) - set(WAYS)
    if unknown:
        sys.exit(f"connect: neither a proxy nor a way: {', '.join(unknown)}")
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        sys.exit("connect: needs two cores: one for the proxy, one for the load")
    try:
        if not shutil.which("iperf3"):
            raise Missing("iperf3 is not installed")
        with echo.undisturbed():
            compare(list(present(names)), ways, cores)
    except Missing as why:
        sys.exit(f"connect: {why}")


if __name__ == "__main__":
    main()
