#!/usr/bin/env python3
"""Called by bench/decode_roofline.sh."""
import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

BIN = Path(__file__).resolve().parent.parent / "build/release/bin"


def run(*command):
    out = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


class Traffic:
    """Bytes that one decoded token reads."""

    def __init__(self, package):
        weights = json.loads((package / "weights.json").read_text())["weights"]
        by_name = {weight["name"]: weight for weight in weights}
        plan = json.loads((package / "manifest.json").read_text())["plan"]
        variant = next(variant for variant in plan["variants"] if variant["name"] == "cpu")
        self.weights = self.per_position = 0
        for part in variant["parts"]:
            tape = json.loads((package / part["files"][0]).read_text())
            self.read_steps(tape["steps"], by_name)

    def read_steps(self, steps, by_name):
        for step in steps:
            for name in step.get("weights", []):
                weight = by_name[name]
                rows = weight["shape"][0] if step["op"] == "embedding" else 1  # one row of the table
                self.weights += weight["bytes"] / rows
            if step["op"] == "attention":  # keys and values, float16
                self.per_position += 2 * 2 * step["kv_heads"] * step["head_dim"]

    def bytes(self, positions):
        return self.weights + self.per_position * positions


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--prompt", type=int, default=16)
    parser.add_argument("--decode", type=int, default=32)
    options = parser.parse_args()
    traffic = Traffic(options.package)
    read = traffic.bytes(options.prompt + (options.decode + 1) / 2)
    bandwidth, mapped, decode = [], [], []
    for _ in range(options.rounds):
        bandwidth.append(run(BIN / "bandwidth", "--threads", options.threads, "--passes", 5)["gb_s"])
        decode.append(run(BIN / "hexlane", "bench", options.package, "--backend", "cpu", "--json", "--threads",
                          options.threads, "--repetitions", 1, "--prompt-tokens", options.prompt,
                          "--decode-tokens", options.decode)["decode_tok_s"])
        mapped.append(run(BIN / "bandwidth", "--threads", options.threads, "--passes", 1,
                          options.package / "weights.bin")["gb_s"])
    shares = [rate * read / 1e9 / limit for rate, limit in zip(decode, bandwidth)]
    rate, limit = statistics.median(decode), statistics.median(bandwidth)
    print(f"{options.package}: {read / 1e9:.3f} GB a token, {traffic.weights / 1e9:.3f} of them weights")
    print(f"{options.threads} threads, {options.decode} tokens after {options.prompt}, medians of {options.rounds} rounds")
    print(f"  memory reads {limit:.1f} GB/s (mapped weights.bin {statistics.median(mapped):.1f})"
          f" = {limit * 1e9 / read:.2f} tokens/s at most")
    print(f"  decode {rate:.2f} tokens/s = {rate * read / 1e9:.1f} GB/s = {statistics.median(shares):.0%} of the limit"
          f" (rounds: {' '.join(f'{share:.0%}' for share in shares)})")


main()
