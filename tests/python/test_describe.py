# SPDX-License-Identifier: Apache-2.0
"""Options come from the tables: in the stub, in docstrings and signatures, and as keywords."""
import inspect
import os
import pydoc
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import invar
from invar._options import Options


class Describe(unittest.TestCase):
    def test_the_stub_is_fresh(self):
        for name, words in (("__init__.pyi", []), ("index.pyi", ["index"])):
            command = ["-m", "invar._stub", *words]
            made = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True).stdout
            compile(made, name, "exec")
            with open(os.path.join(os.environ["INVAR_SOURCE"], "python/invar", name), encoding="utf-8") as file:
                self.assertEqual(file.read(), made, f"run: python3 {' '.join(command)} > python/invar/{name}")

    def test_every_option_is_a_keyword_with_help(self):
        for function, command in ((invar.encode, "encode"), (invar.train, "train"), (invar.eval, "eval"),
                                  (invar.tsne, "tsne")):
            parameters = inspect.signature(function).parameters
            for row in invar.options(command):
                self.assertIn(row.keyword, parameters)
                self.assertTrue(row.help)
                if command != "encode":  # some of its own keywords have the name of an option
                    self.assertIn(row.keyword + ":", function.__doc__)

    def test_values_are_spelled_as_the_library_reads_them(self):
        values = Options("train", {"batch_size": 64, "lr": 0.25, "decoder": True, "validation": None, "split": "a",
                                   "weights": __file__}).values()
        self.assertEqual(values["batch-size"], 64)
        self.assertEqual(values["lr"], 0.25)
        self.assertIs(values["decoder"], True)
        self.assertEqual(values["split"], "a")
        self.assertEqual(Options("encode", {"copies": {"train": 3, "test": 2}, "mean": (0.5, 0.25)}).values()["copies"],
                         "train=3,test=2")

    def test_a_keyword_set_to_its_shown_default_changes_nothing(self):
        for name in ("train", "encode", "eval"):
            plain = Options(name).values()
            for row in invar.options(name):
                shown = inspect.signature(getattr(invar, name)).parameters[row.keyword].default
                self.assertEqual(Options(name, {row.keyword: shown}).values(), plain, (row.keyword, shown))

    def test_mistakes_are_exceptions_with_the_nearest_name(self):
        with self.assertRaisesRegex(invar.UseError, "epocs; did you mean epochs"):
            Options("train", {"epocs": 3})
        with self.assertRaisesRegex(ValueError, "epochs"):  # a UseError is a ValueError
            Options("train", {"epochs": -1})
        with self.assertRaisesRegex(invar.UseError, "loss"):
            Options("train", {"loss": "nothing"})
        with self.assertRaises(invar.UseError):
            invar.options("no such command")

    def test_help_of_the_module_is_short_and_names_everything(self):
        text = pydoc.plain(pydoc.render_doc(invar))
        self.assertLess(len(text.splitlines()), 120)
        for name in invar._PUBLIC:
            self.assertRegex(invar.__doc__, rf"\b{name}\b")
        order = [text.index(name) for name in (" encode(images", " diagnose(bank", " train(bank", " eval(bank", " Adapter(path)")]
        self.assertEqual(order, sorted(order))

    def test_what_a_prompt_and_a_notebook_show(self):
        clean = np.random.default_rng(0).normal(size=(60, 8)).astype("f4")
        with tempfile.TemporaryDirectory() as folder:
            bank = invar.bank(clean, clean[:, None] + 1, np.arange(60) % 2, name="<F>", augment="shift", path=f"{folder}/bank")
            self.assertEqual(repr(bank), f"Bank('{folder}/bank': <F>, shift, width 8; train 60 × (1 + 1))")
            run = invar.train(bank, f"{folder}/run", preset="instant", trial=False)
            E = f"Adapter('{folder}/run/adapter.safetensors': 8 → 8, hidden {run.adapter.hidden}, residual; instant, <F>, shift)"
            self.assertEqual(repr(run.adapter), E)
            self.assertEqual(repr(run), f"Run('{folder}/run', finished: {E})")
            for one, words in ((bank, ("60 images, 1 copy each, labels", "shift")), (run.adapter, ("instant", "8 → 8")),
                               (run, ("finished", f"{folder}/bank", "instant"))):
                self.assertNotIn("<F>", one._repr_html_())
                for word in ("&lt;F&gt;", *words):
                    self.assertIn(word, one._repr_html_())
        self.assertRegex(repr(invar.fit(clean, clean[:, None] + 1, preset="instant", trial=False)), r"Adapter\(8 → 8, ")

    def test_names_of_the_module(self):
        self.assertTrue(set(invar._PUBLIC) <= set(dir(invar)))
        self.assertIn("train", invar.commands())
        with self.assertRaises(AttributeError):
            invar.nothing


if __name__ == "__main__":
    unittest.main()
