# SPDX-License-Identifier: Apache-2.0
"""torch_encode.py - JPEG files to clean features and those of a rotated copy, with Pillow and PyTorch.

    encode FOLDER WEIGHTS OUT WORKERS THREADS BATCH VARIANT    answers the seconds
    cpu                                                        those of processors in that pass
    memory                                                     peak megabytes of this process

Pillow decodes in a DataLoader's workers (0: in this process), batches are normalised,
rotated by grid_sample as Kornia does, and clean images and copies go
through ViT-S/8 together; features go to OUT.clean.npy and OUT.aug.npy. BATCH counts
both. VARIANT is eager or compile-frozen. The network is loaded, and compiled, outside
the time; the workers of a pass start within it.
"""

import math
import pathlib
import re
import resource
import sys
import time

import numpy as np
import torch
import torch._inductor.config
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import encoder_nets

SIDE = 96
MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None] * 255
STD = torch.tensor([0.229, 0.224, 0.225])[:, None, None] * 255


class Folder(Dataset):
    def __init__(self, folder):
        self.paths = sorted(pathlib.Path(folder).rglob("*.jpg"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            image = image.convert("RGB")
        if image.size != (SIDE, SIDE):
            image = image.resize((SIDE, SIDE), Image.BILINEAR)
        return torch.from_numpy(np.array(image))


def rotated(x):
    """By angles of ±180 degrees: bilinear, zeros outside, corners aligned."""
    angle = (torch.rand(x.shape[0]) * 2 - 1) * math.pi
    zero = torch.zeros_like(angle)
    matrix = torch.stack([torch.stack([angle.cos(), angle.sin(), zero], 1),
                          torch.stack([-angle.sin(), angle.cos(), zero], 1)], 1)
    grid = F.affine_grid(matrix, x.shape, align_corners=True)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True)


def network(weights, variant, batch):
    net = encoder_nets.loaded("vit_small_patch8", SIDE, weights)
    if variant == "compile-frozen":
        torch._inductor.config.freezing = True
        net = torch.compile(net, dynamic=False)
    net(torch.randn(batch, 3, SIDE, SIDE))
    return net


def encode(net, folder, out, workers, batch):
    loader = DataLoader(Folder(folder), batch_size=batch // 2, num_workers=workers, drop_last=True,
                        prefetch_factor=2 if workers else None)
    clean, copies = [], []
    for pixels in loader:
        x = pixels.permute(0, 3, 1, 2).float().sub_(MEAN).div_(STD).contiguous()
        features = net(torch.cat([x, rotated(x)]))
        clean.append(features[:batch // 2].clone())
        copies.append(features[batch // 2:].clone())
    np.save(out + ".clean.npy", torch.cat(clean).numpy())
    np.save(out + ".aug.npy", torch.cat(copies).numpy())


def processor_seconds():
    return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                        resource.RUSAGE_CHILDREN)))


def main():
    known, used = {}, 0
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "cpu":
            print(used, flush=True)
            continue
        if words[0] == "memory":
            print(int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read()).group(1)) / 1024, flush=True)
            continue
        _, folder, weights, out, workers, threads, batch, variant = words
        with torch.no_grad():
            torch.set_num_threads(int(threads))
            if (batch, variant) not in known:
                known[batch, variant] = network(weights, variant, int(batch))
            start, before = time.perf_counter(), processor_seconds()
            encode(known[batch, variant], folder, out, int(workers), int(batch))
            seconds, used = time.perf_counter() - start, processor_seconds() - before
        print(seconds, flush=True)


if __name__ == "__main__":
    main()
