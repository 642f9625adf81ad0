# SPDX-License-Identifier: Apache-2.0
"""train.py - one training step of each loss: invar against PyTorch, and both against the peak.

Hidden 4096, for KEEP 1024, as in its preset; batch 256, s = 3 (1024 rows) for MaWa, WaCo and
HSIC, with vicinal rows (1280 rows) for KEEP; 1024 images, two views each (2048 rows) for
SimCLR; d = 384 and 2048. Directions and permutations of WaCo and vicinal rows of KEEP are
drawn in the step, by both.

PyTorch runs at its best: eager and compiled, three forms of AdamW, the ways of
writing the loss of peers/torch_losses.py, with the allocator's defaults and with memory
kept and huge pages allowed. A short trial finds the three fastest, which then run in
turn with invar and with the peak itself; the best of their medians is PyTorch's.

The share of the peak counts the products that the definition needs, the same for both
sides, and neither AdamW, sorting, drawing nor what goes over an array once.
"""

import sys

import torch

import common

HIDDEN, KEEP_HIDDEN, IMAGES, SAMPLES, VIEWS_IMAGES, DIRECTIONS = 4096, 1024, 256, 3, 1024, 1000
TITLES = {"mawa": "MaWa step (batch 256, s = 3, hidden 4096)",
          "waco": "WaCo step (batch 256, s = 3, 1000 directions, hidden 4096)",
          "simclr": "SimCLR step (batch 1024, two views, hidden 4096)",
          "hsic": "HSIC step (batch 256, s = 3, hidden 4096)",
          "keep": "KEEP step (batch 256, s = 3, hidden 1024)"}
STEPS = {"mawa": {384: 20, 2048: 4}, "waco": {384: 5, 2048: 2}, "simclr": {384: 6, 2048: 2},
         "hsic": {384: 10, 2048: 3}, "keep": {384: 20, 2048: 5}}  # in one measurement
VARIANTS = ("eager/fused", "eager/foreach", "eager/compiled", "compile/fused", "compile/foreach",
            "compile/compiled")
FORMS = {"mawa": ("",), "waco": ("/columns", "/rows"), "simclr": ("",), "hsic": ("/product", "/cdist"),
         "keep": ("",)}
KEPT = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "8589934592",
        "MALLOC_TOP_PAD_": "268435456", "THP_MEM_ALLOC_ENABLE": "1"}
FINALISTS = 3
ALLOCATORS = {"plain": {}, "kept memory": KEPT}


# ---- what a step needs ---------------------------------------------------------

def mlp_flops(rows, d, hidden=HIDDEN):
    """Two products forward, two for the weights, one for the hidden layer; the gradient
    of the input is not needed."""
    return 5 * 2.0 * rows * d * hidden


def waco_flops(n, m, d):
    """A pair projects as the sum of its halves, so the shuffled pairs need no product;
    X has n distinct rows; Z is projected once for XZ and twice for ZZ, and each of
    these has its gradient, which X has not."""
    x, z = 1 + 2, 1 + 2
    return 2.0 * DIRECTIONS * d * (x * n + z * m + z * m)


def gram_flops(rows, d):
    """All pairs of rows, each once; their gradient is a full product, twice as much."""
    return 1.0 * rows * rows * d


def flops(loss, d):
    m = (SAMPLES + 1) * IMAGES
    if loss == "simclr":
        rows = 2 * VIEWS_IMAGES
        return mlp_flops(rows, d) + 3 * gram_flops(rows, d)
    if loss == "keep":  # copies with both kinds of keys, their gradient, and that of the new keys
        return mlp_flops(m + IMAGES, d, KEEP_HIDDEN) + 5 * 2.0 * SAMPLES * IMAGES * IMAGES * d
    extra = {"mawa": 0, "waco": waco_flops(IMAGES, m, d),
             "hsic": gram_flops(IMAGES, d) + 3 * gram_flops(m, d)}
    return mlp_flops(m, d) + extra[loss]


COUNTED = {"mawa": "the five products of the adapter",
           "waco": "the adapter's five products, and 2·1000·d·(3·256 + 6·1024) of projections and "
                   "their gradients",
           "simclr": "the adapter's five products over 2048 rows, and 3·2048²·d of similarities and "
                     "their gradient",
           "hsic": "the adapter's five products, and (256² + 3·1024²)·d of distances and their gradient",
           "keep": "the adapter's five products over 1280 rows, and 10·768·256·d of products with keys and "
                   "their gradients"}


