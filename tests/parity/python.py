#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python.py - the module invar beside PyTorch, ONNX Runtime, scikit-learn and faiss.

    python3 python.py INVAR [PHOTOS RESNET18]    INVAR is the program; the library is the one it was built with

The first lines of docs/PYTHON.md, as they stand there, on real photographs with torchvision's ResNet-18, and what the
program makes of the same: equal bytes. A ResNet-18 in PyTorch as a callback gives the bank of our own ResNet-18, also
when it is interrupted and resumed; so does an ONNX Runtime session. E.torch() equals E, also as a script of TorchScript.
InvariantTransformer passes scikit-learn's checks. mypy accepts the Python lines of README.md and docs/PYTHON.md. The examples
run.

PHOTOS is a folder of images and RESNET18 a weight file of torchvision. Without them, photographs are those of
../shared/data/rsscn7.tar and weights are $INVAR_RESNET18 or what ../shared/data/get_resnet18.py fetches; where these are
not at hand, both are made, and that is said. Exit 77 (skipped) where PyTorch is not installed.
"""
import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
PROGRAM = os.path.abspath(sys.argv[1])
os.environ.update(INVAR_PROGRAM=PROGRAM, INVAR_SOURCE=SOURCE, PYTHONPATH=os.path.join(SOURCE, "python"),
                  INVAR_LIBRARY=os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "libinvar.so.0"))
# onnx.py beside this file is not the package that PyTorch imports.
sys.path = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
sys.path[:0] = [os.path.join(SOURCE, "python"), os.path.join(SOURCE, "bench/peers"), os.path.join(SOURCE, "tests/python")]

try:
    import numpy as np
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as error:
    print("skipped: %s (./dev parity python sets it up)" % error)
    sys.exit(77)

import encoder_nets
import invar
from made import photo_folder

TOLERANCE, MODULE_TOLERANCE, SIDE = 1e-4, 1e-6, 64
failed = []


def judge(what, gap, limit):
    print(f"{what}: {gap:.1e}, limit {limit:.0e}", "" if gap <= limit else "FAILED")
    if not gap <= limit:
        failed.append(what)


def apart(a, b):
    """The largest difference over the largest value."""
    return float(np.abs(a - b).max() / np.abs(b).max())


# ---- Encoders ---------------------------------------------------------------------------


def made_resnet(path):
    """Random, with lively batch norms."""
    torch.manual_seed(0)
    net = encoder_nets.make("resnet18", SIDE)
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
        for name, b in net.named_buffers():
            if b.dtype.is_floating_point:
                b.add_(0.1 * torch.rand_like(b))
    save_file(net.state_dict(), path)


def open_resnet(path):
    net = encoder_nets.make("resnet18", SIDE)
    known = set(net.state_dict())
    net.load_state_dict({k: v for k, v in load_file(path).items() if k in known}, strict=False)
    missing = known - set(load_file(path)) - {k for k in known if k.endswith("num_batches_tracked")}
    assert not missing, missing
    return net.eval()


def encode(photos, bank, encoder, **more):
    return invar.encode(photos, bank, encoder=encoder, size=SIDE, normalize="imagenet", augment="rotation", copies=1,
                        holdout=0.3, seed=1, **more)


def compare_banks(what, one, other):
    for split in other.splits:
        judge(f"{what}, {split}, clean", apart(one.clean(split), other.clean(split)), TOLERANCE)
        judge(f"{what}, {split}, copy 0", apart(one.copy(0, split), other.copy(0, split)), TOLERANCE)
        if (one.labels(split) != other.labels(split)).any():
            failed.append(f"labels of {what}")


def interrupted(function, at):
    """Presses Ctrl-C in the call `at`."""
    calls = []

    def run(images):
        calls.append(len(images))
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGINT)
        return function(images)

    return run


def check_encoders(photos, weights):
    ours = encode(photos, "ours", weights)
    net = open_resnet(weights)
    whole = encode(photos, "whole", net, name="resnet18")
    compare_banks("PyTorch's ResNet-18 as a callback", whole, ours)

    def by_torch(images):
        with torch.inference_mode():
            return net(torch.from_numpy(images))

    blocks = -(-whole.rows("train") // 256)
    try:
        encode(photos, "stopped", interrupted(by_torch, 9 if blocks > 1 else 2), name="resnet18")
        failed.append("Ctrl-C was not seen")
    except KeyboardInterrupt:
        print("interrupted")
    stopped = encode(photos, "stopped", by_torch, name="resnet18")
    compare_banks("interrupted and resumed", stopped, ours)
    same = all((stopped.clean(split) == whole.clean(split)).all() and (stopped.copy(0, split) == whole.copy(0, split)).all()
               for split in whole.splits)
    print("interrupted and resumed, equal to uninterrupted bit for bit:", same)
    check_onnx(photos, net, ours)


def check_onnx(photos, net, ours):
    try:
        import onnxruntime
    except ImportError as error:
        print(f"ONNX Runtime left out: {error}")
        return
    torch.onnx.export(net, (torch.zeros(2, 3, SIDE, SIDE),), "net.onnx", input_names=["x"], output_names=["y"],
                      dynamo=False, dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
    session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
    bank = encode(photos, "onnx", lambda images: session.run(None, {"x": images})[0], name="resnet18")
    compare_banks("an ONNX Runtime session as a callback", bank, ours)


# ---- The lines of the manual --------------------------------------------------------------------


def same_bytes(one, other):
    """Two folders or files; times and paths are not compared."""
    if os.path.isfile(one):
        with open(one, "rb") as a, open(other, "rb") as b:
            return a.read() == b.read()
    files = [sorted(os.path.relpath(os.path.join(place, name), top) for place, _, names in os.walk(top) for name in names)
             for top in (one, other)]
    return files[0] == files[1] and all(same_bytes(os.path.join(one, name), os.path.join(other, name)) for name in files[0])


def type_the_lines():
    """As a user types them, in a folder with photos/ and resnet18.safetensors."""
    backbone = open_resnet("resnet18.safetensors")

    def my_function(images):
        with torch.inference_mode():
            return backbone(torch.from_numpy(images))

    bank = invar.encode("photos/", "bank", encoder="resnet18.safetensors", augment="rotation", holdout=0.3)
    run = invar.train(bank, "run")                    # the default preset
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        print(run.eval(bank))                         # the table; in a notebook HTML; .to_pandas(), .to_json()
    E = run.adapter                                   # E(z) on NumPy arrays; E.torch() is an nn.Module
    model = torch.nn.Sequential(backbone, E.torch())  # and it equals E to 1e-6
    bank2 = invar.encode("photos/", "bank2", encoder=my_function, width=512, size=224, normalize="imagenet",
                         augment="rotation")
    clean, copies = bank.clean(), np.stack([bank.copy(i) for i in range(bank.copies())], 1)
    T = invar.InvariantTransformer(preset="instant").fit(clean, copies)   # scikit-learn's way; T.transform(z)

    z = bank.copy(0, "test")
    with torch.inference_mode():
        judge("E.torch() on real features", apart(E.torch()(torch.from_numpy(z)).numpy(), E(z)), MODULE_TOLERANCE)
        x = torch.rand(2, 3, 224, 224)
        judge("Sequential(backbone, E.torch())", apart(model(x).numpy(), E(my_function(x.numpy()).numpy())), MODULE_TOLERANCE)
    assert T.transform(z).shape == z.shape and np.linalg.norm(T.transform(z) - bank.clean("test")) < \
        np.linalg.norm(z - bank.clean("test"))
    return bank2, shown.getvalue()


def check_typed(photos, weights):
    os.symlink(photos, "photos")
    os.symlink(weights, "resnet18.safetensors")
    bank2, table = type_the_lines()
    print(table)
    program = lambda *words: subprocess.run([PROGRAM, *words, "-q"], check=True, capture_output=True, text=True).stdout
    program("encode", "photos/", "-o", "bank-cli", "--weights", "resnet18.safetensors", "--augment", "rotation", "--holdout",
            "0.3")
    program("train", "bank-cli", "-o", "run-cli")
    theirs = program("eval", "bank-cli", "run-cli").replace("run-cli", "run")
    for one, other in (("bank", "bank-cli"), ("run/adapter.safetensors", "run-cli/adapter.safetensors")):
        print(f"{one} is that of the program, byte for byte:", same_bytes(one, other))
        if not same_bytes(one, other):
            failed.append(f"{one} differs from {other}")
    if table.split() != theirs.split():  # the title of a column has another width
        failed.append("the table differs from the program's")
    own = invar.encode("photos/", "own2", encoder="resnet18.safetensors", size=224, normalize="imagenet", augment="rotation")
    compare_banks("my_function beside our own ResNet-18 at 224 pixels", bank2, own)


def check_forms(photos, weights):
    bank = invar.encode(photos, "bank", encoder=weights, augment="rotation", holdout=0.3, size=SIDE, copies=3)
    run = invar.train(bank, "run", epochs=5)
    results = run.eval(bank)
    print(results)
    assert "<table>" in results._repr_html_() and results.to_json()
    E = run.adapter
    z = bank.copy(0, "test")
    module = E.torch()
    with torch.inference_mode():
        judge("E.torch()", apart(module(torch.from_numpy(z)).numpy(), E(z)), MODULE_TOLERANCE)
        judge("torch.jit.script(E.torch())", apart(torch.jit.script(module)(torch.from_numpy(z)).numpy(), E(z)),
              MODULE_TOLERANCE)
    assert list(module.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    module.to(torch.float64)
    net = open_resnet(weights)
    model = torch.nn.Sequential(net, E.torch())
    assert model(torch.zeros(1, 3, SIDE, SIDE)).shape == (1, E.output)
    for options in ({"preset": "instant"}, {"preset": "instant", "unit": True}, {"preset": "paper", "epochs": 1},
                    {"preset": "paper", "epochs": 1, "unit": True},
                    {"loss": "waco", "preset": "paper", "width": 64, "epochs": 1, "projections": 20}):
        other = invar.train(bank, "run-" + "-".join(map(str, options.values())), **options).adapter
        rows = np.concatenate([z, np.zeros_like(z[:1])]) if other.unit else z
        with torch.inference_mode():
            for title, network in (("E.torch()", other.torch()), ("its script", torch.jit.script(other.torch()))):
                judge(f"{title} of {options}", apart(network(torch.from_numpy(rows)).numpy(), other(rows)), MODULE_TOLERANCE)
    program_bank = [PROGRAM, "encode", photos, "-o", "bank-cli", "--weights", weights, "--augment", "rotation", "--holdout",
                    "0.3", "--size", str(SIDE), "--copies", "3", "-q"]
    subprocess.run(program_bank, check=True)
    subprocess.run([PROGRAM, "train", "bank-cli", "-o", "run-cli", "--epochs", "5", "-q"], check=True)
    for one, other in (("bank/bank.json", "bank-cli/bank.json"), ("bank/train/clean.npy", "bank-cli/train/clean.npy"),
                       ("bank/test/aug/002.npy", "bank-cli/test/aug/002.npy"),
                       ("run/adapter.safetensors", "run-cli/adapter.safetensors")):
        if open(one, "rb").read() != open(other, "rb").read():
            failed.append(f"{one} differs from the program's")
    print("bank and adapter are those of the program, byte for byte")


# ---- scikit-learn ----------------------------------------------------------------------------------


def noisy(X):
    """Copies for scikit-learn's checks, which know no copies."""
    rng = np.random.default_rng(0)
    return X[:, None] + 0.1 * rng.normal(size=(len(X), 3, X.shape[1])).astype("f4")


