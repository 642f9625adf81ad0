# SPDX-License-Identifier: Apache-2.0
"""faiss_index.py [BANK | PHOTOS WEIGHTS] - indexes of unit vectors that already exist, queried with and without E.

The stored vectors are unit(F(x)), searched by inner product: exact, IVF and HNSW. Old index: they stay as they are, and
only queries pass through E. New index: stored vectors pass through E as well, which needs no images, as E takes them as
they are stored. Every query passes through E, because nobody knows which one is augmented: upright queries show what that
costs. recall@k: how often the image that a query was made from is among the k nearest, counted by faiss alone. Needs faiss.
Without arguments, features are made up.
"""
import sys
import warnings

import faiss
import numpy as np

import invar


def made_up():
    """Nuisance directions move a row about as far as its neighbours are."""
    rng = np.random.default_rng(0)
    n, d = 2000, 64
    clean = rng.normal(size=(n, d)) + 1
    nuisance = rng.normal(size=(6, d))
    return invar.bank(clean, [clean + 1.5 * rng.normal(size=(n, 6)) @ nuisance for _ in range(4)], name="made-up",
                      holdout=0.3, path="faiss-bank")


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def flat(rows):
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return index


def ivf(rows):
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(rows.shape[1]), rows.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    index.nprobe = 8
    return index


def hnsw(rows):
    index = faiss.IndexHNSWFlat(rows.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = 80, 64
    index.add(rows)
    return index


def recall(index, queries):
    _, found = index.search(queries, 10)
    mine = np.arange(len(queries))[:, None]
    return [(found[:, :k] == mine).any(1).mean() for k in (1, 10)]


if len(sys.argv) > 2:
    bank = invar.encode(sys.argv[1], "faiss-bank", encoder=sys.argv[2], augment="rotation", copies={"train": 5, "test": 2},
                        holdout=0.3)
else:
    bank = invar.Bank(sys.argv[1]) if len(sys.argv) > 1 else made_up()
E = invar.train(bank, "faiss-run", preset="instant", unit=True).adapter

# Test images first, so that query i was made from row i.
stored = unit(np.concatenate([bank.clean("test"), bank.clean("train")]).astype(np.float32))
upright, augmented = np.asarray(bank.clean("test"), np.float32), bank.copy(0, "test")

# Raw and normalised features have the same codes, of norm 1.
gap = max(np.abs(E(rows) - E(unit(rows))).max() for rows in (upright, augmented))
print(f"codes of raw and of unit features differ by at most {gap:.0e}")
assert gap <= 1e-6 and np.allclose(np.linalg.norm(E(augmented), axis=1), 1, atol=1e-6)

print(f"recall@1 | @10 of {len(augmented)} queries among {len(stored)} vectors")
for title, make in (("flat", flat), ("IVF", ivf), ("HNSW", hnsw)):
    old, new = make(stored), make(E(stored))
    for kind, queries in (("augmented", augmented), ("upright", upright)):
        before, after, again = recall(old, unit(queries)), recall(old, E(queries)), recall(new, E(queries))
        print(f"{title:5} {kind:10}", "   ".join(f"{name} {100 * one:5.1f} | {100 * ten:5.1f}" for name, (one, ten) in (
            ("F, old index", before), ("E, old index", after), ("E, new index", again))))
        if kind == "augmented":
            assert after[1] > before[1] and again[1] > before[1]
        else:
            assert after[0] > before[0] - 0.02 and again[0] > before[0] - 0.02

# An adapter of raw features that is given normalised ones says so.
raw = invar.train(bank, "faiss-run-raw", preset="instant").adapter
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    raw(augmented), raw(upright)
    assert not said, said[0].message
    raw(unit(augmented))
print("wrong use is reported:", said[0].message)
assert len(said) == 1 and said[0].category is UserWarning
