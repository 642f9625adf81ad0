# SPDX-License-Identifier: Apache-2.0
"""apply.py - latency of an adapter in a program that holds it: 1, 16 and 1,000 rows, and opening it.

Hidden 4096, residual, d = 384 and 2048. The peers are PyTorch, eager and compiled with its weights
as constants, and ONNX Runtime. A call gets rows and gives rows; memory for the result is the
library's own with the peers, the caller's with invar.
"""

import onnxruntime
import torch

import common

COUNTS = {1: {384: 200, 2048: 40}, 16: {384: 100, 2048: 20}, 1000: {384: 6, 2048: 2}}  # calls in one measurement
OPENED = {384: 10, 2048: 3}
SIDES = {"invar": "invar", "eager": "PyTorch", "compile": "PyTorch, compiled", "onnx": "ONNX Runtime"}


def compare(options, line, count, names):
    """{side: (median seconds of a call, of processors)}"""
    own = common.invar_program(options)
    peers = {name: common.peer_program(options, "apply.py") for name in names if name != "invar"}
    sides = {name: lambda p=p, n=name: p.ask_both(line + " " + n) for name, p in peers.items()}
    sides["invar"] = lambda: own.ask_both(line)
    for side in sides.values():
        side()  # warms up
    found = common.in_turn(options.rounds, sides)
    for program in [own, *peers.values()]:
        program.close()
    return {name: tuple(x / count for x in seconds) for name, seconds in found.items()}


def rows_of(what, found):
    base = found["invar"][0]
    return [[what, SIDES[name], "%.3f ms" % (1e3 * found[name][0]), "%.2f" % (found[name][0] / base),
             "%.3f ms" % (1e3 * found[name][1])] for name in SIDES if name in found]


def main():
    options = common.arguments(__doc__, rows="1,16,1000", widths="384,2048")
    rows = []
    for d in map(int, options.widths.split(",")):
        for m in map(int, options.rows.split(",")):
            count = COUNTS[m][d]
            rows += rows_of("d = %d, rows: %d" % (d, m), compare(options, "apply %d %d %d" % (d, m, count), count, SIDES))
        rows += rows_of("d = %d, opening" % d, compare(options, "open %d %d" % (d, OPENED[d]), OPENED[d],
                                                         ("invar", "eager", "onnx")))
    body = "%s. Medians of %d rounds in turn; hidden 4096, residual.\n\n" % (
        common.versions(torch, onnxruntime), options.rounds)
    body += common.table(["work", "", "time", "times invar's", "processors"], rows)
    common.report(options, "apply", "Latency of apply", body)


if __name__ == "__main__":
    main()
