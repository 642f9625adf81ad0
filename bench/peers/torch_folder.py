# SPDX-License-Identifier: Apache-2.0
"""torch_folder.py - a folder of JPEG files to batches of tensors, with Pillow and PyTorch.

    folder SIDE COUNT FOLDER VARIANT    answers the seconds that COUNT passes took

A DataLoader with two workers that stay alive, batches of 64; shorter side resized
bilinearly by Pillow, centre, divided by 255, ImageNet's mean and deviation. VARIANT is
pillow or pillow-draft (Pillow lets the JPEG library shrink large images while decoding,
which changes the pixels a little). The first pass is outside the time.
"""

import pathlib
import sys
import time

import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
STD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]


class Folder(Dataset):
    def __init__(self, folder, side, draft):
        self.paths = sorted(pathlib.Path(folder).rglob("*.jpg"))
        self.side, self.draft = side, draft

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as image:
            if self.draft:
                image.draft("RGB", (self.side, self.side))
            image = image.convert("RGB")
        short = min(image.size)
        size = [int(self.side * length / short) for length in image.size]
        image = image.resize(size, Image.BILINEAR)
        left, top = [round((length - self.side) / 2) for length in size]
        image = image.crop((left, top, left + self.side, top + self.side))
        pixels = torch.from_numpy(numpy.array(image)).permute(2, 0, 1).contiguous()
        return pixels.float().div_(255).sub_(MEAN).div_(STD)


def make_pass(folder, side, variant, workers):
    loader = DataLoader(Folder(folder, side, variant == "pillow-draft"), batch_size=64, num_workers=workers,
                        persistent_workers=True, prefetch_factor=4)

    def one_pass():
        return sum(float(batch[0, 0, 0, 0]) for batch in loader)

    one_pass()
    return one_pass


def main():
    workers = int(sys.argv[sys.argv.index("--threads") + 1])
    torch.set_num_threads(1)  # the workers are the threads
    passes = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, side, count, folder, variant = line.split()
        if (folder, variant) not in passes:
            passes[folder, variant] = make_pass(folder, int(side), variant, workers)
        start = time.perf_counter()
        for _ in range(int(count)):
            passes[folder, variant]()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
