# SPDX-License-Identifier: Apache-2.0
"""Banks of arrays in memory, their names, and the warnings that names make possible."""
import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import invar
from made import InFolder, features, program


class Banks(InFolder):
    def test_a_bank_in_memory_is_removed_with_its_last_reference(self):
        clean, copies, labels = features()
        bank = invar.bank(clean, copies, labels, name="mine")
        path = bank.path
        np.testing.assert_array_equal(bank.clean(), clean)
        np.testing.assert_array_equal(bank.copy(2), copies[:, 2])
        np.testing.assert_array_equal(bank.labels(), labels)
        self.assertEqual((bank.dim, bank.splits, bank.rows(), bank.copies()), (16, ["train"], 300, 3))
        self.assertEqual(bank.field("encoder"), "mine")
        self.assertIsNone(bank.names())
        self.assertTrue(os.path.isdir(path))
        del bank
        gc.collect()
        self.assertFalse(os.path.exists(path))

    def test_a_forked_child_leaves_the_folders_of_its_parent(self):
        """It ends with the same finalizers."""
        script = ("import os, sys, numpy as np, invar\n"
                  "clean = np.random.default_rng(0).normal(size=(40, 4))\n"
                  "bank = invar.bank(clean, clean + 0.1)\n"
                  "run = invar.train(bank, preset='instant', hidden=8)\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    sys.exit(0)\n"
                  "os.waitpid(child, 0)\n"
                  "print(os.path.isdir(bank.path), os.path.isfile(os.path.join(run, 'run.json')), run.eval(bank, split='train', metrics='structure').complete)\n"
                  "print(bank.path, run.path)\n")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        there, paths = done.stdout.splitlines()
        self.assertEqual(there, "True True True")
        self.assertFalse([one for one in paths.split() if os.path.exists(one)])  # the parent removes them

    def test_copies_and_pickles_of_a_bank(self):
        clean, copies, labels = features(40)
        bank = invar.bank(clean, copies, labels, path="bank")
        for other in (copy.copy(bank), copy.deepcopy(bank), copy.deepcopy([bank])[0], pickle.loads(pickle.dumps(bank))):
            path = bank.path
            del bank
            gc.collect()
            bank = other
            self.assertEqual((bank.splits, bank.rows(), bank.dim), (["train"], 40, 16))
            np.testing.assert_array_equal(bank.copy(1), copies[:, 1])
            self.assertEqual(os.path.abspath(bank.path), os.path.abspath(path))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            np.testing.assert_array_equal(pool.apply_async(invar.Bank.labels, (bank,)).get(120), labels)

    def test_copies_and_pickles_of_a_bank_in_memory(self):
        clean, copies, _ = features(40)
        bank = invar.bank(clean, copies)
        run = invar.train(bank, preset="instant", hidden=8)
        for one, where in ((bank, "path="), (run, "run=")):
            with self.assertRaisesRegex(TypeError, f"temporary.*cannot be pickled.*{where}"):
                pickle.dumps(one)
        held, kept = copy.copy(bank), copy.deepcopy(run)  # each keeps the folder
        del bank, run, one
        gc.collect()
        self.assertEqual(held.rows(), 40)
        self.assertEqual(kept.eval(held, split="train", metrics="structure").columns, ["F", "1"])

    def test_nothing_else_holds_an_address(self):
        """A handle of the library is never in a pickle."""
        clean, copies, _ = features(40)
        run = invar.train(invar.bank(clean, copies, path="bank", holdout=0.5), "run", preset="instant", hidden=8)
        results = run.eval("bank", metrics="structure")
        self.assertEqual(pickle.loads(pickle.dumps(results)).document, results.document)
        self.assertEqual(copy.deepcopy(results).document, results.document)
        self.assertEqual(pickle.loads(pickle.dumps(invar.options("train"))), invar.options("train"))
        for other in (copy.copy(run), copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
            np.testing.assert_array_equal(other.adapter(clean), run.adapter(clean))
        for other in (copy.copy(run.adapter), copy.deepcopy(run.adapter)):
            np.testing.assert_array_equal(other(clean), run.adapter(clean))
        for handle in (run.adapter._handle, invar._options.Options("train")):
            for take in (pickle.dumps, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                    take(handle)

    def test_the_forms_of_copies_are_equal(self):
        clean, copies, _ = features(40)
        one = invar.bank(clean, copies)
        other = invar.bank(clean, [copies[:, i] for i in range(3)])
        for i in range(3):
            np.testing.assert_array_equal(one.copy(i), other.copy(i))
        self.assertEqual(invar.bank(clean, copies[:, 0]).copies(), 1)
        self.assertEqual(invar.bank(clean).copies(), 0)

    def test_splits_and_holdout(self):
        clean, copies, labels = features(100)
        bank = invar.bank({"train": clean[:80], "test": clean[80:]}, {"train": copies[:80]}, {"test": labels[80:]},
                          path="bank")
        self.assertEqual(sorted(bank.splits), ["test", "train"])
        self.assertEqual((bank.copies("test"), bank.copies("train")), (0, 3))
        self.assertIsNone(bank.labels("train"))
        held = invar.bank(clean, copies, labels, holdout=0.3)
        for label in range(3):
            rows = np.flatnonzero(labels == label)
            kept = len(rows) - -(-3 * len(rows) // 10)  # as `invar encode --holdout` cuts a class
            self.assertEqual((held.labels("train") == label).sum(), kept)
        self.assertEqual(held.rows("train") + held.rows("test"), 100)

    def test_holdout_counts_as_the_program_does(self):
        clean = features(100)[0]
        self.assertEqual(invar.bank(clean, holdout=0.07).rows("test"), 7)  # 0.07 * 100 is a little more than 7
        labels = np.array([0] * 99 + [1])
        held = invar.bank(clean, None, labels, holdout=0.5)
        self.assertEqual(list(held.labels("train")).count(1), 1)  # one row of a class stays
        for share in (1, 2, -0.5):
            with self.assertRaisesRegex(invar.UseError, "holdout"):
                invar.bank(clean, holdout=share)

    def test_the_order_in_memory_does_not_matter(self):
        clean, copies, labels = features(40)
        turned = invar.bank(np.asfortranarray(clean), np.asfortranarray(copies), labels.astype(">i4"))
        np.testing.assert_array_equal(turned.clean(), clean)
        np.testing.assert_array_equal(turned.copy(1), copies[:, 1])
        np.testing.assert_array_equal(turned.labels(), labels)
        invar.train(turned, "run", preset="instant", hidden=8)

    def test_splits_must_agree(self):
        clean, copies, labels = features(40)
        both = {"train": clean[:30], "test": clean[30:]}
        for arguments in ((both, copies[:30]), (both, None, labels), (both, {"tset": copies[30:]}), ({"../up": clean},),
                          ({"cache": clean},)):
            with self.assertRaises(invar.UseError):
                invar.bank(*arguments)

    def test_a_failure_leaves_no_folder(self):
        clean = features(40)[0]
        before = set(os.listdir(tempfile.gettempdir()))
        with self.assertRaises(invar.Error):
            invar.bank(np.empty((0, 5)))  # a bank needs rows
        self.assertEqual([one for one in set(os.listdir(tempfile.gettempdir())) - before if one.startswith("invar-")
                          and not one.startswith("invar-test-")], [])
        self.assertEqual(invar.bank(clean, path=b"bytes").path, "bytes")

    def test_float16_is_kept(self):
        clean, _, _ = features(10)
        bank = invar.bank(clean.astype("f2"), path="half")
        self.assertEqual(bank.clean().dtype, np.float16)

    def test_mistakes(self):
        clean, copies, labels = features(30)
        for arguments, error in (((clean[0],), invar.UseError), ((clean, copies[:20]), invar.MismatchError),
                                 ((clean, copies[:, :, :5]), invar.MismatchError),
                                 ((clean, copies, labels[:3]), invar.UseError),
                                 ((clean, copies, labels + 0.5), invar.UseError)):
            with self.assertRaises(error):
                invar.bank(*arguments, path="bad")
            self.assertFalse(os.path.exists("bad"))
        invar.bank(clean, path="there")
        with self.assertRaisesRegex(invar.FormatError, "already exists"):
            invar.bank(clean, path="there")
        with self.assertRaisesRegex(invar.MismatchError, "no split 'val'"):
            invar.Bank("there").clean("val")
        with self.assertRaises(OSError):
            invar.Bank("absent")

    def test_an_adapter_warns_about_features_of_another_name(self):
        clean, copies, _ = features(60)
        mine = invar.bank(clean, copies, name="encoder of May", path="mine", holdout=0.5)
        other = invar.bank(clean, copies, name="encoder of June", path="other", holdout=0.5)
        run = invar.train(mine, "run", preset="instant", hidden=8)
        self.assertEqual(run.adapter.metadata("invar.encoder"), "encoder of May")
        with self.assertNoLogs("invar", "WARNING"):
            run.eval(mine, metrics="structure")
        with self.assertLogs("invar", "WARNING") as seen:
            run.eval(other, metrics="structure")
        self.assertIn("was trained on features of encoder of May but other has features of encoder of June",
                      seen.output[0])
        # Nobody has configured logging: warnings are shown, information is not; the logger can be turned off.
        for line, shown in (("", True), ("import logging; logging.getLogger('invar').setLevel('ERROR')", False)):
            script = f"{line}\nimport invar; invar.eval('other', 'run', metrics='structure')"
            said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stderr
            self.assertEqual("was trained on features of encoder of May" in said, shown, said)
            self.assertEqual(len(said.splitlines()), shown, said)

    def test_folders_of_arrays_can_be_named_too(self):
        clean, copies, _ = features(60)
        invar.bank(clean, copies, path="bank", holdout=0.5)  # without a name
        run = invar.train("bank", "run", preset="instant", hidden=8, encoder_name="may")
        self.assertEqual(run.adapter.metadata("invar.encoder"), "may")
        with self.assertLogs("invar", "WARNING"):
            run.eval("bank", metrics="structure", encoder_name="june")

    def test_the_program_reads_them(self):
        clean, copies, _ = features(60)
        invar.bank(clean, copies, name="mine", path="bank", holdout=0.5)
        self.assertIn("mine", program("eval", "bank", "--metrics", "structure"))

    def test_synthetic(self):
        bank = invar.synthetic("made", seed=3)
        self.assertGreater(bank.rows(), 0)

    def test_options_of_synthetic_live_until_its_call_has_ended(self):
        """They were freed before it, which crashed now and then."""
        lib, seen = invar._library.lib, []
        real = lib.invar_options_free, lib.invar_bank_synthesize
        lib.invar_options_free = lambda handle: seen.append("free") or real[0](handle)
        lib.invar_bank_synthesize = lambda *arguments: seen.append("call") or real[1](*arguments)
        try:
            invar.synthetic("made", seed=3)
        finally:
            lib.invar_options_free, lib.invar_bank_synthesize = real
        self.assertEqual(seen, ["call", "free"])


if __name__ == "__main__":
    unittest.main()
