#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/formats/images: small JPEG, PNG, TIFF and WebP files with the RGB pixels that Pillow
(libjpeg-turbo, libpng, libtiff, libwebp) sees in them, as NAME.npy beside NAME. Needs NumPy and Pillow.

    python3 tests/formats/make_images.py
"""
import io
import os
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps

import tiff_writer as tw

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


def tiff(name, samples, **options):
    """A layout that Pillow reads and does not write."""
    path = os.path.join(HERE, name)
    tw.write(path, samples, **options)
    image = Image.open(path)
    if not image.mode.startswith("I;16"):
        keep(name, np.asarray(ImageOps.exif_transpose(image).convert("RGB")))
        return
    # Its conversion cuts off at 255, and it does not invert where 0 is white.
    grey = np.asarray(image) >> 8
    keep(name, np.repeat((255 - grey if image.tag_v2[262] == 0 else grey)[..., None], 3, -1))


def make_tiff(rgb, image, alpha):
    for name in ("raw", "lzw", "adobe_deflate", "packbits"):
        by_pillow(name + ".tif", image, compression=name if name in ("raw", "packbits") else "tiff_" + name)
    by_pillow("jpeg.tif", image, compression="jpeg", quality=90)
    by_pillow("jpeg_grey.tif", image.convert("L"), compression="jpeg", quality=90)
    by_pillow("zstd.tif", image, compression="zstd")
    by_pillow("group4.tif", image.convert("1"), compression="group4")
    by_pillow("bits.tif", image.convert("1"))
    by_pillow("white.tif", image.convert("L"), tiffinfo={262: 0})
    by_pillow("palette.tif", image.quantize(200), compression="tiff_lzw")
    by_pillow("rgba.tif", alpha, compression="tiff_lzw")
    by_pillow("la.tif", alpha.convert("LA"))
    by_pillow("cmyk.tif", image.convert("CMYK"), compression="tiff_lzw")
    by_pillow("pages.tif", image, save_all=True, append_images=[image.rotate(90, expand=True)])
    for turn in (3, 6):
        by_pillow(f"turned{turn}.tif", image, tiffinfo={274: turn})
    deep = rgb.astype("u2") * 257 - 100 * (rgb > 100).astype("u2")
    grey = np.asarray(image.convert("L"))[..., None]
    a = np.asarray(alpha)[..., 3:].astype("u4")
    tiff("rgb16.tif", deep, photometric=tw.RGB, bits=16, compression="lzw", predictor=2, rows=5)
    tiff("grey16.tif", deep[..., 1:2], photometric=tw.GREY, bits=16, big_endian=True, rows=3)
    tiff("white16.tif", deep[..., 1:2], photometric=0, bits=16, compression="deflate")
    tiff("grey4.tif", grey >> 4, photometric=tw.GREY, bits=4, tile=(16, 16), compression="packbits")
    tiff("tiles.tif", rgb, photometric=tw.RGB, tile=(16, 16), compression="deflate", predictor=2)
    tiff("planes.tif", rgb, photometric=tw.RGB, rows=4, planar=2, compression="packbits")
    tiff("plane_tiles.tif", rgb, photometric=tw.RGB, tile=(16, 16), planar=2, compression="lzw")
    tiff("premultiplied.tif", np.concatenate([rgb * a // 255, a], -1), photometric=tw.RGB, extra=[1])
    tiff("ycbcr.tif", rgb, photometric=tw.YCBCR, compression="jpeg")
    tiff("ycbcr_tiles.tif", rgb, photometric=tw.YCBCR, compression="jpeg", tile=(16, 16))
    # BigTIFF with tags of GeoTIFF and an unknown one, which mean nothing here
    tiff("big.tif", rgb, photometric=tw.RGB, big=True, compression="lzw", rows=6,
         more=[(34735, tw.SHORT, [1, 1, 0, 1, 1024, 0, 1, 1]), (65000, tw.LONG, [7])])


def make_webp(image, alpha):
    by_pillow("lossy.webp", image, quality=70)
    by_pillow("lossless.webp", image, lossless=True)
    by_pillow("alpha.webp", alpha, quality=80)
    by_pillow("exact.webp", alpha, lossless=True, exact=True)
    by_pillow("turned.webp", image, quality=70, exif=exif(6))
    by_pillow("animation.webp", image, save_all=True, append_images=[image.rotate(180)])
    small = image.crop((2, 4, 13, 11))
    make_inset("inset.webp", small, (4, 2))
    for name, where in (("outside.webp", (W - 9, 0)), ("below.webp", (0, H - 6))):
        make_inset(os.path.join("refused", name), small, where)
    make_inset(os.path.join("refused", "other_size.webp"), small, (0, 0), claim=(10, 7))
    make_inset(os.path.join("refused", "no_frame.webp"), small, (0, 0), tag=b"XXXX")
    keep("inset.webp", np.asarray(Image.open(os.path.join(HERE, "inset.webp")).convert("RGB")))


def make_inset(name, picture, where, claim=None, tag=b"ANMF"):
    """An animation of one frame that covers a part of the picture, which Pillow does not write."""
    def little(*numbers):
        return b"".join(struct.pack("<I", n)[:3] for n in numbers)

    def riff(tag, body):
        return tag + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)

    alone = io.BytesIO()
    picture.save(alone, "WEBP", lossless=True)
    width, height = claim or picture.size
    place = little(where[0] // 2, where[1] // 2, width - 1, height - 1, 100) + b"\2"
    body = b"WEBP" + riff(b"VP8X", b"\x02\0\0\0" + little(W - 1, H - 1)) + riff(b"ANIM", b"\xff" * 4 + b"\0\0")
    body += riff(tag, place + alone.getvalue()[12:])
    with open(os.path.join(HERE, name), "wb") as file:
        file.write(riff(b"RIFF", body))


def make_refused(rgb):
    """TIFF files in images/refused: what is not read, and what claims too much."""
    def path(name):
        return os.path.join(HERE, "refused", name + ".tif")

    def write(name, samples=rgb, photometric=tw.RGB, **options):
        tw.write(path(name), samples, photometric=photometric, **options)

    def patched(name, tag, value):
        """Replaces the value of a LONG or SHORT tag of a little-endian file."""
        with open(path(name), "rb") as f:
            data = bytearray(f.read())
        at, = struct.unpack_from("<I", data, 4)
        for i in range(struct.unpack_from("<H", data, at)[0]):
            entry = at + 2 + 12 * i
            if struct.unpack_from("<H", data, entry)[0] == tag:
                struct.pack_into("<I", data, entry + 8, value)
        with open(path(name), "wb") as f:
            f.write(data)

    os.makedirs(os.path.join(HERE, "refused"), exist_ok=True)
    write("floats", more=[(339, tw.SHORT, [3, 3, 3])])
    write("bands", np.repeat(rgb, 3, -1), photometric=tw.GREY)
    write("lab", photometric=8)
    write("lerc")
    patched("lerc", 259, 34887)
    write("huge", compression="deflate")
    patched("huge", 256, 0x100000)
    patched("huge", 257, 0x100000)
    patched("huge", 278, 0x100000)
    write("tall", compression="deflate", rows=1)  # 2^26 rows and an array of strips for them
    patched("tall", 257, 0x7fffffff)
    write("tile", compression="deflate", tile=(16, 16))
    patched("tile", 322, 0x100000)
    patched("tile", 323, 0x100000)
    write("samples", np.repeat(rgb, 20, -1), compression="deflate", rows=8192, extra=[0] * 57)
    patched("samples", 256, 8192)
    patched("samples", 257, 8192)
    # Each tag claims nearly the whole file, 900 times over.
    write("tags", np.zeros((60, 80, 3), "u1"), more=[(50000 + i, tw.LONG, [i]) for i in range(900)])
    with open(path("tags"), "rb") as f:
        data = bytearray(f.read())
    at, = struct.unpack_from("<I", data, 4)
    for i in range(struct.unpack_from("<H", data, at)[0]):
        if struct.unpack_from("<H", data, at + 2 + 12 * i)[0] >= 50000:
            struct.pack_into("<II", data, at + 2 + 12 * i + 4, 5000, 8)
    with open(path("tags"), "wb") as f:
        f.write(data)
    # The scan of the strip ends at once; libjpeg would go on with grey.
    write("jpeg", photometric=tw.YCBCR, compression="jpeg")
    with open(path("jpeg"), "rb") as f:
        data = bytearray(f.read())
    start = data.index(b"\xff\xda") + 14
    end = data.index(b"\xff\xd9", start) + 2
    data[start:end] = (b"\xff\xd9" * (end - start))[:end - start]
    with open(path("jpeg"), "wb") as f:
        f.write(data)


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
    make_tiff(rgb, image, alpha)
    make_webp(image, alpha)
    make_refused(rgb)


main()
