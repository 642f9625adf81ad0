# SPDX-License-Identifier: Apache-2.0
"""InvariantTransformer, with and without scikit-learn; its own checks are in tests/parity/python.py."""
import copy
import pickle
import subprocess
import sys
import unittest

import numpy as np

import invar
from made import InFolder, features


class Transformer(InFolder):
    def test_fit_and_transform(self):
        clean, copies, _ = features()
        T = invar.InvariantTransformer(preset="instant").fit(clean, copies)
        moved = np.linalg.norm(T.transform(copies[:, 0]) - clean) / np.linalg.norm(copies[:, 0] - clean)
        self.assertLess(moved, 0.8)
        run = invar.train(invar.bank(clean, copies), "run", preset="instant")
        np.testing.assert_array_equal(T.transform(clean), run.adapter(clean))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(T)).transform(clean), T.transform(clean))
        self.assertEqual(T.n_features_in_, 16)
        self.assertEqual(len(T.get_feature_names_out()), 16)

    def test_parameters(self):
        T = invar.InvariantTransformer(preset="keep", options={"epochs": 1, "hidden": 8}, seed=3)
        self.assertEqual(T.get_params()["seed"], 3)
        self.assertEqual(T.set_params(seed=4).seed, 4)
        clean, copies, _ = features()
        self.assertEqual(T.fit(clean, copies).adapter_.hidden, 8)
        copy.deepcopy(T)
        with self.assertRaises(ValueError):
            T.set_params(nothing=1)

    def test_options_of_training_are_parameters(self):
        clean, copies, _ = features()
        T = invar.InvariantTransformer(preset="keep", hidden=8, epochs=1)
        self.assertEqual((T.get_params()["hidden"], T.get_params()["epochs"], T.get_params()["lr"]), (8, 1, None))
        self.assertEqual(T.fit(clean, copies).adapter_.hidden, 8)
        other = invar.InvariantTransformer(**T.get_params()).set_params(hidden=12, lr=1e-4)
        self.assertEqual(other.fit(clean, copies).adapter_.hidden, 12)
        given = invar.InvariantTransformer(preset="keep", options={"hidden": 8, "epochs": 1}).fit(clean, copies)
        np.testing.assert_array_equal(given.transform(clean), T.transform(clean))
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'hiden'"):
            invar.InvariantTransformer(hiden=3)
        with self.assertRaisesRegex(invar.UseError, "hidden is a parameter and also in options"):
            T.set_params(options={"hidden": 3}).fit(clean, copies)

    def test_copies_by_a_function(self):
        clean, _, labels = features()
        T = invar.InvariantTransformer(copies=lambda X: X[:, None] + np.zeros((1, 2, 1), "f4"))
        self.assertEqual(T.fit_transform(clean, labels).shape, clean.shape)

    def test_mistakes(self):
        clean, copies, labels = features(50)
        for y in (None, labels):
            with self.assertRaisesRegex(ValueError, "copies"):
                invar.InvariantTransformer().fit(clean, y)
        with self.assertRaises(ValueError):
            invar.InvariantTransformer().transform(clean)
        with self.assertRaises(ValueError):
            invar.InvariantTransformer().fit(clean, copies).transform(clean[:, :5])

    def test_without_scikit_learn(self):
        """The tests above once more, with its import made to fail."""
        if "--without" in sys.argv:
            self.skipTest("this is it")
        code = ("import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None; "
                "sys.argv.append('--without'); import unittest; sys.path.insert(0, %r); import test_transformer as t; "
                "unittest.main(t, argv=['t'])" % __file__.rsplit("/", 1)[0])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
