# SPDX-License-Identifier: Apache-2.0
"""adversarial.py [IMAGES WEIGHTS] - attacks as augmentations: what an adapter undoes, and what it does not.

The copies are attacked images: PGD in feature space, without labels, moves F(x + delta) as far from F(x) as a change of
at most 1/255 or 4/255 per pixel allows. Adapters learn from F of such copies of the training images. Three attacks on
test images follow. Stored: the same kind with new random starts. Targeted: toward the feature of an image of another
class, a kind that no adapter has seen; neither knows E. Adaptive: the attacker has E and attacks E(F(x)). In an
adversarial round, copies that attack the current E(F(x)) join the training copies, and E is fitted again.

IMAGES has train/ and test/ with a folder per class, WEIGHTS the files named in NETWORKS. Without them, images are made
up and the network is a small random one. Attacked features and adapters are kept in the folder --out: a run that was
stopped resumes. --write DOCS writes DOCS/results/attacks.md and DOCS/img/attacks.svg. Needs PyTorch, safetensors, Pillow.
"""
import argparse
import copy
import datetime
import json
import os
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import invar

STRENGTHS = (1, 4)  # of 255
STEPS, AT = 7, (7, 20, 50)  # steps of copies and stored attacks; where an adaptive attack is measured
MEASURES = {"same": "same image @1", "class": "class of the nearest neighbour", "kept": "kept linear classifier"}
TITLES = {"F": "F", "keep": "keep", "instant": "instant", "noise": "keep, noise copies", "round1": "keep, 1 round",
          "round2": "keep, 2 rounds"}
LONG = ("F", "keep", "round2")  # attacked up to the last of AT, the others up to the last but one
NOISIEST = 0.25  # of pixels in 0..1
BATCH = 70


# ---- Encoders: pixels in 0..1 to features ---------------------------------------------------------------


class Block(nn.Module):
    """The basic block of ResNet-18, with torchvision's names."""

    def __init__(self, inputs, planes, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False), nn.BatchNorm2d(planes)
        self.downsample = nn.Sequential(nn.Conv2d(inputs, planes, 1, stride, bias=False),
                                        nn.BatchNorm2d(planes)) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.downsample(x))


class ResNet18(nn.Module):
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        for i, (inputs, planes) in enumerate(((64, 64), (64, 128), (128, 256), (256, 512))):
            self.add_module(f"layer{i + 1}", nn.Sequential(Block(inputs, planes, 2 if i else 1), Block(planes, planes, 1)))

    def first(self, x):
        return F.relu(self.bn1(self.conv1(x)))

    def rest(self, x):
        return self.layer4(self.layer3(self.layer2(self.layer1(F.max_pool2d(x, 3, 2, 1)))))


class Fire(nn.Module):
    def __init__(self, inputs, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.expand1x1, self.expand3x3 = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    """SqueezeNet 1.1 with torchvision's names and the input of its authors' weights."""
    mean, std = (123 / 255, 117 / 255, 104 / 255), (1 / 255,) * 3

    def __init__(self):
        super().__init__()
        pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, 2), nn.ReLU(), pool(), Fire(64, 16, 64), Fire(128, 16, 64), pool(), Fire(128, 32, 128),
            Fire(256, 32, 128), pool(), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256))

    def first(self, x):
        return self.features[1](self.features[0](x))

    def rest(self, x):
        return self.features[2:](x)


class SmallNet(nn.Module):
    """Random, for a run without arguments."""
    mean, std = (0.5,) * 3, (0.25,) * 3

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv1, self.conv2 = nn.Conv2d(3, 32, 5, 2), nn.Conv2d(32, 64, 3, 2)

    def first(self, x):
        return F.relu(self.conv1(x))

    def rest(self, x):
        return F.relu(self.conv2(x))


