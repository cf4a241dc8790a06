"""Called by bench/cpu_speed.sh: hexlane bench and llama.cpp in turn, medians and ratios."""
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

import llama_cpp

PROMPT, DECODE = 128, 64
THREADS = len(os.sched_getaffinity(0))


def requantised(model, work, name, kind):
    path = f"{work}/{name}.gguf"
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = kind
    params.allow_requantize = True
    llama_cpp.llama_model_quantize(model.encode(), path.encode(), ctypes.byref(params))
    return path


def llama_run(path):
    llm = llama_cpp.Llama(path, n_ctx=512, n_batch=512, n_threads=THREADS, n_threads_batch=THREADS, verbose=False)
    ids = [(7919 * i + 13) % llm.n_vocab() for i in range(PROMPT)]
    llm.eval(ids[:8])
    llm.reset()
    start = time.perf_counter()
    llm.eval(ids)
    prefill = PROMPT / (time.perf_counter() - start)
    start = time.perf_counter()
    for i in range(DECODE):
        llm.eval([ids[i]])
    return prefill, DECODE / (time.perf_counter() - start)


def hexlane_run(package):
    out = subprocess.run(["build/release/bin/hexlane", "bench", package, "--backend", "cpu", "--json", "--repetitions", "1",
                          "--prompt-tokens", str(PROMPT), "--decode-tokens", str(DECODE)],
                         check=True, capture_output=True, text=True).stdout
    report = json.loads(out)
    return report["prefill_tok_s"], report["decode_tok_s"]


def main():
    model, work, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    pairs = [("w4-exact", model, "Q4_1"),
             ("w4a16", requantised(model, work, "q4_0", llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0), "Q4_0"),
             ("w8a16", requantised(model, work, "q8_0", llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0), "Q8_0")]
    print(f"{THREADS} threads, prompt {PROMPT}, decode {DECODE}, median of {rounds} (tokens/s)")
    for scheme, gguf, name in pairs:
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(hexlane_run(f"{work}/{scheme}"))
            theirs.append(llama_run(gguf))
        for i, stage in enumerate(["prefill", "decode"]):
            mine = statistics.median(run[i] for run in ours)
            other = statistics.median(run[i] for run in theirs)
            print(f"{scheme:9} {stage:8} {mine:8.1f}   llama.cpp {name} {other:8.1f}   ratio {mine / other:.2f}")


main()
