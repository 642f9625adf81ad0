#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""onnx.py - what invar exports, checked by the onnx package and run by ONNX Runtime.

    python3 onnx.py INVAR        INVAR is the program

Adapters of every form are exported alone, in float32 and float16, and onto models that
PyTorch-like writers make: of several types, ranks and IR versions, with names of ours, with
subgraphs. Encoders of our own are exported with an adapter: small ResNets and SqueezeNets on
images of two sizes, and every vision transformer and Hugging Face's ResNets of tests/golden and of ../shared/golden. Every
file passes onnx.checker with full_check; the outputs of ONNX Runtime agree with 'invar features'
and 'invar apply' within 1e-5 relative to the largest, float16 within its own precision, and what
the foreign model computed before stays bit for bit.

The other way round, models are encoders: those that were exported, and a vision transformer by torch.onnx with its weights in
a file beside it, run by the package onnxruntime through invar.Encoder, within 1e-5 of 'invar features' and PyTorch; banks of
it by invar.encode and, where the program has ONNX Runtime (Debian 13), by 'invar encode' within 1e-5. Exit 77 (skipped) where onnx, onnxruntime or
NumPy are not installed.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
# This file is called like the package that it imports.
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print("skipped: %s (./dev parity sets it up)" % error)
    sys.exit(77)

FORMS = {"plain": ["--preset", "paper"], "residual": ["--preset", "paper", "--residual"], "scaled": ["--scaled"],
         "narrow": ["--loss", "waco", "--projections", "20", "--width", "7"],
         "instant": ["--preset", "instant"], "unit": ["--preset", "instant", "--unit"],
         "unit narrow": ["--loss", "waco", "--projections", "20", "--width", "7", "--unit"]}
N, D, HIDDEN, COPIES = 300, 48, 96, 3
ENCODERS = {"basic": 1, "bottleneck": 3, "wide": 3, "cifar": 3, "squeeze": 3}  # channels of their images
TOLERANCE = {"float32": 1e-5, "float16": 2e-3}
VITS = [os.path.join(HERE, "../golden/encoders/vit"), os.path.join(HERE, "../golden/encoders/transformers"),
        os.path.join(HERE, "../../../shared/golden/encoders")]


def write_bank(folder, width=D, size=None):
    rng = np.random.default_rng(1)
    clean = rng.normal(size=(N, width)).astype("f4")
    aug = clean[:, None] + 0.5 * rng.normal(size=(N, COPIES, width)).astype("f4")
    os.makedirs(os.path.join(folder, "train"))
    np.save(os.path.join(folder, "train", "clean.npy"), clean)
    np.save(os.path.join(folder, "train", "aug.npy"), aug)
    if size:
        about = {"format": "invar-bank", "version": 1, "preprocess": {"channels": 3, "size": size}}
        with open(os.path.join(folder, "bank.json"), "w") as file:
            json.dump(about, file)


def run(program, *arguments):
    subprocess.run([program, *arguments], check=True)


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def gap(have, want):
    """The largest difference relative to the largest number."""
    return float(np.abs(have.astype("f8") - want).max() / np.abs(want).max())


