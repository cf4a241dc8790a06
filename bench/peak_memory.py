#!/usr/bin/env python3
"""Runs a command and prints the peak memory of its whole process tree, and its time.

usage: bench/peak_memory.py [--interval SECONDS] COMMAND [ARG ...]

Sampled every 100 ms; `samples_per_second` says how often that was. rss: sum of resident sets (shared pages counted in every
process that maps them). anon: proportional anonymous and shared memory (Pss_Anon + Pss_Shmem of /proc/*/smaps_rollup), without
mapped file pages that the kernel may drop. Reading that takes the kernel long where gigabytes are mapped, and would slow
down what is measured: it is read when the plain sum of anonymous and shared memory, which is never less, is a new peak. Prints one
JSON line to stderr; exits with the command's code.
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


def fields(path, names):
    """The sum of some rows of a file in /proc, in kilobytes."""
    try:
        with open(path) as rows:
            return sum(int(row.split()[1]) for row in rows if row.split(":")[0] in names)
    except (OSError, IndexError, ValueError):
        return 0  # ended meanwhile


def sample(pid, known):
    """Kilobytes; anon is 0 where it cannot be more than is known."""
    pids = tree(pid)
    sums = {name: sum(fields(f"/proc/{one}/status", rows) for one in pids)
            for name, rows in (("rss", {"VmRSS"}), ("bound", {"RssAnon", "RssShmem"}))}
    anon = 0
    if sums["bound"] > known:
        anon = sum(fields(f"/proc/{one}/smaps_rollup", {"Pss_Anon", "Pss_Shmem"}) for one in pids)
    return {"rss": sums["rss"], "anon": anon}


def watch(process, interval=0.1):
    """Waits for a subprocess.Popen; its figures."""
    start = time.monotonic()
    peak, samples = {"rss": 0, "anon": 0}, 0
    while process.poll() is None:
        now = sample(process.pid, peak["anon"])
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
