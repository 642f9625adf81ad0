# SPDX-License-Identifier: Apache-2.0
"""The examples run; those that need faiss or PyTorch are skipped where these are absent (./dev parity python has them)."""
import importlib.util
import os
import subprocess
import sys
import unittest

from made import SOURCE, InFolder


class Examples(InFolder):
    def run_example(self, name, needs=None, arguments=()):
        if needs and importlib.util.find_spec(needs) is None:
            self.skipTest(f"{needs} is not installed")
        script = os.path.join(SOURCE, "python/examples", name + ".py")
        done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout)

    def test_own_features(self):
        self.run_example("own_features")

    def test_faiss_index(self):
        self.run_example("faiss_index", "faiss")

    def test_faiss_index_of_real_features(self):
        bank = os.path.join(SOURCE, "../shared/data/bank-ucmerced-resnet18-rotation")
        if not os.path.isdir(bank):
            self.skipTest("the bank of UC Merced is not at hand")
        self.run_example("faiss_index", "faiss", [os.path.abspath(bank)])

    def test_torch_pipeline(self):
        self.run_example("torch_pipeline", "torch")


if __name__ == "__main__":
    unittest.main()