def codes_of(program, place, adapter, features):
    at = lambda name: os.path.join(place, name)
    np.save(at("z.npy"), features.astype("f4"))
    # Random features have other norms than those of training, of which it warns.
    done = subprocess.run([program, "apply", adapter, at("z.npy"), "-o", at("codes.npy"), "-q"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(at("codes.npy"))


def check_alone(program, place, adapter, dtype):
    path = os.path.join(place, "alone.onnx")
    run(program, "export", adapter, "-o", path, "--dtype", dtype, "-q")
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [o.version for o in model.opset_import] == [17] and model.producer_name == "invar"
    assert "invar.encoder" in {p.key for p in model.metadata_props}
    again = os.path.join(place, "again.onnx")
    run(program, "export", adapter, "-o", again, "--dtype", dtype, "-q")
    assert open(path, "rb").read() == open(again, "rb").read(), "two exports differ"
    runtime, worst = session(path), 0
    for rows in (1, 333):
        z = np.random.default_rng(rows).normal(size=(rows, D)).astype("f4")
        worst = max(worst, gap(runtime.run(["codes"], {"features": z})[0], codes_of(program, place, adapter, z)))
    return worst


def check_scales(program, place, adapter):
    """A unit adapter: the same codes for a row of any norm, and of a row of zeros as 'invar apply' has them."""
    path = os.path.join(place, "alone.onnx")
    run(program, "export", adapter, "-o", path, "-q")
    z = np.random.default_rng(6).normal(size=(50, D)).astype("f4")
    z[7] = 0
    want, runtime = codes_of(program, place, adapter, z), session(path)
    return max(gap(runtime.run(["codes"], {"features": (z * scale).astype("f4")})[0], want) for scale in (1e-6, 1, 1e6))


def encoder(element=TensorProto.FLOAT, rank=2, ir=8, opset=17, named=None, branch=False, shape=True, pixel=False):
    """A small encoder x -> Relu(x A), with a second output, as a foreign writer makes it."""
    rng = np.random.default_rng(7)
    kind = helper.tensor_dtype_to_np_dtype(element)
    a = numpy_helper.from_array(rng.normal(size=(16, D)).astype(kind), "A")
    axes = ["n", 5][: rank - 1]
    inside = named or "hidden"
    nodes = [helper.make_node("MatMul", ["x", "A"], [inside]), helper.make_node("Relu", [inside], ["features"]),
             helper.make_node("Identity", [inside], ["second"])]
    if pixel:
        nodes[1:2] = [helper.make_node("Relu", [inside], ["flat"]), helper.make_node("Unsqueeze", ["flat", "last"], ["features"])]
    if branch:
        body = helper.make_graph([helper.make_node("Identity", ["features"], ["invar/then"])], "then", [],
                                 [helper.make_tensor_value_info("invar/then", element, None)])
        other = helper.make_graph([helper.make_node("Neg", ["features"], ["else"])], "else", [],
                                  [helper.make_tensor_value_info("else", element, None)])
        nodes[2] = helper.make_node("If", ["yes"], ["second"], then_branch=body, else_branch=other)
    graph = helper.make_graph(
        nodes, "encoder", [helper.make_tensor_value_info("x", element, axes + [16])],
        [helper.make_tensor_value_info("features", element, axes + ([D, 1, 1] if pixel else [D] if shape else ["width"])),
         helper.make_tensor_value_info("second", element, axes + [D])], [a])
    if ir < 4:
        graph.input.append(helper.make_tensor_value_info("A", element, [16, D]))
    if pixel:
        graph.initializer.append(numpy_helper.from_array(np.array([2, 3]), "last"))
    if branch:
        graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    return helper.make_model(graph, ir_version=ir, opset_imports=[helper.make_opsetid("", opset)], producer_name="other")


MODELS = {
    "float32": dict(), "patches": dict(rank=3), "unknown width": dict(shape=False),
    "float16": dict(element=TensorProto.FLOAT16), "double": dict(element=TensorProto.DOUBLE),
    "IR 3, opset 7": dict(ir=3, opset=7), "opset 21": dict(ir=10, opset=21),
    "our names": dict(named="invar/step0"), "subgraphs": dict(branch=True),
    "one pixel": dict(pixel=True),
}


def check_onto(program, place, adapter, setting, dtype, target="features"):
    at = lambda name: os.path.join(place, name)
    model = encoder(**setting)
    onnx.save(model, at("encoder.onnx"))
    run(program, "export", adapter, "--onto", at("encoder.onnx"), "--onto-output", target, "-o", at("both.onnx"),
        "--dtype", dtype, "-q")
    both = onnx.load(at("both.onnx"))
    onnx.checker.check_model(both, full_check=True)
    assert both.producer_name == "other" and both.opset_import == model.opset_import
    before, after = session(at("encoder.onnx")), session(at("both.onnx"))
    names = [o.name for o in after.get_outputs()]
    kind = helper.tensor_dtype_to_np_dtype(setting.get("element", TensorProto.FLOAT))
    x = np.random.default_rng(3).normal(size=(9, 5, 16) if setting.get("rank") == 3 else (9, 16)).astype(kind)
    old, new = before.run(None, {"x": x}), after.run(None, {"x": x})
    assert names[:2] == ["features", "second"] and len(names) == 3, names
    assert all((a == b).all() for a, b in zip(old, new)), "the model's own outputs changed"
    features = old[0] if target == "features" else x @ numpy_helper.to_array(model.graph.initializer[0])
    want = codes_of(program, place, adapter, features.reshape(-1, D))
    want = want.reshape(*features.shape[:-1], -1) if setting.get("rank") == 3 else want
    assert new[2].shape == want.shape
    return gap(new[2], want)


def check_twice(program, place, adapter):
    """E of E: the second export finds the names of the first taken."""
    at = lambda name: os.path.join(place, name)
    run(program, "export", adapter, "-o", at("one.onnx"), "-q")
    run(program, "export", adapter, "--onto", at("one.onnx"), "-o", at("two.onnx"), "-q")
    run(program, "export", adapter, "--onto", at("two.onnx"), "--onto-output", "invar/codes", "-o", at("three.onnx"), "-q")
    onnx.checker.check_model(onnx.load(at("three.onnx")), full_check=True)
    z = np.random.default_rng(4).normal(size=(20, D)).astype("f4")
    want = z
    for _ in range(3):
        want = codes_of(program, place, adapter, want)
    return gap(session(at("three.onnx")).run(["invar1/codes"], {"features": z})[0], want)


def check_pair(program, place, weights, images, options=(), dtype="float32", fixed=False):
    """One of our own encoders with an adapter behind it, from images to codes, of 1 and more images."""
    at = lambda name: os.path.join(place, name)
    np.save(at("x.npy"), images)
    run(program, "features", at("x.npy"), "-o", at("f.npy"), "--weights", weights, "-q", *options)
    features = np.load(at("f.npy"))
    size = list(images.shape[2:]) if fixed else None
    folder = at("bank-%d-%s" % (features.shape[1], size))
    if not os.path.exists(folder):
        write_bank(folder, features.shape[1], size)
    run(program, "train", folder, "-o", at("pair"), "--loss", "none", "--init", "ridge", "--ridge", "0.1", "--force", "-q")
    run(program, "export", at("pair"), "--with-encoder", weights, "-o", at("pair.onnx"), "--dtype", dtype, "-q", *options)
    model = onnx.load(at("pair.onnx"))
    onnx.checker.check_model(model, full_check=True)
    assert [o.version for o in model.opset_import] == [17]
    runtime, want = session(at("pair.onnx")), codes_of(program, place, at("pair"), features)
    worst = check_as_encoder(at("pair.onnx"), images, features, onnx_output="features") if images.shape[1] == 3 else 0
    for rows in (1, len(images)):
        codes, same = runtime.run(["codes", "features"], {"images": images[:rows]})
        worst = max(worst, gap(codes, want[:rows]), gap(same, features[:rows]))
    return worst


def check_as_encoder(path, images, want, **options):
    """A model as an encoder of the Python module, of 1 and more images, against features that are known."""
    import invar

    F = invar.Encoder(path, **options)
    return max(gap(F(images[:rows]), want[:rows]) for rows in (1, len(images)))


def export_vit(path):
    """A random vision transformer by torch.onnx: images to tokens, its weights in a file beside the model."""
    import torch
    import transformers

    torch.manual_seed(0)
    network = transformers.ViTModel(transformers.ViTConfig(
        hidden_size=96, num_hidden_layers=3, num_attention_heads=3, intermediate_size=192, patch_size=8, image_size=64),
        add_pooling_layer=False).eval()

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, images):
            return self.network(images).last_hidden_state

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Tokens(), (torch.randn(2, 3, 64, 64),), path, input_names=["images"], output_names=["tokens"],
                          dynamic_shapes=({0: "batch"},), dynamo=True, external_data=True, verbose=False)
    return lambda images: Tokens()(torch.from_numpy(images)).detach().numpy()


