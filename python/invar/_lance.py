# SPDX-License-Identifier: Apache-2.0
"""LanceDB: a new column, filled in batches, each a version of the table; the columns exchange their names in one version."""
import lancedb.index
import numpy as np
import pyarrow as pa

from ._library import MismatchError, UseError

METRICS = {"l2": "l2", "cosine": "cosine", "dot": "ip"}
DISTANCES = {ours: theirs for theirs, ours in METRICS.items()}


class Lance:
    done, batch = 0, 65536  # each batch is a version of the table, so few of them

    def __init__(self, table, column, key):
        column = column or "vector"
        table.checkout_latest()
        self.table, self.column, self.key = table, column, key
        for name in (column, key):
            if name not in table.schema.names:
                raise UseError(f"the table {table.name} has no column {name}; it has {', '.join(table.schema.names)}")
        kind = table.schema.field(column).type
        if not pa.types.is_fixed_size_list(kind) or not pa.types.is_floating(kind.value_type):
            raise UseError(f"the column {column} must have vectors of one width, not {kind}")
        self.kind, self.width, self.count = kind, kind.list_size, table.count_rows(f"{column} IS NOT NULL")
        self.indexes = [one for one in table.list_indices() if one.columns == [column]]
        self.metric = METRICS.get(table.index_stats(self.indexes[0].name).distance_type) if self.indexes else None

    def find(self, mark):
        mine = self.mine()
        self.new, self.old = f"{self.column}_new_{mark}", f"{self.column}_old_{mark}"
        self.name = self.new
        if self.old in mine:
            self.exchanged()
            return True
        for name in mine:
            if name != self.new:
                raise UseError(f"the column {self.column} was given to another adapter: there is a column {name}; restore it first, "
                               "or drop that column if the change is final")
        return False

    def begin(self, width):
        if self.new not in self.table.schema.names:
            self.table.add_columns(pa.field(self.new, pa.list_(self.kind.value_type, width)))
        self.done = self.count - self.table.count_rows(self.missing())

    def mine(self):
        return [name for name in self.table.schema.names if name.startswith((f"{self.column}_new_", f"{self.column}_old_"))]

    def missing(self):
        return f"{self.new} IS NULL AND {self.column} IS NOT NULL"

    def read(self, where, most):
        found = self.table.search().where(where).select([self.column, self.key]).limit(most).to_arrow()
        rows = found[self.column].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(rows.reshape(-1, self.width), np.float32), found[self.key]

    def sample(self, most):
        rows, keys = self.read(f"{self.column} IS NOT NULL", most)
        return rows, keys.to_pylist()

    def batches(self):
        while True:
            rows, keys = self.read(self.missing(), self.batch)
            if not len(rows):
                return
            yield keys, rows

    def write(self, keys, codes):
        values = pa.array(codes.ravel(), self.kind.value_type)
        made = pa.table({self.key: keys, self.new: pa.FixedSizeListArray.from_arrays(values, codes.shape[1])})
        self.table.merge_insert(self.key).when_matched_update_all().execute(made)

    def close(self):
        pass

    def build(self):
        for one in self.indexes:
            if not any(other.columns == [self.new] for other in self.table.list_indices()):
                config = getattr(lancedb.index, one.index_type)(distance_type=DISTANCES[self.metric])
                self.table.create_index(self.new, config=config)
        if self.indexes:
            self.table.optimize()  # rows that got codes are new rows, and not yet in the old index

    def search(self, queries, k, new):
        column = self.new if new else self.column
        found = (self.table.search(query, vector_column_name=column).distance_type(DISTANCES[self.metric]) for query in queries)
        return [one.select([self.key, "_distance"]).limit(k).to_arrow()[self.key].to_pylist() for one in found]

    def exchange(self):
        self.table.alter_columns({"path": self.column, "rename": self.old}, {"path": self.new, "rename": self.column})
        self.exchanged()

    def exchanged(self):
        """Rows that were added just before have a vector in the old column only."""
        self.name = self.new = self.column
        self.column = self.old
        for keys, rows in self.batches():
            self.write(keys, self.encode(rows))

    def restore(self):
        mine = self.mine()
        if not mine:
            raise UseError(f"there are no old vectors of {self.column}: {self.table.name} has no column {self.column}_old_*")
        new = f"{self.column}_new_{mine[0][-8:]}"
        if mine[0] != new:
            only_new = self.table.count_rows(f"{self.column} IS NOT NULL AND {mine[0]} IS NULL")
            if only_new:
                raise MismatchError(f"rows that were added after the exchange and have no old vector: {only_new}; write their "
                                    f"features to {mine[0]} first")
            self.table.alter_columns({"path": self.column, "rename": new}, {"path": mine[0], "rename": self.column})
        self.table.drop_columns([new])

    def result(self):
        return self.table
