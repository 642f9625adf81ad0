# SPDX-License-Identifier: Apache-2.0
"""Measurements: of adapters on banks, and of plain arrays."""
import ctypes
import os

import numpy as np

from ._adapter import Adapter
from ._bank import Bank, open_bank
from ._bank import bank as make_bank
from ._library import check as ensure
from ._library import (Handle, MismatchError, TsneRows, UseError, attempt, call, context, encoded, floats, integers, lib,
                       log, pointer)
from ._options import Options, spell_one
from ._results import Results


def title_of(path):
    """The last part of a path, without .safetensors, or the folder of a run's adapter, as all of these are equal."""
    path = path.rstrip("/") or path
    folder, name = os.path.split(path)
    if name == "adapter.safetensors" and os.path.basename(folder):
        return os.path.basename(folder)
    return name[:-len(".safetensors")] if name.endswith(".safetensors") else name


def open_column(one, threads):
    """(adapter, title, run folder or None)."""
    if isinstance(one, Adapter):
        return one, title_of(one.path), None
    path = os.fspath(one)
    opened = getattr(one, "adapter", None) or Adapter(path, threads=threads)
    return opened, title_of(path), path if os.path.isdir(path) else None


def keep_results(handle, columns, threads):
    for i, (_, _, run) in enumerate(columns):
        if run is None:
            continue
        if not os.access(run, os.W_OK):
            log.warning("%s/metrics.json is not saved: the run is not writable", run)
            continue
        ensure(lib.invar_run_keep_results(context(threads), encoded(run), handle, str(i + 1).encode()))


def write_certificates(handle, columns, bank, values):
    """Writes what was measured into the adapters' files, as `invar eval --certify` does."""
    for i, (adapter, _, _) in enumerate(columns):
        call(lib.invar_adapter_certify, adapter._pointer, bank, handle, str(i + 1).encode(), values.pointer,
             encoded(adapter.path))
        adapter._reopen()


def eval(bank, *adapters, certify=False, threads=0, progress=None, **options):
    """Measures F and each adapter on a bank: one column each, F first.

    adapters: runs, adapters or paths of either. Runs keep their results. With certify, each adapter's file gets a
    certificate, which `check` compares new data with. If a measurement that `metrics` names is not possible, the
    exception has what was measured as its attribute `results`.
    """
    values = Options("eval", options)
    columns = [open_column(one, threads) for one in adapters]
    if certify and not all(adapter._is_file for adapter, _, _ in columns):
        raise UseError("certify writes into the file of an adapter, but one of these is only in memory; save it first")
    handles = (ctypes.c_void_p * max(len(columns), 1))(*(adapter._pointer for adapter, _, _ in columns))
    titles = (ctypes.c_char_p * max(len(columns), 1))(*(encoded(title) for _, title, _ in columns))
    opened, out = open_bank(bank, values, threads), ctypes.c_void_p()
    error = attempt(lib.invar_eval, opened.value, handles, titles, len(columns), values.pointer, ctypes.byref(out),
                    progress=progress)
    results = None
    if out.value:
        try:
            keep_results(out.value, columns, threads)
            if certify and error is None:
                write_certificates(out.value, columns, opened.value, values)
        finally:
            results = Results._from(out.value)
    opened.close()
    if error is not None:
        error.results = results
        raise error
    return results


def diagnose(bank, *, threads=0, progress=None, **options):
    """The trial of the presets beside F: will an adapter help, and what does it cost?

    `results.document["verdict"]` is the preset to use, "none" or "unknown", and `["why"]` has a line per preset.
    """
    values = Options("diagnose", options)
    opened, out = open_bank(bank, values, threads), ctypes.c_void_p()
    call(lib.invar_diagnose, opened.value, values.pointer, ctypes.byref(out), progress=progress)
    return Results._from(out.value)


def check(adapter, new, *, threads=0, progress=None, **options):
    """Compares new data with an adapter's certificate, without labels: `results.document["verdict"]` is "fine" or "drift".

    adapter: a run, an adapter or a path of either, certified by `eval(…, certify=True)`. new: a bank, or clean features
    [n, d] as an array or a NumPy file.
    """
    values, out = Options("check", options), ctypes.c_void_p()
    opened, _, _ = open_column(adapter, threads)
    if not isinstance(new, Bank):
        if isinstance(new, (str, os.PathLike)) and os.path.isfile(new):
            new = np.load(new, mmap_mode="r")
        if not isinstance(new, (str, os.PathLike)):
            rows = floats(new, "new", 2)
            if rows.shape[1] != opened.input:
                raise MismatchError(f"new has {rows.shape[1]} columns but the adapter takes features of width {opened.input}")
            new = make_bank(rows, threads=threads)
    found = open_bank(new, None, threads)
    call(lib.invar_check, opened._pointer, found.value, values.pointer, ctypes.byref(out), progress=progress)
    return Results._from(out.value)


# ---- On arrays ------------------------------------------------------------------------------------------


