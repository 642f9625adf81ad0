#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""images.py - the pixels of TIFF and WebP files beside Pillow's.

    python3 images.py INVAR        INVAR is the program; libinvar.so is found beside it

Photographs (INVAR_IMAGES, a folder, else the UC Merced archive of INVAR_SHARED, else drawn ones) are written
as TIFF files of every compression, bit depth, colour space and layout, by Pillow or, where it cannot, by
tests/formats/tiff_writer.py, and as WebP files; each must have Pillow's pixels in every bit. Pillow's mode
"I;16" (grey, 16 bits) is compared by its samples: of them we keep the upper 8 bits, while its own conversion to
RGB cuts everything above 255 off; and it does not invert such files where 0 is white. Exit 77 (skipped) where
a library is not installed.
"""
import ctypes
import glob
import io
import itertools
import os
import sys
import tarfile
import tempfile
import zipfile

try:
    import numpy as np
    import PIL
    from PIL import Image, ImageOps, features
except ImportError as error:
    print("skipped: %s (./dev parity images sets it up)" % error)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("INVAR_SHARED", os.path.join(HERE, "..", "..", "..", "shared"))
sys.path.insert(0, os.path.join(HERE, "..", "formats"))
import tiff_writer as tw  # noqa: E402

PHOTOS = 24
PILLOW = ("raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits", "zstd")


# ---- Ours and Pillow's -----------------------------------------------------------


class Library:
    def __init__(self, program):
        place = os.path.join(os.path.dirname(os.path.abspath(program)), "..", "libinvar.so")
        self.lib = ctypes.CDLL(place)
        self.lib.invar_last_error.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        assert self.lib.invar_context_new(1, None, ctypes.byref(self.context)) == 0

    def read(self, path):
        rgb, w, h = ctypes.POINTER(ctypes.c_uint8)(), ctypes.c_uint32(), ctypes.c_uint32()
        if self.lib.invar_image_read(self.context, path.encode(), ctypes.byref(rgb), ctypes.byref(w), ctypes.byref(h)):
            raise ValueError(self.lib.invar_last_error().decode())
        out = np.ctypeslib.as_array(rgb, (h.value, w.value, 3)).copy()
        self.lib.invar_free(rgb)
        return out


def pillow(path):
    with Image.open(path) as image:
        white = image.format == "TIFF" and image.tag_v2.get(262) == 0
        if not image.mode.startswith("I;16"):
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
        samples = np.asarray(ImageOps.exif_transpose(image)) >> 8
        return np.repeat((255 - samples if white else samples)[..., None].astype("u1"), 3, -1)


# ---- Photographs -----------------------------------------------------------------


def photographs():
    folder = os.environ.get("INVAR_IMAGES")
    if folder:
        found = sorted(p for e in ("jpg", "png", "tif") for p in glob.glob(os.path.join(folder, "**", "*." + e),
                                                                           recursive=True))
        for path in found[::max(1, len(found) // PHOTOS)][:PHOTOS]:
            yield Image.open(path).convert("RGB")
        return
    for archive in sorted(glob.glob(os.path.join(SHARED, "data", "**", "*[mM]erced*.*"), recursive=True)):
        opened = list(from_archive(archive))
        if opened:
            yield from opened
            return
    rng = np.random.default_rng(0)
    for k in range(PHOTOS):
        y, x = np.mgrid[0:250 + k, 0:256]
        rgb = np.stack([127 + 120 * np.sin(x / (3 + k) + y / 9), 255 * x / 256, 255 * y / (250 + k)], -1)
        yield Image.fromarray((rgb + rng.normal(0, 4, rgb.shape)).clip(0, 255).astype("u1"))


def from_archive(path):
    def is_photo(name):
        return name.lower().endswith((".jpg", ".png", ".tif"))

    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            names = sorted(n for n in archive.getnames() if is_photo(n))
            for name in names[::max(1, len(names) // PHOTOS)][:PHOTOS]:
                yield Image.open(io.BytesIO(archive.extractfile(name).read())).convert("RGB")
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = sorted(n for n in archive.namelist() if is_photo(n))
            for name in names[::max(1, len(names) // PHOTOS)][:PHOTOS]:
                yield Image.open(io.BytesIO(archive.read(name))).convert("RGB")


# ---- Files -----------------------------------------------------------------------


def deep(image):
    """16 bits per sample whose lower bits are not a copy of the upper."""
    rgb = np.asarray(image).astype("u4")
    y, x = np.mgrid[0:rgb.shape[0], 0:rgb.shape[1]]
    return (rgb * 256 + ((x * 37 + y * 91) % 256)[..., None]).astype("u2")


def with_alpha(image):
    alpha = image.convert("RGBA")
    alpha.putalpha(image.convert("L"))
    return alpha


def modes(image):
    yield "1", image.convert("1")
    yield "L", image.convert("L")
    yield "P", image.quantize(200)
    yield "RGB", image
    yield "RGBA", with_alpha(image)
    yield "LA", with_alpha(image).convert("LA")
    yield "CMYK", image.convert("CMYK")
    yield "I;16", Image.fromarray(deep(image)[..., 1])


def by_pillow(image, k):
    """(name, options): what Pillow itself writes."""
    for (mode, picture), compression in itertools.product(modes(image), PILLOW):
        yield "%s_%s" % (mode.replace(";", ""), compression), picture, {"compression": compression}
    for mode in ("L", "RGB"):
        yield mode + "_jpeg", image.convert(mode), {"compression": "jpeg", "quality": 60 + k}
    for fax in ("group3", "group4", "tiff_ccitt"):
        yield "1_" + fax, image.convert("1"), {"compression": fax}
    for mode in ("1", "L"):  # 0 is white
        yield mode + "_white", image.convert(mode), {"tiffinfo": {262: 0}}
    yield "pages", image, {"save_all": True, "append_images": [image.rotate(90, expand=True)]}
    yield "strips", image, {"compression": "tiff_lzw", "strip_size": 4000}
    yield "orientation", image, {"tiffinfo": {274: k % 8 + 1}}


LAYOUTS = (dict(tile=(64, 48)), dict(tile=(256, 256)), dict(rows=7), dict(tile=(32, 16), planar=2),
           dict(rows=31, planar=2), dict(rows=16, predictor=2), dict(tile=(80, 64), predictor=2, planar=2),
           dict(tile=(128, 16), big_endian=True), dict(rows=64, big_endian=True, predictor=2), dict(tile=(48, 32), big=True))


def contents(image):
    rgb, wide = np.asarray(image), deep(image)
    grey, rgba = np.asarray(image.convert("L"))[..., None], np.asarray(with_alpha(image))
    alpha = rgba[..., 3:].astype("u4")
    premultiplied = np.concatenate([rgb * alpha // 255, alpha], -1).astype("u1")
    few = image.quantize(16)
    palette = np.zeros((3, 256), "u2")
    colours = np.array(few.getpalette(), "u2").reshape(-1, 3).T
    palette[:, :colours.shape[1]] = colours * 257
    yield "rgb8", rgb, dict(photometric=tw.RGB)
    yield "rgb16", wide, dict(photometric=tw.RGB, bits=16)
    yield "rgba8", rgba, dict(photometric=tw.RGB, extra=[2])
    yield "rgbx8", rgba, dict(photometric=tw.RGB, extra=[0])
    yield "rgba16", np.concatenate([wide, wide[..., :1]], -1), dict(photometric=tw.RGB, bits=16, extra=[2])
    yield "premultiplied8", premultiplied, dict(photometric=tw.RGB, extra=[1])
    yield "grey8", grey, dict(photometric=tw.GREY)
    yield "white8", grey, dict(photometric=0)
    yield "grey16", wide[..., :1], dict(photometric=tw.GREY, bits=16)
    yield "white16", wide[..., :1], dict(photometric=0, bits=16)
    for bits in (1, 2, 4):
        yield "grey%d" % bits, grey >> (8 - bits), dict(photometric=tw.GREY, bits=bits)
    yield "palette4", np.asarray(few)[..., None], dict(photometric=tw.PALETTE, bits=4, palette=palette[:, :16].ravel())
    yield "palette8", np.asarray(few)[..., None], dict(photometric=tw.PALETTE, palette=palette.ravel())


def fits(what, layout, compression):
    """Differences of samples need 8 or 16 bits and a coder."""
    if layout.get("predictor") == 2 and (compression in ("none", "packbits") or what.get("bits", 8) < 8):
        return False
    if what["photometric"] == 0 and what.get("bits") == 16 and layout.get("big_endian"):
        return False  # Pillow does not open it
    if layout.get("planar") == 2:
        # Pillow reads neither planes of 16 bits from raw files nor planes with extra samples from any.
        return what["photometric"] == tw.RGB and not what.get("extra") and not (
            what.get("bits") == 16 and compression == "none")
    return True


def write_tiff(folder, images):
    """Every file of Pillow's own, and every content in turn with every layout and coder."""
    for k, image in enumerate(images):
        for i, (name, picture, options) in enumerate(by_pillow(image, k)):
            if i % 8 == k % 8:
                path = os.path.join(folder, "pillow_%02d_%s.tif" % (k, name))
                picture.save(path, **options)
                yield path
    for k, image in enumerate(images):
        for name, samples, photometric in (("ycbcr", np.asarray(image), tw.YCBCR),
                                           ("grey", np.asarray(image.convert("L"))[..., None], tw.GREY)):
            path = os.path.join(folder, "jpeg_%02d_%s.tif" % (k, name))
            layout = dict(tile=(64, 48)) if k % 2 else dict(rows=16 * (k + 1))
            tw.write(path, samples, photometric, compression="jpeg", big_endian=k % 3 == 0, **layout)
            yield path
    coders = ("none", "lzw", "deflate", "packbits")
    for i, (layout, coder) in enumerate(itertools.product(LAYOUTS, coders)):
        image = images[i % len(images)].crop((0, 0, 150 + i, 131))
        for name, samples, what in contents(image):
            if fits(what, layout, coder):
                path = os.path.join(folder, "layout_%02d_%s_%s.tif" % (i, name, coder))
                tw.write(path, samples, compression=coder, **what, **layout)
                yield path


