#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden_features.py INVAR SHARED - every golden encoder through `invar features`.

The cases of SHARED/golden/encoders within their own tolerance, and the small real
encoders of SHARED/data on real images. Skipped (77) if SHARED is absent.
"""
import array
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile

invar, shared = sys.argv[1], os.environ.get("INVAR_SHARED", sys.argv[2])
golden, data = os.path.join(shared, "golden/encoders"), os.path.join(shared, "data")
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def read_npy(path):
    with open(path, "rb") as file:
        raw = file.read()
    start = 10 + struct.unpack("<H", raw[8:10])[0]
    assert b"'<f4'" in raw[:start], path
    return array.array("f", raw[start:])


def write_npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (tuple(shape),)
    head = head.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        array.array("f", values).tofile(file)


def compare(name, weights, options, images, expected, tolerance, work):
    out = os.path.join(work, "out.npy")
    run = subprocess.run([invar, "features", images, "-o", out, "--weights", weights, "-q"]
                         + options, capture_output=True, text=True)
    if run.returncode != 0:
        complain(f"{name}: exit {run.returncode}: {run.stderr.strip()}")
        return
    got = read_npy(out)
    worst = max(abs(a - b) for a, b in zip(got, expected)) if len(got) == len(expected) else 1e9
    print(f"{name:34} {worst:.1e} of {tolerance:.1e}")
    if not worst <= tolerance:
        complain(f"{name}: differs by {worst}, allowed are {tolerance}")


def options_of(case, architecture):
    options = []
    if case.get("key_prefix", "").startswith("student"):
        options += ["--key", "student"]
    heads, width = architecture.get("heads"), architecture.get("dim")
    if heads and heads * 64 != width and not architecture["family"].startswith("hf_"):
        options += ["--heads", str(heads)]
    return options


def run_golden(work):
    with open(os.path.join(golden, "manifest.json")) as file:
        manifest = json.load(file)
    for case in manifest["cases"]:
        compare(case["name"], os.path.join(golden, case["weights"]),
                options_of(case, manifest["architectures"][case["architecture"]]),
                os.path.join(golden, case["input"]),
                read_npy(os.path.join(golden, case["expected"])), case["tolerance_abs"], work)


def check_names(work):
    """The name of a different network is an error that names both."""
    for file, name, sentence in (
            ("clip_w128_jit.pt", "clip_vitb16", "its width is 32 but clip_vitb16 has 512"),
            ("dino_vit.pth", "dino_vits8", "its width is 48 but dino_vits8 has 384"),
            ("dino_vit.pth", "clip_vitb16", "which is a clip"),
            ("clip_w128_jit.pt", "dino_vitb16", "which is a vit"),
            ("resnet_basic.pth", "resnet18", "its width is 40 but resnet18 has 512")):
        run = subprocess.run([invar, "features", os.path.join(golden, "in_32x32.npy"), "-o",
                              os.path.join(work, "out.npy"), "--weights",
                              os.path.join(golden, file), "--encoder", name],
                             capture_output=True, text=True)
        if run.returncode != 1 or sentence not in run.stderr or run.stderr.count("\n") != 1:
            complain(f"{file} as {name}: exit {run.returncode}: {run.stderr.strip()}")


def read_safetensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            tensors[name] = array.array("f", raw[start + first:start + last])
    return tensors


def member(archive, ending):
    with tarfile.open(os.path.join(data, archive)) as tar:
        for one in tar:
            if one.name.endswith(ending):
                return tar.extractfile(one).read()
    raise SystemExit(f"{archive}: no {ending}")


def planes(pixels, mean, std):
    """pixels: bytes of 4 images by plane; each normalised as float32 would be."""
    size = len(pixels) // 12
    return [((v / 255) - mean[i // size % 3]) / std[i // size % 3]
            for i, v in enumerate(pixels)]


KERAS = ((123.68 / 255, 116.779 / 255, 103.939 / 255), (1 / 255,) * 3)
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CAFFE = ((123 / 255, 117 / 255, 104 / 255), (1 / 255,) * 3)


def run_real(work):
    expected = read_safetensors(os.path.join(data, "reference_outputs.safetensors"))
    images = os.path.join(work, "images.npy")
    records = member("cifar10_subset.tar.xz", "test_batch.bin")[:4 * 3073]
    pixels = b"".join(records[i * 3073 + 1:(i + 1) * 3073] for i in range(4))
    write_npy(images, (4, 3, 32, 32), planes(pixels, *IMAGENET))
    for depth, files in ((20, ["cifar10_resnet20-12fca82f.th", "cifar10_resnet20.safetensors"]),
                         (56, ["cifar10_resnet56-4bfd9763.th"])):
        for file in files:
            compare(file, os.path.join(data, file), ["--encoder", f"cifar10_resnet{depth}"],
                    images, expected[f"cifar_resnet{depth}.features"], 1e-4, work)
    columns = member("stl10_binary_mini.tar.xz", "test_X.bin")[:4 * 27648]
    pixels = bytes(columns[p * 9216 + x * 96 + y]
                   for p in range(12) for y in range(96) for x in range(96))
    # ResNet-50 is too large to be kept there; $INVAR_WEIGHTS is the folder it was put in.
    for name, key, file, constants in (
            ("squeezenet1_1", "squeezenet1_1.features",
             os.path.join(data, "squeezenet1_1_caffe.f16.safetensors"), CAFFE),
            ("resnet50_keras", "resnet50.features",
             os.path.join(os.environ.get("INVAR_WEIGHTS", ""), "resnet50_keras.f16.safetensors"), KERAS)):
        if not os.path.exists(file):
            print(f"{name}: skipped")
            continue
        write_npy(images, (4, 3, 96, 96), planes(pixels, *constants))
        compare(name, file, ["--encoder", name], images, expected[key],
                1e-4 * max(abs(v) for v in expected[key]), work)


if not os.path.isdir(golden):
    print(f"skipped: there is no {golden}")
    sys.exit(77)
with tempfile.TemporaryDirectory() as work:
    run_golden(work)
    check_names(work)
    if os.path.isfile(os.path.join(data, "reference_outputs.safetensors")):
        run_real(work)
sys.exit(1 if failed else 0)
