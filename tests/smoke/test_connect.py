#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Tunnels of CONNECT from their beginning to their end: every byte, both ends, and what is said of
them. RFC 9113 8.5, RFC 9110 9.3.6."""
import functools
import hashlib
import random
import socket

import tap
import targets
from connect_client import CONNECT_ERROR
from connectlab import (
    CLEAR,
    HASTY,
    NOBODY4,
    SECURE,
    TARGET4,
    TARGET6,
    V4,
    V6,
    ConnectPair,
    literal,
)
from h2lab import MIB
from machine import poll
from targets import CONTENT, GREETING, HUGE
from tcp import same

PROTOCOL_ERROR = 1
WAYS = (CLEAR, V4, TARGET4), (CLEAR, V6, TARGET6), (SECURE, V4, TARGET6), (SECURE, V6, TARGET4)
MANY = 90  # tunnels of one connection at once
WINDOW = 65535
QUIET = 0.5  # seconds without a frame


def data(n, seed=1):
    return random.Random(seed).randbytes(n)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def saw(given, port, end, content=None):
    """What the target did, of the tunnel that has ended."""
    row = given.targets.ended(port)
    assert row["end"] == end, row
    if content is not None:
        assert (row["got"], row["sha256"]) == (len(content), sha256(content)), row
    return row


def dialogue(tunnel, content):
    """Sent while what comes is taken, then our end; all that comes until the other's."""
    tunnel.send(content)
    tunnel.end()
    return tunnel.rest()


def lives(given, client):
    """The connection: another tunnel of it is as good as any."""
    same(dialogue(client.open(literal(TARGET4, targets.ECHO)), b"still"), b"still")
    saw(given, targets.ECHO, "fin", b"still")


# ---- bytes ----


def carries_bytes_both_ways(given):
    """A mebibyte each way at once, by each family on each side, with TLS and without."""
    content = data(MIB)
    for port, address, target in WAYS:
        with given.proxied(port, address) as client:
            same(dialogue(client.open(literal(target, targets.ECHO)), content), content)
            row = saw(given, targets.ECHO, "fin", content)
            ours = "10.88.0.1" if target == TARGET4 else "fd88::1"
            assert row["peer"] == ours, row


def passes_single_bytes(given):
    """Each as it comes, none held back for more."""
    with given.proxied() as client:
        tunnel = client.open(literal(TARGET4, targets.ECHO))
        for i in range(200):
            same(tunnel.ask(bytes([i])), bytes([i]))
        same(dialogue(tunnel, b""), b"")


def hears_a_target_that_speaks_first(given):
    with given.proxied() as client:
        tunnel = client.open(literal(TARGET4, targets.GREET))
        same(tunnel.receive(len(GREETING)), GREETING)
        same(dialogue(tunnel, b"me"), b"me")


def keeps_what_comes_before_the_200(given):
    """As much as the window takes, sent with the request, and the end behind it."""
    content = data(WINDOW)
    for port in CLEAR, SECURE:
        with given.proxied(port) as client:
            tunnel = client.request(literal(TARGET4, targets.ECHO))
            assert tunnel.offer(content) == WINDOW
            tunnel.end()
            same(tunnel.opened().rest(), content)
            saw(given, targets.ECHO, "fin", content)


def drops_what_comes_before_a_failure(given):
    """And gives the connection's window back, again and again."""
    content = data(60_000)
    with given.proxied() as client:
        for _ in range(100):
            tunnel = client.request(literal(TARGET4, targets.REFUSE))
            tunnel.send(content)
            assert tunnel.failed() == (502, "connection_refused"), tunnel.head
        same(dialogue(client.open(literal(TARGET4, targets.ECHO)), content), content)


def carries_many_tunnels(given):
    """By turns, in pieces of all sizes."""
    chance = random.Random(2)
    for port in CLEAR, SECURE:
        with given.proxied(port) as client:
            ways = [literal(a, targets.ECHO) for a in (TARGET4, TARGET6)]
            tunnels = [client.request(ways[i % 2]) for i in range(MANY)]
            left = {t: memoryview(data(50_000, t.stream)) for t in tunnels}
            while left:
                for tunnel in list(left):
                    left[tunnel] = left[tunnel][
                        tunnel.offer(left[tunnel][: chance.randint(1, 9000)]) :
                    ]
                    if not left[tunnel]:
                        tunnel.end()
                        del left[tunnel]
                client.take()
            for tunnel in tunnels:
                same(tunnel.opened().rest(), data(50_000, tunnel.stream))


# ---- ends ----


