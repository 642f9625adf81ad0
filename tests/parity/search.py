#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""search.py INVAR [STORE…] - invar.index on the stores that people have, beside NumPy.

FAISS (in memory and in a file), PostgreSQL with pgvector (pgserver), Qdrant (local mode), LanceDB and .npy files, by L2, cosine
and inner product. Codes and their number equal those of E on the same rows; recall equals NumPy's, exactly where the search is
exact, within 0.03 for IVF, HNSW, PQ and SQ. An adapter that does harm is refused, and nothing has changed; `restore` goes
back. Rows that come in or change during the work of PostgreSQL have codes in the end.

Then kills: a process that re-indexes is ended by SIGKILL at random times and started again, at least KILLS times per store. After
every kill the store has either all old vectors or all codes in the place that is searched, and in the end all codes, each once.
Exit 77 (skipped) where a package is not installed.
"""
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
PROGRAM = os.path.abspath(sys.argv[1])
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of FAISS and NumPy: the work is small, and cores may be busy
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")  # pgserver's
os.environ.update(INVAR_PROGRAM=PROGRAM, LANCEDB_LOG="error", PYTHONPATH=os.path.join(SOURCE, "python"),
                  INVAR_LIBRARY=os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "libinvar.so.0"))
# onnx.py beside this file is not the package of that name.
sys.path = [os.path.join(SOURCE, "python")] + [path for path in sys.path if os.path.abspath(path or ".") != HERE]

try:
    import numpy as np

    for package in ("faiss", "psycopg", "pgserver", "qdrant_client", "lancedb") if "--child" not in sys.argv else ():
        importlib.import_module(package)
except ImportError as error:
    print("skipped: %s (./dev parity search sets it up)" % error)
    sys.exit(77)

import invar
from invar.index import in_front, reindex, restore

ROWS, WIDTH, QUERIES, KILLS = 1000, 24, 300, 10
NEAR = 0.03  # of approximate indexes
failed = []


def judge(what, good):
    print(what, "" if good else "FAILED", flush=True)
    if not good:
        failed.append(what)


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype("f4")


def features():
    """Clean rows and copies that are displaced along a few directions."""
    rng = np.random.default_rng(0)
    clean = (rng.normal(size=(ROWS, WIDTH)) + 1).astype("f4")
    nuisance = rng.normal(size=(4, WIDTH))
    copies = [clean + 1.2 * rng.normal(size=(ROWS, 4)) @ nuisance + 0.4 * rng.normal(size=clean.shape) for _ in range(4)]
    return clean, np.stack(copies, 1).astype("f4")


def by_numpy(stored, queries, metric, k=10):
    """Recall of query i for row i, in double."""
    a, b = queries.astype("f8"), stored.astype("f8")
    if metric == "cosine":
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    score = a @ b.T
    if metric == "l2":
        score = 2 * score - (b * b).sum(1)
    own = score[np.arange(len(a)), np.arange(len(a))]
    return float(((score > own[:, None]).sum(1) < k).mean())


# ---- Stores: make fills one, read gives what is searched as {key: vector}, open gives what reindex takes ---------


class Npy:
    words, exact = {}, True

    def __init__(self, folder):
        self.path = os.path.join(folder, "rows.npy")

    def make(self, rows, metric):
        np.save(self.path, rows)
        self.words = {"metric": metric}

    def open(self):
        return self.path

    def read(self, result=None):
        return dict(enumerate(np.load(self.path)))

    def close(self):
        pass


class FaissFile(Npy):
    exact = False

    def __init__(self, folder, kind="IVF16,Flat"):
        self.path, self.kind, self.exact = os.path.join(folder, "rows.faiss"), kind, kind == "Flat"

    def make(self, rows, metric):
        import faiss

        index = faiss.index_factory(WIDTH, self.kind, {"l2": faiss.METRIC_L2, "ip": faiss.METRIC_INNER_PRODUCT}[metric])
        index.train(rows)
        if "IVF" in self.kind:
            index.nprobe = 8
        if "HNSW" in self.kind:
            index.hnsw.efSearch = 128
        index.add_with_ids(rows, np.arange(ROWS)) if "ID" in self.kind or "IVF" in self.kind else index.add(rows)
        if os.path.exists(self.path):
            os.unlink(self.path)
        faiss.write_index(index, self.path)

    def read(self, result=None):
        import faiss
        from invar._faiss import Faiss

        store = Faiss(faiss.read_index(self.path))
        return dict(zip(store.keys.tolist(), store.read(np.arange(store.count))))


class Postgres:
    words, server = {"table": "photos", "column": "embedding"}, None

    def __init__(self, folder, index="hnsw"):
        self.folder, self.index, self.exact, self.db = os.path.join(folder, "pg"), index, not index, None
        if Postgres.server is None:
            import pgserver

            Postgres.server = pgserver.get_server(self.folder, cleanup_mode="stop")

    def connect(self):
        import psycopg

        return psycopg.connect(Postgres.server.get_uri(), autocommit=True)

    def make(self, rows, metric):
        db = self.connect()
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute("DROP TABLE IF EXISTS photos")
        db.execute(f"CREATE TABLE photos (id bigint PRIMARY KEY, title text, embedding vector({WIDTH}) NOT NULL)")
        with db.cursor() as cursor:
            cursor.executemany("INSERT INTO photos VALUES (%s, 'a photo', %s)",
                               [(i, str(row.tolist())) for i, row in enumerate(rows)])
        if self.index:
            db.execute(f"CREATE INDEX near ON photos USING {self.index} (embedding vector_{metric}_ops)"
                       + (" WITH (lists = 10)" if self.index == "ivfflat" else ""))
        else:
            self.words = {**self.words, "metric": metric}
        db.close()

    def open(self):
        self.db = self.connect()
        self.db.execute("SET ivfflat.probes = 8")
        return self.db

    def read(self, result=None):
        with self.connect() as db:
            found = db.execute("SELECT id, embedding::real[] FROM photos").fetchall()
        return {key: np.array(row, "f4") for key, row in found}

    def close(self):
        if self.db:
            self.db.close()


class Qdrant:
    words, exact = {"table": "photos", "column": "image"}, True

    def __init__(self, folder):
        self.folder, self.client = os.path.join(folder, "qdrant"), None

    def make(self, rows, metric):
        from qdrant_client import models

        client = self.open()
        client.delete_collection("photos")
        distance = {"l2": models.Distance.EUCLID, "ip": models.Distance.DOT, "cosine": models.Distance.COSINE}[metric]
        client.create_collection("photos", vectors_config={"image": models.VectorParams(size=WIDTH, distance=distance)})
        client.upsert("photos", [models.PointStruct(id=i, vector={"image": row.tolist()}) for i, row in enumerate(rows)])
        self.close()

    def open(self):
        from qdrant_client import QdrantClient

        self.client = self.client or QdrantClient(path=self.folder)
        return self.client

    def read(self, result=None):
        """The vectors of the new name if the work has ended, else the old ones."""
        name = result.name if result else "image"
        points = self.open().scroll("photos", limit=2 * ROWS, with_vectors=[name])[0]
        self.close()
        return {point.id: np.array(point.vector[name], "f4") for point in points}

    def close(self):
        if self.client:
            self.client.close()
            self.client = None


class Lance:
    words = {}

    def __init__(self, folder, index=True):
        self.folder, self.index, self.exact = os.path.join(folder, "lance"), index, not index

    def make(self, rows, metric):
        import lancedb
        import pyarrow as pa
        from lancedb.index import IvfFlat

        vectors = pa.FixedSizeListArray.from_arrays(rows.ravel(), WIDTH)
        table = lancedb.connect(self.folder).create_table("photos", pa.table({"id": np.arange(ROWS), "vector": vectors}),
                                                          mode="overwrite")
        if self.index:
            table.create_index("vector", config=IvfFlat(distance_type={"ip": "dot"}.get(metric, metric), num_partitions=2))
        else:
            self.words = {"metric": metric}

    def open(self):
        import lancedb

        return lancedb.connect(self.folder).open_table("photos")

    def read(self, result=None):
        table = self.open().to_arrow()
        return dict(zip(table["id"].to_pylist(), np.array(table["vector"].to_pylist(), "f4")))

    def close(self):
        pass


STORES = {"npy": Npy, "faiss": FaissFile, "postgres": Postgres, "qdrant": Qdrant, "lance": Lance}


# ---- Equal to NumPy ---------------------------------------------------------------------------------------------


def holds(found, rows):
    """Whether a store has these rows, each once, within the last bits of a float."""
    return sorted(found) == list(range(len(rows))) and np.abs(np.stack([found[i] for i in range(len(rows))]) - rows).max() <= 1e-6


def check_store(title, store, metric, E, bad, clean, copies):
    rows = unit(clean) if E.unit else clean
    queries = unit(copies[:QUERIES, 0]) if E.unit else copies[:QUERIES, 0]
    truth, codes = np.arange(QUERIES), E(rows)
    store.make(rows, metric)
    try:
        reindex(store.open(), bad, queries=queries, truth=truth, **store.words)
        judge(f"{title}: an adapter that does harm is refused", False)
    except invar.MismatchError as error:
        judge(f"{title}: {error}", "falls from" in str(error))
    store.close()
    judge(f"{title}: refused, and the old vectors are there", holds(store.read(), rows))
    restore(store.open(), **only_names(store.words))
    result = reindex(store.open(), E, queries=queries, truth=truth, batch=333, **store.words)
    store.close()
    wanted = {"F, old index": by_numpy(rows, queries, metric), "E, old index": by_numpy(rows, E(queries), metric),
              "E, new index": by_numpy(codes, E(queries), metric)}
    far = max(abs(result.recall[name] - wanted[name]) for name in wanted)
    judge(f"{title}: recall {' '.join(f'{value:.3f}' for value in result.recall.values())}, NumPy "
          f"{' '.join(f'{value:.3f}' for value in wanted.values())}", far <= (1e-9 if store.exact else NEAR))
    judge(f"{title}: {result.rows} codes", result.rows == ROWS and holds(store.read(result), codes))
    again = reindex(store.open(), E, queries=queries[:50], truth=truth[:50], **store.words)
    store.close()
    judge(f"{title}: the second call changes nothing", again.rows == 0 and holds(store.read(result), codes))
    restore(store.open(), **only_names(store.words))
    store.close()
    judge(f"{title}: restored", holds(store.read(), rows))


def only_names(words):
    return {name: value for name, value in words.items() if name != "metric"}


def check_faiss(E, R, clean, copies):
    """Every kind in memory, and a linear adapter in front."""
    import faiss

    rows, queries = unit(clean), unit(copies[:QUERIES, 0])
    wanted = by_numpy(E(rows), E(queries), "ip")
    for kind in ("Flat", "IVF16,Flat", "HNSW16", "SQ8", "IVF16,SQ8", "PQ12x4", "IVF16,PQ12x4", "IDMap,Flat", "IDMap2,HNSW16"):
        for metric in (faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT):
            index = faiss.index_factory(WIDTH, kind, metric)
            index.train(rows)
            if "IVF" in kind:
                index.nprobe = 8
            keys = 7 * np.arange(ROWS) + 3 if "ID" in kind or "IVF" in kind else np.arange(ROWS)
            index.add_with_ids(rows, keys) if keys[0] else index.add(rows)
            made = reindex(index, E, queries=queries, truth=keys[:QUERIES], tolerance=0.01)
            allowed = 1e-9 if kind in ("Flat", "IDMap,Flat") else NEAR if "PQ" not in kind else 0.1
            judge(f"faiss {kind}, {'L2' if metric == faiss.METRIC_L2 else 'IP'}: recall {made.recall['E, new index']:.3f}, NumPy {wanted:.3f}",
                  type(made.index) is type(index) and made.index.ntotal == ROWS == index.ntotal
                  and abs(made.recall["E, new index"] - wanted) <= allowed)
    index = faiss.IndexFlatIP(WIDTH)
    index.add(rows)
    far, found = in_front(index, R).search(copies[:QUERIES, 0].copy(), 10)
    far_numpy = np.sort(R(copies[:QUERIES, 0]) @ rows.T, axis=1)[:, :-11:-1]
    judge(f"faiss, a linear adapter in front: scores differ by {np.abs(far - far_numpy).max():.0e}",
          np.abs(far - far_numpy).max() < 1e-5)


def check_writers(folder, E, clean):
    """PostgreSQL: others insert, update and delete while the column is filled."""
    store, rows = Postgres(folder), unit(clean)
    store.make(rows, "cosine")
    other, state = store.connect(), {"step": 0}
    wanted = {i: row for i, row in enumerate(E(rows))}

    def meanwhile(stage, done, total):
        if state["step"] == 15:  # each new row is a new batch
            return
        state["step"] += 1
        key, row = ROWS + state["step"], unit(clean[:1] + state["step"])
        other.execute("INSERT INTO photos (id, title, embedding) VALUES (%s, 'late', %s)", (key, str(row[0].tolist())))
        other.execute("UPDATE photos SET embedding = %s WHERE id = %s", (str(row[0].tolist()), state["step"]))
        other.execute("UPDATE photos SET title = 'new' WHERE id = 0")
        wanted[key] = wanted[state["step"]] = E(row)[0]

    reindex(store.open(), E, batch=100, progress=meanwhile, **store.words)
    store.close()
    found = store.read()
    judge(f"postgres: {state['step']} rows added and {state['step']} changed meanwhile",
          found.keys() == wanted.keys() and max(np.abs(found[key] - wanted[key]).max() for key in wanted) <= 1e-6)
    other.execute("INSERT INTO photos (id, embedding) VALUES (-1, %s)", (str(wanted[0].tolist()),))
    try:
        restore(store.open(), **store.words)
        judge("postgres: restore after new rows", False)
    except invar.MismatchError as error:
        judge(f"postgres: {error}", "no old vector: 1;" in str(error))
    store.close()
    other.close()


# ---- Kills ------------------------------------------------------------------------------------------------------


def child(name, folder, uri):
    """Re-indexes slowly enough to be killed in the middle; says when it has begun and when it has ended."""
    if uri:
        Postgres.server = type("Server", (), {"get_uri": lambda _: uri})()
    store = STORES[name](folder)
    if name == "npy":
        store.words = {"metric": "ip"}
    print("begun", flush=True)
    result = reindex(store.open(), invar.Adapter(os.path.join(folder, "adapter.safetensors"), threads=1), batch=50,
                     queries=np.load(os.path.join(folder, "queries.npy")), truth=range(50), checkpoint_seconds=0,
                     progress=lambda *_: time.sleep(0.01), **store.words)
    store.close()
    print("ended", result.name, flush=True)


def start(name, folder):
    uri = Postgres.server.get_uri() if Postgres.server else ""
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), PROGRAM, "--child", name, folder, uri],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


def check_kills(name, folder, E, clean, rng):
    store, rows = STORES[name](folder), unit(clean)
    codes = E(rows)
    store.make(rows, "ip")
    began = time.monotonic()
    process = start(name, folder)
    first = time.monotonic()
    judge(f"{name}: ended without a kill", process.communicate()[0].startswith("ended") and process.returncode == 0)
    whole = time.monotonic() - first
    restore(store.open(), **only_names(store.words))
    store.close()
    kills = rounds = mixed = 0
    while kills < KILLS or process.returncode:
        process = start(name, folder)
        try:
            process.wait(rng.uniform(0, 0.7 * whole) if kills < KILLS else 60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += 1
        ended = process.communicate()[0].split()
        found = store.read()
        whole_old, whole_new = holds(found, rows), name != "qdrant" and holds(found, codes)
        mixed += not whole_old and not whole_new
        if process.returncode == 0:
            result = type("Result", (), {"name": ended[1]})
            judge(f"{name}: complete after {kills} kills", holds(store.read(result), codes))
            rounds += 1
            restore(store.open(), **only_names(store.words))
            store.close()
            mixed += not holds(store.read(), rows)
        elif process.returncode != -signal.SIGKILL:
            judge(f"{name}: exit code {process.returncode} after {kills} kills", False)
            return
    judge(f"{name}: {kills} kills in {rounds} rounds, {mixed} times neither all old nor all new, "
          f"{time.monotonic() - began:.0f} s", not mixed)


def main():
    if "--child" in sys.argv:
        child(*sys.argv[3:6])
        return
    names = sys.argv[2:] or list(STORES)
    clean, copies = features()
    options = {"trial": False, "threads": 1, "hidden": 64}
    E = invar.fit(clean, copies, preset="instant", unit=True, **options)
    R = invar.fit(clean, copies, loss="none", init="ridge", unit=True, **options)
    plain = invar.fit(clean, copies, preset="instant", **options)
    flat = np.zeros((8, WIDTH), "f4")
    bad = {one: invar.Adapter.from_weights(flat, flat[:, 0], flat.T, clean[0], unit=one) for one in (True, False)}
    # In memory: Qdrant's local mode waits for the disk once per point, and SIGKILL loses nothing there either.
    folder = tempfile.mkdtemp(prefix="invar-search-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    try:
        E.save(os.path.join(folder, "adapter.safetensors"))
        np.save(os.path.join(folder, "queries.npy"), unit(copies[:50, 0]))
        cases = [("npy", Npy, metric) for metric in ("l2", "cosine", "ip")] + [
            ("faiss", lambda f: FaissFile(f, "Flat"), "l2"), ("faiss", FaissFile, "ip"),
            ("faiss", lambda f: FaissFile(f, "HNSW16"), "l2"),
            ("postgres", lambda f: Postgres(f, None), "l2"), ("postgres", lambda f: Postgres(f, None), "cosine"),
            ("postgres", Postgres, "ip"), ("postgres", lambda f: Postgres(f, "ivfflat"), "l2"),
            ("qdrant", Qdrant, "l2"), ("qdrant", Qdrant, "cosine"), ("qdrant", Qdrant, "ip"),
            ("lance", lambda f: Lance(f, False), "l2"), ("lance", lambda f: Lance(f, False), "cosine"), ("lance", Lance, "ip")]
        for name, make, metric in cases:
            if name in names:
                adapter = plain if metric == "l2" else E
                check_store(f"{name}, {metric}", make(folder), metric, adapter, bad[adapter.unit], clean, copies)
        if "faiss" in names:
            check_faiss(E, R, clean, copies)
        if "postgres" in names:
            check_writers(folder, E, clean)
        for name in names:
            check_kills(name, folder, E, clean, random.Random(seed))
    finally:
        if Postgres.server:
            Postgres.server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
    print("FAILED: " + ", ".join(failed) if failed else "search: fine")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
