#!/usr/bin/env python3
"""Runs the models of `hexlane export ort` in ONNX Runtime on the HTP emulator, and compares their outputs bit for bit
with what run_stages wrote.

usage: .venv/bin/python tests/e2e/run_ort.py EXPORT STAGES

STAGES/<model>/in/<tensor> and STAGES/<model>/out/<tensor> are raw elements. Models that are not in STAGES are left
out. Prints one JSON document: for each model its outputs, their bytes, the names of those that differ, and seconds.
Exit codes: 0 all outputs are equal, 1 some differ, 4 ONNX Runtime is missing or cannot load a model.
"""
import json
import os
import sys
import time
from pathlib import Path

try:
    import numpy
    import onnxruntime
    import onnxruntime_qnn
except ImportError as error:
    print(f"{error}: run tools/setup.sh", file=sys.stderr)
    sys.exit(4)

PROVIDER = "QNNExecutionProvider"
TYPES = {"tensor(uint8)": numpy.uint8, "tensor(uint16)": numpy.uint16, "tensor(int32)": numpy.int32,
         "tensor(float16)": numpy.float16, "tensor(float)": numpy.float32}
ERROR = 3  # log severity: without the provider's remarks on other platforms


def own_output():
    """Standard output, for ourselves alone: the vendor's library prints too, and goes to stderr from now on."""
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answer


def qnn_devices():
    onnxruntime.set_default_logger_severity(ERROR)
    onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]


def open_session(model, shared, devices):
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("ep.share_ep_contexts", "1" if shared else "0")
    options.log_severity_level = ERROR
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    options.add_provider_for_devices(devices, {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
    return onnxruntime.InferenceSession(model, sess_options=options)


def compare(session, stage):
    feeds = {tensor.name: numpy.fromfile(stage / "in" / tensor.name, TYPES[tensor.type]).reshape(tensor.shape)
             for tensor in session.get_inputs()}
    start = time.monotonic()
    values = session.run(None, feeds)
    seconds = time.monotonic() - start
    outputs = {tensor.name: value.tobytes() for tensor, value in zip(session.get_outputs(), values)}
    wanted = {path.name: path.read_bytes() for path in (stage / "out").iterdir()}
    different = sorted(name for name in outputs.keys() | wanted.keys() if outputs.get(name) != wanted.get(name))
    return {"outputs": len(outputs), "bytes": sum(map(len, outputs.values())), "different": different,
            "run_seconds": round(seconds, 3)}


def run_part(export, stages, part, devices):
    """Opens every model of the part before any runs: they may share one binary, which the first one loads."""
    models = [model for model in part["models"] if (stages / Path(model["file"]).stem).exists()]
    shared = len({model["binary"] for model in part["models"]}) < len(part["models"])
    sessions, results = [], []
    for model in models:
        start = time.monotonic()
        sessions.append(open_session(export / model["file"], shared, devices))
        results.append({"file": model["file"], "load_seconds": round(time.monotonic() - start, 3)})
    for result, session in zip(results, sessions):
        result |= compare(session, stages / Path(result["file"]).stem)
    return results


def main(export, stages):
    devices = qnn_devices()
    results = []
    for part in json.loads((export / "ort.json").read_text())["parts"]:
        results += run_part(export, stages, part, devices)
    return results


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with own_output() as answer:
        try:
            models = main(Path(sys.argv[1]), Path(sys.argv[2]))
        except Exception as error:  # ONNX Runtime's errors have no common base but this
            print(f"run_ort: {error}", file=sys.stderr)
            sys.exit(4)
        print(json.dumps({"onnxruntime": onnxruntime.__version__, "models": models}, indent=1), file=answer)
    sys.exit(1 if any(model["different"] for model in models) else 0)
