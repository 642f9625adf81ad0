# SPDX-License-Identifier: Apache-2.0
"""quality.py - how long until an adapter is as good as the paper's MaWa trained in PyTorch.

PyTorch trains the paper's MaWa (100 epochs, hidden 4096) on a bank; invar measures what it
made: 1-NN accuracy of augmented queries in the old index, how often they find the same image
among the first ten there, and R² of the structure. invar then trains `instant` with few hidden
units and with as many as PyTorch has, and `keep` with more and more epochs, each from nothing,
until all figures are at least those. invar's time is that of the whole command, start and files
included; PyTorch's that of its epochs alone, with all rows in memory.

A training of minutes cannot be repeated in turns, and a machine is seldom idle for so long:
the seconds of processors are shown beside those of the clock, and the ratio of both.

--banks names the banks, separated by commas; the default is in the data beside the clone.
--presets takes some of the lists alone, by the beginning of their names: instant,keep.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import common

BANK = os.path.join(common.HERE, "..", "..", "shared", "data", "bank-stl10-squeezenet-rotation")
FIGURES = ("knn.augmented", "same-image.old.l2.augmented.recall_at_10", "structure.R2")
INSTANT = (("", ""), (", anchor 0.3", "--anchor 0.3"))
STEPS = {"instant --hidden 512": [("instant, 512 units" + name, words) for name, words in INSTANT],
         "instant": [("instant, 4096 units" + name, words) for name, words in INSTANT],
         "keep": [("keep, %d epochs" % n, "--epochs %d" % n) for n in (5, 10, 20, 30, 60)]}


def measure(options, bank, adapter):
    text = subprocess.check_output([program(options), "eval", bank, adapter, "--json", "-q", "--metrics",
                                    "knn,same-image,structure",
                                    "--k", "1", "--index", "old"], text=True)
    values = json.loads(text)["values"]
    return [values[name]["1"]["value"] for name in FIGURES]


def program(options):
    return os.path.join(options.build, "src", "cli", "invar")


def train_with_torch(options, bank, folder):
    """(seconds, seconds of processors), figures"""
    out = os.path.join(folder, "torch.safetensors")
    text = subprocess.check_output([sys.executable, os.path.join(common.HERE, "peers", "torch_quality.py"), bank, out,
                                    "--threads", str(options.threads), "--epochs", str(options.epochs)], text=True)
    return [float(word) for word in text.split()], measure(options, bank, out)


def train_with_invar(options, bank, folder, words):
    run = os.path.join(folder, "run")
    elapsed, busy, _ = common.watch([program(options), "train", bank, "-o", run, "--force", "--trial=false", "-q", "--threads",
                                     str(options.threads)] + words.split())
    return [elapsed, busy], measure(options, bank, run)


def row(name, times, figures, peer_times=()):
    """With PyTorch's times the ratios, both shown."""
    return ([name] + ["%.1f" % t for t in times] + ["%.1f" % (100 * figures[0]), "%.1f" % (100 * figures[1]), "%.3f" % figures[2]] +
            ([" / ".join("%.1f" % (theirs / ours) for theirs, ours in zip(peer_times, times))] if peer_times else [""]))


def compare(options, bank):
    """Rows of the table; of keep all lengths up to the first that is good enough."""
    folder = tempfile.mkdtemp()
    try:
        peer_times, goal = train_with_torch(options, bank, folder)
        rows = [row("PyTorch, MaWa as published, %d epochs" % options.epochs, peer_times, goal)]
        print(" ".join(rows[0]), file=sys.stderr, flush=True)
        for preset, steps in STEPS.items():
            if not preset.startswith(tuple(options.presets.split(","))):
                continue
            for name, words in steps:
                times, figures = train_with_invar(options, bank, folder, "--preset %s %s" % (preset, words))
                enough = all(ours >= theirs for ours, theirs in zip(figures, goal))
                rows.append(row(name, times, figures, peer_times if enough else ()))
                print(" ".join(rows[-1]), file=sys.stderr, flush=True)
                if enough:
                    break
        return rows
    finally:
        shutil.rmtree(folder)


def main():
    options = common.arguments(__doc__.splitlines()[0], banks=BANK, epochs=100, presets="instant,keep")
    body = ["Of augmented queries in the old index: 1-NN accuracy, and same image among the first ten (L2), %. The ratio is "
            "PyTorch's time to invar's, elapsed and by seconds of processors, where all figures are at least PyTorch's."]
    for bank in options.banks.split(","):
        if not os.path.isdir(bank):
            print("%s is not there, so it is left out" % bank, file=sys.stderr)
            continue
        body.append(os.path.basename(os.path.normpath(bank)) + ":\n\n" + common.table(
            ("adapter", "s", "processors, s", "1-NN", "same image @10", "R²", "times faster"), compare(options, bank)))
    common.report(options, "quality", "Time to quality", "\n\n".join(body))


if __name__ == "__main__":
    main()
