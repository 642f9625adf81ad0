#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/formats/images: small JPEG and PNG files with the RGB pixels that Pillow
(libjpeg-turbo, libpng) sees in them, as NAME.npy beside NAME. Needs NumPy and Pillow.

    python3 tests/formats/make_images.py
"""
import os
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images")
W, H = 23, 14  # odd sizes show mistakes at the edges


def picture():
    """Smooth colours with a sharp corner, so that no two of its turns are alike."""
    y, x = np.mgrid[0:H, 0:W].astype("f8")
    rgb = np.stack([255 * x / W, 255 * y / H, 128 + 100 * np.sin(x / 3 + y / 5)], -1)
    rgb[:5, :8] = (250, 20, 30)
    return rgb.round().clip(0, 255).astype("u1")


def keep(name, rgb):
    np.save(os.path.join(HERE, name + ".npy"), np.ascontiguousarray(rgb, dtype="u1"))


def by_pillow(name, image, **options):
    path = os.path.join(HERE, name)
    image.save(path, **options)
    keep(name, np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB")))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(name, width, height, depth, colour, rows, interlace=0, before=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    data = b"".join(b"\0" + row for row in rows)
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before
                + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


def adam7(rgb):
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4),
                           (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for row in rgb[y0::dy, x0::dx]:
            yield row.tobytes()


def exif(orientation):
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"II*\0" + struct.pack("<IH", 8, 1) + entry + struct.pack("<I", 0)


def main():
    os.makedirs(HERE, exist_ok=True)
    rgb = picture()
    image = Image.fromarray(rgb)
    by_pillow("444.jpg", image, quality=90, subsampling=0)
    by_pillow("422.jpg", image, quality=90, subsampling=1)
    by_pillow("420.jpg", image, quality=90, subsampling=2)
    by_pillow("progressive.jpg", image, quality=80, progressive=True)
    by_pillow("grey.jpg", image.convert("L"), quality=90)
    by_pillow("cmyk.jpg", image.convert("CMYK"), quality=90)
    for turn in range(1, 9):
        by_pillow(f"exif{turn}.jpg", image, quality=90, subsampling=0,
                  exif=b"Exif\0\0" + exif(turn))
    by_pillow("rgb.png", image)
    by_pillow("grey.png", image.convert("L"))
    by_pillow("bits.png", image.convert("1"))
    by_pillow("palette.png", image.quantize(200))
    by_pillow("palette4.png", image.quantize(11), bits=4)
    alpha = image.convert("RGBA")
    alpha.putalpha(image.convert("L"))
    by_pillow("rgba.png", alpha)
    by_pillow("la.png", alpha.convert("LA"))
    # What Pillow does not write, or would not keep: 16 bits, interlaced, turned PNG.
    deep = rgb.astype(">u2") * 257 - 100 * (rgb > 100)
    png("rgb16.png", W, H, 16, 2, [row.astype(">u2").tobytes() for row in deep])
    keep("rgb16.png", deep >> 8)
    png("grey16.png", W, H, 16, 0, [row.astype(">u2").tobytes() for row in deep[..., 1]])
    keep("grey16.png", np.repeat((deep[..., 1:2] >> 8), 3, -1))
    png("interlaced.png", W, H, 8, 2, adam7(rgb), interlace=1)
    keep("interlaced.png", rgb)
    png("turned.png", W, H, 8, 2, [row.tobytes() for row in rgb], before=chunk(b"eXIf", exif(6)))
    keep("turned.png", np.rot90(rgb, -1))


main()
