#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""What an operator of an HTTP listener reads and does: the access log, new certificates and content
under load, a stop under load."""
import contextlib
import functools
import os
import re
import signal
import subprocess
from collections import Counter

import tap
from h2client import READ, H2Client
from h2lab import (
    FIRST,
    HTTP,
    SMALL,
    V4,
    V6,
    Load,
    certificate,
    listener,
    named,
    origin,
    Served,
)
from machine import end, poll
from test_h2_clients import SCRIPT
from tcp import same

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
LOADED = 2000  # requests of h2load
SAMPLE = 10
BYTES = 100 << 20  # what Node asks for in `drained`


# ---- the access log ----


def logged_since(given):
    """What the file holds so far, to be told from what comes."""
    with contextlib.suppress(FileNotFoundError):
        os.truncate(given.access_log, 0)


def logs_each_request(given):
    logged_since(given)
    requests = (
        ("/small.txt", "GET", 200, 11),
        ("/small.txt?q=1", "GET", 200, 11),
        ("/bytes/100000", "GET", 200, 100_000),
        ("/empty.txt", "GET", 200, 0),
        ("/nothing", "GET", 404, None),
        ("/small.txt", "HEAD", 200, 0),
        ("/small.txt", "DELETE", 405, None),
    )
    for path, method, status, _ in requests:
        words = ["-I"] if method == "HEAD" else ["-X", method]
        reply = given.curl(*words, "-A", 'an "agent"', "-e", "http://a/b", origin() + path)
        assert reply.status == status, (path, reply.status)
    rows = given.logged(len(requests))
    for row, (path, method, status, size) in zip(rows, requests):
        got = (row["path"], row["method"], row["status"], row["outcome"])
        assert got == (path, method, status, "ok"), row
        assert size is None or row["bytes"] == size, row
        assert (row["peer"], row["authority"], row["listener"]) == ("10.77.0.2", V4, "https"), row
        assert (row["user_agent"], row["referer"]) == ('an "agent"', "http://a/b"), row
        assert TIME.match(row["time"]) and row["duration_us"] >= 0, row


def logs_what_carried_it(given):
    logged_since(given)
    given.curl(f"{origin(V6, False)}/small.txt", tls=False)
    given.curl("--tls-max", "1.2", f"{origin()}/small.txt")
    given.curl("-d", "content", f"{origin()}/echo")
    plain, old, echo = given.logged(3)
    assert (plain["peer"], plain["listener"]) == ("fd77::2", "http") and not plain.get("tls"), plain
    assert "1.2" in old["tls"] and old["connection"] != echo["connection"], old
    assert "1.3" in echo["tls"] and (echo["received"], echo["bytes"]) == (7, 7), echo


def logs_all_of_a_load(given):
    """From a hundred connections, some of the answers a 404."""
    logged_since(given)
    load = given.h2load("/small.txt", "-c100", "-m10", f"-n{LOADED}", named("/nothing"))
    assert load.n["done"] == LOADED and not load.n["errored"], load.text
    rows = given.logged(LOADED)
    statuses = Counter(r["status"] for r in rows)
    assert statuses == {200: load.n["2xx"], 404: load.n["4xx"]}, statuses
    assert len({r["connection"] for r in rows}) == 100


def logs_who_gives_up(given):
    """A request that did not come to its end, with what it got."""
    logged_since(given)
    load = given.peer.spawn(
        *("curl", "-sk", "--limit-rate", "1M", "-o", "/dev/null", f"{origin()}/bytes/{BYTES}")
    )
    before = given.app.snapshot()
    given.app.after(before, h2_tx_content=1 << 16)
    end(load)
    [row] = given.logged(1)
    assert row["outcome"] != "ok" and 0 < row["bytes"] < BYTES, row


def opens_its_log_anew(given):
    """Moved away first, as logrotate does."""
    logged_since(given)
    given.curl(f"{origin()}/small.txt")
    given.logged(1)
    os.rename(given.access_log, f"{given.access_log}.1")
    given.app.process.send_signal(signal.SIGUSR1)
    poll("a new file", 10, lambda: os.path.exists(given.access_log), step=0.02)
    given.curl(f"{origin()}/small.txt")
    given.logged(1)


def logs_one_of_so_many(given):
    given.h2load("/small.txt", "-c10", "-m10", f"-n{LOADED}")
    given.logged(LOADED // SAMPLE)


# ---- reloads ----


@contextlib.contextmanager
def load(given, *words, seconds=3):
    """h2load meanwhile; its report is checked at the end."""
    before = given.app.snapshot()
    report = given.new_path()
    with open(report, "wb") as file:
        process = given.peer.spawn(
            *("h2load", "-c20", "-m20", f"-D{seconds}", *words, f"{origin()}/16k.bin"), stdout=file
        )
    given.app.after(before, h2_requests=1000)
    yield process
    assert process.wait(60) == 0
    with open(report, encoding="utf-8") as file:
        told = Load(file.read())
    # what was under way when its time was over, is none of it
    failed = {kind: told.n[kind] for kind in ("errored", "timeout", "3xx", "4xx", "5xx")}
    assert not any(failed.values()) and told.n["2xx"] > 1000, told.text


def reload(given, config=None):
    if config:
        given.app.configure(config)
    given.app.process.send_signal(signal.SIGHUP)


def serial(given):
    """Of the certificate that a new connection sees."""
    text = given.openssl("-servername", FIRST)
    pem = re.search(r"-----BEGIN.*?END CERTIFICATE-----", text, re.S)
    assert pem, text
    with open(path := given.new_path(), "w", encoding="ascii") as file:
        file.write(pem[0])
    return given.client("openssl", "x509", "-noout", "-serial", "-in", path).stdout.strip()


def takes_a_new_certificate_under_load(given):
    """In the same files. None of the requests fails, and nobody's connection ends."""
    assert serial(given) == given.pems["first"].serial()
    with load(given):
        before = given.app.snapshot()
        for _ in range(3):
            new = certificate(given.directory, "first", [FIRST]).serial()
            reload(given)
            poll("the new certificate", 10, lambda n=new: serial(given) == n, step=0.05)
        after = given.app.after(before, h2_requests=1000)
        assert after.counted(before, "h2_errors", "h2_goaway_tx") == {
            "h2_errors": 0,
            "h2_goaway_tx": 0,
        }