class Encoder(nn.Module):
    """Normalisation, network, global mean. With half, all but the first layer is in bfloat16: a step of an attack of
    1/255 would be lost in the rounding of pixels. Only gradients are taken from it; features are float32."""

    def __init__(self, net, half=False):
        super().__init__()
        self.net = copy.deepcopy(net).eval().requires_grad_(False).to(memory_format=torch.channels_last)
        self.later = copy.deepcopy(self.net).bfloat16() if half else self.net
        self.register_buffer("mean", torch.tensor(net.mean)[:, None, None])
        self.register_buffer("std", torch.tensor(net.std)[:, None, None])

    def forward(self, x):
        x = self.net.first((x - self.mean) / self.std)
        return self.later.rest(x.to(next(self.later.parameters()).dtype)).float().mean((2, 3))


NETWORKS = {"resnet18": ("ResNet-18", ResNet18, "resnet18.safetensors", "imagenet"),
            "squeezenet": ("SqueezeNet 1.1", SqueezeNet, "squeezenet1_1_caffe.f16.safetensors", "caffe"),
            "small": ("a small random network", SmallNet, None, None)}


def load_network(name, weights):
    """F for features and F for gradients; the former is checked against invar's own encoder."""
    _, make, file, _ = NETWORKS[name]
    net = make()
    if file:
        from safetensors.torch import load_file

        known = net.state_dict()
        found = {key: value.float() for key, value in load_file(weights / file).items() if key in known}
        net.load_state_dict({key: found.get(key, value) if key.endswith("num_batches_tracked") else found[key]
                             for key, value in known.items()})
    exact = Encoder(net)
    if file:
        x = torch.rand(8, 3, 64, 64, generator=torch.Generator().manual_seed(0))
        ours = invar.Encoder(str(weights / file), threads=1)(((x - exact.mean) / exact.std).numpy())
        gap = np.abs(exact(x).numpy() - ours).max() / np.abs(ours).max()
        print(f"{name}: features differ from invar's own encoder by {gap:.1e} of the largest", flush=True)
        assert gap < 1e-4
    # bfloat16 saves a third of the time of ResNet-18 and nothing of SqueezeNet.
    return exact, Encoder(net, half=name == "resnet18")


def encode(encoder, x):
    with torch.inference_mode():
        return torch.cat([encoder(block) for block in x.split(BATCH)])


# ---- Images ----------------------------------------------------------------------------------------------


def read_images(folder, side, each=None):
    """Pixels [n, 3, side, side] in 0..1 and classes, the first `each` images of every class."""
    from PIL import Image

    pixels, labels = [], []
    for label, place in enumerate(sorted(p for p in folder.iterdir() if p.is_dir())):
        for path in sorted(place.iterdir())[:each]:
            with Image.open(path) as image:
                pixels.append(np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)))
            labels.append(label)
    return to_pixels(np.stack(pixels)), np.array(labels)


def to_pixels(images):
    x = torch.from_numpy(images).permute(0, 3, 1, 2).float().div(255)
    return x.contiguous(memory_format=torch.channels_last)


