# SPDX-License-Identifier: Apache-2.0
"""From an old index to a new one: stored vectors pass through E where they are stored. No images are needed.

    from invar.index import reindex, restore
    reindex("rows.npy", E)                                                     # a NumPy file, or a file of FAISS
    new = reindex(faiss_index, E, queries=q, truth=ids).index                  # a faiss.Index or an array: a new one
    reindex(psycopg.connect(…), E, table="photos", column="embedding")         # PostgreSQL with pgvector
    reindex(QdrantClient(…), E, table="photos", column="image")                # a new named vector
    reindex(lancedb.connect(…).open_table("photos"), E, column="vector")       # a new column

Codes are written beside the vectors, in batches that survive a kill: the same call resumes. The new index is then searched with
the given queries, and takes the place of the old one only if recall does not fall. The old vectors stay, under a name that
ends with the adapter's mark; `restore` goes back. docs/SEARCH.md is the manual.
"""
from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._adapter import Adapter, check_norms
from ._library import Call, Cancelled, FormatError, MismatchError, UseError, decoded, floats, lib, pointer
from ._measure import open_column

__all__ = ["Reindexed", "in_front", "reindex", "restore"]

METRICS = ("l2", "cosine", "ip")


@dataclass(frozen=True)
class Reindexed:
    """What `reindex` did: `rows` were written by this call, fewer than are stored if it resumed.

    `recall` of the queries has the keys "F, old index", "E, old index" and "E, new index"; it is empty if an earlier call
    already exchanged the indexes. `name`: what now holds the codes (a file, a column, a named vector).
    """

    index: Any = field(repr=False)
    rows: int
    exchanged: bool
    name: str = ""
    recall: dict[str, float] = field(default_factory=dict)


def reindex(index: Any, E: Adapter | str | PathLike[str], *, table: str | None = None, column: str | None = None, key: str = "id",
            metric: str | None = None, queries: ArrayLike | None = None, truth: ArrayLike | None = None, k: int = 10,
            tolerance: float = 0.005, exchange: bool = True, batch: int | None = None, checkpoint_seconds: float = 60.0,
            progress: bool | Callable[[str, int, int], Any] | None = None) -> Reindexed:
    """Passes every stored vector through E, verifies the new index and exchanges it with the old one.

    index: an array, the path of a .npy or FAISS file, a faiss.Index, a connection of psycopg (`table`, `column`, `key`), a
    QdrantClient (`table`: the collection, `column`: the named vector) or a table of LanceDB (`column`, `key`).
    queries [m, d]: features as they are sent to the index today, and truth [m]: the key or row number that each should
    find among its k nearest. Without them up to 1,000 stored vectors are searched for. Recall that falls by more than
    tolerance (two builds of one HNSW index differ by less) is a MismatchError, and nothing is exchanged. metric: "l2",
    "cosine" or "ip", by default that of the index. exchange=False stops after the measurement; the same call with True
    continues. Killed at any point, the same call resumes; files of FAISS are saved every checkpoint_seconds. E may be an
    adapter, a run or a path of either.
    """
    if metric is not None and metric not in METRICS:
        raise UseError(f"metric is {metric!r} but must be one of {', '.join(METRICS)}")
    if (queries is None) != (truth is None):
        raise UseError("queries and truth belong together: truth has the key of the stored vector that each query should find")
    for name, value in (("k", k), ("batch", 1 if batch is None else batch)):
        if value < 1:
            raise UseError(f"{name} is {value} but must be at least 1")
    E = open_column(E, 0)[0]
    with contextlib.closing(open_store(index, table, column, key)) as store:
        store.encode, store.seconds, store.batch = E, checkpoint_seconds, batch or store.batch
        store.metric = metric or store.metric or ("cosine" if E.unit else "l2")
        if store.find(mark_of(E)):
            return Reindexed(store.result(), 0, True, store.name)
        return make_index(store, E, queries, truth, k, tolerance, exchange, progress)


def make_index(store, E, queries, truth, k, tolerance, exchange, progress):
    if store.width != E.input:
        raise MismatchError(f"the stored vectors have width {store.width} but the adapter takes features of width {E.input}")
    rows, keys = store.sample(1000)
    if not len(rows):
        raise UseError("there are no stored vectors")
    check_fit(E, rows, store.metric)
    queries, truth = (rows, keys) if queries is None else (floats(queries, "queries", 2), np.asarray(truth).tolist())
    if queries.shape != (len(truth), E.input):
        raise MismatchError(f"queries have shape {queries.shape}, but truth has {len(truth)} keys and E takes width {E.input}")
    store.begin(E.output)
    written = fill(store, E, progress)
    store.build()
    recall = {"F, old index": recall_of(store.search(queries, k, False), truth)}
    codes = E(queries)
    if E.output == store.width:
        recall["E, old index"] = recall_of(store.search(codes, k, False), truth)
    before = max(recall.values())
    after = recall["E, new index"] = recall_of(store.search(codes, k, True), truth)
    if after < before - tolerance:
        error = MismatchError(f"recall@{k} of {len(truth)} queries falls from {before:.4f} to {after:.4f} in the new index; "
                              "nothing was exchanged (tolerance= accepts a loss)")
        error.recall = recall
        raise error
    if exchange:
        store.exchange()
    return Reindexed(store.result(), written, exchange, store.name, recall)


