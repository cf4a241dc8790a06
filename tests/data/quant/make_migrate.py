#!/usr/bin/env python3
"""Makes migrate.json: the factors of AWQ (Lin et al. 2023, eq. 4 and 5) and of SmoothQuant (Xiao et al. 2022, eq. 4, alpha
0.5), from their definitions, in float64. AWQ's error is that of the outputs over all inputs, added up one by one: no
second moments, which the program uses. Weights are rounded as w4-affine32 (docs/quant.md). Needs NumPy."""
import json
from pathlib import Path

import numpy as np

BLOCK, STEPS = 32, 20


def half(x):
    return np.asarray(x, dtype=np.float16).astype(np.float64)


def rounded(w):
    """w4-affine32, back as real numbers."""
    out = np.empty_like(w)
    for first in range(0, w.shape[1], BLOCK):
        block = w[:, first:first + BLOCK]
        low = half(block.min(axis=1, keepdims=True))
        scale = half((block.max(axis=1, keepdims=True) - low) / 15)
        out[:, first:first + BLOCK] = np.clip(np.rint((block - low) / scale), 0, 15) * scale + low
    return out


def by_group(values, groups, reduce):
    return np.array([reduce([v for v, other in zip(values, groups) if other == g]) for g in groups])


def awq(x, matrices, groups):
    magnitude = by_group(np.mean(np.abs(x), axis=0), groups, np.mean)
    errors, candidates = [], []
    for step in range(STEPS):
        s = np.maximum(magnitude ** (step / STEPS), 1e-4)
        s /= np.sqrt(s.max() * s.min())
        candidates.append(s)
        errors.append(sum(np.sum((x @ (rounded(w * s) / s - w).T) ** 2) for w in matrices))
    order = np.argsort(errors)
    print(f"  exponent {order[0] / STEPS}, error {errors[order[0]]:.4g}, of nearest {errors[0]:.4g}, next best {errors[order[1]]:.4g}")
    assert errors[order[1]] > 1.001 * errors[order[0]], "choose another seed: float32 may take the other one"
    return candidates[order[0]], errors[0], errors[order[0]]


def case(name, k, rows, ns, groups, seed):
    print(name)
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, k)) * np.exp(random.standard_normal(k) * 1.2)
    x = np.round(x, 3).astype(np.float32).astype(np.float64)
    matrices = [np.round(random.standard_normal((n, k)) * 0.05, 4).astype(np.float32).astype(np.float64) for n in ns]
    factors, nearest, error = awq(x, matrices, groups)
    columns = by_group(np.max(np.abs(np.vstack(matrices)), axis=0), groups, np.max)
    smooth = np.sqrt(by_group(np.max(np.abs(x), axis=0), groups, np.max)) / np.sqrt(columns)
    return {"name": name, "k": k, "rows": rows, "x": x.flatten().tolist(), "groups": list(groups),
            "matrices": [w.flatten().tolist() for w in matrices], "awq": factors.tolist(), "smooth": smooth.tolist(),
            "error_nearest": nearest, "error": error}


alone = list(range(64))
shared = [head // 2 * 16 + i for head in range(4) for i in range(16)]  # two heads share the values of one
cases = [case("two matrices", 64, 40, [5, 3], alone, 1), case("shared channels", 64, 40, [6], shared, 2)]
Path(__file__).with_name("migrate.json").write_text(json.dumps({"made_with": {"numpy": np.__version__}, "cases": cases}) + "\n")
