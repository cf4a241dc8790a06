#!/usr/bin/env python3
"""Makes eval.json: what `hexlane eval` must say, by another implementation in NumPy and float64.

  model        ../checkpoints/llama-gqa read and run here; a token is a byte. Checked against its logits.f32.
  perplexity   windows of the text, the second half of each scored
  questions    log-likelihood of the choices, accuracies as lm-evaluation-harness defines them
  comparison   random distributions: Kullback-Leibler divergence and the rest, from the definitions

Needs NumPy."""
import json
import struct
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "checkpoints/llama-gqa"


def read_weights():
    data = (MODEL / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    weights = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        assert entry["dtype"] == "BF16"
        bits = np.frombuffer(data[begin:end], "<u2").astype(np.uint32) << 16
        weights[name] = bits.view(np.float32).astype(np.float64).reshape(entry["shape"])
    return weights


CONFIG = json.loads((MODEL / "config.json").read_text())
WEIGHTS = read_weights()


def norm(x, weight):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + CONFIG["rms_norm_eps"]) * weight


def rotate(x):  # [heads, positions, head_dim]
    half = x.shape[-1] // 2
    angle = np.outer(np.arange(x.shape[1]), CONFIG["rope_theta"] ** (-np.arange(half) / half))
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1)


def attend(x, weight):
    heads, kv_heads = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"]
    rows = len(x)

    def split(name, count):
        return (x @ weight(f"self_attn.{name}_proj").T).reshape(rows, count, -1).transpose(1, 0, 2)
    q, k, v = rotate(split("q", heads)), rotate(split("k", kv_heads)), split("v", kv_heads)
    k, v = (np.repeat(t, heads // kv_heads, axis=0) for t in (k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + np.triu(np.full((rows, rows), -np.inf), 1)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    out = (p / p.sum(-1, keepdims=True)) @ v
    return out.transpose(1, 0, 2).reshape(rows, -1) @ weight("self_attn.o_proj").T


def logits_of(ids):
    x = WEIGHTS["model.embed_tokens.weight"][list(ids)]
    for layer in range(CONFIG["num_hidden_layers"]):
        def weight(name, layer=layer):
            return WEIGHTS[f"model.layers.{layer}.{name}.weight"]
        x = x + attend(norm(x, weight("input_layernorm")), weight)
        h = norm(x, weight("post_attention_layernorm"))
        gate = h @ weight("mlp.gate_proj").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ weight("mlp.up_proj").T)) @ weight("mlp.down_proj").T
    return norm(x, WEIGHTS["model.norm.weight"]) @ WEIGHTS["lm_head.weight"].T


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def check_model():
    ids = json.loads((MODEL / "expected.json").read_text())["input_ids"]
    golden = np.fromfile(MODEL / "logits.f32", "<f4").reshape(len(ids), -1)
    assert np.abs(logits_of(ids) - golden).max() < 2e-4


def perplexity_case():
    text = "".join(f"Line {i}: the tide came in at {i * 7 % 12} and went out again. " for i in range(4))
    window = 48
    ids = text.encode()
    scored = []
    for begin in range(0, len(ids) - window + 1, window):
        part = ids[begin:begin + window]
        log_p = log_softmax(logits_of(part))
        scored += [log_p[i, part[i + 1]] for i in range(window // 2, window - 1)]
    return {"text": text, "window": window, "tokens": len(scored), "perplexity": float(np.exp(-np.mean(scored)))}


def likelihood(context, choice):
    ids = (context + choice).encode()
    log_p = log_softmax(logits_of(ids))
    first = len(context.encode())
    return float(sum(log_p[i - 1, ids[i]] for i in range(first, len(ids))))


def accuracy(questions, length):
    right = []
    for question in questions:
        scores = [ll / length(c) for ll, c in zip(question["log_likelihoods"], question["choices"])]
        best = sorted(scores)
        assert best[-1] - best[-2] > 1e-3, "too close to tell apart"
        right.append(float(int(np.argmax(scores)) == question["answer"]))
    return {"value": float(np.mean(right)), "stderr": float(np.std(right, ddof=1) / np.sqrt(len(right)))}


def questions_case():
    questions = [
        {"context": "The boats came", "choices": ["in", "out of the harbour", "home"], "answer": 0},
        {"context": "Seven is", "choices": ["odd", "even, or so they say"], "answer": 0},
        {"context": "Water boils at", "choices": ["100 °C", "50 °C", "7 K", "äöüß"], "answer": 0},
        {"context": "Snow is", "choices": ["white", "日本語", "a", "warm"], "answer": 1},
        {"context": "Ice is", "choices": ["cold", "harder than anybody in the village thought"], "answer": 0},
        {"context": "At noon they", "choices": ["ate", "sat down under the old tree to talk"], "answer": 0},
        {"context": "One more", "choices": ["x", "y"], "answer": 1},
        {"context": "Bread and", "choices": ["butter", "salt"], "answer": 0},
    ]
    for question in questions:
        question["log_likelihoods"] = [likelihood(question["context"], " " + c) for c in question["choices"]]
    lengths = {"acc": lambda c: 1, "acc_norm": len, "acc_bytes": lambda c: len(c.encode())}
    figures = {name: accuracy(questions, length) for name, length in lengths.items()}
    assert len({figure["value"] for figure in figures.values()}) == 3, "mixing them up would go unseen"
    return {"questions": questions, **figures}


def comparison_case():
    random = np.random.default_rng(5)
    rows, vocab = 60, 19
    reference = np.round(random.standard_normal((rows, vocab)) * 3 + 10, 3)
    model = np.round(reference + random.standard_normal((rows, vocab)) * np.geomspace(0.01, 2, rows)[:, None] - 7, 3)
    targets = random.integers(0, vocab, rows)
    p, q = log_softmax(reference), log_softmax(model)
    kl = (np.exp(p) * (p - q)).sum(axis=1)
    increase = p[np.arange(rows), targets] - q[np.arange(rows), targets]
    return {"vocab": vocab, "model": model.ravel().tolist(), "reference": reference.ravel().tolist(),
            "targets": targets.tolist(), "kl": kl.tolist(),
            "perplexity": float(np.exp(-np.mean(p[np.arange(rows), targets]))),
            "log_perplexity_increase": float(increase.mean()),
            "log_perplexity_increase_stderr": float(increase.std(ddof=1) / np.sqrt(rows)),
            "log_perplexity_mean_abs_difference": float(np.abs(increase).mean()),
            "kl_mean": float(kl.mean()), "kl_p99": float(np.percentile(kl, 99)), "kl_max": float(kl.max()),
            "top1": float(np.mean(p.argmax(axis=1) == q.argmax(axis=1)))}


def main():
    check_model()
    cases = {"perplexity": perplexity_case(), "questions": questions_case(), "comparison": comparison_case()}
    (HERE / "eval.json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
