#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py [-p PUBLISHED.json] [-t TITLE] TABLE.json … - our figures beside those of the paper.

TABLE.json is what `invar run` writes, of a whole study (STUDY/table.json) or of one bank
(…/table.json), or what `invar eval --json` prints. Prints one Markdown table per bank: every
measurement that the paper has a figure of, with a column of published figures behind each of
ours. Banks are found by the title of their table, "DATA, ENCODER, AUGMENTATION"; results of
`invar eval` have none, so -t gives it. Names are ids or titles of the file, in any case: "stl10"
or "STL10", "dino_vits8" or "DINO", "waco-reduced" or "WaCo reduced".

The file of published figures, published.json beside this program unless -p names another:

    {"format": "invar-published", "version": 1, "paper": TITLE, "digits": 2,
     "datasets": {ID: TITLE}, "encoders": {ID: TITLE}, "augmentations": {ID: TITLE},
     "columns": {ID: TITLE},
     "metrics": {ID: {"unit": "percent" or "number", "column": ID}},
     "tables": [{"label", "number", "caption", "dataset", "encoder",
                 "rows": [{"augment", "column", "width", "values": {METRIC: number}}]}]}

Names in tables are ids from the lists, so a misspelt one is an error. A metric with "column"
belongs to that column whatever column it was printed in: the end-to-end classifier has no
adapter, but the paper prints it beside each. Tables that give a figure twice agree on it. Other
keys (settings, notes) are ignored.
"""
import argparse
import json
import os
import sys

LISTS = ("datasets", "encoders", "augmentations", "columns")


def once(pairs):
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key appears twice")
    return made


class Published:
    """Figures by (data set, encoder, augmentation, column, metric), ids; shares are 0 to 1."""

    def __init__(self, document):
        if document.get("format") != "invar-published" or document.get("version") != 1:
            raise ValueError('"format" must be "invar-published" and "version" 1')
        self.document, self.digits, self.names = document, document["digits"], {}
        for key in LISTS:
            self.names[key] = self.read_names(key)
        self.percent = {}
        for metric, about in document["metrics"].items():
            if about["unit"] not in ("percent", "number"):
                raise ValueError(f"the unit of {metric} must be percent or number")
            self.percent[metric] = about["unit"] == "percent"
        self.figures = {}
        for table in document["tables"]:
            self.read_table(table)

    def read_names(self, key):
        """{id or title in lower case: id} of a list."""
        names = {}
        for name, title in self.document[key].items():
            for one in {name.lower(), title.lower()}:
                if one in names:
                    raise ValueError(f"{name} has the name of another of the {key}")
                names[one] = name
        return names

    def listed(self, key, name):
        if name not in self.document[key]:
            raise ValueError(f"{name!r} is not one of the {key} that the file lists")
        return name

    def read_table(self, table):
        dataset = self.listed("datasets", table["dataset"])
        encoder = self.listed("encoders", table["encoder"])
        for row in table["rows"]:
            augment = self.listed("augmentations", row["augment"])
            self.listed("columns", row["column"])
            for metric, value in row["values"].items():
                column = self.document["metrics"][self.listed("metrics", metric)].get("column")
                key = (dataset, encoder, augment, self.listed("columns", column or row["column"]), metric)
                figure = (value / 100 if self.percent[metric] else value, 0 if column else row.get("width", 0))
                known = self.figures.setdefault(key, figure)
                if known[0] != figure[0] or known[1] and figure[1] and known[1] != figure[1]:
                    raise ValueError(f"tables disagree on {', '.join(key)}")
                if figure[1]:
                    self.figures[key] = figure

    def find(self, dataset, encoder, augment, column, metric):
        """(value, width of codes or 0); None if the paper does not have it."""
        ids = [self.names[key].get(name.lower()) for key, name in zip(LISTS, (dataset, encoder, augment, column))]
        return self.figures.get((*ids, metric))

    def text(self, metric, value):
        return f"{100 * value if self.percent[metric] else value:.{self.digits}f}"


def load(path):
    """The file of published figures; ValueError says what is wrong with it."""
    with open(path, encoding="utf-8") as file:
        try:
            return Published(json.load(file, object_pairs_hook=once))
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"is not a file of published figures: {error!r}") from error


def compare(published, document, title):
    """The Markdown table of a results document, as lines; none if the paper has nothing of it."""
    of = [part.strip() for part in title.split(",")]
    if len(of) != 3:
        return []
    rows = [metric["id"] for metric in document["metrics"]]
    heads, cells = ["| |"], {metric: [f"| {metric} |"] for metric in rows}
    found = set()
    for column in document["columns"]:
        theirs = {m: published.find(*of, column["title"], m) for m in rows if m in published.percent}
        theirs = {m: figure for m, figure in theirs.items() if figure}
        found |= theirs.keys()
        heads.append(f" {column['title']} |" + (" published |" if theirs else ""))
        for metric in rows:
            value = document["values"].get(metric, {}).get(column["id"], {}).get("value")
            ours = published.text(metric, value) if value is not None and metric in published.percent else "–"
            figure = published.text(metric, theirs[metric][0]) if metric in theirs else "–"
            cells[metric].append(f" {ours} |" + (f" {figure} |" if theirs else ""))
    if not found:
        return []
    head = "".join(heads)
    return [f"## {title}", "", head, "|---|" + "---:|" * (head.count("|") - 2),
            *("".join(cells[metric]) for metric in rows if metric in found), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-p", "--published", metavar="FILE",
                        default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "published.json"))
    parser.add_argument("-t", "--title", help='"DATA, ENCODER, AUGMENTATION" of results without a title')
    parser.add_argument("tables", nargs="+", metavar="TABLE.json")
    options = parser.parse_args()
    try:
        published = load(options.published)
    except (OSError, ValueError) as error:
        sys.exit(f"compare.py: {options.published}: {error}")
    lines = []
    for path in options.tables:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        for one in document["tables"] if document.get("format") == "invar-study" else [document]:
            title = one.get("title") or options.title or ""
            found = compare(published, one, title)
            if not found:
                print(f"compare.py: {path}: the paper has no figures of {title!r}", file=sys.stderr)
            lines += found
    print("\n".join(lines), end="")
    sys.exit(0 if lines else 1)


if __name__ == "__main__":
    main()
