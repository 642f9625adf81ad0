# SPDX-License-Identifier: Apache-2.0
"""tsne.py - t-SNE of Fashion-MNIST's pixels (principal components) by whole programs.

invar runs twice: with scikit-learn's learning rate and iterations, beside scikit-learn, and with
openTSNE's (rows / 4 in scikit-learn's units, 750), beside openTSNE. Each side reports its own KL;
trustworthiness (12 neighbours) is scikit-learn's for all. Seconds of processors are shown as well, as
peers whose threads spin suffer most on a busy machine. A peer is stopped after --minutes; its
ratios are then lower bounds.
"""

import gzip
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import openTSNE
import sklearn
from sklearn.manifold import trustworthiness

import common

DATA = "/usr/share/datasets/fashion-mnist"
MOST_TRUSTED = 5000  # rows whose trustworthiness is computed, by a matrix of all distances


def pixels():
    parts = []
    for split in ("train", "t10k"):
        with gzip.open(os.path.join(DATA, split + "-images-idx3-ubyte.gz")) as f:
            parts.append(np.frombuffer(f.read(), dtype=np.uint8, offset=16).reshape(-1, 784))
    return np.concatenate(parts).astype("f4") / 255


def components(x, width):
    centred = x - x.mean(0)
    _, vectors = np.linalg.eigh((centred.T @ centred).astype("f8"))
    return (centred @ vectors[:, ::-1][:, :width].astype("f4")).astype("f4")


def invar(options, source, out, more):
    """(seconds, of processors, KL, peak megabytes) of the whole program."""
    results = out[:-4] + ".json"
    seconds, cpu, peak = common.watch(
        [os.path.join(options.build, "src", "cli", "invar"), "tsne", source, "-o", out, "-o", results, "-q",
         "--threads", str(options.threads), *more])
    with open(results) as f:
        return seconds, cpu, json.load(f)["values"]["tsne.kl"]["tsne"]["value"], peak


def peer(options, variant, source, out):
    """The same of a peer's fit alone; if it was stopped after --minutes, what it had used until then, and no KL."""
    script = os.path.join(common.HERE, "peers", "tsne.py")
    start, peak, status = time.perf_counter(), 0, None
    process = subprocess.Popen([sys.executable, script, variant, source, out, str(options.threads)],
                               stdout=subprocess.PIPE, text=True)
    while status is None:
        time.sleep(0.05)
        peak = max(peak, common.peak_megabytes(process.pid))
        if time.perf_counter() - start > 60 * options.minutes:
            os.kill(process.pid, signal.SIGKILL)  # Popen.kill would reap it first
        pid, ended, used = os.wait4(process.pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(ended) if pid else None
    process.returncode = status
    if status == -signal.SIGKILL:
        return time.perf_counter() - start, used.ru_utime + used.ru_stime, math.nan, peak
    if status:
        sys.exit("%s failed" % variant)
    return tuple(float(number) for number in process.stdout.read().split()) + (peak,)


def compare(options, size, folder):
    n, d = (int(part) for part in size.split("x"))
    x = components(pixels()[:n], d)
    source = os.path.join(folder, "x.npy")
    np.save(source, x)
    out = lambda name: os.path.join(folder, name + ".npy")
    fast = ["--learning-rate", str(n / 4), "--iterations", "750"]
    sides = {"invar": lambda: invar(options, source, out("invar"), []),
             "sklearn": lambda: peer(options, "sklearn", source, out("sklearn")),
             "invar, 750": lambda: invar(options, source, out("invar, 750"), fast),
             "openTSNE": lambda: peer(options, "opentsne", source, out("openTSNE"))}
    seen = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, side in sides.items():
            seen[name].append(side())
            print("%s, %s: %s" % (size, name, seen[name][-1]), file=sys.stderr, flush=True)
    rows = []
    for name, beside in (("invar", "invar"), ("sklearn", "invar"), ("invar, 750", "invar, 750"),
                         ("openTSNE", "invar, 750")):
        found = [statistics.median(r[i] for r in seen[name]) for i in range(4)]
        base = [statistics.median(r[i] for r in seen[beside]) for i in range(2)]
        more = "> " if math.isnan(found[2]) else ""  # stopped: it needs more
        trusted = n <= MOST_TRUSTED and not more
        trust = trustworthiness(x, np.load(out(name)), n_neighbors=12) if trusted else None
        rows.append(["%d × %d" % (n, d), name, more + "%.1f s" % found[0], more + "%.1f" % (found[0] / base[0]),
                     more + "%.1f s" % found[1], more + "%.1f" % (found[1] / base[1]),
                     "stopped" if more else "%.4f" % found[2], "%.4f" % trust if trust else "",
                     "%.0f MB" % found[3]])
    return rows


def main():
    options = common.arguments(__doc__, sizes="5000x192,20000x192,70000x50", minutes=120)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes.split(","):
            rows += compare(options, size, folder)
    body = "%s, openTSNE %s. Medians of %d round(s) in turn. Ratios are to the line of invar above.\n\n" % (
        common.versions(sklearn), openTSNE.__version__, options.rounds)
    body += common.table(["rows × width", "", "time", "times invar's", "processors", "times invar's", "KL",
                          "trustworthiness", "peak memory"], rows)
    common.report(options, "tsne", "t-SNE", body)


if __name__ == "__main__":
    main()
