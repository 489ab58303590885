#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""HTTP/2 over TLS against other servers: h2.py BUILD [SERVER...] [CASE...]. Needs root and two cores.

All serve the same bytes over TLS 1.3 (TLS_AES_128_GCM_SHA256, P-256, one ECDSA certificate) on the
same wire, in turns, on one core: a veth pair without offloads (no TSO, GSO, GRO, checksums). The other
core makes the load: h2load, or tls_load.c for handshakes. Peers run on the kernel's TCP with one
thread, their logs off, their limits out of the way; ours on AF_XDP. Medians of the rounds are printed,
a line for each peer and case, with `spread`: the greatest less the smallest, as a share of the median.

One core of load cannot keep ours busy, and hardly the best of the peers. Therefore `value` is what the
serving core does for each second that it is busy; `rate` is what went over the wire a second, `busy` and
`load` the shares of the two cores in use; with peer_ in front the peer's. tcp.py, whose wire and
whose reckoning these are, says what counts as busy.

  small              11 bytes of content, 10 connections with 100 streams each
  16k                16 KiB, the same
  1m                 1 MiB, 10 connections with 10 streams each, windows of 1 GiB
  handshake-full     new connections, one request of 11 bytes on each, from 64 clients
  handshake-resumed  the same with session tickets
  idle-memory        resident bytes for each more open connection that has had its request, `openssl`
                     of them OpenSSL's; of the kernel's memory for the peers' sockets nothing is in it

With `the device alone` as the peer: cycles for each packet sent, content and all, beside those that
dpdk-testpmd needs to send one of 1,514 bytes that is made beforehand (txonly).

Not all servers do all: haproxy's own replies are of one buffer at most. A server that is not installed is
said and left out. The machine should do nothing else: `others` is the share of the serving core that
others have had."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys

import tcp
import echo
import machine
from lab import Lab
from tap import Missing

TLS_LOAD = f"{tcp.BUILD}/tests/bench/tls_load"

ROUNDS = 3
SECONDS = 2
DRIVER = "af_xdp"
PORT = 443
CLIENTS = 64  # that shake hands at once
IDLE = 1000, 5000
LIMIT = 9000  # connections
CONTENT = {
    "small": b"hello world",
    "16k": bytes(i * 7 % 251 for i in range(1 << 14)),
    "1m": bytes(i * 7 % 251 for i in range(1 << 20)),
}
CIPHER = "TLS_AES_128_GCM_SHA256"

# For every program that uses OpenSSL: nghttpd, for one, can do no other group.
OPENSSL_CONF = f"""
openssl_conf = conf
[conf]
ssl_conf = ssl
[ssl]
system_default = tls
[tls]
MinProtocol = TLSv1.3
Ciphersuites = {CIPHER}
Groups = P-256
"""

HAPROXY = f"""
global
    nbthread 1
    maxconn {LIMIT}
    tune.bufsize 32768  # a reply of 16 KiB has to fit
    tune.h2.max-concurrent-streams 128
    ssl-default-bind-options ssl-min-ver TLSv1.3
defaults
    mode http
    timeout client 600s
    timeout http-request 600s
    timeout http-keep-alive 600s
frontend bench
    bind {tcp.ADDRESS}:{PORT} ssl crt PEM alpn h2 backlog 4096
    http-request return status 200 content-type text/plain file FILES/small if {{ path /small }}
    http-request return status 200 content-type text/plain file FILES/16k if {{ path /16k }}
"""

NGINX = f"""
daemon off;
master_process off;
worker_processes 1;
pid TEMP/nginx.pid;
error_log stderr crit;
events {{ worker_connections {LIMIT}; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    open_file_cache max=100 inactive=600s;
    client_body_temp_path TEMP/body;
    proxy_temp_path TEMP/proxy;
    fastcgi_temp_path TEMP/fastcgi;
    uwsgi_temp_path TEMP/uwsgi;
    scgi_temp_path TEMP/scgi;
    server {{
        listen {tcp.ADDRESS}:{PORT} ssl http2 backlog=4096;
        ssl_protocols TLSv1.3;
        ssl_certificate CERT;
        ssl_certificate_key KEY;
        ssl_session_tickets on;
        http2_max_concurrent_streams 128;
        root FILES;
        location = /small {{ default_type text/plain; return 200 "{CONTENT["small"].decode()}"; }}
    }}
}}
"""

