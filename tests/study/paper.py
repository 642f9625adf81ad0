#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""paper.py INVAR SOURCE - the recipes of recipes/paper.

1. All of them plan without data and weights: the plan has every stage and says in one
   sentence which file is missing; nothing is written.
2. Together they train and measure exactly what the paper's tables have figures of.
3. Their weight files are those that `invar models list` knows for their encoders, and the
   README names every recipe.
4. One of them runs from images to tables, on a tiny encoder and a few images; compare.py puts
   published figures beside ours; a second run does nothing.
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
        with open(recipe, encoding="utf-8") as file:
            if "probe-input: raw" not in file.read():
                complain(f"{os.path.basename(recipe)}: its probes are not the published ones")
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


def compared_tables():
    """{title: {metric: [cells of F, of MaWa, published, …]}} as compare.py prints them."""
    done = subprocess.run([sys.executable, os.path.join(folder, "compare.py"), "study/table.json"], cwd=work,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        complain(f"compare.py: exit {done.returncode}: {done.stderr}")
    tables = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            rows = tables.setdefault(line[3:], {})
        elif line.startswith("|"):
            rows[cells[0]] = cells[1:]
    return tables


def check_published_columns(augment, table):
    """Published figures are as the paper prints them, each beside our own."""
    of_adapter = ["lc.clean", "lc.augmented", "nc.clean", "nc.augmented"]
    of_adapter += ["structure." + m for m in ("L1", "L2", "m", "b", "R2", "RMSD", "NRMSD", "CVRMSD")]
    of_f = ["ec.clean", "ec.augmented", "collision.raw", "collision.aligned"]
    figures = figures_of("stl10", "dino_vits8", augment)
    heads = table[""]
    for column, title in (("mawa", "MaWa"), ("waco", "WaCo"), ("waco-reduced", "WaCo reduced"),
                          ("simclr", "SimCLR"), ("hsic", "HSIC"), ("F", "F")):
        at = heads.index(title)
        if heads[at + 1] != "published":
            complain(f"{augment}, {title}: {heads}")
        for metric in of_f if column == "F" else of_adapter:
            ours, published = table[metric][at:at + 2]
            if published != figures[column][metric]:
                complain(f"{augment}, {metric}, {title}: {published}, not {figures[column][metric]}")
            if not re.search(r"\d", ours):
                complain(f"{augment}, {metric}, {title}: there is no figure of ours")


def figures_of(dataset, encoder, augment):
    """{column: {metric: figure as printed}}"""
    with open(os.path.join(folder, "published.json"), encoding="utf-8") as file:
        document = json.load(file, parse_float=str)
    found = {}
    for table in document["tables"]:
        if (table["dataset"], table["encoder"]) == (dataset, encoder):
            for row in table["rows"]:
                if row["augment"] == augment:
                    found.setdefault(row["column"], {}).update(row["values"])
    return found


def check_figures():
    """Figures 1 to 5, as the README draws them: a panel per adapter."""
    for augment, figure in (("rotation", "structure.distances"), ("noise", "tsne")):
        done = run("plot", f"study/stl10/dino/{augment}/table.json", "--figure", figure, "-o", "figure.svg", "-q")
        if done.returncode != 0:
            complain(f"{figure}: {done.stderr}")
            continue
        with open(os.path.join(work, "figure.svg"), encoding="utf-8") as file:
            text = file.read()
        for title in ("MaWa", "WaCo", "WaCo reduced", "SimCLR", "HSIC"):
            if f">{title}<" not in text:
                complain(f"{figure} has no panel {title}")


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
    for augment in ("rotation", "noise"):
        check_published_columns(augment, compared_tables()[f"STL10, DINO, {augment}"])
    check_figures()
    again = run("run", recipe, *[o for o in options if o != "-q"])
    with open(os.path.join(work, "study/table.txt"), encoding="utf-8") as file:
        if again.returncode != 0 or file.read() != table:
            complain(f"the second run: exit {again.returncode}: {again.stderr}")
    total = re.search(r"all (\d+) stages were done before; nothing to do", again.stderr)
    if not total or again.stderr.count(": done before") != int(total[1]):
        complain(f"the second run did something: {again.stderr}")


if len(recipes) != 7:
    complain(f"{len(recipes)} recipes")
check_plans()
check_files()
check_run()
subprocess.run(["rm", "-rf", work], check=False)
sys.exit(failed != 0)
