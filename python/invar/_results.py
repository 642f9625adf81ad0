# SPDX-License-Identifier: Apache-2.0
"""What was measured: a document that describes itself, shown as a table, HTML, a data frame or JSON.

Nothing here knows a measurement: rows, units, digits and notes come from the document (docs/reference/RESULTS-FORMAT.md). The
text is that of `invar eval`, which a test compares.
"""
import ctypes
import html
import json
import math
import unicodedata

from ._library import call, context, encoded, lib, taken_text

DASH = "–"


def spell_number(metric, value):
    """Fixed digits, or a power of ten where these would show too little or too much."""
    digits = min(metric.get("digits", 3), 15)
    if value is None or math.isnan(value):
        return DASH
    if metric["unit"] == "count":
        return f"{value:.0f}"
    if metric["unit"] == "share":
        return f"{100 * value:.{digits}f}"
    size = abs(value)
    if size == 0 or 10.0 ** (1 - digits) <= size < 1e6:
        return f"{value:.{digits}f}"
    return f"{value:.{max(digits - 1, 0)}e}"


def has_width(value):
    return value.get("low") is not None and value["low"] != value.get("high")


def spell_interval(metric, value):
    if value is None or not has_width(value):
        return DASH
    return f"{spell_number(metric, value['low'])}{DASH}{spell_number(metric, value['high'])}"


def spell_value(metric, value):
    return spell_number(metric, value["value"]) if value is not None else DASH


def printable(text):
    return "".join("?" if ord(c) < 0x20 or ord(c) == 0x7f else c for c in text)


