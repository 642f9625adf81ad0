# SPDX-License-Identifier: Apache-2.0
"""retrieval.py INVAR [BANK] - recall and average precision beside scikit-learn and faiss.

`invar eval --metrics retrieval` on a bank (without BANK, one drawn here with labels, three
splits, four copies and views), copies and clean rows as queries, with one view and, where the
bank has them, with four, the nearest of which counts, against: scikit-learn's pairwise distances by brute force in double,
ranked by NumPy's stable sort, and its average_precision_score, which gives equally near
rows one place (by class a query's own image comes last and is not relevant, which leaves it out); and, where faiss is installed, its flat indexes by L2 and inner product of
normalised rows, in float, which may swap near ties; of four views by a search for each and the
best score of every row that one of them found. Exit 1 where figures of the ranking
differ by more than 1e-9, average_precision_score by more than 1e-5, or faiss by more than
one query in 1,000.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.metrics import average_precision_score, pairwise_distances

try:
    import faiss
except ImportError:
    faiss = None

REACH = (1, 5, 10)


def rotated(rng, clean):
    """Three views of each row, some of which are close to the row."""
    far = rng.uniform(0.5, 3, size=(len(clean), 3, 1))
    return (clean[:, None] + far * rng.normal(size=(len(clean), 3, clean.shape[1]))).astype("f4")


def draw_bank(folder):
    """Overlapping classes; a split without labels; some rows without one."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(12, 48))
    for split, n, copies in (("train", 700, 0), ("test", 430, 4), ("unlabeled", 251, 0)):
        os.makedirs(os.path.join(folder, split, "aug"))
        labels = rng.integers(12, size=n)
        clean = (10 + 0.4 * centres[labels] + rng.normal(size=(n, 48))).astype("f4")
        np.save(os.path.join(folder, split, "clean.npy"), clean)
        if split != "unlabeled":
            labels[::17] = -1
            np.save(os.path.join(folder, split, "labels.npy"), labels)
        for c in range(copies):
            copy = (clean + 1.6 * rng.normal(size=clean.shape)).astype("f4")
            np.save(os.path.join(folder, split, "aug", "%03d.npy" % c), copy)
            np.save(os.path.join(folder, split, "aug", "%03d.views.npy" % c), rotated(rng, clean))
        if copies:
            np.save(os.path.join(folder, split, "clean.views.npy"), rotated(rng, clean))
        if not copies:
            os.rmdir(os.path.join(folder, split, "aug"))
    return folder


def read_bank(folder):
    """Gallery and labels of all splits in order of their names; [sets][copies][n, views, d] and place of test."""
    rows, labels, first = [], [], 0
    for split in sorted(os.listdir(folder)):
        path = os.path.join(folder, split)
        if not os.path.exists(os.path.join(path, "clean.npy")):
            continue
        if split == "test":
            first = sum(map(len, rows))
        rows.append(np.load(os.path.join(path, "clean.npy")).astype("f4"))
        own = os.path.join(path, "labels.npy")
        labels.append(np.load(own) if os.path.exists(own) else np.full(len(rows[-1]), -1))
    test = os.path.join(folder, "test")
    names = sorted(n for n in os.listdir(os.path.join(test, "aug")) if n[:-4].isdigit())
    sets = {"augmented": [os.path.join(test, "aug", n) for n in names], "clean": [os.path.join(test, "clean.npy")]}
    sets = {name: [read_views(path) for path in paths] for name, paths in sets.items()}
    return np.concatenate(rows), np.concatenate(labels).astype(int), sets, first


def read_views(path):
    """Rows and their views, [n, 4, d]; [n, 1, d] without views."""
    rows, views = np.load(path).astype("f4")[:, None], path[:-4] + ".views.npy"
    return np.concatenate([rows, np.load(views).astype("f4")], axis=1) if os.path.exists(views) else rows


def recalls(found, relevant):
    """found [m, 10]: gallery rows; relevant [m, n]."""
    hit = np.take_along_axis(relevant, found, axis=1)
    return {"recall_at_%d" % k: hit[:, :k].any(axis=1).mean() for k in REACH}


