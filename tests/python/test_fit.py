# SPDX-License-Identifier: Apache-2.0
"""Arrays to an adapter: the bytes of a training through folders, and nothing is written."""
import logging
import os
import pickle
import stat
import subprocess
import sys
import unittest

import numpy as np

import invar
from made import InFolder, features, program


class Fit(InFolder):
    def setUp(self):
        super().setUp()
        self.clean, self.copies, self.labels = features()
        os.makedirs("bank/train")
        np.save("bank/train/clean.npy", self.clean)
        np.save("bank/train/aug.npy", self.copies)

    def assert_bytes(self, E, path):
        with open(path, "rb") as file:
            self.assertEqual(E.to_bytes(), file.read())

    def test_an_adapter_has_the_bytes_of_a_run(self):
        for number, options in enumerate(({"preset": "instant"}, {"preset": "instant", "trial": False, "seed": 3},
                                          {"preset": "keep", "epochs": 2, "hidden": 16, "encoder_name": "mine"},
                                          {"loss": "mawa", "epochs": 2, "hidden": 16, "validation": 0.3, "keep": "best"})):
            words = [f"--{name.replace('_', '-')}" + (f"={value}" if value is not False else "=false")
                     for name, value in options.items()]
            program("train", "bank", "-o", f"run{number}", "-q", *words)
            E = invar.fit(self.clean, self.copies, **options)
            self.assert_bytes(E, f"run{number}/adapter.safetensors")
            np.testing.assert_array_equal(E(self.clean), invar.Adapter(f"run{number}")(self.clean))

    def test_copies_in_any_form(self):
        E = invar.fit(self.clean, self.copies, preset="instant", trial=False)
        for clean, copies in ((self.clean.astype("f8"), [self.copies[:, i] for i in range(3)]),
                              (np.asfortranarray(self.clean), np.asfortranarray(self.copies))):
            self.assertEqual(invar.fit(clean, copies, preset="instant", trial=False).to_bytes(), E.to_bytes())
        self.assertEqual(invar.fit(self.clean, self.copies[:, 0], preset="instant", trial=False).input, 16)

    def test_the_trial_comes_first(self):
        noise = np.random.default_rng(1).permutation(self.copies)
        with self.assertRaisesRegex(invar.MismatchError, "held-out images"):
            invar.fit(self.clean, noise, preset="instant")
        invar.fit(self.clean, noise, preset="instant", even_if_worse=True)
        invar.fit(self.clean, noise, preset="instant", trial=False)

    def test_what_needs_a_folder_is_refused(self):
        for options, word in (({"resume": True}, "resume"), ({"loss": "mawa", "decoder": True}, "decoder"),
                              ({"images": "photos"}, "images"), ({"classes": "list"}, "in a folder"),
                              ({"split": "test"}, "has no split test")):
            with self.subTest(word), self.assertRaisesRegex(invar.Error, word):
                invar.fit(self.clean, self.copies, trial=False, **options)
        with self.assertRaisesRegex(invar.MismatchError, "copy 0 of train"):
            invar.fit(self.clean, self.copies[:-1])
        with self.assertRaisesRegex(invar.NumericError, "aug.npy: row 0, copy 1, column 2 is NaN"):
            broken = self.copies.copy()
            broken[0, 1, 2] = np.nan
            invar.fit(self.clean, broken, trial=False)
        with self.assertLogs("invar", logging.INFO) as said:
            invar.fit(self.clean, self.copies, trial=False, preset="instant", force=True)
        self.assertIn("force is not used", "".join(said.output))

    def test_nothing_is_written(self):
        """In a process whose temporary and current folders cannot be written; root may write anywhere, so both are watched."""
        for name in ("closed", "here"):
            os.mkdir(name)
            os.chmod(name, stat.S_IRUSR | stat.S_IXUSR)
        script = ("import numpy as np, pickle, sys, invar\n"
                  "clean, copies = np.load(sys.argv[1] + '/clean.npy'), np.load(sys.argv[1] + '/aug.npy')\n"
                  "labels = np.arange(len(clean)) % 3\n"
                  "for options in ({'preset': 'instant'}, {'preset': 'keep', 'epochs': 1, 'hidden': 8, 'even_if_worse': True}):\n"
                  "    E = invar.fit(clean, copies, progress=False, **options)\n"
                  "T = invar.InvariantTransformer(preset='instant').fit(clean, copies)\n"
                  "T.transform(clean)\n"
                  "bank = invar.bank(clean, copies, labels, name='mine', augment='mixing', holdout=0.3)\n"
                  "bank.clean(), bank.copy(0), bank.labels(), repr(bank), bank.field('augment')\n"
                  "results = invar.eval(bank, E)\n"
                  "assert results['lc.clean', '1'] > 0\n"
                  "invar.diagnose(bank)\n"
                  "try:\n"
                  "    invar.check(E, clean)\n"
                  "except invar.MismatchError as error:\n"
                  "    assert 'certificate' in str(error)\n")
        place = os.path.abspath("bank/train")
        before = [os.stat(name).st_mtime_ns for name in ("closed", "here")]
        env = {**os.environ, "TMPDIR": os.path.abspath("closed"), "HOME": os.path.abspath("here")}
        done = subprocess.run([sys.executable, "-W", "error::ResourceWarning", "-c", script, place], cwd="here", env=env,
                              capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(before, [os.stat(name).st_mtime_ns for name in ("closed", "here")])  # of a file that went, too
        for name in ("closed", "here"):
            self.assertEqual(os.listdir(name), [])
            os.chmod(name, 0o700)


class InMemory(InFolder):
    def setUp(self):
        super().setUp()
        self.clean, self.copies, self.labels = features()
        self.bank = invar.bank(self.clean, self.copies, self.labels, name="mine", augment="mixing", holdout=0.3)

    def test_a_bank_in_memory_has_no_folder_until_it_is_asked_for(self):
        self.assertIn("in memory", repr(self.bank))
        self.assertIsNone(self.bank._folder)
        with self.assertRaises(ValueError):
            self.bank.clean()[0] = 0
        self.assertIsNone(self.bank._folder)
        whole = invar.bank(self.clean, self.copies)
        self.assertTrue(np.shares_memory(whole.clean(), self.clean))
        with self.assertRaisesRegex(TypeError, "pickled"):
            pickle.dumps(self.bank)
        path = os.fspath(self.bank)
        self.assertEqual(invar.Bank(path).splits, ["test", "train"])
        np.testing.assert_array_equal(invar.Bank(path).copy(2, "test"), self.bank.copy(2, "test"))

    def test_it_trains_and_measures_like_a_folder(self):
        """Figures and adapters are the same; names of the bank are not."""
        stored = invar.Bank(self.bank.path)
        one, other = (invar.train(bank, run, preset="instant") for bank, run in ((self.bank, "one"), (stored, "other")))
        self.assertEqual(one.adapter.to_bytes(), other.adapter.to_bytes())
        mine, theirs = (invar.eval(bank, run.adapter, metrics="lc,kept,knn,structure,collision,retrieval")
                        for bank, run in ((self.bank, one), (stored, other)))
        for metric in mine.metrics:
            self.assertEqual(mine.value(metric, "1"), theirs.value(metric, "1"), metric)
        self.assertEqual(invar.diagnose(self.bank).document["verdict"], invar.diagnose(stored).document["verdict"])

    def test_a_run_on_memory_names_the_hashes_of_files(self):
        import hashlib
        import io

        def digest(array):
            file = io.BytesIO()
            np.save(file, array)
            return hashlib.sha256(file.getvalue()).hexdigest()

        run = invar.train(invar.bank(self.clean, self.copies), "run", preset="instant", trial=False)
        found = {row["file"]: row["sha256"] for row in run.info["inputs"]}
        self.assertEqual(found, {"clean.npy": digest(self.clean), "aug.npy": digest(self.copies)})

    def test_a_certificate_is_checked_with_arrays_and_banks(self):
        run = invar.train(self.bank, "run", preset="instant")
        invar.eval(self.bank, run, certify=True)
        self.assertEqual(invar.check(run, self.clean).document["verdict"], "fine")
        self.assertEqual(invar.check(run, self.clean + 3).document["verdict"], "drift")
        self.assertEqual(invar.check(run, self.bank).document["verdict"], "fine")
        self.assertIsNone(self.bank._folder)

    def test_options_of_opening(self):
        with open("list", "w", encoding="utf-8") as file:
            file.write("0\n2\n")
        run = invar.train(self.bank, "run", preset="instant", trial=False, classes="list")  # by a temporary folder
        self.assertEqual(len(run.info["classes"]), 2)
        with self.assertRaisesRegex(invar.MismatchError, "are of mine"):
            invar.eval(self.bank, encoder_name="other")
        named = invar.train(invar.bank(self.clean, self.copies), "named", preset="instant", encoder_name="theirs")
        self.assertEqual(named.adapter.metadata("invar.encoder"), "theirs")


if __name__ == "__main__":
    unittest.main()
