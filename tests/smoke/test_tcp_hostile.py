#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody who speaks TCP means harm. Whoever behaves gets in and is served meanwhile, what the
other pins has a bound, and nothing of it is left afterwards."""
import itertools
import random
import socket
import struct
import subprocess
import sys
import time
from functools import partial

import tap
from frames import (
    ARP,
    BROADCAST,
    ICMP,
    IPV4,
    IPV6,
    arp,
    checksum,
    ether,
    icmp,
    ipv4,
    ipv6,
    pseudo,
)
from lab import SOL_PACKET
from machine import poll
from tcp import DISCARD, ECHO, PROTO_TCP, SOURCE, V4, TcpPair, read_exactly, source_bytes

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
PACKET_IGNORE_OUTGOING = 23  # linux/if_packet.h
MORE = 0x2000

# All of it comes from one station, which is the way to everywhere: so each of its addresses is
# answered.
EVIL, GATE = "02:00:00:00:00:66", "10.77.0.3"
NOBODY = "00:00:00:00:00:00"
ALL4, ALL4_MAC = "224.0.0.1", "01:00:5e:00:00:01"
EVIL_MAC = bytes.fromhex(EVIL.replace(":", ""))
GOOD4 = "10.77.0.2"
SEED = 6
BURST = 64  # frames between two looks at the clock
RATE = 10000  # a second: less than any build and any machine can take
TRIES = 20  # of who behaves, at least so many while the attack goes on
BACKLOG, FLOWS, MEMORY = 64, 400, 4 << 20

# Who behaves: opens, is echoed, leaves until it is told to stop. Prints how often
# that went well, how often it was tried, and the longest it took.
CLIENT = """
import signal, socket, sys, time
address, least = sys.argv[1], int(sys.argv[2])
enough = []
signal.signal(signal.SIGTERM, lambda *_: enough.append(1))
data = bytes(range(256)) * 40
def once():
    with socket.create_connection((address, 7), 4) as s:
        s.settimeout(4)
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        got = b""
        while part := s.recv(65536):
            got += part
        return got == data
good = tried = worst = 0
print("up", flush=True)
while tried < least or not enough:
    began = time.monotonic()
    try:
        good += once()
    except OSError:
        pass
    tried += 1
    worst = max(worst, time.monotonic() - began)
    time.sleep(0.02)
