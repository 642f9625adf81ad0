# SPDX-License-Identifier: Apache-2.0
"""whole.py - from a folder of JPEG files to a tested adapter: invar encode and train against the authors' way.

UC Merced's 2,100 photographs (data beside the clone, --data), ResNet-18 with ImageNet weights at
224 pixels, four rotated copies of each. invar: `encode` and `train` with their defaults, in float32
and with `--precision bfloat16` and `int8`; the test is the trial of `train`. The authors' way, in
PyTorch: peers/torch_whole.py, whose test is the 1-NN accuracy of test copies. Its variants (eager,
channels last, compiled; with and without autocast to bfloat16) are first tried on a few files, and the one
that would need the fewest processor seconds for all files, compilation included, runs in turn with invar.

Times are those of whole programs, from their start. The figures of both adapters are measured afterwards by
`invar eval` on invar's float32 bank. `--limit 210` takes the first files of each class only.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

import torch

import common
import quality

COPIES = 4
TRIED = {"train": 16, "test": 16}  # files of one class: whole batches
STAGES = ("setup", "encode", "train", "test")


def unpack(archive, place, shares=None, classes=None):
    """(folder, number of files) of all files, or the first of each class as {split: number}, of so many classes."""
    with tarfile.open(archive) as tar:
        found = {}
        for member in tar:
            if member.isfile() and member.name.endswith(".jpg"):
                found.setdefault(tuple(member.name.split("/")[1:3]), []).append(member)
        names = sorted({name for _, name in found})[:classes]
        chosen = [m for (split, name), members in found.items() if name in names
                  for m in members[:shares[split] if shares else None]]
        tar.extractall(place, members=chosen, filter="data")
    return os.path.join(place, "ucmerced"), len(chosen)


def shares_of(limit):
    """Seven of ten files in train, as in the whole set of 21 classes; at least two and one of each class."""
    return {"train": max(2, round(0.7 * limit / 21)), "test": max(1, round(0.3 * limit / 21))} if limit else None


def find_weights(options, place):
    """Those given, or made by the script beside the data."""
    if options.weights:
        return os.path.abspath(options.weights)
    weights = os.path.join(place, "resnet18.safetensors")
    subprocess.run([sys.executable, os.path.join(options.data, "get_resnet18.py"), weights], check=True,
                   stdout=subprocess.DEVNULL)
    return weights


def with_invar(options, folder, weights, precision, out):
    """{stage: (seconds, seconds of processors)}"""
    program = quality.program(options)
    for path in (out + ".bank", out + ".run"):
        shutil.rmtree(path, ignore_errors=True)
    both = ["--threads", str(options.threads), "-q"]
    encode = common.watch([program, "encode", "folder:" + folder, "-o", out + ".bank", "--weights", weights, "--augment",
                           "rotation", "--precision", precision] + both)
    words = ["--even-if-worse"] if options.limit else []  # few files can be too few for the trial to find a gain
    train = common.watch([program, "train", out + ".bank", "-o", out + ".run"] + both + words)
    return {"encode": encode[:2], "train": train[:2]}


def with_torch(options, folder, weights, variant, out, epochs):
    common.watch([sys.executable, os.path.join(common.HERE, "peers", "torch_whole.py"), folder, weights, out, "--variant",
                  variant, "--copies", str(COPIES), "--epochs", str(epochs), "--threads", str(options.threads)])
    with open(out + ".json") as f:
        return {name: tuple(times) for name, times in json.load(f)["stages"].items()}


def try_variants(options, folder, files, all_files, weights, place):
    """{variant: (processor seconds of setup, of encoding one file, of both for all files)}"""
    found = {}
    for variant in options.variants.split(","):
        stages = with_torch(options, folder, weights, variant, os.path.join(place, "trial"), 1)
        setup, each = stages["setup"][1], stages["encode"][1] / files
        found[variant] = setup, each, setup + each * all_files
        print("%s: setup %.1f s, %.0f ms a file" % (variant, setup, 1000 * each), file=sys.stderr, flush=True)
    return found


def total(stages):
    return tuple(map(sum, zip(*stages.values())))


def told(name, measure):
    stages = measure()
    print("%s: %s" % (name, ", ".join("%s %.1f s (%.1f s of processors)" % (s, *t) for s, t in stages.items())), file=sys.stderr,
          flush=True)
    return stages


def in_rounds(options, sides):
    """{side: {stage: (seconds, seconds of processors)}}, medians of rounds in turn."""
    seen = common.rounds_in_turn(options.rounds, {n: lambda n=n, m=m: told(n, m) for n, m in sides.items()})
    return {name: common.medians({stage: [r[stage] for r in rounds] for stage in rounds[0]})
            for name, rounds in seen.items()}


def page(options, files, best, trials, found, figures):
    peer = total(found["PyTorch"])
    rows = []
    for name, stages in found.items():
        times, shown = total(stages), lambda stage: "%.1f" % stages[stage][1] if stage in stages else ""
        rows.append([name, "%.1f s" % times[0], "%.1f s" % times[1]] + [shown(stage) for stage in STAGES] +
                    (["%.2f" % (theirs / ours) for theirs, ours in zip(peer, times)] if name != "PyTorch" else ["", ""]) +
                    ["%.1f" % (100 * figures[name][0]), "%.1f" % (100 * figures[name][1]), "%.3f" % figures[name][2]])
    body = "torch %s. %d files of UC Merced, %d copies each, ResNet-18 at 224; medians of %d rounds in turn. Seconds of " \
           "processors by stage; PyTorch's setup is its import%s. Figures of test copies in the old " \
           "index (L2), %%.\n\n" % (torch.__version__.split("+")[0], files, COPIES, options.rounds,
                                    ", and compiling the network" if "compile" in best else "")
    body += common.table(["", "time", "processors"] + list(STAGES) + ["times faster, time", "times faster, processors", "1-NN",
                                                                    "same image @10", "R²"], rows)
    tried = "Seconds of processors until all rows are encoded; PyTorch's best: %s.\n\n" % best
    tried += common.table(["variant", "setup", "a file", "all files"],
                          [[name, "%.1f s" % t[0], "%.0f ms" % (1000 * t[1]), "%.0f s" % t[2]] for name, t in trials.items()])
    return body, tried


def main():
    options = common.arguments(
        __doc__.splitlines()[0], data=os.path.join(common.HERE, "..", "..", "shared", "data"), weights="", limit=0, epochs=100,
        variants="channels-last,compile-frozen,autocast:channels-last,autocast:compile-frozen")
    archive = os.path.join(options.data, "ucmerced_160.tar")
    if not os.path.isfile(archive):
        print("whole: skipped, there are no photographs in %s" % options.data)
        return
    if options.rounds == 9:
        options.rounds = 2
    with tempfile.TemporaryDirectory(dir=options.build) as place:
        place = os.path.abspath(place)
        weights = find_weights(options, place)
        few, tried = unpack(archive, os.path.join(place, "few"), TRIED, 1)
        folder, files = unpack(archive, os.path.join(place, "all"), shares_of(options.limit))
        trials = try_variants(options, few, tried, files, weights, place)
        best = min(trials, key=lambda variant: trials[variant][2])
        out = {side: os.path.join(place, side) for side in ("float32", "bfloat16", "int8", "torch")}
        found = in_rounds(options, {
            "invar": lambda: with_invar(options, folder, weights, "float32", out["float32"]),
            "invar, bfloat16": lambda: with_invar(options, folder, weights, "bfloat16", out["bfloat16"]),
            "invar, int8": lambda: with_invar(options, folder, weights, "int8", out["int8"]),
            "PyTorch": lambda: with_torch(options, folder, weights, best, out["torch"], options.epochs)})
        bank = out["float32"] + ".bank"
        figures = {"invar": quality.measure(options, bank, out["float32"] + ".run"),
                   "invar, bfloat16": quality.measure(options, bank, out["bfloat16"] + ".run"),
                   "invar, int8": quality.measure(options, bank, out["int8"] + ".run"),
                   "PyTorch": quality.measure(options, bank, out["torch"] + ".safetensors")}
    common.report(options, "whole", "From a folder to an adapter", *page(options, files, best, trials, found, figures))


if __name__ == "__main__":
    main()
