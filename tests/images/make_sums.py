#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes tests/images/sums.txt, which tests/images/real.sh holds against sums.c: the
data sets of the shared archives, read by NumPy and Pillow and not by invar.

    python3 tests/images/make_sums.py FOLDER > tests/images/sums.txt

FOLDER holds the unpacked archives. Needs NumPy and Pillow (libjpeg-turbo).
"""
import gzip
import hashlib
import os
import sys

import numpy as np
from PIL import Image, ImageOps

ROOT = sys.argv[1]
DEBIAN = "/usr/share/datasets/fashion-mnist"


def line(dataset, split, images, labels):
    digests = ""
    count = 0
    for image in images:
        image = np.ascontiguousarray(image, dtype="u1")
        size = np.array([image.shape[1], image.shape[0]], dtype="<u4")
        digests += hashlib.sha256(size.tobytes() + image.tobytes()).hexdigest()
        count += 1
    labels = np.asarray(labels, dtype="<i8")
    assert len(labels) == count
    print(dataset, split, count, hashlib.sha256(labels.tobytes()).hexdigest()[:16],
          hashlib.sha256(digests.encode()).hexdigest()[:16])


def decoded(path):
    return np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))


def stl10():
    for split in ("train", "test"):
        x = np.fromfile(f"{ROOT}/stl10_binary/{split}_X.bin", "u1").reshape(-1, 3, 96, 96)
        y = np.fromfile(f"{ROOT}/stl10_binary/{split}_y.bin", "u1").astype("i8") - 1
        line("stl10:stl10_binary", split, x.transpose(0, 3, 2, 1), y)


def idx(path):
    data = gzip.open(path).read() if path.endswith(".gz") else open(path, "rb").read()
    rank = data[3]
    shape = np.frombuffer(data, ">u4", rank, 4)
    return np.frombuffer(data, "u1", offset=4 + 4 * rank).reshape(shape)


def mnist(name, folder, ending):
    for split, stem in (("train", "train"), ("test", "t10k")):
        x = idx(f"{folder}/{stem}-images-idx3-ubyte{ending}")
        line(name, split, (np.repeat(i[..., None], 3, -1) for i in x),
             idx(f"{folder}/{stem}-labels-idx1-ubyte{ending}"))


def cifar10():
    for split, file in (("train", "data_batch_1.bin"), ("test", "test_batch.bin")):
        x = np.fromfile(f"{ROOT}/cifar-10-batches-bin/{file}", "u1").reshape(-1, 3073)
        line("cifar10:cifar-10-batches-bin", split,
             x[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), x[:, 0])


def listed(folder):
    """Files below a folder in byte order of their paths."""
    found = []
    for at, _, names in os.walk(os.fsencode(folder)):
        found += [os.path.join(at, n) for n in names
                  if n.lower().endswith((b".jpg", b".jpeg", b".png"))]
    return sorted(found)


def classes_in(folder):
    return sorted(os.listdir(os.fsencode(folder)))


def folder(name, splits):
    top = f"{ROOT}/{name}"
    for split in splits:
        inside = os.path.join(top, split) if len(splits) > 1 else top
        files, labels = [], []
        for k, c in enumerate(classes_in(inside)):
            now = listed(os.path.join(os.fsencode(inside), c))
            files += now
            labels += [k] * len(now)
        line(f"folder:{name}", split, map(decoded, files), labels)


def tiny():
    top = f"{ROOT}/tiny-imagenet-200"
    ids = open(f"{top}/wnids.txt").read().split()
    files, labels = [], []
    for k, c in enumerate(ids):
        now = listed(f"{top}/train/{c}")
        files += now
        labels += [k] * len(now)
    line("tiny-imagenet:tiny-imagenet-200", "train", map(decoded, files), labels)
    notes = [r.split("\t") for r in open(f"{top}/val/val_annotations.txt").read().splitlines()]
    line("tiny-imagenet:tiny-imagenet-200", "val",
         (decoded(f"{top}/val/images/{n[0]}") for n in notes), [ids.index(n[1]) for n in notes])


stl10()
mnist("mnist:mnist", f"{ROOT}/mnist", "")
cifar10()
tiny()
folder("stl10", ["train", "test"])
folder("NEU", ["train"])
folder("RSSCN7", ["train"])
folder("UCMerced_LandUse/Images", ["train"])
if os.path.isdir(DEBIAN):
    mnist("fashion-mnist:", DEBIAN, ".gz")
