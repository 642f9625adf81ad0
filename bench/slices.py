# SPDX-License-Identifier: Apache-2.0
"""slices.py - the gain of orthogonal blocks of directions, per unit of time.

The sliced distance of two clouds of 1024 points whose scales decrease with the axis, 64 to
4096 wide, along 1000 directions: its standard deviation over 40 draws of the directions
as a share of its value, and the seconds of one distance, for independent directions and
for orthogonal blocks, in turn. Independent directions reach the deviation of the
orthogonal ones with (ratio of deviations) squared times as many; the last column divides
that by the extra cost of the orthogonal ones.
"""

import common

WIDTHS = (64, 384, 768, 2048, 4096)
POINTS, DIRECTIONS, DRAWS = 1024, 1000, 40
KINDS = ("random", "orthogonal")


def compare(options, d):
    """Seconds per distance and relative deviation, of each kind."""
    program = common.invar_program(options)
    ask = lambda verb, count, kind: program.ask("%s %d %d %d %d %s" % (verb, POINTS, d, DIRECTIONS, count, kind))
    seconds = common.in_turn(options.rounds, {kind: lambda kind=kind: ask("sliced", 3, kind) / 3 for kind in KINDS})
    deviation = {kind: ask("deviation", DRAWS, kind) for kind in KINDS}
    program.close()
    return seconds, deviation


def row_of(d, seconds, deviation):
    worth = (deviation["random"] / deviation["orthogonal"]) ** 2
    cost = seconds["orthogonal"] / seconds["random"]
    row = [str(d)]
    for kind in KINDS:
        row += ["%.1f ms" % (1e3 * seconds[kind]), "%.3f %%" % (100 * deviation[kind])]
    return row + ["%.1f" % worth, "%.2f" % cost, "%.1f" % (worth / cost)]


def main():
    options = common.arguments(__doc__)
    rows = [row_of(d, *compare(options, d)) for d in WIDTHS]
    body = "%d points, %d directions, deviation over %d draws.\n\n" % (POINTS, DIRECTIONS, DRAWS)
    body += common.table(["width", "random", "deviates by", "orthogonal", "deviates by", "worth so many times the directions",
                          "costs times", "worth a second"], rows)
    common.report(options, "slices", "Orthogonal directions", body)


if __name__ == "__main__":
    main()
