#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The control socket, and what speaks to it: curl, millracectl, DPDK's telemetry tool."""
import grp
import http.client
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from functools import partial

import machine
import tap
from appliance import request
from lab import Pair
from machine import Missing, poll

LABELS = "worker,device,reason,kind,end"
PORT = 9177
WIDTH = 80  # columns
HERE = os.path.dirname(os.path.abspath(__file__))
SHOWS = (
    *("health", "workers", "ports", "drops", "neighbours", "addresses", "paths"),
    *("memory", "capture", "config", "version"),
)


# ---- HTTP ----


def serves_each_path_it_lists(pair):
    pair.app.settle()
    pair.ping("-c", "2", "-i", "0.01", "10.77.0.1")
    paths = pair.app.get("/")["paths"]
    assert {
        "/metrics",
        "/v1/health",
        "/v1/workers",
        "/v1/ports",
        "/v1/neighbours",
        "/v1/drops",
    } <= {p["path"] for p in paths}
    for row in paths:
        methods = row["methods"].split(", ")
        status, headers, text = pair.app.ask(row["path"])
        if "GET" not in methods:
            assert status == 405 and headers["Allow"] == row["methods"], (row, status)
            continue
        # {id} is no connection's.
        good = 404 if "{" in row["path"] else 200
        assert status == good, (row, status, text)
        if row["path"] != "/metrics":
            assert headers["Content-Type"].startswith("application/json"), headers
            json.loads(text)
        head = pair.app.ask(row["path"], "HEAD")
        assert head[0] == good and not head[2], head


def tells_what_it_did_not_like(pair):
    for path, method, status in (
        *(("/nope", "GET", 404), ("/v1/ports?iface=nope", "GET", 404)),
        *(("/v1/health", "DELETE", 405), ("/v1/drops?nonzero=2", "GET", 400)),
        *(("/v1/drops?nope=1", "GET", 400), ("/v1/workers?worker=7", "GET", 400)),
        *(("/v1/capture", "POST", 400), ("/metrics", "POST", 405)),
    ):
        assert pair.app.get(path, method, status=status)["error"]["message"], path


