# SPDX-License-Identifier: Apache-2.0
"""augment.py - augmentations by other libraries, driven by lines.

    augment OPERATION IMAGES SIDE REPEATS VARIANT    answers the seconds

kornia: its classes on [n, 3, s, s], drawing included. opencv: warpAffine or a resized
slice of float pictures [s, s, 3], with its own threads; opencv-pool: a Python thread per
core over the pictures, each on one thread. torch: x + torch.randn_like(x); torch-out: the
same into tensors that are there already; torch-compile: the same through torch.compile.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import cv2
import kornia.augmentation as augmentation
import numpy as np
import torch

THREADS = int(sys.argv[sys.argv.index("--threads") + 1])


def kornia_class(operation, side):
    if operation == "rotation":
        return augmentation.RandomRotation(180.0, p=1.0)
    if operation == "affine":
        return augmentation.RandomAffine(30.0, (0.2, 0.2), (0.8, 1.2), (-15.0, 15.0), p=1.0)
    return augmentation.RandomResizedCrop((side, side), (0.5, 0.7), (0.75, 1.33), p=1.0)


def draw_opencv(operation, images, side, rng):
    """Matrices or boxes for a batch."""
    if operation == "crop":
        area, ratio = rng.uniform(0.5, 0.7, images) * side * side, np.exp(rng.uniform(np.log(0.75), np.log(1.33), images))
        w = np.minimum(np.sqrt(area * ratio).round(), side).astype(int)
        h = np.minimum(np.sqrt(area / ratio).round(), side).astype(int)
        x, y = (rng.random(images) * (side - w + 1)).astype(int), (rng.random(images) * (side - h + 1)).astype(int)
        return list(zip(x, y, w, h))
    centre = ((side - 1) / 2, (side - 1) / 2)
    if operation == "rotation":
        return [cv2.getRotationMatrix2D(centre, a, 1.0) for a in rng.uniform(-180, 180, images)]
    found = []
    for angle, scale, shear, shift in zip(rng.uniform(-30, 30, images), rng.uniform(0.8, 1.2, images),
                                          rng.uniform(-15, 15, images), rng.uniform(-0.2, 0.2, (images, 2))):
        m = cv2.getRotationMatrix2D(centre, angle, scale)
        m[:, 1] -= np.tan(np.radians(shear)) * m[:, 0]
        m[:, 2] += shift * side
        found.append(m)
    return found


def opencv_one(operation, image, how, out):
    side = image.shape[0]
    if operation == "crop":
        x, y, w, h = how
        cv2.resize(image[y:y + h, x:x + w], (side, side), dst=out, interpolation=cv2.INTER_LINEAR)
    else:
        cv2.warpAffine(image, how, (side, side), dst=out, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)


def make(operation, images, side, variant):
    """The work of one repeat, as a function."""
    rng = np.random.default_rng(0)
    if variant.startswith("torch") or variant == "kornia":
        x = torch.rand(images, 3, side, side)
        if variant == "torch":
            return lambda: x + torch.randn_like(x)
        if variant == "torch-out":
            field, result = torch.empty_like(x), torch.empty_like(x)
            return lambda: torch.add(x, torch.randn(x.shape, out=field), out=result)
        if variant == "torch-compile":
            compiled = torch.compile(lambda t: t + torch.randn_like(t))
            return lambda: compiled(x)
        kornia_side = kornia_class(operation, side)
        return lambda: kornia_side(x)
    x = rng.random((images, side, side, 3), dtype=np.float32)
    out = np.empty_like(x)

    def work(first, step):
        for i in range(first, images, step):
            opencv_one(operation, x[i], how[i], out[i])

    how = draw_opencv(operation, images, side, rng)
    if variant == "opencv":
        cv2.setNumThreads(THREADS)
        return lambda: work(0, 1)
    cv2.setNumThreads(1)
    pool = ThreadPoolExecutor(THREADS)
    return lambda: list(pool.map(lambda k: work(k, THREADS), range(THREADS)))


def main():
    torch.set_num_threads(THREADS)
    known = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, operation, images, side, repeats, variant = line.split()
        key = (operation, int(images), int(side), variant)
        if key not in known:
            known[key] = make(*key)
        with torch.inference_mode():
            start = time.perf_counter()
            for _ in range(int(repeats)):
                known[key]()
            print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
