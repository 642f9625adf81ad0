# SPDX-License-Identifier: Apache-2.0
"""Training, and runs: folders with an adapter and all that led to it."""
import ctypes
import json
import os

from ._adapter import Adapter
from ._bank import bank as make_bank
from ._bank import open_bank
from ._library import Folder, Handle, OfFolder, UseError, call, context, encoded, lib, pointer
from ._measure import eval as measure
from ._options import Options
from ._results import Results, html_table


class Run(OfFolder):
    """A folder that `train` filled. `Run(path)` opens one."""

    _where = "run"

    def __init__(self, path, *, threads=0, _folder=None):
        self.path = os.fsdecode(path)
        self._threads = threads
        self._adapter = None
        if not os.path.isfile(os.path.join(self.path, "run.json")):
            raise FileNotFoundError(f"{self.path}: has no run.json, so it is not a run")
        self._folder = _folder  # of a temporary run

    @property
    def adapter(self):
        """E."""
        if self._adapter is None:
            self._adapter = Adapter(self.path, threads=self._threads)
        return self._adapter

    @property
    def decoder(self):
        """From codes to features, of a run with decoder=True."""
        return Adapter(os.path.join(self.path, "decoder.safetensors"), threads=self._threads)

    @property
    def info(self):
        """run.json: every option with its value, versions, machine, hashes of the inputs, times."""
        with open(os.path.join(self.path, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    @property
    def log(self):
        """One dictionary per epoch."""
        with open(os.path.join(self.path, "log.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def eval(self, bank, *, certify=False, threads=0, progress=None, **options):
        """Measures F and the adapter on a bank; the run keeps the results. See invar.eval for the options."""
        return measure(bank, self, certify=certify, threads=threads, progress=progress, **options)

    def results(self):
        """What the run knows about itself: the curves of its training, then what eval kept."""
        found = []
        while True:
            out = ctypes.c_void_p()
            call(lib.invar_run_results, context(self._threads), encoded(self.path), len(found), ctypes.byref(out))
            if not out.value:
                return found
            found.append(Results._from(out.value))

    def __fspath__(self):
        return self.path

    def _has_adapter(self):
        """A run that was interrupted has none yet."""
        return os.path.isfile(os.path.join(self.path, "adapter.safetensors"))

    def __repr__(self):
        return f"Run({self.path!r}, {self.info.get('state')}: {self.adapter if self._has_adapter() else 'no adapter yet'})"

    def _repr_html_(self):
        info = self.info
        trial = info.get("trial") and f"{info['trial']['verdict']}: {info['trial']['why']}"
        rows = [("folder", self.path), ("state", info.get("state")), ("bank", info.get("bank")), ("trial", trial)]
        return html_table("Run", rows) + (self.adapter._repr_html_() if self._has_adapter() else "")


def train_on_images(values, run, threads, progress):
    given = values.values()
    if given.get("resume"):
        call(lib.invar_train_images_options, values.pointer, encoded(run))
    data, encoder = ctypes.c_void_p(), ctypes.c_void_p()
    call(lib.invar_dataset_open, context(threads), encoded(given["data"]), values.pointer, ctypes.byref(data))
    data = Handle(data.value, lib.invar_dataset_close)
    call(lib.invar_encoder_open, context(threads), None, values.pointer, ctypes.byref(encoder))
    encoder = Handle(encoder.value, lib.invar_encoder_close)
    call(lib.invar_train_images, encoder.value, data.value, values.pointer, encoded(run), progress=progress)


def train_in_temporary(bank, options):
    """A run that is removed with its last reference."""
    folder = Folder()
    try:
        path = train(bank, os.path.join(folder.path, "run"), **options).path
        return Run(path, threads=options["threads"], _folder=folder)
    except BaseException:
        folder.remove()
        raise


def try_first(banks, values, run, progress):
    """The trial, as `invar train` makes it: refuses what does harm or does not help, or sets the strength."""
    given = values.values()
    if not given["trial"] or given["resume"]:
        return
    if len(banks) > 1:
        raise UseError(f"trial is measured on the copies of one bank, not of {len(banks)}")
    out = ctypes.c_void_p()
    if run is not None:
        call(lib.invar_run_check_new, encoded(run), bool(given["force"]))
    call(lib.invar_trial, banks[0].value, values.pointer, ctypes.byref(out), progress=progress)
    found = Handle(out.value, lib.invar_results_free)
    call(lib.invar_trial_settle, found.value, values.pointer)


def train(bank, run=None, *, threads=0, progress=None, **options):
    """Trains an adapter on a bank, or on several augmentations of the same images, and gives the run.

    bank: a Bank, a path, or a list of them; None with data= instead. run: a new folder; an interrupted training
    (Ctrl-C) is resumed with resume=True and ends with the same bytes as one that was not interrupted. Without run it is
    a temporary folder that is removed with the last reference to the run; keep the adapter with run.adapter.save(path).

    First comes the trial, as with `invar train` (trial=False: without one): an adapter that does harm or does not help
    on held-out images is a MismatchError that names the figures, unless even_if_worse=True. `run.info["trial"]` has it.
    """
    if run is None:
        return train_in_temporary(bank, {**options, "threads": threads, "progress": progress})
    values = Options("train", options)
    if bank is None:
        if options.get("data") is None:
            raise UseError("the bank is missing, or data= instead")
        train_on_images(values, run, threads, progress)
        return Run(run, threads=threads)
    if options.get("data") is not None:
        raise UseError("give a bank or data=, not both")
    banks = bank if isinstance(bank, (list, tuple)) else [bank]
    opened = [open_bank(one, values, threads) for one in banks]
    handles = (ctypes.c_void_p * len(opened))(*(one.value for one in opened))
    try:
        try_first(opened, values, run, progress)
        call(lib.invar_train, handles, len(opened), values.pointer, encoded(run), progress=progress)
    finally:
        for one in opened:
            one.close()
    return Run(run, threads=threads)


def fit(clean, copies, *, threads=0, progress=None, **options):
    """Arrays to an adapter, in memory: nothing is written. clean is [n, d], copies [n, c, d] or a list of [n, d].

    First comes the trial, as with `train` (trial=False: without one). The options are those of `train`, except for those
    of images and run folders, and E.save(path) writes the same file.
    """
    if options.get("data") is not None:
        raise UseError("fit takes arrays, not images; use train")
    values, out = Options("train", options), ctypes.c_void_p()
    bank = make_bank(clean, copies, threads=threads)
    rows, own, _ = bank._made[0]["train"]
    try_first([bank._handle], values, None, progress)
    call(lib.invar_fit, context(threads), pointer(rows), pointer(own), len(rows), 0 if own is None else own.shape[1],
         rows.shape[1], values.pointer, ctypes.byref(out), progress=progress)
    return Adapter._from(out.value, threads)
