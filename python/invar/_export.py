# SPDX-License-Identifier: Apache-2.0
"""Adapters as files for other programs."""
from ._encode import Encoder
from ._library import call, encoded, lib
from ._measure import open_column
from ._options import Options


def export(adapter, path, *, encoder=None, threads=0, **options):
    """Writes an adapter as an ONNX model, or a model card for it (format="card"), as `invar export` does.

    adapter: a run, an adapter or a path of either. onto="model.onnx" appends it to an encoder of yours. encoder: weights
    of one of our own encoders, or an Encoder; both are written as one model, from normalised images to codes.
    """
    values = Options("export", options)
    opened, _, _ = open_column(adapter, threads)
    if encoder is None:
        call(lib.invar_adapter_export, opened._pointer, None, values.pointer, encoded(path))
        return
    made = encoder if isinstance(encoder, Encoder) else Encoder(encoder, threads=threads)
    with made._lock:
        call(lib.invar_adapter_export, opened._pointer, made._pointer, values.pointer, encoded(path))
