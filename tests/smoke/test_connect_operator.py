#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""What an operator of a proxy sees and does: timeouts, tunnels that are looked at and ended, new rules,
users and certificates under open tunnels, and a drain."""
import functools
import signal
import time

import tap
import targets
from connect_client import basic
from connectlab import (
    BASIC,
    BRIEF,
    HASTY,
    PASSWORDS,
    SECONDS,
    SECURE,
    TARGET4,
    TARGET6,
    ConnectPair,
    literal,
)
from h2client import trusting
from h2lab import FIRST, certificate
from machine import poll
from targets import ECHO
from tcp import STALL, same

LAST = 2**31 - 1  # RFC 9113 6.8: of the first GOAWAY of two
HERE = literal(TARGET4, ECHO)
DENIED = 403, "http_request_denied"
TIMERS = [f"{kind}-timeout-s" for kind in ("progress", "preface", "headers", "idle", "settings")]


def talk(tunnel, seconds):
    """Without a pause, for so long or until its end; when the last byte was sent."""
    start = last = time.monotonic()
    while last - start < seconds and not tunnel.over():
        last = time.monotonic()
        tunnel.offer(b"x")
        tunnel.client.until("an echo", lambda: tunnel.body or tunnel.over())
        tunnel.body.clear()
    return last


def is_reset(given, tunnel, since, port, why):
    """On both sides, and not too soon. That it is soon enough says `until`: usual are minutes."""
    tunnel.client.until("its end", tunnel.over)
    took = time.monotonic() - since
    assert tunnel.reset is not None and took >= SECONDS, (tunnel.reset, took)
    assert given.targets.ended(port)["end"] == "rst"
    row = given.tunnels_logged(1)[0]
    assert row["outcome"] == why, row


# ---- timeouts ----


def ends_an_idle_tunnel(given):
    given.forget_log()
    with given.proxied(HASTY) as client:
        tunnel = client.open(HERE)
        last = talk(tunnel, 2 * SECONDS)
        is_reset(given, tunnel, last, ECHO, "idle_timeout")


def ends_a_half_open_tunnel(given):
    given.forget_log()
    with given.proxied(HASTY) as client:
        tunnel = client.open(literal(TARGET4, targets.STUCK))
        since = time.monotonic()
        tunnel.end()
        is_reset(given, tunnel, since, targets.STUCK, "half_open_timeout")


def ends_an_old_tunnel(given):
    """However busy it is."""
    given.forget_log()
    with given.proxied(BRIEF) as client:
        since = time.monotonic()
        tunnel = client.open(HERE)
        talk(tunnel, STALL)
        is_reset(given, tunnel, since, ECHO, "lifetime")


def keeps_a_silent_tunnel(given):
    """HTTP/2's own timers are not for tunnels: of nobody who speaks, of nobody who reads."""
    with given.proxied() as client:
        silent = client.open(HERE)
        same(silent.ask(b"hello"), b"hello")
        stopped = client.request(literal(TARGET4, targets.SOURCE))
        stopped.stop()
        client.until("a window full", lambda: len(stopped.body) == client.window)
        assert not client.hears(3 * SECONDS), (silent.reset, stopped.reset, client.goaways)
        same(silent.ask(b"hello"), b"hello")
        stopped.resume()
        client.until("more", lambda: len(stopped.body) > 4 * client.window)
        stopped.cancel()


def ends_tunnels_of_who_has_vanished(given):
    """Nothing comes from the client any more, not even an end."""
    client = given.proxied(HASTY)
    tunnels = [client.open(HERE) for _ in range(3)]
    for tunnel in tunnels:
        same(tunnel.ask(b"hello"), b"hello")
    with given.cut():
        for _ in tunnels:
            assert given.targets.ended(ECHO)["end"] == "rst"
        client.abort()


# ---- who looks ----


