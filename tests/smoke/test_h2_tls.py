#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""TLS as openssl s_client, curl and Python's ssl see it."""
import functools
import re
import ssl

import tap
from h2client import H2Client, trusting
from h2lab import FIRST, HTTPS, OPTIONAL, REQUIRED, SECOND, SMALL, V4, V6, Served, origin
from tcp import same

OLD = ("-cipher", "DEFAULT@SECLEVEL=0")  # of s_client: it would offer what is no longer safe
MANY = 40  # connections, of which each worker gets some


def told(text, pattern):
    """What s_client says; "": nothing of the kind."""
    found = re.search(pattern, text, re.M)
    return found[1].strip() if found else ""


def subject(text):
    return told(text, r"^subject=CN ?= ?(\S+)")


def alert(text):
    return told(text, r"SSL alert number (\d+)")


# ---- versions and ciphers ----


def speaks_two_versions(given):
    for version, name in ("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3"):
        for address in V4, V6:
            text = given.openssl(version, address=address)
            assert told(text, r"^New, (\S+), Cipher") == name, text
            assert told(text, r"^ALPN protocol: (\S+)") == "h2", text
    for words in ("--tls-max", "1.2"), ("--tlsv1.3",):
        same(given.curl(*words, f"{origin()}/small.txt").body(), SMALL)


def refuses_older_versions(given):
    given.needs_appliance()
    for version in "-tls1", "-tls1_1":
        text = given.openssl(version, *OLD)
        assert alert(text) == "70", text  # protocol_version


def speaks_good_ciphers(given):
    for cipher in "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305":
        assert cipher in given.openssl("-tls1_2", "-cipher", cipher)
    for suite in (
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
    ):
        assert suite in given.openssl("-ciphersuites", suite)


def refuses_ciphers_that_http2_forbids(given):
    """RFC 9113, appendix A."""
    given.needs_appliance()
    for cipher in (
        "ECDHE-ECDSA-AES128-SHA",
        "ECDHE-RSA-AES256-SHA384",
        "AES128-GCM-SHA256",
        "DHE-RSA-AES128-GCM-SHA256",
        "AES128-SHA",
    ):
        text = given.openssl("-tls1_2", "-cipher", f"{cipher}:@SECLEVEL=0")
        assert alert(text) == "40" and "Cipher is (NONE)" in text, text  # handshake_failure


def does_not_renegotiate(given):
    """RFC 9113 9.2.1."""
    given.needs_appliance()
    command = f"(echo R; sleep 1) | openssl s_client -tls1_2 -alpn h2 -connect {V4}:{HTTPS}"
    text = given.client("sh", "-c", f"{command} 2>&1", check=False).stdout
    assert "RENEGOTIATING" in text, text
    assert "no renegotiation" in text or "alert" in text, text


# ---- ALPN ----


def refuses_who_does_not_speak_http2(given):
    given.needs_appliance()
    before = given.app.snapshot()
    for version in "-tls1_2", "-tls1_3":
        for alpn in "http/1.1", "h3,http/1.1", "h2c", None:
            text = given.openssl(version, alpn=alpn)
            assert alert(text) == "120", f"{alpn}: {text}"  # no_application_protocol
    given.app.after(before, tls_no_alpn=8, tls_alerts_tx=8)


def chooses_http2_of_several(given):
    for alpn in "http/1.1,h2", "h2,http/1.1":
        assert told(given.openssl(alpn=alpn), r"^ALPN protocol: (\S+)") == "h2"


# ---- certificates of ours ----


def chooses_a_certificate_by_name(given):
    given.needs_appliance()
    for version in "-tls1_2", "-tls1_3":
        for name, expected in (
            (FIRST, "first"),
            (f"www.{FIRST}", "first"),
            (FIRST.upper(), "first"),
            (SECOND, "second"),
            (f"www.{SECOND}", "first"),  # is nobody's: the first
            (f"a.b.{FIRST}", "first"),
            ("unknown.test", "first"),
        ):
            text = given.openssl(version, "-servername", name)
            assert subject(text) == expected, f"{name}: {subject(text)}"
        assert subject(given.openssl(version, "-noservername")) == "first"


def chooses_one_by_the_clients_algorithms(given):
    given.needs_appliance()
    for version in "-tls1_2", "-tls1_3":
        for sigalgs, expected in (
            ("RSA-PSS+SHA256", "first-rsa"),
            ("ECDSA+SHA256", "first"),
            ("ECDSA+SHA256:RSA-PSS+SHA256", "first"),
        ):
            text = given.openssl(version, "-sigalgs", sigalgs, "-servername", FIRST)
            assert subject(text) == expected, f"{sigalgs}: {subject(text)}"


def shows_certificates_that_clients_can_check(given):
    for address in V4, V6:
        words = ["--cacert", given.pems["first"].certificate, "--no-insecure"]
        same(given.curl(*words, f"{origin(address)}/small.txt").body(), SMALL)