def write_webp(folder, images):
    for k, image in enumerate(images):
        for name, picture, options in (
                ("lossy", image, {"quality": 40 + 2 * k}), ("lossless", image, {"lossless": True}),
                ("alpha", with_alpha(image), {"quality": 80}),
                ("exact", with_alpha(image), {"lossless": True, "exact": True}),
                ("turned", image, {"exif": orientation(k % 8 + 1)})):
            path = os.path.join(folder, "%02d_%s.webp" % (k, name))
            picture.save(path, method=2, **options)
            yield path


def orientation(turn):
    exif = Image.Exif()
    exif[274] = turn
    return exif


def compare(library, paths):
    count, wrong = 0, []
    for path in paths:
        want = pillow(path)
        try:
            got = library.read(path)
            gap = "size" if got.shape != want.shape else np.abs(got.astype(int) - want).max()
        except ValueError as error:
            gap = error
        count += 1
        if gap != 0 or isinstance(gap, str):
            wrong.append("%s: %s" % (os.path.basename(path), gap))
        os.unlink(path)
    return count, wrong


def main():
    library, images = Library(sys.argv[1]), list(photographs())
    print("%d photographs, Pillow %s, libtiff %s, libwebp %s" % (
        len(images), PIL.__version__, features.version("libtiff"), features.version("webp")))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for what, paths in (("TIFF", write_tiff(folder, images)), ("WebP", write_webp(folder, images))):
            count, wrong = compare(library, paths)
            print("%s: %d of %d files have Pillow's pixels" % (what, count - len(wrong), count))
            for line in wrong[:20]:
                print("  " + line)
            failed = failed or wrong or count == 0
    sys.exit(1 if failed else 0)


main()