def by_sklearn(gallery, queries, relevant, metric, left_out):
    m, views, d = queries.shape
    distance = pairwise_distances(queries.reshape(-1, d).astype("f8"), gallery.astype("f8"), metric)
    distance = distance.reshape(m, views, -1).min(axis=1)
    distance[left_out] = distance.max() + 1
    order = np.argsort(distance, axis=1, kind="stable")
    hit = np.take_along_axis(relevant, order, axis=1)
    precision = hit.cumsum(axis=1) / np.arange(1, len(gallery) + 1)
    figures = recalls(order[:, :10], relevant)
    figures["precision"] = ((precision * hit).sum(axis=1) / hit.sum(axis=1)).mean()
    grouped = np.mean([average_precision_score(row, -far) for row, far in zip(relevant, distance)])
    return figures, {"precision": grouped}


def by_faiss(gallery, queries, relevant, metric, left_out):
    m, views, d = queries.shape
    sign = 1
    if metric == "cosine":
        gallery, queries = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (gallery, queries))
        sign = -1
    index = (faiss.IndexFlatIP if metric == "cosine" else faiss.IndexFlatL2)(d)
    index.add(np.ascontiguousarray(gallery))
    far, rows = (x.reshape(m, -1) for x in index.search(np.ascontiguousarray(queries.reshape(-1, d)), 11))
    found = np.empty((m, 11), int)
    for i in range(m):  # each row once, where it is nearest
        best = rows[i][np.argsort(sign * far[i], kind="stable")]
        found[i] = best[np.sort(np.unique(best, return_index=True)[1])][:11]
    own = np.take_along_axis(left_out, found, axis=1)
    return recalls(np.take_along_axis(found, np.argsort(own, axis=1, kind="stable"), axis=1)[:, :10], relevant)


def measure(invar, bank):
    command = [invar, "eval", bank, "--metrics", "retrieval", "--json", "-q"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["values"]


def compare(name, own, peer, allowed):
    worst = max(abs(own[k] - peer[k]) for k in peer)
    print("%-66s %s  worst difference %.1e" % (
        name, " ".join("%.4f" % peer[k] for k in sorted(peer)), worst))
    return worst <= allowed


def check(invar, bank):
    values = measure(invar, bank)
    gallery, labels, sets, first = read_bank(bank)
    good = True
    for name, copies in sets.items():
        views = copies[0].shape[1]
        for column, used in (("F", 1), ("F.views", views))[:1 + (views > 1)]:
            good &= check_set(values, gallery, labels, [c[:, :used] for c in copies], first, name, column)
    return good


def check_set(values, gallery, labels, copies, first, name, column):
    n, queries, good = len(copies[0]), np.concatenate(copies), True
    own = np.tile(np.arange(first, first + n), len(copies))
    labelled, asked = labels >= 0, labels[own] >= 0
    same_image = own[:, None] == np.arange(len(gallery))
    left_out = same_image[asked][:, labelled]
    same_class = (labels[own][asked][:, None] == labels[labelled]) & ~left_out
    has = same_class.any(axis=1)
    kinds = {"same-image": (gallery, queries, same_image, np.zeros_like(same_image), "mean_reciprocal_rank"),
             "same-class": (gallery[labelled], queries[asked][has], same_class[has], left_out[has],
                            "mean_average_precision")}
    for kind, (rows, asking, relevant, left_out, precision) in kinds.items():
        for metric, spelled in (("euclidean", "l2"), ("cosine", "cosine")):
            prefix = "%s.old.%s.%s" % (kind, spelled, name)
            found = {k: values[prefix + "." + k][column]["value"] for k in ["recall_at_%d" % k for k in REACH]}
            found["precision"] = values[prefix + "." + precision][column]["value"]
            prefix = column + " " + prefix
            ranked, grouped = by_sklearn(rows, asking, relevant, metric, left_out)
            good &= compare(prefix + " scikit-learn", found, ranked, 1e-9)
            good &= compare(prefix + " average_precision_score", found, grouped, 1e-5)
            if faiss:
                good &= compare(prefix + " faiss", found, by_faiss(rows, asking, relevant, metric, left_out), 1e-3)
    return good


def main():
    invar = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        sys.exit(0 if check(invar, sys.argv[2]) else 1)
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(0 if check(invar, draw_bank(os.path.join(folder, "bank"))) else 1)


if __name__ == "__main__":
    main()
