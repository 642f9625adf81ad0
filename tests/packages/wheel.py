#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheel.py SOURCE - whether the wheel that is installed for this Python works and brings its libraries.

Run by `./dev wheel` in a new environment, and by `./dev fresh wheel` in a system that has none of the libraries. It uses
the program and the module until everything that they can load is loaded, then looks at what is mapped.
"""
import ctypes  # noqa: F401  # it maps libffi, and hashlib libcrypto, which are Python's
import hashlib  # noqa: F401
import os
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np


def mapped():
    with open("/proc/self/maps") as maps:
        return {line.split(None, 5)[5].strip() for line in maps if ".so" in line}


before = mapped()
import invar  # noqa: E402

SOURCE = os.path.abspath(sys.argv[1])
PROGRAM = os.path.join(sysconfig.get_path("scripts"), "invar")
SITE = os.path.dirname(os.path.dirname(os.path.abspath(invar.__file__)))
# What PEP 600 lets a wheel expect of every system, as far as it is used here.
SYSTEM = ["libc", "libm", "libdl", "libpthread", "librt", "libgcc_s", "libstdc++", "libz"]


def program(*words, fails=False):
    done = subprocess.run([PROGRAM, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.returncode != 0) == fails, f"invar {' '.join(words)}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout.strip()


def use_program():
    """Images of every format to features, by the encoder of the demo."""
    names = ["jpeg/420.jpg", "jpeg/progressive.jpg", "png/rgb16.png", "png/turned.png", "tiff/lzw.tif", "tiff/jpeg.tif",
             "tiff/packbits.tif", "tiff/palette.tif", "webp/lossy.webp", "webp/lossless.webp"]
    os.makedirs("photos/a")
    for name in names:
        os.symlink(os.path.join(SOURCE, "fuzz/corpus", name), os.path.join("photos/a", os.path.basename(name)))
    weights = os.path.join(SITE, "invar/share/invar/demo.safetensors")
    program("encode", "folder:photos", "-o", "bank", "--weights", weights, "--size", "32", "--augment", "rotation", "-q")
    clean = invar.Bank("bank").clean("train")
    assert clean.shape == (len(names), 192) and np.isfinite(clean).all(), clean
    # The demo finds its recipe and its encoder; only the images are not in the wheel.
    if not os.path.exists("/usr/share/datasets/fashion-mnist"):
        assert "dataset-fashion-mnist" in program("demo", "-q", fails=True)


def use_module():
    """Spectra of graphs need ARPACK; those of a graph of 20 equal parts occur 20 times."""
    part = np.random.default_rng(0).integers(0, 60, (60, 8))
    rows = [np.concatenate([part, np.tile(1000 * np.eye(20)[i], (60, 1))], 1) for i in range(20)]
    clean, labels = np.concatenate(rows).astype("f4"), np.arange(20).repeat(60)
    bank = invar.bank({"train": clean, "test": clean}, {"train": clean[:, None] + 1, "test": clean[:, None] + 1},
                      {"train": labels, "test": labels}, name="made", path="made")
    run = invar.train(bank, "run", preset="instant", trial=False)
    print(run.eval(bank, metrics=["lc", "structure", "graph"]))
    image = np.random.default_rng(1).integers(0, 255, (4, 32, 32, 3)).astype("u1")
    invar.encode(image, "arrays", encoder=os.path.join(SITE, "invar/share/invar/demo.safetensors"), size=32)


def check_left_out():
    """What the wheel does not have is said in one sentence."""
    said = [program("data", "folder:photos", "-q", "--sheet", "photos.png", fails=True),
            program("models", "pull", "resnet18", "--url", "https://localhost/resnet18.pth", fails=True)]
    print(*said, sep="\n")
    assert "built without librsvg" in said[0] and "built without libcurl" in said[1]
    assert all("\n" not in one for one in said)


def check_mapped():
    """Every library is part of the wheel, of Python, or of every system."""
    own, foreign = [], []
    for path in sorted(mapped() - before):
        name = os.path.basename(path)
        if path.startswith((SITE + "/invar/", SITE + "/invar.libs/")):
            own.append(name)
        elif not path.startswith((SITE + "/", sysconfig.get_path("stdlib"))) and name.split(".")[0] not in SYSTEM:
            foreign.append(path)
    print("from the wheel:", *own)
    assert not foreign, f"not from the wheel: {foreign}"
    for name in ("libinvar", "libopenblas", "libarpack", "libtiff"):
        assert any(one.startswith(name) for one in own), f"{name} was not loaded from the wheel"


if __name__ == "__main__":
    print(program("--version"))
    assert invar.__version__ in program("--version")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        use_program()
        use_module()
        check_left_out()
        os.chdir("/")
    check_mapped()
    print("the wheel works")
