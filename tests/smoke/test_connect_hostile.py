#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Clients of the proxy, targets and name servers that mean harm: what each meets is counted, others are
served meanwhile, and nothing of it is left."""
import contextlib
import os
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "h2"))

import peer  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import targets  # noqa: E402  pylint: disable=wrong-import-position
from connect_client import basic  # noqa: E402  pylint: disable=wrong-import-position
from connectlab import (  # noqa: E402  pylint: disable=wrong-import-position
    BASIC,
    CLEAR,
    PASSWORDS,
    STRICT,
    TARGET4,
    V4,
    V6,
    ZONE,
    ConnectPair,
    listener,
    literal,
)
from machine import poll  # noqa: E402  pylint: disable=wrong-import-position
from tcp import same  # noqa: E402  pylint: disable=wrong-import-position

HERE = literal(TARGET4, targets.ECHO)
NAMED = f"host.test:{targets.ECHO}"
NOWHERE = literal(TARGET4, targets.SILENT)
UNHEARD = "silent.test:80"
OTHERS6 = "fd78::1"  # the appliance, for a client of another /56
TREE, URGENCY = 8601, 8602
STREAMS = 100  # of a connection at once
QUESTIONS_OF_A_CLIENT = 256  # app/questions.h
QUERIES_OF_A_CLIENT = 64  # resolver.client-queries
ZONE.update({f"n{i}.drop.test": {"silent": True} for i in range(3 * STREAMS)})
ZONE["unheard.test"] = {"silent": True}


def numbers(n, first=1):
    return range(first, first + 2 * n, 2)


def ask(stream, authority, *more):
    """HEADERS of CONNECT."""
    head = peer.block((":method", "CONNECT"), (":authority", authority), *more)
    return peer.headers(stream, head, end=False)


def password(text, user="alice"):
    return "proxy-authorization", basic(user, text)


class Bystander(threading.Thread):
    """Another client, from elsewhere: a tunnel, a word and its echo, the end, again and again."""

    def __init__(self, given, authority=HERE, port=CLEAR, fields=()):
        super().__init__(daemon=True)
        self.client = given.proxied(port, OTHERS6)
        self.authority, self.fields = authority, fields
        self.over = threading.Event()
        self.served, self.error = 0, None

    def run(self):
        try:
            while not self.over.wait(0.01):
                tunnel = self.client.open(self.authority, *self.fields)
                same(tunnel.ask(b"hello"), b"hello")
                tunnel.end()
                same(tunnel.rest(), b"")
                self.served += 1
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        with contextlib.suppress(AssertionError):
            poll("one more is served", 10, lambda n=self.served: self.served > n or self.error)
        self.over.set()
        self.join()
        self.client.close()
        if kind is None:
            assert not self.error, f"another client, after {self.served} tunnels: {self.error}"
            assert self.served, "no other client was served"


@contextlib.contextmanager
def attacked(given, *bystanders, ends="", **counts):
    """These counters rise, and tunnels end so, while others are served; nothing is left."""
    before = given.app.snapshot()
    with contextlib.ExitStack() as stack:
        for arguments in bystanders or ({},):
            stack.enter_context(Bystander(given, **arguments))
        yield before
    given.app.after(before, **counts)
    if ends:
        now = given.app.snapshot()
        assert given.ended(now, ends) > given.ended(before, ends), f"no tunnel ended by {ends}"
    poll("no tunnels", 20, lambda: given.app.snapshot().count("tunnels") == 0, step=0.02)
    given.nothing_is_left(20)
    poll("no questions", 20, lambda: waiting(given) == 0, step=0.02)


def waiting(given):
    """Questions for names that are not answered."""
    return given.app.snapshot().value["millrace_resolver_waiting", ""]


def told(snapshot, name, kind):
    return snapshot.value[f"millrace_{name}_total", f'kind="{kind}"']


def has_risen(given, before, name, kind):
    def risen():
        return told(given.app.snapshot(), name, kind) > told(before, name, kind)

    poll(f"{name}: {kind}", 10, risen)


@contextlib.contextmanager
def connections(given, n, port=CLEAR, addresses=(V4,)):
    """Raw ones, which vanish at the end."""
    with contextlib.ExitStack() as stack:
        made = []
        for i in range(n):
            conn = given.attacker(port, addresses[i % len(addresses)])
            stack.callback(conn.sock.close)
            made.append(conn)
        yield made


def settles(conn):
    """All that was sent has been looked at, or the proxy has closed it."""
    with contextlib.suppress(peer.Closed, AssertionError):
        conn.barrier()


# ---- cases ----


def tunnels_opened_and_reset_at_once(given):
    """Within the bounds of each connection: while a target, a name, or nobody is looked for."""
    with attacked(given, ends="client_reset"):
        for authority in HERE, NOWHERE, UNHEARD:
            with connections(given, 4) as conns:
                for conn in conns:
                    conn.send(*(ask(s, authority) + peer.rst_stream(s) for s in numbers(800)))
                for conn in conns:
                    settles(conn)


def tunnels_reset_beyond_the_limit(given):
    with attacked(given, h2_limit_rst=1, h2_calm=1), given.attacker() as conn:
        conn.send(*(ask(s, HERE) + peer.rst_stream(s) for s in numbers(1200)))
        conn.dies(peer.ENHANCE_YOUR_CALM)


def clients_that_vanish(given):
    """During a lookup, a dial, a check of a password."""
    ways = (CLEAR, UNHEARD), (CLEAR, NOWHERE), (BASIC, HERE)
    with attacked(given, ends="client_reset"):
        for port, authority in 5 * ways:
            with connections(given, 1, port) as [conn]:
                conn.send(*(ask(s, authority, password("?")) for s in numbers(STREAMS)))


def names_that_nobody_answers_for(given):
    """Many of them: of a client so many are asked for at a time."""
    with attacked(given, {"authority": NAMED}, ends="limit") as before:
        with connections(given, 3) as conns:
            for i, conn in enumerate(conns):
                names = enumerate(numbers(STREAMS), i * STREAMS)
                conn.send(*(ask(s, f"n{n}.drop.test:80") for n, s in names))
                settles(conn)
            has_risen(given, before, "resolver_busy", "client")
            n = given.app.snapshot().value["millrace_resolver_queries_under_way", ""]
            assert n <= QUERIES_OF_A_CLIENT + 2, n


def one_name_that_nobody_answers_for(given):
    """By two prefixes, over and over. Others have their names, and their passwords are checked."""
    login = {"port": BASIC, "fields": [password(PASSWORDS["bob"], "bob")]}
    with attacked(given, {"authority": NAMED}, login, ends="limit"):
        with connections(given, 12, addresses=(V4, V6)) as conns:
            for conn in conns:
                conn.send(*(ask(s, "unheard.test:80") for s in numbers(STREAMS)))
                settles(conn)
            n = waiting(given)
            assert n <= 2 * QUESTIONS_OF_A_CLIENT + 2, n


def guessed_passwords(given):
    """So many of a client are looked at in turn; who knows one gets in."""
    login = {"port": BASIC, "fields": [password(PASSWORDS["bob"], "bob")]}
    with attacked(given, login, ends="unknown_user") as before:
        with connections(given, 4, BASIC) as conns:
            for conn in conns:
                conn.send(*(ask(s, HERE, password(f"guess {s}")) for s in numbers(STREAMS)))
            for conn in conns:
                settles(conn)
            has_risen(given, before, "verifier_busy", "client")
        poll("the checks", 20, lambda: told(given.app.snapshot(), "verifier_checks", "wrong"))


def authorities_that_mean_ourselves(given):
    """In whatever form: none is dialled."""
    odd = (
        "127.1 0x7f.1 0177.0.0.1 2130706433 127.0.0.1. 0.0.0.0 0 127.0.0.0x1 localhost a.localhost. "
        "[::1] [::] [::127.0.0.1] [::ffff:10.88.0.1] [::ffff:0:10.88.0.1] [64:ff9b::10.88.0.1] "
        "[64:ff9b:1::10.88.0.1] [2002:a58:1::] [2001:0:a58:1::] [2001::f5a7:fffe] [fd88::1] "
        "[FD88:0::1] [fd88::1%25mill1] [fe80::1] own.test loopback.test mapped.test 10.88.0.1\0 "
        "a.test\0.test １２７.0.0.1 127。0。0。1 %31%32%37.0.0.1 [127.0.0.1] [::1 ::1] [[::1]] [v1.a]"
    ).split(" ")
    with attacked(given):
        for port in STRICT, CLEAR:
            for name in odd:
                with given.attacker(port) as conn:
                    conn.send(ask(1, f"{name}:{targets.ECHO}".encode()))
                    conn.until(lambda f: f.stream == 1, f"an answer for {name!r}")
                    got = conn.answers[1]
                    assert got.reset or got.status in ("400", "403", "502"), (name, got.status)


def priorities_without_end(given):
    """A hundred thousand: in a chain of streams that do not exist, and of one."""
    for port in TREE, URGENCY:
        with attacked(given, {"port": port}, h2_glitch_priority=900):
            with connections(given, 1, port) as [conn]:
                for first in range(1, 200_000, 4000):
                    streams = numbers(2000, first)
                    if port == TREE:
                        conn.send(*(peer.priority(s, on=s + 2, exclusive=True) for s in streams))
                    else:
                        body = (peer.u32(1) + b"u=%d" % (s % 8) for s in streams)
                        conn.send(*(peer.frame(peer.PRIORITY_UPDATE, 0, 0, b) for b in body))
                settles(conn)


def targets_that_reset_all(given):
    """It is not the client who is to blame: its connection goes on."""
    with attacked(given, ends="target_reset"), given.proxied() as client:
        for _ in range(300):
            tunnel = client.open(literal(TARGET4, targets.CLOSES))
            tunnel.send(bytes(20_000))
            client.until("its end", tunnel.over)
        same(client.open(HERE).ask(b"hello"), b"hello")


def windows_that_stay_shut(given):
    """Of many tunnels: nobody else's is."""
    shut = peer.INITIAL_WINDOW, 0
    with attacked(given, ends="client_reset"):
        with given.attacker(CLEAR, V4, shut) as conn:
            source = literal(TARGET4, targets.SOURCE)
            conn.send(*(ask(s, source) for s in numbers(STREAMS)))
            while len(conn.answers) < STREAMS:
                conn.read()
            assert all(a.status == "200" for a in conn.answers.values())


class Victim(ConnectPair):
    def __init__(self):
        ours, theirs = [[f"10.77.0.{i}/24", f"fd77::{i}/64", f"fd78::{i}/64"] for i in (1, 2)]
        super().__init__(ours=ours, theirs=theirs)

    def _sections(self):
        sections = super()._sections()
        sections["listeners"] += [
            listener("tree", TREE, "open", scheduler="tree"),
            listener("urgency", URGENCY, "open", scheduler="urgency"),
        ]
        return sections

    def attacker(self, port=CLEAR, address=V4, *pairs):
        """peer.Conn, with the given SETTINGS."""
        return peer.Target(address, port, port == BASIC, self.peer.inside).connect(*pairs)


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            Victim,
            tunnels_opened_and_reset_at_once,
            tunnels_reset_beyond_the_limit,
            clients_that_vanish,
            names_that_nobody_answers_for,
            one_name_that_nobody_answers_for,
            guessed_passwords,
            authorities_that_mean_ourselves,
            priorities_without_end,
            targets_that_reset_all,
            windows_that_stay_shut,
        )
    )
