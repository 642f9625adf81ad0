# SPDX-License-Identifier: Apache-2.0
"""Training: the bytes of the program; Ctrl-C saves and stops; progress; runs."""
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import invar
from made import InFolder, features, photo_folder, program, stops


class Train(InFolder):
    def setUp(self):
        super().setUp()
        clean, copies, labels = features()
        self.bank = invar.bank(clean, copies, labels, name="mine", holdout=0.3, path="bank")

    def same_adapter(self, one, other):
        with open(os.path.join(one, "adapter.safetensors"), "rb") as a, \
                open(os.path.join(other, "adapter.safetensors"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_adapters_are_those_of_the_program(self):
        for preset, words in (("keep", ["--epochs", "3", "--hidden", "64"]), ("instant", [])):
            program("train", "bank", "-o", "theirs-" + preset, "--preset", preset, "--seed", "4", *words)
            options = {"epochs": 3, "hidden": 64} if words else {}
            run = invar.train(self.bank, "ours-" + preset, preset=preset, seed=4, **options)
            self.same_adapter("ours-" + preset, "theirs-" + preset)
            self.assertEqual(run.adapter.metadata("invar.preset"), preset)
            self.assertEqual(len(run.log), 3 if words else 0)
            self.assertIn("options", run.info)

    def test_the_trial_comes_first(self):
        run = invar.train(self.bank, "run", preset="instant")
        self.assertEqual(run.info["trial"]["verdict"], "helps")
        self.assertNotIn("trial", invar.train(self.bank, "untried", preset="instant", trial=False).info)
        clean, copies, labels = features()
        noise = invar.bank(clean, np.random.default_rng(1).permutation(copies), labels, holdout=0.3)
        with self.assertRaisesRegex(invar.MismatchError, "so that no adapter is written"):
            invar.train(noise, "harm", preset="instant")
        self.assertFalse(os.path.exists("harm"))
        self.assertEqual(invar.train(noise, "harm", preset="instant", even_if_worse=True).info["trial"]["verdict"], "harm")
        with self.assertRaisesRegex(invar.UseError, "one bank, not of 2"):
            invar.train([self.bank, noise], "two", trial=True, loss="waco")

    def test_tables_are_those_of_the_program(self):
        run = invar.train("bank", "run", preset="instant")
        clean, copies, _ = features(200)
        invar.bank(clean, copies, path="unlabelled", holdout=0.5)
        for bank, words, options in (("bank", [], {}), ("unlabelled", [], {}),
                                     ("bank", ["--points", "50", "--metrics", "structure,knn"],
                                      {"points": 50, "metrics": ["structure", "knn"]})):
            theirs = program("eval", bank, "run", *words, "--probe-epochs", "2", "--probe-hidden", "16")
            ours = run.eval(bank, probe_epochs=2, probe_hidden=16, **options)
            self.assertEqual(str(ours) + "\n", theirs)
        self.assertGreaterEqual(len(run.results()), 1)

    def test_a_run_without_a_name_is_temporary(self):
        run = invar.train(self.bank, preset="instant", hidden=8)
        path, E = run.path, run.adapter
        program("train", "bank", "-o", "theirs", "--preset", "instant", "--hidden", "8")
        self.same_adapter(path, "theirs")
        del run
        gc.collect()
        self.assertFalse(os.path.exists(os.path.dirname(path)))
        self.assertEqual(E(np.zeros(16)).shape, (16,))  # it lives on
        before = set(os.listdir(tempfile.gettempdir()))
        with self.assertRaises(invar.Error):
            invar.train(self.bank, preset="nothing")
        self.assertFalse([one for one in set(os.listdir(tempfile.gettempdir())) - before
                          if one.startswith("invar-") and not one.startswith("invar-test-")])

    def test_messages_spell_options_as_python_does(self):
        with self.assertRaisesRegex(invar.UseError, "no option batch_sise; did you mean batch_size"):
            invar.train(self.bank, "run", batch_sise=3)
        with self.assertRaisesRegex(invar.UseError, "weight_decay"):
            invar.train(self.bank, "run", weight_decay="much")

    def test_several_banks(self):
        clean, copies, labels = features()
        other = invar.bank(clean, copies[:, ::-1], labels, name="mine", holdout=0.3)
        run = invar.train([self.bank, other], "run", loss="waco", projections=20, epochs=1, hidden=16, preset="paper")
        program("train", "bank", other.path, "-o", "theirs", "--loss", "waco", "--projections", "20", "--epochs", "1",
                "--hidden", "16", "--preset", "paper")
        self.same_adapter(run.path, "theirs")

    def test_images_instead_of_a_bank(self):
        photo_folder()
        run = invar.train(None, "run", data="photos", encoder="pixels", size=8, augment="rotation", epochs=1, hidden=16)
        program("train", "--data", "photos", "-o", "theirs", "--encoder", "pixels", "--size", "8", "--augment",
                "rotation", "--epochs", "1", "--hidden", "16")
        self.same_adapter(run.path, "theirs")
        for arguments in ((None, "x"), (self.bank, "x", "photos")):
            with self.assertRaises(invar.UseError):
                invar.train(*arguments[:2], data=arguments[2] if len(arguments) > 2 else None)

    def test_ctrl_c_saves_and_stops(self):
        options = {"epochs": 40, "hidden": 256, "seed": 2, "trial": False}
        seen = []

        def stop(stage, done, total):
            seen.append((stage, done, total))
            if len(seen) == 30:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            invar.train(self.bank, "stopped", progress=stop, **options)
        self.assertLessEqual(len(seen), 31)  # it ended there, rather than at its end
        self.assertTrue(os.path.exists("stopped/checkpoint.safetensors"))
        self.assertFalse(os.path.exists("stopped/adapter.safetensors"))
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        invar.train(self.bank, "stopped", resume=True)
        invar.train(self.bank, "whole", **options)
        self.same_adapter("stopped", "whole")

    @stops
    def test_ctrl_c_in_a_script(self):
        """The same from outside, without a callback."""
        script = ("import invar, sys\n"
                  "try:\n    invar.train('bank', 'run', epochs=9, hidden=32, trial=False)\n"
                  "except KeyboardInterrupt:\n    print('stopped'); sys.exit(5)\n")
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"INVAR_TEST_STOP": "train:epoch 3=pause:paused"}) as child:
            while not os.path.exists("paused"):
                self.assertIsNone(child.poll())
                time.sleep(0.02)
            child.send_signal(signal.SIGINT)
            os.remove("paused")
            text, _ = child.communicate(timeout=240)
        self.assertEqual((child.returncode, text), (5, "stopped\n"))
        self.assertTrue(os.path.exists("run/checkpoint.safetensors"))

    def test_progress_may_stop_and_may_fail(self):
        with self.assertRaises(invar.Cancelled):
            invar.train(self.bank, "a", epochs=50, hidden=16, progress=lambda *_: True)

        def fail(*_):
            raise RuntimeError("no more paper")

        with self.assertRaisesRegex(RuntimeError, "no more paper"):
            invar.train(self.bank, "b", epochs=50, hidden=16, progress=fail)

    def test_tqdm_is_used_if_it_is_there(self):
        import types

        bars = []

        class Bar:
            def __init__(self, total, desc, leave):
                self.n, self.total, self.desc = 0, total, desc
                bars.append(self)

            def update(self, step):
                self.n += step

            def close(self):
                self.closed = True

        module = types.ModuleType("tqdm.auto")
        module.tqdm = Bar
        before = {name: sys.modules.get(name) for name in ("tqdm", "tqdm.auto")}
        sys.modules.update({"tqdm": types.ModuleType("tqdm"), "tqdm.auto": module})
        try:
            invar.train(self.bank, "run", epochs=2, hidden=16, progress=True, trial=False)
        finally:
            for name, value in before.items():
                sys.modules.pop(name) if value is None else sys.modules.update({name: value})
        self.assertTrue(bars and all(bar.closed for bar in bars))
        self.assertEqual(bars[-1].n, bars[-1].total)

    def test_failures_have_the_message_of_the_program(self):
        invar.train(self.bank, "run", preset="instant", hidden=8)
        with self.assertRaisesRegex(invar.FileError, "^run: already exists; use resume"):
            invar.train(self.bank, "run")
        with self.assertRaisesRegex(invar.MismatchError, "nothing"):
            invar.train(self.bank, "other", split="nothing")
        with self.assertRaises(FileNotFoundError):
            invar.Run("absent")

    def test_measurements_that_were_asked_for_and_are_not_possible(self):
        clean, copies, _ = features(60)
        bank = invar.bank(clean, copies, holdout=0.5)
        with self.assertRaises(invar.Error) as caught:
            invar.eval(bank, metrics=["structure", "lc"])
        self.assertIn("structure", [one["id"] for one in caught.exception.results.document["measurements"]])

    def test_a_thread_of_its_own(self):
        """Only the main thread may set signals."""
        failed = []

        def work():
            try:
                invar.train(self.bank, "run", epochs=1, hidden=16, trial=False)
            except BaseException as error:
                failed.append(error)

        one = threading.Thread(target=work)
        one.start()
        one.join()
        self.assertEqual(failed, [])
        self.assertEqual(invar.Adapter("run")(np.zeros(16)).shape, (16,))


if __name__ == "__main__":
    unittest.main()
