#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_convnets.py [FOLDER] - tiny convolutional networks with random weights, and what
they make of a few images: NumPy in double, straight from the definitions. Weights are
float32 in files of their own; images, expected features and nothing else in values.safetensors."""
import json
import struct
import sys

import numpy as np

rng = np.random.default_rng(20261116)


def conv(x, w, stride, pad, bias=None):
    """Cross-correlation: x [n, c, h, w], w [o, c, k, k]."""
    k = w.shape[2]
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    rows = (x.shape[2] - k) // stride + 1
    cols = (x.shape[3] - k) // stride + 1
    y = np.zeros((x.shape[0], w.shape[0], rows, cols))
    for i in range(k):
        for j in range(k):
            part = x[:, :, i : i + stride * rows : stride, j : j + stride * cols : stride]
            y += np.einsum("nchw,oc->nohw", part, w[:, :, i, j].astype(np.float64))
    return y if bias is None else y + bias[None, :, None, None]


def norm(x, p, name, eps):
    g, b, m, v = (p[f"{name}.{k}"].astype(np.float64)[None, :, None, None]
                  for k in ("weight", "bias", "running_mean", "running_var"))
    return (x - m) / np.sqrt(v + eps) * g + b


def max_pool(x, pad, ceil):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf)
    if ceil:  # 3x3 windows two apart, the last one may reach out
        x = np.pad(x, ((0, 0), (0, 0), (0, 1 - x.shape[2] % 2), (0, 1 - x.shape[3] % 2)),
                   constant_values=-np.inf)
    rows, cols = (x.shape[2] - 3) // 2 + 1, (x.shape[3] - 3) // 2 + 1
    return np.max([x[:, :, i : i + 2 * rows : 2, j : j + 2 * cols : 2]
                   for i in range(3) for j in range(3)], axis=0)


def relu(x):
    return np.maximum(x, 0)


def add_conv(p, name, o, c, k):
    p[f"{name}.weight"] = rng.normal(0, (2 / (c * k * k)) ** 0.5, (o, c, k, k)).astype(np.float32)


def add_norm(p, name, o, counted=True):
    p[f"{name}.weight"] = rng.uniform(0.5, 1.5, o).astype(np.float32)
    p[f"{name}.bias"] = rng.normal(0, 0.2, o).astype(np.float32)
    p[f"{name}.running_mean"] = rng.normal(0, 0.2, o).astype(np.float32)
    p[f"{name}.running_var"] = rng.uniform(0.3, 2, o).astype(np.float32)
    if counted:
        p[f"{name}.num_batches_tracked"] = np.array(7, np.int64)


def make_resnet(channels, stem, widths, outs, blocks, counted):
    """outs None: basic blocks."""
    p, c = {}, stem
    add_conv(p, "conv1", stem, channels, 7)
    add_norm(p, "bn1", stem, counted)
    for layer in range(4):
        for i in range(blocks[layer]):
            n, w = f"layer{layer + 1}.{i}", widths[layer]
            o = outs[layer] if outs else w
            kernels = [(1, c, w), (3, w, w), (1, w, o)] if outs else [(3, c, w), (3, w, o)]
            for k, (kernel, a, b) in enumerate(kernels):
                add_conv(p, f"{n}.conv{k + 1}", b, a, kernel)
                add_norm(p, f"{n}.bn{k + 1}", b, counted)
            if c != o or (layer and not i):
                add_conv(p, f"{n}.downsample.0", o, c, 1)
                add_norm(p, f"{n}.downsample.1", o, counted)
            c = o
    return p


def run_resnet(p, x, eps=1e-5, early=False):
    x = max_pool(relu(norm(conv(x, p["conv1.weight"], 2, 3), p, "bn1", eps)), 1, False)
    for layer in range(1, 5):
        i = 0
        while f"layer{layer}.{i}.conv1.weight" in p:
            n, s = f"layer{layer}.{i}", 2 if layer > 1 and i == 0 else 1
            last = 3 if f"{n}.conv3.weight" in p else 2
            y, short = x, x
            for k in range(1, last + 1):
                w = p[f"{n}.conv{k}.weight"]
                has = (1 if early or last == 2 else 2) == k
                y = norm(conv(y, w, s if has else 1, w.shape[2] // 2), p, f"{n}.bn{k}", eps)
                y = relu(y) if k < last else y
            if f"{n}.downsample.0.weight" in p:
                short = norm(conv(x, p[f"{n}.downsample.0.weight"], s, 0), p,
                             f"{n}.downsample.1", eps)
            x = relu(y + short)
            i += 1
    return x.mean((2, 3))


def make_cifar(widths, blocks):
    p, c = {}, widths[0]
    add_conv(p, "module.conv1", c, 3, 3)
    add_norm(p, "module.bn1", c, False)
    for layer in range(3):
        for i in range(blocks[layer]):
            n, o = f"module.layer{layer + 1}.{i}", widths[layer]
            add_conv(p, f"{n}.conv1", o, c, 3)
            add_norm(p, f"{n}.bn1", o, False)
            add_conv(p, f"{n}.conv2", o, o, 3)
            add_norm(p, f"{n}.bn2", o, False)
            c = o
    p["module.linear.weight"] = rng.normal(0, 1, (10, c)).astype(np.float32)
    p["module.linear.bias"] = np.zeros(10, np.float32)
    return p


def run_cifar(p, x):
    p = {k.removeprefix("module."): v for k, v in p.items()}
    x = relu(norm(conv(x, p["conv1.weight"], 1, 1), p, "bn1", 1e-5))
    for layer in range(1, 4):
        i = 0
        while f"layer{layer}.{i}.conv1.weight" in p:
            n, s = f"layer{layer}.{i}", 2 if layer > 1 and i == 0 else 1
            y = relu(norm(conv(x, p[f"{n}.conv1.weight"], s, 1), p, f"{n}.bn1", 1e-5))
            y = norm(conv(y, p[f"{n}.conv2.weight"], 1, 1), p, f"{n}.bn2", 1e-5)
            short = x[:, :, ::s, ::s]
            more = y.shape[1] - x.shape[1]
            short = np.pad(short, ((0, 0), (more // 2, more - more // 2), (0, 0), (0, 0)))
            x = relu(y + short)
            i += 1
    return x.mean((2, 3))


FIRES = [3, 4, 6, 7, 9, 10, 11, 12]


def make_squeeze(stem, squeeze, small, large):
    p, c = {}, stem

    def both(name, o, c, k):
        add_conv(p, name, o, c, k)
        p[f"{name}.bias"] = rng.normal(0, 0.2, o).astype(np.float32)

    both("features.0", stem, 3, 3)
    for i, n in enumerate(FIRES):
        both(f"features.{n}.squeeze", squeeze, c, 1)
        both(f"features.{n}.expand1x1", small[i], squeeze, 1)
        both(f"features.{n}.expand3x3", large[i], squeeze, 3)
        c = small[i] + large[i]
    both("classifier.1", 4, c, 1)
    return p


def run_squeeze(p, x):
    def layer(x, name, stride=1, pad=0):
        return relu(conv(x, p[f"{name}.weight"], stride, pad, p[f"{name}.bias"]))

    x = layer(x, "features.0", 2)
    for n in FIRES:
        x = max_pool(x, 0, True) if n in (3, 6, 9) else x
        s = layer(x, f"features.{n}.squeeze")
        x = np.concatenate([layer(s, f"features.{n}.expand1x1"),
                            layer(s, f"features.{n}.expand3x3", 1, 1)], axis=1)
    return x.mean((2, 3))


def save(path, tensors):
    """Sorted by name, as float32, float64 or int64."""
    names = {"float32": "F32", "float64": "F64", "int64": "I64"}
    header, at, data = {}, 0, b""
    for k in sorted(tensors):
        a = np.ascontiguousarray(tensors[k])
        header[k] = {"dtype": names[str(a.dtype)], "shape": list(tensors[k].shape),
                     "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
        data += a.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def main(folder):
    images = rng.normal(0, 1, (3, 3, 37, 30)).astype(np.float32)
    grey = rng.normal(0, 1, (2, 1, 28, 28)).astype(np.float32)
    nets = {
        "bottleneck": make_resnet(3, 4, (2, 3, 4, 8), (8, 9, 16, 20), (1, 2, 1, 2), True),
        "basic": make_resnet(1, 5, (5, 6, 8, 11), None, (2, 1, 2, 1), False),
        "cifar": make_cifar((4, 8, 13), (2, 1, 2)),
        "squeeze": make_squeeze(6, 5, (16, 4, 16, 5, 16, 8, 16, 3), (8, 6, 16, 5, 9, 8, 7, 8)),
        # More channels than a block of them has, and a pool of less than 64 pixels.
        "wide": make_resnet(3, 10, (10, 11, 12, 17), None, (2, 1, 1, 1), False),
    }
    small = rng.normal(0, 1, (3, 3, 32, 20)).astype(np.float32)
    values = {
        "images": images,
        "grey": grey,
        "bottleneck": run_resnet(nets["bottleneck"], images),
        "bottleneck_early": run_resnet(nets["bottleneck"], images, 1e-3, True),
        "basic": run_resnet(nets["basic"], grey),
        "cifar": run_cifar(nets["cifar"], images),
        "squeeze": run_squeeze(nets["squeeze"], images),
        "small": small,
        "wide": run_resnet(nets["wide"], small),
    }
    for name, p in nets.items():
        save(f"{folder}/{name}.safetensors", p)
    save(f"{folder}/values.safetensors", values)


main(sys.argv[1] if len(sys.argv) > 1 else ".")
