# SPDX-License-Identifier: Apache-2.0
"""Indexes of FAISS: Flat, IVF, HNSW, with PQ or scalar quantizers, and IDMap around them."""
import os
import time

import faiss
import numpy as np

from ._adapter import Adapter
from ._library import FormatError, MismatchError, UseError
from .index import Array, Files, sync

METRICS = {faiss.METRIC_L2: "l2", faiss.METRIC_INNER_PRODUCT: "ip"}
KINDS = (faiss.IndexFlat, faiss.IndexHNSWFlat, faiss.IndexPQ, faiss.IndexScalarQuantizer, faiss.IndexIVF)


class Faiss(Array):
    """An index in memory: the new one is of the same kind, with the same parameters, trained on codes."""

    def __init__(self, index, table=None, column=None):
        if table is not None or column is not None:
            raise UseError("table and column are for databases")
        mapped = isinstance(index, (faiss.IndexIDMap, faiss.IndexIDMap2))
        inner = faiss.downcast_index(index.index) if mapped else index
        if not isinstance(inner, KINDS) or index.metric_type not in METRICS:
            raise UseError(f"{type(inner).__name__} cannot be re-indexed; indexes of FAISS are Flat, HNSW, IVF, PQ or SQ, by L2 or "
                           "inner product")
        self.index, self.inner, self.count, self.width = index, inner, index.ntotal, index.d
        self.metric = METRICS[index.metric_type]
        self.is_ivf = isinstance(inner, faiss.IndexIVF)
        if self.is_ivf:
            lists = inner.invlists
            sizes = np.array([lists.list_size(i) for i in range(inner.nlist)])
            self.list_of, self.first_of = np.repeat(np.arange(inner.nlist), sizes), np.cumsum(sizes) - sizes
            self.keys = np.concatenate([faiss.rev_swig_ptr(lists.get_ids(i), int(n)).copy() for i, n in enumerate(sizes) if n]
                                       or [np.empty(0, np.int64)])
        else:
            self.keys = np.arange(self.count)
        if mapped:
            self.keys = faiss.vector_to_array(index.id_map)[self.keys]

    def read(self, places):
        """Stored vectors in the order of `keys`; of PQ and scalar quantizers, as near as these store them."""
        if not self.is_ivf:
            return self.inner.reconstruct_batch(places)
        out, lists = np.empty((len(places), self.width), np.float32), self.list_of[places]
        for row, place, number in zip(out, places, lists):
            self.inner.reconstruct_from_offset(int(number), int(place - self.first_of[number]), faiss.swig_ptr(row))
        return out

    def sample(self, most):
        places = np.arange(min(most, self.count)) * self.count // max(min(most, self.count), 1)
        return self.read(places), self.keys[places].tolist()

    def begin(self, width):
        if width != self.width:
            raise MismatchError(f"codes have width {width} but the index {self.width}; make a new index of FAISS for them")
        self.new = faiss.clone_index(self.index)
        self.new.reset()

    def train(self):
        """Centroids and codebooks, on as many codes as FAISS would use of them."""
        inner = faiss.downcast_index(self.new.index) if hasattr(self.new, "id_map") else self.new
        if isinstance(inner, (faiss.IndexFlat, faiss.IndexHNSWFlat)):
            return
        if self.is_ivf:
            inner.quantizer.reset()
        inner.is_trained = self.new.is_trained = False
        most = max(256 * inner.nlist if self.is_ivf else 0, 65536)
        self.new.train(self.encode(self.sample(most)[0]))

    def batches(self):
        if not self.done:
            self.train()
        for first in range(self.done, self.count, self.batch):
            yield first, self.read(np.arange(first, min(first + self.batch, self.count)))

    def write(self, first, codes):
        if self.is_ivf or hasattr(self.new, "id_map"):
            self.new.add_with_ids(codes, self.keys[first:first + len(codes)])
        else:
            self.new.add(codes)

    def search(self, queries, k, new):
        return (self.new if new else self.index).search(queries, k)[1].tolist()

    def result(self):
        return self.new


class FaissFile(Faiss):
    """A file of FAISS. The new index is saved whole from time to time; the vectors in it say how many are done."""

    def __init__(self, path, table=None, column=None):
        self.files, self.name = Files(path), path
        super().__init__(self.read_file(path), table, column)

    def read_file(self, path):
        try:
            return faiss.read_index(path)
        except RuntimeError as error:
            raise FormatError(f"{path} is neither a .npy file nor an index of FAISS: {str(error).splitlines()[0]}") from None

    def find(self, mark):
        return self.files.find(mark)

    def begin(self, width):
        self.files.begin()
        super().begin(width)
        if os.path.exists(self.files.part):
            self.new = self.read_file(self.files.part)
            self.done = self.new.ntotal
        self.saved = time.monotonic()

    def save(self):
        temporary = f"{self.files.part}.{os.getpid()}"
        faiss.write_index(self.new, temporary)
        sync(temporary)
        os.replace(temporary, self.files.part)
        self.saved = time.monotonic()

    def write(self, first, codes):
        super().write(first, codes)
        if time.monotonic() - self.saved >= self.seconds:
            self.save()

    def build(self):
        self.save()

    def exchange(self):
        self.files.exchange()

    def restore(self):
        self.files.restore()

    def result(self):
        return self.files.path


def in_front(index, E):
    """The affine map of a network ReLU(u) − ReLU(−u): half of the product of its layers."""
    w = {name: array.astype(np.float64) for name, array in E.weights().items()}
    matrix = w["2.weight"] @ w["0.weight"] / 2 + (np.eye(E.output, E.input) if E.residual else 0)
    offset = w["2.bias"] + w["2.weight"] @ w["0.bias"] / 2
    plain = Adapter.from_weights(w["0.weight"], w["0.bias"], w["2.weight"], w["2.bias"], residual=E.residual)
    z = np.random.default_rng(0).normal(size=(64, E.input)) * 1e3
    z = np.concatenate([z, z / 1e3])
    wanted = z @ matrix.T + offset
    if np.abs(plain(z) - wanted).max() > 1e-4 * np.abs(wanted).max():
        raise UseError('this adapter is not linear; train it with loss="none", init="ridge" or "rigid", or apply E to queries '
                       "before the search")
    if index.d != E.output:
        raise MismatchError(f"codes have width {E.output} but the index {index.d}")
    linear = faiss.LinearTransform(E.input, E.output, True)
    faiss.copy_array_to_vector(matrix.astype(np.float32).ravel(), linear.A)
    faiss.copy_array_to_vector(offset.astype(np.float32), linear.b)
    linear.is_trained = True
    chain = [linear]
    if E.unit:
        chain = [faiss.NormalizationTransform(E.input, 2.0), linear, faiss.NormalizationTransform(E.output, 2.0)]
    made = faiss.IndexPreTransform(index)
    for one in reversed(chain):
        made.prepend_transform(one)
    return made
