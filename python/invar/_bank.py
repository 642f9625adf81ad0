# SPDX-License-Identifier: Apache-2.0
"""Banks: folders of features, or arrays in memory."""
import ctypes
import json
import math
import os
import re

import numpy as np

from ._library import (Folder, FormatError, Handle, MismatchError, OfFolder, UseError, call, context, decoded, encoded,
                       integers, lib, pointer)
from ._results import html_table, plural

CLEAN = -1


class Bank(OfFolder):
    """Clean rows, augmented copies and labels of each split: a folder, which `Bank(path)` opens, or arrays in memory.

    A bank in a folder of yours can be pickled, by its path; one in memory ends with its process.
    """

    _where = "path"
    _made = None  # (arrays by split, fields) of one in memory

    def __init__(self, path, *, threads=0):
        out = ctypes.c_void_p()
        call(lib.invar_bank_open, context(threads), encoded(path), None, ctypes.byref(out))
        self._path = os.fsdecode(path)
        self._handle = Handle(out.value, lib.invar_bank_close)
        self._threads = threads

    @classmethod
    def _of(cls, splits, about, threads):
        """Of arrays: {split: (clean [n, d], copies [n, c, d] or None, labels or None)}."""
        self = cls.__new__(cls)
        self._path, self._threads, self._made = None, threads, (splits, about)
        self._handle = wrap_arrays(splits, about, threads)
        return self

    @property
    def path(self):
        """Its folder. A bank in memory is written to a temporary one for this, removed with the last reference to it."""
        if self._path is None:
            self._folder, self._path = save_temporary(*self._made)
        return self._path

    @property
    def _name(self):
        return self._path if self._made is None else "the bank in memory"

    def _is_temporary(self):
        return self._made is not None or self._folder is not None

    def _open(self, options=None, threads=0):
        """A handle for one call, with its options and threads."""
        given = options.values() if options is not None else {}
        if self._made is None or given.get("classes"):
            return open_folder(self.path, options, threads)
        splits, about = self._made
        name, said = given.get("encoder-name"), about.get("encoder")
        if name and said not in (None, name):
            raise MismatchError(f"the features of the bank in memory are of {said}, but encoder_name is {name}")
        return wrap_arrays(splits, {**about, "encoder": name} if name else about, threads)

    @property
    def _pointer(self):
        return self._handle.value

    @property
    def dim(self):
        """The width of the features."""
        return lib.invar_bank_dim(self._pointer)

    @property
    def splits(self):
        return [decoded(lib.invar_bank_split(self._pointer, i)) for i in range(lib.invar_bank_splits(self._pointer))]

    def field(self, name):
        """A text of bank.json such as "encoder" or "augment"; None if it has none."""
        return decoded(lib.invar_bank_field(self._pointer, encoded(name)))

    def _split(self, split):
        if split not in self.splits:
            raise MismatchError(f"{self._name}: has no split '{split}'; it has {', '.join(self.splits)}")
        return encoded(split)

    def rows(self, split="train"):
        return lib.invar_bank_rows(self._pointer, self._split(split))

    def copies(self, split="train"):
        """How many augmented copies each row has."""
        return lib.invar_bank_copies(self._pointer, self._split(split))

    def clean(self, split="train"):
        """F(x), [n, d]: the file itself, mapped, or the array itself; not a copy of it, and not to be changed."""
        if self._made is not None:
            self._split(split)
            out = self._made[0][split][0].view()
            out.flags.writeable = False
            return out
        return np.load(os.path.join(self.path, decoded(self._split(split)), "clean.npy"), mmap_mode="r")

    def copy(self, index, split="train"):
        """F(t(x)) of copy `index`, [n, d], read as float32."""
        count = self.copies(split)
        if not 0 <= index < count:
            raise UseError(f"copy {index} of the split {split}: there are {count}")
        out = np.empty((self.rows(split), self.dim), np.float32)
        call(lib.invar_bank_read, self._pointer, encoded(split), index, 0, len(out), out.ctypes.data)
        return out

    def views(self, index=CLEAN, split="train"):
        """The features of the same rows with their images rotated by 90, 180 and 270 degrees, [n, 3, d], read as float32.

        Of copy `index`, or of the clean rows; None if `encode` was not asked for views.
        """
        if not lib.invar_bank_has_views(self._pointer, self._split(split), index):
            return None
        out = np.empty((self.rows(split), 3, self.dim), np.float32)
        call(lib.invar_bank_read_views, self._pointer, encoded(split), index, 0, len(out), out.ctypes.data)
        return out

    def labels(self, split="train"):
        """One integer per row, negative for none; None if the split has no labels."""
        if not lib.invar_bank_has_labels(self._pointer, self._split(split)):
            return None
        out = np.empty(self.rows(split), np.int64)
        call(lib.invar_bank_labels, self._pointer, encoded(split), out.ctypes.data)
        return out

    def names(self, split="train"):
        """The image file of each row; None if images were not files."""
        out = ctypes.c_void_p()
        call(lib.invar_bank_names, self._pointer, self._split(split), ctypes.byref(out))
        if not out.value:
            return None
        try:
            return [decoded(name) for name in (ctypes.c_char_p * self.rows(split)).from_address(out.value)]
        finally:
            lib.invar_free(out)

    def __fspath__(self):
        return self.path

    def __repr__(self):
        parts = ", ".join(f"{split} {self.rows(split)} × (1 + {self.copies(split)})" for split in self.splits)
        where = repr(self._path) if self._made is None else "in memory"
        made = ", ".join(filter(None, (self.field("encoder") or "unnamed", self.field("augment"), f"width {self.dim}")))
        return f"Bank({where}: {made}; {parts})"

    def _repr_html_(self):
        rows = [("folder", self._path if self._made is None else "in memory"), ("features of", self.field("encoder")),
                ("copies are", self.field("augment")), ("width", self.dim)]
        for split in self.splits:
            labels = lib.invar_bank_has_labels(self._pointer, encoded(split))
            images, copies = self.rows(split), self.copies(split)
            rows.append((split, f"{images} {plural(images, 'image', 'images')}, {copies} {plural(copies, 'copy', 'copies')} each"
                                f"{', labels' if labels else ''}"))
        return html_table("Bank", rows)


