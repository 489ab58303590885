#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""A line of a given delay between two namespaces: a TUN interface in each, and a program between that
holds each packet for a while. For one flow among many; test_tcp_netem.py's lines are a whole wire's.

As a program: delay.py DESCRIPTOR DESCRIPTOR SECONDS."""
import collections
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
QUEUE = 4000  # packets on their way, each way: what comes beyond is lost
PACKET = 65536


def tun(name):
    """The descriptor of a new interface of this thread's namespace."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def join(lab, one, one_address, other, other_address, seconds):
    """Interfaces `far` of both namespaces, with these addresses and prefix lengths."""
    ends = []
    for namespace, address in (one, one_address), (other, other_address):
        with namespace.inside():
            ends.append(tun("far"))
        lab.stack.callback(os.close, ends[-1])
        namespace.ip("link", "set", "far", "txqueuelen", str(QUEUE))
        namespace.up("far", address)
    words = [str(end) for end in ends] + [str(seconds)]
    program = [sys.executable, "-B", os.path.abspath(__file__)]
    return one.spawn(*program, *words, pass_fds=ends)


def take(fd, queue, due):
    """All that waits to be read."""
    try:
        while True:
            packet = os.read(fd, PACKET)
            if len(queue) < QUEUE:
                queue.append((due, packet))
    except BlockingIOError:
        pass


def give(fd, queue, now):
    """What has waited long enough; when there is more of it, None: not until something comes."""
    while queue and queue[0][0] <= now:
        os.write(fd, queue.popleft()[1])
    return queue[0][0] - now if queue else None


def main(one, other, seconds):
    ways = (int(one), int(other)), (int(other), int(one))
    queues = {way: collections.deque() for way in ways}
    waiter = select.poll()
    for fd, _ in ways:
        waiter.register(fd, select.POLLIN)
    while True:
        now = time.monotonic()
        left = [give(way[1], queue, now) for way, queue in queues.items()]
        soon = min((s for s in left if s is not None), default=None)
        waiter.poll(soon and soon * 1000)
        for way, queue in queues.items():
            take(way[0], queue, time.monotonic() + float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