def made_up(n, seed):
    """Coarse coloured squares; a class is a colour."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    coarse = rng.integers(0, 160, (n, 6, 6, 3)) + 24 * labels[:, None, None, None] * (np.arange(3) == labels[:, None, None, None] % 3)
    return to_pixels(coarse.repeat(4, 1).repeat(4, 2).astype(np.uint8)), labels


# ---- Attacks ---------------------------------------------------------------------------------------------


def attack(exact, rough, E, x, goal, strength, at, seed, toward=False):
    """PGD from a random start: moves E(F(x + delta)) away from the rows `goal`, or toward them. Steps of a quarter of
    the strength along the sign of the gradient; pixels stay in 0..1. Returns F(x + delta) after the steps `at`."""
    limit = strength / 255
    rows = []
    for start in range(0, len(x), BATCH):
        clean, aim = x[start:start + BATCH], goal[start:start + BATCH]
        random = torch.Generator().manual_seed(zlib.crc32(f"{seed} {strength} {start}".encode()))
        delta = (2 * torch.rand(clean.shape, generator=random) - 1) * limit
        low, high = (-clean).clamp(min=-limit), (1 - clean).clamp(max=limit)
        delta = torch.minimum(torch.maximum(delta, low), high)
        found = []
        for step in range(1, max(at) + 1):
            delta.requires_grad_(True)
            codes = rough(clean + delta) if E is None else E(rough(clean + delta))
            slope, = torch.autograd.grad((codes - aim).square().sum(), delta)
            move = slope.sign() * (-limit / 4 if toward else limit / 4)
            delta = torch.minimum(torch.maximum(delta.detach() + move, low), high)
            if step in at:
                assert delta.abs().max() <= limit and 0 <= (clean + delta).min() and (clean + delta).max() <= 1
                found.append(encode(exact, clean + delta))
        rows.append(torch.stack(found))
    return torch.cat(rows, 1).numpy()


def noise_like(exact, x, clean, distance, seed):
    """Features of x with Gaussian noise that moves them as far, on average, as `distance`; and its deviation, of which
    there is a largest one: attacks can move features farther than an image of noise alone does."""
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(zlib.crc32(f"noise {seed}".encode())))
    few, low, high = slice(None, None, max(1, len(x) // BATCH)), 0.0, 1.0
    for _ in range(9):
        middle = (low + high) / 2
        moved = (encode(exact, (x[few] + middle * noise[few]).clamp(0, 1)) - clean[few]).norm(dim=1).mean()
        low, high = (middle, high) if moved < distance else (low, middle)
    deviation = min(low, NOISIEST)
    return encode(exact, (x + deviation * noise).clamp(0, 1)).numpy(), deviation


# ---- The experiment, kept in a folder ----------------------------------------------------------------------


class Store:
    """Arrays by name; what is there is not made again. A file is complete or absent."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, name):
        return self.folder / (name + ".npz")

    def has(self, name):
        return self.path(name).exists()

    def get(self, name, make=None):
        if not self.has(name):
            began = time.process_time()
            made = make()
            made = made if isinstance(made, dict) else {"rows": made}
            with open(self.path(name + ".new"), "wb") as file:
                np.savez(file, seconds=time.process_time() - began, **made)
            os.replace(self.path(name + ".new"), self.path(name))
            print(f"{time.strftime('%H:%M:%S')} {self.folder.name} {name}: {time.process_time() - began:.0f} s", flush=True)
        with np.load(self.path(name)) as file:
            return dict(file)


def fit(store, name, clean, copies, preset, seed):
    """An adapter from the bank of copies [n, c, d], kept as the bytes of its file."""
    def make():
        E = invar.fit(clean, copies, preset=preset, seed=seed, trial=False, threads=1)
        return np.frombuffer(E.to_bytes(), np.uint8)

    return invar.Adapter.from_bytes(store.get(name, make)["rows"].tobytes(), threads=1)


