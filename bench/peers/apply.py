# SPDX-License-Identifier: Apache-2.0
"""apply.py - an adapter applied by PyTorch and ONNX Runtime, driven by lines.

    apply D ROWS COUNT SIDE    answers the seconds of COUNT calls with ROWS rows
    open D COUNT SIDE          answers the seconds of reading the adapter COUNT times

Hidden 4096, residual. SIDE is eager or compile (PyTorch, weights taken as constants) or onnx
(ONNX Runtime with all its optimisations). open is torch.load and load_state_dict, or making
a session.
"""

import functools
import os
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import torch
import torch._inductor.config
from onnx import TensorProto, helper, numpy_helper

HIDDEN = 4096
threads = int(sys.argv[sys.argv.index("--threads") + 1])
folder = tempfile.TemporaryDirectory()


class Adapter(torch.nn.Sequential):
    def __init__(self, d):
        super().__init__(torch.nn.Linear(d, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, d))

    def forward(self, z):
        return z + super().forward(z)


@functools.cache
def stored(d):
    """The files of an adapter: {"torch": path, "onnx": path}."""
    torch.manual_seed(0)
    state = Adapter(d).state_dict()
    paths = {kind: os.path.join(folder.name, "%d.%s" % (d, kind)) for kind in ("torch", "onnx")}
    torch.save(state, paths["torch"])
    weights = [numpy_helper.from_array(value.numpy(), name) for name, value in state.items()]
    nodes = [helper.make_node("Gemm", ["z", "0.weight", "0.bias"], ["a"], transB=1),
             helper.make_node("Relu", ["a"], ["h"]),
             helper.make_node("Gemm", ["h", "2.weight", "2.bias"], ["y"], transB=1),
             helper.make_node("Add", ["y", "z"], ["e"])]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", d])] for name in ("z", "e")]
    graph = helper.make_graph(nodes, "adapter", *ends, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), paths["onnx"])
    return paths


def session(d):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(stored(d)["onnx"], options, providers=["CPUExecutionProvider"])


def module(d):
    with torch.device("meta"):
        net = Adapter(d)
    net.load_state_dict(torch.load(stored(d)["torch"], mmap=True), assign=True)
    return net.eval()


@functools.cache
def caller(d, side):
    """A function of rows."""
    if side == "onnx":
        run = session(d)
        return lambda z: run.run(None, {"z": z})
    net = module(d)
    if side == "compile":
        torch._inductor.config.freezing = True
        net = torch.compile(net)
    return lambda z: net(torch.from_numpy(z))


def timed(count, work):
    start = time.perf_counter()
    for _ in range(count):
        work()
    return time.perf_counter() - start


def main():
    torch.set_num_threads(threads)
    print("ready", flush=True)
    with torch.inference_mode():
        for line in sys.stdin:
            task, d, *numbers, side = line.split()
            d, count = int(d), int(numbers[-1])
            if task == "open":
                stored(d)
                answer = timed(count, lambda: session(d) if side == "onnx" else module(d))
            else:
                z = np.random.default_rng(0).standard_normal((int(numbers[0]), d), dtype="f4")
                run = caller(d, side)
                timed(3, lambda: run(z))  # warms up, compiles
                answer = timed(count, lambda: run(z))
            print(answer, flush=True)


if __name__ == "__main__":
    main()
