#!/usr/bin/env python3
"""Writes little LLaMA checkpoints as GPTQ, AWQ and compressed-tensors store them, with what a reader must make of them.

usage: make_quantised.py [FOLDER]        (default: the script's own folder; deterministic; needs NumPy only)

Written from the definitions of the formats, with NumPy and nothing of Hexlane. Integers q, zero points z and scales s
are drawn first; every layout stores them in its own way, so that what it means is known: w = (q - z) s. Per folder:
  expected.json  for each quantised matrix: shape, SHA-256 of its float32 values, bits, group and whether all z are
                 the middle; input_ids
  logits.f32     [positions, vocabulary] of the float model with these weights, computed in float64
"""
import hashlib
import json
import os
import struct
import sys

import numpy as np

HIDDEN, FFN, HEADS, KV_HEADS, VOCAB, LAYERS, EPS, THETA = 128, 256, 4, 2, 256, 1, 1e-5, 10000.0
HEAD = HIDDEN // HEADS
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # the element that is put into each nibble, from the lowest on


def linears():
    kv = KV_HEADS * HEAD
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        for name, n, k in [("self_attn.q_proj", HIDDEN, HIDDEN), ("self_attn.k_proj", kv, HIDDEN),
                           ("self_attn.v_proj", kv, HIDDEN), ("self_attn.o_proj", HIDDEN, HIDDEN),
                           ("mlp.gate_proj", FFN, HIDDEN), ("mlp.up_proj", FFN, HIDDEN),
                           ("mlp.down_proj", HIDDEN, FFN)]:
            yield at + name, n, k


def pack(values, bits, axis, order=None):
    """Unsigned integers along `axis` into int32 words; order[i]: which of the neighbours is in place i."""
    count = 32 // bits
    values = np.moveaxis(values, axis, -1).astype(np.uint64)
    values = values.reshape(values.shape[:-1] + (-1, count))
    words = np.zeros(values.shape[:-1], np.uint64)
    for place in range(count):
        words |= values[..., order[place] if order else place] << np.uint64(bits * place)
    return np.moveaxis(words.astype(np.uint32).view(np.int32), -1, axis)


def bf16(values):
    """float32 whose low 16 bits are dropped, and these bits."""
    bits = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return bits, (bits.astype(np.uint32) << 16).view(np.float32)


class Matrix:
    def __init__(self, rng, n, k, bits, group, symmetric, wide_scales=False, act_order=False):
        self.bits, self.group, self.symmetric = bits, group if group > 0 else k, symmetric
        groups, top = k // self.group, 1 << bits
        self.q = rng.integers(0, top, (n, k))
        self.z = np.full((n, groups), top // 2) if symmetric else rng.integers(0, top, (n, groups))
        s = rng.uniform(0.5, 1.5, (n, groups)) * (0.6 / top)
        self.s = bf16(s)[1] if wide_scales else s.astype(np.float16).astype(np.float32)
        self.g = np.arange(k) // self.group
        if act_order:
            self.g = rng.permutation(self.g)

    def values(self):
        return ((self.q - self.z[:, self.g]).astype(np.float64) * self.s[:, self.g]).astype(np.float32)


def gptq(m, v2):
    zeros = m.z if v2 else (m.z - 1) % (1 << m.bits)
    return {"qweight": ("I32", pack(m.q.T, m.bits, 0)), "qzeros": ("I32", pack(zeros.T, m.bits, 1)),
            "scales": ("F16", m.s.T.astype(np.float16)), "g_idx": ("I32", m.g.astype(np.int32))}


def awq(m):
    return {"qweight": ("I32", pack(m.q.T, 4, 1, AWQ_ORDER)), "qzeros": ("I32", pack(m.z.T, 4, 1, AWQ_ORDER)),
            "scales": ("F16", m.s.T.astype(np.float16))}


def compressed(m):
    """Integers there are signed and stored with 2^(bits-1) added: q and z as drawn."""
    parts = {"weight_packed": ("I32", pack(m.q, m.bits, 1)), "weight_scale": ("BF16", bf16(m.s)[0]),
             "weight_shape": ("I64", np.array(m.q.shape, np.int64))}
    if not m.symmetric:
        parts["weight_zero_point"] = ("I32", pack(m.z, m.bits, 0))
    return parts


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, values) in tensors.items():
        raw = np.ascontiguousarray(values).tobytes()
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(head)) + head + data)


def norm(x, w):
    return x * w / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)


