# SPDX-License-Identifier: Apache-2.0
"""neighbours.py - the k nearest other rows of each row, driven by lines.

    neighbours N D K VARIANT    answers the seconds

faiss: IndexFlatL2, which is exact in float32; sklearn: NearestNeighbors by brute force.
Both are asked for one more, as the row itself is found too.
"""

import sys
import time

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits


def search(variant, x, k):
    if variant == "sklearn":
        return NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(x).kneighbors(x)
    index = faiss.IndexFlatL2(x.shape[1])
    index.add(x)
    return index.search(x, k + 1)


def main():
    threads = int(sys.argv[sys.argv.index("--threads") + 1])
    threadpool_limits(threads)
    faiss.omp_set_num_threads(threads)
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        n, d, k = (int(word) for word in words[1:4])
        x = np.random.default_rng(0).standard_normal((n, d), dtype="f4")
        start = time.perf_counter()
        search(words[4], x, k)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
