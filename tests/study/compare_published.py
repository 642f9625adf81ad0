#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_published.py SOURCE - recipes/paper/compare.py, and files that are no published figures.

That the file has every number of the paper is published.py; here figures that were read in the
paper by eye stand for the names under which they are found. tests/study/paper.py compares the
tables of a study.
"""
import copy
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

folder = os.path.join(sys.argv.pop(1), "recipes/paper")
program = os.path.join(folder, "compare.py")
spec = importlib.util.spec_from_file_location("compare", program)
compare = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(compare)

SMALL = {"format": "invar-published", "version": 1, "paper": "P", "digits": 2, "datasets": {"a": "A"},
         "encoders": {"e": "E"}, "augmentations": {"r": "R"}, "columns": {"F": "F", "m": "M"},
         "metrics": {"x": {"unit": "percent"}},
         "tables": [{"label": "t", "number": 1, "dataset": "a", "encoder": "e",
                     "rows": [{"augment": "r", "column": "m", "values": {"x": 1}}]}]}


class Paper(unittest.TestCase):
    published = compare.load(os.path.join(folder, "published.json"))

    def test_figures_are_found_by_the_names_of_recipes(self):
        for *key, value, width in (
                ("stl10", "dino_vits8", "rotation", "mawa", "lc.augmented", 0.9466, 384),
                ("STL10", "DINO", "Rotation", "MaWa", "lc.augmented", 0.9466, 384),
                ("stl10", "DINO", "crop", "HSIC", "nc.clean", 0.9656, 384),
                ("stl10", "DINO", "noise", "F", "ec.augmented", 0.5822, 0),
                ("stl10", "DINO", "noise", "SimCLR", "structure.b", -223.70, 384),
                ("stl10", "DINO", "rotation", "WaCo reduced", "structure.R2", 0.66, 96),
                ("stl10", "DINO", "rotation", "waco", "structure.R2", 0.55, 384),
                ("stl10", "SwAV", "rotation", "waco-reduced", "structure.L2", 1.43, 512),
                ("stl10", "R-DINO", "noise", "F", "collision.aligned", 0.106, 0),
                ("stl10", "ResNet50", "noise", "F", "collision.raw", 0.773, 0),
                ("stl10", "clip_vitb16", "rotation", "mawa", "lc.augmented", 0.9482, 512),
                ("tiny-imagenet", "DINO", "rotation", "F", "ec.augmented", 0.2723, 0),
                ("TinyImageNet-50", "DINO", "rotation", "mawa", "lc.augmented", 0.8359, 384),
                ("tiny-imagenet-50", "DINO", "noise", "F", "collision.raw", 0.40, 0)):
            found = self.published.find(*key)
            self.assertIsNotNone(found, key)
            self.assertAlmostEqual(found[0], value, places=12, msg=key)
            self.assertEqual(found[1], width, key)

    def test_what_was_not_published_is_not_found(self):
        for key in (("stl10", "resnet18", "rotation", "mawa", "lc.clean"),
                    ("stl10", "CLIP", "rotation", "simclr", "lc.clean"),
                    ("tiny-imagenet", "DINO", "rotation", "waco-reduced", "lc.clean"),
                    ("stl10", "DINO", "rotation", "mawa", "kept.clean"),
                    ("stl10", "DINO", "rotation", "F", "lc.clean"),
                    ("mnist", "DINO", "rotation", "mawa", "lc.clean"),
                    ("stl10", "DINO", "rotation", "", "lc.clean")):
            self.assertIsNone(self.published.find(*key), key)

    def test_every_figure_is_there_once(self):
        # Per encoder on STL-10 and augmentation 2 of EC, 2 of collision; per adapter 12: 3
        # adapters for all, 5 for DINO and SwAV, 2 on Tiny ImageNet.
        self.assertEqual(len(self.published.figures), 4 * (7 * 4 + 12 * (3 * 3 + 2 * 5 + 2 * 2)))


class Files(unittest.TestCase):
    def refuse(self, message, change):
        document = copy.deepcopy(SMALL)
        change(document)
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "published.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
            with self.assertRaisesRegex(ValueError, message):
                compare.load(path)

    def test_other_files_are_refused_with_the_reason(self):
        row = SMALL["tables"][0]["rows"][0]
        self.refuse("invar-published", lambda d: d.update(format="invar-results"))
        self.refuse('"version" 1', lambda d: d.update(version=2))
        self.refuse("'metrics'", lambda d: d.pop("metrics"))
        self.refuse("percent or number", lambda d: d["metrics"]["x"].update(unit="feet"))
        self.refuse("'G' is not one of the columns", lambda d: d["metrics"]["x"].update(column="G"))
        self.refuse("'b' is not one of the datasets", lambda d: d["tables"][0].update(dataset="b"))
        self.refuse("'n' is not one of the columns", lambda d: d["tables"][0]["rows"][0].update(column="n"))
        self.refuse("'y' is not one of the metrics", lambda d: d["tables"][0]["rows"][0].update(values={"y": 1}))
        self.refuse("no.*figures|published figures", lambda d: d["tables"][0]["rows"][0].update(values={"x": "1"}))
        self.refuse("published figures", lambda d: d.update(tables=3))
        self.refuse("disagree on a, e, r, m, x", lambda d: d["tables"][0]["rows"].append({**row, "values": {"x": 2}}))
        self.refuse("disagree", lambda d: d["tables"][0]["rows"].__setitem__(
            slice(None), [{**row, "width": 4}, {**row, "width": 5}]))
        self.refuse("b has the name of another of the datasets", lambda d: d["datasets"].update(b="a"))

    def test_a_key_twice_is_refused(self):
        with self.assertRaisesRegex(ValueError, "twice"):
            json.loads('{"a": 1, "a": 2}', object_pairs_hook=compare.once)

    def test_results_of_eval_need_a_title(self):
        results = {"format": "invar-results", "columns": [{"id": "F", "title": "F"}, {"id": "1", "title": "MaWa"}],
                   "metrics": [{"id": "lc.augmented"}, {"id": "kept.clean"}],
                   "values": {"lc.augmented": {"F": {"value": 0.5}, "1": {"value": 0.90128}}}}
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "results.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(results, file)
            titled = subprocess.run([sys.executable, program, path, "-t", "stl10, DINO, rotation"],
                                    capture_output=True, text=True, check=False)
            bare = subprocess.run([sys.executable, program, path], capture_output=True, text=True, check=False)
        self.assertEqual(titled.stdout.splitlines()[2:], ["| | F | MaWa | published |", "|---|---:|---:|---:|",
                                                          "| lc.augmented | 50.00 | 90.13 | 94.66 |"])
        self.assertEqual((bare.returncode, bare.stdout), (1, ""))
        self.assertIn("no figures of ''", bare.stderr)


unittest.main()