def passes_the_clients_end(given):
    """The other direction goes on."""
    content = data(300_000)
    with given.proxied() as client:
        tunnel = client.open(literal(TARGET4, targets.COUNT))
        answer = f"{len(content)} {sha256(content)}\n".encode()
        same(dialogue(tunnel, content), answer)
        saw(given, targets.COUNT, "fin", content)


def passes_an_end_without_a_byte(given):
    with given.proxied() as client:
        tunnel = client.open(literal(TARGET4, targets.COUNT))
        same(dialogue(tunnel, b""), f"0 {sha256(b'')}\n".encode())
        saw(given, targets.COUNT, "fin", b"")


def passes_the_targets_end(given):
    """And what the client has to say goes on."""
    content = data(MIB)
    for port in CLEAR, SECURE:
        with given.proxied(port) as client:
            tunnel = client.open(literal(TARGET4, targets.ENDS_FIRST))
            same(tunnel.rest(), CONTENT)
            tunnel.ended = False  # for one direction it has
            tunnel.send(content)
            tunnel.end()
            saw(given, targets.ENDS_FIRST, "fin", content)
            client.barrier()
            assert tunnel.reset is None, tunnel.reset


def brings_all_before_the_end(given):
    """16 MiB, and the target is gone long before the last byte has left."""
    for port in CLEAR, SECURE:
        with given.proxied(port) as client:
            tunnel = client.open(literal(TARGET4, targets.BURST))
            same(tunnel.rest(), targets.pattern(HUGE))
            tunnel.end()


def passes_a_targets_reset(given):
    """Behind the last byte that came before it."""
    for port, address, target in WAYS:
        with given.proxied(port, address) as client:
            tunnel = client.open(literal(target, targets.RESET))
            tunnel.send(b"!")
            client.until("the reset", tunnel.over)
            same(bytes(tunnel.body), CONTENT)
            assert not tunnel.ended and tunnel.reset == CONNECT_ERROR, tunnel.reset


def passes_a_reset_to_a_slow_reader(given):
    """What came before it waits for the reader's window."""
    with given.proxied(window=10_000) as client:
        tunnel = client.open(literal(TARGET4, targets.RESET))
        tunnel.stop()
        tunnel.send(b"!")
        tunnel.receive(0)
        client.until("a window full", lambda: len(tunnel.body) == 10_000)
        client.barrier()
        assert tunnel.reset is None, "reset before what came before"
        tunnel.resume()
        client.until("the reset", tunnel.over)
        same(bytes(tunnel.body), CONTENT)
        assert tunnel.reset == CONNECT_ERROR, tunnel.reset


def tells_a_target_that_closes_early(given):
    """With more on the way to it: that is a reset."""
    with given.proxied() as client:
        tunnel = client.open(literal(TARGET4, targets.CLOSES))
        tunnel.offer(data(50_000))
        client.until("its end", lambda: tunnel.reset is not None)
        assert tunnel.reset == CONNECT_ERROR, tunnel.reset


def passes_a_clients_reset(given):
    for port in CLEAR, SECURE:
        with given.proxied(port) as client:
            for target in targets.ECHO, targets.STUCK, targets.SOURCE:
                tunnel = client.open(literal(TARGET4, target))
                if target == targets.ECHO:
                    same(tunnel.ask(b"hello"), b"hello")
                tunnel.cancel()
                saw(given, target, "rst")
            lives(given, client)


def passes_the_end_of_the_clients_connection(given):
    """In order or not; targets that read, targets that do not."""
    for how in "close", "abort":
        for port in CLEAR, SECURE:
            with given.proxied(port) as client:
                ways = (targets.ECHO, targets.STUCK, targets.SOURCE) * 4
                tunnels = [client.open(literal(TARGET4, p)) for p in ways]
                tunnels[0].ask(b"hello")
                getattr(client, how)()
                for target in ways:
                    saw(given, target, "rst")


def gives_up_a_dial_with_its_client(given):
    """A SYN that nobody answers; the tunnel is cancelled, or the connection ends."""
    before = given.app.snapshot()
    with given.proxied() as client:
        tunnel = client.request(literal(TARGET4, targets.SILENT))
        given.app.after(before, tcp_opened=2)
        tunnel.cancel()
        client.request(literal(TARGET6, targets.SILENT))
        given.app.after(before, tcp_opened=3)
    given.nothing_is_left()


# ---- back-pressure ----


