# SPDX-License-Identifier: Apache-2.0
"""retrieval.py - recall and average precision of 2,000 queries in a gallery of 10,000, 512 wide.

Two tasks by L2. image: the place of the query's own row; the peers only look among the ten
nearest (recall@10), invar finds the place itself. class: average precision over the rows of
the query's class (ten classes), for which the peers sort the whole gallery.

The peers are faiss's flat index and scikit-learn's brute force, both in float32 with distances
from products; invar decides every order that matters by distances in double (ranks.h).
"""

import faiss
import sklearn

import common

TASKS = {"image": "own image", "class": "own class, mAP"}
SIDES = {"invar": "invar", "faiss": "faiss IndexFlatL2", "sklearn": "scikit-learn, brute force"}


def compare(options, task):
    """{side: median seconds, also of processors}, {side: peak MB}"""
    line = "retrieval %s %d %d %d" % (task, options.gallery, options.queries, options.width)
    own = common.invar_program(options)
    peers = {name: common.peer_program(options, "retrieval.py") for name in SIDES if name != "invar"}
    sides = {name: lambda p=p, n=name: p.ask_both(line + " " + n) for name, p in peers.items()}
    sides["invar"] = lambda: own.ask_both(line)
    for side in sides.values():
        side()  # warms up
    found = common.in_turn(options.rounds, sides)
    memory = {name: p.peak_megabytes() for name, p in dict(peers, invar=own).items()}
    for program in [own, *peers.values()]:
        program.close()
    return found, memory


def main():
    options = common.arguments(__doc__, gallery=10000, queries=2000, width=512)
    rows = []
    for task, title in TASKS.items():
        found, memory = compare(options, task)
        base = found["invar"]
        rows += [[title, SIDES[name], "%.3f s" % found[name][0], "%.2f" % (found[name][0] / base[0]),
                  "%.3f s" % found[name][1], "%.2f" % (found[name][1] / base[1]), "%.0f MB" % memory[name]]
                 for name in SIDES]
    body = "%s. Medians of %d rounds in turn. %d clean rows, %d queries, %d wide, float32, L2; making the\nindex is part of both times.\n\n" % (
        common.versions(faiss, sklearn), options.rounds, options.gallery, options.queries, options.width)
    body += common.table(["task", "", "time", "times invar's", "processors", "times invar's", "peak memory"], rows)
    common.report(options, "retrieval", "Retrieval", body)


if __name__ == "__main__":
    main()
