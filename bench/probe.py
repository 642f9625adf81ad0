# SPDX-License-Identifier: Apache-2.0
"""probe.py - training a probe: invar against PyTorch, and both against the peak.

NC (384, 4096, 10) and EC (384, 4096, 4096, 10) on 5,000 rows: 19 steps of 256 rows per
epoch, Adam, a new order every epoch. A step is the matrix products of the layers, two
for each (forward, weights) and one more for each but the first (the gradient with
respect to the input is not needed). NC is trained as in the paper, 50 epochs; of
EC one epoch is measured, as the others would be the same.

PyTorch runs at its best, as in train.py: a short trial of eager and compiled, three
forms of Adam and two allocator settings finds the two fastest, which then run in turn
with invar.
"""

import torch

import common
import train

ROWS, WIDTH, HIDDEN, CLASSES, BATCH = 5000, 384, 4096, 10, 256
LAYERS = {"nc": [(WIDTH, HIDDEN), (HIDDEN, CLASSES)],
          "ec": [(WIDTH, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, CLASSES)]}
EPOCHS = {"nc": 50, "ec": 1}
TRIAL_EPOCHS = {"nc": 3, "ec": 1}
ROUNDS = {"nc": 3, "ec": 5}
FINALISTS = 2


def flops(kind, epochs):
    products = [3 * a * b for a, b in LAYERS[kind]]
    products[0] = 2 * LAYERS[kind][0][0] * LAYERS[kind][0][1]
    return 2.0 * BATCH * sum(products) * (ROWS // BATCH) * epochs


def question(kind, epochs):
    return "probe %s %d %d %d" % (kind, ROWS, WIDTH, epochs)


def try_variants(options, kind):
    """{(allocator, variant): seconds of a few epochs}, one after the other."""
    times = {}
    for allocator, environment in train.ALLOCATORS.items():
        program = common.peer_program(options, "torch_probe.py", environment)
        for variant in train.VARIANTS:
            times[allocator, variant] = program.ask("%s %s" % (question(kind, TRIAL_EPOCHS[kind]), variant))
        program.close()
    return times


def compare(options, kind):
    """Medians in turn: the peak, invar, and PyTorch's best finalist by name."""
    times = try_variants(options, kind)
    finalists = sorted(times, key=times.get)[:FINALISTS]
    peers = {f: common.peer_program(options, "torch_probe.py", train.ALLOCATORS[f[0]]) for f in finalists}
    own = common.invar_program(options)
    line = question(kind, EPOCHS[kind])
    sides = {f: lambda f=f: peers[f].ask("%s %s" % (line, f[1])) for f in finalists}
    sides["invar"] = lambda: own.ask(line)
    sides["peak"] = lambda: common.measure_peak(options)
    found = common.in_turn(min(options.rounds, ROUNDS[kind]), sides)
    for program in [own, *peers.values()]:
        program.close()
    best = min(finalists, key=found.get)
    found["torch"] = found[best]
    return found, "%s, %s" % best[::-1]


def row_of(kind, found, best):
    work = flops(kind, EPOCHS[kind])
    share = lambda seconds: "%.0f %%" % (100 * work / seconds / 1e9 / found["peak"])
    return [kind.upper(), str(EPOCHS[kind]), "%.2f s" % found["invar"], "%.2f s" % found["torch"],
            "%.2f" % (found["torch"] / found["invar"]), share(found["invar"]), share(found["torch"]),
            "%.0f" % found["peak"], best]


def main():
    options = common.arguments(__doc__)
    rows = [row_of(kind, *compare(options, kind)) for kind in LAYERS]
    body = "%s. %s rows × %d, %d classes, hidden %d; medians of rounds in turn.\n\n" % (
        common.versions(torch), format(ROWS, ","), WIDTH, CLASSES, HIDDEN)
    body += common.table(["probe", "epochs", "invar", "PyTorch", "times faster", "invar, of peak",
                          "PyTorch, of peak", "peak GFLOP/s", "PyTorch's best"], rows)
    common.report(options, "probe", "Training a probe", body)


if __name__ == "__main__":
    main()