def run_seed(store, nets, data, seed, seeds, settings):
    """All attacks and adapters of one seed. Adaptive attacks are dealt: this seed attacks each seeds-th test image."""
    exact, rough = nets
    x, clean, y, kept = data["train_x"], data["train"], data["test_x"], data["test"]
    steps, at, strengths = settings["steps"], settings["at"], STRENGTHS
    tag = lambda name, strength: f"{seed}-{name}-{strength}"

    # Copies: two of each strength, then noise that moves features as far.
    copies, noise = [], []
    for strength in strengths:
        for i in range(2):
            rows = store.get(tag(f"copy{i}", strength), lambda: attack(
                exact, rough, None, x, clean, strength, [steps], f"copy {seed} {i}")[0])["rows"]
            far = np.linalg.norm(rows - clean.numpy(), axis=1).mean()

            def make():
                rows, deviation = noise_like(exact, x, clean, far, f"{seed} {i} {strength}")
                return {"rows": rows, "deviation": deviation}

            copies.append(rows)
            noise.append(store.get(tag(f"noise{i}", strength), make)["rows"])

    # Adapters, and rounds in which copies that attack the current one join.
    E = {"keep": fit(store, f"{seed}-keep", clean.numpy(), np.stack(copies, 1), "keep", seed),
         "instant": fit(store, f"{seed}-instant", clean.numpy(), np.stack(copies, 1), "instant", seed),
         "noise": fit(store, f"{seed}-noise", clean.numpy(), np.stack(noise, 1), "keep", seed)}
    current = E["keep"]
    for number in (1, 2):
        module = current.torch().requires_grad_(False)
        for strength in strengths:
            copies.append(store.get(tag(f"copy-round{number}", strength), lambda: attack(
                exact, rough, module, x, clean, strength, [steps], f"round {seed} {number}")[0])["rows"])
        current = E[f"round{number}"] = fit(store, f"{seed}-round{number}", clean.numpy(), np.stack(copies, 1), "keep", seed)

    # Attacks on all test images by someone who does not know E.
    rng = np.random.default_rng(seed)
    labels = data["test_labels"]
    target = np.array([rng.choice(np.flatnonzero(labels != label)) for label in labels])
    for strength in strengths:
        store.get(tag("stored", strength), lambda: attack(
            exact, rough, None, y, kept, strength, [steps], f"stored {seed}"))
        store.get(tag("targeted", strength), lambda: {"target": target, "rows": attack(
            exact, rough, None, y, kept[target], strength, [steps], f"targeted {seed}", toward=True)})

    # Attacks by someone who does; F is its own adapter.
    own = np.arange(seed, len(y), seeds)
    for name in ("keep", "F", "round2", "instant", "noise"):
        module = None if name == "F" else E[name].torch().requires_grad_(False)
        until = [k for k in at if k <= at[-2] or name in LONG]
        for strength in strengths:
            store.get(tag(f"adaptive-{name}", strength), lambda: {"own": own, "rows": attack(
                exact, rough, module, y[own], kept[own], strength, until, f"adaptive {seed} {name}")})


def load_data(store, exact, train, test, gallery):
    """Clean features beside the images: of training images, of test images, and of all images with a known class."""
    made = store.get("clean", lambda: {"train": encode(exact, train[0]).numpy(), "test": encode(exact, test[0]).numpy(),
                                       "gallery": encode(exact, gallery[0]).numpy(), "gallery_labels": gallery[1],
                                       "test_labels": test[1]})
    return {"train_x": train[0], "test_x": test[0], "train": torch.from_numpy(made["train"]),
            "test": torch.from_numpy(made["test"]), "test_labels": test[1]}


# ---- Measurements ----------------------------------------------------------------------------------------


def train_classifier(rows, labels):
    """Multinomial logistic regression on standardised rows of F, by L-BFGS; E does not change it."""
    rows, labels = torch.from_numpy(rows), torch.from_numpy(labels)
    mean, std = rows.mean(0), rows.std(0).clamp(min=1e-6)
    weight = torch.zeros(int(labels.max()) + 1, rows.shape[1] + 1, requires_grad=True)
    score = lambda z: F.linear((z - mean) / std, weight[:, 1:], weight[:, 0])
    solver = torch.optim.LBFGS([weight], max_iter=200, line_search_fn="strong_wolfe")

    def loss():
        solver.zero_grad()
        value = F.cross_entropy(score(rows), labels) + 0.01 * weight[:, 1:].square().sum() / 2
        value.backward()
        return value

    solver.step(loss)
    return lambda codes: score(torch.from_numpy(codes)).argmax(1).numpy()


def nearest(queries, stored):
    return torch.cdist(torch.from_numpy(queries).double(), torch.from_numpy(stored).double()).argmin(1).numpy()


