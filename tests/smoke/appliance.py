# SPDX-License-Identifier: BSD-3-Clause
"""A running appliance: started, asked over its control socket, ended."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import machine

SUPPRESSED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lsan.supp")
SAMPLE = re.compile(r"(millrace_[a-z0-9_]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="([^"]*)"')
READY = 20  # seconds a start may take
LOG_LINES = 15
SILENCE = 1.5  # seconds: longer than reports of groups are apart


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def request(connection, method, path, body=None):
    """The status, the headers and the text of a reply."""
    try:
        connection.request(method, path, body)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()
    finally:
        connection.close()


class Snapshot:
    """/metrics at one moment."""

    def __init__(self, text):
        self.value = {}  # (name, labels as text): number
        self.counts = {}  # name: [by worker]
        self.drops = {}  # reason: sum
        for line in text.splitlines():
            found = SAMPLE.match(line)
            if not found:
                continue
            name, labels, number = found[1], found[2] or "", float(found[3])
            self.value[name, labels] = number
            self._sort_in(name, dict(LABEL.findall(labels)), int(number))

    def _sort_in(self, name, labels, number):
        if name == "millrace_drops_total":
            self.drops[labels["reason"]] = self.drops.get(labels["reason"], 0) + number
        elif name == "millrace_h2_glitches_total":
            self.counts.setdefault(f"h2_glitch_{labels['kind']}", []).append(number)
        elif set(labels) == {"worker"}:
            short = name.removeprefix("millrace_").removesuffix("_total")
            self.counts.setdefault(short, []).append(number)

    def count(self, name):
        """A counter of all workers together."""
        return sum(self.counts[name])

    def dropped(self, since):
        """The reasons that have counted since, with how often."""
        more = {why: n - since.drops.get(why, 0) for why, n in self.drops.items()}
        return {why: n for why, n in more.items() if n}

    def counted(self, since, *names):
        return {n: self.count(n) - since.count(n) for n in names}

    def deltas(self, since):
        """As lines, for a person; of what always moves only the useful part."""
        dull = ("cycles", "turns", "sleeps", "seconds", "in_use")
        for (name, labels), number in sorted(self.value.items()):
            more = number - (since.value.get((name, labels), 0) if since else 0)
            if more and not any(word in name for word in dull):
                yield f"{name}{{{labels}}} +{more:g}"


class Appliance:
    def __init__(self, lab, namespace, config, name=""):
        """config: as in the file, as far as a test cares; the rest is filled in here."""
        self.lab = lab
        self.namespace = namespace
        self.name = name or f"m{len(lab.appliances)}"
        self.prefix = f"{machine.RUN}-{self.name}"
        self.file = f"{lab.directory}/{self.name}.yaml"
        self.socket = f"{lab.directory}/{self.name}.sock"
        self.captures = f"{lab.directory}/{self.name}-captures"
        self.log = f"{lab.directory}/{self.name}.log"
        self.process = None
        self.configure(config)

    def configure(self, config):
        """Writes the file; JSON is YAML."""
        full = {
            "workers": {"cores": [0]},
            "control": {"socket": self.socket},
            "memory": {"file-prefix": self.prefix},
            "capture": {"directory": self.captures},
            "log": {"level": "info"},
        }
        for section, keys in config.items():
            full[section] = keys if isinstance(keys, list) else {**full.get(section, {}), **keys}
        self.write(json.dumps(full, indent=1))
        self.config = full

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def launch(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [
                    "ip",
                    "netns",
                    "exec",
                    self.namespace.name,
                    machine.MILLRACE,
                    "--config",
                    self.file,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "LSAN_OPTIONS": f"suppressions={SUPPRESSED}:print_suppressions=0",
                },
                preexec_fn=machine.die_with_parent,
            )

    def start(self):
        self.launch()
        machine.poll("the appliance is ready", READY, self._ready)

    def _ready(self):
        if not self.running():
            raise AssertionError(
                f"the appliance ended with {self.process.returncode}:\n{self.log_text()}"
            )
        try:
            return self.ask("/v1/health")[0] == 200
        except OSError:
            return False

    def running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, how=signal.SIGTERM, seconds=10):
        """Its exit status."""
        self.process.send_signal(how)
        return self.process.wait(seconds)

    def check_stop(self):
        if self.running():
            status = self.stop()
            log = "\n".join(self.log_text().splitlines()[-LOG_LINES:])
            assert status == 0, f"{self.name} stopped with status {status}:\n{log}"

    def kill(self):
        """The end of it, whatever state it is in."""
        if self.running():
            self.process.kill()
            self.process.wait()
        shutil.rmtree(f"{machine.DPDK}/{self.prefix}", ignore_errors=True)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    # The control socket.

    def ask(self, path, method="GET", body=None):
        """The status, the headers and the text."""
        body = None if body is None else json.dumps(body)
        return request(UnixConnection(self.socket), method, path, body)

    def get(self, path, method="GET", body=None, status=200):
        got, _, text = self.ask(path, method, body)
        assert got == status, f"{method} {path}: status {got}, not {status}: {text}"
        return json.loads(text)

    def ctl(self, *words, **options):
        return machine.run(machine.MILLRACECTL, "-s", self.socket, *words, **options)

    def published(self):
        """What the workers have published last: up to ten milliseconds old."""
        return Snapshot(self.ask("/metrics")[2])

    def _whole(self):
        """None: a worker was writing its record, however often it was looked at."""
        now = self.published()
        told = len(now.counts.get("turns", ()))
        return now if told == len(self.config["workers"]["cores"]) else None

    def snapshot(self):
        """With all that workers had counted when this was called."""
        before = machine.poll("the workers' records", 10, self._whole, step=0.002)

        def newer():
            now = self._whole()
            if not now:
                return None
            old = zip(now.counts["turns"], before.counts["turns"])
            return now if all(a != b for a, b in old) else None

        return machine.poll("each worker publishes its counters", 10, newer, step=0.002)

    def after(self, since, seconds=10, **counts):
        """The first snapshot in which all these counters have grown by as much or more. A packet's
        counter and the reason of its drop are published together."""

        def grown():
            now = self.snapshot()
            return (
                now if all(now.count(n) - since.count(n) >= k for n, k in counts.items()) else None
            )

        try:
            return machine.poll("", seconds, grown)
        except AssertionError:
            now = self.published()
            got = now.counted(since, *counts)
            raise AssertionError(f"counted {got}, not {counts}") from None

    def mac(self, device=None):
        ports = self.get("/v1/ports")["ports"]
        return next(p["mac"] for p in ports if device in (None, p["device"]))

    def addresses(self, device=None):
        """Their states by the address without prefix length."""
        rows = self.get("/v1/addresses")["addresses"]
        return {
            r["address"].split("/")[0]: r["state"] for r in rows if device in (None, r["device"])
        }

    def link_local(self, device=None):
        return next(a for a in self.addresses(device) if a.startswith("fe80"))

    def settle(self, seconds=10):
        """Until no worker has an address under duplicate address detection."""

        def settled():
            for worker in range(len(self.config["workers"]["cores"])):
                status, _, text = self.ask(f"/v1/addresses?worker={worker}")
                if status == 504 or '"tentative"' in text:  # 504: the machine has left it no time
                    return False
            return True

        machine.poll("addresses leave duplicate address detection", seconds, settled, step=0.02)

    def announced(self):
        """Until each IPv4 address was tried, then announced twice (RFC 5227 2); silent then."""
        n = 3 * sum("." in a for a in self.addresses())
        machine.poll(
            "addresses are announced",
            10,
            lambda: self.published().count("arp_tx_requests") >= n,
            step=0.02,
        )

    def quiet(self):
        """Until it has said all that it says unasked."""
        self.settle()
        self.announced()
        seen = [0, 0.0]  # packets, and since when there are so many

        def silent():
            sent, now = self.published().count("tx_packets"), time.monotonic()
            if sent != seen[0]:
                seen[:] = sent, now
            return now - seen[1] >= SILENCE

        machine.poll("it sends nothing any more", 20, silent, step=0.05)

    def explain(self, since):
        """What a person wants to see when a case has failed."""
        log = self.log_text().splitlines() if os.path.exists(self.log) else []
        if not self.running():
            return [f"{self.name}: does not run", *(f"  log: {line}" for line in log[-2:])]
        lines = [f"{self.name}: runs"]
        try:
            lines += [f"  {line}" for line in self.published().deltas(since)]
            drops = self.get("/v1/drops?nonzero=1")["drops"]
            lines.append("  dropped: " + ", ".join(f"{d['reason']} {d['total']}" for d in drops))
        except (OSError, AssertionError) as error:
            lines.append(f"  its control socket: {error}")
        return lines + [f"  log: {line}" for line in log[-LOG_LINES:]]
