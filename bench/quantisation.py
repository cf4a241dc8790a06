#!/usr/bin/env python3
"""See bench/quantisation.sh."""
import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEXLANE = ROOT / "build/release/bin/hexlane"
MODEL = ROOT / ".assets/SmolLM2-135M-Instruct.Q4_1.gguf"
CALIBRATION = ROOT / "data/calibration.txt"
TEXT = ROOT / "tests/data/text/prose.txt"
TOKENS = 40960


def hexlane(*arguments):
    done = subprocess.run([HEXLANE, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"hexlane {' '.join(map(str, arguments))}\n{done.stderr}")
    return json.loads(done.stdout)


def mix(scheme, algorithm, bits, file):
    """Writes overrides that meet the budget; gives the seconds it took."""
    return hexlane("sensitivity", MODEL, "--quant", scheme, "--algorithm", algorithm, "--max-bits", bits, "-o", file)["seconds"]


def measure(row, work):
    """One row: convert to the CPU package, evaluate it as fake-quantised graph and as package."""
    scheme, algorithm, *how = row
    package, shown, options, seconds = work / name(row), {"scheme": scheme, "algorithm": algorithm}, [], 0
    verb = "convert"
    if how == ["finetune"]:
        verb, shown["algorithm"] = "finetune", f"{algorithm}, fine-tuned"
    elif how:
        options, shown["scheme"] = ["--overrides", work / f"{name(row)}.overrides.json"], f"{scheme}, {how[0]} bits"
        seconds = mix(scheme, algorithm, how[0], options[1])
    converted = hexlane(verb, MODEL, "--quant", scheme, "--algorithm", algorithm, "--calibration", CALIBRATION,
                        "--calibration-tokens", TOKENS, "--force", "-o", package, *options)
    compared = ["--text", TEXT, "--reference", work / "float.reference"]
    quant = hexlane("eval", package, "--stage", "quant", *compared)
    cpu = hexlane("eval", package, "--stage", "cpu", *compared)
    shutil.rmtree(package)
    return {**shown, "bits": converted["bits_per_weight"], "seconds": seconds + converted["seconds"],
            "peak_mib": converted["peak_rss_bytes"] / 2**20, "quant": quant, "cpu": cpu}


def name(row):
    return "-".join(row)


def figures(rows, work):
    for row in rows:
        kept = work / f"{name(row)}.json"
        if not kept.exists():
            kept.write_text(json.dumps(measure(row, work), indent=1) + "\n")
        measured = json.loads(kept.read_text())
        print(f"{' '.join(row)}: {measured['quant']['perplexity']:.2f}", file=sys.stderr, flush=True)
        yield measured


def table(rows):
    nearest = {row["scheme"]: row for row in rows if row["algorithm"] == "rtn"}
    base = rows[0]["quant"]["against"]["perplexity"]
    lines = [f"Float: perplexity {base:.2f}.\n\n",
             "| scheme | algorithm | perplexity, fake-quantised | CPU package | log increase | of RTN's removed | KL | same best token "
             "| bits per weight | seconds | peak MiB |\n", "|---|---|---|---|---|---|---|---|---|---|---|\n"]
    for row in rows:
        quant, cpu = row["quant"], row["cpu"]
        increase = quant["against"]["log_perplexity_increase"]
        removed = "–"
        if row["algorithm"] != "rtn" and row["scheme"] in nearest:
            of_nearest = nearest[row["scheme"]]["quant"]["against"]["log_perplexity_increase"]
            removed = f"{1 - increase / of_nearest:.0%}"
        lines.append(f"| `{row['scheme']}` | `{row['algorithm']}` | {quant['perplexity']:.2f} | {cpu['perplexity']:.2f} | "
                     f"{increase:.2%} | {removed} | {quant['against']['kl_mean']:.4f} | {quant['against']['top1']:.1%} | "
                     f"{row['bits']:.2f} | {row['seconds']:.0f} | {row['peak_mib']:.0f} |\n")
    return "".join(lines)


def listed(text):
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if any(len(row) not in (2, 3) for row in rows):
        sys.exit("a row is a scheme, an algorithm and perhaps bits per weight, or finetune")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    text = options.rows.replace(",", "\n") if options.rows else Path(__file__).with_suffix(".txt").read_text()
    work = options.keep or Path(tempfile.mkdtemp(prefix="quantisation-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        made = table(list(figures(listed(text), work)))
    finally:
        if not options.keep:
            shutil.rmtree(work)
    print(made, end="")


main()
