# SPDX-License-Identifier: Apache-2.0
"""collision.py - the raw collision rate by scikit-learn, driven by lines.

    collision N M D VARIANT    answers the seconds

neighbors: NearestNeighbors by brute force, which is Euclidean and exact; argmin:
pairwise_distances_argmin, the same without keeping the distances.
"""

import sys
import time

import numpy as np
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits


def nearest(variant, clean, aug):
    if variant == "argmin":
        return pairwise_distances_argmin(aug, clean)
    search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(clean)
    return search.kneighbors(aug, return_distance=False)[:, 0]


def main():
    threadpool_limits(int(sys.argv[sys.argv.index("--threads") + 1]))
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        n, m, d = (int(word) for word in words[1:4])
        rng = np.random.default_rng(0)
        clean = rng.standard_normal((n, d), dtype="f4")
        aug = clean[:m] + rng.standard_normal((m, d), dtype="f4")
        labels = np.arange(n) % 10
        start = time.perf_counter()
        float(np.mean(labels[nearest(words[4], clean, aug)] != labels[:m]))
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
