# SPDX-License-Identifier: Apache-2.0
"""faiss_index.py [PHOTOS WEIGHTS] - an index that already exists, queried with rotated images, with and without E.

The index holds old features F(x) and stays as it is; only queries pass through E. recall@k: how often the image that a
query was made from is among its k nearest. Needs faiss. Without arguments, features are made up.
"""
import sys

import faiss
import numpy as np

import invar


def made_up():
    rng = np.random.default_rng(0)
    n, d = 2000, 64
    clean = rng.normal(size=(n, d))
    nuisance = rng.normal(size=(6, d))
    return invar.bank(clean, [clean + 1.5 * rng.normal(size=(n, 6)) @ nuisance for _ in range(4)], name="made-up",
                      holdout=0.3, path="faiss-bank")


if len(sys.argv) > 2:
    bank = invar.encode(sys.argv[1], "faiss-bank", encoder=sys.argv[2], augment="rotation", copies={"train": 5, "test": 2},
                        holdout=0.3)
else:
    bank = made_up()
E = invar.train(bank, "faiss-run", preset="instant").adapter

# The old index: every clean feature, test images first, so that query i was made from row i.
index = faiss.IndexFlatL2(bank.dim)
for split in ("test", "train"):
    index.add(np.ascontiguousarray(bank.clean(split), np.float32))

queries = bank.copy(0, "test")
truth = np.arange(len(queries))[:, None]
recall = {}
for title, rows in (("F", queries), ("E", E(queries))):
    _, found = index.search(rows, 10)
    recall[title] = [(found[:, :k] == truth).any(1).mean() for k in (1, 5, 10)]
    print(title, " ".join(f"recall@{k} {share:.3f}" for k, share in zip((1, 5, 10), recall[title])))
assert recall["E"][2] > recall["F"][2]
