"""sliced.py - the sliced Wasserstein distance of two clouds, the value alone, against POT.

1024 points 384 and 2048 wide, and 20,000 points 64 wide; 1000 directions, p = 2. POT is
taken at its best: with NumPy's and with PyTorch's arrays, in float32 and float64. Beside
it stands the formula written out in PyTorch, as POT allows for weights, which costs it
time. Each of the two draws its directions in the time, as invar does, or is given them.
A short trial finds the fastest variant of each of these four, which then run in turn
with invar.
"""

import ot
import torch

import common

SIZES = {(1024, 384, 1000): (4, 9), (1024, 2048, 1000): (4, 9),
         (20000, 64, 1000): (1, 3)}  # distances in one measurement, rounds at most
LIBRARIES = {"POT": ("pot-numpy/float32", "pot-numpy/float64", "pot-torch/float32", "pot-torch/float64"),
             "PyTorch": ("torch-columns/float32", "torch-rows/float32")}
DIRECTIONS = ("drawn", "given")
GROUPS = [(library, directions) for library in LIBRARIES for directions in DIRECTIONS]


def question(size, variant):
    return "sliced %d %d %d %d %s" % (*size, SIZES[size][0], variant)


def find_fastest(options, size):
    """{(library, directions): its fastest variant}, and {variant: seconds a distance} of all."""
    program = common.peer_program(options, "pot_sliced.py")
    groups = {(library, how): ["%s/%s" % (way, how) for way in LIBRARIES[library]] for library, how in GROUPS}
    times = {variant: program.ask(question(size, variant)) / SIZES[size][0]
             for variants in groups.values() for variant in variants}
    program.close()
    return {group: min(variants, key=times.get) for group, variants in groups.items()}, times


def compare(options, size):
    """Medians of seconds a distance: invar and the fastest of each group, in turn."""
    fastest, times = find_fastest(options, size)
    count, rounds = SIZES[size]
    peers = {group: common.peer_program(options, "pot_sliced.py") for group in GROUPS}
    own = common.invar_program(options)
    sides = {g: lambda g=g: peers[g].ask(question(size, fastest[g])) / count for g in GROUPS}
    sides["invar"] = lambda: own.ask("sliced %d %d %d %d" % (*size, count)) / count
    found = common.in_turn(min(options.rounds, rounds), sides)
    for program in [own, *peers.values()]:
        program.close()
    return found, fastest, times


def row_of(size, found, fastest):
    cell = lambda seconds: "%.1f ms" % (1e3 * seconds)
    best = {library: min(((library, how) for how in DIRECTIONS), key=found.get) for library in LIBRARIES}
    ratio = lambda library: "%.2f" % (found[best[library]] / found["invar"])
    return ["%d × %d" % size[:2], cell(found["invar"]), *(cell(found[g]) for g in GROUPS), ratio("POT"),
            ratio("PyTorch"), fastest[best["POT"]]]


def main():
    options = common.arguments(__doc__)
    rows, trials = [], []
    for size in SIZES:
        found, fastest, times = compare(options, size)
        rows.append(row_of(size, found, fastest))
        trials.append(times)
    body = "%s. Medians of at most %d rounds in turn; 1000 directions, p = 2.\n\n" % (
        common.versions(ot, torch), options.rounds)
    body += common.table(["points", "invar", *("%s, %s" % g for g in GROUPS), "times faster than POT",
                          "than PyTorch", "POT's best"], rows)
    body += "\n\nThe variants, one try of each:\n\n"
    body += common.table(["variant", *("%d × %d" % size[:2] for size in SIZES)],
                         [[v] + ["%.1f ms" % (1e3 * times[v]) for times in trials] for v in trials[0]])
    common.report(options, "sliced", "Sliced Wasserstein distance", body)


if __name__ == "__main__":
    main()
