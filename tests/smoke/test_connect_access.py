#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Where tunnels may go, and for whom: names and their addresses, groups of addresses, rules, users and
their limits, addresses to speak from."""
import time

import tap
import targets
from connect_client import basic
from connectlab import (
    BASIC,
    CERTIFICATE,
    CLEAR,
    EGRESS,
    EITHER,
    OURS4,
    OURS6,
    PASSWORDS,
    RULES,
    SECOND4,
    STRICT,
    TARGET4,
    TARGET6,
    V4,
    V6,
    ConnectPair,
    literal,
)
from targets import ECHO
from tcp import same

RACE = 0.25  # seconds that the second address waits for the first (RFC 8305 8)
DENIED, PROHIBITED = (403, "http_request_denied"), (403, "destination_ip_prohibited")
AGAIN = 407, "http_request_denied"
TOO_MANY = 429, "connection_limit_reached"


def works(tunnel, end=True):
    same(tunnel.opened().ask(b"hello"), b"hello")
    if end:
        tunnel.end()
        same(tunnel.rest(), b"")


def reaches(given, client, authority):
    """The target's address, after an exchange with it."""
    works(client.request(authority))
    return given.targets.ended(ECHO)["local"]


def outcome(client, authority, *fields):
    """None: it was opened, used and ended."""
    tunnel = client.request(authority, *fields)
    if tunnel.answer() != 200:
        return tunnel.failed()
    works(tunnel)
    return None


def at_echo(name):
    return literal(name, ECHO) if name.count(":") > 1 else f"{name}:{ECHO}"


# ---- names ----


def finds_addresses_of_names(given):
    for name, expected in (
        ("a.test", (TARGET4,)),
        ("aaaa.test", (TARGET6,)),
        ("both.test", (TARGET6,)),  # RFC 6724 2.1: first
        ("A.Test", (TARGET4,)),
        ("a.test.", (TARGET4,)),
        ("host.test", (TARGET4, TARGET6)),
        ("alias.test", (TARGET4,)),
    ):
        with given.proxied() as client:
            got = reaches(given, client, at_echo(name))
            assert got in expected, f"{name}: {got}"


def tries_the_other_family(given):
    """IPv6 does not answer; IPv4 does, a moment later. Refused IPv6 costs no time at all."""
    for name, port, least in (
        ("dead6.test", ECHO, RACE),
        ("both.test", targets.HALF_SILENT, RACE),
    ):
        with given.proxied() as client:
            start = time.monotonic()
            tunnel = client.open(f"{name}:{port}")
            took = time.monotonic() - start
            tap.note(f"{name}:{port}: {took * 1000:.0f} ms")
            assert took >= least, f"{name}: after {took:.3f} s"
            works(tunnel)
            assert given.targets.ended(port)["local"] == TARGET4


def tries_the_next_address(given):
    with given.proxied() as client:
        assert reaches(given, client, at_echo("several.test")) == TARGET4


def says_why_a_name_leads_nowhere(given):
    for name, expected in (
        ("nothing.test", (502, "dns_error")),
        ("fail.test", (502, "dns_error")),
        ("silent.test", (504, "dns_timeout")),
        ("localhost", (502, "dns_error")),
        ("x.localhost", (502, "dns_error")),
    ):
        with given.proxied() as client:
            got = outcome(client, at_echo(name))
            assert got == expected, f"{name}: {got}"


def asks_once_for_many(given):
    """Tunnels to one name at once, and soon after: one question of each family."""
    given.dns.forget()
    with given.proxied() as client:
        for _ in range(2):
            tunnels = [client.request(at_echo("once.test")) for _ in range(90)]
            for tunnel in tunnels:
                works(tunnel)
    asked = given.dns.asked("once.test")
    assert sorted(asked) == ["A", "AAAA"], asked


def goes_on_while_names_are_looked_for(given):
    """A name that takes its time keeps no other tunnel of the connection waiting."""
    with given.proxied() as client:
        slow = client.request(at_echo("mute.test"))
        for _ in range(5):
            assert outcome(client, at_echo(TARGET4)) is None
        assert slow.status is None, "the slow name was fast"
        assert slow.failed() == (504, "dns_timeout")


# ---- groups of addresses ----


def denies_groups_of_addresses(given):
    """Whatever the rules say, in whichever way they are written."""
    for address in (
        "127.0.0.1",
        "127.255.255.254",
        "::1",
        "0.0.0.0",
        "::",
        "10.0.0.1",
        TARGET4,
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "fd00::1",
        "169.254.1.1",
        "fe80::1",
        "169.254.169.254",
        "fd00:ec2::254",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "192.0.2.1",
        "240.0.0.1",
        "2001:db8::1",
        *OURS4,
        *OURS6,
        V4,
        V6,
        "::7f00:1",  # IPv4 in other clothes: 127.0.0.1 and TARGET4
        "64:ff9b::7f00:1",
        "64:ff9b::a58:2",
        "64:ff9b:1::a58:2",
        "2002:7f00:1::",
        "2002:a58:2::1",
    ):
        with given.proxied(STRICT) as client:
            got = outcome(client, at_echo(address))
            assert got == PROHIBITED, f"{address}: {got}"