def rope(x):  # [positions, heads, HEAD], rotate-half
    angle = np.arange(len(x))[:, None] * THETA ** (-np.arange(HEAD // 2) * 2.0 / HEAD)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., :HEAD // 2], x[..., HEAD // 2:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attention(x, w, at):
    count = len(x)
    q = rope((x @ w[at + "q_proj"].T).reshape(count, HEADS, HEAD))
    k = rope((x @ w[at + "k_proj"].T).reshape(count, KV_HEADS, HEAD))
    v = (x @ w[at + "v_proj"].T).reshape(count, KV_HEADS, HEAD)
    out = np.zeros((count, HEADS, HEAD))
    for head in range(HEADS):
        shared = head // (HEADS // KV_HEADS)
        scores = q[:, head] @ k[:, shared].T / np.sqrt(HEAD) + np.triu(np.full((count, count), -np.inf), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out[:, head] = weights / weights.sum(-1, keepdims=True) @ v[:, shared]
    return out.reshape(count, -1) @ w[at + "o_proj"].T


def logits(ids, w):
    x = w["model.embed_tokens"][ids]
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        x = x + attention(norm(x, w[at + "input_layernorm"]), w, at + "self_attn.")
        h = norm(x, w[at + "post_attention_layernorm"])
        gate = h @ w[at + "mlp.gate_proj"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w[at + "mlp.up_proj"].T)) @ w[at + "mlp.down_proj"].T
    return norm(x, w["model.norm"]) @ w["lm_head"].T


def plain_tensors(rng):
    def halves(*shape, around=0.0, spread=1.0):
        return (around + spread * rng.standard_normal(shape)).astype(np.float16)
    tensors = {"model.embed_tokens": halves(VOCAB, HIDDEN), "lm_head": halves(VOCAB, HIDDEN, spread=0.1),
               "model.norm": halves(HIDDEN, around=1, spread=0.1)}
    for i in range(LAYERS):
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{i}.{name}"] = halves(HIDDEN, around=1, spread=0.1)
    return tensors


def config(quantisation):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
            "intermediate_size": FFN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS, "vocab_size": VOCAB, "max_position_embeddings": 128,
            "rms_norm_eps": EPS, "hidden_act": "silu", "rope_theta": THETA, "tie_word_embeddings": False,
            "bos_token_id": 1, "eos_token_id": 2, "attention_bias": False, "mlp_bias": False,
            "quantization_config": quantisation}


def write_weights(folder, tensors, shards):
    """In turns over the shards, so that the parts of one matrix are in different files."""
    if shards == 1:
        write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
        return
    files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    index = {name: files[i % shards] for i, name in enumerate(tensors)}
    for file in files:
        write_safetensors(os.path.join(folder, file), {n: t for n, t in tensors.items() if index[n] == file})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as out:
        json.dump({"metadata": {}, "weight_map": index}, out, indent=1)


def write_folder(root, seed, name, quantisation, layout, bits, group, symmetric, shards=1, biases=False, **options):
    rng = np.random.default_rng(seed)
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    plain = plain_tensors(rng)
    weights = {key: value.astype(np.float64) for key, value in plain.items()}
    tensors = {key + ".weight": ("F16", value) for key, value in plain.items()}
    expected = {}
    for linear, n, k in linears():
        m = Matrix(rng, n, k, bits, group, symmetric, **options)
        for part, value in layout(m).items():
            tensors[f"{linear}.{part}"] = value
        if biases:
            tensors[f"{linear}.bias"] = ("F16", np.zeros(n, np.float16))
        values = m.values()
        weights[linear] = values.astype(np.float64)
        expected[linear + ".weight"] = {"shape": [n, k], "sha256": hashlib.sha256(values.tobytes()).hexdigest(),
                                        "bits": bits, "group": m.group, "symmetric": symmetric}
    write_weights(folder, tensors, shards)
    ids = [int(i) for i in rng.integers(0, VOCAB, 16)]
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump(config(quantisation), out, indent=1)
    with open(os.path.join(folder, "expected.json"), "w") as out:
        json.dump({"input_ids": ids, "tensors": expected}, out, indent=1)
    logits(ids, weights).astype(np.float32).tofile(os.path.join(folder, "logits.f32"))


def gptq_config(bits, group, sym, desc_act=False, **more):
    return {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": sym, "desc_act": desc_act, **more}


def compressed_config(bits, group, symmetric):
    weights = {"num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": "group" if group else "channel",
               "group_size": group, "actorder": None, "dynamic": False}
    return {"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed",
            "ignore": ["lm_head"], "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write_folder(root, 1, "gptq-4bit-32", gptq_config(4, 32, False), lambda m: gptq(m, False), 4, 32, False,
                 shards=2, biases=True)
    write_folder(root, 2, "gptq-8bit-128", gptq_config(8, 128, True, checkpoint_format="gptq_v2"),
                 lambda m: gptq(m, True), 8, 128, True)
    write_folder(root, 3, "gptq-act-order", gptq_config(4, 64, True, True), lambda m: gptq(m, False), 4, 64, True,
                 act_order=True)
    write_folder(root, 4, "awq-4bit-128", {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm",
                                           "zero_point": True}, awq, 4, 128, False)
    write_folder(root, 5, "compressed-4bit-64", compressed_config(4, 64, True), compressed, 4, 64, True,
                 wide_scales=True)
    write_folder(root, 6, "compressed-4bit-channel", compressed_config(4, None, False), compressed, 4, -1, False,
                 wide_scales=True)
    write_folder(root, 7, "gptq-4bit-channel", gptq_config(4, -1, True), lambda m: gptq(m, False), 4, -1, True)


if __name__ == "__main__":
    main()
