#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one fuzz target over its corpus and then for a few seconds, as one TAP test."""
import os
import subprocess
import sys
import tempfile

target, corpus, seconds = sys.argv[1:4]
seconds = os.environ.get("FUZZ_SECONDS") or seconds  # `make fuzz T=<name> S=<seconds>`
name = os.path.basename(target)
print("1..1")
with tempfile.TemporaryDirectory(prefix="millrace-fuzz-") as work:
    # New inputs go to the first folder, which is thrown away; a crashing input is copied beside the build.
    folders = [work] + ([corpus] if os.path.isdir(corpus) else [])
    artifacts = os.path.join(os.path.dirname(target), "crash-" + name + "-")
    run = subprocess.run(
        [
            target,
            "-max_total_time=" + seconds,
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-seed=1",
            "-artifact_prefix=" + artifacts,
            "-print_final_stats=1",
        ]
        + folders,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
runs = [
    l.split()[-1] for l in run.stdout.splitlines() if l.startswith("stat::number_of_executed_units")
]
if run.returncode == 0 and runs and int(runs[0]) > 0:
    print(f"ok 1 - {name} ({runs[0]} inputs)")
else:
    for line in run.stdout.splitlines()[-60:]:
        print("# " + line)
    print(f"# exit status {run.returncode}")
    print(f"not ok 1 - {name}")
    sys.exit(1)
