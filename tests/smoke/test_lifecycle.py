#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Start, reload, stop, and being killed."""
import contextlib
import os
import re
import signal
import subprocess
import time
from functools import partial

import machine
import tap
from appliance import Appliance
from frames import IPV4, echo
from lab import Lab, Pair
from machine import poll

V4 = "10.77.0.1"
DRIVERS = ("af_xdp", "af_packet", "tap")
STOP_SECONDS = 2
FRAMES = 64  # of a flood, built once
NR_HUGEPAGES = "/proc/sys/vm/nr_hugepages"
HUGEPAGES = 128  # of 2 MiB


def answers(pair, address=V4):
    pair.ping("-c", "1", "-W", "5", address)


def run_millrace(lab, *words):
    """In the appliance's namespace; for what ends by itself."""
    return lab.host.run(machine.MILLRACE, *words, check=False)


# ---- killed and started again ----


def starts_again_after_kill_9(pair):
    """At once, with the same configuration, whatever the dead one has left."""
    for _ in range(3):
        pair.app.process.kill()
        pair.app.process.wait()
        assert os.path.exists(pair.app.socket), "its socket should have been left behind"
        pair.app.start()
        if pair.driver == "tap":  # its interface went with the first
            pair.peer.up("mill0", *(a for a in pair.theirs if "." in a))
        answers(pair)


# ---- stopped ----


def flood(pair):
    """Sends frames to the appliance as fast as it can, until it is ended."""
    frames = [echo("10.77.0.2", V4, 9, seq, bytes(40 * (seq % 32))) for seq in range(FRAMES)]
    child = os.fork()
    if child:
        pair.stack.callback(os.waitpid, child, 0)
        pair.stack.callback(os.kill, child, signal.SIGKILL)
        return
    machine.die_with_parent()
    while True:
        with contextlib.suppress(OSError):
            for frame in frames:
                pair.send(frame, IPV4, dst=pair.flood_to)


def stops_under_flood(pair):
    pair.flood_to = pair.app.mac()
    answers(pair)
    before = pair.app.snapshot()
    flood(pair)
    pair.peer.spawn("ping", "-n", "-q", "-f", V4, stdout=subprocess.DEVNULL)
    after = pair.app.after(before, rx_packets=20000, seconds=20)
    tap.note(f"{after.count('rx_packets') - before.count('rx_packets')} packets before SIGTERM")
    start = time.monotonic()
    status = pair.app.stop(signal.SIGTERM)
    took = time.monotonic() - start
    tap.note(f"stopped in {took:.2f} s")
    assert status == 0, f"status {status}"
    assert took < STOP_SECONDS, f"{took:.2f} s"
    assert "stopped" in pair.app.log_text().splitlines()[-1]
    assert not os.path.exists(pair.app.socket), "its socket is still there"


def stops_when_interrupted(pair):
    assert pair.app.stop(signal.SIGINT) == 0
    pair.app.start()


def gives_the_interface_back(pair):
    """No XDP program, no promiscuous mode: as it was before."""

    def link():
        return pair.host.ip("-d", "link", "show", "mill0")

    def promiscuity():
        return int(re.search(r"promiscuity (\d+)", link())[1])

    assert pair.app.stop() == 0
    assert "xdp" not in link() and promiscuity() == 0, link()
    pair.app.start()
    assert "xdp" in link(), link()


# ---- reloaded ----


def config_with(pair, **device):
    return {**pair.config, "devices": [{**pair.device, **device}]}


def reload(pair, says):
    """By SIGHUP; waits for the line in the log."""
    seen = len(pair.app.log_text())
    pair.app.process.send_signal(signal.SIGHUP)
    poll(f"the log says '{says}'", 10, lambda: says in pair.app.log_text()[seen:])
    return pair.app.log_text()[seen:]


def adds_an_address_and_loses_no_ping(pair):
    pair.app.settle()
    pings = pair.peer.spawn(
        *("ping", "-n", "-q", "-i", "0.002", "-c", "500", "-W", "5", V4), stdout=subprocess.PIPE
    )
    for added in ("10.77.0.9/24", "fd77::9/64"), ("10.77.0.10/24",), ():
        pair.app.configure(config_with(pair, addresses=[*pair.device["addresses"], *added]))
        reload(pair, "is in force")
        known = pair.app.addresses()
        for address in "10.77.0.9", "fd77::9", "10.77.0.10":
            assert (address in known) == any(a.startswith(f"{address}/") for a in added), known
        for address in (a.split("/")[0] for a in added if "." in a):
            answers(pair, address)
    assert pings.poll() is None, "the pings were over before the reloads"
    output = pings.communicate(timeout=20)[0].decode()
    assert " 500 received, 0% packet loss" in output, output


