#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_published.py PAPER.tex [OUT.json] - the tables of the paper as published.json.

Reads the LaTeX source of "Post-Training Augmentation Invariance" and writes every number of
every table, under the names that invar uses for data sets, encoders, augmentations, adapters
and metrics. Numbers are copied as they are printed. A table, row or cell that is not
understood is an error, so nothing is left out silently; tests/study/published.py counts the
numbers of the source in another way.
"""
import json
import re
import sys

ENCODERS = {"DINO": "dino_vits8", "SwAV": "swav_resnet50", "R-DINO": "dino_resnet50",
            "CLIP": "clip_vitb16", "ResNet50": "resnet50"}
DATASETS = {"STL10": "stl10", "TinyImageNet": "tiny-imagenet",
            "TinyImageNet-50": "tiny-imagenet-50"}
AUGMENTS = {"Rotation": "rotation", "Affine": "affine", "Noise": "noise", "Crop": "crop"}
KORNIA = {"RandomRotation": "rotation", "RandomAffine": "affine",
          "RandomGaussianNoise": "noise", "RandomResizedCrop": "crop"}
LOSSES = {"MaWa": "mawa", "WaCo": "waco", "SCLR": "simclr", "HSIC": "hsic"}
COLUMNS = {"F": "F", "mawa": "MaWa", "waco": "WaCo", "waco-reduced": "WaCo reduced",
           "simclr": "SimCLR", "hsic": "HSIC"}
WIDTHS = {"dino_vits8": 384, "swav_resnet50": 2048, "dino_resnet50": 2048,
          "clip_vitb16": 512, "resnet50": 2048}
METRICS = {
    "LC": ("lc.clean", "lc.augmented"), "NC": ("nc.clean", "nc.augmented"),
    "EC": ("ec.clean", "ec.augmented"), "L_1|L_2": ("structure.L1", "structure.L2"),
    "m|b": ("structure.m", "structure.b"), "R^2": ("structure.R2",),
    "RMSD": ("structure.RMSD",), "NRMSD": ("structure.NRMSD",),
    "CVRMSD": ("structure.CVRMSD",), "CR": ("collision.raw", "collision.aligned")}
OPTIONS = {"Batch size": "batch-size", "Epochs": "epochs", "Learning rate": "lr",
           "Optimizer": "weight-decay", "Scheduler": "lr-min",
           "Augmentation Samples s": "samples"}
# What the table calls the range of aspect ratios of a crop.
PARAMETERS = {"resize to": "ratio"}
NUMBER = re.compile(r"-?\d+\.\d\d")


def fail(label, text):
    sys.exit(f"make_published.py: {label}: {text}")


def clean(cell):
    """A cell without markup: 'LC', 'L_1|L_2', '98.22|94.66', 'WaCo (d=96)'."""
    cell = re.sub(r"\\pair\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1|\2", cell)
    cell = re.sub(r"\\(?:textbf|mathbf|mathrm|text)\{([^{}]*)\}", r"\1", cell)
    return cell.replace("$", "").strip()


def rows_of(body):
    """Rows of cells of a tabular, without rules and spacing."""
    body = re.sub(r"\\(?:toprule|midrule|bottomrule|cmidrule\(\w+\)\{[^}]*\}|addlinespace\[\w+\])",
                  "", body)
    rows = []
    for line in re.split(r"\\\\", body):
        line = re.sub(r"\\multicolumn\{(\d)\}\{\w\}\{((?:[^{}]|\{[^{}]*\})*)\}",
                      lambda m: m[2] + " &" * (int(m[1]) - 1), line)
        if line.strip():
            rows.append([clean(cell) for cell in line.split("&")])
    return rows


def numbers(label, cell, count):
    found = cell.split("|")
    if len(found) != count or not all(NUMBER.fullmatch(n) for n in found):
        fail(label, f"'{cell}' is not {count} numbers with two decimals")
    return found


def classification(label, caption, rows):
    found = re.search(r"on (\w+) with ([\w-]+) features", caption)
    table = {"dataset": DATASETS[found[1]], "encoder": ENCODERS[found[2]]}
    augments = [AUGMENTS[a] for a in rows[0][2:]]
    entries, kind = {}, None
    for row in rows[1:]:
        kind = row[0] or kind
        column = LOSSES[row[1]] if row[1] else "F"
        for augment, cell in zip(augments, row[2:], strict=True):
            values = entries.setdefault((augment, column), {})
            values.update(zip(METRICS[kind], numbers(label, cell, 2)))
    order = sorted(entries, key=lambda k: augments.index(k[0]))
    return table, [{"augment": a, "column": c, "values": entries[a, c]} for a, c in order]


def adapter_column(label, encoder, title):
    found = re.fullmatch(r"(\w+) \(d=(\d+)\)", title)
    loss, width = LOSSES[found[1]], int(found[2])
    if width == WIDTHS[encoder]:
        return loss, width
    if loss != "waco" or 4 * width != WIDTHS[encoder]:
        fail(label, f"'{title}' is neither the width of {encoder} nor a quarter of it")
    return "waco-reduced", width


def structure(label, caption, rows):
    dataset, encoder, augment = [w.strip() for w in rows[0][2].split("+")]
    if "tinyimagenet50" in label:
        dataset = "TinyImageNet-50"
    table = {"dataset": DATASETS[dataset], "encoder": ENCODERS[encoder]}
    entries = []
    for title in rows[1][2:]:
        column, width = adapter_column(label, table["encoder"], title)
        entries.append({"augment": AUGMENTS[augment], "column": column, "width": width,
                        "values": {}})
    for row in rows[2:]:
        metrics = METRICS[row[1]]
        for entry, cell in zip(entries, row[2:], strict=True):
            entry["values"].update(zip(metrics, numbers(label, cell, len(metrics))))
    return table, entries


def collision(label, caption, rows):
    found = re.search(r"rates for (?:supervised )?([\w-]+) features on (\w+)( subset \(50 classes\))?",
                      caption)
    table = {"dataset": DATASETS[found[2] + ("-50" if found[3] else "")],
             "encoder": ENCODERS[found[1]]}
    entries = []
    for augment, raw, aligned in rows[1:]:
        entries.append({"augment": AUGMENTS[augment], "column": "F",
                        "values": dict(zip(METRICS["CR"], numbers(label, f"{raw}|{aligned}", 2)))})
    return table, entries


def plain_number(text):
    """'1 \\times 10^{-3}' and '0.2' as JSON spells them."""
    return re.sub(r"\s*\\times 10\^\{(-?\d+)\}", r"e\1", text.strip())


def hyperparameters(label, rows):
    values = {}
    for name, value in rows[1:]:
        found = re.findall(r"\d+(?: \\times 10\^\{-?\d+\})?", value)
        if len(found) != 1:
            fail(label, f"'{value}' does not have one number")
        values[OPTIONS[name]] = plain_number(found[0])
    return {"options": values}


def parameters(label, rows):
    specs, name = {}, None
    for row in rows[1:]:
        name = KORNIA[row[0]] if row[0] else name
        for cell in row[1:]:
            cell = cell.strip().rstrip(",")
            if not cell:
                continue
            found = re.fullmatch(r"([a-z ]+?)\s*=\s*(.*)", cell)
            key = PARAMETERS.get(found[1], found[1])
            values = [plain_number(v) for v in found[2].strip("()").split(",")]
            specs.setdefault(name, {})[key] = values
    return {"parameters": specs}


def tables_of(source):
    source = re.sub(r"(?<!\\)%.*", "", source)
    for number, found in enumerate(re.findall(r"\\begin\{table\}(.*?)\\end\{table\}", source, re.S), 1):
        label = re.search(r"\\label\{(.*?)\}", found)[1]
        caption = re.search(r"\\caption\{(.*)\}", found)[1]
        body = re.search(r"\\begin\{tabular\}\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}(.*?)\\end\{tabular\}", found, re.S)[1]
        yield number, label, caption, rows_of(body)


def read_paper(path):
    results, settings = [], []
    kinds = {"classification": classification, "structure": structure, "collision": collision}
    with open(path, encoding="utf-8") as file:
        source = file.read()
    for number, label, caption, rows in tables_of(source):
        head = {"label": label, "number": number, "caption": caption}
        if label == "tab:hyperparameters":
            settings.append(head | hyperparameters(label, rows))
        elif label == "tab:augmentationparameters":
            settings.append(head | parameters(label, rows))
        else:
            about, entries = kinds[re.match(r"tab:(\w+)-", label)[1]](label, caption, rows)
            results.append(head | about | {"rows": entries})
    return settings, results


def spelled(values):
    """A flat object whose values are numbers as printed, or lists of them."""
    def one(v):
        return "[" + ", ".join(v) + "]" if isinstance(v, list) else v
    return "{" + ", ".join(f'"{k}": {one(v)}' for k, v in values.items()) + "}"


def write_settings(table):
    head = ", ".join(f'"{k}": {json.dumps(table[k])}' for k in ("label", "number", "caption"))
    if "options" in table:
        return f'  {{{head},\n   "options": {spelled(table["options"])}}}'
    lines = ",\n".join(f'     "{k}": {spelled(v)}' for k, v in table["parameters"].items())
    return f'  {{{head},\n   "parameters": {{\n{lines}}}}}'


def write_results(table):
    head = ", ".join(f'"{k}": {json.dumps(table[k])}' for k in ("label", "number"))
    about = ", ".join(f'"{k}": {json.dumps(table[k])}' for k in ("dataset", "encoder"))
    lines = []
    for entry in table["rows"]:
        width = f', "width": {entry["width"]}' if "width" in entry else ""
        lines.append(f'     {{"augment": "{entry["augment"]}", "column": "{entry["column"]}"{width},\n'
                     f'      "values": {spelled(entry["values"])}}}')
    rows = ",\n".join(lines)
    return (f'  {{{head},\n   "caption": {json.dumps(table["caption"])},\n'
            f'   {about},\n   "rows": [\n{rows}]}}')


def lines_of(values):
    """An object with a line per key."""
    return "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in values.items()) + "}"


def write_document(settings, results):
    metrics = [m for ids in METRICS.values() for m in ids]
    unit = {m: {"unit": "number" if m.startswith("structure.") else "percent"} for m in metrics}
    for metric in METRICS["EC"]:
        unit[metric]["column"] = "F"  # it has no adapter, but is printed beside each
    parts = [
        '{"format": "invar-published", "version": 1,\n'
        ' "paper": "Post-Training Augmentation Invariance (Eikenberry, Liu, Lee)",\n'
        ' "digits": 2',
        ' "datasets": ' + lines_of({v: k for k, v in DATASETS.items()}),
        ' "encoders": ' + lines_of({v: k for k, v in ENCODERS.items()}),
        ' "augmentations": ' + lines_of({v: k for k, v in AUGMENTS.items()}),
        ' "columns": ' + lines_of(COLUMNS),
        ' "metrics": ' + lines_of(unit),
        ' "settings": [\n' + ",\n".join(map(write_settings, settings)) + "]",
        ' "tables": [\n' + ",\n".join(map(write_results, results)) + "]}\n"]
    return ",\n".join(parts)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    text = write_document(*read_paper(sys.argv[1]))
    json.loads(text)
    if len(sys.argv) == 2:
        sys.stdout.write(text)
        return
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
