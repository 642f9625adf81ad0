# SPDX-License-Identifier: Apache-2.0
"""graph.py - graph statistics by scikit-learn and SciPy, driven by lines.

    graph N D VARIANT    answers the seconds

The published figures of rows before and after E: one search for the largest k, then for
k = 10, 20, 50 the spectrum of the union graph and the heat kernel signature of the weighted
one. smallest: eigsh of the Laplacian, which="SA", as one writes it; largest: eigsh of I - L,
which="LA", the fastest way found with ARPACK, both to 1e-9.
"""

import sys
import time

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import eigsh
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

SIZES, PAIRS, TIMES = (10, 20, 50), 50, np.geomspace(0.1, 10, 10)


def spectrum(a, variant):
    n = a.shape[0]
    scale = sparse.diags(1 / np.sqrt(np.asarray(a.sum(axis=1)).ravel()))
    near = (scale @ a @ scale).tocsr()
    options = {"tol": 1e-9, "v0": np.random.default_rng(1).uniform(-0.5, 0.5, n)}
    if variant == "smallest":
        return eigsh(sparse.identity(n, format="csr") - near, PAIRS, which="SA", **options)
    values, vectors = eigsh(near, PAIRS, which="LA", **options)
    return 1 - values[::-1], vectors[:, ::-1]


def statistics(rows, variant):
    n = len(rows)
    far, index = NearestNeighbors(n_neighbors=SIZES[-1], algorithm="brute").fit(rows).kneighbors(rows)
    found = []
    for k in SIZES:
        starts = np.arange(0, n * k + 1, k)
        a = sparse.csr_matrix((np.ones(n * k), index[:, :k].ravel(), starts), shape=(n, n))
        low, _ = spectrum(a.maximum(a.T), variant)
        sigma = far[:, k - 1].astype(float).mean()
        weight = np.exp(-far[:, :k].astype(float).ravel() ** 2 / (2 * sigma ** 2))
        w = sparse.csr_matrix((weight, index[:, :k].ravel(), starts), shape=(n, n))
        values, vectors = spectrum((w + w.T) / 2, variant)
        hks = (vectors ** 2) @ np.exp(-np.outer(values, TIMES))
        found.append((low / low.max(), hks / np.linalg.norm(hks, axis=0)))
    return found


def run(variant, x, e):
    pairs = zip(statistics(x, variant), statistics(e, variant))
    return [(np.linalg.norm(a[0] - b[0]), np.linalg.norm(a[1] - b[1], axis=0).mean()) for a, b in pairs]


def clouded_rows(rng, n, d):
    """As in invar_bench.c."""
    return (0.5 * rng.normal(size=(20, d))[np.arange(n) % 20]
            + 0.2 * rng.normal(size=(n, 24)) @ rng.normal(size=(24, d)) + 0.3 * rng.normal(size=(n, d))).astype("f4")


def main():
    threadpool_limits(int(sys.argv[sys.argv.index("--threads") + 1]))
    rng = np.random.default_rng(0)
    print("ready", flush=True)
    for line in sys.stdin:
        _, n, d, variant = line.split()
        x = clouded_rows(rng, int(n), int(d))
        e = x + 0.1 * rng.normal(size=x.shape).astype("f4")
        start = time.perf_counter()
        run(variant, x, e)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