def check_scikit_learn():
    try:
        from sklearn.utils.estimator_checks import check_estimator
    except ImportError as error:
        print(f"scikit-learn left out: {error}")
        return
    T = invar.InvariantTransformer(copies=noisy, threads=1, options={"hidden": 16})
    done = check_estimator(T, on_fail=None, on_skip=None)
    for one in done:
        if one["status"] != "passed":
            print(one["status"], one["check_name"], one["exception"])
        if one["status"] not in ("passed", "skipped"):
            failed.append(one["check_name"])
    print(f"scikit-learn: {sum(one['status'] == 'passed' for one in done)} of {len(done)} checks passed")
    check_parameters()


def check_parameters():
    """Options of training as parameters: clone, a grid, and other processes."""
    import joblib
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    X, y = np.random.default_rng(0).normal(size=(90, 6)).astype("f4"), np.arange(90) % 3
    T = invar.InvariantTransformer(copies=noisy, threads=1, hidden=16)
    copy = clone(T.set_params(ridge=0.5))
    assert copy.get_params() == T.get_params() and (copy.hidden, copy.ridge) == (16, 0.5)
    grid = GridSearchCV(make_pipeline(T, LogisticRegression()), {"invarianttransformer__hidden": [8, 16]}, cv=2,
                        error_score="raise").fit(X, y)
    assert grid.best_estimator_[0].adapter_.hidden in (2 * 6 + 8, 2 * 6 + 16)
    fitted = T.fit(X)
    made = joblib.Parallel(n_jobs=2)(joblib.delayed(fitted.transform)(X) for _ in range(2))
    assert all((one == fitted.transform(X)).all() for one in made)
    print("scikit-learn: clone, GridSearchCV and joblib with options of training as parameters")


