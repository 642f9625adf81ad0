# SPDX-License-Identifier: Apache-2.0
"""The first lines of docs/PYTHON.md on real photographs with real weights, and the program beside them: equal bytes.

Photographs and SqueezeNet are those of ../shared/data ($INVAR_RESNET18 names a ResNet-18 instead); skipped where there are
none. What needs PyTorch is in tests/parity/python.py.
"""
import os
import sys
import tarfile
import unittest

import numpy as np

import invar
from made import SOURCE, InFolder, program

DATA = os.path.join(SOURCE, "../shared/data")
PHOTOS = os.path.join(DATA, "rsscn7.tar")
WEIGHTS = os.path.abspath(os.environ.get("INVAR_RESNET18") or os.path.join(DATA, "squeezenet1_1_caffe.f16.safetensors"))
EACH = 4


def unpack(place):
    """The first images of each class."""
    taken = {}
    with tarfile.open(PHOTOS) as tar:
        for one in sorted(tar.getmembers(), key=lambda member: member.name):
            folder = os.path.basename(os.path.dirname(one.name))
            if one.isfile() and one.name.endswith(".jpg") and taken.setdefault(folder, 0) < EACH:
                taken[folder] += 1
                os.makedirs(os.path.join(place, folder), exist_ok=True)
                with open(os.path.join(place, folder, os.path.basename(one.name)), "wb") as file:
                    file.write(tar.extractfile(one).read())


@unittest.skipUnless(os.path.exists(PHOTOS) and os.path.exists(WEIGHTS), "real photographs and weights are not at hand")
class Lines(InFolder):
    def test_as_typed(self):
        unpack("photos")
        os.symlink(WEIGHTS, "resnet18.safetensors")
        bank = invar.encode("photos/", "bank", encoder="resnet18.safetensors", augment="rotation", holdout=0.3)
        run = invar.train(bank, "run")
        shown = str(run.eval(bank))
        E = run.adapter
        T = invar.InvariantTransformer(preset="instant").fit(bank.clean(), [bank.copy(i) for i in range(bank.copies())])

        program("encode", "photos/", "-o", "theirs", "--weights", "resnet18.safetensors", "--augment", "rotation",
                "--holdout", "0.3")
        program("train", "theirs", "-o", "other")
        with open("run/adapter.safetensors", "rb") as a, open("other/adapter.safetensors", "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.assertEqual(shown.split(), program("eval", "theirs", "run").split())
        self.assert_same_files("bank", "theirs")  # with what both keep in cache/
        z = bank.copy(0, "test")
        self.assertLess(np.linalg.norm(E(z) - bank.clean("test")), np.linalg.norm(z - bank.clean("test")))
        self.assertEqual(T.transform(z).shape, z.shape)

    def test_a_function_of_our_own_network(self):
        """Rows of a callback are those of the network that it calls."""
        unpack("photos")
        F = invar.Encoder(WEIGHTS)
        ours = invar.encode("photos/", "ours", encoder=WEIGHTS, size=64, normalize="imagenet", augment="rotation", copies=1)
        theirs = invar.encode("photos/", "theirs", encoder=F.__call__, name="mine", size=64, normalize="imagenet",
                              augment="rotation", copies=1)
        np.testing.assert_allclose(theirs.clean(), ours.clean(), rtol=0, atol=1e-4 * np.abs(ours.clean()).max())
        np.testing.assert_allclose(theirs.copy(0), ours.copy(0), rtol=0, atol=1e-4 * np.abs(ours.clean()).max())


if __name__ == "__main__":
    if not os.path.exists(PHOTOS) or not os.path.exists(WEIGHTS):
        print("skipped: real photographs and weights are not at hand (../shared/data)")
        sys.exit(77)
    unittest.main()