def holds_no_more_than_a_window(given):
    """Of a target that never reads, and of a client that does not; others go on meanwhile."""
    content = data(200_000)
    with given.proxied() as client:
        stuck = client.open(literal(TARGET4, targets.STUCK))
        source = client.open(literal(TARGET4, targets.SOURCE))
        source.stop()
        sent = fill(client, stuck)
        client.until("a window full", lambda: len(source.body) == WINDOW)
        for _ in range(5):
            same(dialogue(client.open(literal(TARGET4, targets.ECHO)), content), content)
        sent += fill(client, stuck)
        tap.note(f"{sent} bytes went to who does not read")
        assert sent < 16 * MIB and len(source.body) == WINDOW
        source.cancel()
        stuck.cancel()
        assert saw(given, targets.SOURCE, "rst")["sent"] < 16 * MIB
        saw(given, targets.STUCK, "rst")


def goes_on_beside_many_that_stand(given):
    """A hundred downloads that the client has stopped, and twelve uploads to who does not read."""
    content = data(200_000)
    with given.proxied() as client:
        for _ in range(100):
            client.open(literal(TARGET4, targets.SOURCE)).stop()
        client.until("each has some", lambda: all(t.body for t in client.tunnels.values()))
        same(dialogue(client.open(literal(TARGET4, targets.ECHO)), content), content)
    with given.proxied() as client:
        for _ in range(12):
            fill(client, client.open(literal(TARGET4, targets.STUCK)))
        for _ in range(3):
            same(dialogue(client.open(literal(TARGET4, targets.ECHO)), content), content)
    given.targets.forget()


def fill(client, tunnel):
    """Until its window stays shut. How much that was."""
    sent = tunnel.offer(bytes(MIB))
    while client.hears(QUIET):
        sent += tunnel.offer(bytes(MIB))
    return sent


# ---- what is no tunnel ----


def malformed(given, head):
    """A stream error, and the connection lives."""
    with given.proxied() as client:
        tunnel = client.request("", head=head)
        client.until(f"the end of {head}", tunnel.over)
        if tunnel.reset is None:
            assert tunnel.status == 400, f"{head}: status {tunnel.status}"
        else:
            assert tunnel.reset == PROTOCOL_ERROR, f"{head}: RST_STREAM({tunnel.reset})"
        lives(given, client)


def refuses_what_is_no_target(given):
    for authority in (
        "a.test",
        "a.test:",
        "a.test:0",
        "a.test:65536",
        "a.test:http",
        "a.test:+80",
        ":80",
        TARGET4,
        TARGET6,
        f"{TARGET6}:80",
        f"[{TARGET6}]",
        f"[{TARGET6}%25mill0]:80",
        f"user@{TARGET4}:80",
        f"user:password@{TARGET4}:80",
        f"http://{TARGET4}:80",
        f"{TARGET4}:80/",
        "127.1:80",
        "0x7f000001:80",
        "010.88.0.2:80",
        "a..test:80",
        "a b.test:80",
        "a.test:80:80",
        "",
    ):
        malformed(given, [(":method", "CONNECT"), (":authority", authority)])


def refuses_what_is_no_request(given):
    connect, scheme, path = (":method", "CONNECT"), (":scheme", "https"), (":path", "/")
    authority = (":authority", literal(TARGET4, targets.ECHO))
    for head in (
        [connect, authority, path],
        [connect, scheme, authority],
        [connect, scheme, authority, path],
        [connect],
        [connect, authority, authority],
    ):
        malformed(given, head)


def resets_a_tunnel_with_another_head(given):
    """RFC 9113 8.5: a frame other than DATA ... is a stream error."""
    for end in True, False:
        with given.proxied() as client:
            tunnel = client.open(literal(TARGET4, targets.ECHO))
            same(tunnel.ask(b"hello"), b"hello")
            client.head_again(tunnel, [("trailer", "1")], end)
            client.until("the reset", tunnel.over)
            assert tunnel.reset == PROTOCOL_ERROR, (end, tunnel.reset, tunnel.ended)
            saw(given, targets.ECHO, "rst")
            lives(given, client)


def does_nothing_but_connect(given):
    with given.proxied() as client:
        for method in "GET", "POST", "OPTIONS":
            head = [
                (":method", method),
                (":scheme", "http"),
                (":authority", literal(TARGET4, targets.ECHO)),
                (":path", "/"),
            ]
            tunnel = client.request("", head=head, end=True)
            assert tunnel.failed()[0] == 405, (method, tunnel.head)
        lives(given, client)


