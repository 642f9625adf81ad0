#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rows.py SOURCE - recipes/no_tuning/table --into joins rows into a document's tables."""
import json
import os
import subprocess
import sys
import tempfile

TABLE = os.path.join(sys.argv[1], "recipes", "no_tuning", "table")

DOCUMENT = """# Results

### one

| | LC | R² |
|---|---|---|
| F | 1.0 (0.0) \\| 2.0 (0.0) | 1.000 (0.000) |
| F, mean of 2 copies of the original, 2 times the cost |  |  |
| MaWa, paper, 30 epochs (1 of 3 seeds) | 3.0 \\| 4.0 | 0.500 |
| MaWa, paper, PyTorch | 3.1 \\| 4.1 | 0.5 |
| robust | 5.0 (0.0) \\| 6.0 (0.0) | 0.700 (0.000) |

Behind the table.
"""

EXPECTED = """# Results

### one

| | LC | R² |
|---|---|---|
| F | 1.0 (0.0) \\| 2.0 (0.0) | 1.000 (0.000) |
| F, mean of 2 copies of the original, 2 times the cost |  |  |
| ridge (1 of 3 seeds) | 20.0 \\| 30.0 | 0.250 |
| MaWa, paper, 30 epochs (2 of 3 seeds) | 15.0 (10.0) \\| 25.0 (10.0) | 0.375 (0.250) |
| MaWa, paper, PyTorch | 3.1 \\| 4.1 | 0.5 |
| WaCo, 30 epochs | 20.0 (20.0) \\| 30.0 (20.0) | 0.500 (0.500) |
| robust | 5.0 (0.0) \\| 6.0 (0.0) | 0.700 (0.000) |
| instant, R² 0.95 (1 of 3 seeds) | 10.0 \\| 20.0 | 0.250 |

Behind the table.
"""


def write_results(folder, column, values):
    """The figures of a column, seed by seed."""
    for seed, v in enumerate(values):
        with open(os.path.join(folder, "%s-%d.json" % (column, seed)), "w", encoding="utf-8") as f:
            json.dump({"lc.clean": v, "lc.augmented": v + 0.1, "structure.R2": 2.5 * v}, f)


def join(folder, bank, document):
    return subprocess.run([TABLE, os.path.join(folder, "out"), bank, "--print", "--into", document],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "out", "bank-one")
        os.makedirs(results)
        write_results(results, "F", [0.9])  # fewer seeds than the row has: it stays
        write_results(results, "robust", [0.9])
        write_results(results, "mawa", [0.1, 0.2])
        write_results(results, "waco", [0.1, 0.2, 0.3])
        write_results(results, "instant-95", [0.1])
        with open(os.path.join(results, "ridge-0.json"), "w", encoding="utf-8") as f:
            json.dump({"lc.clean": 0.2, "lc.augmented": 0.3, "structure.R2": 0.25, "seconds": 7}, f)
        document = os.path.join(folder, "results.md")
        with open(document, "w", encoding="utf-8") as f:
            f.write(DOCUMENT)
        for _ in range(2):  # the second time changes nothing
            done = join(folder, "banks/bank-one", document)
            assert done.returncode == 0, done.stderr
            with open(document, encoding="utf-8") as f:
                found = f.read()
            assert found == EXPECTED, found
        os.rename(results, os.path.join(folder, "out", "two"))
        done = join(folder, "banks/two", document)
        assert done.returncode == 1 and "no heading two above a table" in done.stderr, done.stderr


main()
