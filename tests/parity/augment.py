#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""augment.py - pictures by invar beside Kornia, PyTorch and Pillow.

    python3 augment.py INVAR        INVAR is the program

Kornia draws parameters for 200 random pictures of each form of rotation, affine and
crop; invar replays them through its own program. The other operations are compared with
PyTorch, Kornia's filters and Pillow. Resizing is compared with interpolate in its four
modes and with Pillow on real pictures where INVAR_SHARED (else ../shared) has them. Exit
77 (skipped) where a library is not installed.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

try:
    import kornia
    import numpy as np
    import PIL
    import torch
    from PIL import Image
except ImportError as error:
    print("skipped: %s (./dev parity augment sets it up)" % error)
    sys.exit(77)

IMAGES, BATCH = 200, 10
HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("INVAR_SHARED", os.path.join(HERE, "..", "..", "..", "shared"))
failed = []


def report(what, gap, limit):
    print("%-60s %.2g  (at most %.2g)" % (what, gap, limit))
    if not gap <= limit:
        failed.append(what)


# ---- Augmentations ---------------------------------------------------------------


class Invar:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.tool = os.path.join(os.path.dirname(os.path.abspath(program)), "..", "..", "tests", "parity",
                                 "resize_tool")

    def at(self, name):
        return os.path.join(self.folder, name)

    def augment(self, spec, x, stages=None, *more):
        np.save(self.at("in.npy"), x.numpy())
        if stages:
            with open(self.at("p.json"), "w") as file:
                json.dump({"stages": stages}, file)
            more += ("--params", self.at("p.json"))
        subprocess.run([self.program, "augment", spec, self.at("in.npy"), "-o", self.at("out.npy"), "-q", *more],
                       check=True)
        return torch.from_numpy(np.load(self.at("out.npy")))

    def resize(self, kind, mode, flag, height, width, x):
        np.save(self.at("in.npy"), x)
        subprocess.run([self.tool, kind, mode, str(flag), str(height), str(width), self.at("in.npy"),
                        self.at("out.npy")], check=True)
        return np.load(self.at("out.npy"))


def pictures(rng, height, width):
    """Noise, smooth waves and hard edges, in [0, 1]."""
    y, x = torch.meshgrid(torch.linspace(0, 1, height), torch.linspace(0, 1, width), indexing="ij")
    waves = (torch.sin(9 * x + 5 * y) + 1) / 2
    edges = ((x * 7).floor() + (y * 5).floor()) % 2
    kind = rng.integers(3, size=BATCH)
    noise = torch.from_numpy(rng.random((BATCH, 3, height, width), dtype=np.float32))
    return torch.stack([(noise[i], waves * noise[i, :, :1, :1], edges * noise[i, :, :1, :1])[k]
                        for i, k in enumerate(kind)])


def stage(augmentation, flags):
    params = {name: {"data": value.double().tolist()} for name, value in augmentation._params.items()
              if torch.is_tensor(value) and value.ndim and name != "order"}
    return {"class": type(augmentation).__name__, "flags": flags, "params": params}


def forms(height, width):
    """(SPEC, a Kornia augmentation, flags)"""
    aug = kornia.augmentation
    for corners in (True, False):
        word = "align_corners=" + str(corners).lower()
        yield ("rotation:" + word, aug.RandomRotation(180.0, p=1.0, align_corners=corners),
               {"align_corners": corners})
        for fill, padding in (("zeros", "zeros"), ("edge", "border"), ("reflect", "reflection")):
            yield ("affine:%s,fill=%s" % (word, fill),
                   aug.RandomAffine(30.0, (0.2, 0.2), (0.8, 1.2), (-15.0, 15.0), p=1.0, padding_mode=padding,
                                    align_corners=corners), {"align_corners": corners, "fill": fill})
        for mode in ("slice", "resample"):
            for size in ((height, width), (40, 56)):
                yield ("crop:%s,mode=%s,size=%dx%d" % (word, mode, *size),
                       aug.RandomResizedCrop(size, (0.5, 0.7), (0.75, 1.33), p=1.0, align_corners=corners,
                                             cropping_mode=mode),
                       {"align_corners": corners, "cropping_mode": mode, "size": list(size)})


