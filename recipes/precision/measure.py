#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py IMAGES WEIGHTS OUT [PRECISION] - what queries in bfloat16, or int8, lose in an index and a classifier of float32 features.

IMAGES holds ucmerced/ and stl10/ (each with train/ and test/), WEIGHTS the files named in NETWORKS; OUT gets banks and
PRECISION.md. Each network encodes both data sets twice, with one rotated copy of the test images. Then float32 rows
stay the index and the training set of the probe, and the queries are rows of PRECISION (bfloat16 if not given; int8 leaves ViTs out): the same bank with other copies.
INVAR names the program.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

NETWORKS = {
    "ResNet-18": ["resnet18.safetensors", "--encoder", "resnet18"],
    "ResNet-50": ["resnet50_keras.f16.safetensors", "--encoder", "resnet50_keras"],
    "SqueezeNet": ["squeezenet1_1_caffe.f16.safetensors"],
    "ViT-S/8, random": ["vit_small_patch8_96.safetensors"],
    "ViT-B/16, random": ["vit_base_patch16_224.safetensors"],
}
DATA = {"UC Merced": "ucmerced", "STL-10": "stl10"}
LIMITS = {"ViT-S/8, random": "210", "ViT-B/16, random": "210"}
INVAR = os.environ.get("INVAR", "invar")


def encode(images, weights, network, precision, bank):
    if bank.joinpath("bank.json").exists() and bank.joinpath("test/aug/000.npy").exists():
        return
    file, *options = NETWORKS[network]
    limit = ["--limit", LIMITS[network]] if network in LIMITS else []
    subprocess.run([INVAR, "encode", images, "-o", bank, "--weights", weights / file, *options, *limit, "--augment",
                    "rotation", "--copies", "train=0,test=1", "--precision", precision, "-q"], check=True)


def with_queries(index, queries, bank):
    """The bank `index` with other copies of its test images."""
    for name in ("train/clean.npy", "train/labels.npy", "test/clean.npy", "test/labels.npy"):
        bank.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        np.save(bank / name, np.load(index / name))
    bank.joinpath("test/aug").mkdir(exist_ok=True)
    np.save(bank / "test/aug/000.npy", queries)
    return bank


def measure(bank):
    found = json.loads(subprocess.run([INVAR, "eval", bank, "--metrics", "lc,retrieval", "--json", "-q"], check=True,
                                      capture_output=True, text=True).stdout)
    return [100 * found["values"][name]["F"]["value"] for name in ("lc.augmented", "same-class.old.l2.augmented.recall_at_1",
                                      "same-image.old.l2.augmented.recall_at_1",
                                      "same-image.old.cosine.augmented.recall_at_1",
                                      "same-image.old.l2.augmented.recall_at_10")]


def distances(x):
    square = (x ** 2).sum(1)
    d = np.sqrt(np.maximum(square[:, None] + square - 2 * x @ x.T, 0))
    return d[np.triu_indices(len(x), 1)]


def compare(a, b):
    a, b = a.astype("f8"), b.astype("f8")
    error = np.linalg.norm(a - b, axis=1) / np.linalg.norm(a, axis=1)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    d, e = distances(a), distances(b)
    r2 = 1 - ((e - np.polyval(np.polyfit(d, e, 1), d)) ** 2).sum() / ((e - e.mean()) ** 2).sum()
    return ["%.2f %%" % (100 * np.median(error)), "%.2f %%" % (100 * error.max()), "%.5f" % cosine.min(), "%.5f" % r2]


def main():
    images, weights, out = map(Path, sys.argv[1:4])
    lower = sys.argv[4] if len(sys.argv) > 4 else "bfloat16"
    out.mkdir(parents=True, exist_ok=True)
    head = ["network", "data", "error, median", "largest", "least cosine", "R²", "queries", "LC", "class @1", "same image @1, L2",
            "@1, cosine", "@10, L2"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for network in NETWORKS:
        if lower == "int8" and network.startswith("ViT"):
            continue
        if not weights.joinpath(NETWORKS[network][0]).exists():
            print("no %s: left out" % NETWORKS[network][0], file=sys.stderr)
            continue
        for title, data in DATA.items():
            name = "%s-%s" % (data, network.split(",")[0].lower().replace("/", "-"))
            full, half = out / (name + "-float32"), out / ("%s-%s" % (name, lower))
            encode(images / data, weights, network, "float32", full)
            encode(images / data, weights, network, lower, half)
            rows = lambda bank, file: np.load(bank / "test" / file)
            same = compare(rows(full, "clean.npy"), rows(half, "clean.npy"))
            for query, file in (("clean", "clean.npy"), ("rotated", "aug/000.npy")):
                pair = [measure(with_queries(full, rows(bank, file), out / ("%s-%s" % (name, precision))))
                        for bank, precision in ((full, "queries-float32"), (half, "queries-" + lower))]
                cells = ["%.1f → %.1f" % both for both in zip(*pair)]
                lines.append("| " + " | ".join([network, title, *same, query, *cells]) + " |")
                print(lines[-1], flush=True)
    (out / (lower + ".md")).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
