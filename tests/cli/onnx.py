#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""onnx.py INVAR [runtime] - ONNX models as encoders, through `invar features` and `encode`.

Without `runtime`: what is wrong with a model is one sentence and no file, and is found before ONNX Runtime is needed; a
program without it says what to install. With `runtime`, skipped (77) where the program has none: features against plain
arithmetic, on any number of threads; preparation from the model or asked for; a bank is extended, but not with other weights.
"""
import array
import json
import os
import struct
import subprocess
import sys
import tempfile

from tiny_onnx import FLOAT16, UINT8, W, WIDTH, make

invar = os.path.realpath(sys.argv[1])
NOT_HERE = ("this invar was built without ONNX Runtime", "cannot load ONNX Runtime")
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def write_npy(path, shape, values, kind="<f4"):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, tuple(shape))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode())
        array.array("f" if kind == "<f4" else "B", values).tofile(file)


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return array.array("f", data[start:])


def run(*words):
    done = subprocess.run([invar, *words], capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def features(model, *words):
    return run("features", "x.npy", "-o", "f.npy", "--weights", model, "-q", "--force", *words)


def refused(title, want, status, *words, call=features):
    """One line that says it, and nothing written."""
    have, said = call(*words)
    if have != status or want not in said or said.count("\n"):
        complain("%s: ended with %d, not %d, and says:\n  %s\nnot:\n  %s" % (title, have, status, said, want))
    if call is features and os.path.exists("f.npy"):
        complain("%s: wrote a file" % title)
        os.remove("f.npy")


# ---- What needs no runtime -----------------------------------------------------------------------------------------


def check_models():
    make("good.onnx")
    with open("good.onnx", "rb") as file:
        bytes_ = file.read()
    with open("text.onnx", "w") as file:
        file.write("version https://git-lfs.github.com/spec/v1\n")
    with open("short.onnx", "wb") as file:
        file.write(bytes_[:len(bytes_) // 2])
    open("empty.onnx", "w").close()
    refused("a text", "text.onnx: is not an ONNX model", 1, "text.onnx")
    refused("half a file", "short.onnx: is not an ONNX model, or is truncated", 1, "short.onnx")
    refused("an empty file", "empty.onnx: ", 1, "empty.onnx")
    refused("no file", "absent.onnx: cannot open: No such file or directory", 1, "absent.onnx")
    cases = [
        ("two inputs", dict(extra_input=True), 1, "has 2 inputs (images, mask), but an encoder has one"),
        ("float16", dict(element=FLOAT16), 1, "takes images of float16; convert it so that inputs and outputs stay float32"),
        ("bytes", dict(element=UINT8), 1, "its input images does not take float32 but ONNX's type 2"),
        ("two axes", dict(shape=("n", 10)), 1, "its input images has 2 axes, but images have 4"),
        ("a batch of 8", dict(shape=(8, 3, 8, 8)), 1, "takes exactly 8 images per call; export it for one"),
        ("channels last", dict(shape=("n", 8, 8, 3)), 1, "takes images of 8 channels (or channels last)"),
        ("two outputs", dict(extra_output=True), 2,
         "has 2 outputs (features, tokens); choose the one with the features with --onnx-output"),
        ("a float16 output", dict(output_element=FLOAT16), 1, "its output features is not float32"),
        ("missing data", dict(external="m.data"), 1, "keeps weights in ./m.data, which is missing; copy it beside the model"),
        ("data elsewhere", dict(external="../m.data"), 1, "keeps weights in a file that is not in its folder"),
        ("data at a path", dict(external="/etc/passwd"), 1, "keeps weights in a file that is not in its folder"),
    ]
    for title, traits, status, want in cases:
        make("m.onnx", **traits)
        refused(title, "m.onnx: " + want, status, "m.onnx")
    refused("another output", "good.onnx: has no output 'codes'; its outputs are features", 2, "good.onnx", "--onnx-output", "codes")
    refused("a name", "good.onnx: --encoder resnet18 names one of invar's own networks; leave it out", 2, "good.onnx", "--encoder",
            "resnet18")
    refused("a key", "--key does not apply to good.onnx, which is an ONNX model", 2, "good.onnx", "--key", "teacher")
    refused("heads", "--heads does not apply to the encoder", 2, "good.onnx", "--heads", "3")
    refused("tokens", "--onnx-tokens does not apply to the encoder", 2, "w.safetensors", "--onnx-tokens", "mean")
    os.mkdir("folder")
    make("folder/model.onnx")
    with open("folder/preprocessor_config.json", "w") as file:
        json.dump({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0, 0.5]}, file)
    refused("a wrong preparation", "folder/preprocessor_config.json: its mean and standard deviation are not valid", 1,
            "folder/model.onnx")


def check_absence():
    """What is said where there is no runtime, and that nothing is said where there is one."""
    for title, traits in (("plain", {}), ("weights among the inputs", {"ir": 3}), ("other sizes", {"shape": ("n", 3, "h", "w")})):
        make("m.onnx", **traits)
        status, said = features("m.onnx")
        if any(words in said for words in NOT_HERE):
            if "libonnxruntime-dev" not in said or "\n" in said or os.path.exists("f.npy"):
                complain("%s: %s" % (title, said))
        elif status:
            complain("%s: ended with %d: %s" % (title, status, said))
        else:
            os.remove("f.npy")


# ---- With it -------------------------------------------------------------------------------------------------------

N, SIDE = 37, 8


def encode(model, bank, *words):
    return run("encode", "npy:pictures.npy", "-o", bank, "--weights", model, "-q", *words)


def expect(title, have, want, allowed=1e-6):
    if len(have) != len(want) or any(abs(a - b) > allowed for a, b in zip(have, want)):
        complain("%s: %s … instead of %s …" % (title, list(have[:5]), list(want[:5])))


def fine(title, result):
    if result != (0, ""):
        complain("%s: ended with %d: %s" % (title, *result))


def check_features(x):
    cells = SIDE * SIDE
    channel = [x[i * cells:(i + 1) * cells] for i in range(3 * N)]
    mean = [sum(one) / cells for one in channel]
    want = [sum(mean[3 * i + c] * W[c][j] for c in range(3)) for i in range(N) for j in range(WIDTH)]
    raw = make("m.onnx")
    fine("features", features("m.onnx"))
    expect("features", read_npy("f.npy"), want)
    with open("f.npy", "rb") as file:
        first = file.read()
    for threads in "1", "3":
        fine("threads", features("m.onnx", "--threads", threads))
        with open("f.npy", "rb") as file:
            if file.read() != first:
                complain("%s threads: other bytes" % threads)
    make("data.onnx", external="data.bin")
    with open("data.bin", "wb") as file:
        file.write(raw)
    for title, traits in (("other sizes", dict(shape=("n", 3, "h", "w"))), ("one image per call", dict(shape=(1, 3, 8, 8))),
                          ("no shape", dict(shape=None)), ("IR 3", dict(ir=3))):
        make("m.onnx", **traits)
        fine(title, features("m.onnx"))
        expect(title, read_npy("f.npy"), want)
    fine("external data", features("data.onnx"))
    expect("external data", read_npy("f.npy"), want)
    make("m.onnx", extra_output=True)
    fine("one of two outputs", features("m.onnx", "--onnx-output", "features"))
    expect("one of two outputs", read_npy("f.npy"), want)

    make("t.onnx", output="tokens")
    fine("the first token", features("t.onnx", "--onnx-tokens", "first"))
    expect("the first token", read_npy("f.npy"), [v for i in range(N) for v in channel[3 * i]])
    fine("the mean token", features("t.onnx", "--onnx-tokens", "mean"))
    expect("the mean token", read_npy("f.npy"), [sum(channel[3 * i + c][k] for c in range(3)) / 3 for i in range(N)
                                                 for k in range(cells)])
    make("maps.onnx", output="maps")
    fine("the mean of maps", features("maps.onnx", "--onnx-tokens", "mean"))
    expect("the mean of maps", read_npy("f.npy"), [sum(max(v, 0) for v in one) / cells for one in channel])

    os.remove("f.npy")
    refused("several tokens", "t.onnx: its output tokens has the shape [n, 3, 64], several tokens per image; choose "
            "--onnx-tokens first, the class token of most networks, or mean", 1, "t.onnx")
    refused("maps", "has the shape [n, 3, 8, 8], maps of several pixels; choose --onnx-tokens mean", 1, "maps.onnx",
            "--onnx-tokens", "first")
    make("m.onnx", shape=("n", 3, 16, 16))
    refused("another size", "m.onnx: takes images of 16 x 16 pixels, not of 8 x 8", 1, "m.onnx")
    make("m.onnx", shape=("n", 1, 8, 8), output="maps")
    refused("one channel", "m.onnx: takes images of 1 channel, not of 3", 1, "m.onnx")
    make("m.onnx", operator="NoSuchOperator")
    refused("an operator", "m.onnx: ONNX Runtime cannot load the model: ", 1, "m.onnx")


def about(bank):
    with open(os.path.join(bank, "bank.json")) as file:
        return json.load(file)


def check_banks():
    make("m.onnx", shape=("n", 3, "h", "w"))
    refused("any size", "m.onnx: takes images of any size; say which one with --size N, or --size native", 2, "m.onnx", "b",
            call=encode)
    refused("no normalisation", "m.onnx: does not say how images are normalised; use --normalize", 2, "m.onnx", "b", "--size",
            "8", call=encode)
    refused("half of it", "does not say how images are normalised", 2, "m.onnx", "b", "--size", "8", "--mean", "0.5", call=encode)
    fine("mean and std", encode("m.onnx", "b", "--size", "8", "--mean", "0.5", "--std", "0.25"))
    said = about("b")
    if (said["encoder"], said["encoder_options"]["version"].split()[0], len(said["weights_sha256"])) != ("m.onnx", "onnxruntime", 64):
        complain("bank.json: %s" % said)
    status, text = encode("m.onnx", "dry", "--size", "8", "--normalize", "half", "--dry-run")
    if status or os.path.exists("dry"):
        complain("dry run: ended with %d: %s" % (status, text))

    make("said.onnx", shape=("n", 3, "h", "w"), metadata={"invar.input": json.dumps(
        {"channels": 3, "size": [8, 8], "resize": "shorter side 9, bicubic, centre", "mean": [0.5, 0.25, 0.125],
         "std": [0.5, 0.25, 0.25]})})
    fine("its metadata", encode("said.onnx", "said"))
    if about("said")["preprocess"] != {"channels": 3, "size": [8, 8], "resize": "shorter side 9, bicubic, centre",
                                       "mean": [0.5, 0.25, 0.125], "std": [0.5, 0.25, 0.25]}:
        complain("its metadata: %s" % about("said")["preprocess"])
    with open("folder/preprocessor_config.json", "w") as file:
        json.dump({"image_mean": [0.5] * 3, "image_std": [0.25] * 3, "size": {"shortest_edge": 10}, "resample": 3,
                   "crop_size": {"height": 8, "width": 8}}, file)
    fine("Hugging Face's file", encode("folder/model.onnx", "hf"))
    if about("hf")["preprocess"] != {"channels": 3, "size": [8, 8], "resize": "shorter side 10, bicubic, centre",
                                     "mean": [0.5] * 3, "std": [0.25] * 3}:
        complain("Hugging Face's file: %s" % about("hf")["preprocess"])

    common = ["--normalize", "half", "--augment", "rotation", "--seed", "5"]
    fine("2 copies", encode("data.onnx", "grown", *common, "--copies", "2"))
    fine("2 more", encode("data.onnx", "grown", *common, "--copies", "4"))
    fine("4 at once", encode("data.onnx", "whole", *common, "--copies", "4"))
    for copy in range(4):
        names = [os.path.join(bank, "train", "aug", "%03d.npy" % copy) for bank in ("grown", "whole")]
        if read_npy(names[0]) != read_npy(names[1]):
            complain("copy %d differs" % copy)
    with open("data.bin", "r+b") as file:
        file.write(struct.pack("<f", 2.5))
    refused("other data", "grown/bank.json: was made with version onnxruntime", 1, "data.onnx", "grown", *common, "--copies", "6",
            call=encode)


def main():
    os.chdir(place)
    x = [((i * 7919) % 1000) / 500 - 1 for i in range(N * 3 * SIDE * SIDE)]
    write_npy("x.npy", (N, 3, SIDE, SIDE), x)
    write_npy("pictures.npy", (20, 12, 10, 3), [(i * 31) % 256 for i in range(20 * 12 * 10 * 3)], "|u1")
    if sys.argv[2:] != ["runtime"]:
        with open("w.safetensors", "wb") as file:
            with open(os.path.join(source, "tests/golden/encoders/convnets/bottleneck.safetensors"), "rb") as golden:
                file.write(golden.read())
        check_models()
        check_absence()
        return
    make("m.onnx")
    _, said = features("m.onnx")
    if any(words in said for words in NOT_HERE):
        print("skipped: " + said)
        sys.exit(77)
    os.mkdir("folder")
    make("folder/model.onnx")
    check_features(array.array("f", x))
    check_banks()


source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with tempfile.TemporaryDirectory() as place:
    main()
    os.chdir("/")
sys.exit(1 if failed else 0)
