# SPDX-License-Identifier: Apache-2.0
"""Qdrant: codes become a new named vector of each point. Names cannot be exchanged there: searches name the new vector."""
import numpy as np
from qdrant_client import models

from ._library import UseError

METRICS = {models.Distance.COSINE: "cosine", models.Distance.DOT: "ip", models.Distance.EUCLID: "l2"}


class Qdrant:
    done, batch = 0, 1024

    def __init__(self, client, table, column):
        if table is None:
            raise UseError("Qdrant needs table=, the name of the collection")
        if not hasattr(client, "create_vector_name"):
            raise UseError("this qdrant-client cannot add a named vector to a collection; install a newer one")
        if not client.collection_exists(table):
            raise UseError(f"there is no collection {table}")
        vectors = client.get_collection(table).config.params.vectors
        self.vectors = vectors if isinstance(vectors, dict) else {"": vectors}
        self.client, self.table, self.column = client, table, column or ""
        if self.column not in self.vectors:
            raise UseError(f"the collection {table} has no vector {column!r}; column= is one of {', '.join(self.vectors)}")
        config = self.vectors[self.column]
        if config.distance not in METRICS or config.multivector_config is not None:
            raise UseError(f"the vector {column!r} of {table} is compared by {config.distance.value}, which E does not know")
        self.config, self.width, self.metric = config, config.size, METRICS[config.distance]
        self.count = client.count(table).count

    def find(self, mark):
        self.name = f"{self.column or 'vector'}_{mark}"
        self.missing = models.Filter(must_not=[models.HasVectorCondition(has_vector=self.name)],
                                     must=[models.HasVectorCondition(has_vector=self.column)])
        return False

    def begin(self, width):
        if self.name not in self.vectors:
            same = {name: getattr(self.config, name, None) for name in models.DenseVectorConfig.model_fields}
            self.client.create_vector_name(self.table, self.name, models.DenseVectorNameConfig(
                dense=models.DenseVectorConfig(**{**same, "size": width})))
        self.done = self.count - self.client.count(self.table, self.missing).count

    def scroll(self, batch, offset, where=None):
        return self.client.scroll(self.table, where, limit=batch, offset=offset, with_payload=False, with_vectors=[self.column])

    def unpack(self, points):
        rows = [point.vector[self.column] if isinstance(point.vector, dict) else point.vector for point in points]
        return np.asarray(rows, np.float32).reshape(len(rows), self.width), [point.id for point in points]

    def sample(self, most):
        return self.unpack(self.scroll(most, None)[0])

    def batches(self):
        while True:  # until nothing that came in meanwhile is left
            offset, seen = None, 0
            while True:
                points, offset = self.scroll(self.batch, offset, self.missing)
                if points:
                    rows, keys = self.unpack(points)
                    seen += len(keys)
                    yield keys, rows
                if offset is None:
                    break
            if not seen:
                return

    def write(self, keys, codes):
        self.client.update_vectors(self.table, [models.PointVectors(id=key, vector={self.name: code.tolist()})
                                                for key, code in zip(keys, codes)])

    def close(self):
        pass

    def build(self):
        pass  # Qdrant does

    def search(self, queries, k, new):
        using = self.name if new else self.column or None
        asked = [models.QueryRequest(query=query.tolist(), using=using, limit=k, with_payload=False) for query in queries]
        return [[point.id for point in found.points] for first in range(0, len(asked), 100)
                for found in self.client.query_batch_points(self.table, asked[first:first + 100])]

    def exchange(self):
        pass

    def restore(self):
        made = [name for name in self.vectors if name[:-8] == f"{self.column or 'vector'}_"]
        if not made:
            raise UseError(f"the collection {self.table} has no vector {self.column or 'vector'}_*: nothing was re-indexed")
        for name in made:
            self.client.delete_vector_name(self.table, name)

    def result(self):
        return self.client