def measure(store, settings):
    """{(measure, test, strength, adapter): [seeds, n]}, NaN where an image was not attacked; and what clean images pay."""
    if not store.has("clean"):
        return {}, {}, []
    clean = store.get("clean")
    seeds = [s for s in range(settings["seeds"]) if store.has(f"{s}-targeted-{STRENGTHS[-1]}")]
    classify = train_classifier(clean["gallery"], clean["gallery_labels"])
    spread = float(torch.pdist(torch.from_numpy(clean["test"])).mean())
    values, price = {}, {}

    def note(test, strength, name, seed, codes, own, target=None):
        found = {"same": nearest(codes, clean["test"]) == own,
                 "class": clean["gallery_labels"][nearest(codes, clean["gallery"])] == clean["test_labels"][own],
                 "kept": classify(codes) == clean["test_labels"][own],
                 "distance": np.linalg.norm(codes - clean["test"][own], axis=1) / spread}
        if target is not None:
            found["target"] = nearest(codes, clean["test"]) == target
        for what, one in found.items():
            rows = values.setdefault((what, test, strength, name), np.full((settings["seeds"], len(clean["test"])), np.nan))
            rows[seed, own] = 100 * one

    everyone = np.arange(len(clean["test"]))
    for seed in seeds:
        E = {name: invar.Adapter.from_bytes(store.get(f"{seed}-{name}")["rows"].tobytes(), threads=1)
             for name in TITLES if name != "F"}
        through = {"F": lambda z: z, **E}
        for name, change in through.items():
            codes = change(clean["test"])
            note("clean", 0, name, seed, codes, everyone)
            document = invar.structure(clean["test"], codes, threads=1).document["values"]
            price.setdefault(name, []).append([next(iter(document[f"structure.{what}"].values()))["value"]
                                               for what in ("R2", "CVRMSD")])
        for strength in STRENGTHS:
            for test in ("stored", "targeted"):
                found = store.get(f"{seed}-{test}-{strength}")
                for name, change in through.items():
                    note(test, strength, name, seed, change(found["rows"][0]), everyone, found.get("target"))
            for name, change in through.items():
                if store.has(f"{seed}-adaptive-{name}-{strength}"):
                    found = store.get(f"{seed}-adaptive-{name}-{strength}")
                    for k, rows in zip(settings["at"], found["rows"]):
                        note(f"adaptive, {k} steps", strength, name, seed, change(rows), found["own"])
    return values, price, seeds


class Intervals:
    """95 % by bootstrap: images are drawn with replacement, the same ones for both sides of a difference. So are seeds
    where each of them attacked all images; dealt images bring their seed along."""

    def __init__(self, seeds, images, draws=1000):
        rng = np.random.default_rng(0)
        self.images = rng.multinomial(images, np.full(images, 1 / images), draws).astype(float)
        self.seeds = rng.multinomial(len(seeds), np.full(len(seeds), 1 / len(seeds)), draws).astype(float)
        self.used = seeds

    def means(self, rows):
        rows = rows[self.used]
        there = np.isfinite(rows)
        seeds = self.seeds if there.all() else np.ones_like(self.seeds)
        total = np.einsum("bs,bs->b", seeds, self.images @ np.where(there, rows, 0).T)
        count = np.einsum("bs,bs->b", seeds, self.images @ there.astype(float).T)
        return total / np.maximum(count, 1e-9)

    def of(self, rows, base=None):
        """(value, low, high), of rows or of rows - base."""
        value, drawn = np.nanmean(rows[self.used]), self.means(rows)
        if base is not None:
            value, drawn = value - np.nanmean(base[self.used]), drawn - self.means(base)
        return (value, *np.percentile(drawn, [2.5, 97.5]))


# ---- Tables ----------------------------------------------------------------------------------------------


def rows_of(settings):
    return [(test, strength) for strength in STRENGTHS
            for test in ("stored", "targeted", *(f"adaptive, {k} steps" for k in settings["at"]))]


def spell(pattern, numbers):
    return (pattern % tuple(numbers)).replace("-", "−")


def table(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(one) + " |" for one in lines)])