def width_of(text):
    """In columns of a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def plural(number, one, many):
    return one if number == 1 else many


def html_table(title, rows):
    """A small table for a notebook: a title, and rows of a name and values; rows whose last value is None are left out."""
    body = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                   + "".join(f"<td style='text-align:left'>{html.escape(str(value))}</td>" for value in values) + "</tr>"
                   for name, *values in rows if values[-1] is not None)
    return f"<table><caption>{html.escape(title)}</caption><tbody>{body}</tbody></table>"


class Results:
    """Columns (F and adapters), metrics and values with 95 % intervals.

    A prompt and `print(results)` show the table, a notebook shows HTML, `results["lc.augmented", "run"]` is a number;
    `to_pandas()` gives a data frame and `to_json()` the document, which `document` holds as a dictionary.
    """

    def __init__(self, document):
        self.document = document

    @classmethod
    def open(cls, path):
        """From a file that `invar eval -o FILE` or `to_json(path)` wrote."""
        out = ctypes.c_void_p()
        call(lib.invar_results_open, context(), encoded(path), ctypes.byref(out))
        return cls._from(out.value)

    @classmethod
    def _from(cls, handle):
        """Takes results of the library."""
        try:
            out = ctypes.c_void_p()
            call(lib.invar_results_json, handle, ctypes.byref(out))
            return cls(json.loads(taken_text(out.value)))
        finally:
            lib.invar_results_free(handle)

    # ---- Values

    @property
    def columns(self):
        """Ids of the columns, in order; `titles` has what tables show."""
        return [column["id"] for column in self.document["columns"]]

    @property
    def titles(self):
        return [column["title"] for column in self.document["columns"]]

    @property
    def metrics(self):
        """Ids of the metrics."""
        return [metric["id"] for metric in self.document["metrics"]]

    @property
    def complete(self):
        """False if the measurement was interrupted."""
        return not self.document.get("incomplete", False)

    def value(self, metric, column):
        """{"value", "low", "high", "count", …} of a metric and a column, by id or title; None if there is no value."""
        found = self.document["values"].get(metric, {})
        if column not in found and column in self.titles:
            column = self.columns[self.titles.index(column)]
        found = found.get(column)
        return None if found is None or "reason" in found else found

    def __getitem__(self, key):
        metric, column = key
        if metric not in self.metrics:
            raise KeyError(f"no metric {metric!r}; there are {', '.join(self.metrics)}")
        if column not in self.columns and column not in self.titles:
            raise KeyError(f"no column {column!r}; there are {', '.join(self.titles)}")
        found = self.value(metric, column)
        return math.nan if found is None or found["value"] is None else found["value"]

    def to_json(self, path=None):
        """The document as text; also written to a file if a path is given."""
        text = json.dumps(self.document, indent=1, ensure_ascii=False)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
        return text

    def to_pandas(self, intervals=False):
        """A data frame with a row per metric and a column per column; with intervals, low and high beside each value."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise ImportError("to_pandas() needs pandas; install it, or use to_json() or table()") from error

        rows = [(metric["row"], metric.get("part") or "") for metric in self.document["metrics"]]
        parts = ("value", "low", "high") if intervals else ("value",)
        data = {}
        for column in self.columns:
            title = self.titles[self.columns.index(column)]
            name = title if title not in data and (title, "value") not in data else f"{title} ({column})"
            for part in parts:
                cells = [(self.value(metric, column) or {}).get(part) for metric in self.metrics]
                data[(name, part) if intervals else name] = [math.nan if c is None else c for c in cells]
        return pandas.DataFrame(data, index=pandas.MultiIndex.from_tuples(rows, names=["row", "part"]))

    # ---- The table

    def _lines(self):
        """Runs of metrics that share a row."""
        line = []
        for metric in self.document["metrics"]:
            if line and (metric["row"], metric["measurement"]) != (line[0]["row"], line[0]["measurement"]):
                yield line
                line = []
            line.append(metric)
        if line:
            yield line

    def _row(self, line, title, spell):
        cells = [title]
        for column in self.columns:
            values = [self.value(metric["id"], column) for metric in line]
            shown = any(value is not None for value in values)
            cells.append(" | ".join(map(spell, line, values)) if shown else DASH)
        return cells

    def table(self):
        """The cells, row by row; the first row has the titles."""
        rows = [["", *self.titles]]
        for line in self._lines():
            values = [v for m in line for c in self.columns if (v := self.value(m["id"], c)) is not None]
            if line[0].get("detail") or not values:
                continue
            unit = ", %" if line[0]["unit"] == "share" else ""
            rows.append(self._row(line, line[0]["row"] + unit, spell_value))
            if any(v.get("low") is not None or v.get("no_interval") for v in values):
                rows.append(self._row(line, "  95 %", spell_interval))
        return [[printable(cell) for cell in row] for row in rows]

    def _interval_notes(self):
        found = {}
        for metric in self.metrics:
            for column in self.columns:
                value = self.value(metric, column)
                if value is not None and value.get("no_interval"):
                    found[value["no_interval"]] = True
                elif value is not None and value.get("low") is not None and not has_width(value):
                    found["no interval (–) where all images agree"] = True
        return list(found)

    def _skipped(self, measurement, column):
        reasons = self.document.get("skipped", {}).get(measurement, {})
        return reasons.get(column) or reasons.get("")

    def _common_reason(self, measurement):
        """Why no column has it, if the reason is the same for all."""
        reasons = [self._skipped(measurement, column) for column in self.columns]
        common = self._skipped(measurement, "") or next(filter(None, reasons), None)
        for column, reason in zip(self.columns, reasons):
            measured = any(metric["measurement"] == measurement and self.value(metric["id"], column) is not None
                           for metric in self.document["metrics"])
            if measured or (reason and reason != common):
                return None
        return common

    def _skip_notes(self):
        reasons = {}
        for measurement in self.document.get("measurements", []):
            common = self._common_reason(measurement["id"])
            if common:
                reasons.setdefault(common, []).append(measurement["title"])
                continue
            for column, title in zip(self.columns, self.titles):
                reason = self._skipped(measurement["id"], column)
                if reason:
                    reasons.setdefault(reason, []).append(f"{measurement['title']} of {title}")
        for reason, who in reasons.items():
            names = who[0] if len(who) == 1 else ", ".join(who[:-1]) + " and " + who[-1]
            yield f"{names} {plural(len(who), 'was', 'were')} not measured: {reason}"

    def notes(self):
        """Sentences about missing values and intervals."""
        return [printable(note) for note in
                [*self._interval_notes(), *self.document.get("notes", []), *self._skip_notes()]]

    def _verdict(self):
        """The sentence of a check, as a list of one line."""
        about = self.document
        return [printable(f"{about['verdict']}: {about['why']}")] if "verdict" in about else []

    def heading(self):
        """What was measured, in a line; "" if the results are not those of a bank."""
        about = self.document
        if "split" not in about or "points" not in about:
            return ""
        encoder = f"{about['encoder']}, " if about.get("encoder") else ""
        augment = f"{about['augment']}: " if about.get("augment") else ""
        points, copies = about["points"], about.get("copies", 0)
        return (f"{encoder}{augment}{points} {plural(points, 'point', 'points')} of the split {about['split']}, {copies} "
                f"{plural(copies, 'copy', 'copies')}, width {about['dim']}; clean | augmented")

    def __str__(self):
        rows = self.table()
        widths = [max(map(width_of, column)) for column in zip(*rows)]
        lines = [self.heading(), ""] if self.heading() else []
        for first, *rest in rows:
            left = first + " " * (widths[0] - width_of(first)) if rest else first
            lines.append(left + "".join("  " + " " * (w - width_of(cell)) + cell for cell, w in zip(rest, widths[1:])))
        notes = self.notes()
        return "\n".join(lines + ([""] + notes if notes else []) + ([""] + self._verdict() if self._verdict() else []))

    def __repr__(self):
        """At a prompt `run.eval(bank)` is enough to see the table."""
        return str(self)

    def _repr_html_(self):
        head, *rows = self.table()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join("<tr><th style='text-align:left'>" + html.escape(first) + "</th>"
                       + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest) + "</tr>" for first, *rest in rows)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in [*self.notes(), *self._verdict()])
        return (f"<p>{html.escape(self.heading())}</p><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
                + notes)
