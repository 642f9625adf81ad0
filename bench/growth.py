# SPDX-License-Identifier: Apache-2.0
"""growth.py - how time and memory of whole commands grow with the number of images.

Every command runs at 1,000, 10,000 and 100,000 images, and at 1,000,000 if its work is linear
and its input small. Processor seconds on one thread are compared, so other programs hardly
disturb them; the peak is of anonymous memory, as files of a bank are mapped. The exponent is
the slope of the logarithm of the seconds over the logarithm of the images by least squares,
after subtracting the seconds of the same command on 100 images, which are those of starting
and stopping, and over the sizes that take at least twice as long. Work is linear (1) or over
pairs (2) by definition; an exponent above that is a fault.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

import common

SIZES = (1000, 10000, 100000, 1000000)
SMALL = 100         # images of the run that is subtracted
WIDTH = 64          # of the features of a bank
SIDE = 16           # of the images to encode
SLACK = 0.1         # of a measured exponent
SAMPLE_SECONDS = 0.001


# ---- inputs --------------------------------------------------------------------

def write_split(folder, rows):
    """Clean rows and one copy, in ten classes."""
    rng = np.random.default_rng(0)
    os.makedirs(os.path.join(folder, "aug"))
    centres = rng.standard_normal((10, WIDTH), dtype="f4")
    files = [np.lib.format.open_memmap(os.path.join(folder, name), "w+", "f4", (rows, WIDTH))
             for name in ("clean.npy", "aug/000.npy")]
    labels = np.arange(rows) % 10
    for first in range(0, rows, 65536):
        part = slice(first, min(first + 65536, rows))
        shape = (part.stop - first, WIDTH)
        files[0][part] = centres[labels[part]] + rng.standard_normal(shape, dtype="f4")
        files[1][part] = files[0][part] + 0.5 * rng.standard_normal(shape, dtype="f4")
    np.save(os.path.join(folder, "labels.npy"), labels)


def make_bank(place, rows):
    bank = os.path.join(place, "bank-%d" % rows)
    if not os.path.exists(bank):
        write_split(os.path.join(bank, "train"), rows)
        if rows <= 100000:  # only pairs need it
            shutil.copytree(os.path.join(bank, "train"), os.path.join(bank, "test"))
    return bank


def png(pixels):
    """A PNG file of 8-bit RGB, as small as zlib makes it."""
    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    size = pixels.shape[1].to_bytes(4, "big") + pixels.shape[0].to_bytes(4, "big")
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size + bytes([8, 2, 0, 0, 0])) +
            chunk(b"IDAT", zlib.compress(lines, 1)) + chunk(b"IEND", b""))


def make_folder(place, images):
    """PNG files in ten classes."""
    folder = os.path.join(place, "images-%d" % images)
    if os.path.exists(folder):
        return folder
    rng = np.random.default_rng(0)
    for label in range(10):
        os.makedirs(os.path.join(folder, "class%d" % label))
    for i in range(images):
        with open(os.path.join(folder, "class%d" % (i % 10), "%07d.png" % i), "wb") as f:
            f.write(png(rng.integers(0, 256, (SIDE, SIDE, 3), dtype="u1")))
    return folder


def make_tensor(place, images):
    path = os.path.join(place, "images-%d.npy" % images)
    if not os.path.exists(path):
        rng = np.random.default_rng(0)
        out = np.lib.format.open_memmap(path, "w+", "u1", (images, SIDE, SIDE, 3))
        for first in range(0, images, 65536):
            part = out[first:first + 65536]
            part[...] = rng.integers(0, 256, part.shape, dtype="u1")
    return path


# ---- commands ------------------------------------------------------------------

def encode(source):
    return lambda place, n: ["encode", source(place, n), "-o", os.path.join(place, "new"), "--encoder", "pixels",
                             "--size", "native", "--augment", "rotation", "--copies", "1", "--dtype", "float16"]


def train(*options):
    return lambda place, n: ["train", make_bank(place, n), "-o", os.path.join(place, "new"), "--samples", "1", "--trial=false", *options]


def evaluate(metric):
    return lambda place, n: ["eval", make_bank(place, n), os.path.join(place, "adapter"), "--metrics", metric]


# name, by definition, largest size, the command
WORK = (
    ("encode a folder of PNG", 1, 100000, encode(lambda place, n: "folder:" + make_folder(place, n))),
    ("encode a NumPy file", 1, 1000000, encode(lambda place, n: "npy:" + make_tensor(place, n))),
    ("train, one epoch", 1, 1000000, train("--preset", "paper", "--epochs", "1", "--hidden", "512")),
    ("train --preset instant", 1, 1000000, train("--preset", "instant", "--hidden", "512")),
    ("eval structure", 2, 100000, evaluate("structure")),
    ("eval collision", 2, 100000, evaluate("collision")),
    ("eval knn", 2, 100000, evaluate("knn")),
)


def anonymous_megabytes(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            return int(re.search(r"RssAnon:\s+(\d+) kB", f.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0  # it has just ended


def run(options, place, command):
    """(seconds of processors, peak megabytes)"""
    line = [os.path.join(options.build, "src", "cli", "invar"), *command, "--threads", str(options.threads), "-q"]
    shutil.rmtree(os.path.join(place, "new"), ignore_errors=True)
    process, peak = subprocess.Popen(line, stdout=subprocess.DEVNULL), 0
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, anonymous_megabytes(process.pid))
        time.sleep(SAMPLE_SECONDS)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("this failed: %s" % " ".join(line))
    return used.ru_utime + used.ru_stime, peak


def measure(options, place, command, images):
    """Short commands are repeated; the fastest run is the least disturbed one."""
    line = command(place, images)
    found = [run(options, place, line)]
    while len(found) < options.rounds and found[0][0] < 5:
        found.append(run(options, place, line))
    return min(seconds for seconds, _ in found), max(peak for _, peak in found)


def exponent(points, start):
    """The slope of log seconds over log images; None of fewer than two points."""
    points = [(images, seconds - start) for images, seconds in points if seconds > 2 * start]
    if len(points) < 2:
        return None
    x, y = (np.log([p[i] for p in points]) for i in (0, 1))
    return float(np.polyfit(x, y, 1)[0])


def row(options, place, name, definition, largest, command):
    start, _ = measure(options, place, command, SMALL)
    cells, points = [], []
    for images in SIZES:
        if images > min(largest, options.largest):
            cells.append("")
            continue
        seconds, peak = measure(options, place, command, images)
        points.append((images, seconds))
        cells.append("%s s, %.0f MB" % ("%.2f" % seconds if seconds < 10 else "%.0f" % seconds, peak))
        print("%s, %d: %s" % (name, images, cells[-1]), file=sys.stderr, flush=True)
    found = exponent(points, start)
    verdict = "" if found is None else "%.2f%s" % (found, "" if found <= definition + SLACK else " (worse)")
    return [name, "%d" % definition, verdict, *cells]


def main():
    options = common.arguments(__doc__, only="", largest=max(SIZES), folder="")
    options.threads, options.rounds = 1, min(options.rounds, 3)
    wanted = [w for w in WORK if all(word in w[0] for word in options.only.split())]
    place = tempfile.mkdtemp(dir=options.folder or options.build)
    try:
        subprocess.run([os.path.join(options.build, "src", "cli", "invar"), "train", make_bank(place, 1000), "-o",
                        os.path.join(place, "adapter"), "--preset", "instant", "--hidden", "256", "--trial=false", "-q"], check=True)
        rows = [row(options, place, *work) for work in wanted]
    finally:
        shutil.rmtree(place)
    body = ("Whole commands: processor seconds on one thread, the least of up to %d runs, and the peak of anonymous "
            "memory. Features are %d wide, images %d × %d. The exponent is the slope of log seconds over log images, "
            "without the seconds of the same command on %d images, over the sizes that take at least twice as "
            "long.\n\n" % (options.rounds, WIDTH, SIDE, SIDE, SMALL))
    body += common.table(["", "by definition", "exponent", *("%s images" % format(n, ",") for n in SIZES)], rows)
    common.report(options, "growth", "Cost as work grows", body)


if __name__ == "__main__":
    main()