def goes_on_after_a_bad_reload(pair):
    """All or nothing, and it says why, by line."""
    before = pair.app.get("/v1/config")
    pair.app.write("devices:\n  - name: mill0\n    driver: af_xdp\n    adresses: [10.0.0.1/24]\n")
    said = reload(pair, "the configuration that was in force stays")
    assert "m0.yaml:4: devices[0]: unknown key 'adresses' (did you mean 'addresses'?)" in said, said
    answers(pair)
    assert pair.app.get("/v1/config") == before


def says_what_needs_a_restart(pair):
    pair.app.configure(config_with(pair, mtu=1400, addresses=["10.77.0.11/24"]))
    said = reload(pair, "the configuration that was in force stays")
    assert re.search(r"devices\[0\]\.mtu: .*restart", said), said
    faults = pair.app.get("/v1/reload", "POST", status=409)["error"]["faults"]
    assert len(faults) == 1 and "mtu" in faults[0], faults
    assert "10.77.0.11" not in pair.app.addresses()
    answers(pair)


def survives_a_file_that_is_gone(pair):
    os.rename(pair.app.file, pair.app.file + ".away")
    reload(pair, "the configuration that was in force stays")
    os.rename(pair.app.file + ".away", pair.app.file)
    answers(pair)


# ---- a cable ----


def says_that_the_cable_is_out(pair):
    def warnings():
        return pair.app.get("/v1/health")["warnings"]

    assert warnings() == []
    pair.peer.ip("link", "set", "peer0", "down")
    try:
        poll("health warns", 5, warnings, step=0.05)
        assert warnings() == ["device mill0: no link"], warnings()
        assert pair.app.get("/v1/ports")["ports"][0]["link"]["up"] is False
    finally:
        pair.peer.ip("link", "set", "peer0", "up")
    poll("health is well again", 10, lambda: not warnings(), step=0.05)
    answers(pair)


# ---- two of them ----


def second(pair, **sections):
    """Another appliance; how it ends, and what it says."""
    other = Appliance(pair, pair.host, {**pair.config, **sections}, name="other")
    other.launch()
    try:
        return other.process.wait(20), other.log_text()
    finally:
        other.kill()


def refuses_a_second_on_its_socket(pair):
    devices = [{"name": "null0", "driver": "null", "addresses": ["10.79.0.1/24"]}]
    status, said = second(pair, devices=devices, control={"socket": pair.app.socket})
    assert status == 1, (status, said)
    assert pair.app.socket in said and "already" in said, said
    answers(pair)
    assert pair.app.get("/v1/health")["status"] == "ok"


def refuses_a_second_on_its_interface(pair):
    status, said = second(pair)
    assert status == 1 and "another millrace has it" in said, (status, said)
    answers(pair)


# ---- what cannot start, and what can do without ----


class Host(Lab):
    """One namespace, and files."""

    def __enter__(self):
        super().__enter__()
        self.host = self.namespace("a")
        return self

    def file(self, text):
        name = f"{self.directory}/{len(os.listdir(self.directory))}.yaml"
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        return name


def ends_with_2_for_a_bad_configuration(lab):
    bad = lab.file("devices:\n  - name: x\n    driver: null\n    mtu: 70000\nworkerz: {}\n")
    for words in ("--config", bad), ("--check", bad):
        done = run_millrace(lab, *words)
        assert done.returncode == 2, done
        assert f"{bad}:4: devices[0].mtu: 70000 is outside 68..65535" in done.stderr, done.stderr
        assert f"{bad}:5: unknown key 'workerz' (did you mean 'workers'?)" in done.stderr
    assert run_millrace(lab, "--config", "/nonexistent.yaml").returncode == 2
    assert run_millrace(lab, "--frobnicate").returncode == 2
    assert run_millrace(lab, "--config", bad, "more").returncode == 2


def checks_without_starting(lab):
    good = lab.file("devices:\n  - {name: x, driver: af_packet, interface: nowhere0}\n")
    done = run_millrace(lab, "--check", good)
    assert done.returncode == 0 and "valid" in done.stdout, done
    assert f"{good}:2: devices[0].interface: there is no interface 'nowhere0'" in done.stdout, done
    assert run_millrace(lab, "--check", "--strict", good).returncode == 1
    good = lab.file("devices: [{name: x, driver: ring}]\n")
    assert run_millrace(lab, "--check", "--strict", good).returncode == 0
    assert run_millrace(lab, "--strict", "--config", good).returncode == 2


