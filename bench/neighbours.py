# SPDX-License-Identifier: Apache-2.0
"""neighbours.py - the exact nearest neighbours of a set's own rows.

The peers compute distances from products in float32 (faiss) or double (scikit-learn) and keep
what comes out; invar's equal those from differences in double, ties by row.
"""

import faiss
import sklearn

import common

VARIANTS = {"invar": "invar", "faiss": "faiss IndexFlatL2", "sklearn": "scikit-learn, brute force"}


def main():
    options = common.arguments(__doc__, sizes="8000x384x50,20000x192x91,70000x50x91")
    own = common.invar_program(options)
    peers = {name: common.peer_program(options, "neighbours.py") for name in VARIANTS if name != "invar"}
    rows = []
    for size in options.sizes.split(","):
        n, d, k = (int(part) for part in size.split("x"))
        line = "neighbours %d %d %d" % (n, d, k)
        sides = {name: lambda p=p, name=name: p.ask_both(line + " " + name) for name, p in peers.items()}
        sides["invar"] = lambda: own.ask_both(line)
        found = common.in_turn(options.rounds, sides)
        base = found["invar"]
        rows += [[size.replace("x", " × "), VARIANTS[name], "%.2f s" % found[name][0],
                  "%.2f" % (found[name][0] / base[0]), "%.2f s" % found[name][1],
                  "%.2f" % (found[name][1] / base[1])] for name in VARIANTS]
    for program in [own, *peers.values()]:
        program.close()
    body = "%s. Medians of %d rounds in turn; normal rows, float32. Seconds of processors include\nmaking the rows.\n\n" % (
        common.versions(faiss, sklearn), options.rounds)
    body += common.table(["rows × width × k", "", "time", "times invar's", "processors", "times invar's"], rows)
    common.report(options, "neighbours", "Exact nearest neighbours", body)


if __name__ == "__main__":
    main()
