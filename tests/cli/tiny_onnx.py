# SPDX-License-Identifier: Apache-2.0
"""tiny_onnx.py - ONNX models of a few hundred bytes, written without any package.

The network computes channel means times W [3, 5]. `make` writes it with the traits that a test is about.
"""
import struct

FLOAT, UINT8, FLOAT16 = 1, 2, 10
WIDTH = 5
W = [[(7 * i + 3 * j) % 11 / 4 - 1 for j in range(WIDTH)] for i in range(3)]  # exact in float32


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, *pieces):
    data = b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    return varint(field << 3 | 2) + varint(len(data)) + data


def value(field, name, element, axes):
    """A ValueInfoProto; an axis is a number, or a name where it is free; axes None: unknown."""
    shape = b"" if axes is None else part(2, *(part(1, number(1, a) if isinstance(a, int) else part(2, a)) for a in axes))
    return part(field, part(1, name), part(2, part(1, number(1, element), shape)))


def node(operator, inputs, outputs, **attributes):
    ints = [part(5, part(1, name), number(3, x), number(20, 2)) for name, x in attributes.items()]
    return part(1, *(part(1, one) for one in inputs), *(part(2, one) for one in outputs), part(4, operator), *ints)


def weights(external=None):
    raw = b"".join(struct.pack("<5f", *row) for row in W)
    head = number(1, 3) + number(1, WIDTH) + number(2, FLOAT) + part(8, "W")
    if external is None:
        return part(5, head, part(9, raw)), raw
    return part(5, head, part(13, part(1, "location"), part(2, external)), part(13, part(1, "length"), part(2, str(len(raw)))),
                number(14, 1)), raw


def make(path, shape=("n", 3, 8, 8), element=FLOAT, output="features", extra_input=False, extra_output=False,
         output_element=FLOAT, external=None, metadata=None, ir=8, operator="MatMul"):
    """`output`: features [n, 5]; tokens [n, 3, h * w]; maps [n, 3, h, w]. `external`: the name of the file with W."""
    tensor, raw = weights(external)
    nodes = [node("GlobalAveragePool", ["images"], ["mean"]), node("Flatten", ["mean"], ["flat"], axis=1),
             node(operator, ["flat", "W"], ["features"]), node("Relu", ["images"], ["maps"]),
             node("Reshape", ["images", "form"], ["tokens"])]
    if output == "maps":  # of any number of channels
        nodes = nodes[3:4]
    form = part(5, number(1, 3), number(2, 7), part(8, "form"), part(9, struct.pack("<3q", 0, 3, -1)))
    values = [value(11, "images", element, shape)]
    if extra_input:
        values.append(value(11, "mask", FLOAT, ["n", 4]))
    if ir < 4:
        values += [value(11, "W", FLOAT, [3, WIDTH]), value(11, "form", 7, [3])]
    axes = {"features": ["n", WIDTH], "tokens": ["n", 3, "pixels"], "maps": ["n", "c", "h", "w"]}
    values.append(value(12, output, output_element, axes[output]))
    if extra_output:
        values.append(value(12, "tokens", FLOAT, axes["tokens"]))
    graph = part(7, *nodes, part(2, "tiny"), tensor, form, *values)
    said = b"".join(part(14, part(1, key), part(2, text)) for key, text in (metadata or {}).items())
    with open(path, "wb") as file:
        file.write(number(1, ir) + graph + part(8, part(1, ""), number(2, 13)) + said)
    return raw
