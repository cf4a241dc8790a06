#!/usr/bin/env python3
"""Makes sensitivity.json: what `hexlane sensitivity --quant w8a16` must find on ../checkpoints/llama-gqa, in NumPy and float64.

Each matrix alone is rounded to 8 bits per row (symmetric, scale max|w| / 127 in float32, half to even); figures are of
the logits of all positions of one window, a token being a byte: mean Kullback-Leibler divergence from the float model, nats, and
signal-to-noise ratio. `layers` has the same for all matrices of a layer at once.

Needs NumPy and make_eval.py beside it."""
import json

import numpy as np

import make_eval as model

TEXT = "The lighthouse keeper counted nine ships before the fog came in, wrote the number down and lit the lamp an hour before its time."


def round_rows(matrix):
    scale = (np.abs(matrix).max(axis=1, keepdims=True) / 127).astype(np.float32).astype(np.float64)
    return np.rint(matrix / scale) * scale


def ours(name):
    name = name.removesuffix(".weight")
    if name == "model.embed_tokens":
        return "embed"
    return name.replace("model.", "").replace("self_attn.", "").replace("mlp.", "")


def damage(names, exact):
    kept = {name: model.WEIGHTS[name] for name in names}
    for name in names:
        model.WEIGHTS[name] = round_rows(kept[name])
    logits = model.logits_of(TEXT.encode())
    model.WEIGHTS.update(kept)
    p, q = model.log_softmax(exact), model.log_softmax(logits)
    kl = (np.exp(p) * (p - q)).sum(axis=1).mean()
    return {"kl": float(kl), "snr_db": float(10 * np.log10((exact ** 2).sum() / ((logits - exact) ** 2).sum()))}


def main():
    model.check_model()
    exact = model.logits_of(TEXT.encode())
    matrices = [name for name in model.WEIGHTS if model.WEIGHTS[name].ndim == 2]
    layers = {}
    for name in matrices:
        key = ours(name)
        unit = ".".join(key.split(".")[:2]) if key.startswith("layers") else {"lm_head": "head"}.get(key, key)
        layers.setdefault(unit, []).append(name)
    assert len(TEXT) == 128
    (model.HERE / "sensitivity.json").write_text(json.dumps({
        "text": TEXT, "matrices": {ours(name): damage([name], exact) for name in matrices},
        "layers": {unit: damage(names, exact) for unit, names in layers.items()}}) + "\n")


if __name__ == "__main__":
    main()