def takes_new_content_under_load(given):
    """Who is being sent the old gets it to its end."""
    path = f"{given.site}/16k.bin"
    with load(given):
        for n in range(3):
            with open(f"{given.site}/new.txt", "w", encoding="ascii") as file:
                file.write(f"number {n}")
            os.utime(path)
            reload(given)
            poll("the new content", 10, lambda k=n: new_text(given) == f"number {k}", step=0.05)


def new_text(given):
    reply = given.curl(f"{origin()}/new.txt")
    return reply.body().decode() if reply.status == 200 else ""


def keeps_what_it_has_when_the_new_is_bad(given):
    """All or nothing."""
    usual = given.app.config
    before = serial(given)
    key = given.pems["first"].key
    with open(key, encoding="ascii") as file:
        good = file.read()
    with open(key, "w", encoding="ascii") as file:
        file.write("no key\n")
    log = given.app.log_text()
    reload(given, {**usual, "listeners": [*usual["listeners"], listener("late", 4433, ["first"])]})
    poll("it says so", 10, lambda: key in given.app.log_text()[len(log) :], step=0.02)
    assert serial(given) == before
    same(given.curl(f"{origin()}/small.txt").body(), SMALL)
    with open(key, "w", encoding="ascii") as file:
        file.write(good)
    reload(given, usual)


# ---- the end ----


