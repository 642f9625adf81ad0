# SPDX-License-Identifier: Apache-2.0
"""invar makes a trained, frozen vision encoder F invariant to rotation, noise, crops and other augmentations.

    import invar
    bank = invar.encode("photos/", "bank", encoder="resnet18.safetensors", augment="rotation", holdout=0.3)
    run = invar.train(bank, "run")
    print(run.eval(bank))
    E = run.adapter                     # E(z) on NumPy arrays; E.torch() is an nn.Module

docs/PYTHON.md is the manual. Options have the names of the program's, with underscores; help(invar.train) lists them.
"""
from ._adapter import Adapter, merge
from ._bank import Bank, bank, synthetic
from ._describe import COMMANDS, complete
from ._encode import Encoder, encode
from ._export import export
from ._library import (Cancelled, Error, FileError, FormatError, MismatchError, NumericError, OutOfMemoryError, UseError,
                       __version__)
from ._measure import augment, check, dependence, diagnose, eval, neighbours, sliced_wasserstein, structure, tsne
from ._options import OptionInfo, commands, options
from ._results import Results
from ._train import Run, fit, train
from . import index

__all__ = [
    "encode", "train", "fit", "eval", "diagnose", "check", "export", "bank", "merge", "synthetic", "Adapter", "Bank", "Encoder", "Results", "Run",
    "InvariantTransformer", "structure", "dependence", "sliced_wasserstein", "tsne", "neighbours", "augment", "options",
    "commands", "index", "OptionInfo", "Error", "UseError", "FileError", "FormatError", "MismatchError", "NumericError",
    "OutOfMemoryError", "Cancelled",
]

for _name in COMMANDS:
    complete(globals()[_name], _name)


def __getattr__(name):
    """InvariantTransformer imports scikit-learn if it is there, so only when it is used."""
    if name == "InvariantTransformer":
        from ._transformer import InvariantTransformer

        return InvariantTransformer
    raise AttributeError(f"module 'invar' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
