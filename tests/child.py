# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program so that an interrupt ends it, and not this one before it."""
import signal
import subprocess
import threading


def relay(lines, on_line):
    for line in lines or ():
        on_line(line)


def run(argv, on_line=None, **options):
    """Its exit status; on_line is given each line of its standard output.

    On SIGINT the terminal tells the child itself, SIGTERM is passed on; either way the child has
    cleaned up and is gone before this program ends."""
    if on_line:
        options.update(stdout=subprocess.PIPE, text=True, errors="replace")
    interrupts = []
    child = None

    def interrupted(number, _):
        interrupts.append(number)
        if number == signal.SIGTERM and child:
            child.terminate()

    old = {n: signal.signal(n, interrupted) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        child = subprocess.Popen(argv, **options)
        # In a thread: what the child left running may hold its output open when the child is gone.
        reader = threading.Thread(target=relay, args=(child.stdout, on_line), daemon=True)
        reader.start()
        status = child.wait()
        reader.join(1 if interrupts else None)
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
    if interrupts:
        raise SystemExit(128 + interrupts[0])
    return status
