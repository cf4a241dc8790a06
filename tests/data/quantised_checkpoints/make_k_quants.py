#!/usr/bin/env python3
"""Writes k-quants/model.gguf, a little LLaMA of random Q4_K, Q5_K and Q6_K blocks as llama.cpp's Q4_K_M mixes them, and the
logits of the values that they stand for, as NumPy in the package `gguf` decodes them.

usage: make_k_quants.py        (deterministic; needs NumPy and PyPI's gguf 0.17 or later)
"""
import json
import pathlib

import gguf
import numpy as np

import make_quantised as small

small.HIDDEN, small.FFN, small.HEAD = 256, 256, 64  # whole blocks of 256
HEADS = {"q": small.HEADS, "k": small.KV_HEADS}
Q4_K, Q5_K, Q6_K = (gguf.GGMLQuantizationType[name] for name in ("Q4_K", "Q5_K", "Q6_K"))
NAMES = {"self_attn.q_proj": ("attn_q", Q4_K), "self_attn.k_proj": ("attn_k", Q4_K), "self_attn.v_proj": ("attn_v", Q5_K),
         "self_attn.o_proj": ("attn_output", Q4_K), "mlp.gate_proj": ("ffn_gate", Q4_K), "mlp.up_proj": ("ffn_up", Q4_K),
         "mlp.down_proj": ("ffn_down", Q6_K)}
# Where the float16 d and dmin of a block are, and about what they are.
HALVES = {Q4_K: ((0, 1 / 8000), (2, 1 / 1000)), Q5_K: ((0, 1 / 16000), (2, 1 / 1000)), Q6_K: ((208, 1 / 20000),)}


def random_blocks(rng, n, k, kind):
    """[n, bytes of a row]. 6-bit scales and minimums are any; Q6_K's 8-bit scales too, with both signs."""
    raw = rng.integers(0, 256, (n * k // 256, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for at, size in HALVES[kind]:
        values = (rng.uniform(0.5, 1.5, len(raw)) * size).astype(np.float16)
        raw[:, at:at + 2] = values.view(np.uint8).reshape(-1, 2)
    return raw.reshape(n, -1)


def in_halves(values, heads):
    """Rows of a query or key matrix: llama.cpp stores the two of a rotated pair side by side, our model half a head apart."""
    n, k = values.shape
    return values.reshape(heads, n // heads // 2, 2, k).swapaxes(1, 2).reshape(n, k)


def byte_characters():
    """GPT-2's printable character of every byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def add_metadata(writer):
    writer.add_block_count(small.LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(small.HIDDEN)
    writer.add_feed_forward_length(small.FFN)
    writer.add_head_count(small.HEADS)
    writer.add_head_count_kv(small.KV_HEADS)
    writer.add_layer_norm_rms_eps(small.EPS)
    writer.add_rope_freq_base(small.THETA)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(byte_characters())
    writer.add_token_types([1] * 256)
    writer.add_token_merges([])


def main():
    rng = np.random.default_rng(8)
    folder = pathlib.Path(__file__).parent / "k-quants"
    folder.mkdir(exist_ok=True)
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    add_metadata(writer)
    weights = {}

    def add(name, stored, n, k, kind, heads=0):
        raw = random_blocks(rng, n, k, kind)
        writer.add_tensor(stored + ".weight", raw, raw_dtype=kind)
        values = gguf.quants.dequantize(raw, kind).astype(np.float64)
        weights[name] = in_halves(values, heads) if heads else values

    def add_norm(name, stored):
        values = (1 + 0.1 * rng.standard_normal(small.HIDDEN)).astype(np.float32)
        writer.add_tensor(stored + ".weight", values)
        weights[name] = values.astype(np.float64)

    add("model.embed_tokens", "token_embd", small.VOCAB, small.HIDDEN, Q4_K)
    for linear, n, k in small.linears():
        layer, name = linear.split(".", 3)[2:]
        stored, kind = NAMES[name]
        add(linear, f"blk.{layer}.{stored}", n, k, kind, HEADS.get(stored.removeprefix("attn_"), 0))
    for layer in range(small.LAYERS):
        add_norm(f"model.layers.{layer}.input_layernorm", f"blk.{layer}.attn_norm")
        add_norm(f"model.layers.{layer}.post_attention_layernorm", f"blk.{layer}.ffn_norm")
    add_norm("model.norm", "output_norm")
    add("lm_head", "output", small.VOCAB, small.HIDDEN, Q6_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ids = [int(i) for i in rng.integers(0, small.VOCAB, 16)]
    (folder / "expected.json").write_text(json.dumps({"input_ids": ids}) + "\n")
    small.logits(ids, weights).astype(np.float32).tofile(folder / "logits.f32")


if __name__ == "__main__":
    main()
