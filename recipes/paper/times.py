#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""times.py [RESULTS.md] - how long the recipes of this folder take on two cores, as a table.

Every rate is one that `./dev bench` measured and wrote to bench/RESULTS.md; every count
follows from the recipes and from the sizes of the data sets. What was not measured is scaled
by the number of products: the ViT at 64 x 64, SimCLR and HSIC at width 2048, probes on more
rows or wider features. Augmenting, structure and collision rates take less than a hundredth
of the whole and are left out.
"""
import os
import re
import sys

AUGMENTATIONS = 4
EPOCHS, PROBE_EPOCHS, BATCH = 100, 50, 256
HIDDEN = 4096
# GMAC per image of the ViT-S/8 with 12 x 12 and 8 x 8 patches and a class token.
VIT_96, VIT_64 = 3.283, 1.424

here = os.path.dirname(os.path.abspath(__file__))
results = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../bench/RESULTS.md")


def measured(section, row):
    """The first number of the column "invar" in a table of RESULTS.md."""
    with open(results, encoding="utf-8") as file:
        text = file.read().split(f"<!-- begin {section} -->")[1].split("<!-- end")[0]
    head = next(line for line in text.splitlines() if re.match(r"\|.*\| invar \|", line))
    column = [c.strip() for c in head.split("|")].index("invar")
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return float(re.match(r"[\d.]+", line.split("|")[column].strip())[0])


def step_seconds(loss, d):
    """Of a training step; widths that were not measured by the product of MaWa's layers."""
    section = "train" if loss == "mawa" else "train_" + loss
    near = 384 if d < 1024 else 2048
    if loss in ("mawa", "waco"):
        return measured(section, str(near)) / 1000 * d / near
    return measured(section, "384") / 1000 * (step_seconds("mawa", d) / step_seconds("mawa", 384))


def train_seconds(loss, d, images):
    batch = 1024 if loss == "simclr" else BATCH
    return EPOCHS * (images // batch) * step_seconds(loss, d)


def probe_seconds(kind, d, classes, rows):
    hidden = [HIDDEN] * (2 if kind == "EC" else 1)
    def products(width, k):
        sizes = [width, *hidden, k]
        return sum(a * b for a, b in zip(sizes, sizes[1:]))
    epochs = PROBE_EPOCHS if kind == "EC" else 1  # EC was measured for one epoch, NC for 50
    return measured("probe", kind) * epochs * rows / 5000 * products(d, classes) / products(384, 10)


def hours(seconds):
    h = seconds / 3600
    return f"{60 * h:.0f} min" if h < 1 else f"{h:.1f} h"


def gigabytes(images, d):
    return f"{images * d * 4 / 1e9:.1f} GB"


DINO_96 = measured("encoders", "ViT-S/8 at 96")
DINO_64 = DINO_96 * VIT_96 / VIT_64
RESNET = measured("encoders", "ResNet-50 at 96")
CLIP = measured("encoders", "ViT-B/16 at 224")
THREE = ["mawa", "waco", "waco"]
STL = (5000, 10, 8000, 5, 10)  # train images, copies, test images, copies, classes
RECIPES = [
    ("stl10-dino", STL, 384, DINO_96, THREE + ["simclr", "hsic"]),
    ("stl10-swav", STL, 2048, RESNET, THREE + ["simclr", "hsic"]),
    ("stl10-rdino", STL, 2048, RESNET, THREE),
    ("stl10-clip", STL, 512, CLIP, THREE),
    ("stl10-resnet50", STL, 2048, RESNET, THREE),
    ("tiny-imagenet-dino", (100000, 3, 10000, 5, 200), 384, DINO_64, ["mawa", "waco"]),
    ("tiny-imagenet-50-dino", (25000, 3, 2500, 5, 50), 384, DINO_64, ["mawa", "waco"]),
]

print("| recipe | images to encode | per second | encode | train | probes | all | banks |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for name, (train, copies, test, test_copies, classes), d, rate, losses in RECIPES:
    images = AUGMENTATIONS * (train * (1 + copies) + test * (1 + test_copies))
    encode = images / rate
    fit = AUGMENTATIONS * sum(train_seconds(loss, d, train) for loss in losses)
    # EC is kept with the bank; F and E have an NC each, whenever an adapter is measured.
    probes = AUGMENTATIONS * (probe_seconds("EC", d, classes, train) +
                              2 * len(losses) * probe_seconds("NC", d, classes, train))
    print(f"| `{name}` | {images:,} | {rate:.0f} | {hours(encode)} | {hours(fit)} | {hours(probes)} | "
          f"{hours(encode + fit + probes)} | {gigabytes(images, d)} |")
