#!/usr/bin/env python3
"""Makes observers.json: ranges that observers choose, from the elements themselves where the program has histograms.
percentile: NumPy's quantiles of the sorted elements. mse: every pair of ends on the program's grid of candidates tried, each
element rounded and clipped. entropy: Migacz 2017 (GTC, "8-bit Inference with TensorRT") over NumPy's histogram, divergence by
its definition in numpy, likewise for every pair of ends. Needs NumPy."""
import json
from pathlib import Path

import numpy as np

BINS = 4096
TRIES = 2.0 ** (-np.arange(80) / 8)


def elements():
    random = np.random.default_rng(11)
    heavy = random.standard_t(2.5, 3000) * 0.5
    skewed = np.exp(random.standard_normal(3000)) - 0.2
    outlier = np.append(random.standard_normal(2999), 30.0)
    positive = np.abs(random.standard_normal(3000)) * 3
    return {"heavy tails": heavy, "skewed": skewed, "one outlier": outlier, "positive": positive}


def ends(x, symmetric):
    low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
    if symmetric:
        most = max(-low, high)
        return [(-most * t, most * t) for t in TRIES]
    return [(low * s, high * t) for s in (TRIES if low else [1.0]) for t in (TRIES if high else [1.0])]


def squared_error(x, low, high, levels, symmetric):
    if symmetric:
        step, first = high / (levels // 2 - 1), -(levels // 2)
    else:
        step = (high - low) / (levels - 1)
        first = np.rint(low / step)
    return float(np.sum((x - np.clip(np.rint(x / step), first, first + levels - 1) * step) ** 2))


def divergence(x, low, high, levels, symmetric):
    exponent = int(np.frexp(np.abs(x).max())[1])
    counts, edges = np.histogram(x, bins=BINS, range=(-2.0**exponent, 2.0**exponent))
    width = edges[1] - edges[0]
    first, end = int(np.floor(low / width)) + BINS // 2, int(np.floor(high / width)) + 1 + BINS // 2
    inside = counts[first:end].astype(float)
    if len(inside) < levels and inside.sum() < len(x):
        return np.inf
    p = inside.copy()
    p[0] += counts[:first].sum()
    p[-1] += counts[end:].sum()
    q = np.zeros_like(p)
    bounds = np.arange(levels + 1) * len(p) // levels
    for a, b in zip(bounds[:-1], bounds[1:]):
        filled = p[a:b] > 0
        if filled.any():
            q[a:b][filled] = inside[a:b].sum() / filled.sum()
    p, q = p / p.sum(), q / q.sum()
    used = p > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(p[used] * np.log(p[used] / q[used])))


def best(x, symmetric, loss):
    losses = [(loss(x, low, high), low, high) for low, high in ends(x, symmetric)]
    least = min(losses, key=lambda entry: entry[0])
    return {"low": float(least[1]), "high": float(least[2]), "loss": least[0], "whole": losses[0][0]}


cases = []
for name, x in elements().items():
    x = np.round(x, 3).astype(np.float32).astype(np.float64)
    case = {"name": name, "x": [round(float(v), 3) for v in x]}
    for percentile in (99.9, 99.0):
        tail = (100 - percentile) / 200
        case[f"percentile:{percentile:g}"] = [float(np.quantile(x, tail)), float(np.quantile(x, 1 - tail))]
    for loss, bits in ((squared_error, 8), (squared_error, 4), (divergence, 8)):
        for symmetric in (False, True):
            rule = "mse" if loss is squared_error else "entropy"
            found = best(x, symmetric, lambda x, low, high: loss(x, low, high, 2**bits, symmetric))
            case.setdefault("searches", []).append({"rule": rule, "bits": bits, "symmetric": symmetric} | found)
    print(name, {key: value for key, value in case.items() if key not in ("x", "name")})
    cases.append(case)
Path(__file__).with_name("observers.json").write_text(
    json.dumps({"made_with": {"numpy": np.__version__}, "cases": cases}) + "\n")
