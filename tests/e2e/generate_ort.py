#!/usr/bin/env python3
"""Generates greedily with what `hexlane export ort` wrote, and nothing else: how to drive the models by their contract.

usage: .venv/bin/python tests/e2e/generate_ort.py EXPORT IDS COUNT

IDS: the prompt's token ids, as 1,2,3; it must fit the longest stage's rows. Prints the COUNT generated ids as JSON.
"""
import json
import sys
from pathlib import Path

import numpy

import run_ort

TYPES = {"u8": numpy.uint8, "u16": numpy.uint16, "f16": numpy.float16, "f32": numpy.float32, "i32": numpy.int32}


def encode(real, tensor):
    """Real numbers as the tensor's elements: real = (q + offset) * scale where it has a scale."""
    element = TYPES[tensor["type"]]
    if "scale" not in tensor:
        return numpy.asarray(real, element)
    q = numpy.rint(numpy.asarray(real, numpy.float32) / numpy.float32(tensor["scale"])) - tensor["offset"]
    return numpy.clip(q, 0, numpy.iinfo(element).max).astype(element)


class Part:
    """One part's stages and its cache. Keys [heads, 1, head_dim, positions], values [heads, 1, positions, head_dim]."""

    def __init__(self, export, part, devices):
        self.contract = json.loads((export / part["contract"]).read_text())
        graphs = {graph["name"]: graph for graph in self.contract["graphs"]}
        shared = len({model["binary"] for model in part["models"]}) < len(part["models"])
        self.stages = [(graphs[model["graph"]], run_ort.open_session(export / model["file"], shared, devices))
                       for model in part["models"]]
        self.cache = {}
        for graph, _ in self.stages:
            for tensor in graph["outputs"]:
                if tensor["role"] in ("new_key", "new_value"):
                    shape = list(tensor["shape"])
                    shape[3 if tensor["role"] == "new_key" else 2] = graph["context"]
                    self.cache[tensor["role"][4:], tensor["index"]] = numpy.full(shape, encode(0, tensor))

    def feed(self, graph, tensor, hidden, filled, count):
        rows, past = graph["rows"], graph["context"] - graph["rows"]
        role, positions = tensor["role"], filled + numpy.arange(graph["rows"])
        if role == "hidden":
            return hidden.reshape(tensor["shape"])
        if role in ("cos", "sin"):
            rope = self.contract["ropes"][tensor["index"]]
            angles = numpy.outer(positions.astype(numpy.float64), numpy.array(rope["inv_freq"], numpy.float32))
            return encode(rope["scale"] * getattr(numpy, role)(angles), tensor).reshape(tensor["shape"])
        if role == "mask":
            mask = self.contract["masks"][tensor["index"]]
            column = numpy.concatenate([numpy.arange(past), filled + numpy.arange(rows)])
            visible = (column <= positions[:, None]) & ((numpy.arange(past + rows) < filled) |
                                                        (numpy.arange(past + rows) >= past))
            if mask["window"]:
                visible &= column > positions[:, None] - mask["window"]
            return encode(numpy.where(visible, 0, mask["hidden"]), tensor).reshape(tensor["shape"])
        if role == "last_row":
            return numpy.array([count - 1], numpy.int32)
        kept = self.cache[role[5:], tensor["index"]]
        return numpy.ascontiguousarray(kept[..., :past] if role == "past_key" else kept[:, :, :past])

    def run(self, hidden, filled, count):
        """`hidden` [rows, width] of `count` tokens after `filled` positions; returns what leaves the part."""
        graph, session = next(stage for stage in self.stages if stage[0]["rows"] == len(hidden))
        feeds = {tensor["name"]: self.feed(graph, tensor, hidden, filled, count) for tensor in graph["inputs"]}
        outputs = session.run([tensor["name"] for tensor in graph["outputs"]], feeds)
        for tensor, value in zip(graph["outputs"], outputs):
            if tensor["role"] == "new_key":
                self.cache["key", tensor["index"]][..., filled:filled + count] = value[..., :count]
            elif tensor["role"] == "new_value":
                self.cache["value", tensor["index"]][:, :, filled:filled + count] = value[:, :, :count]
            else:
                result = value.reshape(-1, value.shape[-1])
        return result


def main(export, ids, count):
    index = json.loads((export / "ort.json").read_text())
    embedding = index["embedding"]
    table = numpy.fromfile(export / embedding["file"], TYPES[embedding["type"]]).reshape(embedding["shape"])
    devices = run_ort.qnn_devices()
    parts = [Part(export, part, devices) for part in index["parts"]]
    rows = sorted({model["rows"] for model in index["parts"][0]["models"]})
    filled, fresh, generated = 0, ids, []
    while len(generated) < count:
        padded = next(size for size in rows if size >= len(fresh))
        values = numpy.resize(table[fresh], (padded, table.shape[1]))  # what pads is hidden by the mask
        for part in parts:
            values = part.run(values, filled, len(fresh))
        filled += len(fresh)
        fresh = [int(numpy.argmax(values[-1]))]
        generated += fresh
    return generated


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with run_ort.own_output() as answer:
        tokens = main(Path(sys.argv[1]), [int(text) for text in sys.argv[2].split(",")], int(sys.argv[3]))
        print(json.dumps({"tokens": tokens}), file=answer)
