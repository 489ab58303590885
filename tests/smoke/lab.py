# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces with an appliance in one and peers in others.

All of it is named mr-<pid>-…, and goes when its with-block ends, also by a signal. What a run that
was killed outright has left behind is taken away by the next. Nothing has a default route, and no
address exists outside the namespaces."""
import contextlib
import ctypes
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import machine
from appliance import Appliance
from frames import Parsed, ether
from machine import NETNS, RUN, end, libc, poll, run
from tap import Missing, note

CLONE_NEWNET = 0x40000000
OFFLOADS = ("tx", "gso", "tso", "gro")

# linux/if_packet.h
SO_RCVBUFFORCE = 33  # asm-generic/socket.h
SOL_PACKET, PACKET_AUXDATA, TP_STATUS_VLAN_VALID = 263, 8, 0x10


def tag_of(extra):
    """The VLAN tag that the kernel has taken out of a frame; None: there was none."""
    for level, kind, data in extra:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci = struct.unpack("=IIIHHH", data[:18])
            return tci if status & TP_STATUS_VLAN_VALID else None
    return None


class Namespace:
    """One network namespace, and how to do things inside."""

    def __init__(self, lab, name):
        self.lab = lab
        self.name = f"{RUN}-{name}"
        run("ip", "netns", "add", self.name)
        self.sysctl("net.ipv6.conf.default.accept_dad", 0)
        self.sysctl("net.ipv6.conf.default.router_solicitations", 0)
        self.sysctl("net.ipv4.ping_group_range", "0 0")
        # Answers that the tests wait for must not be held back.
        self.sysctl("net.ipv4.icmp_ratelimit", 0)
        self.sysctl("net.ipv6.icmp.ratelimit", 0)
        self.ip("link", "set", "lo", "up")

    @contextlib.contextmanager
    def inside(self):
        """This thread, and what it starts and opens, is in the namespace."""
        with open("/proc/thread-self/ns/net", "rb") as home, open(
            f"{NETNS}/{self.name}", "rb"
        ) as there:
            if libc.setns(there.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), self.name)
            try:
                yield
            finally:
                if libc.setns(home.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")

    def run(self, *argv, **options):
        with self.inside():
            return run(*argv, **options)

    def ip(self, *words):
        return run("ip", "-n", self.name, *words).stdout

    def sysctl(self, key, value):
        path = "/proc/sys/" + key.replace(".", "/")
        with self.inside(), contextlib.suppress(FileNotFoundError):
            with open(path, "w", encoding="ascii") as file:
                file.write(str(value))

    def spawn(self, *argv, **options):
        """Ends with the lab at the latest."""
        if not shutil.which(argv[0]):
            raise Missing(f"{argv[0]} is not installed")
        with self.inside():
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, preexec_fn=machine.die_with_parent, **options
            )
        self.lab.stack.callback(end, process)
        return process

    def socket(self, *kind):
        with self.inside():
            made = socket.socket(*kind)
        self.lab.stack.callback(made.close)
        return made

    def packets(self, interface):
        """A raw socket on the interface: whole frames out and in."""
        raw = self.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        with self.inside():
            raw.bind((interface, 3))
        raw.settimeout(2)
        return raw

    def mac(self, interface):
        return re.search(r"link/ether (\S+)", self.ip("link", "show", interface))[1]

    def up(self, interface, *addresses, mtu=None):
        """addresses: with their prefix length."""
        for address in addresses:
            nodad = ["nodad"] if ":" in address else []
            self.ip("addr", "add", address, "dev", interface, *nodad)
        self.ip("link", "set", interface, *(["mtu", str(mtu)] if mtu else []), "up")

    def connected(self, interface):
        """Waits for the carrier, which the kernel notices up to a second late."""
        poll(
            f"{interface} has a carrier",
            10,
            lambda: "state DOWN" not in self.ip("link", "show", interface),
        )

    def plain(self, interface):
        """The kernel's offloads off: a frame is what goes over the wire, with its checksums."""
        for name in OFFLOADS:
            self.run("ethtool", "-K", interface, name, "off", check=False)

    def silent(self, interface):
        """The kernel itself says nothing here: no IPv6, no ARP."""
        self.sysctl(f"net.ipv6.conf.{interface}.disable_ipv6", 1)
        self.ip("link", "set", interface, "arp", "off")


