# SPDX-License-Identifier: Apache-2.0
"""graph.py - graph statistics of 8,000 points: invar against scikit-learn and SciPy.

Neighbours of rows before and after E, and for k = 10, 20, 50 the 50 smallest eigenvalues of
the graph and the heat kernel signature of the weighted one: 12 eigenproblems. The peers
search once for all k, as invar does, and differ in what they ask ARPACK for.
"""

import scipy
import sklearn

import common

TITLES = {"invar": "invar", "largest": "scikit-learn, eigsh of I - L, largest",
          "smallest": "scikit-learn, eigsh of L, smallest"}


def main():
    options = common.arguments(__doc__, points=8000, width=384)
    if options.rounds == 9:
        options.rounds = 3
    line = "graph %d %d" % (options.points, options.width)
    own = common.invar_program(options)
    peers = {name: common.peer_program(options, "graph.py") for name in TITLES if name != "invar"}
    sides = {name: lambda p=p, n=name: p.ask_both(line + " " + n) for name, p in peers.items()}
    sides["invar"] = lambda: own.ask_both(line)
    found = common.in_turn(options.rounds, sides)
    memory = {name: p.peak_megabytes() for name, p in dict(peers, invar=own).items()}
    for program in [own, *peers.values()]:
        program.close()
    base = found["invar"]
    rows = [[title, "%.2f s" % found[name][0], "%.1f" % (found[name][0] / base[0]), "%.2f s" % found[name][1],
             "%.1f" % (found[name][1] / base[1]), "%.0f MB" % memory[name]] for name, title in TITLES.items()]
    body = "%s. Medians of %d rounds in turn. %d points, %d wide. Seconds of processors include making the rows.\n\n" % (
        common.versions(scipy, sklearn), options.rounds, options.points, options.width)
    body += common.table(["", "time", "times invar's", "processors", "times invar's", "peak memory"], rows)
    common.report(options, "graph", "Graph statistics", body)


if __name__ == "__main__":
    main()