def check_banks(program, place, model):
    """A bank by Python and by the program; None where the program has no ONNX Runtime."""
    import invar

    at = lambda name: os.path.join(place, name)
    np.save(at("pictures.npy"), np.random.default_rng(8).integers(0, 256, (40, 80, 72, 3)).astype("u1"))
    data, told = "npy:" + at("pictures.npy"), dict(augment="rotation", copies=2, seed=3, normalize="half", onnx_tokens="mean")
    invar.encode(data, at("by-python"), encoder=model, **told)
    done = subprocess.run([program, "encode", data, "-o", at("by-program"), "--weights", model, "-q",
                           *(word for key, value in told.items() for word in ("--" + key.replace("_", "-"), str(value)))],
                          capture_output=True, text=True)
    if done.returncode:
        assert "ONNX Runtime" in done.stderr, done.stderr
        print("skipped: %s" % done.stderr.strip())
        return None
    files = [path for path in glob.glob(at("by-python/train/**/*.npy"), recursive=True) if "fingerprints" not in path]
    assert len(files) == 5, files  # clean rows, 2 copies, their parameters
    return max(gap(np.load(path.replace("by-python", "by-program")), np.load(path)) for path in files)


def vit_cases():
    """(title, weights, images, options) of every vision transformer with golden values."""
    for folder in VITS:
        if not os.path.exists(os.path.join(folder, "manifest.json")):
            print("skipped: %s is not at hand" % os.path.normpath(folder))
            continue
        with open(os.path.join(folder, "manifest.json")) as file:
            told = json.load(file)
        for case in told["cases"]:
            about = told["architectures"][case["architecture"] if "architecture" in case else case["weights"]]
            if not any(word in about["family"] for word in ("vit", "dinov2", "dinov3", "clip", "siglip", "hf_resnet")):
                continue
            options = ["--heads", str(about["heads"])] if "heads" in about else []
            options += ["--key", "student"] if case.get("key_prefix", "").startswith("student") else []
            yield (case["name"], os.path.join(folder, case["weights"]), np.load(os.path.join(folder, case["input"])), options)


