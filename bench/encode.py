# SPDX-License-Identifier: Apache-2.0
"""encode.py - JPEG files to a bank: invar encode against Pillow and PyTorch.

ViT-S/8 at 96 pixels with random weights; of every image the clean feature and that of
one rotated copy. The photographs are those of the data beside the clone (--data), 96 x
96. PyTorch runs at its best: a DataLoader with 1 and 2 workers, 1 and 2 threads, two
batches, eager and compiled are tried on a few images; the fastest runs in turn with
`invar encode`. invar's time is that of the whole program, from its start, reading and
packing the weights to the finished bank; PyTorch's begins when it is imported and its
network is loaded and warm.

The third side is `invar features` on as many prepared tensors: it shows the cost of
decoding, augmenting and writing a bank beside the encoder.

Processors: user and system time divided by elapsed time; 200 % are two busy cores.
"""

import os
import shutil
import sys
import tarfile
import tempfile

import numpy as np
import PIL
import torch
from safetensors.torch import save_file

import common

sys.path.insert(0, os.path.join(common.HERE, "peers"))
import encoder_nets  # noqa: E402

LIMIT_MB = 400
SETTINGS = [(1, 1), (1, 2), (2, 1), (2, 2)]  # workers, threads


def unpack(archive, place, count):
    """The first images of each class of train, count in all; folders by class."""
    with tarfile.open(archive) as tar:
        wanted = {}
        for member in tar:
            parts = member.name.split("/")
            if member.isfile() and len(parts) == 4 and parts[1] == "train":
                wanted.setdefault(parts[2], []).append(member)
        share = -(-count // len(wanted))
        chosen = [m for members in wanted.values() for m in members[:share]][:count]
        tar.extractall(place, members=chosen, filter="data")
    return os.path.join(place, "stl10", "train")


class Sides:
    def __init__(self, options, place):
        self.options, self.place = options, place
        self.weights = os.path.join(place, "vits8.safetensors")
        torch.manual_seed(1)
        save_file(encoder_nets.make("vit_small_patch8", 96).state_dict(), self.weights)
        self.tensors = os.path.join(place, "ready.npy")
        np.save(self.tensors, np.random.default_rng(0).standard_normal((2 * options.images, 3, 96, 96), dtype="f4"))
        self.program = os.path.join(options.build, "src", "cli", "invar")
        self.processors, self.peak = {"invar": [], "torch": []}, 0

    def invar(self, folder):
        bank = os.path.join(self.place, "bank")
        shutil.rmtree(bank, ignore_errors=True)
        seconds, busy, peak = common.watch([
            self.program, "encode", "folder:" + folder, "-o", bank, "--weights", self.weights, "--size", "96",
            "--normalize", "imagenet", "--augment", "rotation", "--copies", "1", "--threads", str(self.options.threads), "-q"])
        self.processors["invar"].append(busy / seconds)
        self.peak = max(self.peak, peak)
        return seconds

    def features(self):
        return common.watch([self.program, "features", self.tensors, "-o", os.path.join(self.place, "out.npy"),
                             "--weights", self.weights, "--threads", str(self.options.threads), "-q"])[0]

    def torch(self, program, folder, setting):
        seconds = program.ask("encode %s %s %s %d %d %d %s" % (folder, self.weights, os.path.join(self.place, "out"),
                                                             *setting))
        self.processors["torch"].append(program.ask("cpu") / seconds)
        return seconds


def try_settings(options, sides, folder):
    """{(workers, threads, batch, variant): seconds}"""
    program = common.peer_program(options, "torch_encode.py")
    times = {}

    def trial(*setting):
        times[setting] = sides.torch(program, folder, setting)

    for workers, threads in SETTINGS[-1:] if options.quick else SETTINGS:
        trial(workers, threads, 32, "eager")
    if not options.quick:
        workers, threads = min(times, key=times.get)[:2]
        trial(workers, threads, 16, "eager")
        trial(*min(times, key=times.get)[:3], "compile-frozen")
    program.close()
    return times


def page(options, images, times, best, found, sides, memory):
    """The section, and the trials."""
    busy = lambda side: "%.0f %%" % (100 * sorted(sides.processors[side])[len(sides.processors[side]) // 2])
    body = "%s. %d photographs, clean and one rotated copy of each (images count once), medians of %d rounds in " \
           "turn.\n\n" % (common.versions(PIL, torch), images, options.rounds)
    body += common.table(["", "images a second", "times faster", "processors", "peak memory"], [
        ["invar", "%.1f" % (images / found["invar"]), "%.2f" % (found["torch"] / found["invar"]), busy("invar"),
         "%.0f MB" % sides.peak],
        ["Pillow + PyTorch", "%.1f" % (images / found["torch"]), "", busy("torch"), "%.0f MB" % memory]])
    body += "\n\n`invar features` on as many tensors that lie ready takes %.3f of the time of `invar encode`." % (
        found["features"] / found["invar"])
    trials = "PyTorch's best: %d workers, %d threads, batch %d, %s.\n\n" % best
    count = options.trial_images
    trials += common.table(["workers", "threads", "batch", "variant", "images a second"],
                           [[*map(str, setting), "%.1f" % (count / seconds)] for setting, seconds in times.items()])
    return body, trials


def main():
    options = common.arguments(__doc__, data=os.path.join(common.HERE, "..", "..", "shared", "data"), images=192,
                               trial_images=64, quick=False)
    archive = os.path.join(options.data, "stl10_jpeg.tar")
    if not os.path.isfile(archive):
        print("encode: skipped, there are no photographs in %s" % options.data)
        return
    if options.rounds == 9:
        options.rounds = 1 if options.quick else 3
    if options.quick:
        options.images = options.trial_images
    with tempfile.TemporaryDirectory(dir=options.build) as place:
        sides = Sides(options, os.path.abspath(place))
        few = unpack(archive, os.path.join(sides.place, "few"), options.trial_images)
        folder = unpack(archive, os.path.join(sides.place, "all"), options.images)
        times = try_settings(options, sides, few)
        best = min(times, key=times.get)
        sides.processors["torch"].clear()
        peer = common.peer_program(options, "torch_encode.py")
        sides.torch(peer, few, best)
        sides.processors["torch"].clear()
        found = common.in_turn(options.rounds, {"invar": lambda: sides.invar(folder), "features": sides.features,
                                                "torch": lambda: sides.torch(peer, folder, best)})
        memory = peer.ask("memory")
        peer.close()
    common.report(options, "encode", "JPEG files to a bank", *page(options, options.images, times, best, found, sides,
                                                                   memory))
    if sides.peak > LIMIT_MB:
        sys.exit("invar encode took %.0f MB, more than %d" % (sides.peak, LIMIT_MB))


if __name__ == "__main__":
    main()