def write_network(title, values, price, seeds, settings):
    """The tables of one network, as Markdown."""
    size = Intervals(seeds, next(iter(values.values())).shape[1])
    names = list(TITLES)
    text = [f"## {title}", "", "What clean images pay:", ""]
    lines = []
    for name in names:
        r2, cv = np.mean(price[name], 0)
        lines.append([TITLES[name], f"{r2:.3f}", f"{cv:.3f}", *("%.1f [%.1f, %.1f]" % size.of(values[what, "clean", 0, name])
                                                                for what in MEASURES)])
    text += [table(["", "R²", "CVRMSD", *(f"clean, {one}" for one in MEASURES.values())], lines), ""]
    for what, meaning in [*MEASURES.items(), ("distance", "distance from F(x), in % of the mean distance of two images")]:
        lines = []
        for test, strength in rows_of(settings):
            base = values.get((what, test, strength, "F"))
            if base is None:
                continue
            cells = [f"{test}, {strength}/255", "%.1f [%.1f, %.1f]" % size.of(base)]
            for name in names[1:]:
                rows = values.get((what, test, strength, name))
                cells.append("" if rows is None else spell("%.1f, %+.1f [%+.1f, %+.1f]", (
                    size.of(rows)[0], *size.of(rows, base))))
            lines.append(cells)
        text += [f"{meaning[0].upper()}{meaning[1:]}:" if what == "distance" else f"{meaning[0].upper()}{meaning[1:]}, %:", "",
                 table(["attack", *(TITLES[name] for name in names)], lines), ""]
    lines = [[f"targeted, {s}/255", *("%.1f [%.1f, %.1f]" % size.of(values["target", "targeted", s, name]) for name in names)]
             for s in STRENGTHS]
    return "\n".join(text + ["The nearest neighbour of a targeted query is the target, %:", "",
                             table(["attack", *(TITLES[name] for name in names)], lines), ""])


def summarize(title, values, seeds, settings):
    """One line per adapter: the range of its gains in same image @1 over F, for each kind of attack."""
    size = Intervals(seeds, next(iter(values.values())).shape[1])
    lines = []
    for name in list(TITLES)[1:]:
        cells = [f"{title}, {TITLES[name]}"]
        for kinds in (("stored",), ("targeted",), tuple(f"adaptive, {k} steps" for k in settings["at"])):
            gains = [size.of(values["same", test, strength, name], values["same", test, strength, "F"])
                     for test, strength in rows_of(settings)
                     if test in kinds and ("same", test, strength, name) in values and ("same", test, strength, "F") in values]
            above, below = sum(g[1] > 0 for g in gains), sum(g[2] < 0 for g in gains)
            cells.append(spell("%+.1f to %+.1f; %d above, %d below, of %d", (
                min(g[0] for g in gains), max(g[0] for g in gains), above, below, len(gains))) if gains else "")
        cells.append("%.1f" % size.of(values["same", "clean", 0, name])[0])
        lines.append(cells)
    return lines


INTRODUCTION = """# Attacks as augmentations

Written by `python/examples/adversarial.py` on {date}:

    python3 python/examples/adversarial.py {command}--write docs

Images: {data} at {side} pixels, {train} training images for adapters, {test} test images, seeds {seeds}. Copies: PGD of {steps}
steps of a quarter of the strength from random starts, L∞ 1/255 and 4/255, two copies of each. Noise copies have Gaussian
noise that moves features as far on average, but a deviation of at most {noisiest} with pixels in 0..1: {noise}. A round adds one copy of each
strength that attacks the current E∘F. Adapters by `invar.fit`, without the trial, with the settings of the presets. Attacked
images are not rounded to bytes. Gradients of ResNet-18 are bfloat16 except for the first layer; all features are float32.

- stored: PGD of {steps} steps on F, new starts, all test images with each seed.
- targeted: {steps} steps toward the feature of an image of another class; no adapter was trained on it.
- adaptive: PGD on E∘F, one trajectory, measured on the way; for F the same attack on F. The test images are dealt to the
  {number} seeds, so that each is attacked once; instant and the adapter of noise copies up to {middle} steps only.

Same image @1: the nearest of all clean test features, L2, old index. Class of the nearest neighbour: among the clean features
of all {gallery} training images. Kept classifier: logistic regression on these, not retrained. Brackets: 95 % intervals by
bootstrap over images, and over seeds where all of them attack all images; for adapters the value, then the difference from F
with its interval.

In short, same image @1: the range of differences from F over strengths and steps in points, and how many of their intervals
are above or below 0; clean: same image @1 of clean images.

{summary}
"""


