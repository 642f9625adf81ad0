# SPDX-License-Identifier: Apache-2.0
"""torch_pipeline.py [PHOTOS] - any PyTorch network as the encoder, and E as a module behind it.

invar decodes, prepares and augments the images; the network, on whatever device it is, turns them into features; E joins
it as an nn.Module. Without arguments, images are made up and the network is a small random one.
"""
import sys

import numpy as np
import torch

import invar

torch.manual_seed(0)
SIDE = 48
backbone = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 5, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, stride=2), torch.nn.ReLU(),
    torch.nn.Conv2d(64, 64, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten()).eval()

if len(sys.argv) > 1:
    images = sys.argv[1]
else:
    coarse = np.random.default_rng(0).integers(0, 256, (300, 6, 6, 3))
    images = coarse.repeat(8, 1).repeat(8, 2).astype(np.uint8)

bank = invar.encode(images, "torch-bank", encoder=backbone, name="small-net", size=SIDE, normalize="imagenet",
                    augment="rotation", copies=4, **({"holdout": 0.3} if isinstance(images, str) else {}))
run = invar.train(bank, "torch-run", preset="instant")
E = run.adapter

model = torch.nn.Sequential(backbone, E.torch())  # images to invariant features, for training on, export, a GPU
x = torch.randn(8, 3, SIDE, SIDE)
with torch.inference_mode():
    features, codes = backbone(x), model(x)
gap = np.abs(codes.numpy() - E(features.numpy())).max() / np.abs(codes.numpy()).max()
print(f"{bank}\nE as a module differs from E by {gap:.1e} of the largest code")
assert gap < 1e-6
moved = [np.linalg.norm(rows - bank.clean(), axis=1).mean() for rows in (bank.copy(0), E(bank.copy(0)))]
print(f"mean distance of a rotated image from itself: {moved[0]:.3f} without E, {moved[1]:.3f} with")
assert moved[1] < moved[0]
