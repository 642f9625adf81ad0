#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""summary.py SOURCE - recipes/summary averages seeds, and refuses a metric that is not there."""
import json
import os
import subprocess
import sys
import tempfile

SUMMARY = os.path.join(sys.argv[1], "recipes", "summary")

EXPECTED = """| | LC | R² |
|---|---|---|
| F | 70.0 \\| 40.0 | 1.000 |
| copies-1 | 55.0 (10.0) \\| 30.0 (20.0) | 0.500 |
| fresh | 90.0 \\| 80.0 | 0.750 |
"""


def document():
    """Four columns; R² of the second seed is missing."""
    columns = [{"id": "F", "title": "F"}] + [
        {"id": str(i), "title": title, "adapter": "out/%s/adapter.safetensors" % title}
        for i, title in enumerate(("copies-1-0", "copies-1-1", "fresh-0"), 1)]
    figures = {"lc.clean": (0.7, 0.5, 0.6, 0.9), "lc.augmented": (0.4, 0.2, 0.4, 0.8),
               "structure.R2": (1, 0.5, None, 0.75)}
    return {"format": "invar-results", "version": 1, "bank": "bank", "columns": columns,
            "metrics": [{"id": m, "unit": "number" if m == "structure.R2" else "share"}
                        for m in figures],
            "values": {m: {c["id"]: {"value": v} for c, v in zip(columns, values)}
                       for m, values in figures.items()}}


def summarise(*columns):
    return subprocess.run([SUMMARY] + list(columns), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(document(), f)
        done = summarise(path + ":lc.clean,lc.augmented=LC", path + ":structure.R2=R²")
        assert done.stdout.decode() == EXPECTED, done.stdout.decode() + done.stderr.decode()
        done = summarise(path + ":lc.dirty=LC")
        assert done.returncode == 1 and b"lc.dirty is not among" in done.stderr, done.stderr


main()
