# SPDX-License-Identifier: Apache-2.0
"""own_features.py - features of your own encoder, from arrays in memory to an adapter.

Here the encoder is made up: its features react to a nuisance (rotation, light) along a few directions. Yours would be
any network that turns n images into an array [n, d], called once on the images and once or more on changed versions.
"""
import numpy as np

import invar

rng = np.random.default_rng(0)
n, d = 900, 32
labels = rng.integers(0, 5, n)
clean = 2 * rng.normal(size=(5, d))[labels] + rng.normal(size=(n, d))               # [n, d]     F(x)
nuisance = rng.normal(size=(4, d))
copies = np.stack([clean + 2 * rng.normal(size=(n, 4)) @ nuisance for _ in range(5)], 1)  # [n, c, d]  F(t(x))

# A third of each class is held out for measuring. The name is recorded: an adapter warns about features of another one.
bank = invar.bank(clean, copies, labels, name="my-encoder", holdout=0.33)
print(bank)

run = invar.train(bank, "own-run", preset="instant")
results = run.eval(bank, metrics=["structure", "knn", "collision"])
print(results)

E = run.adapter
print(f"20-NN on changed images: {results['knn.augmented', 'F']:.2f} before, {results['knn.augmented', 'own-run']:.2f} after")
assert results["knn.augmented", "own-run"] > results["knn.augmented", "F"]
assert E(copies).shape == copies.shape  # any shape whose last axis is d
