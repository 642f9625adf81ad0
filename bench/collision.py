# SPDX-License-Identifier: Apache-2.0
"""collision.py - the raw collision rate of 8,000 copies among 8,000 points, 2,048 wide.

If no distances are equal, a point collides if its nearest clean point is of
another class, so the peer is scikit-learn's nearest neighbour by brute force, in two
forms; the faster one counts. invar finds the nearest of the own class and of the
others, exactly, and decides ties.
"""

import sklearn

import common


def main():
    options = common.arguments(__doc__, points=8000, copies=8000, width=2048)
    line = "collision %d %d %d" % (options.points, options.copies, options.width)
    own = common.invar_program(options)
    peers = {name: common.peer_program(options, "collision.py") for name in ("neighbors", "argmin")}
    sides = {name: lambda p=p, n=name: p.ask(line + " " + n) for name, p in peers.items()}
    sides["invar"] = lambda: own.ask(line)
    for side in sides.values():
        side()  # threads, caches and JIT are warm from here on
    found = common.in_turn(options.rounds, sides)
    memory = {name: p.peak_megabytes() for name, p in dict(peers, invar=own).items()}
    for program in [own, *peers.values()]:
        program.close()
    titles = {"invar": "invar", "neighbors": "scikit-learn NearestNeighbors, brute force",
              "argmin": "scikit-learn pairwise_distances_argmin"}
    products = options.points * options.copies * options.width
    rows = [[titles[name], "%.3f s" % found[name], "%.2f" % (found[name] / found["invar"]),
             "%.0f" % (products / found[name] / 1e9), "%.0f MB" % memory[name]]
            for name in ("invar", "neighbors", "argmin")]
    body = "%s. Medians of %d rounds in turn. %d clean points, %d copies, %d wide, float32.\n\n" % (
        common.versions(sklearn), options.rounds, options.points, options.copies, options.width)
    body += common.table(["", "time", "times invar's", "10^9 products a second", "peak memory"], rows)
    common.report(options, "collision", "Raw collision rate", body)


if __name__ == "__main__":
    main()