# ---- Types -----------------------------------------------------------------------------------------


NAMES = ("backbone", "my_function", "torch_model", "model", "session", "clean", "copies", "labels", "features", "a", "b", "c",
         "d", "z", "index", "q", "ids", "connection", "faiss")  # that the reader has


def check_types():
    """mypy on the lines of the manuals, with what the reader has declared before them."""
    if subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True).returncode:
        print("mypy left out: it is not installed")
        return
    text = "from typing import Any\n\nimport invar\nimport torch\n\n" + "".join(f"{name}: Any\n" for name in NAMES)
    for manual in ("README.md", "docs/PYTHON.md"):
        with open(os.path.join(SOURCE, manual), encoding="utf-8") as file:
            blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        text += "".join(block.replace("import faiss\n", "") for block in blocks if re.search(r"\binvar\.\w+\(", block))
    text += 'number: float = run.eval(bank)["lc.augmented", "run"]\n'
    with open("manual.py", "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "manual.py"], capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": os.path.join(SOURCE, "python")})
    print("mypy:", done.stdout.strip())
    if done.returncode:
        failed.append("mypy on the manuals")


def check_tests():
    """What needs Pillow, faiss or PyTorch."""
    for name in ("test_examples", "test_encode", "test_transformer"):
        script = os.path.join(SOURCE, "tests/python", name + ".py")
        if subprocess.run([sys.executable, script]).returncode:
            failed.append(name)


