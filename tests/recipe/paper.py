#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""paper.py INVAR SOURCE - the recipes of recipes/paper.

1. All of them plan without data and weights: the plan has every stage and says in one
   sentence which file is missing; nothing is written.
2. Together they train and measure exactly what the paper's tables have figures of.
3. Their weight files are those that `invar models list` knows for their encoders, and the
   README names every recipe.
4. One of them runs from images to tables, on a tiny encoder and a few images; published
   figures are beside ours; a second run does nothing.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

invar, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
folder = os.path.join(source, "recipes/paper")
recipes = sorted(glob.glob(os.path.join(folder, "*.yaml")))
work = tempfile.mkdtemp()
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def run(*arguments, cwd=work):
    return subprocess.run([invar, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def in_folders(title):
    """As the folder of an item is named after its title."""
    return re.sub(r"[^a-z0-9._+-]+", "-", title.lower())


def plan(recipe):
    done = run("run", recipe, "--dry-run", "--json", "--set", "data.data=" + kind(recipe) + ":nowhere",
               "--set", "encoders.weights=nowhere.pth")
    if done.returncode != 0:
        complain(f"{os.path.basename(recipe)}: exit {done.returncode}: {done.stderr.strip()}")
        return []
    return json.loads(done.stdout)["stages"]


def kind(recipe):
    return "stl10" if "stl10" in os.path.basename(recipe) else "tiny-imagenet"


def published_matrix():
    """(data set, encoder, augmentation, column) of every figure, and the columns by encoder."""
    with open(os.path.join(folder, "published.json"), encoding="utf-8") as file:
        document = json.load(file)
    title = {**document["datasets"], **document["encoders"], **document["columns"]}
    return {"/".join(in_folders(t) for t in (title[table["dataset"]], title[table["encoder"]],
                                             row["augment"], title[row["column"]]))
            for table in document["tables"] for row in table["rows"] if row["column"] != "F"}


def check_plans():
    trained, encoded = set(), set()
    for recipe in recipes:
        stages = plan(recipe)
        names = [s["stage"] for s in stages]
        print(f"{os.path.basename(recipe)}: {len(names)} stages")
        trained |= {re.sub(r"^train (.*)/0$", r"\1", n) for n in names if n.startswith("train ")}
        encoded |= {n for n in names if n.startswith("encode ")}
        if stages and not any("nowhere" in (s.get("unknown") or "") for s in stages):
            complain(f"{os.path.basename(recipe)}: the plan does not say which file is missing")
        evals = [n for n in names if n.startswith("eval ")]
        if len(evals) != len([n for n in names if n.startswith("train ")]):
            complain(f"{os.path.basename(recipe)}: {len(evals)} stages of eval")
    wanted = published_matrix()
    if trained != wanted:
        complain(f"not in the paper: {sorted(trained - wanted)}; not in the recipes: {sorted(wanted - trained)}")
    print(f"{len(trained)} adapters on {len(encoded)} banks")
    if os.listdir(work):
        complain(f"a plan wrote {os.listdir(work)}")


def check_files():
    models = {m["name"]: m for m in json.loads(run("models", "list", "--json").stdout)["models"]}
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    for recipe in recipes:
        with open(recipe, encoding="utf-8") as file:
            text = file.read()
        name, weights = re.search(r"encoder: (\w+), weights: weights/([\w.-]+)", text).groups()
        model = models[name]
        if model["file"] != weights or weights not in readme:
            complain(f"{recipe}: {weights} is not the file of {name}, or the README lacks it")
        if model["bytes"] and f"{model['bytes']:,}" not in readme:
            complain(f"README.md: {weights} has {model['bytes']:,} bytes")
        if model["sha256"] and model["sha256"] not in readme:
            complain(f"README.md: {weights} has the SHA-256 {model['sha256']}")
        if f"`{os.path.basename(recipe)}`" not in readme:
            complain(f"README.md lacks {os.path.basename(recipe)}")


def write_stl10(place, train=40, test=20):
    """Images of 96 x 96 in STL-10's layout; every class has its own stripes and colour."""
    os.makedirs(place)
    for split, count in (("train", train), ("test", test)):
        pixels, labels = bytearray(), bytearray()
        for i in range(count):
            label = i % 10
            labels.append(label + 1)
            for channel in range(3):
                for x in range(96):
                    pixels += bytes((37 * label * (channel + 1) + 11 * i + (x * (label + 1) // 4) % 2 * 90 +
                                     y * label // 5) % 256 for y in range(96))
        for kind_of, data in (("X", pixels), ("y", labels)):
            with open(os.path.join(place, f"{split}_{kind_of}.bin"), "wb") as file:
                file.write(data)


def check_run():
    data = os.path.join(work, "stl10_binary")
    write_stl10(data)
    weights = os.path.join(source, "tests/golden/encoders/vit/dino.safetensors")
    options = ["-o", "study", "--threads", "1", "-q"]
    settings = [f"data.data=stl10:{data}",
                f"encoders={{name: DINO, weights: {weights}, heads: 2, pos: dino}}",
                "encode.size=24", "encode.copies=[train=3, test=2]", "eval.points=20",
                "eval.probe-epochs=2", "eval.probe-hidden=16", "augmentations=[rotation, noise]"]
    for i in range(5):
        settings += [f"adapters.{i}.epochs=2", f"adapters.{i}.hidden=32"]
    for setting in settings:
        options += ["--set", setting]
    recipe = os.path.join(folder, "stl10-dino.yaml")
    first = run("run", recipe, *options)
    if first.returncode != 0:
        complain(f"exit {first.returncode}: {first.stderr}")
        return
    with open(os.path.join(work, "study/table.txt"), encoding="utf-8") as file:
        table = file.read()
    print(table)
    # LC of MaWa and R2 of HSIC in table 1 and 4, EC under noise; beside columns of ours.
    for figure in ("98.22", "94.66", "58.22", "0.06", "13.91"):
        if figure not in table:
            complain(f"the table lacks the published {figure}")
    for title in ("MaWa", "WaCo", "WaCo reduced", "SimCLR", "HSIC"):
        if title not in table:
            complain(f"the table lacks {title}")
    again = run("run", recipe, *[o for o in options if o != "-q"])
    with open(os.path.join(work, "study/table.txt"), encoding="utf-8") as file:
        if again.returncode != 0 or file.read() != table:
            complain(f"the second run: exit {again.returncode}: {again.stderr}")
    print(again.stderr)


if len(recipes) != 7:
    complain(f"{len(recipes)} recipes")
check_plans()
check_files()
check_run()
subprocess.run(["rm", "-rf", work], check=False)
sys.exit(failed != 0)
