#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_onnx.py DIR - the small models of fuzz/corpus/onnx, by the onnx package.

Those that begin with bad- are refused; test_onnx.c says how.
"""

import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

D = 4


def model(outputs=("features",), opset=17, ir=8, element=TensorProto.FLOAT, axes=("n", D), nested=0, weights=True):
    a = numpy_helper.from_array(np.ones((3, D), "f4"), "A")
    nodes = [helper.make_node("MatMul", ["x", "A"], ["hidden"])]
    nodes += [helper.make_node("Relu", ["hidden"], [name]) for name in outputs]
    body = helper.make_graph([], "body", [], [])
    for _ in range(nested):
        body = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=body)], "body", [], [])
    if nested:
        nodes.append(helper.make_node("If", ["c"], ["branch"], then_branch=body))
    graph = helper.make_graph(nodes, "encoder", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
                              [helper.make_tensor_value_info(name, element, axes) for name in outputs],
                              [a] if weights else [])
    return helper.make_model(graph, ir_version=ir, opset_imports=[helper.make_opsetid("", opset)], producer_name="other")


def external():
    m = model()
    t = m.graph.initializer[0]
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
    entry = t.external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    return m


def uncomputed():
    m = model()
    m.graph.node[1].output[0] = "computed"
    return m


def metadata():
    m = model()
    entry = m.metadata_props.add()
    entry.key, entry.value = "invar.residual", "of another"
    return m


def main():
    files = {
        "plain": model().SerializeToString(),
        "two-outputs": model(("features", "second")).SerializeToString(),
        "half": model(element=TensorProto.FLOAT16).SerializeToString(),
        "patches": model(axes=("n", 7, D)).SerializeToString(),
        "pixel": model(axes=("n", D, 1, 1)).SerializeToString(),
        "no-shape": model(axes=None).SerializeToString(),
        "old": model(ir=3, opset=7).SerializeToString(),
        "nested": model(nested=10).SerializeToString(),
        "named": model(("invar/codes",)).SerializeToString(),
        "metadata": metadata().SerializeToString(),
        "bad-nested": model(nested=22).SerializeToString(),
        "bad-external": external().SerializeToString(),
        "bad-opset": model(opset=6, ir=3).SerializeToString(),
        "bad-output": uncomputed().SerializeToString(),
        "bad-width": model(axes=("n", D + 1)).SerializeToString(),
        "bad-rank": model(axes=(D,)).SerializeToString(),
        "bad-type": model(element=TensorProto.INT64).SerializeToString(),
        "bad-truncated": model().SerializeToString()[:-40],
        "bad-two-graphs": model().SerializeToString() + model().SerializeToString()[2:],
        "bad-group": model().SerializeToString() + b"\x0b\x0c",
        "bad-length": b"\x08\x08\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "bad-empty": b"",
    }
    for name, data in files.items():
        with open(os.path.join(sys.argv[1], name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
