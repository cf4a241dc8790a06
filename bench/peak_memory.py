#!/usr/bin/env python3
"""Runs a command and prints the peak memory of its whole process tree, and its time.

usage: bench/peak_memory.py [--interval SECONDS] COMMAND [ARG ...]

Sampled every 100 ms from /proc/*/smaps_rollup; `samples_per_second` says how often that was. rss: sum of resident
sets (shared pages counted in every process that maps them). pss: every page counted once. anon: proportional
anonymous and shared memory (Pss_Anon + Pss_Shmem), without mapped file pages that the kernel may drop. Prints one JSON
line to stderr; exits with the command's code.
"""
import argparse
import glob
import json
import subprocess
import sys
import time


def tree(pid):
    """The process and all below it."""
    pids = [pid]
    for children in glob.glob(f"/proc/{pid}/task/*/children"):  # each thread lists its own
        try:
            with open(children) as listed:
                for child in listed.read().split():
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


def sample(pid):
    parts = [memory(one) for one in tree(pid)]
    return {"rss": sum(p.get("Rss", 0) for p in parts), "pss": sum(p.get("Pss", 0) for p in parts),
            "anon": sum(p.get("Pss_Anon", 0) + p.get("Pss_Shmem", 0) for p in parts)}


def watch(process, interval=0.1):
    """Waits for a subprocess.Popen; its figures."""
    start = time.monotonic()
    peak, samples = {"rss": 0, "pss": 0, "anon": 0}, 0
    while process.poll() is None:
        now = sample(process.pid)
        peak = {name: max(peak[name], now[name]) for name in peak}
        samples += 1
        time.sleep(interval)
    seconds = time.monotonic() - start
    figures = {f"peak_{name}_mib": round(kilobytes / 1024, 1) for name, kilobytes in peak.items()}
    return figures | {"seconds": round(seconds, 1), "samples_per_second": round(samples / seconds, 1)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        sys.exit(__doc__)
    process = subprocess.Popen(options.command)
    print(json.dumps(watch(process, options.interval)), file=sys.stderr)
    sys.exit(process.returncode)


if __name__ == "__main__":
    main()
