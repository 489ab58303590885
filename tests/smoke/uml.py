# SPDX-License-Identifier: BSD-3-Clause
"""A cable that delays, loses and reorders: Linux in user mode (Debian's user-mode-linux) between two
TAP interfaces, with netem where it sends. Kernels for virtual machines often lack netem; this one is
a process.

The guest sees this machine's files, read only, and has no address. It runs in a process namespace of
its own: it traces its programs, which would stay behind if only it were killed."""
import glob
import os
import re
import select
import shutil
import socket
import subprocess
import time

import machine
from machine import end
from tap import Missing

LINUX = "linux.uml"
MODULES = "/usr/lib/uml/modules/*/kernel"
BOOT = 60  # seconds; it takes two where nothing else runs
ANSWER = 20  # that a command may take
DEPTH = 64  # packets that the guest's driver takes at a time
CONSOLE_LINES = 15

# The guest's only program of its own: each line on the serial line is a command.
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
exec </dev/ttyS0 >/dev/ttyS0 2>&1
stty raw -echo
echo '= 0'
while read -r line; do
    eval "$line"
    echo "= $?"
done
"""
STATUS = re.compile(r"^= (\d+)\n", re.M)  # what ends an answer


class Guest:
    """Linux in user mode. Its interfaces vec0, vec1, … are these TAP interfaces of the namespace."""

    def __init__(self, lab, namespace, taps):
        if not shutil.which(LINUX):
            raise Missing(f"{LINUX} is not installed (package user-mode-linux)")
        self.directory = f"{lab.directory}/uml"
        self.console = f"{self.directory}/console"
        self.process = None
        self.serial, theirs = socket.socketpair()
        lab.stack.callback(self.serial.close)
        os.mkdir(self.directory)
        with theirs:
            self._start(namespace, taps, theirs.fileno())
        lab.stack.callback(end, self.process)
        self._answer("boot", BOOT)

    def _start(self, namespace, taps, serial):
        init = f"{self.directory}/init"
        with open(init, "w", encoding="ascii") as file:
            file.write(INIT)
        os.chmod(init, 0o755)
        nets = [f"vec{i}:transport=tap,ifname={t},depth={DEPTH}" for i, t in enumerate(taps)]
        with open(self.console, "wb") as console, namespace.inside():
            self.process = subprocess.Popen(
                [
                    *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"),
                    *(LINUX, "mem=128M", "quiet", f"uml_dir={self.directory}"),
                    *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}"),
                    *("con=null", "con0=null,fd:1", "ssl=null", f"ssl0=fd:{serial}", *nets),
                ],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                pass_fds=[serial],
                preexec_fn=machine.die_with_parent,
            )

    def _answer(self, what, seconds):
        """All that comes up to a status, and the status."""
        until, text = time.monotonic() + seconds, ""
        while not (found := STATUS.search(text)):
            left = max(0, until - time.monotonic())
            more = select.select([self.serial], [], [], left)[0] and self.serial.recv(65536)
            if not more:
                raise AssertionError(f"the guest, {what}: no answer\n" + "\n".join(self.explain()))
            text += more.decode(errors="replace")
        return text[: found.start()], int(found[1])

    def run(self, command):
        """What a line of shell prints in the guest."""
        self.serial.sendall(command.encode() + b"\n")
        text, status = self._answer(command, ANSWER)
        assert status == 0, f"the guest, {command}: status {status}\n{text}"
        return text

    def load(self, *modules):
        """In this order, for they may need each other."""
        for name in modules:
            found = glob.glob(f"{MODULES}/**/{name}.ko*", recursive=True)
            if not found:
                raise Missing(f"{name}.ko is not in {MODULES}")
            self.run(f"insmod {found[0]}")

    def explain(self):
        with open(self.console, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()[-CONSOLE_LINES:]
        return [f"the guest's console: {line}" for line in lines]


class Cable:
    """Between two namespaces, like a veth pair: one's interface, a guest, the other's interface. What
    comes at one end leaves at the other through netem. Both ends are to stay up: the guest's driver
    does not get over an interface that refuses a packet."""

    QUEUE = 10000  # packets, on the way to the guest and in it: none is to be lost but by netem

    def __init__(self, lab, one, one_name, other, other_name):
        middle = lab.namespace("uml")
        for name in one_name, other_name:
            middle.ip("tuntap", "add", name, "mode", "tap")
            middle.ip("link", "set", name, "txqueuelen", str(self.QUEUE), "up")
        self.ends = (one, one_name), (other, other_name)
        self.guest = Guest(lab, middle, [one_name, other_name])
        self.guest.load("sch_netem", "sch_ingress", "cls_matchall", "act_mirred")
        for name in "vec0", "vec1":  # now it has the interfaces, wherever they go
            self.guest.run(f"ip link set {name} txqueuelen {self.QUEUE} promisc on up")
        for namespace, name in self.ends:
            middle.ip("link", "set", name, "netns", namespace.name)
            namespace.plain(name)
            namespace.up(name)
        self._join()

    def _join(self):
        for here, there in ("vec0", "vec1"), ("vec1", "vec0"):
            self.guest.run(f"tc qdisc add dev {here} clsact")
            self.guest.run(
                f"tc filter add dev {here} ingress matchall action mirred egress redirect dev {there}"
            )

    def shape(self, netem):
        """The same both ways: words of `tc qdisc add … netem`. What is on its way is lost."""
        if "limit" not in netem:
            netem += f" limit {self.QUEUE}"
        for name in "vec0", "vec1":
            self.guest.run(f"tc qdisc replace dev {name} root handle 1: netem {netem}")

    def lost(self):
        """Packets that were not netem's to lose: the machine was too slow."""
        lost = 0
        for namespace, name in self.ends:
            text = namespace.ip("-s", "link", "show", name)
            lost += sum(int(row.split()[3]) for row in re.findall(r"X:.*\n(.*)", text))
        return lost

    def explain(self):
        return [f"lost on the way to netem: {self.lost()}", *self.guest.explain()]