def refuses_other_protocols(given):
    """Extended CONNECT (RFC 8441) of what is not spoken here."""
    with given.proxied() as client:
        head = [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "https"),
            (":authority", literal(TARGET4, targets.ECHO)),
            (":path", "/"),
        ]
        tunnel = client.request("", head=head)
        client.until("the end of it", tunnel.over)
        assert tunnel.reset == PROTOCOL_ERROR or tunnel.status == 501, (tunnel.reset, tunnel.status)
        lives(given, client)


# ---- failures ----


def says_why_it_failed(given):
    for authority, expected in (
        (literal(TARGET4, targets.REFUSE), (502, "connection_refused")),
        (literal(TARGET6, targets.REFUSE), (502, "connection_refused")),
        (literal("192.0.0.1", 80), (403, "destination_ip_prohibited")),
        (literal("8.8.8.8", 80), (502, "destination_ip_unroutable")),  # there is no route
    ):
        with given.proxied() as client:
            tunnel = client.request(authority)
            got = tunnel.failed()
            assert got == expected, f"{authority}: {got}"
            assert tunnel.head["proxy-status"].strip('"').startswith("open"), tunnel.head


def gives_up_who_does_not_answer(given):
    """At once where there is no route; where only an answer is missing, after a second."""
    for address in TARGET4, TARGET6, NOBODY4:
        port = 80 if address == NOBODY4 else targets.SILENT
        with given.proxied(HASTY) as client:
            status, error = client.request(literal(address, port)).failed()
            expected = {(504, "connection_timeout")}
            if address == NOBODY4:  # nobody answers ARP, which may be known before
                expected.add((502, "destination_ip_unroutable"))
            assert (status, error) in expected, (address, status, error)


# ---- what is left ----


def tells_of_each_at_its_end(given):
    """A line of the log, and a counter."""
    given.forget_log()
    before, content = given.app.snapshot(), data(1000)
    with given.proxied(SECURE) as client:
        dialogue(client.open(literal(TARGET4, targets.ECHO)), content)
        client.request(literal(TARGET6, targets.REFUSE)).failed()
        client.open("host.test:%d" % targets.ECHO).cancel()
        one, two, three = given.tunnels_logged(3)
    assert (one["outcome"], one["status"], one["method"]) == ("done", 200, "CONNECT"), one
    assert (one["authority"], one["target"]) == (literal(TARGET4, targets.ECHO), TARGET4), one
    assert (one["target_port"], one["proxy"]) == (targets.ECHO, "open") and "user" not in one, one
    assert (one["received"], one["bytes"]) == (1000, 1000), one
    assert 0 < one["connected_us"] <= one["duration_us"] and "resolved_us" not in one, one
    assert (two["outcome"], two["status"]) == ("refused", 502) and "target" not in two, two
    assert three["outcome"] == "client_reset" and three["target"] in (TARGET4, TARGET6), three
    now = given.app.snapshot()
    for why in "done", "refused", "client_reset":
        assert given.ended(now, why) - given.ended(before, why) == 1, why
    assert three["authority"] == f"host.test:{targets.ECHO}" and three["resolved_us"] > 0, three


def leaves_nothing(given):
    given.nothing_is_left()


BYTES = (
    carries_bytes_both_ways,
    passes_single_bytes,
    hears_a_target_that_speaks_first,
    keeps_what_comes_before_the_200,
    drops_what_comes_before_a_failure,
    carries_many_tunnels,
)
ENDS = (
    passes_the_clients_end,
    passes_an_end_without_a_byte,
    passes_the_targets_end,
    brings_all_before_the_end,
    passes_a_targets_reset,
    passes_a_reset_to_a_slow_reader,
    tells_a_target_that_closes_early,
    passes_a_clients_reset,
    passes_the_end_of_the_clients_connection,
    gives_up_a_dial_with_its_client,
    holds_no_more_than_a_window,
)
ERRORS = (
    goes_on_beside_many_that_stand,
    refuses_what_is_no_target,
    refuses_what_is_no_request,
    resets_a_tunnel_with_another_head,
    does_nothing_but_connect,
    refuses_other_protocols,
    says_why_it_failed,
    gives_up_who_does_not_answer,
    tells_of_each_at_its_end,
)

if __name__ == "__main__":
    tap.main(
        tap.Group("af_xdp", ConnectPair, *BYTES, *ENDS, *ERRORS, leaves_nothing),
        tap.Group("af_packet", functools.partial(ConnectPair, "af_packet"), *BYTES, leaves_nothing),
        tap.Group(
            "two workers",
            functools.partial(ConnectPair, config={"workers": {"cores": [0, 1]}}),
            *BYTES,
            *ENDS,
            leaves_nothing,
        ),
    )