def takes_no_mapped_address(given):
    """It is no address of IPv6 that one could speak to."""
    for address in "::ffff:127.0.0.1", f"::ffff:{TARGET4}", "::ffff:a58:2":
        with given.proxied() as client:
            got = outcome(client, at_echo(address))
            assert got == (400, "http_request_error"), f"{address}: {got}"


def denies_names_of_such_addresses(given):
    """It is the address that counts, not what leads to it."""
    for port, name, expected in (
        (STRICT, "a.test", PROHIBITED),
        (STRICT, "host.test", PROHIBITED),
        (CLEAR, "loopback.test", PROHIBITED),
        (CLEAR, "mapped.test", PROHIBITED),
        (CLEAR, "own.test", PROHIBITED),
    ):
        with given.proxied(port) as client:
            got = outcome(client, at_echo(name))
            assert got == expected, f"{name}: {got}"


def takes_what_is_left_of_a_name(given):
    """One of its addresses is not for everybody, the other is."""
    with given.proxied() as client:
        assert reaches(given, client, at_echo("mixed.test")) == TARGET4


def permits_one_group_by_name(given):
    """`private` of the proxy `open`: nothing else, and not the appliance itself."""
    for address in (*OURS4, *OURS6, V4, V6, "127.0.0.1", "169.254.169.254", "224.0.0.1"):
        with given.proxied() as client:
            got = outcome(client, at_echo(address))
            assert got == PROHIBITED, f"{address}: {got}"


# ---- rules ----

ACCESS = [
    {"action": "deny", "names": ["bad.a.test"]},
    {"action": "allow", "names": ["a.test"], "ports": [str(ECHO)]},
    {"action": "allow", "names": ["=both.test"]},
    {"action": "deny", "prefixes": [f"{SECOND4}/32"]},
    {"action": "allow", "prefixes": [f"{TARGET4}/31"], "ports": ["7000-7005"]},
    {"action": "allow", "prefixes": [f"{TARGET6}/128"], "users": ["alice"]},
]


def goes_by_the_first_rule_that_matches(given):
    for authority, expected in (
        (f"a.test:{ECHO}", None),
        (f"sub.a.test:{ECHO}", None),
        (f"bad.a.test:{ECHO}", DENIED),
        (f"a.test:{targets.GREET}", None),  # by the address
        (f"badname.test:{targets.COUNT}", DENIED),
        (f"both.test:{targets.COUNT}", None),
        (f"sub.both.test:{targets.COUNT}", DENIED),
        (literal(SECOND4, ECHO), DENIED),
        (literal(TARGET4, ECHO), None),
        (literal(TARGET4, targets.COUNT), DENIED),
        (literal(TARGET6, ECHO), DENIED),  # for alice
        (literal("8.8.8.8", ECHO), DENIED),  # nobody says yes
    ):
        with given.proxied(RULES) as client:
            tunnel = client.request(authority)
            got = None if tunnel.answer() == 200 else tunnel.failed()
            assert got == expected, f"{authority}: {got}"


# ---- users ----


def asks_who_it_is(given):
    """RFC 9110 11.7.1"""
    with given.proxied(BASIC) as client:
        tunnel = client.request(at_echo(TARGET4))
        assert tunnel.failed() == AGAIN, tunnel.head
        assert tunnel.head["proxy-authenticate"].startswith('Basic realm="the mill"'), tunnel.head


def knows_users_by_password(given):
    for user in "alice", "bob":
        fields = {"proxy_authorization": basic(user, PASSWORDS[user])}
        with given.proxied(BASIC, **fields) as client:
            for _ in range(20):
                assert outcome(client, at_echo(TARGET4)) is None


def knows_a_user_who_opens_many_at_once(given):
    """Before the password is known to be right: it is checked once."""
    fields = {"proxy_authorization": basic("bob", PASSWORDS["bob"])}
    with given.proxied(BASIC, **fields) as client:
        tunnels = [client.request(at_echo(TARGET4)) for _ in range(90)]
        assert {tunnel.answer() for tunnel in tunnels} == {200}


def refuses_wrong_passwords(given):
    good = basic("alice", PASSWORDS["alice"])
    with given.proxied(BASIC) as client:
        for value in (
            basic("alice", "wrong"),
            basic("alice", ""),
            basic("alice", PASSWORDS["bob"]),
            basic("nobody", PASSWORDS["alice"]),
            basic("", ""),
            basic("Alice", PASSWORDS["alice"]),
            "Basic ====",
            "Basic",
            "Bearer abc",
            good.replace("Basic ", "Basic"),
        ):
            got = outcome(client, at_echo(TARGET4), ("proxy-authorization", value))
            assert got == AGAIN, f"{value}: {got}"
        assert outcome(client, at_echo(TARGET4), ("proxy-authorization", good)) is None


