#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the encoder of `invar demo` and writes its weights as safetensors.

A narrow ResNet (torchvision's names, one basic block a layer) learns from upright
Fashion-MNIST alone: no labels, no rotations. Two views of a garment differ by crop,
mirror image, brightness, contrast and noise, and their features have to agree (SimCLR,
or VICReg). Afterwards it is judged as the demo will use it: garments turned by any
angle, collisions with clean ones as they are and after the best rigid map, fitted on
copies of train and measured on test. Labels enter only there.

    tools/train_demo_encoder.py -o share/demo.safetensors

Needs PyTorch and NumPy; some minutes on a quiet machine. It prints the loss of each
epoch and the figures that share/README.md has for all candidates; the defaults are those
of the one that was chosen.
"""
import argparse
import gzip
import json
import math
import pathlib
import struct
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


# ---- Network: what the family "resnet" reads ------------------------------------


class Block(nn.Module):
    def __init__(self, inputs, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inputs != planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """The stem sees one channel; `weights` spreads it over three, as grey images have."""

    def __init__(self, base):
        super().__init__()
        self.conv1 = nn.Conv2d(1, base, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(base)
        self.layer1 = nn.Sequential(Block(base, base, 1))
        self.layer2 = nn.Sequential(Block(base, 2 * base, 2))
        self.layer3 = nn.Sequential(Block(2 * base, 4 * base, 2))
        self.layer4 = nn.Sequential(Block(4 * base, 8 * base, 2))
        self.width = 8 * base

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return x.mean((2, 3))

    def weights(self):
        tensors = {k: v for k, v in self.state_dict().items() if "num_batches" not in k}
        tensors["conv1.weight"] = tensors["conv1.weight"].expand(-1, 3, -1, -1) / 3
        return tensors


# ---- Images ----------------------------------------------------------------------


def read_idx(path):
    with gzip.open(path) as f:
        data = f.read()
    rank = data[3]
    shape = struct.unpack(f">{rank}I", data[4:4 + 4 * rank])
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape).copy())


def load(folder, split):
    images = read_idx(folder / f"{split}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{split}-labels-idx1-ubyte.gz")
    return images[:, None].float() / 255, labels


def uniform(n, low, high, g):
    return torch.rand(n, generator=g) * (high - low) + low


def warp(x, side, theta):
    grid = F.affine_grid(theta, (len(x), 1, side, side), align_corners=False)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def view(x, side, crop, g):
    """A random part of each image at full size, perhaps mirrored, otherwise lit."""
    n = len(x)
    area = uniform(n, crop, 1, g)
    ratio = torch.exp(uniform(n, math.log(3 / 4), math.log(4 / 3), g))
    w, h = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0] = w * (1 - 2 * torch.randint(0, 2, (n,), generator=g))
    theta[:, 1, 1] = h
    theta[:, 0, 2] = uniform(n, -1, 1, g) * (1 - w)
    theta[:, 1, 2] = uniform(n, -1, 1, g) * (1 - h)
    y = warp(x, side, theta)
    y = y * uniform(n, 0.5, 1.5, g).view(-1, 1, 1, 1)
    y = y.clamp(0, 1) ** torch.exp(uniform(n, -0.4, 0.4, g)).view(-1, 1, 1, 1)
    return y + torch.randn(y.shape, generator=g) * uniform(n, 0, 0.05, g).view(-1, 1, 1, 1)


def upright(x, side):
    return F.interpolate(x, (side, side), mode="bilinear", align_corners=False)


def turned(x, side, g):
    """Every image at its own angle, zeros outside, as invar's `rotation` does."""
    x = upright(x, side)
    angle = uniform(len(x), -math.pi, math.pi, g)
    theta = torch.zeros(len(x), 2, 3)
    theta[:, 0, 0] = theta[:, 1, 1] = angle.cos()
    theta[:, 0, 1], theta[:, 1, 0] = angle.sin(), -angle.sin()
    return warp(x, side, theta)


# ---- Losses on pairs of views ------------------------------------------------------


def simclr(a, b, temperature):
    z = F.normalize(torch.cat([a, b]), dim=1)
    n = len(a)
    similarity = (z @ z.T / temperature).fill_diagonal_(-torch.inf)
    return F.cross_entropy(similarity, torch.arange(2 * n).roll(n))


def vicreg(a, b):
    def spread(z):
        z = z - z.mean(0)
        covariance = z.T @ z / (len(z) - 1)
        off = covariance - torch.diag(covariance.diag())
        return F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean(), off.pow(2).sum() / z.shape[1]

    (va, ca), (vb, cb) = spread(a), spread(b)
    return 25 * F.mse_loss(a, b) + 12.5 * (va + vb) + ca + cb


def train(network, images, o):
    g = torch.Generator().manual_seed(o.seed)
    width = network.width
    head = nn.Sequential(nn.Linear(width, 256, bias=False), nn.BatchNorm1d(256), nn.ReLU(),
                         nn.Linear(256, 128 if o.loss == "simclr" else 256))
    parameters = [*network.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=o.lr, weight_decay=1e-4)
    steps = len(images) // o.batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, o.lr, total_steps=steps * o.epochs, pct_start=0.1)
    network.to(memory_format=torch.channels_last)
    network.train()
    for epoch in range(o.epochs):
        order = torch.randperm(len(images), generator=g)
        began, total = time.time(), 0.0
        for i in range(steps):
            x = images[order[i * o.batch:(i + 1) * o.batch]]
            both = torch.cat([view(x, o.size, o.crop, g), view(x, o.size, o.crop, g)])
            a, b = head(network(both.to(memory_format=torch.channels_last))).chunk(2)
            loss = simclr(a, b, o.temperature) if o.loss == "simclr" else vicreg(a, b)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1:2d}  loss {total / steps:.4f}  {time.time() - began:.0f} s", flush=True)