def write_tables(out, networks, settings):
    """(Markdown, {network: (values, seeds)}) of what is kept."""
    text, summary, figures, noise, seconds = [], [], {}, [], 0
    for name in networks:
        store = Store(out / name)
        values, price, seeds = measure(store, settings)
        if not seeds:
            continue
        title = NETWORKS[name][0]
        if len(seeds) < settings["seeds"]:
            title += f" ({len(seeds)} of {settings['seeds']} seeds)"
        text.append(write_network(title, values, price, seeds, settings))
        summary += summarize(title, values, seeds, settings)
        figures[title] = values, seeds
        clean = store.get("clean")
        noise.append(title + ": " + ", ".join("%.3f for %d/255" % (np.mean([
            store.get(f"{s}-noise{i}-{strength}")["deviation"] for s in seeds for i in range(2)]), strength)
            for strength in STRENGTHS))
        seconds += sum(float(np.load(path)["seconds"]) for path in store.folder.glob("*.npz"))
    if not text:
        return None, {}
    head = ["", "stored", "targeted", "adaptive", "clean"]
    introduction = INTRODUCTION.format(
        date=datetime.date.today(), command="" if settings["data"] == "made up" else f"images/{settings['data']} weights ", train=len(clean["train"]), test=len(clean["test"]), gallery=len(clean["gallery"]),
        noise="; ".join(noise), noisiest=NOISIEST, number=settings["seeds"], middle=settings["at"][-2],
        summary=table(head, summary), **{**settings, "seeds": ", ".join(map(str, range(settings["seeds"])))})
    return introduction + "\n" + "\n".join(text) + f"\nProcessor time of all attacks and adapters, one thread: {seconds / 60:.0f} minutes.\n", figures


# ---- Figure ----------------------------------------------------------------------------------------------


COLOURS = {"F": "#8a8a8a", "keep": "#2a78b8", "instant": "#2f9e6e", "noise": "#c98a1b", "round2": "#b8442a"}


