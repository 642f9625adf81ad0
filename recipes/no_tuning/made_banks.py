#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""made_banks.py OUT [NAME…] - banks for which it is known what an adapter can do.

Clean features are ten clusters in 32 dimensions, 600 images in train and 300 in test, with four
copies each:

    easy      one rotation of the feature space for all copies: a linear map undoes it
    curved    copies move along 28 dimensions by sines of the other four: learnable, not linear
    hard      every copy has a displacement of its own, as long as clean features are spread
    noise     the same where clean features have no clusters: nothing but shrinking is left
    hopeless  every copy is the clean feature of a random image of another class
    close     copies differ from clean features by a hundredth of their spread

Only Python's own library; the same bytes whenever it is called.
"""
import array
import json
import math
import os
import random
import struct
import sys

IMAGES = {"train": 600, "test": 300}
DIM, CLASSES, COPIES = 32, 10, 4
FREE = 4  # dimensions that a curved displacement depends on and leaves alone
CENTRE, SPREAD = 1.0, 0.6


def normal_row(draw, size=1.0):
    return [draw.gauss(0, size) for _ in range(DIM)]


def plus(a, b):
    return [x + y for x, y in zip(a, b)]


def rotation(draw):
    """Orthonormal rows, by Gram and Schmidt."""
    rows = []
    for _ in range(DIM):
        row = normal_row(draw)
        for other in rows:
            along = sum(x * y for x, y in zip(row, other))
            row = [x - along * y for x, y in zip(row, other)]
        length = math.sqrt(sum(x * x for x in row))
        rows.append([x / length for x in row])
    return rows


# ---- Copies: a function of the clean rows of a split, the index of an image, a generator -----

def easy(draw):
    turn = rotation(draw)

    def copy(clean, i, _):
        return [sum(z * row[l] for z, row in zip(clean[i], turn)) for l in range(DIM)]
    return copy


def curved(draw):
    waves = [[draw.gauss(0, 1.2) for _ in range(FREE)] for _ in range(DIM - FREE)]

    def copy(clean, i, own):
        size = own.uniform(1.8, 2.2)
        z = clean[i]
        return z[:FREE] + [z[FREE + l] + size * math.sin(sum(w * x for w, x in zip(wave, z)))
                           for l, wave in enumerate(waves)]
    return copy


def hard(_):
    return lambda clean, i, own: plus(clean[i], normal_row(own, math.hypot(CENTRE, SPREAD)))


def hopeless(_):
    def copy(clean, i, own):
        other = i
        while other % CLASSES == i % CLASSES:
            other = own.randrange(len(clean))
        return clean[other]
    return copy


def close(_):
    return lambda clean, i, own: plus(clean[i], normal_row(own, 0.01))


KINDS = {"easy": easy, "curved": curved, "hard": hard, "noise": hard, "hopeless": hopeless,
         "close": close}

# ---- Files -----------------------------------------------------------------------------------


def write_npy(path, dtype, shape, data):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
    header += " " * (117 - len(header)) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(data.tobytes())


def write_rows(path, rows):
    write_npy(path, "<f4", (len(rows), DIM), array.array("f", (x for row in rows for x in row)))


def make(name, path):
    draw = random.Random("made banks")
    size = math.hypot(CENTRE, SPREAD) if name == "noise" else SPREAD
    centres = [normal_row(draw, 0 if name == "noise" else CENTRE) for _ in range(CLASSES)]
    copy = KINDS[name](draw)
    for split, images in IMAGES.items():
        own = random.Random("%s %s" % (name, split))
        folder = os.path.join(path, split)
        clean = [plus(centres[i % CLASSES], normal_row(own, size)) for i in range(images)]
        os.makedirs(os.path.join(folder, "aug"))
        write_rows(os.path.join(folder, "clean.npy"), clean)
        write_npy(os.path.join(folder, "labels.npy"), "<i8", (images,),
                  array.array("q", (i % CLASSES for i in range(images))))
        for k in range(COPIES):
            write_rows(os.path.join(folder, "aug", "%03d.npy" % k),
                       [copy(clean, i, own) for i in range(images)])
    with open(os.path.join(path, "bank.json"), "w", encoding="utf-8") as f:
        json.dump({"format": "invar-bank", "version": 1, "encoder": "made up", "augment": name}, f)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for each in sys.argv[2:] or KINDS:
        make(each, os.path.join(sys.argv[1], each))
