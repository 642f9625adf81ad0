# SPDX-License-Identifier: Apache-2.0
"""larger_than_memory.py - training from a bank three times the available memory.

A bank is written with NumPy. invar trains on it in turn twice: inside a
memory cgroup limited to a third of the bank, its pages dropped from the cache
first, and free, with the whole bank in the cache. What counts is the ratio of the
seconds that log.jsonl gives for an epoch. If no cgroup can be made (it needs
root and a delegated memory controller) it says so and does nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import common


def write_bank(folder, rows, width, copies):
    """Blocks of rows, so that making the bank needs little memory."""
    rng = np.random.default_rng(0)
    os.makedirs(os.path.join(folder, "train", "aug"))
    names = ["train/clean.npy"] + ["train/aug/%03d.npy" % k for k in range(copies)]
    files = [np.lib.format.open_memmap(os.path.join(folder, n), "w+", "f4", (rows, width)) for n in names]
    for first in range(0, rows, 4096):
        count = min(4096, rows - first)
        clean = rng.standard_normal((count, width), dtype="f4")
        files[0][first:first + count] = clean
        for copy in files[1:]:
            copy[first:first + count] = clean + rng.standard_normal((count, width), dtype="f4") / 2
    for file in files:
        file.flush()
    return [os.path.join(folder, n) for n in names]


def drop_from_cache(files):
    for file in files:
        with open(file, "rb") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bring_to_cache(files):
    for file in files:
        with open(file, "rb") as f:
            while f.read(1 << 24):
                pass


# ---- cgroups -------------------------------------------------------------------

def memory_mounts():
    """(folder that children can be made in, name of the limit's file), best first."""
    with open("/proc/self/cgroup") as f:
        own = {tuple(names.split(",")): path for _, names, path in
               (line.rstrip("\n").split(":", 2) for line in f)}
    with open("/proc/self/mounts") as f:
        mounts = [line.split()[1:4] for line in f]
    for at, kind, options in mounts:
        if kind == "cgroup" and "memory" in options.split(","):
            path, limit = own.get(("memory",), "/"), "memory.limit_in_bytes"
        elif kind == "cgroup2":
            path, limit = own.get(("",), "/"), "memory.max"
        else:
            continue
        yield at + path.rstrip("/"), limit
        yield at, limit


def make_cgroup(limit_bytes):
    reason = "there is no memory controller"
    for parent, limit in memory_mounts():
        folder = os.path.join(parent, "invar-bench-%d" % os.getpid())
        try:
            os.mkdir(folder)
        except OSError as error:
            reason = error.strerror
            continue
        try:
            with open(os.path.join(folder, limit), "w") as f:
                f.write(str(limit_bytes))
            return folder, None
        except OSError as error:
            reason = error.strerror
            os.rmdir(folder)
    return None, reason


def enter(folder):
    with open(os.path.join(folder, "cgroup.procs"), "w") as f:
        f.write(str(os.getpid()))


# ---- training ------------------------------------------------------------------

def epoch_seconds(options, bank, run, group=None):
    command = [os.path.join(options.build, "src", "cli", "invar"), "train", bank, "-o", run, "--force", "-q",
               "--preset", "paper", "--epochs", str(options.epochs), "--threads", str(options.threads)]
    subprocess.run(command, check=True, preexec_fn=(lambda: enter(group)) if group else None)
    with open(os.path.join(run, "log.jsonl")) as f:
        return sum(json.loads(line)["seconds"] for line in f) / options.epochs


def main():
    options = common.arguments(__doc__, rows=51200, width=384, copies=9, epochs=1, folder="")
    if options.rounds == 9:
        options.rounds = 3
    size = options.rows * options.width * 4 * (1 + options.copies)
    group, reason = make_cgroup(size // 3)
    if not group:
        print("skipped: larger_than_memory, as no memory cgroup can be made here (%s)" % reason)
        return
    place = tempfile.mkdtemp(dir=options.folder or options.build)
    try:
        files = write_bank(os.path.join(place, "bank"), options.rows, options.width, options.copies)
        sides = {"limited": (drop_from_cache, group), "free": (bring_to_cache, None)}

        def measure(name):
            prepare, inside = sides[name]
            prepare(files)
            return epoch_seconds(options, os.path.join(place, "bank"), os.path.join(place, name), inside)

        found = common.in_turn(options.rounds, {n: lambda n=n: measure(n) for n in sides})
    finally:
        shutil.rmtree(place)
        os.rmdir(group)
    body = "Bank of %.0f MB (%d rows, %d wide, %d copies), limit %.0f MB; medians of %d rounds in turn.\n\n" % (
        size / 1e6, options.rows, options.width, options.copies, size / 3e6, options.rounds)
    body += common.table(["memory", "epoch", "speed"], [
        ["all in the cache", "%.1f s" % found["free"], "100 %"],
        ["a third of the bank", "%.1f s" % found["limited"], "%.0f %%" % (100 * found["free"] / found["limited"])]])
    common.report(options, "larger_than_memory", "A bank three times larger than memory", body)


if __name__ == "__main__":
    sys.exit(main())