@contextlib.contextmanager
def slow_reader(given):
    """Node, amid an answer, which it is to get to its end, and a GOAWAY."""
    node = given.peer.spawn(
        *("node", "--no-warnings", SCRIPT, "drained", named(""), V4),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert node.stdout.readline() == "begun\n", node.stderr.read()
    yield
    _, errors = node.communicate(timeout=60)
    assert node.returncode == 0, errors


def lets_requests_come_to_their_end(given):
    """SIGTERM: GOAWAY to all, and what is under way is served first."""
    with given.connect(HTTP):
        with slow_reader(given):
            given.app.process.send_signal(signal.SIGTERM)
        assert given.app.process.wait(20) == 0, given.app.log_text()[-2000:]


def draining(given, path="/v1/drain", status=200):
    return given.app.get(path, status=status)["drain"]


def drains_while_it_serves(given):
    """By the control socket: those who are connected are to come anew. Who comes is served."""
    assert draining(given) is None
    with given.connect(HTTP):
        poll("it is open", 10, lambda: given.open_now() == 1, step=0.02)
        with slow_reader(given):
            told = given.app.ctl("drain", "all").stdout
            assert told.startswith("draining: HTTP connections that have not ended 2, "), told
            assert draining(given, "/v1/health")["state"] == "draining"
            assert given.curl(f"{origin()}/small.txt").status == 200
        poll("nobody is left", 10, lambda: draining(given) is None, step=0.05)
        assert given.curl(f"{origin()}/small.txt").status == 200
    given.nothing_is_left()


def drains_to_a_deadline(given):
    """Which is put off, and then is not."""
    with H2Client(given) as client:
        client.request("/echo", "POST", end=False)
        given.app.ctl("drain", "all", "--timeout", "3600")
        row = draining(given)
        assert row["connections"] == 1 and 3000 < row["remaining_seconds"] <= 3600, row
        [told] = [c["http2"] for c in given.connections() if c["http2"]]
        assert told["goaway"] in ("announced", "sent"), told
        assert 3000 < told["drain_seconds"] <= 3600, told
        given.app.ctl("drain", "all", "--timeout", "1")
        while client.sock.recv(READ):
            pass
        poll("nobody is left", 10, lambda: draining(given) is None, step=0.05)
    given.nothing_is_left()


def stops_by_the_control_socket(given):
    with H2Client(given) as client:
        client.request("/echo", "POST", end=False)
        given.app.get("/v1/drain", "POST", {"stop": True, "timeout_seconds": 3600})
        assert draining(given, "/v1/health", 503)["state"] == "stopping"
        given.app.get("/v1/drain", "POST", {}, status=409)
        assert given.app.running()
        given.app.get("/v1/drain", "POST", {"stop": True, "timeout_seconds": 1})
        assert given.app.process.wait(20) == 0, given.app.log_text()[-2000:]


def stops_under_load(given):
    """As soon as what is under way has ended; nothing that was answered is wrong."""
    before = given.app.snapshot()
    path = given.new_path()
    with open(path, "wb") as file:
        process = given.peer.spawn(
            *("h2load", "-c50", "-m20", "-n10000000", f"{origin()}/16k.bin"),
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    given.app.after(before, h2_requests=1000)
    assert given.app.stop(signal.SIGTERM, seconds=20) == 0, given.app.log_text()[-2000:]
    process.wait(20)
    with open(path, encoding="utf-8") as file:
        told = Load(file.read())
    assert told.n["2xx"] >= 1000 and not told.n["4xx"] + told.n["5xx"], told.text


def leaves_nothing(given):
    given.nothing_is_left()


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "the access log",
            functools.partial(Served, log=1),
            logs_each_request,
            logs_what_carried_it,
            logs_all_of_a_load,
            logs_who_gives_up,
            opens_its_log_anew,
            leaves_nothing,
        ),
        tap.Group(
            "a sampled access log", functools.partial(Served, log=SAMPLE), logs_one_of_so_many
        ),
        tap.Group(
            "reloads",
            Served,
            takes_a_new_certificate_under_load,
            takes_new_content_under_load,
            keeps_what_it_has_when_the_new_is_bad,
            leaves_nothing,
        ),
        tap.Group("drains", Served, drains_while_it_serves, drains_to_a_deadline),
        tap.Group("drained", Served, lets_requests_come_to_their_end),
        tap.Group("drained by the control socket", Served, stops_by_the_control_socket),
        tap.Group("stopped", Served, stops_under_load),
    )
