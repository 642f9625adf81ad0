"""train.py - one MaWa training step: invar against PyTorch, and both against the peak.

Batch 256, s = 3 (1024 rows), hidden 4096, d = 384 and 2048. A step is five matrix
products of 2 * 1024 * d * 4096 operations (two forward, two for the weights, one
for the hidden layer; nobody needs the gradient of the input), the loss, and AdamW.

PyTorch is taken at its best: eager and compiled, three forms of AdamW, with the
allocator's defaults and with memory kept and huge pages allowed. A short trial finds
the three fastest, which then run in turn with invar and with the peak itself; the
best of their medians is PyTorch's.
"""

import torch

import common

ROWS, HIDDEN = 1024, 4096
WIDTHS = {384: 20, 2048: 4}  # d: steps in one measurement
VARIANTS = ("eager/fused", "eager/foreach", "eager/compiled", "compile/fused", "compile/foreach",
            "compile/compiled")
KEPT = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "8589934592",
        "MALLOC_TOP_PAD_": "268435456", "THP_MEM_ALLOC_ENABLE": "1"}
FINALISTS = 3
ALLOCATORS = {"plain": {}, "kept memory": KEPT}


def flops(d):
    return 5 * 2.0 * ROWS * d * HIDDEN


def peer_step(program, d, steps, variant):
    return lambda: program.ask("step %d %d %s" % (d, steps, variant)) / steps


def try_variants(options, d, steps):
    """{(allocator, variant): seconds a step}, one after the other."""
    times = {}
    for allocator, environment in ALLOCATORS.items():
        program = common.peer_program(options, "torch_train.py", environment)
        for variant in VARIANTS:
            measure = peer_step(program, d, steps, variant)
            times[allocator, variant] = min(measure() for _ in range(2))
        program.close()
    return times


def compare(options, d, steps):
    """Medians in turn: the peak, invar, and PyTorch's best finalist by name."""
    times = try_variants(options, d, steps)
    finalists = sorted(times, key=times.get)[:FINALISTS]
    peers = {f: common.peer_program(options, "torch_train.py", ALLOCATORS[f[0]]) for f in finalists}
    own = common.invar_program(options)
    sides = {f: peer_step(program, d, steps, f[1]) for f, program in peers.items()}
    sides["invar"] = lambda: own.ask("step %d %d" % (d, steps)) / steps
    sides["peak"] = lambda: common.measure_peak(options)
    found = common.in_turn(options.rounds, sides)
    for program in [own, *peers.values()]:
        program.close()
    best = min(finalists, key=found.get)
    found["torch"] = found[best]
    return found, "%s, %s" % best[::-1], times


def rows_of(d, found, best):
    share = lambda seconds: "%.0f %%" % (100 * flops(d) / seconds / 1e9 / found["peak"])
    return [str(d), "%.1f ms" % (1e3 * found["invar"]), "%.1f ms" % (1e3 * found["torch"]),
            "%.2f" % (found["torch"] / found["invar"]), share(found["invar"]), share(found["torch"]),
            "%.0f" % found["peak"], best]


def main():
    options = common.arguments(__doc__)
    rows, trials = [], []
    for d, steps in WIDTHS.items():
        found, best, times = compare(options, d, steps)
        rows.append(rows_of(d, found, best))
        trials += [[str(d), variant, allocator, "%.1f ms" % (1e3 * seconds)]
                   for (allocator, variant), seconds in times.items()]
    body = "%s. Medians of %d rounds in turn; best of PyTorch's variants below.\n\n" % (
        common.versions(torch), options.rounds)
    body += common.table(["d", "invar", "PyTorch", "times faster", "invar, of peak", "PyTorch, of peak",
                          "peak GFLOP/s", "PyTorch's best"], rows)
    body += "\n\nPyTorch's variants, best of two tries of each (MODE/AdamW):\n\n"
    body += common.table(["d", "variant", "memory", "step"], trials)
    common.report(options, "train", "MaWa step (batch 256, s = 3, hidden 4096)", body)


if __name__ == "__main__":
    main()
