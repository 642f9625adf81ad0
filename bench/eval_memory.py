# SPDX-License-Identifier: Apache-2.0
"""eval_memory.py - peak anonymous memory of structure and collision on a large bank.

A bank of 100,000 points, 384 wide, with 2 copies is written with NumPy, train
and test of the same size, and `invar eval --metrics structure,collision` runs on it while its
anonymous memory is read from /proc; the bank itself is mapped and does not count.
Ends with an error above 500 MB. Takes a few minutes; fewer --rows for a quick test.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import common

LIMIT_MB = 500


def write_split(folder, rows, width, copies):
    rng = np.random.default_rng(0)
    os.makedirs(os.path.join(folder, "aug"))
    names = ["clean.npy"] + ["aug/%03d.npy" % k for k in range(copies)]
    files = [np.lib.format.open_memmap(os.path.join(folder, n), "w+", "f4", (rows, width)) for n in names]
    for first in range(0, rows, 4096):
        count = min(4096, rows - first)
        files[0][first:first + count] = clean = rng.standard_normal((count, width), dtype="f4")
        for copy in files[1:]:
            copy[first:first + count] = clean + rng.standard_normal((count, width), dtype="f4")
    np.save(os.path.join(folder, "labels.npy"), np.arange(rows) % 10)


def anonymous_megabytes(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            return int(re.search(r"RssAnon:\s+(\d+) kB", f.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0  # it has just ended


def watch(command):
    """(seconds, peak in MB) of a program."""
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, anonymous_megabytes(process.pid))
        time.sleep(0.02)
    if process.returncode:
        sys.exit("invar eval failed")
    return time.perf_counter() - start, peak


def main():
    options = common.arguments(__doc__, rows=100000, width=384, copies=2, folder="")
    place = tempfile.mkdtemp(dir=options.folder or options.build)
    try:
        for split in ("train", "test"):
            write_split(os.path.join(place, "bank", split), options.rows, options.width, options.copies)
        seconds, peak = watch([os.path.join(options.build, "src", "cli", "invar"), "eval",
                               os.path.join(place, "bank"), "--metrics", "structure,collision", "-q",
                               "--threads", str(options.threads)])
    finally:
        shutil.rmtree(place)
    body = "`invar eval --metrics structure,collision`, %d rows, %d wide, %d copies: %.0f s.\n\n" % (
        options.rows, options.width, options.copies, seconds)
    body += common.table(["", "peak"], [["anonymous memory", "%.0f MB" % peak],
                                        ["one array of the clean rows",
                                         "%.0f MB" % (options.rows * options.width * 4 / 2**20)]])
    common.report(options, "eval_memory", "Memory of structure and collision", body)
    if peak > LIMIT_MB:
        sys.exit("%.0f MB are more than %d" % (peak, LIMIT_MB))


if __name__ == "__main__":
    main()
