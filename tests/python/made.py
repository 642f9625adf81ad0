# SPDX-License-Identifier: Apache-2.0
"""made.py - for every test of the module: a folder, made features and images, the program."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import numpy as np

# Tests press Ctrl-C, which programs ignore that a shell has started in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

PROGRAM = os.environ["INVAR_PROGRAM"]
SOURCE = os.environ["INVAR_SOURCE"]
WEIGHTS = os.path.join(SOURCE, "tests/golden/encoders/convnets/bottleneck.safetensors")


# Libraries of packages have no points at which a test can stop them (src/base/test_stop.h).
stops = unittest.skipUnless("INVAR_LIBRARY" in os.environ, "the library of a package cannot be stopped at a point")


class InFolder(unittest.TestCase):
    """Each test has an empty folder as its current one."""

    def setUp(self):
        self.before = os.getcwd()
        self.folder = tempfile.mkdtemp(prefix="invar-test-")
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(self.before)
        shutil.rmtree(self.folder)

    def assert_same_files(self, one, other, without=()):
        """Two folders with the same files and the same bytes."""
        def files(top):
            return sorted(os.path.relpath(os.path.join(place, name), top) for place, _, names in os.walk(top)
                          for name in names)

        self.assertEqual(files(one), files(other))
        for name in files(one):
            if name not in without:
                with open(os.path.join(one, name), "rb") as a, open(os.path.join(other, name), "rb") as b:
                    self.assertEqual(a.read(), b.read(), name)


def program(*words, **options):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True, **options).stdout


def features(rows=300, d=16, copies=3, seed=0):
    """Clean rows, copies that are displaced along a few directions, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    clean = (rng.normal(size=(3, d)) * 2)[labels] + rng.normal(size=(rows, d))
    mixing = rng.normal(size=(d, d)) / d**0.5
    made = [clean + 0.4 * clean @ mixing + 0.1 * rng.normal(size=clean.shape) for _ in range(copies)]
    return clean.astype("f4"), np.stack(made, 1).astype("f4"), labels


def pictures(count=60, side=20, seed=0):
    """Smooth pictures [n, h, w, 3] of bytes."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (count, side // 4, side // 4, 3))
    return coarse.repeat(4, 1).repeat(4, 2).astype(np.uint8)


def photo_folder(place="photos", classes=2, each=20, side=24):
    """A folder of PNG files by class, written without other packages."""
    import zlib

    all_pictures = pictures(classes * each, side)
    for i, rgb in enumerate(all_pictures):
        folder = os.path.join(place, "class%d" % (i // each))
        os.makedirs(folder, exist_ok=True)
        raw = b"".join(b"\0" + row.tobytes() for row in rgb)

        def chunk(kind, data):
            return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

        with open(os.path.join(folder, "%03d.png" % i), "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", side.to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0")
                       + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))
    return place
