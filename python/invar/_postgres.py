# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL with pgvector: a new column, filled in batches, each a transaction; the columns exchange their names in one.

During the change a trigger empties the code of a row whose vector changes, so that it is computed again; rows that are added have
none yet. Rows that came in since the last batch are filled by the exchange itself, under its lock. Indexes of the column are
built for the new one as well, without a lock, and exchange their names, too.
"""
import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus
from psycopg.sql import SQL, Identifier

from ._library import MismatchError, UseError

OPERATORS = {"l2": "<->", "cosine": "<=>", "ip": "<#>"}
HALVES = {"vector": ">f4", "halfvec": ">f2"}


class Rows(bytes):
    """A vector as pgvector sends and receives it: two 16-bit numbers, width and 0, and the values."""


class Postgres:
    done, batch = 0, 4096

    def __init__(self, connection, table, column, key):
        if not isinstance(connection, psycopg.Connection):
            raise UseError("the connection must be a psycopg.Connection; an asynchronous one cannot be used")
        if table is None or column is None:
            raise UseError("PostgreSQL needs table= and column=, the name of the table and of its column of vectors")
        if connection.info.transaction_status != TransactionStatus.IDLE:
            raise UseError("the connection is in a transaction; commit it first")
        self.db, self.column, self.autocommit = connection, column, connection.autocommit
        connection.autocommit = True  # each step below is a transaction of its own
        try:
            self.look(table, column, key)
        except BaseException:
            self.close()
            raise

    def look(self, table, column, key):
        self.words = {"t": Identifier(*table.split(".")), "key": Identifier(key), "column": Identifier(column)}
        self.oid, self.table, self.schema = self.ask(
            "SELECT c.oid, c.relname, nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = "
            "%s::text::regclass", (self.words["t"].as_string(),))[0]
        self.columns = {row[0]: row[1:] for row in self.ask(
            "SELECT attname, attnum, typname, atttypmod, attnotnull, format_type(atttypid, NULL), typ.oid FROM pg_attribute "
            "JOIN pg_type typ ON typ.oid = atttypid WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped", (self.oid,))}
        for name in (column, key):
            if name not in self.columns:
                raise UseError(f"the table {table} has no column {name}; it has {', '.join(self.columns)}")
        self.number, self.type, self.width, self.not_null, *_, type_oid = self.columns[column]
        if self.type not in HALVES or self.width < 1:
            raise UseError(f"the column {column} of {table} must be a vector(n) or halfvec(n), not {self.type}")
        self.format = HALVES[self.type]
        dumper = type("VectorDumper", (Dumper,), {"oid": type_oid, "format": Format.BINARY, "dump": lambda _, row: bytes(row)})
        self.db.adapters.register_dumper(Rows, dumper)
        self.count = self.ask("SELECT count({column}) FROM {t}")[0][0]
        classes = [row[2] for row in self.indexes(self.number)]
        self.metric = next((name for name in OPERATORS for one in classes if f"_{name}_" in one), None)

    # ---- SQL ----

    def run(self, text, values=(), **words):
        return self.db.execute(SQL(text).format(**{**self.words, **words}), values, binary=True)

    def ask(self, text, values=(), **words):
        return self.run(text, values, **words).fetchall()

    def indexes(self, number):
        """(name, method, operator class, options, predicate, valid) of the indexes of one column."""
        return self.ask(
            "SELECT c.relname, am.amname, op.opcname, c.reloptions, pg_get_expr(i.indpred, i.indrelid), i.indisvalid "
            "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam "
            "JOIN pg_opclass op ON op.oid = i.indclass[0] WHERE i.indrelid = %s AND i.indkey::text = %s ORDER BY c.relname",
            (self.oid, str(number)))

    def pack(self, row):
        values = np.asarray(row, self.format)
        return Rows(np.array([len(values), 0], ">i2").tobytes() + values.tobytes())

    def unpack(self, rows):
        return np.stack([np.frombuffer(row, self.format, offset=4) for row in rows]).astype(np.float32) if rows else \
            np.empty((0, self.width), np.float32)

    # ---- The steps of reindex ----

    def find(self, mark):
        mine = [name for name in self.columns if name.startswith((f"{self.column}_new_", f"{self.column}_old_"))]
        self.new, self.old = f"{self.column}_new_{mark}", f"{self.column}_old_{mark}"
        self.name = self.new
        self.words.update(new=Identifier(self.new), old=Identifier(self.old), trigger=Identifier(f"{self.column}_invar_{mark}"))
        if self.old in mine:
            self.name = self.column
            return True
        for name in mine:
            if name != self.new:
                raise UseError(f"the column {self.column} of {self.table} was given to another adapter: there is a column {name}; "
                               "restore it first, or drop that column if the change is final")
        return False

    def begin(self, width):
        if self.new not in self.columns:
            with self.db.transaction():
                self.run(f"ALTER TABLE {{t}} ADD COLUMN {{new}} {self.type}({int(width)})")
                self.run("CREATE OR REPLACE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS "
                         "$$ BEGIN NEW.{new} := NULL; RETURN NEW; END $$")
                self.run("CREATE TRIGGER {trigger} BEFORE UPDATE OF {column} ON {t} FOR EACH ROW "
                         "WHEN (OLD.{column} IS DISTINCT FROM NEW.{column}) EXECUTE FUNCTION {trigger}()")
        self.done = self.ask("SELECT count({new}) FROM {t}")[0][0]

    def sample(self, most):
        found = self.ask("SELECT {column}, {key} FROM {t} WHERE {column} IS NOT NULL ORDER BY md5({key}::text) LIMIT %s", (most,))
        return self.unpack([row for row, _ in found]), [key for _, key in found]

    def batches(self):
        after = ()
        while True:
            found = self.ask("SELECT {column}, {key} FROM {t} WHERE {new} IS NULL AND {column} IS NOT NULL "
                             + ("AND {key} > %s " if after else "") + "ORDER BY {key} LIMIT %s", (*after, self.batch))
            if not found:
                return
            yield found, self.unpack([row for row, _ in found])
            after = (found[-1][1],)

    def write(self, found, codes):
        """A row whose vector has changed since it was read stays without a code, until the exchange at the latest."""
        with self.db.transaction(), self.db.cursor() as cursor:
            cursor.executemany(SQL("UPDATE {t} SET {new} = %s WHERE {key} = %s AND {column} = %s").format(**self.words),
                               [(self.pack(code), key, Rows(row)) for code, (row, key) in zip(codes, found)])

    def close(self):
        if not self.db.closed:
            self.db.autocommit = self.autocommit

    def names(self):
        """Old and new names of the indexes; names of PostgreSQL have at most 63 bytes."""
        return [(row, f"{row[0][:50]}_{self.new[-8:]}") for row in self.indexes(self.number)]

    def build(self):
        number = self.ask("SELECT attnum FROM pg_attribute WHERE attrelid = %s AND attname = %s", (self.oid, self.new))[0][0]
        made = {row[0]: row[5] for row in self.indexes(number)}
        for (_, method, operators, options, predicate, _), name in self.names():
            if made.get(name):
                continue
            if name in made:  # killed while it was built
                self.run("DROP INDEX CONCURRENTLY {name}", name=Identifier(self.schema, name))
            self.run("CREATE INDEX CONCURRENTLY {name} ON {t} USING {method} ({new} {operators})"
                     + (f" WITH ({', '.join(options)})" if options else "")
                     + (f" WHERE {predicate}".replace("{", "{{").replace("}", "}}") if predicate else ""),
                     name=Identifier(name), method=Identifier(method), operators=Identifier(operators))

    def search(self, queries, k, new):
        text = f"SELECT {{key}} FROM {{t}} WHERE {{c}} IS NOT NULL ORDER BY {{c}} {OPERATORS[self.metric]} %s LIMIT %s"
        column = self.words["new" if new else "column"]
        return [[key for key, in self.ask(text, (self.pack(query), k), c=column)] for query in queries]

    def exchange(self):
        with self.db.transaction():
            self.run("LOCK TABLE {t} IN ACCESS EXCLUSIVE MODE")
            for found, rows in self.batches():
                self.write(found, self.encode(rows))
            self.run("DROP TRIGGER {trigger} ON {t}")
            self.run("DROP FUNCTION {trigger}()")
            names = self.names()
            self.run("ALTER TABLE {t} RENAME COLUMN {column} TO {old}")
            self.run("ALTER TABLE {t} RENAME COLUMN {new} TO {column}")
            if self.not_null:
                self.run("ALTER TABLE {t} ALTER COLUMN {column} SET NOT NULL, ALTER COLUMN {old} DROP NOT NULL")
            for (name, *_), made in names:
                self.rename_index(name, f"{made}_old")
                self.rename_index(made, name)
        self.name = self.column

    def rename_index(self, name, to):
        self.run("ALTER INDEX {name} RENAME TO {to}", name=Identifier(self.schema, name), to=Identifier(to))

    def restore(self):
        mine = [name for name in self.columns if name.startswith((f"{self.column}_new_", f"{self.column}_old_"))]
        if not mine:
            raise UseError(f"there are no old vectors of {self.column}: {self.table} has no column {self.column}_old_*")
        words = {"kept": Identifier(mine[0]), "trigger": Identifier(f"{self.column}_invar_{mine[0][-8:]}")}
        if mine[0].startswith(f"{self.column}_new_"):
            with self.db.transaction():
                self.run("DROP TRIGGER {trigger} ON {t}", **words)
                self.run("DROP FUNCTION {trigger}()", **words)
                self.run("ALTER TABLE {t} DROP COLUMN {kept}", **words)
            return
        with self.db.transaction():
            self.run("LOCK TABLE {t} IN ACCESS EXCLUSIVE MODE")
            only_new = self.ask("SELECT count(*) FROM {t} WHERE {column} IS NOT NULL AND {kept} IS NULL", **words)[0][0]
            if only_new:
                raise MismatchError(f"rows of {self.table} that were added after the exchange and have no old vector: {only_new}; "
                                    f"write their features to {mine[0]} first")
            names = [row[0] for row in self.indexes(self.number)]
            self.run("ALTER TABLE {t} DROP COLUMN {column}")
            self.run("ALTER TABLE {t} RENAME COLUMN {kept} TO {column}", **words)
            if self.not_null:
                self.run("ALTER TABLE {t} ALTER COLUMN {column} SET NOT NULL")
            for name in names:
                self.rename_index(f"{name[:50]}_{mine[0][-8:]}_old", name)

    def result(self):
        return self.db