def wrap_arrays(splits, about, threads):
    """A bank of arrays, which live as long as the handle."""
    handle, out = None, ctypes.c_void_p()
    for split in sorted(splits, key=lambda name: name != "train"):
        clean, copies, labels = splits[split]
        count = 0 if copies is None else copies.shape[1]
        if handle is None:
            call(lib.invar_bank_from_arrays, context(threads), pointer(clean), pointer(copies), pointer(labels), len(clean),
                 count, clean.shape[1], ctypes.byref(out))
            handle = Handle(out.value, lib.invar_bank_close)
            handle.arrays = splits
        else:
            call(lib.invar_bank_add_split, handle.value, encoded(split), pointer(clean), pointer(copies), pointer(labels),
                 len(clean), count)
    for key in ("encoder", "augment"):
        if about.get(key) is not None:
            call(lib.invar_bank_set_field, handle.value, encoded(key), encoded(about[key]))
    return handle


def open_folder(path, options, threads):
    out = ctypes.c_void_p()
    call(lib.invar_bank_open, context(threads), encoded(path), options and options.pointer, ctypes.byref(out))
    return Handle(out.value, lib.invar_bank_close)


def open_bank(bank, options, threads):
    """A handle of a Bank, or of the folder at a path, for one call."""
    return bank._open(options, threads) if isinstance(bank, Bank) else open_folder(bank, options, threads)


# ---- From arrays ------------------------------------------------------------------------------------


def feature_rows(array, name):
    """Rows in order, whatever the order of the array in memory: files are read row by row."""
    out = np.asarray(array)
    out = np.ascontiguousarray(out, np.float16 if out.dtype == np.float16 else np.float32)
    if out.ndim != 2:
        raise UseError(f"{name} must have shape [rows, width], not {list(out.shape)}")
    return out


def copy_rows(copies, shape, split):
    """A list of arrays [n, d], from such a list, one array, or [n, c, d]."""
    if not isinstance(copies, (list, tuple)):
        copies = np.asarray(copies)
        copies = [copies] if copies.ndim == 2 else list(np.moveaxis(copies, 1, 0)) if copies.ndim == 3 else [copies]
    found = [feature_rows(one, f"copy {i} of {split}") for i, one in enumerate(copies)]
    for i, one in enumerate(found):
        if one.shape != shape:
            raise MismatchError(f"copy {i} of {split} has shape {list(one.shape)} but the clean rows have {list(shape)}; "
                                "copies are [n, c, d], or a list of [n, d]")
    return found


def stacked_rows(copies, shape, split):
    """The same as one array [n, c, d] of float32; None if there are none. One that is so already is not copied."""
    found = np.asarray(copies) if not isinstance(copies, (list, tuple)) else None
    if found is not None and found.ndim == 3 and (len(found), found.shape[2]) == shape:
        return np.require(found, np.float32, ["C", "A"]) if found.shape[1] else None
    found = copy_rows(copies, shape, split)
    return np.require(np.stack(found, axis=1), np.float32, ["C", "A"]) if found else None


def save_split(folder, clean, copies, labels):
    os.makedirs(os.path.join(folder, "aug") if copies else folder)
    np.save(os.path.join(folder, "clean.npy"), clean)
    for i, one in enumerate(copies):
        np.save(os.path.join(folder, "aug", f"{i:03}.npy"), one)
    if labels is not None:
        np.save(os.path.join(folder, "labels.npy"), labels)


