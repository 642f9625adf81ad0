#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Warped pictures of which the centre is cut out, as inside=1 defines them.

    python3 tests/golden/augment/inside/make_inside.py

writes x_*.npy, row_*.npy and exp_*.npy beside itself. A picture is warped as a whole by Kornia's
formulas, written out plainly in double with zeros outside, and then its centre is taken; no
shortcut through the cut. Needs NumPy.
"""
import math
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def bilinear(picture, x, y):
    """picture [c, h, w] at places x, y [h', w']; what lies outside is 0."""
    c, h, w = picture.shape
    out = np.zeros((c,) + x.shape)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    for dy in (0, 1):
        for dx in (0, 1):
            u, v = left + dx, top + dy
            share = (1 - np.abs(x - u)) * (1 - np.abs(y - v))
            there = (u >= 0) & (v >= 0) & (u < w) & (v < h)
            taken = picture[:, np.clip(v, 0, h - 1), np.clip(u, 0, w - 1)]
            out += taken * np.where(there, share, 0)
    return out


def warp(picture, m, align_corners):
    """Kornia's warp_affine up to 0.8.3: the matrix normalised by size - 1, the grid by size."""
    _, h, w = picture.shape
    u, v = np.meshgrid(np.arange(w, dtype=float), np.arange(h, dtype=float))
    if not align_corners:
        u, v = (u + 0.5) * (w - 1) / w, (v + 0.5) * (h - 1) / h
    back = np.linalg.inv(m)
    x = back[0, 0] * u + back[0, 1] * v + back[0, 2]
    y = back[1, 0] * u + back[1, 1] * v + back[1, 2]
    if not align_corners:
        x, y = x * w / (w - 1) - 0.5, y * h / (h - 1) - 0.5
    return bilinear(picture, x, y)


def shifted(x, y):
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])


def rotation(side, angle):
    c, s, middle = math.cos(math.radians(angle)), math.sin(math.radians(angle)), (side - 1) / 2
    turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    return shifted(middle, middle) @ turn @ shifted(-middle, -middle)


def affine(side, angle, scale, tx, ty, shear_x, shear_y):
    c, s, middle = math.cos(math.radians(angle)), math.sin(math.radians(angle)), (side - 1) / 2
    turn = np.array([[scale * c, -scale * s, 0], [scale * s, scale * c, 0], [0, 0, 1]])
    shear = np.array([[1, -math.tan(math.radians(shear_x)), 0], [0, 1, 0], [0, 0, 1]])
    assert shear_y == 0
    middle = shifted(middle, middle)
    return shifted(tx, ty) @ middle @ turn @ shear @ np.linalg.inv(middle)


def centre(picture, side):
    at = (picture.shape[1] - side) // 2
    return picture[:, at:at + side, at:at + side]


def save(name, array, kind):
    np.save(os.path.join(HERE, name + ".npy"), np.ascontiguousarray(array, kind))


def case(name, seed, prepared, seen, rows, matrix, align_corners):
    random = np.random.default_rng(seed)
    rows = np.array(rows, "f4")
    x = random.normal(size=(len(rows), 2, prepared, prepared)).astype("f4")
    out = [centre(warp(p.astype(float), matrix(prepared, *map(float, row)), align_corners), seen)
           for p, row in zip(x, rows)]
    save("x_" + name, x, "<f4")
    save("row_" + name, rows, "<f4")
    save("exp_" + name, out, "<f8")


# 17 sqrt(2) = 24.04, and the next odd number is 25; 16 sqrt(2) = 22.6, and the next even one 24.
case("rotation_odd", 1, 25, 17, [[0], [33.7], [-135], [45]], rotation, True)
case("rotation_even", 2, 24, 16, [[180], [90], [-44.9], [7.25]], rotation, True)
# The defaults of affine need (2 h sqrt(2) / (0.8 cos 15) + 1) pixels, h = 8 + 0.2 17 17 / 16: 43.4.
case("affine_odd", 3, 45, 17, [[30, 0.8, 3.4, -3.4, 15, 0], [-30, 1.2, 0, 1.5, -15, 0],
                               [0, 1, 0, 0, 0, 0], [12.5, 0.93, -3.4, 3.3, 7, 0]], affine, False)
