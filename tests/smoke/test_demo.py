#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""What `make run` starts: the commands it prints work as printed, and it leaves nothing behind."""
import ctypes
import os
import re
import shutil
import signal
import subprocess

import machine
import tap
from machine import Missing, poll

DEMO = f"{machine.ROOT}/app/demo.sh"
RUNTIME = "/run/dpdk/millrace-demo"
NAMES = ("millrace-demo", "millrace-client")
PATIENCE = 30  # seconds that somebody else's may take
READY = "removes everything again"


def die_gently_with_parent():
    """So that it cleans up."""
    ctypes.CDLL(None).prctl(machine.PR_SET_PDEATHSIG, signal.SIGTERM)


def namespaces():
    return [name for name in NAMES if os.path.exists(f"{machine.NETNS}/{name}")]


def running():
    """Processes of any demo: their namespaces have fixed names, for people to type."""
    return "".join(
        machine.run("ip", "netns", "pids", name, check=False).stdout for name in namespaces()
    )


class Demo:
    def __init__(self, *options):
        self.options = options
        self.process = None
        self.said = ""

    def __enter__(self):
        if os.geteuid() != 0:
            raise Missing("the demo needs root: sudo make smoke")
        try:
            poll("no demo runs", PATIENCE, lambda: not running(), step=0.2)
        except AssertionError:
            raise Missing("another demo runs") from None
        # A session of its own: Ctrl-C is for the demo and all that it has started.
        self.process = subprocess.Popen(
            [DEMO, machine.MILLRACE, *self.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=die_gently_with_parent,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        try:
            poll("the demo runs", 20, self.ready)
        except BaseException:
            self.end(signal.SIGTERM)
            raise
        return self

    def ready(self):
        try:
            self.said += self.process.stdout.read() or ""
        except TypeError:  # nothing there yet
            pass
        assert self.process.poll() is None, self.said
        return READY in self.said

    def end(self, how):
        """As the terminal does; the exit status."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, how)
        return self.process.wait(10)

    def __exit__(self, *what):
        self.end(signal.SIGTERM)
        self.process.stdout.close()

    def explain(self, _):
        return ["the demo said:", *self.said.splitlines()]

    def commands(self):
        return re.findall(r"^  (\S.*)$", self.said, re.MULTILINE)

    def directory(self):
        return re.search(r"/tmp/millrace-demo\.\w+", self.said)[0]


def shell(command, ok=(0,)):
    done = subprocess.run(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode in ok, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def received(output):
    return int(re.search(r"(\d+) received", output)[1])


def printed_commands_work(demo):
    commands = demo.commands()
    assert len(commands) >= 8, commands
    for command in commands:
        if " ping " in command:
            assert received(poll(command, 10, lambda c=command: ping(c))) > 0
        elif "tshark" in command:
            if not shutil.which("tshark"):
                raise Missing("tshark is not installed")
            assert "ICMP" in shell(command)
        elif "capture start" in command:
            shell(command)
            again = machine.run(*command.split(), check=False)
            assert again.returncode == 1 and "stop it first" in again.stderr, again
        elif "show conn" in command:
            said = shell(command)
            assert "listener:source" in said, said
        elif "/metrics" in command:
            assert shell(command).endswith("# EOF\n")
        else:
            assert shell(command).strip(), command


def same_capture_file_twice_is_refused_with_a_hint(demo):
    start = next(command for command in demo.commands() if "capture start" in command)
    done = machine.run(*start.split(), check=False)
    assert done.returncode == 1 and "name another file" in done.stderr, done


def ping(command):
    """Its output once anything was answered: IPv6 addresses take two seconds at the start."""
    output = shell(command, ok=(0, 1))
    return output if " 0 received" not in output else None


def readme_names_what_it_prints(demo):
    """Each kind of command that the first screen promises."""
    text = " ".join(demo.commands())
    for word in "ping -6", "show ports", "show drops", "capture start", "/metrics":
        assert word in text, word


def ctrl_c_leaves_nothing(demo):
    directory = demo.directory()
    assert namespaces() and os.path.isdir(directory)
    assert demo.end(signal.SIGINT) in (0, 130)
    assert not namespaces() and not os.path.exists(directory) and not os.path.exists(RUNTIME)


def second_one_is_refused(demo):
    done = machine.run(DEMO, machine.MILLRACE, check=False)
    assert done.returncode == 1 and "runs already" in done.stderr, done
    assert re.search(r"kill \d+", done.stderr), done
    assert demo.process.poll() is None and namespaces()


def kill_9_does_not_prevent_the_next(demo):
    """The shell is killed outright; then its child, by hand, as the refusal says."""
    os.kill(demo.process.pid, signal.SIGKILL)
    demo.process.wait()
    for name in namespaces():
        for pid in machine.run("ip", "netns", "pids", name).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
    shutil.rmtree(demo.directory(), ignore_errors=True)
    with Demo("--driver", "tap") as again:
        output = poll("ping", 10, lambda: ping(again.commands()[0]))
        assert received(output) > 0
        directory = again.directory()
    assert not namespaces() and not os.path.exists(directory)


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "demo",
            Demo,
            printed_commands_work,
            same_capture_file_twice_is_refused_with_a_hint,
            readme_names_what_it_prints,
            second_one_is_refused,
            ctrl_c_leaves_nothing,
        ),
        tap.Group("killed demo", lambda: Demo("--workers", "2"), kill_9_does_not_prevent_the_next),
    )