def pair(x, z, names=("x", "z")):
    x, z = floats(x, names[0], 2), floats(z, names[1], 2)
    if len(x) != len(z):
        raise MismatchError(f"{names[0]} has {len(x)} rows but {names[1]} has {len(z)}")
    return x, z


def structure(x, e, *, threads=0, progress=None):
    """How close a map is to an isometry: the same points before [n, d] and after it [n, w]."""
    x, e = pair(x, e, ("x", "e"))
    out = ctypes.c_void_p()
    call(lib.invar_structure, context(threads), pointer(x), x.shape[1], pointer(e), e.shape[1], len(x),
         ctypes.byref(out), progress=progress)
    return Results._from(out.value)


def dependence(x, z, *, threads=0, progress=None, **options):
    """Sliced Wasserstein dependence and correlation of paired samples x [n, dx] and z [n, dz]."""
    x, z = pair(x, z)
    values, out = Options("dependence", options), ctypes.c_void_p()
    call(lib.invar_dependence, context(threads), pointer(x), x.shape[1], pointer(z), z.shape[1], len(x), values.pointer,
         ctypes.byref(out), progress=progress)
    return Results._from(out.value)


def sliced_wasserstein(a, b, *, directions=None, gradient=False, threads=0, progress=None, **options):
    """SW_p of two sets of the same number of rows [n, d]; with gradient, also its gradient with respect to a."""
    a, b = pair(a, b, ("a", "b"))
    if a.shape != b.shape:
        raise MismatchError(f"a has shape {a.shape} but b has {b.shape}")
    if directions is not None:
        directions = floats(directions, "directions", 2)
        if directions.shape[1] != a.shape[1]:
            raise MismatchError(f"directions have {directions.shape[1]} columns but the rows {a.shape[1]}")
        options["projections"] = len(directions)
    values, value = Options("dependence", options), ctypes.c_double()
    grad = np.empty_like(a) if gradient else None
    call(lib.invar_sliced_wasserstein, context(threads), pointer(a), pointer(b), len(a), a.shape[1], pointer(directions),
         values.pointer, ctypes.byref(value), pointer(grad), progress=progress)
    return (value.value, grad) if gradient else value.value


def tsne(x, labels=None, *, threads=0, progress=None, **options):
    """Embeds rows [n, d] in the plane: points [n, 2], and the results with the divergence reached."""
    x = floats(x, "x", 2)
    labels = integers(labels, len(x)) if labels is not None else None
    rows = TsneRows(ctypes.sizeof(TsneRows), pointer(x), len(x), x.shape[1], pointer(labels))
    values, out, points = Options("tsne", options), ctypes.c_void_p(), np.empty((len(x), 2), np.float32)
    call(lib.invar_tsne, context(threads), ctypes.byref(rows), values.pointer, pointer(points), ctypes.byref(out),
         progress=progress)
    return points, Results._from(out.value)


def neighbours(gallery, queries, k=1, *, threads=0, progress=None):
    """The k nearest rows of gallery [n, d] for each of queries [m, d]: (index [m, k], distance [m, k]), exact."""
    gallery, queries = floats(gallery, "gallery", 2), floats(queries, "queries", 2)
    if gallery.shape[1] != queries.shape[1]:
        raise MismatchError(f"gallery has {gallery.shape[1]} columns but queries have {queries.shape[1]}")
    if not 1 <= k <= len(gallery):
        raise UseError(f"k is {k} but must be 1 to {len(gallery)}, the rows of the gallery")
    index, distance = np.empty((len(queries), k), np.uint32), np.empty((len(queries), k), np.float64)
    call(lib.invar_neighbours, context(threads), pointer(gallery), len(gallery), pointer(queries), len(queries),
         gallery.shape[1], k, pointer(index), pointer(distance), progress=progress)
    return index, distance


def augment(images, spec, *, params=None, normalize=None, threads=0, **options):
    """Augmented images and the parameters drawn for them: images are float [n, c, h, w], spec such as "rotation"."""
    x = floats(images, "images", 4)
    shape, result = (ctypes.c_uint64 * 4)(*x.shape), (ctypes.c_uint64 * 4)()
    values, out = Options("augment", options), ctypes.c_void_p()
    ensure(lib.invar_augment_parse(context(threads), encoded(spec), ctypes.byref(out)))
    handle = Handle(out.value, lib.invar_augment_close)
    if normalize is not None:
        ensure(lib.invar_augment_pixels(handle.value, encoded(spell_one(normalize))))
    ensure(lib.invar_augment_result(handle.value, shape, result))
    drawn = np.empty((len(x), lib.invar_augment_columns(handle.value)), np.float32)
    if params is not None:
        given = floats(params, "params", 2)
        if given.shape != drawn.shape:
            raise MismatchError(f"params have shape {given.shape} but {spec} takes {drawn.shape}")
        drawn = given
    else:
        ensure(lib.invar_augment_draw(handle.value, values.pointer, shape, pointer(drawn)))
    made = np.empty(tuple(result), np.float32)
    call(lib.invar_augment_apply, handle.value, values.pointer, pointer(x), shape, pointer(drawn), pointer(made))
    return made, drawn
