# SPDX-License-Identifier: Apache-2.0
"""export_onnx.py - networks with their weights as ONNX models for ONNX Runtime.

    export_onnx.py NET SIDE WEIGHTS OUT FORM

FORM is traced (the older exporter: attention as its products and softmax) or attention
(the newer one, opset 23, whose Attention is one operator). The batch stays open.
"""

import sys
import warnings

import torch

import encoder_nets


def main():
    name, side, weights, out, form = sys.argv[1:]
    warnings.simplefilter("ignore")
    net = encoder_nets.loaded(name, int(side), weights)
    x = torch.randn(2, 3, int(side), int(side))
    if form == "traced":
        torch.onnx.export(net, (x,), out, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "batch"}},
                          dynamo=False, opset_version=17)
    else:
        torch.onnx.export(net, (x,), input_names=["x"], output_names=["y"], dynamo=True, opset_version=23,
                          dynamic_shapes=({0: torch.export.Dim("batch")},), verbose=False).save(out)


if __name__ == "__main__":
    main()