def restore(index: Any, *, table: str | None = None, column: str | None = None, key: str = "id") -> None:
    """The way back: the old vectors take their place again, and the codes are dropped; also of a call that did not end."""
    with contextlib.closing(open_store(index, table, column, key)) as store:
        store.restore()


def in_front(index: Any, E: Adapter | str | PathLike[str]) -> Any:
    """A linear E (init="ridge" or "rigid", loss="none") in front of a faiss.Index, as a faiss.IndexPreTransform.

    It is searched with plain features; what is added to it passes through E, too.
    """
    from ._faiss import in_front as make

    return make(index, open_column(E, 0)[0])


# ---- Steps ------------------------------------------------------------------------------------------------


def mark_of(E: Adapter) -> str:
    """Eight digits that name the network, whatever is written beside it in the file."""
    digest = hashlib.sha256(bytes([E.residual, E.unit]))
    for name, array in sorted(E.weights().items()):
        digest.update(f"{name}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:8]


def check_fit(E, rows, metric):
    if check_norms(E._pointer, pointer(rows), len(rows)):
        raise MismatchError(decoded(lib.invar_last_error()))
    if metric == "ip" and not E.unit and np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3):
        raise MismatchError("the stored vectors have norm 1 and are searched by inner product, but codes of this adapter "
                            "have other norms; train it with unit=True")


def fill(store, E, progress):
    """Writes the codes of all rows that have none; returns their number."""
    call, written, before = Call(progress), 0, store.done
    try:
        with contextlib.closing(store.batches()) as batches:
            for handle, rows in batches:
                store.write(handle, E(rows))
                written += len(rows)
                if call.step(b"re-index", before + written, max(store.count, before + written)):
                    raise Cancelled(f"stopped after {before + written} of {store.count} vectors; the same call resumes")
    finally:
        call.close()
    return written


def recall_of(found, truth):
    return sum(key in row for key, row in zip(truth, found)) / len(truth)


def nearest(rows, queries, k, metric):
    """Row numbers of the k nearest, exact, in blocks that fit into the cache of the system."""
    unit = lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
    queries = unit(queries) if metric == "cosine" else queries
    best, place = np.full((len(queries), 0), 0, np.float32), np.full((len(queries), 0), 0)
    for first in range(0, len(rows), 16384):
        block = np.asarray(rows[first:first + 16384], np.float32)
        score = queries @ (unit(block) if metric == "cosine" else block).T
        if metric == "l2":
            score = 2 * score - np.einsum("ij,ij->i", block, block)
        best = np.concatenate([best, score], 1)
        place = np.concatenate([place, np.broadcast_to(np.arange(first, first + len(block)), score.shape)], 1)
        order = np.argsort(-best, axis=1, kind="stable")[:, :k]
        best, place = np.take_along_axis(best, order, 1), np.take_along_axis(place, order, 1)
    return place.tolist()


def open_store(index, table, column, key):
    """What holds the vectors. Its package is imported only here."""
    modules = {kind.__module__.split(".")[0] for kind in type(index).__mro__}
    named = {"table": table, "column": column}
    if isinstance(index, np.ndarray):
        return Array(index, **named)
    if isinstance(index, (str, os.PathLike)) and os.fspath(index).endswith(".npy"):
        return NumpyFile(os.fspath(index), **named)
    if isinstance(index, (str, os.PathLike)) or "faiss" in modules:
        from ._faiss import Faiss, FaissFile

        return Faiss(index, **named) if "faiss" in modules else FaissFile(os.fspath(index), **named)
    if "psycopg" in modules:
        from ._postgres import Postgres

        return Postgres(index, table, column, key)
    if "qdrant_client" in modules:
        from ._qdrant import Qdrant

        return Qdrant(index, table, column)
    if "lancedb" in modules:
        from ._lance import Lance

        return Lance(index, column, key)
    raise UseError(f"{type(index).__name__} is not an index that invar knows; give an array, the path of a .npy or FAISS file, "
                   "a faiss.Index, a connection of psycopg, a QdrantClient or a table of LanceDB")


# ---- Arrays and files ---------------------------------------------------------------------------------------