def ends_with_1_and_says_what_to_do(lab):
    """For a configuration that is right, on a machine that is not."""
    socket = (
        f"control: {{socket: {lab.directory}/x.sock}}\nmemory: {{file-prefix: {machine.RUN}-x}}\n"
    )
    lab.stack.callback(subprocess.run, ["rm", "-rf", f"{machine.DPDK}/{machine.RUN}-x"], check=True)
    for text, said in (
        ("", "names no devices"),
        ("devices: [{name: x, driver: af_packet, interface: nowhere0}]\n", "nowhere0"),
        ("devices: [{name: x, driver: af_xdp, interface: nowhere0}]\n", "nowhere0"),
        ("devices: [{name: x, driver: pci, pci: '0000:ff:1f.7'}]\n", "0000:ff:1f.7"),
        ("devices: [{name: x, driver: ring}]\nworkers: {cores: [999]}\n", ":2: workers.cores[0]"),
        (
            "devices: [{name: x, driver: pcap, rx-file: /nonexistent.pcap}]\n",
            "cannot read /nonexistent.pcap",
        ),
    ):
        done = run_millrace(lab, "--config", lab.file(text + socket))
        assert done.returncode == 1 and said in done.stderr, (text, done)


def reserve_hugepages(n):
    with contextlib.suppress(OSError), open(NR_HUGEPAGES, "w", encoding="ascii") as file:
        file.write(str(n))


def goes_on_without_hugepages_that_are_gone(lab):
    """Pages are free, but their mount gives no more than a few of them."""
    with open(NR_HUGEPAGES, encoding="ascii") as file:
        before = int(file.read())
    lab.stack.callback(reserve_hugepages, before)
    reserve_hugepages(before + HUGEPAGES)
    with open(NR_HUGEPAGES, encoding="ascii") as file:
        if int(file.read()) < before + HUGEPAGES:
            tap.note("this machine has no hugepages to take away")
            return
    text = (
        f"devices: [{{name: x, driver: ring}}]\ncontrol: {{socket: {lab.directory}/h.sock}}\n"
        f"memory: {{file-prefix: {machine.RUN}-h}}\n"
    )
    lab.stack.callback(subprocess.run, ["rm", "-rf", f"{machine.DPDK}/{machine.RUN}-h"], check=True)
    script = (
        "for m in $(awk '$3 == \"hugetlbfs\" { print $2 }' /proc/mounts); do umount $m; done; "
        f"mkdir {lab.directory}/huge; mount -t hugetlbfs -o size=8M none {lab.directory}/huge; "
        f"exec timeout -s INT 2 {machine.MILLRACE} --config {lab.file(text)}"
    )
    done = lab.host.run("unshare", "-m", "sh", "-c", script, check=False)
    assert "starting again without" in done.stderr, done
    assert done.stderr.splitlines()[-1].endswith("stopped"), done


def prints_an_example_that_is_valid(lab):
    example = run_millrace(lab, "--example")
    assert example.returncode == 0
    done = run_millrace(lab, "--check", lab.file(example.stdout))
    assert done.returncode == 0, done
    for word in "--help", "--version":
        done = run_millrace(lab, word)
        assert done.returncode == 0 and "millrace" in done.stdout and not done.stderr, done


if __name__ == "__main__":
    tap.main(
        *(tap.Group(f"kill -9, {d}", partial(Pair, d), starts_again_after_kill_9) for d in DRIVERS),
        tap.Group(
            "reload",
            Pair,
            adds_an_address_and_loses_no_ping,
            goes_on_after_a_bad_reload,
            says_what_needs_a_restart,
            survives_a_file_that_is_gone,
        ),
        tap.Group(
            "life",
            Pair,
            says_that_the_cable_is_out,
            refuses_a_second_on_its_socket,
            refuses_a_second_on_its_interface,
            stops_when_interrupted,
            gives_the_interface_back,
        ),
        *(tap.Group(f"flood, {d}", partial(Pair, d), stops_under_flood) for d in DRIVERS),
        tap.Group(
            "command line",
            Host,
            ends_with_2_for_a_bad_configuration,
            checks_without_starting,
            ends_with_1_and_says_what_to_do,
            goes_on_without_hugepages_that_are_gone,
            prints_an_example_that_is_valid,
        ),
    )