def real_weights(data):
    """torchvision's ResNet-18, or None."""
    script, path = os.path.join(data, "get_resnet18.py"), os.environ.get("INVAR_RESNET18")
    if path or not os.path.exists(script):
        return path and os.path.abspath(path)
    fetched = subprocess.run([sys.executable, script, "fetched.safetensors"], capture_output=True, text=True)
    return os.path.abspath("fetched.safetensors") if fetched.returncode == 0 else None


def find_inputs():
    """(photographs, the same but few, weights): real ones, else made ones."""
    data = os.path.join(SOURCE, "../shared/data")
    archive, weights = os.path.join(data, "rsscn7.tar"), real_weights(data)
    if not weights or not os.path.exists(archive):
        print("skipped: real photographs and torchvision's ResNet-18 are not at hand (%s); made ones instead"
              % ("no weights" if os.path.exists(archive) else "no ../shared/data"))
        photo_folder("made", classes=2, each=200, side=SIDE)
        photo_folder("few", classes=2, each=20, side=SIDE)
        made_resnet("made.safetensors")
        return [os.path.abspath(name) for name in ("made", "few", "made.safetensors")]
    with tarfile.open(archive) as tar:
        files = sorted(one.name for one in tar if one.isfile() and one.name.lower().endswith((".jpg", ".png")))
        tar.extractall("real", filter="data")
    for i, name in enumerate(files):
        folder = os.path.join("few", os.path.basename(os.path.dirname(name)))
        if sum(os.path.dirname(name) == os.path.dirname(before) for before in files[:i]) < 6:
            os.makedirs(folder, exist_ok=True)
            os.symlink(os.path.abspath(os.path.join("real", name)), os.path.join(folder, os.path.basename(name)))
    return os.path.abspath(os.path.join("real", os.path.dirname(os.path.dirname(files[0])))), os.path.abspath("few"), weights


def main():
    given = [os.path.abspath(path) for path in sys.argv[2:4]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        photos, few, weights = (given[0], given[0], given[1]) if given else find_inputs()
        os.mkdir("typed")
        os.chdir("typed")
        check_typed(few, weights)
        os.chdir(folder)
        check_encoders(photos, weights)
        check_forms(photos, weights)
        check_scikit_learn()
        check_types()
        check_tests()
        os.chdir("/")
    print("FAILED: " + ", ".join(failed) if failed else "python: fine")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
