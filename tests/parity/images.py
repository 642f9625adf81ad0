#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""images.py - the pixels of TIFF and WebP files beside Pillow's.

    python3 images.py INVAR        INVAR is the program; libinvar.so is found beside it

Photographs (INVAR_IMAGES, a folder, else the archives of INVAR_SHARED, else drawn ones) are written as TIFF files
of every compression, bit depth, colour space and layout, by Pillow or, where it cannot, by tests/formats/tiff_writer.py;
and, one photograph each, as WebP files of every kind, quality, method and many sizes. Each must have Pillow's pixels in
every bit. Pillow's mode
"I;16" (grey, 16 bits) is compared by its samples: of them we keep the upper 8 bits, while its own conversion to
RGB cuts everything above 255 off; and it does not invert such files where 0 is white. Exit 77 (skipped) where
a library is not installed.
"""
import ctypes
import glob
import io
import itertools
import os
import struct
import sys
import tarfile
import tempfile

try:
    import numpy as np
    import PIL
    from PIL import Image, ImageCms, ImageOps, features
except ImportError as error:
    print("skipped: %s (./dev parity images sets it up)" % error)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("INVAR_SHARED", os.path.join(HERE, "..", "..", "..", "shared"))
sys.path.insert(0, os.path.join(HERE, "..", "formats"))
import tiff_writer as tw  # noqa: E402

PHOTOS = 24       # for TIFF: each becomes many files
WEBP_PHOTOS = 420  # one file each
ARCHIVES = ("ucmerced.tar", "rsscn7.tar", "stl10_jpeg.tar", "neu_steel.tar", "tiny_imagenet_50.tar")
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
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


def is_photo(name):
    return name.lower().endswith((".jpg", ".jpeg", ".png", ".tif"))


def spread(names, count):
    names = sorted(filter(is_photo, names))
    return names[::max(1, len(names) // count)][:count]


def photographs(count, archives):
    """At most `count` pictures, the same number of each archive."""
    folder = os.environ.get("INVAR_IMAGES")
    if folder:
        for path in spread(glob.glob(os.path.join(folder, "**", "*"), recursive=True), count):
            yield Image.open(path).convert("RGB")
        return
    paths = [os.path.join(SHARED, "data", name) for name in archives]
    paths = [path for path in paths if os.path.exists(path)]
    for path in paths:
        with tarfile.open(path) as archive:
            for name in spread(archive.getnames(), count // len(paths)):
                yield Image.open(io.BytesIO(archive.extractfile(name).read())).convert("RGB")
    if not paths:
        yield from drawn(count)


def drawn(count):
    rng = np.random.default_rng(0)
    for k in range(count):
        y, x = np.mgrid[0:250 + k % 24, 0:256]
        rgb = np.stack([127 + 120 * np.sin(x / (3 + k % 24) + y / 9), 255 * x / 256, 255 * y / (250 + k % 24)], -1)
        yield Image.fromarray((rgb + rng.normal(0, 4, rgb.shape)).clip(0, 255).astype("u1"))


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


def inset(image, k):
    """An animation whose first frame covers a part of the picture, which Pillow reads and does not write."""
    def little(*numbers):
        return b"".join(struct.pack("<I", n)[:3] for n in numbers)

    def riff(tag, body):
        return tag + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)

    x, y = 2 * (k % 11), 2 * (k % 7)
    frame = io.BytesIO()
    image.save(frame, "WEBP", lossless=k % 2 == 0)
    frames = riff(b"ANMF", little(x // 2, y // 2, image.width - 1, image.height - 1, 100) + b"\2" + frame.getvalue()[12:])
    canvas = little(image.width + x + k % 5 - 1, image.height + y + k % 3 - 1)
    return riff(b"RIFF", b"WEBP" + riff(b"VP8X", b"\x02\0\0\0" + canvas) + riff(b"ANIM", b"\xff" * 4 + b"\0\0") + frames)


def webp_kinds(image, k):
    """(name, how the picture is changed, options); quality and method go their own ways, so that all pairs meet."""
    quality, method = 100 * (k % 17) // 16, k % 7
    several = dict(save_all=True, append_images=[image.rotate(90), image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)])
    lossy = dict(quality=quality, method=method)
    lossless = dict(lossless=True, quality=quality, method=method)
    turned = dict(exif=orientation(k % 8 + 1))
    return (
        ("lossy", None, lossy),
        ("lossless", None, lossless),
        ("alpha", with_alpha, dict(lossy, alpha_quality=100 * (k % 5) // 4)),
        ("alpha_lossless", with_alpha, lossless),
        ("exact", with_alpha, dict(lossless, exact=True)),
        ("grey", lambda picture: picture.convert("L"), lossy),
        ("palette", lambda picture: picture.quantize(2 + k % 255), lossless),
        ("turned", None, dict(lossy, **turned)),
        ("profile", None, dict(lossy, icc_profile=PROFILE)),
        ("animation", None, dict(lossy, **several)),
        ("animation_lossless", with_alpha, dict(lossless, background=(9, 99, 199, 255), **several)),
        ("animation_mixed", None, dict(several, allow_mixed=True, **turned)),
        ("inset", None, None),
    )


def resized(image, k):
    """As it is, cut to small and odd sizes, enlarged."""
    cut = image.crop((0, 0, 1 + k % 61, 1 + k * 7 % 43))
    return (image, cut, image.resize((257 + k, 1001 - k)), image.crop((k % 9, 3, image.width, image.height - k % 5)))[k // 13 % 4]


def write_webp(folder, images):
    """Every kind in turn, of one photograph each."""
    for k, image in enumerate(images):
        picture = resized(image, k)
        kinds = webp_kinds(picture, k)
        name, change, options = kinds[k % len(kinds)]
        path = os.path.join(folder, "%03d_%s.webp" % (k, name))
        if options is None:
            with open(path, "wb") as file:
                file.write(inset(picture, k))
        else:
            (change(picture) if change else picture).save(path, **options)
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
    library, images = Library(sys.argv[1]), list(photographs(PHOTOS, ARCHIVES[:1]))
    print("Pillow %s, libtiff %s, libwebp %s" % (
        PIL.__version__, features.version("libtiff"), features.version("webp")))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for what, paths in (("TIFF", write_tiff(folder, images)),
                            ("WebP", write_webp(folder, photographs(WEBP_PHOTOS, ARCHIVES)))):
            count, wrong = compare(library, paths)
            print("%s: %d of %d files have Pillow's pixels" % (what, count - len(wrong), count))
            for line in wrong[:20]:
                print("  " + line)
            failed = failed or wrong or count == 0
    sys.exit(1 if failed else 0)


main()
