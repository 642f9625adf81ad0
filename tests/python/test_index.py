# SPDX-License-Identifier: Apache-2.0
"""Re-indexing of arrays and .npy files: codes, recall, refusal, the way back, kills. ./dev parity search has the databases."""
import glob
import os
import random
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

import invar
from invar.index import reindex, restore
from made import InFolder, features

SLOW = """
import sys, time, invar
print("begun", flush=True)
invar.index.reindex("rows.npy", invar.Adapter("adapter.safetensors", threads=1), batch=20, progress=lambda *_: time.sleep(0.005))
"""


class Index(InFolder):
    def setUp(self):
        super().setUp()
        self.clean, self.copies, _ = features(rows=1000)
        self.queries, self.truth = self.copies[:100, 0], np.arange(100)
        self.E = invar.fit(self.clean, self.copies, preset="instant", hidden=32, trial=False)
        self.unit = invar.fit(self.clean, self.copies, preset="instant", hidden=32, trial=False, unit=True)
        zeros = np.zeros((4, 16), "f4")
        self.bad = invar.Adapter.from_weights(zeros, zeros[:, 0], zeros.T, self.clean[0])
        np.save("rows.npy", self.clean)

    def recall(self, stored, queries, k=10):
        found, _ = invar.neighbours(stored, queries, k)
        return (found == self.truth[:, None]).any(1).mean()

    def test_an_array(self):
        made = reindex(self.clean, self.E, queries=self.queries, truth=self.truth, batch=333)
        self.assertTrue((made.index == self.E(self.clean)).all())
        self.assertEqual(made.rows, 1000)
        for name, stored, queries in (("F, old index", self.clean, self.queries),
                                      ("E, old index", self.clean, self.E(self.queries)),
                                      ("E, new index", self.E(self.clean), self.E(self.queries))):
            self.assertAlmostEqual(made.recall[name], self.recall(stored, queries))
        self.assertGreater(made.recall["E, new index"], made.recall["F, old index"])

    def test_metrics_and_unit_rows(self):
        norms = np.linalg.norm(self.clean, axis=1, keepdims=True)
        rows = self.clean / norms
        for metric in ("cosine", "ip", "l2"):
            made = reindex(rows, self.unit, metric=metric, queries=self.queries, truth=self.truth, tolerance=1)
            self.assertAlmostEqual(made.recall["E, new index"], self.recall(self.unit(rows), self.unit(self.queries)))
            self.assertTrue(np.allclose(made.index, self.unit(self.clean), atol=1e-6))
        with self.assertRaisesRegex(invar.MismatchError, "norm"):
            reindex(rows, self.E)
        plain = invar.fit(rows, self.copies / np.linalg.norm(self.copies, axis=2, keepdims=True), preset="instant", hidden=32,
                          trial=False, unit=False)
        with self.assertRaisesRegex(invar.MismatchError, "unit=True"):
            reindex(rows, plain, metric="ip")

    def test_a_file_there_and_back(self):
        made = reindex("rows.npy", self.E, queries=self.queries, truth=self.truth)
        self.assertEqual((made.index, made.rows, made.exchanged), ("rows.npy", 1000, True))
        self.assertTrue((np.load("rows.npy") == self.E(self.clean)).all())
        again = reindex("rows.npy", self.E)
        self.assertEqual((again.rows, again.exchanged), (0, True))
        self.assertTrue((np.load("rows.npy") == self.E(self.clean)).all())
        with self.assertRaisesRegex(invar.UseError, "another adapter"):
            reindex("rows.npy", self.bad)
        restore("rows.npy")
        self.assertTrue((np.load("rows.npy") == self.clean).all())
        self.assertEqual(glob.glob("rows.npy.*"), [])
        with self.assertRaisesRegex(invar.UseError, "no old vectors"):
            restore("rows.npy")

    def test_measured_first_and_exchanged_later(self):
        self.assertFalse(reindex("rows.npy", self.E, exchange=False).exchanged)
        self.assertTrue((np.load("rows.npy") == self.clean).all())
        self.assertEqual(reindex("rows.npy", self.E).rows, 0)
        self.assertTrue((np.load("rows.npy") == self.E(self.clean)).all())

    def test_a_file_that_was_written_again_is_not_taken_for_codes(self):
        reindex("rows.npy", self.E)
        np.save("rows.npy", self.clean + 1)
        with self.assertRaisesRegex(invar.UseError, "written again"):
            reindex("rows.npy", self.E)
        os.remove(glob.glob("rows.npy.*.old")[0])
        reindex("rows.npy", self.E, tolerance=1)
        self.assertTrue((np.load("rows.npy") == self.E(self.clean + 1)).all())

    def test_killed_between_the_two_steps_of_the_exchange(self):
        self.assertFalse(reindex("rows.npy", self.E, exchange=False).exchanged)
        mark = glob.glob("rows.npy.*.part")[0].split(".")[2].split("-")[0]
        os.link("rows.npy", f"rows.npy.{mark}-01234567.old")
        self.assertTrue(reindex("rows.npy", self.E).exchanged)
        self.assertTrue((np.load("rows.npy") == self.E(self.clean)).all())
        self.assertEqual(len(glob.glob("rows.npy.*")), 1)
        restore("rows.npy")
        os.link("rows.npy", f"rows.npy.{mark}-01234567.old")
        restore("rows.npy")
        self.assertTrue((np.load("rows.npy") == self.clean).all())
        self.assertEqual(glob.glob("rows.npy.*"), [])

    def test_half_precision_and_narrower_codes(self):
        np.save("half.npy", self.clean.astype(np.float16))
        reindex("half.npy", self.E, tolerance=1)
        found = np.load("half.npy")
        self.assertEqual(found.dtype, np.float16)
        self.assertTrue((found == self.E(self.clean.astype(np.float16)).astype(np.float16)).all())
        rng = np.random.default_rng(0)
        narrow = invar.Adapter.from_weights(rng.normal(size=(32, 16)), np.zeros(32), rng.normal(size=(8, 32)), np.zeros(8))
        made = reindex(self.clean, narrow, tolerance=1)
        self.assertEqual(made.index.shape, (1000, 8))
        self.assertNotIn("E, old index", made.recall)

    def test_recall_that_falls_changes_nothing(self):
        with self.assertRaisesRegex(invar.MismatchError, r"recall@10 of 100 queries falls from .* nothing was exchanged"):
            reindex("rows.npy", self.bad, queries=self.queries, truth=self.truth)
        self.assertTrue((np.load("rows.npy") == self.clean).all())
        with self.assertRaisesRegex(invar.MismatchError, "of 1000 queries falls"):
            reindex("rows.npy", self.bad)
        reindex("rows.npy", self.E)
        self.assertTrue((np.load("rows.npy") == self.E(self.clean)).all())

    def test_a_progress_function_stops_it(self):
        with self.assertRaises(invar.Cancelled):
            reindex("rows.npy", self.E, batch=100, progress=lambda stage, done, total: done >= 300)
        seen = []
        made = reindex("rows.npy", self.E, batch=100, progress=lambda *step: seen.append(step) and None)
        self.assertEqual((made.rows, seen[0], seen[-1]), (700, ("re-index", 400, 1000), ("re-index", 1000, 1000)))
        self.assertTrue((np.load("rows.npy") == self.E(self.clean)).all())

    def test_killed_at_any_time(self):
        self.E.save("adapter.safetensors")
        rng, kills, code = random.Random(time.time_ns()), 0, 1
        while code:
            process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE)
            process.stdout.readline()
            try:
                code = process.wait(rng.uniform(0, 0.15) if kills < 5 else 60)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                code = process.wait()
                kills += 1
            process.stdout.close()
            self.assertIn(code, (0, -signal.SIGKILL))
            found = np.load("rows.npy")
            self.assertTrue((found == self.clean).all() or (found == self.E(self.clean)).all())
        self.assertTrue((np.load("rows.npy") == self.E(self.clean)).all())
        restore("rows.npy")
        self.assertTrue((np.load("rows.npy") == self.clean).all())

    def test_misuse_is_one_sentence(self):
        for words, kind, text in (
                (dict(index=3), invar.UseError, "int is not an index"), (dict(metric="l1"), invar.UseError, "l2, cosine, ip"),
                (dict(index=self.clean[:, :8]), invar.MismatchError, "width 8"),
                (dict(queries=self.queries), invar.UseError, "truth"),
                (dict(queries=self.queries, truth=[1, 2]), invar.MismatchError, "2 keys"),
                (dict(k=0), invar.UseError, "k is 0"), (dict(batch=0), invar.UseError, "batch is 0"),
                (dict(table="photos"), invar.UseError, "databases"), (dict(index=self.clean[:0]), invar.UseError, "no stored"),
                (dict(index=self.clean[0]), invar.UseError, r"\[n, d\]")):
            with self.assertRaisesRegex(kind, text) as caught:
                reindex(**{"index": self.clean, "E": self.E, **words})
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(invar.UseError, "not changed"):
            restore(self.clean)


if __name__ == "__main__":
    unittest.main()
