# SPDX-License-Identifier: Apache-2.0
"""structure.py - Eq. 34-39 over all pairs by SciPy and PyTorch, driven by lines.

    structure N D VARIANT    answers the seconds

scipy: pdist of the points and of the codes, then NumPy. torch: the same with
torch.pdist on all threads, in float32, then sums in float64. Both keep every
distance, as there is no other way to write it with them.
"""

import sys
import time

import numpy as np
import torch
from scipy.spatial.distance import pdist


def statistics_numpy(d, e):
    ratio = e / d
    m, b = np.polyfit(d, e, 1)
    rest = e - (m * d + b)
    r2 = 1 - rest.dot(rest) / np.square(e - e.mean()).sum()
    rmsd = np.sqrt(np.square(e - d).mean())
    return ratio.min(), ratio.max(), m, b, r2, rmsd, rmsd / (d.max() - d.min()), rmsd / d.mean()


def statistics_torch(d, e):
    ratio = e / d
    d, e = d.double(), e.double()
    dm, em = d - d.mean(), e - e.mean()
    m = dm.dot(em) / dm.dot(dm)
    b = e.mean() - m * d.mean()
    r2 = 1 - (em - m * dm).square().sum() / em.dot(em)
    rmsd = (e - d).square().mean().sqrt()
    return ratio.min(), ratio.max(), m, b, r2, rmsd, rmsd / (d.max() - d.min()), rmsd / d.mean()


def run(variant, x, e):
    if variant == "scipy":
        return statistics_numpy(pdist(x), pdist(e))
    return statistics_torch(torch.pdist(torch.from_numpy(x)), torch.pdist(torch.from_numpy(e)))


def main():
    torch.set_num_threads(int(sys.argv[sys.argv.index("--threads") + 1]))
    rng = np.random.default_rng(0)
    print("ready", flush=True)
    for line in sys.stdin:
        _, n, d, variant = line.split()
        x = rng.normal(size=(int(n), int(d))).astype("f4")
        e = x + 0.1 * rng.normal(size=x.shape).astype("f4")
        start = time.perf_counter()
        run(variant, x, e)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
