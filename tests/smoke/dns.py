#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""A name server that says what a test wants, over UDP and TCP. `Dns` is the test's end of it.

A zone is a dict by name, lower case without the last dot, of what is said of it, all optional:

    a, aaaa     addresses, in this order
    cname       another name of the zone, whose addresses follow it
    ttl         seconds: 60
    delay       seconds before the answer
    rcode       servfail, refused or nxdomain
    silent      nothing is said
    truncated   over UDP only that there is more

Of a name that has none of the addresses asked for, an SOA says that for its TTL. Of one that is not
in the zone that it does not exist, for 60 seconds."""
import contextlib
import ipaddress
import json
import os
import socketserver
import struct
import subprocess
import sys
import threading
import time

HEADER = struct.Struct("!6H")
ANSWER, TRUNCATED, AVAILABLE = 0x8000, 0x0200, 0x0080
RECURSION_DESIRED = 0x0100
TYPES = {1: "A", 28: "AAAA"}
CNAME, SOA, IN = 5, 6, 1
RCODES = {"servfail": 2, "nxdomain": 3, "refused": 5}
TTL = 60
LINKS = 8  # of a chain of aliases


# ---- the program ----


def encode_name(name):
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def question_of(message):
    """Name, number of the type, and the whole question as it stands there."""
    at, labels = HEADER.size, []
    while message[at]:
        labels.append(message[at + 1 : at + 1 + message[at]].decode("ascii"))
        at += 1 + message[at]
    kind, _ = struct.unpack_from("!HH", message, at + 1)
    return ".".join(labels).lower(), kind, message[HEADER.size : at + 5]


def record(name, kind, ttl, data):
    return encode_name(name) + struct.pack("!HHIH", kind, IN, ttl, len(data)) + data


def soa(ttl):
    data = encode_name("ns.test") + encode_name("admin.test")
    return record("", SOA, ttl, data + struct.pack("!5I", 1, 3600, 600, 86400, ttl))


class Zone:
    """The zone, and where it is noted what was asked."""

    def __init__(self, names, log):
        self.names = names
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def records(self, name, kind):
        """The answer section for a name of the zone."""
        found = []
        for _ in range(LINKS):
            said = self.names.get(name, {})
            ttl = said.get("ttl", TTL)
            for address in said.get(TYPES.get(kind, "").lower(), ()):
                found.append(record(name, kind, ttl, ipaddress.ip_address(address).packed))
            if "cname" not in said:
                break
            found.append(record(name, CNAME, ttl, encode_name(said["cname"])))
            name = said["cname"]
        return found

    def answer(self, message, udp):
        """The answer to a message; None: there is none."""
        number, flags, *_ = HEADER.unpack_from(message)
        name, kind, question = question_of(message)
        os.write(self.log, json.dumps([name, TYPES.get(kind, str(kind))]).encode() + b"\n")
        said = self.names.get(name, {"rcode": "nxdomain"})
        time.sleep(said.get("delay", 0))  # of this answer only: it has a thread of its own
        if said.get("silent"):
            return None
        rcode = RCODES.get(said.get("rcode"), 0)
        answers = [] if rcode else self.records(name, kind)
        authority = [] if answers or rcode not in (0, 3) else [soa(said.get("ttl", TTL))]
        flags = ANSWER | AVAILABLE | flags & RECURSION_DESIRED | rcode
        if udp and said.get("truncated"):
            flags, answers, authority = flags | TRUNCATED, [], []
        head = HEADER.pack(number, flags, 1, len(answers), len(authority), 0)
        return head + question + b"".join(answers + authority)


class OverUdp(socketserver.BaseRequestHandler):
    def handle(self):
        message, sock = self.request
        with contextlib.suppress(IndexError, struct.error, UnicodeDecodeError):  # no question
            answer = self.server.zone.answer(message, udp=True)
            if answer:
                sock.sendto(answer, self.client_address)


class OverTcp(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(IndexError, struct.error, UnicodeDecodeError, OSError):
            while True:
                (size,) = struct.unpack("!H", self.rfile.read(2))
                answer = self.server.zone.answer(self.rfile.read(size), udp=False)
                if answer:
                    self.wfile.write(struct.pack("!H", len(answer)) + answer)


class UdpServer(socketserver.ThreadingUDPServer):
    daemon_threads = True


class TcpServer(socketserver.ThreadingTCPServer):
    request_queue_size = 64
    allow_reuse_address = True
    daemon_threads = True


def main():
    address, port, names, log = sys.argv[1:]
    zone = Zone(json.loads(names), log)
    servers = [
        kind((address, int(port)), handler)
        for kind, handler in ((UdpServer, OverUdp), (TcpServer, OverTcp))
    ]
    for server in servers:
        server.zone = zone
    threading.Thread(target=servers[0].serve_forever, daemon=True).start()
    print("ready", flush=True)
    servers[1].serve_forever()


# ---- the test's end ----


class Dns:
    """Runs in a namespace, and ends with the lab."""

    def __init__(self, namespace, zone, address="127.0.0.1", port=53):
        self.log = f"{namespace.lab.directory}/{namespace.name}-dns-{address}-{port}"
        self.seen = 0
        self.process = namespace.spawn(
            *(sys.executable, "-B", os.path.abspath(__file__)),
            *(address, str(port), json.dumps(zone), self.log),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n", "the name server does not start"

    def asked(self, name):
        """The types of the questions for a name, in order. What was answered is among them."""
        with open(self.log, encoding="ascii") as file:
            file.seek(self.seen)
            rows = [json.loads(line) for line in file]
        return [kind for asked, kind in rows if asked == name]

    def forget(self):
        self.seen = os.path.getsize(self.log)


if __name__ == "__main__":
    main()
