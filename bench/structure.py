# SPDX-License-Identifier: Apache-2.0
"""structure.py - structure over all pairs of 8,000 points: invar against pdist.

32 million pairs, 384 wide, of points and of codes. The peers are SciPy's pdist (one
thread, float64) and torch.pdist (all threads, float32), each followed by the same
formulas; both keep every distance in memory, so peak memory is shown too.
"""

import scipy
import torch

import common


def main():
    options = common.arguments(__doc__, points=8000, width=384)
    if options.rounds == 9:
        options.rounds = 3  # SciPy takes its time
    line = "structure %d %d" % (options.points, options.width)
    found, memory = common.beside_variants(options, "structure.py", ("scipy", "torch"), line)
    titles = {"invar": "invar", "scipy": "SciPy pdist, NumPy", "torch": "torch.pdist"}
    rows = [[titles[name], "%.2f s" % found[name], "%.1f" % (found[name] / found["invar"]),
             "%.0f MB" % memory[name]] for name in ("invar", "torch", "scipy")]
    body = "%s. Medians of %d rounds in turn. %d points, %d wide, %d pairs.\n\n" % (
        common.versions(scipy, torch), options.rounds, options.points, options.width,
        options.points * (options.points - 1) // 2)
    body += common.table(["", "time", "times invar's", "peak memory"], rows)
    common.report(options, "structure", "Structure", body)


if __name__ == "__main__":
    main()