def curl_reads_metrics(pair):
    """As people do; and another program than our own finds them right."""
    text = machine.run("curl", "-sS", "--unix-socket", pair.app.socket, "http://x/metrics").stdout
    checker = [sys.executable, "-B", f"{HERE}/openmetrics.py", "--labels", LABELS]
    done = subprocess.run(checker, input=text, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
    tap.note(done.stdout.strip())
    kind = pair.app.ask("/metrics")[1]["Content-Type"]
    assert kind.startswith("application/openmetrics-text; version=1.0.0"), kind


def says_the_same_everywhere(pair):
    """A counter has one name and one value in the metrics, the JSON and the telemetry."""
    pair.ping("-c", "3", "-i", "0.01", "10.77.0.1")
    echo = pair.app.snapshot().count("icmp_rx_echo")
    worker = pair.app.get("/v1/workers")["workers"][0]
    assert echo > 0 and worker["counters"]["icmp_rx_echo"] == echo, worker
    assert telemetry(pair, "/millrace/workers,0")["icmp_rx_echo"] == echo
    reasons = {d["reason"] for d in pair.app.get("/v1/drops")["drops"]}
    assert reasons == set(pair.app.published().drops) == set(telemetry(pair, "/millrace/drops"))


def lists_its_neighbours_by_pages(pair):
    pair.ping("-c", "1", "fd77::1")
    seen, after = [], ""
    while after is not None:
        page = pair.app.get(f"/v1/neighbours?limit=1{after and '&after=' + after}")
        assert len(page["neighbours"]) <= 1
        seen += [n["address"] for n in page["neighbours"]]
        after = page["next"]
    assert {"10.77.0.2", "fd77::2"} <= set(seen) and len(set(seen)) == len(seen), seen
    assert pair.app.get("/v1/neighbours", "DELETE")
    assert pair.app.get("/v1/neighbours")["neighbours"] == []
    pair.ping("-c", "1", "10.77.0.1")


# ---- DPDK's own tool ----


def telemetry(pair, command):
    tool = shutil.which("dpdk-telemetry.py")
    if not tool:
        raise Missing("dpdk-telemetry.py is not installed")
    done = subprocess.run(
        [tool, "-f", pair.app.prefix],
        input=f"{command}\nquit\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=20,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"/')]
    assert lines, done
    return json.loads(lines[-1])[command.split(",", maxsplit=1)[0]]


def telemetry_tool_sees_it(pair):
    commands = telemetry(pair, "/")
    for name in "workers", "ports", "drops", "neighbours":
        assert f"/millrace/{name}" in commands, commands
    assert telemetry(pair, "/millrace/workers") == [0]
    assert telemetry(pair, "/millrace/ports") == ["mill0"]
    port = telemetry(pair, "/millrace/ports,mill0")
    assert port["link"] == "up" and port["mtu"] == 1500 and port["rx_packets"] > 0, port
    assert telemetry(pair, "/millrace/ports,nope") is None
    assert telemetry(pair, "/millrace/neighbours")["arp_rx_requests"] > 0


# ---- millracectl ----


def millracectl_shows_all(pair):
    pair.ping("-c", "1", "10.77.0.1")
    for what in SHOWS:
        text = pair.app.ctl("show", what).stdout
        assert text.strip(), what
        wide = [line for line in text.splitlines() if len(line) > WIDTH]
        # Paths are as long as they are.
        assert not [line for line in wide if "/" not in line], wide
        assert json.loads(pair.app.ctl("--json", "show", what).stdout), what
    assert "mill0" in pair.app.ctl("show", "ports").stdout
    assert "10.77.0.2" in pair.app.ctl("show", "neighbours").stdout
    assert "# EOF" in pair.app.ctl("metrics").stdout


def millracectl_changes_things(pair):
    started = json.loads(pair.app.ctl("--json", "capture", "start", "--file", "c.pcapng").stdout)
    pair.ping("-c", "3", "-i", "0.01", "10.77.0.1")
    assert pair.app.ctl("capture", "start", check=False).returncode == 1
    stopped = json.loads(pair.app.ctl("--json", "capture", "stop").stdout)
    assert started["capture"]["file"] == stopped["capture"]["file"]
    assert stopped["capture"]["packets"] >= 6, stopped
    pair.app.ctl("flush", "neighbours")
    assert "no neighbours" in pair.app.ctl("show", "neighbours").stdout
    pair.app.ctl("reload")
    pair.app.write("devices: [{name: mill0, driver: nope}]\n")
    done = pair.app.ctl("reload", check=False)
    assert done.returncode == 1 and "'nope'" in done.stderr, done
    pair.app.configure(pair.config)
    pair.app.ctl("reload")


def millracectl_says_what_is_wrong(pair):
    for words, status in (
        *((["show", "nothing"], 2), (["frobnicate"], 2), (["show", "ports", "--worker"], 2)),
        *((["show", "ports", "--iface", "nope"], 1), (["show", "workers", "--worker", "9"], 1)),
    ):
        done = pair.app.ctl(*words, check=False)
        assert done.returncode == status and done.stderr, (words, done)
    done = machine.run(machine.MILLRACECTL, "-s", "/nonexistent", "show", "health", check=False)
    assert done.returncode == 3 and "running" in done.stderr, done
    for words in ["--help"], ["show", "--help"], ["capture", "start", "--help"], ["--version"]:
        done = pair.app.ctl(*words)
        assert done.stdout and not done.stderr, words


def doctor_examines_the_machine(pair):
    """Where the appliance is, all that it needs is there; elsewhere its interface is not."""
    words = (machine.MILLRACECTL, "doctor", "--config", pair.app.file)
    done = pair.host.run(*words, check=False)
    assert done.returncode == 0 and "0 failures" in done.stdout, done.stdout
    done = machine.run(*words, check=False)
    assert done.returncode == 1 and "mill0" in done.stdout and "->" in done.stdout, done.stdout
    done = machine.run(*words, "--json", check=False)
    assert json.loads(done.stdout)["worst"] == "fail", done.stdout


# ---- who may speak ----


def socket_has_the_mode_and_group_asked_for(pair):
    found = os.stat(pair.app.socket)
    assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o620, oct(found.st_mode)
    assert found.st_gid == grp.getgrnam("daemon").gr_gid
    assert stat.S_IMODE(os.stat(pair.app.captures).st_mode) & 0o007 == 0


def listening(pair):
    return pair.host.run("ss", "-Hltn").stdout.splitlines()


def listens_on_no_port_unless_asked(pair):
    assert listening(pair) == [], listening(pair)


def by_port(pair, method, path):
    with pair.host.inside():
        return request(http.client.HTTPConnection("127.0.0.1", PORT, timeout=10), method, path)


def serves_the_loopback_only_and_reads_only(pair):
    ports = [re.split(r"\s+", line)[3] for line in listening(pair)]
    assert ports == [f"127.0.0.1:{PORT}"], ports
    status, _, text = by_port(pair, "GET", "/metrics")
    assert status == 200 and text.endswith("# EOF\n")
    for method, path in (
        ("POST", "/v1/reload"),
        ("POST", "/v1/capture"),
        ("DELETE", "/v1/neighbours"),
    ):
        assert by_port(pair, method, path)[0] == 403, path


def takes_the_port_again_after_kill_9(pair):
    pair.app.process.kill()
    pair.app.process.wait()
    pair.app.start()
    poll("the port answers", 5, lambda: by_port(pair, "GET", "/v1/health")[0] == 200)


def is_not_held_up_by_a_slow_client(pair):
    slow = [pair.host.socket() for _ in range(5)]
    for s in slow:
        with pair.host.inside():
            s.connect(("127.0.0.1", PORT))
        s.send(b"GET /metr")
    for _ in range(10):
        assert by_port(pair, "GET", "/v1/health")[0] == 200
    assert pair.app.ask("/v1/health")[0] == 200


def makes_its_captures_private(pair):
    pair.app.get("/v1/capture", "POST", {"action": "start", "file": "x.pcapng"})
    pair.app.get("/v1/capture", "POST", {"action": "stop"})
    mode = stat.S_IMODE(os.stat(f"{pair.app.captures}/x.pcapng").st_mode)
    assert mode & 0o007 == 0, oct(mode)


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "HTTP",
            Pair,
            serves_each_path_it_lists,
            tells_what_it_did_not_like,
            curl_reads_metrics,
            says_the_same_everywhere,
            lists_its_neighbours_by_pages,
            telemetry_tool_sees_it,
        ),
        tap.Group(
            "millracectl",
            Pair,
            millracectl_shows_all,
            millracectl_changes_things,
            millracectl_says_what_is_wrong,
            doctor_examines_the_machine,
        ),
        tap.Group(
            "access",
            partial(Pair, config={"control": {"mode": "0620", "group": "daemon"}}),
            makes_its_captures_private,
            socket_has_the_mode_and_group_asked_for,
            listens_on_no_port_unless_asked,
        ),
        tap.Group(
            "TCP port",
            partial(Pair, config={"control": {"port": PORT}}),
            serves_the_loopback_only_and_reads_only,
            is_not_held_up_by_a_slow_client,
            takes_the_port_again_after_kill_9,
        ),
    )
