#!/usr/bin/env python3
"""Runs a command and prints the peak memory of its whole process tree, and its time.

usage: bench/peak_memory.py COMMAND [ARG ...]

Sampled every 50 ms from /proc/*/smaps_rollup. rss: sum of resident sets (shared pages counted in every process that
maps them). pss: every page counted once. anon: proportional anonymous and shared memory, without file pages that the
kernel may drop. Prints one JSON line to stderr; exits with the command's code.
"""
import json
import subprocess
import sys
import time


def tree(pid):
    pids = [pid]
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            for child in children.read().split():
                pids += tree(int(child))
    except OSError:
        pass  # ended meanwhile
    return pids


def memory(pid):
    """Kilobytes by name: Rss, Pss, Pss_Anon, Pss_Shmem."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            rows = (line.split() for line in rollup.readlines()[1:])
            return {row[0].rstrip(":"): int(row[1]) for row in rows}
    except OSError:
        return {}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    start = time.monotonic()
    process = subprocess.Popen(sys.argv[1:])
    peak = {"rss": 0, "pss": 0, "anon": 0}
    while process.poll() is None:
        parts = [memory(pid) for pid in tree(process.pid)]
        now = {"rss": sum(p.get("Rss", 0) for p in parts), "pss": sum(p.get("Pss", 0) for p in parts),
               "anon": sum(p.get("Pss_Anon", 0) + p.get("Pss_Shmem", 0) for p in parts)}
        peak = {name: max(peak[name], now[name]) for name in peak}
        time.sleep(0.05)
    figures = {f"peak_{name}_mib": round(kilobytes / 1024, 1) for name, kilobytes in peak.items()}
    figures["seconds"] = round(time.monotonic() - start, 1)
    print(json.dumps(figures), file=sys.stderr)
    sys.exit(process.returncode)


main()