def shows_tunnels(given):
    with given.proxied(SECURE) as client:
        one, other = client.open(HERE), client.open(literal(TARGET6, targets.STUCK))
        same(one.ask(b"hello"), b"hello")
        other.end()
        poll("its end", 10, lambda: given.tunnels(state="half-closed"), step=0.02)
        [ended], [row] = given.tunnels(state="half-closed"), given.tunnels(state="open")
        assert ended["authority"] == other.authority and row["authority"] == HERE, (ended, row)
        assert (row["to_target"], row["to_client"]) == (5, 5), row
        assert (row["target"], row["target_port"]) == (TARGET4, ECHO), row
        assert (row["listener"], row["proxy"], row["user"]) == ("secure", "open", None), row
        assert row["client_address"] == "10.77.0.2" and row["connection"], row


def shows_many_tunnels(given):
    """By pages, and of one user or way only."""
    alice = "proxy-authorization", basic("alice", PASSWORDS["alice"])
    with given.proxied() as some, given.proxied(BASIC) as others:
        for _ in range(50):
            some.open(HERE)
            others.open(literal(TARGET6, ECHO), alice)
        assert len({row["id"] for row in given.tunnels()}) == 100
        for filters in {"user": "alice"}, {"proxy": "basic"}, {"target": TARGET6}:
            rows = given.tunnels(**filters)
            assert len(rows) == 50 and all(r["user"] == "alice" for r in rows), filters
        assert not given.tunnels(user="bob")


def kills_one(given):
    given.forget_log()
    with given.proxied() as client:
        one, other = client.open(HERE), client.open(literal(TARGET6, ECHO))
        given.kill_tunnel(given.tunnels(target=TARGET4)[0])
        client.until("its end", one.over)
        assert one.reset is not None
        assert given.targets.ended(ECHO)["end"] == "rst"
        assert given.tunnels_logged(1)[0]["outcome"] == "killed"
        same(other.ask(b"hello"), b"hello")


# ---- reloads ----


def rules_for(given, name, *rules):
    """Those of the others as they are."""
    others = [r for r in given.app.config["rules"] if r["proxy"] != name]
    return others + [{"proxy": name, **r} for r in rules]


def takes_new_rules_under_a_tunnel(given):
    """Those of the same connection, too, hold for its next tunnel."""
    usual = given.app.config["rules"]
    with given.proxied(SECURE) as client:
        tunnel = client.open(HERE)
        deny = {"action": "deny", "ports": [str(ECHO)]}
        given.reload(rules=rules_for(given, "open", deny, {"action": "allow"}))
        poll("the new rules", 10, lambda: client.request(HERE).answer() == 403, step=0.02)
        assert client.request(HERE).failed() == DENIED
        same(tunnel.ask(b"hello"), b"hello")
        client.open(literal(TARGET4, targets.GREET))
        given.reload(rules=usual)
        poll("the old rules", 10, lambda: client.request(HERE).answer() == 200, step=0.02)
        same(tunnel.ask(b"hello"), b"hello")


def takes_new_users_under_a_tunnel(given):
    """Who is no user any more keeps the tunnels of before, and gets no other."""
    field = "proxy-authorization", basic("bob", "p:a:s:s")
    with given.proxied(BASIC) as client:
        tunnel = client.open(HERE, field)
        with open(given.users_file, encoding="ascii") as file:
            users = file.read()
        given.write_users("".join(u for u in users.splitlines(True) if not u.startswith("bob:")))
        given.reload()
        poll("the new users", 10, lambda: client.request(HERE, field).answer() == 407, step=0.02)
        same(tunnel.ask(b"hello"), b"hello")
        given.write_users(users)
        given.reload()
        poll("the old users", 10, lambda: client.request(HERE, field).answer() == 200, step=0.02)