H2O = f"""
user: root
num-threads: 1
max-connections: {LIMIT}
http2-max-concurrent-requests-per-connection: 128
http2-idle-timeout: 600
ssl-session-resumption:
  mode: ticket
listen:
  host: {tcp.ADDRESS}
  port: {PORT}
  ssl:
    certificate-file: CERT
    key-file: KEY
    ocsp-update-interval: 0
hosts:
  default:
    paths:
      "/":
        file.dir: FILES
"""


def say(text):
    print(f"h2: {text}", file=sys.stderr, flush=True)


class Site:
    """What is served, and with which certificate: in the lab's directory."""

    def __init__(self, lab):
        self.at = {
            name: f"{lab.directory}/{file}"
            for name, file in {
                "TEMP": "tmp",
                "FILES": "files",
                "PEM": "both.pem",
                "CERT": "cert.pem",
                "KEY": "key.pem",
                "CONF": "openssl.cnf",
            }.items()
        }
        for name in "TEMP", "FILES":
            os.mkdir(self.at[name])
        for name, content in CONTENT.items():
            self.write(f"{self.at['FILES']}/{name}", content)
        self.write(self.at["CONF"], OPENSSL_CONF.encode())
        machine.run(
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj", "/CN=bench"),
            *("-keyout", self.at["KEY"], "-out", self.at["CERT"]),
        )
        with contextlib.ExitStack() as stack:
            parts = [stack.enter_context(open(self.at[n], "rb")) for n in ("CERT", "KEY")]
            self.write(self.at["PEM"], b"".join(part.read() for part in parts))

    @staticmethod
    def write(path, content):
        with open(path, "wb") as file:
            file.write(content)

    def configuration(self, name, text):
        """The path of a file with that text, the names in capitals replaced."""
        path = f"{self.at['TEMP']}/{name}"
        self.write(path, re.sub("|".join(self.at), lambda m: self.at[m[0]], text).encode())
        return path


# ---- who serves ----


class Ours(tcp.Millrace):
    cases = tuple(CONTENT)

    def __init__(self, wire, site):
        certificate = {"name": "bench", "certificate": site.at["CERT"], "key": site.at["KEY"]}
        listener = {
            "name": "https",
            "port": PORT,
            "protocol": "http2",
            "service": "origin",
            "certificates": ["bench"],
            "origin": "bench",
        }
        more = {
            "certificates": [certificate],
            "origins": [{"name": "bench", "directory": site.at["FILES"]}],
            "listeners": [listener],
            "tls": {"suites": CIPHER, "groups": "P-256", "tickets": 2},  # as the peers
        }
        super().__init__(wire, more)

    def memory(self):
        """value: all that is resident; openssl: what OpenSSL has of it."""
        now = self.app.published()
        return {
            "value": tcp.resident(self.pid),
            "openssl": now.value["millrace_tls_memory_bytes", ""],
        }


