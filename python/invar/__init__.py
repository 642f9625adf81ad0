# SPDX-License-Identifier: Apache-2.0
"""invar makes a trained, frozen vision encoder F invariant to rotation, noise, crops and other augmentations.

    import invar
    bank = invar.encode("photos/", "bank", encoder="resnet18.safetensors", augment="rotation", holdout=0.3)
    run = invar.train(bank, "run")
    print(run.eval(bank))
    E = run.adapter                     # E(z) on NumPy arrays; E.torch() is an nn.Module

Everything below is in order of use; help(invar.train) and so on has the arguments, and every option of the program
as a keyword with underscores. docs/PYTHON.md is the manual, docs/SEARCH.md the way from an existing index to a better one.

1. Features, clean and augmented
    encode(images, bank, encoder=…, augment=…)    images to a bank: a folder of features and of copies of them
    bank(clean, copies, labels)                   a bank of features of your own, arrays in memory or in a folder
    synthetic(path)                               a bank for experiments
    Bank(path)                                    opens one: .dim, .splits, .clean(), .copy(), .labels(), .names()
    Encoder(file or function)                     F: a weight file, a torch.nn.Module or any function of images

2. An adapter
    diagnose(bank)                                will an adapter help, and which preset? trains nothing that stays
    train(bank, run)                              the trial, then a folder with an adapter
    fit(clean, copies)                            the same from arrays to an adapter, in memory
    InvariantTransformer(preset=…)                the same for pipelines of scikit-learn: .fit(), .transform()
    Run(path)                                     opens a run: .adapter, .eval(), .results(), .log, .info
    merge(adapters, weights, strength)            the mean of adapters, or a weaker one

3. Is it good?
    eval(bank, *adapters)                         F and adapters measured: a column each
    Results                                       what was measured: a table, HTML in notebooks, .to_pandas(), .to_json()
    check(adapter, new)                           are new data still like those of training?

4. In use
    Adapter(path)                                 E: E(z), .torch(), .save(), .weights(), .metadata()
    index.reindex(index, E), index.restore(index) stored vectors through E: NumPy, FAISS, PostgreSQL, Qdrant, LanceDB
    export(adapter, path)                         an ONNX model or a model card

5. On arrays
    neighbours(gallery, queries, k)               exact nearest neighbours
    structure(x, e)                               how close a map is to an isometry
    tsne(x, labels)                               points of the plane
    sliced_wasserstein(a, b), dependence(x, z)    distance of two sets of rows, dependence of paired ones
    augment(images, spec)                         augmented images and their parameters

6. Options and errors
    commands(), options(command)                  what can be given as a keyword, as a list of OptionInfo
    Error                                         all errors: UseError, FileError, FormatError, MismatchError,
                                                  NumericError, OutOfMemoryError, Cancelled

Warnings and information go to the logger "invar" of Python's logging: warnings are shown unless you configure it,
and logging.basicConfig(level="INFO") shows the rest.
"""
from . import index
from ._adapter import Adapter, merge
from ._bank import Bank, bank, synthetic
from ._describe import COMMANDS as _COMMANDS
from ._describe import complete as _complete
from ._encode import Encoder, encode
from ._export import export
from ._library import (Cancelled, Error, FileError, FormatError, MismatchError, NumericError, OutOfMemoryError, UseError,
                       __version__)
from ._measure import augment, check, dependence, diagnose, eval, neighbours, sliced_wasserstein, structure, tsne
from ._options import OptionInfo, commands, options
from ._results import Results
from ._train import Run, fit, train

# Not __all__: with it, help(invar) would print every method of every class and all inherited ones of the exceptions.
_PUBLIC = [
    "encode", "train", "fit", "eval", "diagnose", "check", "export", "bank", "merge", "synthetic", "Adapter", "Bank", "Encoder", "Results", "Run",
    "InvariantTransformer", "structure", "dependence", "sliced_wasserstein", "tsne", "neighbours", "augment", "options",
    "commands", "index", "OptionInfo", "Error", "UseError", "FileError", "FormatError", "MismatchError", "NumericError",
    "OutOfMemoryError", "Cancelled",
]

for _name in _COMMANDS:
    _complete(globals()[_name], _name)


def __getattr__(name):
    """InvariantTransformer imports scikit-learn if it is there, so only when it is used."""
    if name == "InvariantTransformer":
        from ._transformer import InvariantTransformer

        return InvariantTransformer
    raise AttributeError(f"module 'invar' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_PUBLIC})
