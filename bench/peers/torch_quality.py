# SPDX-License-Identifier: Apache-2.0
"""torch_quality.py BANK OUT - the paper's MaWa in PyTorch, from a bank to an adapter file.

Hidden 4096, batch 256, s = 3 distinct copies per image and epoch, AdamW 1e-3 with decay 1e-4
and cosine annealing to 4e-4, fused. All rows are in memory before the clock starts. Prints
the seconds and the seconds of processors that the epochs took, then writes OUT as safetensors.
"""

import argparse
import glob
import json
import os
import struct
import time

import numpy as np
import torch
from torch import nn


def load(bank):
    """Clean rows [n, d] and copies [c, n, d]."""
    names = sorted(f for f in glob.glob(os.path.join(bank, "train", "aug", "*.npy"))
                   if not f.endswith(".params.npy"))
    read = lambda name: torch.from_numpy(np.load(name).astype("f4"))
    return read(os.path.join(bank, "train", "clean.npy")), torch.stack([read(f) for f in names])


def train(clean, copies, epochs, batch, samples):
    n, d = clean.shape
    model = nn.Sequential(nn.Linear(d, 4096), nn.ReLU(), nn.Linear(4096, d))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs, 4e-4)
    batch, samples = min(batch, n), min(samples, len(copies))
    for _ in range(epochs):
        order = torch.randperm(n)
        drawn = torch.rand(n, len(copies)).argsort(1)[:, :samples]
        for first in range(0, n - batch + 1, batch):
            rows = order[first:first + batch]
            target = clean[rows]
            inputs = torch.cat([target] + [copies[drawn[rows, k], rows] for k in range(samples)])
            errors = model(inputs).view(samples + 1, batch, d) - target
            optimiser.zero_grad(set_to_none=True)
            errors.square().sum(2).mean().backward()
            optimiser.step()
        schedule.step()
    return model


def save(path, tensors):
    header, at = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in tensors.values()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bank")
    parser.add_argument("out")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    clean, copies = load(options.bank)
    train(clean[:256], copies[:, :256], 2, 256, 3)  # warms up outside the time
    start, busy = time.perf_counter(), time.process_time()
    model = train(clean, copies, options.epochs, 256, 3)
    print(time.perf_counter() - start, time.process_time() - busy, flush=True)
    save(options.out, {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()})


if __name__ == "__main__":
    main()