def draw(figures, settings):
    """Same image @1 with intervals: a panel for each network and strength."""
    tests = ["clean", "stored", "targeted", *(f"adaptive, {k} steps" for k in settings["at"])]
    wide, high, left, top, gap = 400, 190, 46, 64, 66
    width, height = left + len(figures) * (wide + 30), top + len(STRENGTHS) * (high + gap)
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12">',
            "<style>text{fill:#333}.grid{stroke:#888;stroke-opacity:.35}"
            + "".join(f".{name}{{fill:{colour};stroke:{colour}}}" for name, colour in COLOURS.items())
            + "@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>",
            f'<text x="{left}" y="18" font-size="14">Same image @1, old index, %, with 95 % intervals</text>']
    x = left
    for name in COLOURS:
        made.append(f'<circle class="{name}" cx="{x + 5}" cy="36" r="4"/><text x="{x + 14}" y="40">{TITLES[name]}</text>')
        x += 34 + 7 * len(TITLES[name])
    for column, (title, (values, seeds)) in enumerate(figures.items()):
        size = Intervals(seeds, next(iter(values.values())).shape[1])
        for row, strength in enumerate(STRENGTHS):
            x0, y0 = left + column * (wide + 30), top + row * (high + gap) + 14
            made.append(f'<text x="{x0}" y="{y0 - 7}" font-weight="bold">{title}, L∞ {strength}/255</text>')
            for tick in range(0, 101, 25):
                y = y0 + high - high * tick / 100
                made.append(f'<line class="grid" x1="{x0}" x2="{x0 + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
                if column == 0:
                    made.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
            step = wide / len(tests)
            for i, test in enumerate(tests):
                middle = x0 + step * (i + 0.5)
                for j, word in enumerate(test.split(", ")):
                    made.append(f'<text x="{middle:.1f}" y="{y0 + high + 15 + 14 * j}" text-anchor="middle">{word}</text>')
                for j, name in enumerate(COLOURS):
                    rows = values.get(("same", test, 0 if test == "clean" else strength, name))
                    if rows is not None:
                        value, low, up = size.of(rows)
                        x, (a, b, c) = middle + 10 * (j - 2), (y0 + high - high * v / 100 for v in (value, low, up))
                        made.append(f'<line class="{name}" stroke-width="2" x1="{x:.1f}" x2="{x:.1f}" y1="{b:.1f}" y2="{c:.1f}"/>'
                                    f'<circle class="{name}" cx="{x:.1f}" cy="{a:.1f}" r="3.5"/>')
    return "\n".join(made + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], usage="%(prog)s [IMAGES WEIGHTS] [options]")
    parser.add_argument("images", nargs="?", type=Path)
    parser.add_argument("weights", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, help="folder of kept results (build-attacks/kept, or build-attacks/made-up)")
    parser.add_argument("--networks", default="resnet18,squeezenet", help="which to attack (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="how many (%(default)s)")
    parser.add_argument("--only-seed", type=int, help="this one alone, for several processes beside each other")
    parser.add_argument("--side", type=int, default=64, help="of images, in pixels (%(default)s)")
    parser.add_argument("--each", type=int, default=30, help="training images per class (%(default)s)")
    parser.add_argument("--tables", action="store_true", help="attack nothing, make tables of what is kept")
    parser.add_argument("--write", type=Path, metavar="DOCS", help="write results/attacks.md and img/attacks.svg there")
    args = parser.parse_args()
    torch.set_num_threads(1)
    # Strong attacks make features longer, which adapters report.
    warnings.filterwarnings("ignore", message=".*was trained on features of norm")

    real = args.images is not None
    if real and args.weights is None:
        parser.error("WEIGHTS is missing")
    settings = {"side": args.side, "each": args.each, "seeds": args.seeds, "steps": STEPS, "at": AT} if real else \
        {"side": 24, "each": 30, "seeds": 2, "steps": 3, "at": (2, 4, 6)}
    args.out = args.out or Path("build-attacks", "kept" if real else "made-up")
    settings["data"] = args.images.resolve().name if real else "made up"
    args.out.mkdir(parents=True, exist_ok=True)
    note = args.out / "settings.json"
    if note.exists() and json.loads(note.read_text()) != json.loads(json.dumps(settings)):
        parser.error(f"{args.out} was made with other settings: {note.read_text()}; choose another --out")
    note.write_text(json.dumps(settings))

    networks = args.networks.split(",") if real else ["small"]
    for name in [] if args.tables else networks:
        if real:
            train, test = (read_images(args.images / split, args.side, each) for split, each in
                           (("train", args.each), ("test", None)))
            gallery = read_images(args.images / "train", args.side)
        else:
            train, test = made_up(120, 0), made_up(60, 1)
            gallery = train
        store = Store(args.out / name)
        nets = load_network(name, args.weights)
        data = load_data(store, nets[0], train, test, gallery)
        for seed in range(settings["seeds"]) if args.only_seed is None else [args.only_seed]:
            run_seed(store, nets, data, seed, settings["seeds"], settings)

    text, figures = write_tables(args.out, networks, settings)
    print(text or "no seed is complete yet")
    if args.write and text:
        for path, content in (("results/attacks.md", text), ("img/attacks.svg", draw(figures, settings))):
            path = args.write / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
