#!/usr/bin/env python3
"""See bench/families.sh."""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEXLANE = ROOT / "build/release/bin/hexlane"
SCHEMES = ["w8a16", "w4a16", "w4c-a16", "w3a16", "w4a8", "w4-asym", "w4-asym128"]
ALGORITHMS = ["rtn", "search+gptq", "rotate+search+gptq"]


def byte_tokenizer():
    """A token for each byte: GPT-2's printable stand-ins for bytes, without merges."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    stand_in = {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}
    level = {"type": "ByteLevel", "add_prefix_space": False}
    return {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level, "post_processor": None,
            "decoder": level, "model": {"type": "BPE", "vocab": {stand_in[byte]: byte for byte in range(256)}, "merges": []}}


def hexlane(*arguments, codes=(0,)):
    done = subprocess.run([HEXLANE, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"hexlane {' '.join(map(str, arguments))}\n{done.stderr}")
    return json.loads(done.stdout)


def snrs(model, scheme, algorithm, package):
    """Signal-to-noise ratio in dB of each layer's output, fake-quantised against float."""
    hexlane("convert", model, "--quant", scheme, "--algorithm", algorithm, "--calibration-tokens", 4096, "--context", 64,
            "--prefill-rows", 16, "--force", "-o", package)
    report = hexlane("verify", package, codes=(0, 1))  # 1: a loss that a trained model would not have
    return [layer["snr_db"] for layer in report["layers"] if layer["stage"] == "quant" and layer["name"].startswith("layers.")]


def main():
    families = sys.argv[1:] or ["qwen2", "qwen3"]
    print("| family | scheme |" + "".join(f" `{algorithm}` |" for algorithm in ALGORITHMS))
    print("|---|---|" + "---|" * len(ALGORITHMS))
    with tempfile.TemporaryDirectory(prefix="families-") as scratch:
        for family in families:
            model = Path(scratch) / family
            shutil.copytree(ROOT / "tests/data/checkpoints" / family, model)
            (model / "tokenizer.json").write_text(json.dumps(byte_tokenizer()))
            for scheme in SCHEMES:
                cells = (snrs(model, scheme, algorithm, f"{model}.hexlane") for algorithm in ALGORITHMS)
                print(f"| {family} | `{scheme}` |" + "".join(f" {' '.join(f'{snr:.1f}' for snr in cell)} |" for cell in cells))


main()