def kornia_parity(invar, rng):
    worst = {}
    exact = tuple(int(v) for v in kornia.__version__.split(".")[:2]) >= (0, 9)  # no stretch since
    for batch in range(IMAGES // BATCH):
        height, width = (int(v) for v in rng.integers(24, 240, size=2))
        x = pictures(rng, height, width)
        torch.manual_seed(batch)
        for spec, augmentation, flags in forms(height, width):
            want = augmentation(x)
            if exact and not flags["align_corners"]:
                spec = spec.replace("align_corners=false", "align_corners=false,corners=exact")
            got = invar.augment(spec, x, [stage(augmentation, flags)])
            name = spec.split(",size")[0] + (" to 40x56" if "size=40x56" in spec else "")
            worst[name] = max(worst.get(name, 0), float((got - want).abs().max()))
    for name, gap in worst.items():
        report(name, gap, 2e-4)  # Kornia's grid is float32: 1e-5 of a pixel per 100, edges 0 to 1


def other_parity(invar, rng):
    x = pictures(rng, 90, 70)
    report("flip", float((invar.augment("flip", x) - x.flip(-1)).abs().max()), 0)
    report("flip:axis=vertical", float((invar.augment("flip:axis=vertical", x) - x.flip(-2)).abs().max()), 0)
    for sigma in (0.5, 1.3, 4.0):
        side = 2 * int(np.ceil(3 * sigma)) + 1
        want = kornia.filters.gaussian_blur2d(x, (side, side), (sigma, sigma), "reflect")
        report("blur:sigma=%g" % sigma, float((invar.augment("blur:sigma=%g" % sigma, x) - want).abs().max()), 1e-5)
    mean = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
    std = torch.tensor([0.229, 0.224, 0.225])[:, None, None]
    z = (x - mean) / std
    grey = (0.2989 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]).mean((1, 2, 3), keepdim=True)
    light = {"brightness": x * 1.3, "contrast": 1.3 * x - 0.3 * grey}
    for name, want in light.items():
        got = invar.augment(name + ":factor=1.3", z, None, "--normalize", "imagenet")
        report(name, float((got - (want.clamp(0, 1) - mean) / std).abs().max()), 1e-5)
    levels = (x * 255).round()
    for quality in (10, 75, 95):
        got = invar.augment("jpeg:quality=%d" % quality, levels / 255) * 255
        want = torch.stack([torch.from_numpy(through_jpeg(image, quality)) for image in levels])
        report("jpeg:quality=%d, levels" % quality, float((got - want).abs().max()), 0.01)


def through_jpeg(image, quality):
    file = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).numpy().astype("u1")).save(file, "JPEG", quality=quality, subsampling=2)
    return np.asarray(Image.open(file)).astype("f4").transpose(2, 0, 1)


# ---- Resizing --------------------------------------------------------------------


def interpolate_parity(invar, rng):
    shapes = [(375, 500, 224, 298), (96, 96, 224, 224), (28, 28, 64, 20), (1200, 1600, 256, 341), (50, 33, 50, 99),
              (3, 3, 200, 300), (640, 480, 7, 9)]
    for mode in ("bilinear", "bicubic"):
        for antialias in (0, 1):
            gap = 0
            for h, w, height, width in shapes:
                x = rng.random((3, h, w), dtype=np.float32)
                want = torch.nn.functional.interpolate(torch.from_numpy(x)[None], size=(height, width), mode=mode,
                                                       antialias=bool(antialias), align_corners=False)[0].numpy()
                gap = max(gap, np.abs(invar.resize("float", mode, antialias, height, width, x) - want).max())
            report("interpolate %s%s" % (mode, " antialias" if antialias else ""), gap, 1e-5)


def real_pictures(count):
    """The first pictures of the shared archives, as RGB."""
    taken = 0
    for name in ("rsscn7.tar", "ucmerced.tar", "stl10_jpeg.tar", "tiny_imagenet_50.tar"):
        path = os.path.join(SHARED, "data", name)
        if not os.path.exists(path):
            continue
        with tarfile.open(path) as archive:
            left = 300
            for member in archive:
                if not member.name.lower().endswith((".jpg", ".jpeg", ".png")) or not left or taken == count:
                    continue
                left, taken = left - 1, taken + 1
                yield Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB")


def pillow_parity(invar, rng):
    modes = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
    gap = dict.fromkeys(modes, 0)
    count = 0
    for count, picture in enumerate(real_pictures(1000), 1):
        width, height = (int(v) for v in rng.integers(20, 400, size=2))
        mode = list(modes)[count % 2]
        want = np.asarray(picture.resize((width, height), modes[mode])).astype("f4")
        got = invar.resize("bytes", mode, 1, height, width, np.asarray(picture))
        gap[mode] = max(gap[mode], np.abs(got - want).max())
    if not count:
        print("no shared pictures here: resizing of bytes was not compared")
        return
    for mode in modes:
        report("Pillow %s, levels, of %d pictures" % (mode, count), gap[mode], 1)


def main():
    print("kornia %s, torch %s, Pillow %s" % (kornia.__version__, torch.__version__, PIL.__version__))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        invar = Invar(sys.argv[1], folder)
        for part in (kornia_parity, other_parity, interpolate_parity, pillow_parity):
            part(invar, rng)
    if failed:
        sys.exit("too far: " + ", ".join(failed))


if __name__ == "__main__":
    main()
