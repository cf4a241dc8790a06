#!/usr/bin/env python3
"""Called by bench/llama7b.sh: converts under a memory sampler and reports; or kills, resumes and compares."""
import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import peak_memory

HEXLANE = "build/release/bin/hexlane"
# What the headline promises. Bits: 4 for each weight and a quarter for scales.
MAX_MINUTES, MAX_GIB, MAX_RATIO, IDEAL_BITS, MAX_FILE_BYTES = 10, 4, 1.08, 4.25, 2e9
# Host memory, GPU or cloud, time; as published by their makers (AI Hub: LLM recipes of
# github.com/quic/ai-hub-models; ExecuTorch: its Qualcomm Llama page), the last in a user's account.
PEERS = [
    ("Qualcomm AI Hub, 1B / 3B / 8B", "50 / 80 / 150 GB with swap", "40 (3B) - 80 (8B) GB GPU, cloud account", "2-3 h"),
    ("ExecuTorch QNN, Llama up to 3B", "80-100 GB", "no", "1-4 h"),
    ("stock converter, LLaMA-7B (one user)", "> 20 GB", "no", '"tens of minutes or longer"'),
]


def command(options, package):
    return [HEXLANE, "convert", options.model, *options.convert, "-o", str(package), "--json"]


def convert(options, package):
    """A conversion from nothing, its report and its figures."""
    shutil.rmtree(package, ignore_errors=True)
    output = options.work / "convert.json"
    with open(output, "w") as stream:
        process = subprocess.Popen(command(options, package), stdout=stream)
    figures = peak_memory.watch(process)
    report = json.loads(output.read_text() or "{}")
    if process.returncode != 0:
        sys.exit(f"convert failed with {process.returncode}: {report.get('error')}")
    return report, figures


def machine():
    with open("/proc/meminfo") as meminfo:
        total = int(meminfo.readline().split()[1]) / (1 << 20)
    return f"{len(os.sched_getaffinity(0))} processors, {total:.0f} GiB of memory, no GPU"


def row(name, value, limit, good):
    print(f"  {name:34} {value:>14}   {limit:18} {'yes' if good else 'NO'}")
    return good


def headline(options):
    report, figures = convert(options, options.work / "package")
    binaries = [f["bytes"] for f in report["files"] if f["path"].startswith("htp/") and f["path"].endswith(".bin")]
    ideal = report["parameters"] * IDEAL_BITS / 8
    minutes, gib = figures["seconds"] / 60, figures["peak_anon_mib"] / 1024
    ratio, largest = sum(binaries) / ideal, max((f["bytes"] for f in report["files"]), default=0)
    largest_binary = max(binaries, default=0)
    print(f"{options.model}: {report['parameters'] / 1e6:.1f} M parameters, {' '.join(options.convert)}")
    print(f"on {machine()}; memory sampled {figures['samples_per_second']:.0f} times a second")
    good = [
        row("wall time", f"{minutes:.1f} min", f"<= {MAX_MINUTES} min", minutes <= MAX_MINUTES),
        row("peak memory, anonymous + shared", f"{gib:.2f} GiB", f"<= {MAX_GIB} GiB", gib <= MAX_GIB),
        row("context binaries together", f"{sum(binaries) / 1e9:.3f} GB", "some", bool(binaries)),
        row(f"over parameters x {IDEAL_BITS} bits", f"{ratio:.3f}", f"<= {MAX_RATIO}", ratio <= MAX_RATIO),
        row("largest of them", f"{largest_binary / 1e9:.3f} GB", f"<= {MAX_FILE_BYTES / 1e9:.0f} GB",
            largest_binary <= MAX_FILE_BYTES),
        row("memory samples a second", f"{figures['samples_per_second']:.1f}", ">= 5", figures["samples_per_second"] >= 5),
    ]
    print(f"  with mapped files: {figures['peak_rss_mib'] / 1024:.2f} GiB; largest file of the package: {largest / 1e9:.3f} GB")
    for warning in report["warnings"]:
        print(f"  warning: {warning}")
    print("As published:")
    for name, memory, gpu, hours in PEERS:
        print(f"  {name:38} {memory:28} {gpu:42} {hours}")
    return all(good)


def digests(package):
    files = sorted(path for path in package.rglob("*") if path.is_file())
    result = {}
    for path in files:
        with open(path, "rb") as stream:
            result[str(path.relative_to(package))] = hashlib.file_digest(stream, "sha256").hexdigest()
    return result


def kill_tree(process):
    """SIGKILL to the command and everything it started, stopped first so that nothing escapes."""
    pids = peak_memory.tree(process.pid)
    for signal_number in signal.SIGSTOP, signal.SIGKILL:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal_number)
        pids = sorted(set(pids + peak_memory.tree(process.pid)))
    process.wait()


def run_for(options, package, seconds):
    """Starts or resumes the conversion; True when it ended by itself, False when it was killed."""
    with open(options.work / "killed.log", "ab") as log:
        process = subprocess.Popen(command(options, package), stdout=log, stderr=log)
    try:
        code = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill_tree(process)
        return False
    if code != 0:
        sys.exit(f"a resumed conversion failed with {code}: see {options.work / 'killed.log'}")
    return True


def differences(reference, package):
    got = digests(package)
    return sorted(name for name in reference.keys() | got.keys() if reference.get(name) != got.get(name))


def kill_and_compare(options):
    moments = random.Random(options.seed)
    undisturbed, killed = options.work / "undisturbed", options.work / "killed"
    _, figures = convert(options, undisturbed)
    reference = digests(undisturbed)
    print(f"undisturbed: {figures['seconds']:.0f} s, {len(reference)} files")
    shutil.rmtree(killed, ignore_errors=True)
    kills, good, spent = 0, True, 0.0
    while kills < options.kill or spent > 0:
        # On average all kills together let it run as long as it needs.
        limit = moments.uniform(0, 2 * figures["seconds"] / (options.kill + 1)) if kills < options.kill else None
        start = time.monotonic()
        ended = run_for(options, killed, limit)
        spent += time.monotonic() - start
        if not ended:
            kills += 1
            print(f"kill {kills}: after {limit:.1f} s", flush=True)
            continue
        different = differences(reference, killed)
        print(f"ended after {kills} kills, {spent:.0f} s of work; "
              f"{'all files the same' if not different else 'DIFFERENT: ' + ', '.join(different)}", flush=True)
        good, spent = good and not different, 0.0
        if kills < options.kill:
            shutil.rmtree(killed)
    left = sorted(path.name for path in options.work.iterdir() if "killed" in path.name)
    print(f"left in {options.work}: {', '.join(left)}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("model")
    parser.add_argument("convert", nargs="*")
    options = parser.parse_args()
    sys.exit(0 if (kill_and_compare(options) if options.kill else headline(options)) else 1)


main()
