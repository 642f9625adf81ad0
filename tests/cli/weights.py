#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weights.py INVAR - weight files as users have them, through `invar features` and `models`.

Makes a small ViT and a small ResNet with random weights, then: names of other networks,
weights that are missing, superfluous, mis-shaped or not finite, images that do not fit:
each is one sentence and exit 1. So are shapes that a file only claims and networks whose
tensors all view one storage, before memory is given to them. Threads, pipes, prefixes and
`models convert` change no byte.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

invar = os.path.realpath(sys.argv[1])
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def vit():
    d, p, g = 64, 4, 2
    shapes = {"cls_token": [1, 1, d], "pos_embed": [1, 1 + g * g, d],
              "patch_embed.proj.weight": [d, 3, p, p], "patch_embed.proj.bias": [d],
              "norm.weight": [d], "norm.bias": [d]}
    for name, shape in {"norm1": [d], "attn.qkv": [3 * d, d], "attn.proj": [d, d], "norm2": [d],
                        "mlp.fc1": [4 * d, d], "mlp.fc2": [d, 4 * d]}.items():
        shapes[f"blocks.0.{name}.weight"] = shape
        shapes[f"blocks.0.{name}.bias"] = shape[:1]
    return shapes


def resnet():
    shapes = {"conv1.weight": [2, 3, 7, 7]}

    def norm(name, c):
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.{part}"] = [c]

    norm("bn1", 2)
    before = 2
    for layer in range(1, 5):
        c = 2 ** layer
        name = f"layer{layer}.0"
        shapes[f"{name}.conv1.weight"] = [c, before, 3, 3]
        shapes[f"{name}.conv2.weight"] = [c, c, 3, 3]
        norm(f"{name}.bn1", c)
        norm(f"{name}.bn2", c)
        if layer > 1:
            shapes[f"{name}.downsample.0.weight"] = [c, before, 1, 1]
            norm(f"{name}.downsample.1", c)
        before = c
    return shapes


def make(shapes):
    draw = random.Random(1)
    return {name: (shape, [abs(draw.gauss(0, 1)) + 0.5 if "running_var" in name
                           else draw.gauss(0, 0.5) for _ in range(math.prod(shape))])
            for name, shape in shapes.items()}


def save(path, tensors):
    head, body = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        head[name] = {"dtype": "F32", "shape": shape,
                      "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def save_images(path, shape):
    draw = random.Random(2)
    head = ("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)).ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{math.prod(shape)}f",
                               *(draw.gauss(0, 1) for _ in range(math.prod(shape)))))


def save_pictures(path, shape):
    head = ("{'descr': '|u1', 'fortran_order': False, 'shape': %s, }" % (shape,)).ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(random.Random(3).randbytes(math.prod(shape)))


def run(*words, stdin=None):
    return subprocess.run([invar, *words], capture_output=True, stdin=stdin)


def refused(pattern, *words, code=1):
    got = run(*words)
    text = got.stderr.decode()
    if got.returncode != code or text.count("\n") != 1 or pattern not in text or got.stdout:
        complain(f"{' '.join(words)}: exit {got.returncode}, wanted {code} and '{pattern}': {text}")


def features(weights, out, *options):
    got = run("features", "x.npy", "-o", out, "--weights", weights, "-q", *options)
    if got.returncode != 0:
        complain(f"{weights} {options}: {got.stderr.decode()}")
        return b""
    with open(out, "rb") as file:
        return file.read()


def check_same_bytes(weights):
    first = features(weights, "a.npy", "--threads", "1")
    for options in (["--threads", "2"], ["--threads", "3"]):
        if features(weights, "b.npy", *options) != first:
            complain(f"{weights}: {options} changes the features")
    with open("x.npy", "rb") as file:
        got = run("features", "-", "-o", "-", "--weights", weights, "-q", stdin=file)
    if got.stdout != first:
        complain(f"{weights}: a pipe changes the features: {got.stderr.decode()}")
    if run("models", "convert", weights, "c.safetensors", "-q").returncode != 0 or \
            features("c.safetensors", "b.npy") != first:
        complain(f"{weights}: convert changes the features")


