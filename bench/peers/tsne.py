# SPDX-License-Identifier: Apache-2.0
"""tsne.py - t-SNE by scikit-learn and openTSNE, one embedding per process.

    tsne.py VARIANT IN.npy OUT.npy THREADS    prints seconds, seconds of processors, KL

Defaults of each: perplexity 30, exaggeration 12, a start from principal components; scikit-learn
1,000 iterations by Barnes and Hut, openTSNE 750, by Barnes and Hut up to 10,000 rows and by
interpolation above, with a higher learning rate after the first 250.
"""

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits


def embed(variant, x, threads):
    if variant == "sklearn":
        from sklearn.manifold import TSNE
        model = TSNE(n_jobs=threads, random_state=0)
        return model.fit_transform(x), model.kl_divergence_
    from openTSNE import TSNE
    found = TSNE(n_jobs=threads, random_state=0).fit(x)
    return np.asarray(found), found.kl_divergence


def main():
    variant, path, out, threads = sys.argv[1:5]
    import openTSNE, sklearn.manifold  # noqa: imported before the time begins
    threadpool_limits(int(threads))
    x = np.load(path)
    start, cpu = time.perf_counter(), time.process_time()
    y, kl = embed(variant, x, int(threads))
    print(time.perf_counter() - start, time.process_time() - cpu, kl)
    np.save(out, y)


if __name__ == "__main__":
    main()
