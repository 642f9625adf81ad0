# SPDX-License-Identifier: Apache-2.0
"""Results, and measurements of plain arrays, against NumPy."""
import json
import math
import sys
import types
import unittest

import numpy as np

import invar
from made import WEIGHTS, InFolder, features, program

rng = np.random.default_rng(1)


class ResultsOfABank(InFolder):
    def setUp(self):
        super().setUp()
        clean, copies, labels = features()
        self.bank = invar.bank(clean, copies, labels, path="bank", holdout=0.3)
        self.run = invar.train(self.bank, "run", preset="instant", hidden=32)
        self.results = self.run.eval(self.bank, metrics=["structure", "knn", "collision"])

    def test_values(self):
        r = self.results
        self.assertEqual(r.titles, ["F", "run"])
        self.assertTrue(r.complete)
        self.assertEqual(r["structure.R2", "F"], 1)
        self.assertEqual(r["structure.R2", "run"], r["structure.R2", "1"])
        self.assertLess(r["structure.R2", "run"], 1)
        self.assertIsNone(r.value("structure.R2", "nobody"))
        with self.assertRaisesRegex(KeyError, "no metric"):
            r["R2", "F"]
        with self.assertRaisesRegex(KeyError, "no column"):
            r["structure.R2", "nobody"]

    def test_a_certificate_and_checks_against_it(self):
        """The bytes and the table of the program."""
        with self.assertRaisesRegex(invar.MismatchError, "has no certificate"):
            invar.check(self.run, self.bank)
        program("train", "bank", "-o", "theirs", "--preset", "instant", "--hidden", "32")
        program("eval", "bank", "theirs", "--metrics", "structure,knn,collision", "--certify")
        self.run.eval(self.bank, metrics=["structure", "knn", "collision"], certify=True)
        with open("run/adapter.safetensors", "rb") as a, open("theirs/adapter.safetensors", "rb") as b:
            self.assertEqual(a.read(), b.read())
        found = invar.check(self.run, self.bank)
        self.assertEqual(found.document["verdict"], "fine")
        self.assertEqual(str(found) + "\n", program("check", "run", "bank"))
        np.save("far.npy", 3 + self.bank.clean("test"))
        for new in ("far.npy", np.load("far.npy")):
            self.assertEqual(invar.check("run", new).document["verdict"], "drift")
        with self.assertRaisesRegex(invar.MismatchError, "5 columns"):
            invar.check(self.run, np.zeros((40, 5)))
        with self.assertRaisesRegex(invar.UseError, "only in memory"):
            invar.eval(self.bank, invar.Adapter.from_bytes(self.run.adapter.to_bytes()), certify=True)

    def test_exports_are_those_of_the_program(self):
        for name, words, options in (("a.onnx", [], {}), ("h.onnx", ["--dtype", "float16"], {"dtype": "float16"}),
                                     ("README.md", ["--card", "--license", "mit"], {"format": "card", "license": "mit"})):
            program("export", "run", "-o", "theirs-" + name, *words)
            for adapter in (self.run, self.run.adapter, "run"):
                invar.export(adapter, name, **options)
                with open(name, "rb") as a, open("theirs-" + name, "rb") as b:
                    self.assertEqual(a.read(), b.read())
        with self.assertRaisesRegex(invar.UseError, "image_size|image-size"):
            invar.export(self.run, "b.onnx", image_size=32)
        with self.assertRaisesRegex(invar.MismatchError, "width 16.*width 20|width 20.*width 16"):
            invar.export(self.run, "b.onnx", encoder=WEIGHTS)

    def test_json_is_what_the_program_writes(self):
        theirs = json.loads(program("eval", "bank", "run", "--metrics", "structure,knn,collision", "--json"))
        self.assertEqual(json.loads(self.results.to_json("r.json")), theirs)
        self.assertEqual(str(invar.Results.open("r.json")), str(self.results))

    def test_html(self):
        text = self.results._repr_html_()
        for word in ("<table>", "R²", "20-NN, %", "run"):
            self.assertIn(word, text)
        self.results.document["columns"][1]["title"] = "<script>"
        self.assertNotIn("<script>", self.results._repr_html_())

    def test_a_prompt_shows_the_table(self):
        self.assertEqual(repr(self.results), str(self.results))

    def test_what_is_not_installed_is_named(self):
        hidden = {name: sys.modules.get(name) for name in ("pandas", "torch", "invar._torch")}
        try:
            sys.modules.update({name: None for name in hidden})  # importing it then fails
            with self.assertRaisesRegex(ImportError, "needs pandas"):
                self.results.to_pandas()
            with self.assertRaisesRegex(ImportError, "needs PyTorch"):
                self.run.adapter.torch()
        finally:
            for name, module in hidden.items():
                sys.modules.pop(name) if module is None else sys.modules.update({name: module})

    def test_pandas_if_it_is_there(self):
        frames = []
        pandas = types.ModuleType("pandas")
        pandas.MultiIndex = types.SimpleNamespace(from_tuples=lambda rows, names: rows)
        pandas.DataFrame = lambda data, index: frames.append((data, index)) or frames[-1]
        before = sys.modules.get("pandas")
        sys.modules["pandas"] = pandas
        try:
            data, index = self.results.to_pandas()
            wide, _ = self.results.to_pandas(intervals=True)
        finally:
            sys.modules.pop("pandas") if before is None else sys.modules.update(pandas=before)
        self.assertEqual(list(data), ["F", "run"])
        self.assertEqual(len(index), len(self.results.metrics))
        self.assertEqual(data["F"][self.results.metrics.index("structure.R2")], 1)
        self.assertEqual(list(wide), [(c, p) for c in ("F", "run") for p in ("value", "low", "high")])

    def test_a_new_measurement_needs_no_line_of_python(self):
        document = {"columns": [{"id": "F", "title": "F"}], "measurements": [{"id": "new", "title": "New"}],
                    "metrics": [{"id": "new.x", "measurement": "new", "row": "X", "unit": "share", "digits": 2,
                                 "better": "higher"}],
                    "values": {"new.x": {"F": {"value": 0.5, "low": 0.25, "high": 0.75}}}}
        self.assertEqual(str(invar.Results(document)), "                  F\nX, %          50.00\n  95 %  25.00–75.00")

    def test_numbers_are_spelled_as_in_the_table_of_the_program(self):
        """As spell_number of src/report/results_table.c: fixed digits, or a power of ten."""
        from invar._results import spell_number

        for value, unit, digits, text in ((12.345, "number", 2, "12.35"), (123456, "number", 1, "123456.0"),
                                          (1.5e6, "number", 3, "1.50e+06"), (4e-4, "number", 3, "4.00e-04"),
                                          (0.01, "number", 3, "0.010"), (0, "number", 4, "0.0000"), (-0.5, "number", 0, "-5e-01"),
                                          (0.12345, "share", 1, "12.3"), (7, "count", 3, "7"), (None, "number", 2, "–")):
            self.assertEqual(spell_number({"unit": unit, "digits": digits}, value), text)

    def test_diagnose(self):
        self.assertIn(invar.diagnose(self.bank).document["verdict"], ("keep", "instant", "none"))


