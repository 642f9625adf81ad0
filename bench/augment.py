# SPDX-License-Identifier: Apache-2.0
"""augment.py - rotation, affine, crop and noise of float pictures beside Kornia and OpenCV.

One batch is 256 pictures of 96 x 96 x 3, or 64 of 224 x 224 x 3, with a new draw for
every picture and repeat. Kornia's classes get p=1 and the same ranges; the noise of the peer
is x + torch.randn_like(x), as it is, into tensors that are there already, and compiled; the
fastest counts. OpenCV warps float pictures in its own layout (H, W, 3), once
with its own threads and once with one thread per core over the pictures; the faster one counts.
"""

import cv2
import kornia
import torch

import common

WORK = ((256, 96, 8), (64, 224, 6))
OPERATIONS = ("rotation", "affine", "crop", "noise")


def main():
    options = common.arguments(__doc__, only="")
    own = common.invar_program(options)
    variants = {"rotation": ("kornia", "opencv", "opencv-pool"), "affine": ("kornia", "opencv", "opencv-pool"),
                "crop": ("kornia", "opencv", "opencv-pool"), "noise": ("torch", "torch-out", "torch-compile")}
    peers = {name: common.peer_program(options, "augment.py") for name in {n for names in variants.values() for n in names}}
    rows = []
    for images, side, repeats in WORK:
        for operation in options.only.split(",") if options.only else OPERATIONS:
            line = "augment %s %d %d %d" % (operation, images, side, repeats)
            sides = {name: lambda p=peers[name], n=name: p.ask(line + " " + n) for name in variants[operation]}
            sides["invar"] = lambda: own.ask(line)
            for run in sides.values():
                run()  # threads, caches and memory are warm from here on
            found = common.in_turn(options.rounds, sides)
            rows.append(row(operation, images, side, repeats, found))
    for program in [own, *peers.values()]:
        program.close()
    body = "%s. Medians of %d rounds in turn; ms a batch.\n\n" % (common.versions(cv2, kornia, torch), options.rounds)
    body += common.table(["", "batch", "invar", "Kornia or PyTorch", "times invar's", "OpenCV", "times invar's",
                          "invar, GB/s"], rows)
    common.report(options, "augment", "Augmentations", body)


def row(operation, images, side, repeats, found):
    milliseconds = {name: seconds / repeats * 1e3 for name, seconds in found.items()}
    torch_side = min(v for k, v in milliseconds.items() if k.startswith(("kornia", "torch")))
    opencv = min((v for k, v in milliseconds.items() if k.startswith("opencv")), default=None)
    moved = 2 * images * side * side * 3 * 4 / 1e6  # read and written once
    return [operation, "%d × %d × %d × 3" % (images, side, side), "%.2f" % milliseconds["invar"], "%.2f" % torch_side,
            "%.1f" % (torch_side / milliseconds["invar"]), "%.2f" % opencv if opencv else "",
            "%.2f" % (opencv / milliseconds["invar"]) if opencv else "", "%.1f" % (moved / milliseconds["invar"])]


if __name__ == "__main__":
    main()
