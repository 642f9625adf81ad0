# SPDX-License-Identifier: Apache-2.0
"""torch_encoders.py - encoders run by PyTorch, driven by lines of text.

    encode NET SIDE BATCH COUNT FILE VARIANT    answers the seconds that COUNT batches took

VARIANT is eager, channels-last (eager, for convolutions), compile or compile-frozen
(torch.compile with its weights taken as constants, which packs them once). With "autocast:"
in front it runs under torch.autocast("cpu", torch.bfloat16); with "bfloat16:", weights and
images are bfloat16 from the start.
"""

import sys
import time

import torch
import torch._inductor.config

import encoder_nets


def prepared(net, variant):
    """The network as this variant has it, and the layout of its images."""
    layout = torch.contiguous_format if variant in ("eager", "compile") else torch.channels_last
    if any(isinstance(m, torch.nn.BatchNorm2d) for m in net.modules()):
        net = net.to(memory_format=layout)
    if variant.startswith("compile"):
        torch._inductor.config.freezing = variant == "compile-frozen"
        net = torch.compile(net, dynamic=False)
    return net, layout


def make(name, side, batch, path, variant):
    """One batch, as a function."""
    precision, _, form = variant.rpartition(":")
    net = encoder_nets.loaded(name, side, path)
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    net, layout = prepared(net.to(dtype), form)
    x = torch.randn(batch, 3, side, side).to(dtype).to(memory_format=layout)

    def run():
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
            net(x)

    run()
    return run


def main():
    torch.set_num_threads(int(sys.argv[sys.argv.index("--threads") + 1]))
    known = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, name, side, batch, count, path, variant = line.split()
        key = (name, int(side), int(batch), path, variant)
        with torch.no_grad():
            if key not in known:
                torch._dynamo.reset()
                known[key] = make(*key)
            start = time.perf_counter()
            for _ in range(int(count)):
                known[key]()
            print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