# ---- measuring -------------------------------------------------------------------

def peer_step(program, loss, d, variant):
    steps = STEPS[loss][d]
    return lambda: program.ask("step %s %d %d %s" % (loss, d, steps, variant)) / steps


def try_variants(options, loss, d):
    """{(allocator, variant): seconds per step}, one after the other."""
    times = {}
    for allocator, environment in ALLOCATORS.items():
        program = common.peer_program(options, "torch_train.py", environment)
        for variant in [v + form for form in FORMS[loss] for v in VARIANTS]:
            measure = peer_step(program, loss, d, variant)
            times[allocator, variant] = min(measure() for _ in range(2))
        program.close()
    return times


def compare(options, loss, d):
    """Rounds in turn: the peak, invar, and PyTorch's best finalist; its name; the trials."""
    times = try_variants(options, loss, d)
    finalists = sorted(times, key=times.get)[:FINALISTS]
    peers = {f: common.peer_program(options, "torch_train.py", ALLOCATORS[f[0]]) for f in finalists}
    own = common.invar_program(options)
    steps = STEPS[loss][d]
    sides = {f: peer_step(program, loss, d, f[1]) for f, program in peers.items()}
    sides["invar"] = lambda: own.ask("step %s %d %d" % (loss, d, steps)) / steps
    sides["peak"] = lambda: common.measure_peak(options)
    seen = common.rounds_in_turn(options.rounds, sides)
    for program in [own, *peers.values()]:
        program.close()
    best = min(finalists, key=common.medians(seen).get)
    return {"peak": seen["peak"], "invar": seen["invar"], "torch": seen[best]}, "%s, %s" % best[::-1], times


# ---- the page --------------------------------------------------------------------

def row_of(loss, d, seen, best):
    found = common.medians(seen)
    share = lambda seconds: "%.0f %%" % (100 * flops(loss, d) / seconds / 1e9 / found["peak"])
    return [str(d), "%.1f ms" % (1e3 * found["invar"]), "%.1f ms" % (1e3 * found["torch"]),
            "%.2f" % (found["torch"] / found["invar"]), common.fastest_ratio(seen, "torch", "invar"),
            share(found["invar"]), share(found["torch"]),
            "%.0f" % found["peak"], best]


def trial_table(trials):
    """trials {d: times}: one row per variant, one column per width and allocator."""
    columns = [(d, allocator) for d in trials for allocator in ALLOCATORS]
    variants = dict.fromkeys(variant for times in trials.values() for _, variant in times)
    rows = [[variant] + ["%.1f ms" % (1e3 * trials[d][allocator, variant]) for d, allocator in columns]
            for variant in variants]
    return common.table(["variant"] + ["d = %d, %s" % column for column in columns], rows)


def measure_loss(options, loss, widths):
    found = {d: compare(options, loss, d) for d in widths}
    body = "%s. Medians of %d rounds in turn, and the ratio of each side's fastest round; the best of PyTorch's variants. Of peak: %s.\n\n" % (
        common.versions(torch), options.rounds, COUNTED[loss])
    body += common.table(["d", "invar", "PyTorch", "times faster", "fastest rounds", "invar, of peak", "PyTorch, of peak",
                          "peak GFLOP/s", "PyTorch's best"],
                         [row_of(loss, d, seen, best) for d, (seen, best, _) in found.items()])
    trials = "PyTorch's variants (MODE/AdamW, and how the loss is written), best of two tries of each:\n\n"
    trials += trial_table({d: times for d, (_, _, times) in found.items()})
    common.report(options, "train" if loss == "mawa" else "train_" + loss, TITLES[loss], body, trials)


def chosen(option, text, known):
    """The comma-separated words of an option, all of them known."""
    words = text.split(",")
    for word in words:
        if word not in known:
            sys.exit("train.py: --%s has no '%s'; there are: %s" % (option, word, ",".join(known)))
    return words


def main():
    losses, widths = list(TITLES), [str(d) for d in STEPS["mawa"]]
    options = common.arguments(__doc__, losses=",".join(losses), widths=",".join(widths))
    wanted = chosen("widths", options.widths, widths)
    if options.write and wanted != widths:
        sys.exit("train.py: --write replaces the whole table of a loss; leave out --widths")
    for loss in chosen("losses", options.losses, losses):
        measure_loss(options, loss, [int(d) for d in wanted])


if __name__ == "__main__":
    main()