def check_refusals(name, tensors, one, other_name, mismatch):
    def broken(pattern, change):
        copy = dict(tensors)
        change(copy)
        save("broken.safetensors", copy)
        refused(pattern, "features", "x.npy", "-o", "y.npy", "--weights", "broken.safetensors", "-q")

    shape, values = tensors[one]
    last = len(values) - 1
    broken(one, lambda t: t.pop(one))
    broken(one, lambda t: t.update({one: (shape[:-1] + [shape[-1] + 1],
                                          values + values[:len(values) // shape[-1]])}))
    for value in (math.nan, math.inf):
        broken(f"tensor '{one}': element {last} is not a finite number",
               lambda t: t.update({one: (shape, values[:-1] + [value])}))
    refused(mismatch, "features", "x.npy", "-o", "y.npy", "--weights", name, "--encoder", other_name)
    refused("its tensors do not match", "features", "x.npy", "-o", "y.npy", "--weights", name,
            "--encoder", "squeezenet1_1")
    refused("grey.npy: ", "features", "grey.npy", "-o", "y.npy", "--weights", name, "-q")
    if os.path.exists("y.npy"):
        complain(f"{name}: a refused call left y.npy")


def check_whole_numbers(name, one):
    with open(name, "rb") as file:
        data = file.read()
    at = data.index(b'"F32"', data.index(f'"{one}"'.encode()))
    with open("quantised.safetensors", "wb") as file:
        file.write(data[:at] + b'"I32"' + data[at + 5:])
    refused(f"'{one}' contains I32 but must contain floats", "features", "x.npy", "-o", "y.npy",
            "--weights", "quantised.safetensors", "-q")


def check_nothing_is_replaced(name):
    os.makedirs("folder", exist_ok=True)
    for link, to in (("folder/model.safetensors", "../" + name), ("link", "x.npy")):
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(to, link)
    before = os.stat(name), os.stat("x.npy")
    for out in ("x.npy", "./x.npy", "link"):
        refused("would replace a file that this command reads", "features", "x.npy", "-o", out, "--weights", name, code=2)
    for out, weights in ((name, name), ("folder/model.safetensors", name), (name, "folder"),
                         ("folder/model.safetensors", "folder")):
        refused("would replace a file that this command reads", "features", "x.npy", "-o", out, "--weights", weights, code=2)
        refused("would replace a file that this command reads", "models", "convert", weights, out, code=2)
    for out in ("-", ""):
        refused("is not a file name", "models", "convert", name, out, code=2)
    if before != (os.stat(name), os.stat("x.npy")):
        complain(f"{name}: a refused call has changed a file")


def check_models(name, family):
    got = run("models", "inspect", name, "--json")
    if json.loads(got.stdout or "{}").get("encoder", {}).get("name") != family:
        complain(f"inspect {name}: {got.stdout.decode()[:300]} {got.stderr.decode()}")
    got = run("models", "verify", name, "--json")
    if got.returncode != 0 or not json.loads(got.stdout)["norm"] > 0:
        complain(f"verify {name}: {got.stderr.decode()}")


def check_prefixes(name, tensors):
    first = features(name, "a.npy")
    for prefix in ("_orig_mod.", "module._orig_mod.", "backbone.module.", "module.module."):
        save("wrapped.safetensors", {prefix + key: value for key, value in tensors.items()})
        if features("wrapped.safetensors", "b.npy") != first:
            complain(f"{name}: the prefix {prefix} changes the features")


def check_precision(name, kind):
    """Each has the same bytes for any number of threads, is recorded, and is not mixed with another."""
    lower = ("bfloat16", "int8") if kind == "resnet" else ("bfloat16",)
    seen = [features(name, "a.npy")]
    for precision in lower:
        seen.append(features(name, "b.npy", "--precision", precision, "--threads", "1"))
        if seen[-1] in seen[:-1] or features(name, "b.npy", "--precision", precision, "--threads", "3") != seen[-1]:
            complain(f"{name}: {precision} is another, or depends on threads")
    refused("'bf16'", "features", "x.npy", "-o", "y.npy", "--weights", name, "--precision", "bf16", code=2)
    options = ("--weights", name, "--size", "native", "--normalize", "none", "--augment", "noise", "-q")
    if "int8" not in lower:
        refused("use bfloat16, or leave it out", "encode", "npy:pictures.npy", "-o", "bank", *options, "--precision", "int8", code=2)
    for mine, other in (("float32", lower[-1]), ("bfloat16", "float32"), ("int8", "bfloat16"))[:1 + len(lower)]:
        bank = f"{name}-{mine}"
        got = run("encode", "npy:pictures.npy", "-o", bank, *options, "--copies", "1", "--precision", mine)
        if got.returncode != 0:
            complain(f"{bank}: {got.stderr.decode()}")
        refused(f"was made with precision {mine}, not {other}", "encode", "npy:pictures.npy", "-o", bank, *options,
                "--copies", "2", "--precision", other)
    for mine in lower:
        run("train", f"{name}-{mine}", "-o", f"{name}-{mine}-run", "--loss", "none", "--init", "identity", "--hidden", "200", "-q")
        for precision in ("float32", *lower):
            got = run("apply", f"{name}-{mine}-run", f"{name}-{precision}/train/clean.npy", "-o", "codes.npy", "--force")
            said = f"was trained on features in {mine}, and".encode() in got.stderr
            if got.returncode != 0 or said != (precision != mine):
                complain(f"{name}: E of {mine} features on {precision}: {got.stderr.decode()}")


def check_claims():
    """A few numbers may claim a network of terabytes: the tensor is named, not the memory."""
    claims = ((vit, "patch_embed.proj.weight", [1, 1, 100000, 1]),
              (vit, "patch_embed.proj.weight", [60000, 1, 1, 1]),
              (vit, "blocks.0.mlp.fc1.weight", [65536, 1]),
              (resnet, "layer1.0.conv1.weight", [100000, 1, 1, 1]))
    for network, name, shape in claims:
        shapes = network()
        shapes.update({f"blocks.{i}.norm1.weight": [1] for i in range(1, 900) if network == vit})
        shapes[name] = shape
        save("claims.safetensors", {key: (s, [0.5] * math.prod(s)) for key, s in shapes.items()})
        refused("but must have", "features", "x.npy", "-o", "y.npy", "--weights", "claims.safetensors", "-q",
                *(["--heads", "1"] if network == vit else []))


def tensor(shape, cells):
    """As torch.save writes it, over a storage '0' of so many floats."""
    text = lambda s: b"X" + struct.pack("<I", len(s)) + s
    number = lambda n: b"J" + struct.pack("<i", n)
    many = lambda parts: b"(" + b"".join(parts) + b"t"
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    storage = many([text(b"storage"), b"ctorch\nFloatStorage\n", text(b"0"), text(b"cpu"), number(cells)])
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + many(
        [storage + b"Q", number(0), many(map(number, shape)), many(map(number, strides)), b"\x89", b"}"]) + b"R"


def check_shared_storage():
    """One megabyte that 100 blocks view is not 300 MB of weights."""
    d, cells = 256, 256 * 1024
    shapes = {"cls_token": [1, 1, d], "pos_embed": [1, 5, d], "patch_embed.proj.weight": [d, 3, 4, 4],
              "patch_embed.proj.bias": [d], "norm.weight": [d], "norm.bias": [d]}
    for block in range(100):
        for name, shape in {"norm1": [d], "attn.qkv": [3 * d, d], "attn.proj": [d, d], "norm2": [d],
                            "mlp.fc1": [4 * d, d], "mlp.fc2": [d, 4 * d]}.items():
            shapes[f"blocks.{block}.{name}.weight"] = shape
            shapes[f"blocks.{block}.{name}.bias"] = shape[:1]
    pickle = b"\x80\x02}(" + b"".join(
        b"X" + struct.pack("<I", len(name)) + name.encode() + tensor(shape, cells)
        for name, shape in shapes.items()) + b"u."
    with zipfile.ZipFile("shared.pth", "w") as archive:
        archive.writestr("archive/data.pkl", pickle)
        archive.writestr("archive/data/0", bytes(4 * cells))
    refused("its tensors share their storage", "features", "x.npy", "-o", "y.npy", "--weights",
            "shared.pth", "-q")


def check_long_header():
    text = b"{" + b",".join(b'"%d":[]' % i for i in range(600000)) + b"}"
    with open("long.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
    refused("its header has 1200000 values", "models", "inspect", "long.safetensors")


def check_registers():
    """timm's networks with registers have positions of the patches alone: 9 are 3 x 3."""
    shapes = vit()
    shapes.update({"reg_token": [1, 4, 64], "pos_embed": [1, 9, 64]})
    save("registers.safetensors", make(shapes))
    about = run("models", "inspect", "registers.safetensors").stdout.decode()
    if "positions 3 x 3" not in about:
        complain(f"registers.safetensors: {about[:300]}")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    save_images("x.npy", (37, 3, 12, 8))
    save_images("grey.npy", (2, 1, 12, 8))
    save_pictures("pictures.npy", (12, 16, 16, 3))
    for name, family, tensors, one, other, mismatch in (
            ("vit.safetensors", "vit", make(vit()), "blocks.0.attn.qkv.weight", "dino_vits8",
             "its width is 64 but dino_vits8 has 384"),
            ("resnet.safetensors", "resnet", make(resnet()), "layer3.0.conv2.weight", "resnet18",
             "its width is 16 but resnet18 has 512")):
        save(name, tensors)
        check_same_bytes(name)
        check_refusals(name, tensors, one, other, mismatch)
        check_whole_numbers(name, one)
        check_nothing_is_replaced(name)
        check_models(name, family)
        check_prefixes(name, tensors)
        check_precision(name, family)
    check_claims()
    check_shared_storage()
    check_long_header()
    check_registers()
sys.exit(1 if failed else 0)
