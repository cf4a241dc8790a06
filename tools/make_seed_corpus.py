#!/usr/bin/env python3
"""Writes the seed corpora of the checkpoint readers' fuzz targets (src/formats/*/corpus). Deterministic."""
import json
import os
import struct

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "formats")
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACK = dict(zip((U8, I8, U16, I16, U32, I32, F32, BOOL, U64, I64, F64), "BbHhIif?Qqd"))
# GGML type: (number, elements per block, bytes per block)
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22),
         "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110),
         "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210), "IQ2_XXS": (16, 256, 66),
         "IQ4_NL": (20, 32, 18), "IQ4_XS": (23, 256, 136), "I8": (24, 1, 1), "F64": (28, 1, 8), "BF16": (30, 1, 2),
         "TQ1_0": (34, 256, 54), "TQ2_0": (35, 256, 66), "MXFP4": (39, 32, 17)}


def text(s):
    b = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(b)) + b


def value(kind, v):
    if kind == STRING:
        return text(v)
    if kind == ARRAY:
        element, items = v
        return struct.pack("<IQ", element, len(items)) + b"".join(value(element, i) for i in items)
    return struct.pack("<" + PACK[kind], v)


def gguf(pairs, tensors, version=3, align=32, tail=b""):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    head += b"".join(text(k) + struct.pack("<I", t) + value(t, v) for k, t, v in pairs)
    data = b""
    for name, dims, kind in tensors:
        number, elements, size = TYPES[kind]
        head += text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims)
        head += struct.pack("<IQ", number, len(data))
        count = 1
        for d in dims:
            count *= d
        body = bytes(i * 37 % 251 for i in range(count // elements * size))
        data += body + bytes(-len(body) % align)
    return head + bytes(-len(head) % align) + data + tail


def gguf_seeds():
    yield "empty", gguf([], [])
    yield "values", gguf([("a", U8, 1), ("b", I8, -1), ("c", U16, 2), ("d", I16, -2), ("e", U32, 3), ("f", I32, -3),
                          ("g", F32, .5), ("h", BOOL, True), ("i", STRING, "x"), ("j", U64, 4), ("k", I64, -4),
                          ("l", F64, .25), ("m", ARRAY, (STRING, ["p", "q"])), ("n", ARRAY, (U32, [1, 2])),
                          ("o", ARRAY, (ARRAY, [(U8, [1]), (BOOL, [False])])), ("p", STRING, b"\xff\xfe")], [])
    for kind, (_, elements, _) in TYPES.items():
        yield "type_" + kind, gguf([], [("t", [elements, 2], kind)])
    yield "aligned64", gguf([("general.alignment", U32, 64)], [("a", [1], "F32"), ("b", [2], "F16")], align=64)
    yield "long_array", gguf([("a", ARRAY, (U8, [0] * 1025))], [])
    vocabulary = [("general.architecture", STRING, "llama"), ("llama.context_length", U32, 64),
                  ("tokenizer.ggml.bos_token_id", U32, 3), ("tokenizer.ggml.eos_token_id", U32, 3),
                  ("tokenizer.chat_template", STRING, "{{ messages }}")]
    yield "bpe", gguf(vocabulary + [("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "smollm"),
                                    ("tokenizer.ggml.tokens", ARRAY, (STRING, ["a", "b", "ab", "<s>"])),
                                    ("tokenizer.ggml.token_type", ARRAY, (I32, [1, 1, 1, 3])),
                                    ("tokenizer.ggml.merges", ARRAY, (STRING, ["a b"]))], [])
    yield "spm", gguf(vocabulary + [("tokenizer.ggml.model", STRING, "llama"),
                                    ("tokenizer.ggml.tokens", ARRAY, (STRING, ["<unk>", "<0x41>", "a", "</s>"])),
                                    ("tokenizer.ggml.scores", ARRAY, (F32, [0, 0, -1, 0])),
                                    ("tokenizer.ggml.token_type", ARRAY, (I32, [2, 6, 1, 3])),
                                    ("tokenizer.ggml.unknown_token_id", U32, 0)], [])
    yield "version1", gguf([], [], version=1)
    yield "big_endian", gguf([], [], version=0x03000000)
    yield "split", gguf([("split.count", U16, 2)], [])
    yield "twice", gguf([("a", U8, 1), ("a", U8, 1)], [("t", [1], "F32"), ("t", [1], "F32")])
    yield "cut", gguf([("a", STRING, "value")], [("t", [64], "F32")])[:120]
    yield "huge_count", b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60)
    yield "huge_dims", gguf([], [])[:24].replace(struct.pack("<Q", 0), struct.pack("<Q", 1), 1) + text("t") + \
        struct.pack("<IQQIQ", 2, 1 << 33, 1 << 33, 0, 0)


def safetensors(header, data=b"", length=None):
    body = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(body) if length is None else length) + body + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def safetensors_seeds():
    yield "empty", safetensors({})
    yield "two", safetensors({"__metadata__": {"format": "pt"}, "a": entry("F32", [2], 0, 8), "b": entry("BF16", [1, 2], 8, 12)},
                             bytes(range(12)))
    yield "scalar", safetensors({"a": entry("F16", [], 0, 2)}, b"ab")
    yield "none", safetensors({"a": entry("I64", [0, 3], 0, 0)})
    yield "small_types", safetensors({"a": entry("F4", [4], 0, 2), "b": entry("F6_E2M3", [4], 2, 5)}, b"abcde")
    yield "padded", safetensors(json.dumps({"a": entry("U8", [1], 0, 1)}).encode() + b"   ", b"a")
    yield "hole", safetensors({"a": entry("U8", [1], 1, 2)}, b"ab")
    yield "overlap", safetensors({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, b"abc")
    yield "overflow", safetensors({"a": entry("F64", [1 << 40, 1 << 40], 0, 8)}, b"abcdefgh")
    yield "reversed", safetensors({"a": entry("U8", [1], 1, 0)}, b"a")
    yield "trailing", safetensors({"a": entry("U8", [1], 0, 1)}, b"ab")
    yield "twice", safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":1}', b"a")
    yield "escaped", safetensors(b'{"\\u0061\\"":{"dtype":"U8","shape":[1],"data_offsets":[0,9]}}', b"a")
    yield "huge_length", safetensors({}, length=(1 << 64) - 1)
    yield "deep", safetensors(b'{"a":' + b"[" * 200)
    yield "not_utf8", safetensors(b'{"\xff":1}')


def index_seeds():
    def index(weight_map):
        return json.dumps({"metadata": {"total_size": 3}, "weight_map": weight_map}).encode()
    yield "two", index({"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"})
    yield "up", index({"a": "../model.safetensors"})
    yield "absolute", index({"a": "/etc/model.safetensors"})
    yield "itself", index({"a": "model.safetensors.index.json"})
    yield "nested", index({"a": {"b": {}}})
    yield "deep", b"[" * 200


def quantised_seeds():
    def folder(quantisation, parts):
        config = json.dumps({"quantization_config": quantisation}).encode()
        size = {"I64": 8, "I32": 4, "F16": 2, "BF16": 2}
        header, data = {}, b""
        for name, (dtype, values, shape) in parts.items():
            count = 1
            for dim in shape:
                count *= dim
            body = bytes(values) or bytes(i * 37 % 251 for i in range(count * size[dtype]))
            header["x." + name] = entry(dtype, shape, len(data), len(data) + len(body))
            data += body
        return struct.pack("<H", len(config)) + config + safetensors(header, data)
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 32}
    parts = {"qweight": ("I32", b"", [8, 8]), "qzeros": ("I32", b"", [2, 1]), "scales": ("F16", b"", [2, 8])}
    packed = {"weight_packed": ("I32", b"", [8, 8]), "weight_scale": ("BF16", b"", [8, 1]),
              "weight_zero_point": ("I32", b"", [1, 1]), "weight_shape": ("I64", struct.pack("<QQ", 8, 64), [2])}

    def compressed(symmetric):
        weights = {"num_bits": 4, "type": "int", "symmetric": symmetric, "strategy": "channel", "group_size": None}
        return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}
    yield "gptq", folder(gptq, parts)
    yield "gptq_act_order", folder(gptq, parts | {"g_idx": ("I32", struct.pack("<64i", *[i % 2 for i in range(64)]), [64])})
    yield "gptq_bad_group", folder(gptq, parts | {"g_idx": ("I32", struct.pack("<64i", *range(64)), [64])})
    yield "gptq_eight", folder(gptq | {"bits": 8, "checkpoint_format": "gptq_v2"},
                               parts | {"qweight": ("I32", b"", [16, 8]), "qzeros": ("I32", b"", [2, 2])})
    yield "awq", folder({"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm"},
                        parts | {"qweight": ("I32", b"", [64, 1])})
    yield "compressed", folder(compressed(symmetric=False), packed)
    yield "compressed_symmetric", folder(compressed(symmetric=True),
                                         {k: v for k, v in packed.items() if k != "weight_zero_point"})
    yield "missing", folder(gptq, {"qweight": parts["qweight"]})
    yield "unknown", folder({"quant_method": "fp8"}, parts)


def write(folder, seeds):
    folder = os.path.join(ROOT, folder)
    os.makedirs(folder, exist_ok=True)
    for name, data in seeds:
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


write("gguf/corpus/gguf", gguf_seeds())
write("safetensors/corpus/safetensors", safetensors_seeds())
write("safetensors/corpus/safetensors_index", index_seeds())
write("huggingface/corpus/quantised", quantised_seeds())