class Lab:
    """What a test has built up; all of it ends with the with-block."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.directory = None
        self.appliances = []
        self.dump = None  # tcpdump of the peer's side, and its file
        self.failed = False

    def __enter__(self):
        if os.geteuid() != 0:
            raise Missing("network namespaces need root: sudo make smoke")
        if not os.path.exists(machine.MILLRACE):
            raise AssertionError(f"no {machine.MILLRACE}: make build")
        machine.sweep()
        with contextlib.ExitStack() as stack:
            self.directory = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{RUN}-"))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *what):
        """Appliances that still run at a regular end are told to stop, and have to do it well."""
        with self.stack:
            if what[:1] == (None,):
                for a in self.appliances:
                    a.check_stop()

    def namespace(self, name):
        made = Namespace(self, name)
        self.stack.callback(subprocess.run, ["ip", "netns", "del", made.name], check=False)
        return made

    def veth(self, one, one_name, other, other_name, queues=1):
        """A cable between two namespaces, down at both ends."""
        each = ["numrxqueues", str(queues), "numtxqueues", str(queues)]
        one.ip(
            *("link", "add", one_name, *each, "type", "veth"),
            *("peer", "name", other_name, *each, "netns", other.name),
        )
        one.plain(one_name)
        other.plain(other_name)

    def appliance(self, namespace, config, **options):
        """Starts one, and waits until it is ready."""
        made = Appliance(self, namespace, config, **options)
        self.appliances.append(made)
        self.stack.callback(made.kill)
        made.start()
        return made

    def watch(self, namespace, interface):
        """Captures what passes, for the case that something fails."""
        if not shutil.which("tcpdump"):
            return
        file = f"{self.directory}/peer.pcap"
        # -s: headers are enough; -c: a flood is not worth the disk
        tcpdump = namespace.spawn(
            *("tcpdump", "-i", interface, "-nn", "-U", "-Z", "root"),
            *("-s", "200", "-c", "20000", "-w", file),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        poll("tcpdump writes", 5, lambda: os.path.exists(file) and os.path.getsize(file))
        self.dump = file
        self.stack.callback(self._end_dump, tcpdump)

    def _end_dump(self, tcpdump):
        """Before the directory goes."""
        tcpdump.terminate()
        tcpdump.wait()
        if self.failed:
            os.makedirs(machine.KEEP, exist_ok=True)
            test = os.path.splitext(os.path.basename(sys.argv[0]))[0]
            kept = f"{machine.KEEP}/{test}-{os.path.basename(self.directory)}.pcap"
            shutil.copy(self.dump, kept)
            note(f"what the peer saw: {kept}")

    # For tap.py.

    def mark(self):
        return [(a, a.published()) for a in self.appliances if a.running()]

    def explain(self, since):
        self.failed = True
        before = dict(since)
        lines = [f"kernel offloads off: {' '.join(OFFLOADS)}"]
        for a in self.appliances:
            lines += a.explain(before.get(a))
        return lines


class Pair(Lab):
    """An appliance and a peer on one cable: the pair of namespaces that most tests need."""

    def __init__(
        self,
        driver="af_xdp",
        device=None,
        config=None,
        ours=("10.77.0.1/24", "fd77::1/64"),
        theirs=("10.77.0.2/24", "fd77::2/64"),
        mtu=1500,
        queues=1,
        silent=False,
    ):
        """device, config: more of the appliance's configuration; theirs: the peer's addresses.
        silent: the peer's kernel says nothing, so that each packet is the test's own."""
        super().__init__()
        self.driver = driver
        self.mtu = mtu
        self.queues = queues
        self.theirs = () if silent else theirs
        self.silent = silent
        self.device = {"name": "mill0", "driver": driver, "addresses": list(ours), "mtu": mtu}
        if driver in ("af_xdp", "af_packet"):
            self.device["interface"] = "mill0"
        self.device.update(device or {})
        self.config = {"devices": [self.device], **(config or {})}
        self.host = self.peer = self.app = self.raw = None
        self.peer_if = "mill0" if driver == "tap" else "peer0"

    def __enter__(self):
        super().__enter__()
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            if self.driver == "af_xdp":
                machine.needs_af_xdp()
            self._build()
            undo.pop_all()
        return self

    def _build(self):
        self.host = self.namespace("a")
        self.peer = self.host if self.driver == "tap" else self.namespace("b")
        if self.driver != "tap":
            self.veth(self.host, "mill0", self.peer, "peer0", self.queues)
            self.host.sysctl("net.ipv6.conf.mill0.disable_ipv6", 1)
            self.host.up("mill0", mtu=self.mtu)
        if self.driver == "tap":  # made by the appliance
            self.peer.sysctl("net.ipv6.conf.default.disable_ipv6", int(self.silent))
            self.app = self.appliance(self.host, self.config)
        if self.silent:
            self.peer.silent(self.peer_if)
        self.peer.up(self.peer_if, *self.theirs, mtu=self.mtu)
        self.peer.connected(self.peer_if)
        self.raw = self.peer.packets(self.peer_if)
        self.watch(self.peer, self.peer_if)
        if not self.app:
            self.app = self.appliance(self.host, self.config)

    def ping(self, *words, check=True, **options):
        return self.peer.run("ping", "-n", *words, check=check, **options).stdout

    # Raw frames on the peer's side.

    def peer_mac(self):
        return self.peer.mac(self.peer_if)

    def send(self, packet, kind, src="02:00:00:00:00:99", dst=None, vlan=None):
        """A packet in a frame; to the appliance unless dst is given."""
        self.raw.send(ether(dst or self.app.mac(), src, kind, packet, vlan))

    def receive(self, what, match, seconds=10):
        """The first frame from the appliance that matches; others are passed over."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            assert left > 0, f"not within {seconds} s: {what}"
            self.raw.settimeout(left)
            try:
                frame, extra, _, address = self.raw.recvmsg(65536, 64)
            except TimeoutError:
                continue
            if address[2] == socket.PACKET_OUTGOING:
                continue
            parsed = Parsed(frame)
            parsed.vlan = tag_of(extra)
            if match(parsed):
                return parsed

    def discard(self):
        """Frames that have come so far."""
        self.raw.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.raw.recv(65536)
