#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""adapter.py - what invar trained, loaded and run by PyTorch.

    python3 adapter.py INVAR        INVAR is the program

A bank is written with NumPy, invar trains on it (plain, residual and scaled) and applies the
adapter; PyTorch loads the same file into nn.Sequential(Linear, ReLU, Linear) with no
key missing or left over, and its outputs agree within 1e-4. Exit 77 (skipped) where
PyTorch, NumPy or safetensors are not installed.
"""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file
except ImportError as error:
    print("skipped: %s (./dev parity sets it up)" % error)
    sys.exit(77)

FORMS = {"plain": ["--preset", "paper"], "residual": ["--preset", "paper", "--residual"], "scaled": ["--scaled"]}
N, D, HIDDEN, COPIES, TOLERANCE = 600, 48, 96, 4, 1e-4


def write_bank(folder):
    rng = np.random.default_rng(1)
    clean = rng.normal(size=(N, D)).astype("f4")
    aug = clean[:, None] + 0.5 * rng.normal(size=(N, COPIES, D)).astype("f4")
    os.makedirs(os.path.join(folder, "train"))
    np.save(os.path.join(folder, "train", "clean.npy"), clean)
    np.save(os.path.join(folder, "train", "aug.npy"), aug)


def run(program, *arguments):
    subprocess.run([program, *arguments], check=True)


def apply_torch(path, z):
    weights = load_file(path)
    hidden, d = weights["0.weight"].shape
    model = torch.nn.Sequential(torch.nn.Linear(d, hidden), torch.nn.ReLU(),
                                torch.nn.Linear(hidden, weights["2.weight"].shape[0]))
    model.load_state_dict(weights, strict=True)
    with safe_open(path, framework="pt") as file:
        residual = (file.metadata() or {}).get("invar.residual") == "1"
    with torch.no_grad():
        return (model(z) + (z if residual else 0)).numpy(), residual


def check(program, place, form):
    """The largest difference of one form, and whether the file says its form."""
    at = lambda name: os.path.join(place, name)
    run(program, "train", at("bank"), "-o", at(form), "--trial=false", "--epochs", "5", "--hidden", str(HIDDEN), "-q", *FORMS[form])
    run(program, "apply", at(form + "/adapter.safetensors"), at("z.npy"), "-o", at(form + ".npy"), "-q")
    want, residual = apply_torch(at(form + "/adapter.safetensors"), torch.from_numpy(np.load(at("z.npy"))))
    return float(np.abs(np.load(at(form + ".npy")) - want).max()), residual == (form != "plain")


def main():
    program, passed, failed = os.path.abspath(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory() as place:
        write_bank(os.path.join(place, "bank"))
        np.save(os.path.join(place, "z.npy"), np.random.default_rng(2).normal(size=(333, D)).astype("f4"))
        for form in FORMS:
            gap, says_so = check(program, place, form)
            fine = gap <= TOLERANCE and says_so
            passed, failed = passed + fine, failed + (not fine)
            print("%-9s largest difference %.1e, %.0e allowed%s"
                  % (form, gap, TOLERANCE, "" if says_so else "; the file does not say its form"))
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