class Array:
    """Rows in memory. Every store has these attributes and methods."""

    metric: str | None = None
    name = ""
    batch = 4096
    done = 0  # rows that an earlier call wrote

    def __init__(self, rows, table=None, column=None):
        if table is not None or column is not None:
            raise UseError("table and column are for databases")
        if rows.ndim != 2 or rows.dtype.kind != "f":
            raise UseError(f"stored vectors must be floats [n, d], not {rows.dtype} of shape {rows.shape}")
        self.rows, self.count, self.width = rows, len(rows), rows.shape[1]

    def find(self, mark):
        """Whether the codes of this adapter are already in place; an error if those of another one are."""
        return False

    def begin(self, width):
        """Makes the place of codes of this width, or takes up what an earlier call has left."""
        self.codes = np.empty((self.count, width), self.rows.dtype)

    def sample(self, most):
        """Some stored vectors and their keys."""
        places = np.arange(min(most, self.count)) * self.count // min(most, self.count) if self.count else np.arange(0)
        return np.ascontiguousarray(self.rows[places], np.float32), places.tolist()

    def batches(self):
        """(handle, rows) of all that have no codes yet; `write` is called with the handle before the next one."""
        for first in range(self.done, self.count, self.batch):
            yield first, np.ascontiguousarray(self.rows[first:first + self.batch], np.float32)

    def write(self, first, codes):
        self.codes[first:first + len(codes)] = codes

    def close(self):
        """In the end, whatever happened."""

    def build(self):
        """The new index, of codes that are all written."""

    def search(self, queries, k, new):
        """The keys of the k nearest for each query, in the new index or in the old one."""
        return nearest(self.codes if new else self.rows, queries, k, self.metric)

    def exchange(self):
        """One step, which happens as a whole or not at all."""

    def restore(self):
        raise UseError("an index in memory was not changed; use the old one")

    def result(self):
        return self.codes


class Files:
    """A file that is exchanged with another by one rename. `NAME.MARK-STAMP.old`: what it was before adapter MARK."""

    def __init__(self, path):
        self.path, self.was = path, stamp_of(path)

    def others(self, kind):
        return glob.glob(f"{glob.escape(self.path)}.????????-????????.{kind}")

    def find(self, mark):
        self.mark = mark
        for old in self.others("old"):
            if os.path.samefile(old, self.path):
                os.unlink(old)  # killed between the two steps of exchange
            elif not old.endswith(f"-{self.was}.old"):
                raise UseError(f"{self.path} was written again after it had passed through an adapter; remove {old} if its old "
                               "vectors are no longer needed")
            elif not old.endswith(f".{mark}-{self.was}.old"):
                raise UseError(f"{self.path} has already passed through another adapter, and {old} has its old vectors; "
                               "restore it first, or remove that file if the change is final")
            else:
                return True
        self.part = f"{self.path}.{mark}-{self.was}.part"
        return False

    def begin(self):
        """Of another adapter or other vectors, nothing can be used."""
        for other in self.others("part"):
            if other != self.part:
                os.unlink(other)

    def exchange(self):
        if stamp_of(self.path) != self.was:
            raise MismatchError(f"{self.path} has changed meanwhile; nothing was exchanged; the same call starts again")
        os.link(self.path, f"{self.path}.{self.mark}-{stamp_of(self.part)}.old")
        os.replace(self.part, self.path)
        sync(os.path.dirname(os.path.abspath(self.path)))

    def restore(self):
        parts, old = self.others("part"), self.others("old")
        if not parts and not old:
            raise UseError(f"there are no old vectors of {self.path}: no file {self.path}.*.old")
        for part in parts:
            os.unlink(part)
        for one in old:
            # A rename does nothing to two names of one file, which a killed exchange leaves.
            os.unlink(one) if os.path.samefile(one, self.path) else os.replace(one, self.path)
        sync(os.path.dirname(os.path.abspath(self.path)))


def stamp_of(path):
    """Eight digits that change when the file is written; a rename keeps them."""
    found = os.stat(path)
    return hashlib.sha256(f"{found.st_size} {found.st_mtime_ns}".encode()).hexdigest()[:8]


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class NumpyFile(Array):
    """A .npy file. Codes are appended to a file of the same form, so its length says how many there are."""

    def __init__(self, path, table=None, column=None):
        try:
            rows = np.load(path, mmap_mode="r")
        except ValueError as error:
            raise FormatError(f"{path}: {error}") from None
        super().__init__(rows, table, column)
        self.files, self.name, self.file = Files(path), path, None

    def find(self, mark):
        return self.files.find(mark)

    def begin(self, width):
        self.files.begin()
        self.file = open(self.files.part, "ab")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UseError(f"{self.files.path} is being re-indexed by another process") from None
        head, row = io.BytesIO(), width * self.rows.dtype.itemsize
        np.lib.format.write_array_header_1_0(head, {"descr": np.lib.format.dtype_to_descr(self.rows.dtype),
                                                    "fortran_order": False, "shape": (self.count, width)})
        head = head.getvalue()
        if self.file.tell() < len(head):
            self.file.truncate(0)
            self.file.write(head)
            self.file.flush()
        self.done = (self.file.tell() - len(head)) // row
        self.file.truncate(len(head) + self.done * row)

    def write(self, first, codes):
        self.file.write(codes.astype(self.rows.dtype).tobytes())
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self):
        if self.file:
            self.file.close()

    def build(self):
        self.codes = np.load(self.files.part, mmap_mode="r")

    def exchange(self):
        self.files.exchange()

    def restore(self):
        self.files.restore()

    def result(self):
        return self.files.path