def takes_a_new_certificate_under_a_tunnel(given):
    with given.proxied(SECURE) as client:
        tunnel = client.open(HERE)
        old = shown_certificate(given)
        certificate(given.directory, "first", [FIRST])
        given.reload()
        poll("the new certificate", 10, lambda: shown_certificate(given) != old, step=0.05)
        same(tunnel.ask(b"hello"), b"hello")


def shown_certificate(given):
    sock = given.connect(SECURE)
    with trusting().wrap_socket(sock) as tls:
        return tls.getpeercert(True)


# ---- the end ----


def drained(given, client, tunnel):
    """GOAWAY twice; the tunnel does not notice, and no other is begun."""
    client.until("both GOAWAYs", lambda: len(client.goaways) >= 2)
    assert client.goaways == [(LAST, 0), (tunnel.stream, 0)], client.goaways
    same(tunnel.ask(b"hello"), b"hello")


def draining(given):
    return given.app.get("/v1/drain")["drain"]


def drains_when_told(given):
    """The connections there are: who comes anew is welcome."""
    with given.proxied(SECURE) as client:
        tunnel = client.open(HERE)
        given.app.get("/v1/drain", "POST", {})
        drained(given, client, tunnel)
        told = draining(given)
        assert (told["state"], told["connections"]) == ("draining", 1), told
        with given.proxied(SECURE) as another:
            another.open(HERE).cancel()
        same(tunnel.ask(b"hello"), b"hello")
        tunnel.end()
        same(tunnel.rest(), b"")
        poll("the proxy closes", 10, lambda: not client.step())
    poll("it is over", 10, lambda: draining(given) is None, step=0.02)


def drains_to_a_deadline_when_told(given):
    with given.proxied(SECURE) as client:
        tunnel = client.open(HERE)
        given.app.get("/v1/drain", "POST", {"timeout_seconds": SECONDS})
        drained(given, client, tunnel)
        assert given.targets.ended(ECHO)["end"] == "rst"
        poll("it is over", 10, lambda: draining(given) is None, step=0.02)


def drains_at_a_signal(given):
    """SIGTERM: tunnels come to their end, then the appliance does."""
    with given.proxied(SECURE) as client:
        tunnel = client.open(HERE)
        given.app.process.send_signal(signal.SIGTERM)
        drained(given, client, tunnel)
        assert given.app.running()
        tunnel.end()
        same(tunnel.rest(), b"")
        assert given.app.process.wait(20) == 0, given.app.log_text()[-2000:]
    assert given.targets.ended(ECHO)["end"] == "fin"


def drains_to_a_deadline(given):
    """Who does not end is ended."""
    with given.proxied(SECURE) as client:
        tunnel = client.open(HERE)
        given.app.process.send_signal(signal.SIGTERM)
        drained(given, client, tunnel)
        assert given.app.process.wait(20) == 0, given.app.log_text()[-2000:]
    assert given.targets.ended(ECHO)["end"] == "rst"


def leaves_nothing(given):
    given.nothing_is_left(30)


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            ConnectPair,
            ends_an_idle_tunnel,
            ends_a_half_open_tunnel,
            ends_an_old_tunnel,
            ends_tunnels_of_who_has_vanished,
            shows_tunnels,
            shows_many_tunnels,
            kills_one,
            takes_new_rules_under_a_tunnel,
            takes_new_users_under_a_tunnel,
            takes_a_new_certificate_under_a_tunnel,
            drains_when_told,
            drains_to_a_deadline_when_told,
            leaves_nothing,
        ),
        tap.Group(
            "short timers of HTTP/2",
            functools.partial(ConnectPair, config={"http2": dict.fromkeys(TIMERS, SECONDS)}),
            keeps_a_silent_tunnel,
            leaves_nothing,
        ),
        tap.Group("drained", ConnectPair, drains_at_a_signal),
        tap.Group(
            "drained in a hurry",
            functools.partial(ConnectPair, config={"http2": {"drain-timeout-s": 2}}),
            drains_to_a_deadline,
        ),
    )
