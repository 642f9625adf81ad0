# SPDX-License-Identifier: Apache-2.0
"""folder.py - a folder of JPEG files to normalised tensors of 224 x 224, against Pillow + PyTorch.

Decoded, shorter side resized bilinearly as Pillow does it, centre, normalised: the same
numbers on both sides. Two threads of invar against a DataLoader with two workers, in
turn. The photographs are those of the data beside the clone (--data): 96 x 96 and
256 x 256; each folder is unpacked to a temporary place first.
"""

import os
import tarfile
import tempfile

import PIL
import torch

import common

SETS = {"stl10_jpeg.tar": ("stl10", 1), "ucmerced.tar": ("UCMerced_LandUse/Images", 4)}  # folder, passes
SIDE = 224
VARIANTS = ("pillow", "pillow-draft")


def compare(options, folder, passes):
    own = common.invar_program(options)
    peer = common.peer_program(options, "torch_folder.py")
    sides = {variant: lambda variant=variant: peer.ask("folder %d %d %s %s" % (SIDE, passes, folder, variant))
             for variant in VARIANTS}
    sides["invar"] = lambda: own.ask("folder %d %d folder:%s" % (SIDE, passes, folder))
    found = common.in_turn(options.rounds, sides)
    for program in (own, peer):
        program.close()
    return found


def main():
    options = common.arguments(__doc__, data=os.path.join(common.HERE, "..", "..", "shared", "data"))
    if not os.path.isdir(options.data):
        print("folder: skipped, there are no photographs in %s" % options.data)
        return
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name, (folder, passes) in SETS.items():
            with tarfile.open(os.path.join(options.data, name)) as archive:
                archive.extractall(place, filter="data")
            where = os.path.join(place, folder)
            images = passes * sum(len([f for f in files if f.endswith(".jpg")]) for _, _, files in os.walk(where))
            found = compare(options, where, passes)
            best = min(VARIANTS, key=found.get)
            rows.append([name, "%.0f" % (images / found["invar"]), "%.0f" % (images / found[best]),
                         "%.2f" % (found[best] / found["invar"]), best])
    body = "%s. Images a second, medians of %d rounds in turn.\n\n" % (common.versions(PIL, torch), options.rounds)
    body += common.table(["photographs", "invar", "Pillow + PyTorch", "times faster", "the peer's best"], rows)
    common.report(options, "folder", "A folder of JPEG to tensors of 224 × 224", body)


if __name__ == "__main__":
    main()
