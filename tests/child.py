# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program so that an interrupt ends it, and not this one before it."""
import signal
import subprocess


def run(argv, **options):
    """Its exit status. On SIGINT the terminal tells the child itself; SIGTERM is passed on. It cleans up, then we go on."""
    interrupts = []
    old_int = signal.signal(signal.SIGINT, lambda *_: interrupts.append(signal.SIGINT))
    old_term = signal.getsignal(signal.SIGTERM)
    child = subprocess.Popen(argv, **options)

    def terminate(*_):
        interrupts.append(signal.SIGTERM)
        child.terminate()

    signal.signal(signal.SIGTERM, terminate)
    try:
        status = child.wait()
    finally:
        signal.signal(signal.SIGINT, old_int)
        signal.signal(signal.SIGTERM, old_term)
    if interrupts:
        raise SystemExit(128 + interrupts[0])
    return status