class Peer(tcp.Kernel):
    """A program on the kernel's TCP."""

    cases = tuple(CONTENT)

    def __init__(self, wire, site):
        self.wire = wire
        self.core = tcp.Core(wire.answers)
        here = wire.here
        here.sysctl("net.ipv4.tcp_max_syn_backlog", 4096)
        here.ip("link", "set", "mill0", "arp", "on")
        here.ip("addr", "add", f"{tcp.ADDRESS}/{tcp.NET}", "dev", "mill0")
        self.log = f"{site.at['TEMP']}/{self.name}.log"
        with open(self.log, "wb") as log:
            self.process = here.spawn(
                *("taskset", "-c", str(wire.answers), *self.command(site)),
                env={**os.environ, "OPENSSL_CONF": site.at["CONF"]},
                stdout=log,
                stderr=log,
            )
        self.thread = self.pid = self.process.pid
        machine.poll(f"{self.name} listens", 10, self.listens)

    def command(self, site):
        raise NotImplementedError

    def listens(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                raise AssertionError(f"{self.name} has ended:\n{log.read()}")
        with self.wire.there.inside(), contextlib.suppress(OSError):
            socket.create_connection((tcp.ADDRESS, PORT), 1).close()
            return True
        return False

    def counts(self):
        return {}

    def memory(self):
        return {"value": tcp.resident(self.pid)}


class Haproxy(Peer):
    name = "haproxy"
    program = "/usr/sbin/haproxy"
    cases = "small", "16k"

    def command(self, site):
        return self.program, "-f", site.configuration("haproxy.cfg", HAPROXY)


class Nghttpd(Peer):
    name = "nghttpd"
    program = "/usr/sbin/nghttpd"

    def command(self, site):
        options = "-n1", "-m128", "-a", tcp.ADDRESS, "-d", site.at["FILES"]
        return self.program, *options, str(PORT), site.at["KEY"], site.at["CERT"]


class H2o(Peer):
    name = "h2o"
    program = "/usr/bin/h2o"

    def command(self, site):
        return self.program, "-c", site.configuration("h2o.conf", H2O)


class Nginx(Peer):
    name = "nginx"
    program = "/usr/sbin/nginx"

    def command(self, site):
        return self.program, "-c", site.configuration("nginx.conf", NGINX)


PEERS = Haproxy, Nghttpd, H2o, Nginx
SERVERS = {kind.name: kind for kind in (Ours, *PEERS)}


@contextlib.contextmanager
def serving(kind, cores):
    with Lab() as lab:
        wire = tcp.Wire(lab, DRIVER, cores)
        server = kind(wire, Site(lab))
        for name in kind.cases:
            check(server, name)
        yield server
        server.stop()


def check(server, name):
    """It serves what it should."""
    seen = server.wire.there.run(
        *("curl", "-sk", "--http2", "--max-time", "10", f"https://{tcp.ADDRESS}/{name}"),
        *("-o", f"{server.wire.lab.directory}/seen", "-w", "%{http_code} %{http_version}"),
        check=False,
    )
    with contextlib.suppress(FileNotFoundError), open(
        f"{server.wire.lab.directory}/seen", "rb"
    ) as file:
        if seen.stdout == "200 2" and file.read() == CONTENT[name]:
            return
    raise AssertionError(f"{server.name} serves /{name} wrong: {seen.stdout} {seen.stderr}")


# ---- runs ----


class Span(tcp.Span):
    """What the server did, and how much of its core the load had, from one moment to another."""

    def __init__(self, server):
        self.loads = tcp.Core(server.wire.loads)
        super().__init__(server)
        self.loaded = self.look()

    def look(self):
        return self.loads.look(self.server.thread)[:2]

    def end(self):
        (wall, active), (before, idle) = self.look(), self.loaded
        return {**super().end(), "load": (active - idle) / (wall - before)}


def rated(seen, rate):
    return {"value": rate / seen["busy"], "rate": rate, **seen}


def pinned(wire, *argv):
    return wire.there.spawn(
        *("taskset", "-c", str(wire.loads), *argv),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_requests(server, name, streams):
    load = pinned(
        server.wire,
        *("stdbuf", "-oL", "h2load", "-t1", "-c10", f"-m{streams}", "-w30", "-W30"),
        *("-D", f"{SECONDS}s", "--warm-up-time", "500ms", f"--tls13-ciphers={CIPHER}"),
        f"https://{tcp.ADDRESS}:{PORT}/{name}",
    )
    lines, span, seen = [], None, None
    for line in load.stdout:
        lines.append(line)
        if "Main benchmark duration is started" in line:
            span = Span(server)
        if "Main benchmark duration is over" in line and span:
            seen = span.end()
    text = "".join(lines)
    if load.wait() != 0 or not seen or f"Cipher: {CIPHER}" not in text:
        raise AssertionError(f"h2load:\n{text}")
    done, bad = counted(text)
    if bad or not done:
        raise AssertionError(f"h2load had {bad} requests go wrong:\n{text}")
    return rated(seen, done / SECONDS)


def counted(text):
    """Requests that h2load has seen done with 2xx, and others."""
    found = re.search(r"(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored", text)
    done, succeeded, failed, errored = map(int, found.groups())
    good = int(re.search(r"status codes: (\d+) 2xx", text)[1])
    return good, failed + errored + done - succeeded


def tls_load(server, mode, connections):
    return pinned(
        server.wire,
        *(TLS_LOAD, mode, tcp.ADDRESS, str(PORT), tcp.OURS[0], str(len(tcp.OURS))),
        *(str(connections), str(SECONDS), "/small", str(len(CONTENT["small"]))),
    )


def begun(load):
    line = load.stdout.readline()
    if line.strip() != "begin":
        raise AssertionError(f"tls_load ended with {load.wait()}: {line}{load.stdout.read()}")


def run_handshakes(server, mode):
    load = tls_load(server, mode, CLIENTS)
    begun(load)
    span = Span(server)
    line = load.stdout.readline()
    seen = span.end()
    if load.wait() != 0:
        raise AssertionError(f"tls_load ended with {load.returncode}: {line}")
    told = json.loads(line)
    return rated(seen, told["requests"] / told["seconds"])


def run_idle(server):
    """Bytes for each connection; ours has its packets from the start."""
    sizes = []
    for n in IDLE:
        load = tls_load(server, "idle", n)
        begun(load)
        sizes.append(server.memory())
        if load.wait() != 0:
            raise AssertionError(f"tls_load ended with {load.returncode}")
    few, many = sizes
    return {k: (many[k] - few[k]) / (IDLE[1] - IDLE[0]) for k in few}


CASES = {  # the first one would be spoilt by what the others leave
    "idle-memory": ("bytes/connection", "small", run_idle),
    "small": ("requests/s/core", "small", lambda server: run_requests(server, "small", 100)),
    "16k": ("requests/s/core", "16k", lambda server: run_requests(server, "16k", 100)),
    "1m": ("requests/s/core", "1m", lambda server: run_requests(server, "1m", 10)),
    "handshake-full": (
        "connections/s/core",
        "small",
        lambda server: run_handshakes(server, "full"),
    ),
    "handshake-resumed": (
        "connections/s/core",
        "small",
        lambda server: run_handshakes(server, "resumed"),
    ),
}


BULK = "16k", "1m"


def run_device(cores):
    """Cycles for each packet sent."""
    with Lab() as lab:
        return tcp.run_testpmd(tcp.Wire(lab, DRIVER, cores), "txonly")


# ---- figures ----


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def spread(runs):
    values = [run["value"] for run in runs]
    return (max(values) - min(values)) / statistics.median(values)


def figure(case, unit, value, peer, peer_value, ratio, **more):
    line = {
        "bench": "h2",
        "case": case,
        "unit": unit,
        "value": tcp.tidy(value),
        "peer": peer,
        "peer_value": tcp.tidy(peer_value),
        "ratio": round(ratio, 2),
        "device": DRIVER,
        **more,
    }
    print(json.dumps(line), flush=True)


def report(case, peer, ours, peers):
    value, peer_value = median(ours, "value"), median(peers, "value")
    more = {}
    for name, runs in ("", ours), ("peer_", peers):
        for key in "openssl", "rate", "busy", "load", "others":
            if key in runs[0]:
                more[name + key] = tcp.tidy(median(runs, key))
        more[name + "spread"] = round(spread(runs), 2)
    ratio = peer_value / value if case == "idle-memory" else value / peer_value
    figure(case, CASES[case][0], value, peer, peer_value, ratio, **more)


def report_device(case, ours, cycles):
    """cycles: of testpmd."""
    each = [seen["busy"] * seen["cycles"] / seen["turned"] / seen["tx"] for seen in ours]
    value, peer = statistics.median(each), statistics.median(cycles)
    figure(case, "cycles/packet", value, "the device alone", peer, peer / value)


def present(kinds):
    """Those that are installed."""
    for kind in kinds:
        if kind is not Ours and not shutil.which(kind.program):
            say(f"{kind.program} is not installed; left out")
        else:
            yield kind


def compare(kinds, cases, cores):
    runs = {(kind, case): [] for kind in kinds for case in cases}
    bulk = [case for case in cases if case in BULK and Ours in kinds]
    cycles = []
    for i in range(ROUNDS):
        if bulk:
            cycles.append(run_device(cores))
        for kind in kinds:
            with serving(kind, cores) as server:
                for case in (c for c in cases if CASES[c][1] in kind.cases):
                    seen = CASES[case][2](server)
                    runs[kind, case].append(seen)
                    say(
                        f"round {i + 1} of {ROUNDS}, {kind.name}, {case}: "
                        + ", ".join(f"{k} {tcp.tidy(n)}" for k, n in seen.items())
                    )
    for case in cases:
        for kind in kinds:
            if kind is not Ours and runs[kind, case] and Ours in kinds:
                report(case, kind.name, runs[Ours, case], runs[kind, case])
        if case in bulk:
            report_device(case, runs[Ours, case], cycles)


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    kinds = [SERVERS[s] for s in SERVERS if s in sys.argv[2:]] or list(SERVERS.values())
    cases = [c for c in CASES if c in sys.argv[2:]] or list(CASES)
    unknown = set(sys.argv[2:]) - set(SERVERS) - set(CASES)
    if unknown:
        sys.exit(f"h2: neither a server nor a case: {', '.join(unknown)}")
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        sys.exit("h2: needs two cores: one that serves, one for the load")
    try:
        with echo.undisturbed():
            compare(list(present(kinds)), cases, cores)
    except Missing as why:
        sys.exit(f"h2: {why}")


if __name__ == "__main__":
    main()