def knows_users_by_certificate(given):
    with given.proxied(CERTIFICATE, tls=given.with_certificate("client")) as client:
        given.forget_log()
        assert outcome(client, at_echo(TARGET4)) is None
        assert given.tunnels_logged(1)[0]["user"] == "client"


def takes_either(given):
    """A certificate, or a password; without both it asks."""
    with given.proxied(EITHER, tls=given.with_certificate("client")) as client:
        assert outcome(client, at_echo(TARGET4)) is None
    with given.proxied(EITHER) as client:
        assert outcome(client, at_echo(TARGET4)) == AGAIN
        field = "proxy-authorization", basic("alice", PASSWORDS["alice"])
        assert outcome(client, at_echo(TARGET4), field) is None


# ---- limits of users ----

LIMITS = [
    {"proxy": "basic", "user": "few", "tunnels": 3},
    {"proxy": "basic", "user": "rate", "tunnels-per-second": 2},
    {"proxy": "basic", "user": "slow", "bytes-per-second": 200_000},
]


def as_user(given, user):
    return given.proxied(BASIC, proxy_authorization=basic(user, PASSWORDS[user]))


def bounds_the_tunnels_of_a_user(given):
    """Of all connections together; one that ends makes room."""
    with as_user(given, "few") as one, as_user(given, "few") as other:
        first = one.open(at_echo(TARGET4))
        one.open(at_echo(TARGET4))
        other.open(at_echo(TARGET4))
        for client in one, other:
            assert client.request(at_echo(TARGET4)).failed() == TOO_MANY
        works(first)
        given.targets.ended(ECHO)
        works(other.request(at_echo(TARGET4)))
        with as_user(given, "alice") as another:
            assert outcome(another, at_echo(TARGET4)) is None


def bounds_new_tunnels_of_a_user(given):
    """Two a second, and two at once; one of them before."""
    with as_user(given, "rate") as client:
        start = time.monotonic()
        works(client.request(at_echo(TARGET4)))
        tunnels = [client.request(at_echo(TARGET4)) for _ in range(20)]
        good = sum(t.answer() == 200 for t in tunnels)
        most = 1 + 2 * (time.monotonic() - start) + 1
        assert 1 <= good <= most, f"{good} tunnels"
        assert all(t.failed() == TOO_MANY for t in tunnels if t.status != 200)


def bounds_bytes_of_a_user(given):
    """Both ways and all tunnels together."""
    with as_user(given, "slow") as client:
        start = time.monotonic()
        tunnels = [client.open(at_echo(TARGET4)) for _ in range(4)]
        content = bytes(50_000)
        for tunnel in tunnels:
            tunnel.send(content)
        for tunnel in tunnels:
            same(tunnel.receive(len(content)), content)
        took = time.monotonic() - start
        least = (4 * 2 * len(content) - 150_000) / 200_000  # but what was saved up at first
        tap.note(f"400,000 bytes at 200,000 a second in {took:.2f} s")
        assert least <= took, f"{took:.2f} s, at least {least}"


# ---- egress ----


def speaks_from_its_pool(given):
    for target, ours in (TARGET4, OURS4[1]), (TARGET6, OURS6[1]):
        with given.proxied(EGRESS) as client:
            for _ in range(5):
                assert outcome(client, literal(target, ECHO)) is None
                assert given.targets.ended(ECHO)["peer"] == ours


def leaves_nothing(given):
    given.nothing_is_left()


class Access(ConnectPair):
    def _sections(self):
        sections = super()._sections()
        sections["rules"] += [{"proxy": "rules", **rule} for rule in ACCESS]
        sections["user-limits"] = LIMITS
        return sections


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            Access,
            finds_addresses_of_names,
            tries_the_other_family,
            tries_the_next_address,
            says_why_a_name_leads_nowhere,
            asks_once_for_many,
            goes_on_while_names_are_looked_for,
            denies_groups_of_addresses,
            takes_no_mapped_address,
            denies_names_of_such_addresses,
            takes_what_is_left_of_a_name,
            permits_one_group_by_name,
            goes_by_the_first_rule_that_matches,
            asks_who_it_is,
            knows_a_user_who_opens_many_at_once,
            knows_users_by_password,
            refuses_wrong_passwords,
            knows_users_by_certificate,
            takes_either,
            bounds_the_tunnels_of_a_user,
            bounds_new_tunnels_of_a_user,
            bounds_bytes_of_a_user,
            speaks_from_its_pool,
            leaves_nothing,
        )
    )
