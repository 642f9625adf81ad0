# SPDX-License-Identifier: Apache-2.0
"""E on NumPy arrays, and the same as a PyTorch module."""
import ctypes
import json
import os
import struct
import warnings

import numpy as np

from ._library import Folder, Handle, NumericError, UseError, call, check, context, decoded, encoded, failure, floats, lib, pointer
from ._results import html_table

apply_rows = lib.invar_adapter_apply
check_norms = lib.invar_adapter_check_norms
float32 = np.dtype(np.float32)
RESIDUAL, UNIT = 1, 2


def not_finite(z, out):
    """The library counts rows; this is the element of the array, which may have more dimensions."""
    for name, array in (("z", z), ("the code of z", out)):
        for place in np.argwhere(~np.isfinite(array))[:1]:
            index = tuple(place.tolist())
            return NumericError(f"{name} at {list(index)} is {'NaN' if np.isnan(array[index]) else 'infinite'}")
    return failure(NumericError.status)


class Adapter:
    """E: a small network that is applied to features. `Adapter(path)` opens an adapter file or a run folder.

    `E(z)` takes features with d as the last axis, [d], [n, d] or [n, c, d], and gives codes of the same shape with w
    as the last axis. C-contiguous float32 arrays are not copied; others are converted. Several threads may call one
    adapter at once. A unit adapter divides features and codes by their norms; another one warns (UserWarning, once) if
    the norms of the features are not like those it was trained on.
    """

    def __init__(self, path, *, threads=0):
        out = ctypes.c_void_p()
        call(lib.invar_adapter_open, context(threads), encoded(path), ctypes.byref(out))
        self._take(out.value, threads)
        self._is_file = True

    def _reopen(self):
        """Reads its metadata again; another thread may still be in a call with the old handle, which stays."""
        kept = (self._handle, getattr(self, "_kept", None))
        Adapter.__init__(self, self.path, threads=self._threads)
        self._kept = kept

    def _take(self, handle, threads):
        self._is_file = False
        self._handle = Handle(handle, lib.invar_adapter_close)
        self._pointer = handle
        self._threads = threads
        self._input = lib.invar_adapter_input(handle)
        self._output = lib.invar_adapter_output(handle)
        self._has_norms = bool(lib.invar_adapter_metadata(handle, b"invar.norm_mean"))
        return self

    @classmethod
    def _from(cls, handle, threads=0):
        return cls.__new__(cls)._take(handle, threads)

    @classmethod
    def from_bytes(cls, data, *, threads=0):
        """From the contents of an adapter file."""
        out = ctypes.c_void_p()
        data = bytes(data)
        check(lib.invar_adapter_from_memory(context(threads), data, len(data), ctypes.byref(out)))
        return cls._from(out.value, threads)

    @classmethod
    def from_weights(cls, weight_0, bias_0, weight_2, bias_2, *, residual=False, unit=False, threads=0):
        """From arrays as torch.nn.Linear has them: [hidden, d], [hidden], [w, hidden], [w]."""
        first, second = floats(weight_0, "weight_0", 2), floats(weight_2, "weight_2", 2)
        biases = floats(bias_0, "bias_0", 1), floats(bias_2, "bias_2", 1)
        hidden, d = first.shape
        if second.shape[1] != hidden or biases[0].shape != (hidden,) or biases[1].shape != second.shape[:1]:
            raise UseError(f"the shapes {first.shape}, {biases[0].shape}, {second.shape}, {biases[1].shape} do not "
                           "belong to one network")
        out = ctypes.c_void_p()
        check(lib.invar_adapter_new(context(threads), d, hidden, second.shape[0],
                                    (RESIDUAL if residual else 0) | (UNIT if unit else 0), pointer(first), pointer(biases[0]),
                                    pointer(second), pointer(biases[1]), ctypes.byref(out)))
        return cls._from(out.value, threads)

    def __call__(self, z, out=None):
        """The codes of features; written to `out` if given, a C-contiguous float32 array that does not overlap z."""
        if type(z) is not np.ndarray or z.dtype is not float32 or not z.flags.carray:
            z = np.require(z, np.float32, ["C", "A"])  # no copy of an array that is only read-only
        shape = z.shape
        if not shape or shape[-1] != self._input:
            raise UseError(f"the last axis of z must be {self._input}, the width of the features that the adapter "
                           f"takes; the shape of z is {shape}")
        wanted = shape[:-1] + (self._output,)
        if out is None:
            out = np.empty(wanted, float32)
        elif (not isinstance(out, np.ndarray) or out.shape != wanted or out.dtype != float32 or not out.flags.carray
              or np.may_share_memory(out, z)):
            raise UseError(f"out must be a writable, C-contiguous float32 array of shape {wanted} that does not overlap z")
        status = apply_rows(self._pointer, z.__array_interface__["data"][0], z.size // self._input,
                            out.__array_interface__["data"][0])
        if status:
            raise not_finite(z, out) if status == NumericError.status else failure(status)
        if self._has_norms and check_norms(self._pointer, z.__array_interface__["data"][0], z.size // self._input):
            self._has_norms = False  # said once
            warnings.warn(decoded(lib.invar_last_error()), UserWarning, stacklevel=2)
        return out

    @property
    def input(self):
        """d, the width of the features."""
        return self._input

    @property
    def output(self):
        """w, the width of the codes."""
        return self._output

    @property
    def hidden(self):
        return lib.invar_adapter_hidden(self._pointer)

    @property
    def residual(self):
        """Whether E(z) = z + MLP(z)."""
        return bool(lib.invar_adapter_residual(self._pointer))

    @property
    def unit(self):
        """Whether features and codes are divided by their norms: unit(E(unit(z)))."""
        return bool(lib.invar_adapter_unit(self._pointer))

    @property
    def path(self):
        return decoded(lib.invar_adapter_path(self._pointer))

    def metadata(self, key):
        """A text such as "invar.encoder" or "invar.loss"; None if the file has none."""
        return decoded(lib.invar_adapter_metadata(self._pointer, encoded(key)))

    def save(self, path):
        call(lib.invar_adapter_save, self._pointer, encoded(path))

    def to_bytes(self):
        """The contents of an adapter file."""
        with Folder() as folder:
            path = os.path.join(folder, "adapter.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def weights(self):
        """The parameters as NumPy arrays, by their names in the file: "0.weight", "0.bias", "2.weight", "2.bias"."""
        data = self.to_bytes()
        size, = struct.unpack("<Q", data[:8])
        tensors = json.loads(data[8:8 + size])
        return {name: np.frombuffer(data, "<f4", np.prod(row["shape"], dtype=int), 8 + size + row["data_offsets"][0])
                .reshape(row["shape"]).copy() for name, row in tensors.items() if name != "__metadata__"}

    def torch(self):
        """The same as a torch.nn.Module, with the names of the file in its state_dict: for torch.nn.Sequential(F, E)."""
        try:
            from ._torch import module
        except ModuleNotFoundError as error:
            raise ImportError("torch() needs PyTorch; install the package torch") from error

        return module(self)

    def __reduce__(self):
        return restore, (self.to_bytes(), self._threads)

    def _made_of(self):
        """(preset or loss, encoder, augmentation), as far as the file says; a preset is named before its loss."""
        return self.metadata("invar.preset") or self.metadata("invar.loss"), self.metadata("invar.encoder"), self.metadata("invar.augment")

    def _form(self):
        return f"{self.input} → {self.output}, hidden {self.hidden}{', residual' * self.residual}{', unit' * self.unit}"

    def __repr__(self):
        made = ", ".join(filter(None, self._made_of()))
        return f"Adapter({repr(self.path) + ': ' if self._is_file else ''}{self._form()}{'; ' + made if made else ''})"

    def _repr_html_(self):
        return html_table("Adapter", zip(("file", "network", "preset or loss", "features of", "trained against"),
                                         (self.path if self._is_file else None, self._form(), *self._made_of())))


def restore(data, threads):
    return Adapter.from_bytes(data, threads=threads)


def merge(adapters, weights=None, strength=1.0):
    """The weighted mean of adapters as one adapter; a strength of 0.5 moves features half as far."""
    adapters = [one if isinstance(one, Adapter) else Adapter(one) for one in adapters]
    handles = (ctypes.c_void_p * len(adapters))(*(one._pointer for one in adapters))
    if weights is not None:
        weights = np.ascontiguousarray(weights, np.float64)
        if weights.shape != (len(adapters),):
            raise UseError(f"there are {len(adapters)} adapters but weights of shape {weights.shape}")
    out = ctypes.c_void_p()
    check(lib.invar_adapter_merge(handles, pointer(weights), len(adapters), float(strength), ctypes.byref(out)))
    return Adapter._from(out.value, adapters[0]._threads)
