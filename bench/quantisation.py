#!/usr/bin/env python3
"""See bench/quantisation.sh."""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEXLANE = ROOT / "build/release/bin/hexlane"
MODEL = ROOT / ".assets/SmolLM2-135M-Instruct.Q4_1.gguf"
CALIBRATION = ROOT / "data/calibration.txt"
TEXT = ROOT / "tests/data/text/prose.txt"
TOKENS = 16384

Row = namedtuple("Row", "name scheme algorithm tokens bits finetune")


def hexlane(*arguments):
    done = subprocess.run([HEXLANE, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"hexlane {' '.join(map(str, arguments))}\n{done.stderr}")
    return json.loads(done.stdout)


def mix(scheme, algorithm, bits, file):
    """Writes overrides that meet the budget; gives the seconds it took."""
    return hexlane("sensitivity", MODEL, "--quant", scheme, "--algorithm", algorithm, "--max-bits", bits, "-o", file)["seconds"]


def evaluate(package, work):
    compared = ["--text", TEXT, "--reference", work / "float.reference"]
    return {stage: hexlane("eval", package, "--stage", stage, *compared) for stage in ("quant", "cpu")}


def measure(row, work):
    """One row: convert to the CPU package, evaluate it as fake-quantised graph and as package."""
    package, options, seconds = work / row.name, [], 0
    if row.bits:
        options = ["--overrides", work / f"{row.name}.overrides.json"]
        seconds = mix(row.scheme, row.algorithm, row.bits, options[1])
    converted = hexlane("finetune" if row.finetune else "convert", MODEL, "--quant", row.scheme, "--algorithm", row.algorithm,
                        "--calibration", CALIBRATION, "--calibration-tokens", row.tokens, "--force", "-o", package, *options)
    evaluated = evaluate(package, work)
    shutil.rmtree(package)
    return {"bits": converted["bits_per_weight"], "seconds": seconds + converted["seconds"],
            "peak_mib": converted["peak_rss_bytes"] / 2**20, **evaluated}


def figures(rows, work):
    for row in rows:
        kept = work / f"{row.name}.json"
        if not kept.exists():
            kept.write_text(json.dumps(measure(row, work), indent=1) + "\n")
        measured = json.loads(kept.read_text())
        print(f"{row.name}: {measured['quant']['perplexity']:.2f}", file=sys.stderr, flush=True)
        yield row, measured


def table(rows):
    nearest = {row.scheme: measured for row, measured in rows if row.algorithm == "rtn"}
    base = rows[0][1]["quant"]["against"]["perplexity"]
    lines = [f"Float: perplexity {base:.2f}.\n\n",
             "| scheme | algorithm | tokens | perplexity, fake-quantised | CPU package | log increase | of RTN's removed | KL "
             "| same best token | bits per weight | seconds | peak MiB |\n", "|---|---|---|---|---|---|---|---|---|---|---|---|\n"]
    for row, measured in rows:
        against, removed = measured["quant"]["against"], "–"
        if row.algorithm != "rtn" and row.scheme in nearest and not row.bits:
            of_nearest = nearest[row.scheme]["quant"]["against"]["log_perplexity_increase"]
            if of_nearest > 0:
                removed = f"{1 - against['log_perplexity_increase'] / of_nearest:.0%}"
        lines.append(f"| `{row.scheme}`{f', {row.bits} bits' if row.bits else ''} | `{row.algorithm}`"
                     f"{', fine-tuned' if row.finetune else ''} | {row.tokens} | {measured['quant']['perplexity']:.2f} | "
                     f"{measured['cpu']['perplexity']:.2f} | {against['log_perplexity_increase']:.2%} | {removed} | "
                     f"{against['kl_mean']:.4f} | {against['top1']:.1%} | {measured['bits']:.2f} | {measured['seconds']:.0f} | "
                     f"{measured['peak_mib']:.0f} |\n")
    return "".join(lines)


def parse(line):
    scheme, algorithm, *more = line.split()
    options = dict(word.partition("=")[::2] for word in more)
    if not options.keys() <= {"tokens", "bits", "finetune"}:
        sys.exit(f"'{line}': after scheme and algorithm come tokens=N, bits=N or finetune")
    return Row("-".join(line.split()), scheme, algorithm, int(options.get("tokens", TOKENS)), options.get("bits"),
               "finetune" in options)


def listed(text):
    return [parse(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]


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