def main():
    program, failed, passed = os.path.abspath(sys.argv[1]), 0, 0
    os.environ.setdefault("INVAR_LIBRARY", os.path.join(os.path.dirname(os.path.dirname(program)), "libinvar.so.0"))
    sys.path.insert(0, os.path.join(HERE, "../../python"))
    with tempfile.TemporaryDirectory() as place:
        def show(title, have, allowed):
            nonlocal failed, passed
            fine = have <= allowed
            passed, failed = passed + fine, failed + (not fine)
            print("%-36s largest difference %.1e, %.0e allowed%s" % (title, have, allowed, "" if fine else "  FAILED"))

        write_bank(os.path.join(place, "bank"))
        for form, options in FORMS.items():
            adapter = os.path.join(place, form)
            run(program, "train", os.path.join(place, "bank"), "-o", adapter, "--trial=false", "--hidden", str(HIDDEN), "-q",
                *([] if "instant" in options else ["--epochs", "5"]), *options)
            for dtype, allowed in TOLERANCE.items():
                show("%s, %s" % (form, dtype), check_alone(program, place, adapter, dtype), allowed)
        for form in ("residual", "unit", "unit narrow"):
            adapter = os.path.join(place, form)
            for title, setting in MODELS.items():
                for dtype, allowed in TOLERANCE.items():
                    low = setting.get("element") == TensorProto.FLOAT16
                    show("%s onto %s, %s" % (form, title, dtype), check_onto(program, place, adapter, setting, dtype),
                         max(allowed, 2e-3 if low else 0))
        show("unit, zeros and any scale", check_scales(program, place, os.path.join(place, "unit")), 1e-5)
        adapter = os.path.join(place, "residual")
        show("onto a tensor inside", check_onto(program, place, adapter, {}, "float32", "hidden"), 1e-5)
        show("three times in a row", check_twice(program, place, adapter), 1e-5)
        for name, channels in ENCODERS.items():
            weights = os.path.join(HERE, "../golden/encoders/convnets", name + ".safetensors")
            for shape in ((6, channels, 72, 64), (2, channels, 97, 97)):
                x = np.random.default_rng(5).normal(size=shape).astype("f4")
                show("with %s, %d x %d" % (name, *shape[2:]), check_pair(program, place, weights, x), 1e-5)
        for name, weights, x, options in vit_cases():
            for dtype, allowed in TOLERANCE.items():
                show("with %s, %s" % (name, dtype), check_pair(program, place, weights, x, options, dtype, True), allowed)
        path, x = os.path.join(place, "vit.onnx"), np.random.default_rng(9).normal(size=(5, 3, 64, 64)).astype("f4")
        tokens = export_vit(path)(x)
        for word, want in (("first", tokens[:, 0]), ("mean", tokens.mean(1))):
            show("torch.onnx, %s token" % word, check_as_encoder(path, x, want, onnx_tokens=word), 1e-5)
        banks = check_banks(program, place, path)
        if banks is not None:
            show("banks by Python and the program", banks, 1e-5)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
