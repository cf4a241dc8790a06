#!/usr/bin/env python3
"""Makes gradients.json: gradients of Σ dy · y for small graphs, by complex steps (Squire & Trapp 1998) through the ops'
definitions alone: no derivative is written down here, and there is no difference to cancel. Needs NumPy."""
import json
from pathlib import Path

import numpy as np

random = np.random.default_rng(7)


def draw(*shape):
    return np.round(random.standard_normal(shape), 3)


def linear(x, w, b):
    return x @ w.T + b


def rms_norm(x, w, eps=1e-5):
    chunks = x.reshape(-1, len(w))
    return (chunks * w / np.sqrt((chunks**2).mean(axis=1, keepdims=True) + eps)).reshape(x.shape)


def rope(x, inv_freq, head_dim, scale):
    out, half = x.copy(), len(inv_freq)
    for row in range(x.shape[0]):
        for head in range(0, x.shape[1], head_dim):
            low, high = x[row, head:head + half], x[row, head + half:head + 2 * half]
            c, s = np.cos(row * inv_freq) * scale, np.sin(row * inv_freq) * scale
            out[row, head:head + half] = low * c - high * s
            out[row, head + half:head + 2 * half] = high * c + low * s
    return out


def attention(q, k, v, heads, kv_heads, dim, scale, window, softcap):
    out = np.zeros(q.shape, dtype=q.dtype) + 0j
    for row in range(q.shape[0]):
        first = max(0, row - window + 1) if window else 0
        for head in range(heads):
            of = slice(head // (heads // kv_heads) * dim, (head // (heads // kv_heads) + 1) * dim)
            mine = slice(head * dim, (head + 1) * dim)
            scores = scale * (k[first:row + 1, of] @ q[row, mine])
            if softcap:
                scores = softcap * np.tanh(scores / softcap)
            p = np.exp(scores - scores.real.max())
            out[row, mine] = (p / p.sum()) @ v[first:row + 1, of]
    return out


def silu(a):
    return a / (1 + np.exp(-a))


def case(name, graph, function, values, constants=()):
    """values: all that the function takes, by name; gradients of all of them. constants: further ones of the graph."""
    names = list(values)
    y = function(*values.values())
    dy = draw(*y.shape)
    gradients = {}
    for name_of in names:
        gradient = np.zeros(values[name_of].shape)
        for index in np.ndindex(gradient.shape):
            moved = {n: v.astype(complex) for n, v in values.items()}
            moved[name_of][index] += 1e-30j
            gradient[index] = np.sum(dy * function(*moved.values()).imag) / 1e-30
        gradients[name_of] = gradient.flatten().tolist()
    flat = {n: np.asarray(v).flatten().tolist() for n, v in {**values, **dict(constants)}.items()}
    shapes = {n: list(np.asarray(v).shape) for n, v in {**values, **dict(constants)}.items()}
    return {"name": name, "graph": graph, "rows": y.shape[0], "values": flat, "shapes": shapes,
            "dy": dy.flatten().tolist(), "gradients": gradients}


def attention_case(name, window, softcap):
    rows, heads, kv_heads, dim, scale = 7, 4, 2, 4, 0.5
    graph = f"""graph attention
input q f32[rows, 16]
input k f32[rows, 8]
input v f32[rows, 8]
input past_k f32[past, 8]
input past_v f32[past, 8]
input past_len i32[1]
y f32[rows, 16], y.scores f32[4, rows, context] = Attention(q, k, v, past_k, past_v, past_len) heads=4 kv_heads=2 head_dim=4 scale=0.5 window={window} softcap={softcap}
output y
"""
    return case(name, graph, lambda q, k, v: attention(q, k, v, heads, kv_heads, dim, scale, window, softcap),
                {"q": draw(rows, 16), "k": draw(rows, 8), "v": draw(rows, 8)})


def norm_case(name, dim, chunk):
    graph = f"""graph norm
input x f32[rows, {dim}]
const w f32[{chunk}]
y f32[rows, {dim}] = RmsNorm(x, w) eps=1e-05
output y
"""
    return case(name, graph, rms_norm, {"x": draw(4, dim), "w": draw(chunk)})


inv_freq = np.array([1.0, 0.25, 0.0625])
cases = [
    case("linear", """graph linear
input x f32[rows, 6]
const w f32[5, 6]
const b f32[5]
y f32[rows, 5] = Linear(x, w, b)
output y
""", linear, {"x": draw(3, 6), "w": draw(5, 6), "b": draw(5)}),
    norm_case("norm of a row", 12, 12),
    norm_case("norm of every head", 12, 4),
    case("rotation of a part of the head", """graph rope
input x f32[rows, 16]
input past_len i32[1]
const inv_freq f32[3]
y f32[rows, 16] = Rope(x, past_len, inv_freq) head_dim=8 scale=1.25
output y
""", lambda x: rope(x, inv_freq, 8, 1.25), {"x": draw(5, 16)}, {"inv_freq": inv_freq}),
    attention_case("attention with shared keys", 0, 0),
    attention_case("attention with window and softcap", 3, 2),
    case("a value used twice", """graph gated
input a f32[rows, 6]
input b f32[rows, 6]
s f32[rows, 6] = Silu(a)
m f32[rows, 6] = Mul(s, b)
y f32[rows, 6] = Add(m, a)
output y
""", lambda a, b: silu(a) * b + a, {"a": draw(4, 6), "b": draw(4, 6)}),
]
Path(__file__).with_name("gradients.json").write_text(
    json.dumps({"made_with": {"numpy": np.__version__}, "cases": cases}, indent=None) + "\n")
for c in cases:
    print(c["name"], {n: round(float(np.abs(g).max()), 3) for n, g in c["gradients"].items()})
