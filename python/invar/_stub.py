# SPDX-License-Identifier: Apache-2.0
"""The stubs __init__.pyi, with the options of the library's tables as keywords, and index.pyi.

`python3 -m invar._stub > python/invar/__init__.pyi` and `python3 -m invar._stub index > python/invar/index.pyi` make them again; a
test fails if they differ.
"""
import inspect
import sys
from dataclasses import fields, replace

from ._describe import COMMANDS, rows_of
from ._options import COUNT, FLAG, LIST, NUMBER

TYPES = {FLAG: "bool", COUNT: "int", NUMBER: "float", LIST: "Sequence[str]"}
HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Made from the option tables of the library by `python3 -m invar._stub`; do not edit.
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import index as index

OptionText = str | int | float | PathLike[str] | Sequence[Any] | Mapping[str, Any] | None
Path = str | PathLike[str]
Progress = bool | Callable[[str, int, int], Any] | None
Floats = NDArray[np.float32]

__version__: str
'''

# Annotations of what is not an option, by name; `->NAME` is what a function returns.
ANNOTATIONS = {
    "threads": "int", "progress": "Progress", "seed": "int", "gradient": "bool", "dry_run": "bool", "residual": "bool", "unit": "bool",
    "bank": "Path", "bank.train": "Path | Sequence[Path] | None", "run": "Path", "run.train": "Path | None", "path": "Path",
    "path.bank": "Path | None", "path.to_json": "Path | None", "images": "Path | ArrayLike | Sequence[Any]",
    "images.augment": "ArrayLike", "encoder": "Path | Callable[..., Any] | Encoder | None",
    "encoder.export": "Path | Encoder | None", "labels": "ArrayLike | None",
    "labels.bank": "ArrayLike | Mapping[str, ArrayLike] | None", "labels.encode": "ArrayLike | Sequence[str] | None",
    "adapters": "Path | Adapter", "adapter": "Path | Adapter", "new": "Path | ArrayLike", "certify": "bool",
    "adapters.merge": "Sequence[Path | Adapter]", "weights": "ArrayLike | None", "strength": "float", "k": "int",
    "width": "int | None", "batch": "int | None", "filter": 'Literal["bilinear", "bicubic"] | None',
    "name": "str | None", "version": "str | None", "providers": "str | Sequence[Any] | None", "size": "int | str | None", "resize": "int | None",
    "normalize": "OptionText", "augment": "str | None", "holdout": "float", "params": "ArrayLike | None", "spec": "str",
    "clean": "ArrayLike | Mapping[str, ArrayLike]", "copies": "Any", "command": "str", "key": "str", "split": "str",
    "key.__getitem__": "tuple[str, str]", "index": "int", "metric": "str", "column": "str", "intervals": "bool", "data": "bytes", "out": "Floats | None",
    "directions": "ArrayLike | None", "preset": "str", "options": "Mapping[str, Any] | None", "y": "Any",
    "document": "dict[str, Any]", "deep": "bool", "input_features": "Any", "name.field": "str",
    "->train": "Run", "->fit": "Adapter", "->eval": "Results", "->diagnose": "Results",
    "->check": "Results", "->export": "None",
    "->merge": "Adapter", "->bank": "Bank", "->synthetic": "Bank", "->structure": "Results", "->dependence": "Results",
    "->tsne": "tuple[Floats, Results]",
    "->neighbours": "tuple[NDArray[np.uint32], NDArray[np.float64]]", "->augment": "tuple[Floats, Floats]",
    "->options": "list[OptionInfo]", "->commands": "list[str]", "->__call__": "Floats", "->__init__": "None",
    "->adapter": "Adapter", "->decoder": "Adapter", "->info": "dict[str, Any]", "->log": "list[dict[str, Any]]",
    "->results": "list[Results]", "->table": "list[list[str]]", "->notes": "list[str]", "->heading": "str",
    "->to_json": "str", "->value": "dict[str, Any] | None", "->__getitem__": "float", "->columns": "list[str]",
    "->titles": "list[str]", "->metrics": "list[str]", "->complete": "bool", "->splits": "list[str]", "->dim": "int",
    "->rows": "int", "->copies": "int", "->clean": "NDArray[Any]", "->copy": "Floats", "->views": "Floats | None",
    "->labels": "NDArray[np.int64] | None", "->names": "list[str] | None", "->field": "str | None",
    "->metadata": "str | None", "->save": "None", "->to_bytes": "bytes", "->weights": "dict[str, Floats]",
    "->torch": "Any", "->input": "int", "->output": "int", "->hidden": "int", "->residual": "bool", "->unit": "bool", "->path": "str",
    "->from_bytes": "Adapter", "->from_weights": "Adapter", "->open": "Results", "->name": "str", "->side": "int",
    "->keyword": "str", "->fit": "InvariantTransformer", "->transform": "Floats", "->__fspath__": "str",
    "->get_feature_names_out": "NDArray[Any]", "->to_pandas": "Any",
}
# What is returned depends on a flag: (flag, without it, with it).
FLAGS = {"encode": ("dry_run", "Bank", "dict[str, float]"), "sliced_wasserstein": ("gradient", "float", "tuple[float, Floats]")}
SHOWN = ("__init__", "__call__", "__getitem__", "__fspath__")


def type_of(row):
    if row.kind in TYPES:
        return TYPES[row.kind]
    if row.choices:
        return "Literal[" + ", ".join(f'"{word}"' for word in row.choices) + "]"
    return "OptionText"


def annotation(name, function, fallback="ArrayLike"):
    return ANNOTATIONS.get(f"{name}.{function}", ANNOTATIONS.get(name, fallback))


def spell_parameter(p, function):
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    if p.name in ("self", "cls") or p.kind is p.VAR_KEYWORD:
        return star + p.name + (": Any" if star else "")
    default = "" if p.default is p.empty else f" = {p.default!r}"
    return f"{star}{p.name}: {annotation(p.name, function)}{default}"


def spell_overloads(function, name, rows):
    """One per value of the flag; the last is for a flag that is only known when it runs."""
    flag, without, with_it = FLAGS[name]
    forms = (("Literal[False] = False", without), ("Literal[True]", with_it), ("bool = False", f"{without} | {with_it}"))
    return "\n".join("@overload\n" + spell_function(function, name, rows, "", {flag: kind}, returns)
                     for kind, returns in forms)


def spell_function(function, name, rows, indent="", kinds=None, returns=None):
    """`kinds` has the types and defaults of parameters that differ from the usual, and `returns` that of the result."""
    if name in FLAGS and kinds is None:
        return spell_overloads(function, name, rows)
    parameters = list(inspect.signature(function).parameters.values())
    words, keywords_only = [], False
    for p in parameters:
        if p.kind is p.VAR_KEYWORD and rows is not None or p.name.startswith("_"):
            continue
        if p.kind is p.KEYWORD_ONLY and not keywords_only and not any(q.kind is q.VAR_POSITIONAL for q in parameters):
            words.append("*")
        keywords_only = keywords_only or p.kind is p.KEYWORD_ONLY
        words.append(f"{p.name}: {kinds[p.name]}" if kinds and p.name in kinds else spell_parameter(p, name))
    if rows and not keywords_only:
        words.append("*")
    for row in rows or []:
        default = "..." if row.kind == LIST else repr(row.default)
        none = " | None" if row.kind != LIST and type_of(row) != "OptionText" else ""
        words.append(f"{row.keyword}: {type_of(row)}{none} = {default}")
    returns = returns or ANNOTATIONS.get("->" + name, "Any")
    one = f"{indent}def {name}({', '.join(words)}) -> {returns}: ..."
    if len(one) <= 120:
        return one
    return f"{indent}def {name}(\n" + "".join(f"{indent}    {word},\n" for word in words) + f"{indent}) -> {returns}: ..."


def spell_class(kind, commands):
    bases = [base.__name__ for base in kind.__bases__ if issubclass(base, Exception)]
    lines = [f"class {kind.__name__}{'(' + ', '.join(bases) + ')' if bases else ''}:"]
    for name, value in vars(kind).items():
        if name.startswith("_") and name not in SHOWN:
            continue
        if isinstance(value, property):
            lines += ["    @property", f"    def {name}(self) -> {ANNOTATIONS.get('->' + name, 'Any')}: ..."]
        elif isinstance(value, classmethod):
            lines += ["    @classmethod", spell_function(value.__func__, name, None, "    ")]
        elif inspect.isfunction(value):
            rows = commands.get(kind.__name__) if name == "__init__" else None
            if name == "eval":
                rows = commands["eval"]
            lines.append(spell_function(value, name, rows, "    "))
        elif isinstance(value, int) and name == "status":
            lines.append("    status: int")
    if kind.__name__ == "InvariantTransformer":  # of its bases
        lines += ["    def fit_transform(self, X: ArrayLike, y: Any = None, **params: Any) -> Floats: ...",
                  "    def get_params(self, deep: bool = True) -> dict[str, Any]: ...",
                  "    def set_params(self, **params: Any) -> InvariantTransformer: ..."]
    if kind.__name__ in ("Bank", "Run"):
        lines.insert(1, "    path: str")
    if kind.__name__ == "OptionInfo":
        lines[1:] = ["    name: str", "    kind: int", "    default: Any", "    choices: tuple[str, ...]", "    meta: str",
                     "    group: str", "    help: str", "    @property", "    def keyword(self) -> str: ..."]
    return "\n".join(lines if len(lines) > 1 else [lines[0], "    ..."])


def stub():
    """The text of __init__.pyi. Signatures are those of the source afterwards, so this is for a process of its own."""
    import invar

    from ._transformer import InvariantTransformer, training_rows

    del InvariantTransformer.__init__.__signature__
    commands = {"InvariantTransformer": [replace(row, default=None) for row in training_rows()]}
    for name in COMMANDS:
        value = getattr(invar, name)
        target = value.__init__ if inspect.isclass(value) else value
        if hasattr(target, "__signature__"):
            del target.__signature__
        commands[name] = rows_of(target, name)
    parts = [HEAD]
    for name in invar._PUBLIC:
        value = getattr(invar, name)
        if inspect.isclass(value):
            parts.append("\n" + spell_class(value, commands) + "\n")
        elif inspect.isfunction(value):
            parts.append(spell_function(value, name, commands.get(name)) + "\n")
    return "".join(parts)


def index_stub():
    """The text of index.pyi, from the annotations of the source."""
    from . import index

    parts = ["# SPDX-License-Identifier: Apache-2.0\n# Made by `python3 -m invar._stub index`; do not edit.\n"
             "from collections.abc import Callable\nfrom dataclasses import dataclass\nfrom os import PathLike\nfrom typing import Any\n\n"
             "from numpy.typing import ArrayLike\n\nfrom . import Adapter\n\n"]
    for name in index.__all__:
        value = getattr(index, name)
        if inspect.isclass(value):
            parts.append(f"@dataclass(frozen=True)\nclass {name}:\n" + "".join(
                f"    {one.name}: {one.type}{'' if one.default is one.default_factory else ' = ...'}\n" for one in fields(value)))
            continue
        words, keywords_only = [], False
        for p in inspect.signature(value).parameters.values():
            if p.kind is p.KEYWORD_ONLY and not keywords_only:
                words, keywords_only = [*words, "*"], True
            words.append(f"{p.name}: {p.annotation}" + ("" if p.default is p.empty else f" = {p.default!r}"))
        parts.append(f"def {name}(\n" + "".join(f"    {word},\n" for word in words)
                     + f") -> {inspect.signature(value).return_annotation}: ...\n")
    return "".join(parts)


if __name__ == "__main__":
    print(index_stub() if sys.argv[1:] == ["index"] else stub(), end="")
