#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""published.py SOURCE SHARED - published.json beside the paper that it was made from.

Three checks of recipes/paper/published.json against SHARED/paper.tex:
1. Numbers: the tables of the source are cut out, what is markup is removed, and every number
   left is counted, without looking at rows and columns. Each table of the file must have the
   same numbers, each as often, and there is no table more or less.
2. The file is what make_published.py writes today, byte for byte.
3. Each number is under the right names: the file is laid out again as the paper prints it,
   and the numbers must come in the order of the source.
Skipped (77) if SHARED has no paper.
"""
import json
import os
import re
import subprocess
import sys
from collections import Counter

source, shared = sys.argv[1], os.environ.get("INVAR_SHARED", sys.argv[2])
paper = os.path.join(shared, "paper.tex")
folder = os.path.join(source, "recipes/paper")
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def numbers_of(table):
    """All numbers between \\begin{tabular} and \\end{tabular}, as text, in order."""
    body = table[table.index("\\begin{tabular}"):table.index("\\end{tabular}")]
    body = body.split("\n", 1)[1]  # the first line is the layout of the columns
    for markup in (r"\\cmidrule\(\w+\)\{[\d-]+\}", r"\\multicolumn\{\d\}", r"\\addlinespace\[\w+\]",
                   r"\$L_1\$", r"\$L_2\$", r"\$R\^2\$", r"\bSTL10\b", r"\bResNet50\b"):
        body = re.sub(markup, " ", body)
    found = re.findall(r"-?\d+(?:\.\d+)?(?: \\times 10\^\{-?\d+\})?", body)
    return [re.sub(r" \\times 10\^\{(-?\d+)\}", r"e\1", n) for n in found]


def tables_of_paper():
    with open(paper, encoding="utf-8") as file:
        text = file.read()
    pieces = [p.split("\\end{table}")[0] for p in text.split("\\begin{table}")[1:]]
    return {re.search(r"\\label\{([^}]*)\}", p)[1]: numbers_of(p) for p in pieces}


def load(path):
    """With numbers as the text that the file has."""
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=str, parse_int=str)


def numbers_of_settings(table):
    if "options" in table:
        return list(table["options"].values())
    return [n for keys in table["parameters"].values() for values in keys.values() for n in values]


def numbers_of_results(table):
    widths = [row["width"] for row in table["rows"] if "width" in row]
    return widths + [n for row in table["rows"] for n in row["values"].values()]


def as_printed(table):
    """The numbers of a table of results, in the order in which the paper prints them."""
    rows = table["rows"]
    if "classification" in table["label"]:
        order = [(m, c) for m in ("lc", "nc") for c in ("mawa", "waco", "simclr", "hsic")] + [("ec", "F")]
        at = {(r["augment"], r["column"]): r["values"] for r in rows}
        return [at[a, c][f"{m}.{part}"] for m, c in order
                for a in ("rotation", "affine", "noise", "crop") for part in ("clean", "augmented")]
    if "collision" in table["label"]:
        return [r["values"]["collision." + kind] for a in ("rotation", "affine", "noise", "crop")
                for r in rows if r["augment"] == a for kind in ("raw", "aligned")]
    lines = [("structure.L1", "structure.L2"), ("structure.m", "structure.b")]
    lines += [("structure." + s,) for s in ("R2", "RMSD", "NRMSD", "CVRMSD")]
    lines += [(f"{m}.clean", f"{m}.augmented") for m in ("lc", "nc", "ec")]
    return [r["width"] for r in rows] + [r["values"][m] for line in lines for r in rows for m in line]


def check_numbers(tables, document):
    count = 0
    labels = [t["label"] for t in document["settings"] + document["tables"]]
    if sorted(labels) != sorted(tables):
        complain(f"tables differ: {sorted(set(labels) ^ set(tables)) or 'one is there twice'}")
    for number, label in enumerate(tables, 1):
        for table in document["settings"] + document["tables"]:
            if table["label"] == label and table["number"] != str(number):
                complain(f"{label} is table {number}, not {table['number']}")
    for table, listed in [(t, numbers_of_settings(t)) for t in document["settings"]] + \
                         [(t, numbers_of_results(t)) for t in document["tables"]]:
        printed = tables.get(table["label"], [])
        count += len(listed)
        missing, added = Counter(printed) - Counter(listed), Counter(listed) - Counter(printed)
        if missing or added:
            complain(f"{table['label']}: missing {dict(missing)}, added {dict(added)}")
    total = sum(map(len, tables.values()))
    print(f"{len(tables)} tables with {total} numbers in the paper, {count} in published.json")
    if count != total or total < 1000:
        complain("the counts differ, or are too small to be true")


def check_order(tables, document):
    for table in document["tables"]:
        if as_printed(table) != tables[table["label"]]:
            complain(f"{table['label']}: the numbers are under other names than in the paper")


def check_current(path):
    made = subprocess.run([sys.executable, os.path.join(folder, "make_published.py"), paper],
                          capture_output=True, check=False)
    with open(path, "rb") as file:
        if made.returncode != 0 or made.stdout != file.read():
            complain("published.json is not what make_published.py writes: " + made.stderr.decode())


if not os.path.exists(paper):
    print(f"skipped: {paper} is absent")
    sys.exit(77)
file = os.path.join(folder, "published.json")
tables, document = tables_of_paper(), load(file)
check_numbers(tables, document)
check_order(tables, document)
check_current(file)
sys.exit(failed != 0)
