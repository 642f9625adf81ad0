#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small files in data/ with NumPy and struct, not with invar.

    python3 tests/formats/make_data.py

Element i in C order holds i - 5 (signed integers), i (unsigned) or (i - 5) / 4
(floats), so that a test knows every value from its place.
"""

import json
import os
import struct

import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def path(name):
    return os.path.join(HERE, name)


def ramp(shape, kind):
    i = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    return {"f": (i - 5) / 4, "i": i - 5, "u": i}[kind]


def save(name, array, version=None):
    with open(path(name), "wb") as f:
        np.lib.format.write_array(f, array, version=version, allow_pickle=False)


def every_type():
    for code in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
        for mark, word in (("<", "le"), (">", "be")):
            for order in "CF":
                array = np.array(ramp((2, 3, 2), code[0]), dtype=mark + code, order=order)
                save("%s_%s_%s.npy" % (code, word, order.lower()), array)


def by_hand(name, header, data, align):
    """A version 1 file as older writers made them."""
    pad = -(10 + len(header) + 1) % align
    header = header.encode() + b" " * pad + b"\n"
    with open(path(name), "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def special_npy():
    two_three = ramp((2, 3), "f").astype("<f4")
    for version in (1, 2, 3):
        save("version_%d.npy" % version, two_three, (version, 0))
    save("scalar.npy", np.float32(7.25))
    save("vector.npy", ramp((5,), "i").astype("<i8"))
    save("empty.npy", np.zeros((3, 0, 2), "<f4"))
    save("rank_8_f.npy", np.asfortranarray(ramp((2, 1, 3, 1, 2, 1, 2, 1), "f").astype("<f4")))
    save("uint64_max.npy", np.array([1, 2**64 - 1], "<u8"))
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"
    by_hand("python_2.npy", text % "(2L, 3L)", two_three.tobytes(), 16)
    by_hand("unaligned.npy", text % "(2, 3)", two_three.tobytes(), 1)


def safetensors():
    """One of everything that is read, offsets in another order than the names."""
    values = ramp((2, 3), "f")
    bf16 = (values.astype("<f4").view("<u4") >> 16).astype("<u2")
    parts = [
        ("f64", "F64", values.astype("<f8"), [2, 3]),
        ("int", "I64", ramp((2,), "i").astype("<i8"), [2]),
        ("f32", "F32", values.astype("<f4"), [2, 3]),
        ("scalar", "F32", np.array([7.25], "<f4"), []),
        ("empty", "F32", np.zeros((0, 4), "<f4"), [0, 4]),
        ("bf16", "BF16", bf16, [2, 3]),
        ("f16", "F16", values.astype("<f2"), [2, 3]),
    ]
    header, data = {"__metadata__": {"format": "pt", "note": "gr\u00fc\u00dfe"}}, b""
    for name, dtype, array, shape in parts:
        end = len(data) + array.nbytes
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path("mixed.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    every_type()
    special_npy()
    safetensors()
