# SPDX-License-Identifier: Apache-2.0
"""kernels.py - our own inner loops by instruction set, each against AVX2's.

One thread, arguments in the cache, processor seconds; the sets run in turn. A form for
AVX-512 is kept only if it is faster than AVX2's on the machine at hand. NEON is built
and tested by ./dev arm under an emulator, whose times say nothing, so none is given.
"""

import os

import common

# Work: (calls in one measurement, what one call is), and whose AVX-512 form differs from AVX2's.
OWN_512 = ("panels", "integers", "normals", "exp")
WORK = {
    "panels": (40, "192 × 384 × 384"),
    "integers": (20000, "6 × 16 × 384, 16 bits"),
    "distances": (20000, "6 × 16 × 384"),
    "sort": (400, "4 × 1,024 keys"),
    "normals": (600, "27,648 numbers"),
    "warp": (600, "3 × 48 × 56 pixels"),
    "exp": (20000, "1,024 numbers"),
}

# What exists for which processor, and the tests that compare it with portable C.
EXISTS = [
    ("panels: packing, products", "yes", "products", "yes", "panels, kernel_bits, bounds"),
    ("integer products of the neighbour filter", "yes", "yes", "yes", "kernels"),
    ("distances by differences, and their sums", "yes", "as AVX2", "yes", "kernels, kernel_bits"),
    ("sorting network, joining, comparing", "yes", "as AVX2", "yes", "sliced, kernel_bits"),
    ("Philox and normals", "yes", "yes", "yes", "sliced, kernel_bits"),
    ("warps, noise, brightness", "yes", "as AVX2", "yes", "images/augment_kernels"),
    ("resizing bytes", "yes", "as AVX2", "yes", "images/resize"),
    ("AdamW, errors, half precision, transposes", "yes", "as AVX2", "yes", "kernels, kernel_bits"),
    ("exponentials, GELU", "yes", "yes", "yes", "kernels, tokens, kernel_bits"),
    ("layer norm", "yes", "as AVX2", "yes", "tokens, kernel_bits"),
    ("sparse products, t-SNE's forces, FFT, splines", "yes", "as AVX2", "yes", "kernels, repulsion, kernel_bits"),
    ("Winograd's tiles, max pools", "yes", "yes", "yes", "conv, bounds"),
]


def program(options):
    return common.LineProgram([os.path.join(options.build, "bench", "kernel_speed")])


def compare(options, speed, name, sets):
    calls = WORK[name][0]
    sides = {kind: lambda kind=kind: speed.ask("%s %s %d" % (name, kind, calls)) / calls
             for kind in sets if kind != "avx512" or name in OWN_512}
    found = common.in_turn(options.rounds, sides)
    found["ref"] = speed.ask("%s ref %d" % (name, max(1, calls // 20))) / max(1, calls // 20)
    return found


def row_of(name, found):
    microseconds = lambda kind: "%.2f µs" % (1e6 * found[kind]) if kind in found else ""
    ratio = "%.2f" % (found["avx2"] / found["avx512"]) if "avx512" in found else ""
    return [name, WORK[name][1], microseconds("ref"), microseconds("avx2"), microseconds("avx512"), ratio]


def main():
    options = common.arguments(__doc__, only="")
    speed = program(options)
    have = int(speed.ask("sets"))
    sets = [kind for bit, kind in ((1, "avx2"), (2, "avx512")) if have & bit]
    names = options.only.split(",") if options.only else list(WORK)
    rows = [row_of(name, compare(options, speed, name, sets)) for name in names]
    speed.close()
    body = "Which inner loops exist for which processor; portable C, the reference, has all of them. Each is compared "
    body += "with it over odd sizes by the tests named; `kernel_bits` has hashes that AVX2, AVX-512 and NEON share. AVX2 and "
    body += "AVX-512 run here; NEON by `./dev arm` under QEMU, where times mean nothing.\n\n"
    body += common.table(["loops", "AVX2", "AVX-512", "NEON", "tests of math, unless named"], [list(row) for row in EXISTS])
    body += "\n\nProcessor time of one call on one thread, medians of %d rounds in turn:\n\n" % options.rounds
    body += common.table(["loop", "call", "portable C", "AVX2", "AVX-512", "times faster than AVX2"], rows)
    common.report(options, "kernels", "Kernels by instruction set", body)


if __name__ == "__main__":
    main()