# ---- certificates of clients ----


def with_certificate(given, name):
    return ["--cert", given.pems[name].certificate, "--key", given.pems[name].key]


def fails(given, *words):
    """curl does not get so far as to have an answer."""
    done = given.client("curl", "-sSk", "--http2", *words, check=False)
    assert done.returncode in (35, 56) and not done.stdout, (done.returncode, done.stdout)


def asks_clients_for_a_certificate(given):
    given.needs_appliance()
    for version in ("--tls-max", "1.2"), ("--tlsv1.3",):
        for port in OPTIONAL, REQUIRED:
            url = f"{origin()}:{port}/small.txt"
            same(given.curl(*version, *with_certificate(given, "client"), url).body(), SMALL)
            fails(given, *version, *with_certificate(given, "stranger"), url)
        same(given.curl(*version, f"{origin()}:{OPTIONAL}/small.txt").body(), SMALL)
        fails(given, *version, f"{origin()}:{REQUIRED}/small.txt")


# ---- resumption ----


def resumes(given):
    given.needs_appliance()
    before = given.app.snapshot()
    text = given.openssl("-tls1_2", "-reconnect")
    assert len(re.findall(r"^Reused, TLSv1.2", text, re.M)) == 5, text
    session = given.new_path()
    command = f"openssl s_client -tls1_3 -alpn h2 -connect {V4}:{HTTPS}"
    given.client("sh", "-c", f"sleep 0.5 | {command} -sess_out {session}", check=False)
    for _ in range(3):  # a ticket is good for more than one
        text = given.openssl("-tls1_3", "-sess_in", session)
        assert told(text, r"^(Reused), TLSv1.3"), text
    given.app.after(before, tls_resumed=8, tls_full=2)


def session_of(given, context, session=None):
    """A connection's session, after a request over it, and whether it was taken up from another's."""
    with H2Client(given, context=context, session=session) as client:
        client.finish([client.request("/small.txt")])
        return client.sock.session, client.sock.session_reused


def resumes_at_every_worker(given):
    """The tickets of one are good for all."""
    given.needs_appliance()
    context = trusting()
    before = given.app.snapshot()
    session, reused = session_of(given, context)
    assert not reused
    for _ in range(MANY):
        session, reused = session_of(given, context, session)
        assert reused
    after = given.app.after(before, tls_resumed=MANY, tls_full=1)
    old = before.counts["tls_resumed"]
    each = [now - then for now, then in zip(after.counts["tls_resumed"], old)]
    assert len(each) == 2 and all(each), each


# ---- the end ----


def ends_with_close_notify(given):
    """Where it ends the connection (RFC 8446 6.1): here, for a preface that is none."""
    given.needs_appliance()
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
        context = trusting()
        context.maximum_version = version
        with context.wrap_socket(given.connect(HTTPS), suppress_ragged_eofs=False) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nhost: first.test\r\n\r\n")
            while sock.recv(65536):
                pass


def answers_close_notify(given):
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
        context = trusting()
        context.maximum_version = version
        with H2Client(given, context=context) as client:
            client.finish([client.request("/small.txt")])
            client.sock.unwrap()


def counts_who_ends_without(given):
    given.needs_appliance()
    before = given.app.snapshot()
    with H2Client(given) as client:
        client.finish([client.request("/small.txt")])
    given.app.after(before, tls_truncated=1, h2_closed=1)


def gives_up_a_handshake_that_does_not_end(given):
    given.needs_appliance()
    before = given.app.snapshot()
    with given.connect(HTTPS) as silent, given.connect(HTTPS) as garbled:
        silent.sendall(b"\x16\x03\x01\x02\x00\x01")  # the first bytes of a ClientHello
        garbled.sendall(b"GET / HTTP/1.1\r\n\r\n")
        given.app.after(before, tls_failed=1)
        given.app.after(before, seconds=20, tls_timed_out=1)
    given.nothing_is_left()


def leaves_nothing(given):
    given.nothing_is_left()


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            Served,
            speaks_two_versions,
            refuses_older_versions,
            speaks_good_ciphers,
            refuses_ciphers_that_http2_forbids,
            does_not_renegotiate,
            refuses_who_does_not_speak_http2,
            chooses_http2_of_several,
            chooses_a_certificate_by_name,
            chooses_one_by_the_clients_algorithms,
            shows_certificates_that_clients_can_check,
            asks_clients_for_a_certificate,
            resumes,
            ends_with_close_notify,
            answers_close_notify,
            counts_who_ends_without,
            gives_up_a_handshake_that_does_not_end,
            leaves_nothing,
        ),
        tap.Group(
            "two workers",
            functools.partial(Served, config={"workers": {"cores": [0, 1]}}),
            resumes_at_every_worker,
            leaves_nothing,
        ),
    )
