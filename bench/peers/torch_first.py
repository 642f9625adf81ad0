# SPDX-License-Identifier: Apache-2.0
"""torch_first.py - one image to its feature by PyTorch, from the start of the process.

    torch_first.py NET SIDE WEIGHTS IN.npy OUT.npy THREADS

What a user's script does and nothing else; the weights are mapped from their file.
"""

import sys

import numpy as np
import torch

import encoder_nets


def main():
    name, side, weights, source, target, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    net = encoder_nets.loaded(name, int(side), weights)
    with torch.inference_mode():
        np.save(target, net(torch.from_numpy(np.load(source))).numpy())


if __name__ == "__main__":
    main()
