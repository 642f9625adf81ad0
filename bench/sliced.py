# SPDX-License-Identifier: Apache-2.0
"""sliced.py - the sliced Wasserstein distance of two clouds, only the value, against POT.

1024 points 384 and 2048 wide, and 20,000 points 64 wide; 1000 directions, p = 2, which
are drawn in the time, or given. POT runs at its best: with NumPy's and with PyTorch's
arrays, in float32 and float64. The formula in PyTorch is measured
too, as POT supports weights, which costs it time. A short trial finds the fastest variant of
each library, which then run in turn with invar.
"""

import ot
import torch

import common

SIZES = {(1024, 384, 1000): (4, 9), (1024, 2048, 1000): (4, 9),
         (20000, 64, 1000): (1, 3)}  # distances in one measurement, rounds at most
LIBRARIES = {"POT": ("pot-numpy/float32", "pot-numpy/float64", "pot-torch/float32", "pot-torch/float64"),
             "PyTorch": ("torch-columns/float32", "torch-rows/float32")}
DIRECTIONS = ("drawn", "given")


def question(size, words):
    return "sliced %d %d %d %d %s" % (*size, SIZES[size][0], words)


def try_variants(options, size, directions):
    """{variant: seconds per distance}, one after the other."""
    program = common.peer_program(options, "pot_sliced.py")
    variants = ["%s/%s" % (way, directions) for ways in LIBRARIES.values() for way in ways]
    times = {variant: min(program.ask(question(size, variant)) for _ in range(2)) / SIZES[size][0]
             for variant in variants}
    program.close()
    return times


def compare(options, size, directions):
    """Medians in turn: seconds per distance of invar and of each library's fastest, by name."""
    times = try_variants(options, size, directions)
    count, rounds = SIZES[size]
    best = {library: min(("%s/%s" % (way, directions) for way in ways), key=times.get)
            for library, ways in LIBRARIES.items()}
    programs = {library: common.peer_program(options, "pot_sliced.py") for library in LIBRARIES}
    programs["invar"] = common.invar_program(options)
    asked = dict(best, invar=directions)
    sides = {name: lambda name=name: programs[name].ask(question(size, asked[name])) / count for name in asked}
    found = common.in_turn(min(options.rounds, rounds), sides)
    for program in programs.values():
        program.close()
    return found, best, times


def row_of(size, directions, found, best):
    row = ["%d × %d" % size[:2], directions, "%.1f ms" % (1e3 * found["invar"])]
    for library in LIBRARIES:
        row += ["%.1f ms" % (1e3 * found[library]), "%.2f" % (found[library] / found["invar"])]
    return row + [best["POT"].rsplit("/", 1)[0]]


def main():
    options = common.arguments(__doc__, most_points=20000)
    rows, trials = [], []
    sizes = [size for size in SIZES if size[0] <= options.most_points]
    for size, directions in [(size, directions) for size in sizes for directions in DIRECTIONS]:
        found, best, times = compare(options, size, directions)
        rows.append(row_of(size, directions, found, best))
        trials += [["%d × %d" % size[:2], variant, "%.1f ms" % (1e3 * seconds)]
                   for variant, seconds in times.items()]
    body = "%s. Medians of %d rounds in turn, at most 3 of the largest; 1000 directions, p = 2.\n\n" % (
        common.versions(ot, torch), options.rounds)
    body += common.table(["points", "directions", "invar", "POT", "times faster", "PyTorch", "times faster",
                          "POT's best"], rows)
    tried = "The peers' variants, best of two tries of each:\n\n" + common.table(["points", "variant", "distance"], trials)
    common.report(options, "sliced", "Sliced Wasserstein distance", body, tried)


if __name__ == "__main__":
    main()
