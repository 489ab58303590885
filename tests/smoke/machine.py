# SPDX-License-Identifier: BSD-3-Clause
"""This machine: where things are, programs that end with the test, and what dead runs have left."""
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from tap import Missing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MILLRACE = os.environ.get("MILLRACE", f"{ROOT}/build/app/millrace")
MILLRACECTL = os.environ.get("MILLRACECTL", f"{ROOT}/build/app/millracectl")
KEEP = os.environ.get("SMOKE_KEEP", f"{ROOT}/build/tests/smoke")  # for captures of failed cases

RUN = f"mr-{os.getpid()}"
OURS = re.compile(r"mr-(\d+)-")
NETNS = "/run/netns"
DPDK = "/var/run/dpdk"
TEMP = tempfile.gettempdir()

PR_SET_PDEATHSIG = 1
AF_XDP = 44

libc = ctypes.CDLL(None, use_errno=True)


def poll(what, seconds, done, step=0.005):
    """Waits until done() is true, and returns what it gave. In vain: AssertionError."""
    until = time.monotonic() + seconds
    while True:
        got = done()
        if got:
            return got
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(step)


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()


def run(*argv, timeout=20, check=True, **options):
    """Its CompletedProcess, with the text of both outputs."""
    if not shutil.which(argv[0]):
        raise Missing(f"{argv[0]} is not installed")
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
        preexec_fn=die_with_parent,
        **options,
    )
    if check and done.returncode:
        raise AssertionError(
            f"{' '.join(argv)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done


def alive(pid):
    """May that still be a run of these tests? Another program may have got its number."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"python" in file.read()
    except OSError:
        return False


def sweep():
    """Takes away what runs that are no more have left."""
    for name in os.listdir(NETNS) if os.path.isdir(NETNS) else ():
        found = OURS.match(name)
        if not found or alive(found[1]):
            continue
        for pid in run("ip", "netns", "pids", name, check=False).stdout.split():
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        run("ip", "netns", "del", name, check=False)
    for parent in TEMP, DPDK:
        for name in os.listdir(parent) if os.path.isdir(parent) else ():
            found = OURS.match(name)
            if found and not alive(found[1]):
                shutil.rmtree(f"{parent}/{name}", ignore_errors=True)


def needs_af_xdp():
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW).close()
    except OSError as error:
        raise Missing(f"the kernel has no AF_XDP: {error}") from error