@torch.no_grad()
def rescale(network, images, o):
    """Features get a mean standard deviation of 1: what follows learns at its usual pace.

    The last ReLU lets positive factors pass, so the two norms before it take them.
    """
    factor = 1 / features(network, upright(images[:2000], o.size)).std(0).mean()
    last = network.layer4[0]
    for norm in (last.bn2, last.downsample[1]):
        norm.weight *= factor
        norm.bias *= factor


# ---- Judging -----------------------------------------------------------------------


@torch.no_grad()
def features(network, tensors):
    network.eval()
    return torch.cat([network(x) for x in tensors.split(256)])


def collisions(clean, copies, labels):
    distance = torch.cdist(copies, clean)
    same = labels[:, None] == labels[None]
    own = distance.masked_fill(~same, torch.inf).min(1).values
    other = distance.masked_fill(same, torch.inf).min(1).values
    return (other < own).float().mean().item()


def rigid(a, b):
    u, _, v = torch.linalg.svd((a - a.mean(0)).T @ (b - b.mean(0)))
    return lambda z: (z - a.mean(0)) @ (u @ v) + b.mean(0)


def ridge_accuracy(z, labels, queries, query_labels):
    """Least squares on one-hot labels: a quick linear classifier of clean features."""
    mean = z.mean(0)
    z, queries = z - mean, queries - mean
    target = F.one_hot(labels.long(), 10).float() - 0.1
    gram = z.T @ z
    gram += 1e-3 * gram.diag().mean() * torch.eye(len(gram))
    map_ = torch.linalg.solve(gram, z.T @ target)
    return ((queries @ map_).argmax(1) == query_labels).float().mean().item()


def judge(network, train_set, test_set, o):
    g = torch.Generator().manual_seed(1000 + o.seed)
    (x, y), (tx, ty) = train_set, test_set
    x, y, tx, ty = x[:5000], y[:5000], tx[:2000], ty[:2000]
    clean, test = features(network, upright(x, o.size)), features(network, upright(tx, o.size))
    copy, test_copy = features(network, turned(x, o.size, g)), features(network, turned(tx, o.size, g))
    to_clean = rigid(copy, clean)
    return {
        "raw": collisions(test, test_copy, ty),
        "aligned": collisions(test, to_clean(test_copy), ty),
        "linear_clean": ridge_accuracy(clean, y, test, ty),
        "linear_turned": ridge_accuracy(clean, y, test_copy, ty),
        # What features of rotated garments contain, for a classifier trained on them.
        "linear_turned_known": ridge_accuracy(copy, y, test_copy, ty),
    }


# ---- Writing -------------------------------------------------------------------------


def save(path, tensors):
    header, blocks, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in sorted(tensors.items()):
        data = tensor.contiguous().numpy().astype("<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        blocks.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    p.add_argument("-o", "--output", type=pathlib.Path)
    p.add_argument("--loss", choices=["simclr", "vicreg"], default="simclr")
    p.add_argument("--temperature", type=float, default=0.2)
    p.add_argument("--base", type=int, default=24, help="channels of the stem")
    p.add_argument("--size", type=int, default=56, help="side of the images")
    p.add_argument("--crop", type=float, default=0.2, help="least share of the image in a view")
    p.add_argument("--images", type=int, default=12800)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--threads", type=int, default=1)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    train_set, test_set = load(o.data, "train"), load(o.data, "t10k")
    network = ResNet(o.base)
    print(f"width {network.width}, {sum(t.numel() for t in network.weights().values())} numbers")
    if o.epochs:
        train(network, train_set[0][:o.images], o)
    rescale(network, train_set[0], o)
    if o.output:
        save(o.output, network.weights())
    print({k: round(v, 3) for k, v in judge(network, train_set, test_set, o).items()})


if __name__ == "__main__":
    main()
