# SPDX-License-Identifier: Apache-2.0
"""The examples run; those that need faiss or PyTorch are skipped where these are absent (./dev parity python has them)."""
import importlib.util
import os
import subprocess
import sys
import unittest
import xml.dom.minidom

from made import SOURCE, InFolder


class Examples(InFolder):
    def run_example(self, name, needs=None, arguments=(), code=0):
        if needs and importlib.util.find_spec(needs) is None:
            self.skipTest(f"{needs} is not installed")
        script = os.path.join(SOURCE, "python/examples", name + ".py")
        done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        print(done.stdout)
        return done.stdout

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

    def test_adversarial(self):
        self.run_example("adversarial", "torch", ["--write", "docs"])
        written = [self.read("docs/results/attacks.md"), self.read("docs/img/attacks.svg")]
        xml.dom.minidom.parseString(written[1])
        # What is kept is not made again; what is lost is made again as it was.
        again = self.run_example("adversarial", "torch", ["--write", "docs"])
        self.assertNotIn("copy0", again)
        os.remove("build-attacks/made-up/small/1-keep.npz")
        os.remove("build-attacks/made-up/small/1-adaptive-keep-4.npz")
        lost = self.run_example("adversarial", "torch", ["--write", "docs"])
        self.assertIn("1-keep", lost)
        self.assertEqual(written, [self.read("docs/results/attacks.md"), self.read("docs/img/attacks.svg")])
        # Other settings do not mix with what is kept.
        with open("build-attacks/made-up/settings.json", "w", encoding="utf-8") as file:
            file.write("{}")
        self.run_example("adversarial", "torch", code=2)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()


if __name__ == "__main__":
    unittest.main()
