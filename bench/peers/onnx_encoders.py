# SPDX-License-Identifier: Apache-2.0
"""onnx_encoders.py - encoders run by ONNX Runtime, driven by lines of text.

    encode NET SIDE BATCH COUNT FILE VARIANT    answers the seconds that COUNT batches took

FILE is an ONNX model (export.py writes them); the batch is fixed when the session is
made, all graph optimisations are on. VARIANT is plain, or no-spin (threads that sleep).
"""

import sys
import time

import numpy as np
import onnxruntime

THREADS = int(sys.argv[sys.argv.index("--threads") + 1])


def make(side, batch, path, variant):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_free_dimension_override_by_name("batch", batch)
    options.log_severity_level = 3
    if variant == "no-spin":
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal((batch, 3, side, side), dtype="f4")
    for _ in range(2):
        session.run(None, {"x": x})
    return lambda: session.run(None, {"x": x})


def main():
    known = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, _, side, batch, count, path, variant = line.split()
        key = (int(side), int(batch), path, variant)
        if key not in known:
            known[key] = make(*key)
        start = time.perf_counter()
        for _ in range(int(count)):
            known[key]()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
