#!/usr/bin/env python3
"""Makes gptq.json: integers by the method's definition, one column after the other with the inverse Hessian brought up to
date by Gaussian elimination (Frantar & Alistarh 2022, "Optimal Brain Compression", eq. 3 and 4), in float64. No Cholesky factor,
no blocks of columns: another way than the program's to what must be the same integers. Needs NumPy."""
import json
from pathlib import Path

import numpy as np


def case(name, n, k, rows, low, high, rank, seed):
    random = np.random.default_rng(seed)
    # Inputs with few strong directions, so that columns can make good for each other; one channel is dead.
    x = random.standard_normal((rows, rank)) @ random.standard_normal((rank, k)) + 0.3 * random.standard_normal((rows, k))
    x *= np.exp(random.standard_normal(k) * 0.7)
    x[:, k // 3] = 0
    x = np.round(x, 2).astype(np.float32)
    w = np.round(random.standard_normal((n, k)) * 0.05, 4).astype(np.float32)
    scale = np.repeat(np.abs(w.reshape(n, k // 32, 32)).max(axis=2) / high, 32, axis=1).astype(np.float32)

    h = x.astype(np.float64).T @ x.astype(np.float64)
    h[np.diag_indices(k)] += 0.01 * np.mean(np.diag(h))
    order = np.argsort(-np.diag(h), kind="stable")
    inverse = np.linalg.inv(h)
    left = w.astype(np.float64)
    q = np.zeros((n, k), dtype=int)
    closest = np.inf
    for j in order:
        level = left[:, j] / scale[:, j]
        closest = min(closest, np.min(np.abs(level - np.floor(level) - 0.5)))
        q[:, j] = np.clip(np.rint(level), low, high)
        error = (left[:, j] - q[:, j] * scale[:, j].astype(np.float64)) / inverse[j, j]
        left -= np.outer(error, inverse[j])
        inverse -= np.outer(inverse[:, j], inverse[j]) / inverse[j, j]
        inverse[j, :] = inverse[:, j] = 0
        inverse[j, j] = 1
    nearest = np.clip(np.rint(w / scale), low, high)

    def output_error(integers):
        return float(np.sum((x.astype(np.float64) @ (integers * scale - w).T.astype(np.float64)) ** 2))

    print(f"{name}: output error {output_error(q):.4g}, to nearest {output_error(nearest):.4g}, closest tie {closest:.2g}")
    assert closest > 2e-5, "choose another seed: float32 may round this the other way"
    return {"name": name, "low": low, "n": n, "k": k, "rows": rows, "x": [round(float(v), 2) for v in x.flatten()],
            "w": [round(float(v), 4) for v in w.flatten()],
            "scale": scale[:, ::32].flatten().tolist(), "q": q.flatten().tolist(),
            "error": output_error(q), "error_nearest": output_error(nearest)}


cases = [case("8 bits", 4, 64, 48, -127, 127, 6, 3), case("4 bits", 4, 64, 48, -8, 7, 6, 4),
         case("8 bits, more columns than are gathered", 3, 160, 80, -127, 127, 10, 5)]
Path(__file__).with_name("gptq.json").write_text(json.dumps({"made_with": {"numpy": np.__version__}, "cases": cases}) + "\n")