print(good, tried, worst)
"""

random.seed(SEED)


# ---- segments ----


def tcp(src, dst, sport, dport, seq, ack, flags, data=b"", options=b"", window=65535, urgent=0):
    """A segment with its IP header, and whatever it says."""
    options += b"\1" * (-len(options) % 4)
    size = 20 + len(options)
    head = struct.pack(
        "!HHIIBBHHH",
        *(sport, dport, seq % 2**32, ack % 2**32),
        *(size // 4 << 4, flags, window, 0, urgent),
    )
    body = head + options + data
    total = checksum(pseudo(src, dst, PROTO_TCP, len(body)) + body)
    body = body[:16] + struct.pack("!H", total) + body[18:]
    return ipv6(src, dst, PROTO_TCP, body) if ":" in src else ipv4(src, dst, PROTO_TCP, body)


def kind_of(packet):
    return IPV6 if packet[0] >> 4 == 6 else IPV4


def anybody():
    """An address beyond the gate (RFC 2544's, for such tests)."""
    return f"198.18.{random.randrange(256)}.{random.randrange(1, 255)}"


def number():
    return random.randrange(2**32)


def mss(n):
    return struct.pack("!BBH", 2, 4, n)


def sack(*edges):
    return (
        b"\1\1\5"
        + bytes([2 + 4 * len(edges)])
        + b"".join(struct.pack("!I", e % 2**32) for e in edges)
    )


SACK_OK, SCALE = b"\4\2", b"\3\3\7"


class Answer:
    """A segment of the appliance's."""

    def __init__(self, frame):
        at = 14 + (frame[14] & 15) * 4
        self.dst = socket.inet_ntoa(frame[30:34])
        self.sport, self.dport, self.seq, self.ack, off, self.flags, self.window = struct.unpack(
            "!HHIIBBH", frame[at : at + 16]
        )
        total = struct.unpack("!H", frame[16:18])[0]
        self.data = frame[at + (off >> 4) * 4 : 14 + total]


ports = itertools.count(2000)  # evil's, each once


class Peer:
    """One end of a connection, made by hand, that says just what it is told to."""

    def __init__(self, evil, port, src=GATE, sport=None, options=b"", seq=None, window=65535):
        self.evil, self.port, self.src, self.window = evil, port, src, window
        self.sport = sport or next(ports)
        self.options = options
        self.seq = number() if seq is None else seq  # next to say
        self.ack = 0  # next to hear

    def packet(self, flags, data=b"", at=0, **more):
        more.setdefault("window", self.window)
        ack = more.pop("ack", self.ack)
        return tcp(*(self.src, V4, self.sport, self.port, self.seq + at, ack, flags, data), **more)

    def send(self, flags, data=b"", at=0, **more):
        self.evil.send(self.packet(flags, data, at, **more))

    def syn(self):
        return self.packet(SYN, ack=0, options=self.options)

    def opened(self, answer):
        self.seq += 1
        self.ack = answer.seq + 1


class Hostile(TcpPair):
    def __init__(self, driver, **options):
        listeners = [
            {"name": name, "port": port, "service": name, "backlog": BACKLOG}
            for name, port in (("echo", ECHO), ("discard", DISCARD), ("source", SOURCE))
        ]
        super().__init__(
            driver,
            device={"gateways": [GATE]},
            config={"listeners": listeners, **options.pop("config", {})},
            **options,
        )
        self.mac = None
        self.tried = 0  # by who behaved last

    def __enter__(self):
        super().__enter__()
        self.mac = self.app.mac()
        self.raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.here()
        return self

    # What evil does.

    def here(self):
        """The gate is known as a neighbour."""
        self.raw.send(ether(self.mac, EVIL, ARP, arp(1, EVIL, GATE, NOBODY, V4)))

    def send(self, packet, dst=None, src=EVIL):
        self.raw.send(ether(dst or self.mac, src, kind_of(packet), packet))

    def out(self, packets, rate=RATE):
        """Sends, at a bounded rate. Returns how many."""
        began, n = time.monotonic(), 0
        for packet in packets:
            if n % (8 * BURST) == 0:
                self.here()
            self.send(packet)
            n += 1
            if n % BURST == 0:
                time.sleep(max(0, began + n / rate - time.monotonic()))
        return n

    def answers(self, seconds):
        """The appliance's segments to evil, for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.raw.settimeout(left)
            try:
                frame = self.raw.recv(65536)
            except TimeoutError:
                return
            if frame[12:14] == b"\x08\0" and frame[23] == PROTO_TCP and frame[:6] == EVIL_MAC:
                yield Answer(frame)

    def open_some(self, peers):
        """Handshakes; SYNs go again, for the kernel may lose some. Those that were let in."""
        want = {(p.src, p.sport, p.port): p for p in peers}
        opened = []
        for _ in range(3):
            for p in want.values():
                self.send(p.syn())
            for a in self.answers(1) if want else ():
                key = a.dst, a.dport, a.sport
                if key in want and a.flags & (SYN | RST) == SYN:
                    p = want.pop(key)
                    p.opened(a)
                    p.send(ACK)
                    opened.append(p)
                if not want:
                    break
        return opened

    def open_all(self, peers):
        peers, opened = iter(peers), []
        while some := list(itertools.islice(peers, 32)):
            self.here()
            opened += self.open_some(some)
        return opened

    # What who behaves sees of it.

    def behaved(self, what, share=0.9, address=V4):
        """Runs what, while somebody who behaves comes and goes. Snapshots around it."""
        self.discard()
        before = self.app.snapshot()
        client = self.peer.spawn(
            *(sys.executable, "-c", CLIENT, address, str(TRIES)),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert client.stdout.readline() == "up\n"
        try:
            what()
        finally:
            client.terminate()
        said = client.communicate(timeout=60)[0].split()
        good, tried, worst = int(said[0]), int(said[1]), float(said[2])
        tap.note(f"{good} of {tried} were served, the slowest in {worst:.2f} s")
        assert good >= share * tried, f"{good} of {tried} were served"
        self.tried = tried
        self.healthy()
        return before, self.app.snapshot()

    def healthy(self):
        health = self.app.get("/v1/health")
        assert health["status"] == "ok" and not health["warnings"], health

    def held(self):
        """Memory of all connections, and how many there are."""
        rows = self.connections()
        return sum(r["memory_bytes"] for r in rows), len(rows)


# ---- floods ----


def flooded(pair, packets):
    """Sends them while somebody behaves: what goes back is no more than came, about."""
    before, after = pair.behaved(lambda: pair.out(packets))
    n = after.counted(before, "rx_bytes", "tx_bytes")
    assert n["tx_bytes"] < 1.3 * n["rx_bytes"], n
    return before, after


def syns_of_one(pair):
    options = mss(1460) + SACK_OK + SCALE
    n = 15000
    before, after = flooded(
        pair,
        (tcp(GATE, V4, i % 60000 + 1024, ECHO, number(), 0, SYN, b"", options) for i in range(n)),
    )
    assert after.count("tcp_cookies_tx") - before.count("tcp_cookies_tx") > n / 2


def syns_of_many(pair):
    n = 15000
    before, after = flooded(
        pair, (tcp(anybody(), V4, number() >> 16, ECHO, number(), 0, SYN) for _ in range(n))
    )
    assert after.count("tcp_cookies_tx") - before.count("tcp_cookies_tx") > n / 2


def acks_of_cookies_that_never_were(pair):
    n = 15000
    before, after = flooded(
        pair, (tcp(anybody(), V4, number() >> 16, ECHO, number(), number(), ACK) for _ in range(n))
    )
    assert after.count("tcp_accepted") - before.count("tcp_accepted") <= pair.tried + 3  # by luck
    assert after.dropped(before)["tcp_cookie"] > n / 2


def whatever(pair):
    """Any flags, any options, of a few connections, so that it meets them in all states."""

    def one():
        kinds = (0, 1, 2, 3, 4, 5, 8, 10, 255, random.randrange(256))
        options = bytes(random.choice(kinds) for _ in range(random.randrange(0, 40)))
        good = mss(1) + SACK_OK + SCALE
        return tcp(
            *(GATE, V4, random.randrange(60000, 60032), random.choice((ECHO, DISCARD, SOURCE, 1))),
            *(random.randrange(64), random.randrange(64), random.choice((SYN, number() & 255))),
            *(bytes(random.randrange(64)), random.choice((good, b"", options))),
            window=random.choice((0, 1, 65535)),
            urgent=number() & 0xFFFF,
        )

    before, after = pair.behaved(lambda: pair.out(one() for _ in range(12000)))
    assert len(after.dropped(before)) > 5, after.dropped(before)


# ---- lies about a connection ----


def lied_about(pair, lies):
    """A download and an echo go on while evil, who knows all of it but where it stands, says these
    of them. Returns the snapshots around it."""
    before = pair.app.snapshot()
    with pair.connect(SOURCE) as down, pair.connect(ECHO) as both:
        got = len(read_exactly(down, 1000))
        for at in range(20):
            for sock, port in ((down, SOURCE), (both, ECHO)):
                pair.out(
                    itertools.chain.from_iterable(
                        lies(sock.getsockname()[1], port) for _ in range(10)
                    )
                )
            both.sendall(source_bytes(at * 5000, 5000))
            assert read_exactly(both, 5000) == source_bytes(at * 5000, 5000)
            more = read_exactly(down, 20000)
            assert more == source_bytes(got, 20000)
            got += len(more)
        after = pair.app.snapshot()
    pair.healthy()
    return before, after


def segments_of_a_stranger(pair):
    """Resets, SYNs, ends, data, acknowledgments, with numbers that are guessed."""

    def lies(sport, port):
        for flags in (RST, RST | ACK, SYN, SYN | ACK, FIN | ACK, ACK, ACK | PSH | URG, 0, 255):
            data = b"lie" if flags & ACK else b""
            now = b"\1\1\x08\x0a" + struct.pack("!II", number(), number())
            for options in (b"", now):
                numbers = number(), number()
                yield tcp(GOOD4, V4, sport, port, *numbers, flags, data, options)

    before, after = lied_about(pair, lies)
    assert after.count("tcp_resets_rx") == before.count("tcp_resets_rx")
    n = after.counted(before, "tcp_challenges", "tcp_challenges_limited")
    assert n["tcp_challenges"] > 0, n


def icmp_of_a_stranger(pair):
    """Unreachable in all ways, and too big, down to what no link has."""

    def lies(sport, port):
        for code in (0, 1, 2, 3, 4, 13):
            quoted = tcp(V4, GOOD4, port, sport, number(), number(), ACK)[:28]
            yield ipv4(GATE, V4, ICMP, icmp(3, code, struct.pack("!HH", 0, 68), quoted))

    before, after = lied_about(pair, lies)
    assert after.dropped(before)["icmp_error_unmatched"] > 1000
    assert after.count("pmtu_lowered") == before.count("pmtu_lowered")


# ---- what is no segment at all ----


def exactly(pair, reason, packets, dst=None, n=100):
    """So many of each, and each counted under this reason and nothing said."""
    pair.here()
    before = pair.app.snapshot()
    for _ in range(n):
        for packet in packets:
            pair.send(packet, dst)
    want = n * len(packets)
    poll(
        f"{want} are dropped as {reason}",
        5,
        lambda: pair.app.snapshot().dropped(before).get(reason, 0) >= want,
    )
    after = pair.app.snapshot()
    dropped = after.dropped(before)
    assert want <= dropped[reason] <= want + 5, dropped  # its kernel talks to groups, too
    assert sum(n for why, n in dropped.items() if why != "ip_destination") in (0, want), dropped
    assert not any(after.counted(before, "tcp_opened", "tcp_resets_tx").values())


def segments_to_groups(pair):
    syn = tcp(GATE, "10.77.0.255", 1024, ECHO, 1, 0, SYN)
    exactly(pair, "tcp_destination", [syn], BROADCAST)
    exactly(pair, "tcp_destination", [tcp(GATE, ALL4, 1, ECHO, 1, 0, SYN)], ALL4_MAC)
    exactly(pair, "ip_destination", [tcp(GATE, V4, 1024, ECHO, 1, 0, SYN)], BROADCAST)


def segments_of_ourselves(pair):
    """The land attack."""
    exactly(pair, "ip_source", [tcp(V4, V4, ECHO, ECHO, 1, 0, SYN)])


def wrong_checksums(pair):
    good = tcp(GATE, V4, 1024, ECHO, 1, 0, SYN, b"", mss(1460))
    exactly(pair, "tcp_checksum", [good[:-1] + bytes([good[-1] ^ 1])])


def segments_in_pieces(pair):
    """The header of a SYN in fragments, and a second one that overlaps the first."""
    whole = tcp(GATE, V4, next(ports), ECHO, number(), 0, SYN, bytes(40), mss(1460))[20:]

    def pieces(ident, *parts):
        for at, more, data in parts:
            yield ipv4(GATE, V4, PROTO_TCP, data, ident, (MORE if more else 0) | at // 8)

    def all_of_them():
        for n in range(1000):
            yield from pieces(
                n, (0, True, whole[:8]), (8, True, whole[8:24]), (24, False, whole[24:])
            )
            yield from pieces(
                n + 1000, (0, True, whole[:24]), (8, True, bytes(32)), (24, False, whole[24:])
            )

    before, after = pair.behaved(lambda: pair.out(all_of_them()))
    assert after.count("frag_reassembled") - before.count("frag_reassembled") >= 1000
    assert after.dropped(before).get("frag_overlap", 0) > 0, after.dropped(before)


# ---- what holds on to memory ----


def resets(pair):
    """The operator ends whatever evil has left."""
    for row in pair.connections():
        pair.app.ask(f"/v1/connections/{row['id']}", "DELETE")
    pair.nothing_is_left()


def gaps(pair):
    """Many connections full of holes. Newcomers get in, and memory has its bound."""
    peers = pair.open_all(Peer(pair, ECHO, options=mss(1460) + SACK_OK) for _ in range(150))
    assert len(peers) == 150

    def fill():
        for k in range(60):
            pair.out(p.packet(ACK, b"x", at=1 + 2 * k) for p in peers)

    fill()
    held, _ = pair.held()
    assert MEMORY / 2 < held <= MEMORY, held
    pair.behaved(fill)
    assert pair.held()[0] <= MEMORY
    resets(pair)


def echoes_that_nobody_reads(pair):
    """Each sends all that its window allows: together far more than there is room for."""
    peers = pair.open_all(Peer(pair, ECHO, window=0) for _ in range(200))
    assert len(peers) == 200
    before = pair.app.snapshot()
    for _ in range(4):  # what the kernel has lost comes again
        for k in range(40):
            pair.out(p.packet(ACK | PSH, bytes(1400), at=1400 * k) for p in peers)
        if pair.app.snapshot().dropped(before).get("tcp_memory", 0) > 100:
            break
    held, _ = pair.held()
    assert MEMORY * 3 / 4 < held <= MEMORY, held
    dropped = pair.app.snapshot().dropped(before)
    assert dropped.get("tcp_memory", 0) > 100 and "no_memory" not in dropped, dropped
    assert "1 received" in pair.ping("-c", "1", "-W", "2", V4)
    resets(pair)
    with pair.connect(ECHO) as sock:
        sock.sendall(b"again")
        assert read_exactly(sock, 5) == b"again"


def all_connections_there_are(pair):
    resets(pair)
    with pair.connect(ECHO) as inside:
        peers = pair.open_all(Peer(pair, DISCARD) for _ in range(FLOWS - 1))
        assert len(peers) == FLOWS - 1
        before = pair.app.snapshot()
        pair.out(Peer(pair, DISCARD).syn() for _ in range(100))
        poll(
            "the rest is refused",
            5,
            lambda: pair.app.snapshot().dropped(before) == {"tcp_limit": 100},
        )
        inside.sendall(b"still here")
        assert read_exactly(inside, 10) == b"still here"
        pair.out(p.packet(RST) for p in peers)
        with pair.connect(ECHO) as sock:
            sock.sendall(b"in")
            assert read_exactly(sock, 2) == b"in"
    pair.nothing_is_left()


def segments_of_one_byte(pair):
    """Asked for by the least MSS: they are larger than that, and no other has to wait."""
    peers = pair.open_all(Peer(pair, SOURCE, options=mss(1) + SCALE) for _ in range(20))
    by_port = {p.sport: p for p in peers}
    sizes = set()

    def read():
        for a in itertools.islice(pair.answers(2), 20000):
            p = by_port.get(a.dport)
            if not p or not a.data:
                continue
            sizes.add(len(a.data))
            p.ack = (a.seq + len(a.data)) % 2**32
            if len(sizes) % 8 == 0 or random.random() < 0.1:
                p.send(ACK, options=sack(*(number() for _ in range(6))))

    pair.behaved(read)
    assert min(sizes) >= 36, sizes
    resets(pair)


def ends_that_nobody_acknowledges(pair):
    peers = pair.open_all(Peer(pair, ECHO) for _ in range(100))
    before = pair.app.snapshot()
    pair.out(p.packet(FIN | ACK) for p in peers)
    after = pair.app.after(before, seconds=20, tcp_timed_out=len(peers))
    assert after.count("tcp_retransmits") - before.count("tcp_retransmits") < 8 * len(peers)
    pair.nothing_is_left()


def ends_of_all_kinds(pair):
    """Short connections that end in order, by resets, and by whatever else follows an end."""

    def what():
        for n in range(20):
            peers = pair.open_all(Peer(pair, (ECHO, DISCARD, SOURCE)[n % 3]) for _ in range(32))
            pair.out(p.packet(ACK | FIN, b"bye") for p in peers)
            pair.out(p.packet((RST, ACK | FIN, SYN, ACK)[n % 4], at=4) for p in peers)
            pair.out(p.packet(RST, at=4) for p in peers)

    pair.behaved(what)
    resets(pair)


SHORT = {"accept-timeout-s": 3, "time-wait-s": 3, "user-timeout-s": 4}
SMALL = {"flows": FLOWS, "tcp-memory": f"{MEMORY >> 20} MiB"}


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                f"{driver}, floods",
                partial(Hostile, driver, tcp=SHORT),
                syns_of_one,
                syns_of_many,
                acks_of_cookies_that_never_were,
                whatever,
                segments_of_a_stranger,
                icmp_of_a_stranger,
                segments_to_groups,
                segments_of_ourselves,
                wrong_checksums,
                segments_in_pieces,
                resets,
            )
            for driver in ("af_xdp",)
        ),
        tap.Group(
            "small limits",
            partial(Hostile, "af_packet", tcp=SHORT, config={"limits": SMALL}),
            gaps,
            echoes_that_nobody_reads,
            all_connections_there_are,
            segments_of_one_byte,
            ends_that_nobody_acknowledges,
            ends_of_all_kinds,
            resets,
        ),
    )
