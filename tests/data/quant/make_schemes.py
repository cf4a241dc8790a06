#!/usr/bin/env python3
"""Writes schemes.json: matrices rounded to nearest in every scheme of src/base/schemes.def, worked out in NumPy from the
formulas of src/quant/weights.h. Block scales of integer schemes are rounded to nearest (BlockScaleRule::kRound)."""
import json
import pathlib

import numpy as np

SCHEMES = {  # bits, columns per block (0: the row), kind
    "w8-channel": (8, 0, "float"), "w8-block32": (8, 32, "float"), "w4-lpbq32": (4, 32, "integer"),
    "w4-affine32": (4, 32, "affine"), "w4-channel": (4, 0, "float"), "w4-block32": (4, 32, "float"),
    "w4-lpbq16": (4, 16, "integer"), "w4-lpbq64": (4, 64, "integer"), "w4-affine64": (4, 64, "affine"),
    "w4-affine128": (4, 128, "affine"), "w3-channel": (3, 0, "float"), "w3-lpbq32": (3, 32, "integer"),
    "w4-block64": (4, 64, "float"), "w4-block128": (4, 128, "float"),
}
HALF = lambda x: np.float64(np.float16(np.float32(x)))
SINGLE = lambda x: np.float64(np.float32(x))


def quantise(row, bits, block, kind):
    """One row of float32 -> (integers, scales, block scales, minima), all in double but for what is stored."""
    top, width = 2 ** (bits - 1) - 1, block or len(row)
    blocks = [row[i:i + width] for i in range(0, len(row), width)]
    q, scales, block_scales, mins = [], [], [], []
    if kind == "integer":
        channel = SINGLE(np.abs(row).max() / (top * 16)) or 1.0
        scales.append(channel)
    for part in blocks:
        low, high, least = -top, top, 0.0
        if kind == "integer":
            s = int(np.clip(np.rint(np.abs(part).max() / top / channel), 1, 16))
            block_scales.append(s)
            d, low = SINGLE(np.float32(s) * np.float32(channel)), -top - 1
        elif kind == "affine":
            low, high, least = 0, 2 ** bits - 1, HALF(part.min())
            d = HALF((np.float32(part.max()) - np.float32(least)) / np.float32(high)) or 1.0
            mins.append(least)
            scales.append(d)
        else:
            d = SINGLE(np.abs(part).max() / top)
            d = (HALF(d) if block else d) or 1.0
            scales.append(d)
        above = (part.astype(np.float32) - np.float32(least)).astype(np.float64)
        q += [int(v) for v in np.clip(np.rint(above / d), low, high)]
    return q, scales, block_scales, mins


def main():
    rng = np.random.default_rng(11)
    cases = []
    for name, (bits, block, kind) in SCHEMES.items():
        for n, k in ((2, 160), (3, 40)):  # the second with short last blocks
            x = rng.normal(0, 0.05, (n, k)).astype(np.float32)
            x[0, :16] *= 0.01
            x[1, 7] = 0.9
            rows = [quantise(row.astype(np.float64), bits, block, kind) for row in x]
            joined = [sum((list(row[i]) for row in rows), []) for i in range(4)]
            cases.append({"name": name, "shape": [n, k], "x_bits": [f"{v:08x}" for v in x.view(np.uint32).ravel().tolist()],
                          "q": joined[0], "scales": joined[1], "block_scales": joined[2], "mins": joined[3]})
    out = pathlib.Path(__file__).with_name("schemes.json")
    out.write_text(json.dumps({"cases": cases}, indent=None, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