def held_out(count, labels, share):
    """A mask of the last ⌈share·n⌉ rows of each class, as `holdout` chooses images: of every class one stays in train."""
    if not 0 < share < 1:
        raise UseError(f"holdout is {share} but must be above 0 and below 1")
    mask = np.zeros(count, bool)
    for label in np.unique(labels) if labels is not None else [None]:
        rows = np.arange(count) if label is None else np.flatnonzero(labels == label)
        taken = math.ceil(share * len(rows) - 1e-9 * len(rows))  # 0.07 of 100 is 7, as in the library
        if taken:
            mask[rows[max(len(rows) - taken, 1):]] = True
    return mask


def cut(clean, copies, labels, share):
    """One array as train and test."""
    mask = held_out(len(clean), labels, share)
    parts = {"train": ~mask, "test": mask}

    def chosen(rows):
        return [one[rows] for one in copies] if isinstance(copies, list) else None if copies is None else copies[rows]

    return {split: (clean[rows], chosen(rows), None if labels is None else labels[rows]) for split, rows in parts.items()}


def by_split(value, splits, name):
    """copies and labels have the splits of the clean rows, as far as they have any."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UseError(f"the clean rows have splits, so {name} must be a dictionary by split too")
    for split in value:
        if split not in splits:
            raise UseError(f"{name} has a split '{split}' but the clean rows have {', '.join(splits)}")
    return value


def check_split_name(split):
    """It becomes the name of a folder."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}", split) or split == "cache":
        raise UseError(f"'{split}' cannot name a split; use letters, digits, - and _")


def gather(clean, copies, labels, holdout, stacked):
    """{split: (clean, copies, labels)}, checked; copies as a list of [n, d], or stacked in one float32 array."""
    if isinstance(clean, dict):
        if holdout:
            raise UseError("holdout cuts one array; these rows have splits already")
        copies, labels = by_split(copies, clean, "copies"), by_split(labels, clean, "labels")
    else:
        clean, copies, labels = {"train": clean}, {"train": copies}, {"train": labels}
    splits = {}
    for split, rows in clean.items():
        check_split_name(split)
        rows = feature_rows(rows, f"the clean rows of {split}")
        rows = np.require(rows, np.float32, ["C", "A"]) if stacked else rows
        own, marks = copies.get(split), labels.get(split)
        arranged = stacked_rows if stacked else copy_rows
        splits[split] = (rows, arranged([] if own is None else own, rows.shape, split),
                         integers(marks, len(rows)) if marks is not None else None)
    return cut(*splits["train"], holdout) if holdout else splits


def bank(clean, copies=None, labels=None, *, name=None, augment=None, holdout=0, path=None, threads=0):
    """A bank of your own features: clean rows [n, d] and augmented copies of them, [n, c, d] or a list of [n, d].

    clean, copies and labels may be dictionaries by split, {"train": …, "test": …}; or `holdout` cuts off that share of
    the rows of each class as test. `name` says what made the features (bank.json's encoder), so that an adapter trained
    on them warns when it meets features of another name; `augment` says what the copies are. With `path` the bank is a
    new folder; without it, it is in memory: float32 arrays in C order are used as they are, and must not change while
    the bank is used.
    """
    splits = gather(clean, copies, labels, holdout, path is None)
    about = {"format": "invar-bank", "version": 1}
    about.update({key: value for key, value in (("encoder", name), ("augment", augment)) if value is not None})
    if path is None and "train" in splits:
        return Bank._of(splits, about, threads)
    if path is None:
        folder, path = save_temporary(splits, about)
        made = Bank(path, threads=threads)
        made._folder = folder
        return made
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise FormatError(f"{os.fsdecode(path)}: already exists; choose a new folder for the bank")
    save_bank(path, splits, about)
    return Bank(path, threads=threads)


def save_temporary(splits, about):
    """(folder, path of the bank in it) of stacked arrays."""
    folder = Folder()
    path = os.path.join(folder.path, "bank")
    save_bank(path, {split: (clean, [] if copies is None else list(np.moveaxis(copies, 1, 0)), labels)
                     for split, (clean, copies, labels) in splits.items()}, about)
    return folder, path


def save_bank(path, splits, about):
    """The folder appears complete or not at all."""
    parent = os.path.dirname(os.path.abspath(os.fsdecode(path)))
    with Folder(".invar-", parent) as place:
        made = os.path.join(place, "bank")
        os.makedirs(made)
        for split, arrays in splits.items():
            save_split(os.path.join(made, split), *arrays)
        with open(os.path.join(made, "bank.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(about, indent=1, ensure_ascii=False) + "\n")
        os.rename(made, path)


def synthetic(path, *, threads=0, **options):
    """A bank of synthetic features for experiments, at a path that must not exist."""
    from ._options import Options

    values = Options("synthetic", options)
    call(lib.invar_bank_synthesize, context(threads), values.pointer, encoded(path))
    return Bank(path, threads=threads)