class Arrays(unittest.TestCase):
    def test_neighbours(self):
        gallery, queries = rng.normal(size=(50, 7)), rng.normal(size=(9, 7))
        index, distance = invar.neighbours(gallery, queries, 3)
        wanted = np.linalg.norm(queries[:, None].astype("f4") - gallery.astype("f4"), axis=2)
        np.testing.assert_array_equal(index, wanted.argsort(1)[:, :3])
        np.testing.assert_allclose(distance, np.sort(wanted, 1)[:, :3], rtol=1e-5)
        for bad in ((gallery, queries[:, :3]), (gallery, queries, 51), (gallery, queries[0])):
            with self.assertRaises(invar.Error):
                invar.neighbours(*bad)

    def test_structure(self):
        x = rng.normal(size=(40, 5))
        results = invar.structure(x, 2 * x)
        self.assertAlmostEqual(results["structure.m", "E"], 2, places=5)
        self.assertAlmostEqual(results["structure.R2", "E"], 1, places=6)
        with self.assertRaises(invar.MismatchError):
            invar.structure(x, x[1:])

    def test_sliced_wasserstein(self):
        a, b = rng.normal(size=(30, 4)).astype("f4"), rng.normal(size=(30, 4)).astype("f4")
        directions = rng.normal(size=(11, 4)).astype("f4")
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        gap = np.sort(a @ directions.T, 0) - np.sort(b @ directions.T, 0)
        value, gradient = invar.sliced_wasserstein(a, b, directions=directions, gradient=True)
        self.assertAlmostEqual(value, math.sqrt((gap.astype("f8") ** 2).mean()), places=5)
        self.assertEqual(gradient.shape, a.shape)
        self.assertAlmostEqual(invar.sliced_wasserstein(a, a), 0)

    def test_dependence(self):
        x = rng.normal(size=(200, 3))
        results = invar.dependence(x, x, projections=64)
        self.assertGreater(results["correlation", "xz"], 0.9)

    def test_tsne(self):
        x = np.concatenate([rng.normal(size=(60, 5)), 20 + rng.normal(size=(60, 5))])
        points, results = invar.tsne(x, [0] * 60 + [1] * 60, iterations=250)
        self.assertEqual(points.shape, (120, 2))
        self.assertGreater(np.linalg.norm(points[:60].mean(0) - points[60:].mean(0)), points[:60].std(0).max())
        self.assertIn("tsne.kl", results.metrics)
        with self.assertRaisesRegex(invar.UseError, "labels must be below 2.63, and 9223372036854775808 is not"):
            invar.tsne(x, np.full(120, 2**63, np.uint64), iterations=250)

    def test_augment(self):
        x = rng.normal(size=(4, 3, 9, 9)).astype("f4")
        turned, angles = invar.augment(x, "rotation:degrees=90..90")
        np.testing.assert_allclose(turned, np.rot90(x, 1, (2, 3)), atol=1e-4)
        again, _ = invar.augment(x, "rotation:degrees=90..90", params=angles)
        np.testing.assert_array_equal(turned, again)
        one, _ = invar.augment(x, "noise", seed=1)
        self.assertFalse(np.array_equal(one, invar.augment(x, "noise", seed=2)[0]))
        with self.assertRaisesRegex(invar.UseError, "rotaton"):
            invar.augment(x, "rotaton")


if __name__ == "__main__":
    unittest.main()
