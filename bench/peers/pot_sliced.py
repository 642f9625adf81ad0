# SPDX-License-Identifier: Apache-2.0
"""pot_sliced.py - the sliced Wasserstein distance by POT or PyTorch, driven by lines.

    sliced N D L COUNT VARIANT    answers the seconds that COUNT distances took

A variant is LIBRARY/TYPE/DIRECTIONS: LIBRARY pot-numpy or pot-torch (POT with arrays of
these) or torch-columns, torch-rows (the plain formula of torch_losses.py); TYPE float32
or float64; DIRECTIONS drawn within the time or given. p = 2, clouds of N points each.
"""

import sys
import time

import numpy as np
import ot
import torch
from threadpoolctl import threadpool_limits

import torch_losses

FORMULAS = {"torch-columns": torch_losses.sliced_columns, "torch-rows": torch_losses.sliced_rows}


def make_clouds(n, d, library, kind):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((n, d), dtype="f4").astype(kind)
    b = (1.2 * rng.standard_normal((n, d), dtype="f4") + 0.1).astype(kind)
    return (a, b) if library == "pot-numpy" else (torch.from_numpy(a), torch.from_numpy(b))


def pot_distance(a, b, count, directions):
    given = {} if directions == "drawn" else {
        "projections": ot.sliced.get_random_projections(a.shape[1], count, backend=ot.backend.get_backend(a),
                                                        type_as=a)}
    return lambda: ot.sliced_wasserstein_distance(a, b, n_projections=count, p=2, **given)


def torch_distance(formula, a, b, count, directions):
    fixed = torch_losses.draw_directions(count, a.shape[1]).to(a.dtype)
    if directions == "given":
        return lambda: formula(a, b, fixed)
    return lambda: formula(a, b, torch_losses.draw_directions(count, a.shape[1]).to(a.dtype))


def make_distance(n, d, count, variant):
    library, kind, directions = variant.split("/")
    a, b = make_clouds(n, d, library, kind)
    if library in FORMULAS:
        return torch_distance(FORMULAS[library], a, b, count, directions)
    return pot_distance(a, b, count, directions)


def main():
    threads = int(sys.argv[sys.argv.index("--threads") + 1])
    threadpool_limits(threads)
    torch.set_num_threads(threads)
    known = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, n, d, directions, count, variant = line.split()
        key = n, d, directions, variant
        if key not in known:
            known.clear()
            known[key] = make_distance(int(n), int(d), int(directions), variant)
            known[key]()
        start = time.perf_counter()
        for _ in range(int(count)):
            float(known[key]())
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
