# SPDX-License-Identifier: Apache-2.0
"""retrieval.py - recall and average precision by faiss and scikit-learn, driven by lines.

    retrieval TASK N M D SIDE    answers the seconds

N clean rows of ten classes, M queries that are copies of the first rows. image: the ten nearest
rows and whether the own one is among them; class: all rows sorted, and the mean of the average
precision over the rows of the query's class. SIDE is faiss (IndexFlatL2) or sklearn (brute
force); making the index is part of the time.
"""

import functools
import sys
import time

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

CLASSES, REACH, BLOCK = 10, 10, 500


@functools.cache
def make_rows(n, m, d):
    rng = np.random.default_rng(0)
    clean = rng.standard_normal((n, d), dtype="f4")
    return clean, clean[:m] + rng.standard_normal((m, d), dtype="f4")


def searcher(side, clean):
    """A function of queries and k that gives the k nearest rows in order."""
    if side == "sklearn":
        search = NearestNeighbors(algorithm="brute").fit(clean)
        return lambda queries, k: search.kneighbors(queries, k, return_distance=False)
    index = faiss.IndexFlatL2(clean.shape[1])
    index.add(clean)
    return lambda queries, k: index.search(queries, k)[1]


def recall(search, queries, first):
    own = np.arange(first, first + len(queries))[:, None]
    return (search(queries, REACH) == own).any(axis=1).sum()


def precision(search, queries, first, labels):
    hit = labels[search(queries, len(labels))] == labels[first:first + len(queries), None]
    at = hit.cumsum(axis=1) / np.arange(1, len(labels) + 1, dtype="f4")
    return ((at * hit).sum(axis=1) / hit.sum(axis=1)).sum()


def main():
    threads = int(sys.argv[sys.argv.index("--threads") + 1])
    threadpool_limits(threads)
    faiss.omp_set_num_threads(threads)
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        n, m, d = (int(word) for word in words[2:5])
        clean, queries = make_rows(n, m, d)
        labels = np.arange(n) % CLASSES
        start = time.perf_counter()
        search = searcher(words[5], clean)
        if words[1] == "image":
            recall(search, queries, 0)
        else:
            sum(precision(search, queries[i:i + BLOCK], i, labels) for i in range(0, m, BLOCK))
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
