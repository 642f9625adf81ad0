# SPDX-License-Identifier: Apache-2.0
"""Signatures and docstrings from the option tables of the library."""
import inspect
import textwrap

from ._options import LIST, options

# Functions that take the options of a command as keywords.
COMMANDS = {
    "encode": "encode", "train": "train", "fit": "train", "eval": "eval", "diagnose": "diagnose", "check": "check", "export": "export",
    "dependence": "dependence", "sliced_wasserstein": "dependence", "tsne": "tsne", "synthetic": "synthetic", "augment": "augment",
    "Encoder": "features",
}


# Of arrays in memory there are no images, no other split and no folder.
NOT_FIT = ("Run", "Images", "Encoder", "Copies", "Preparation", "split", "decoder", "alpha", "beta")


def rows_of(function, name):
    """The options of a command that are not keywords of the function itself."""
    own = set(inspect.signature(function).parameters)
    rows = [row for row in options(COMMANDS[name]) if row.keyword not in own]
    return [row for row in rows if name != "fit" or (row.group not in NOT_FIT and row.keyword not in NOT_FIT)]


def keyword_parameters(function, name):
    return [inspect.Parameter(row.keyword, inspect.Parameter.KEYWORD_ONLY, default=None if row.kind == LIST else row.default)
            for row in rows_of(function, name)]


def describe_options(function, name):
    """Paragraphs for a docstring, by group as in the help of the program."""
    groups = {}
    for row in rows_of(function, name):
        groups.setdefault(row.group, []).append(row)
    lines = []
    for group, rows in groups.items():
        lines += ["", f"{group}:" if group else "Options:"]
        for row in rows:
            words = f" ({', '.join(row.choices)})" if row.choices else ""
            plain = row.default in (None, False, 0, []) or "default" in row.help
            default = "" if plain else f"; default: {row.default}"
            lines += textwrap.wrap(f"{row.keyword}: {row.help}{words}{default}", 100, initial_indent="    ",
                                   subsequent_indent="        ")
    return "\n".join(lines)


def complete(function, name):
    """Gives a function that takes **options the signature and docstring of its command."""
    target = function.__init__ if inspect.isclass(function) else function
    signature = inspect.signature(target)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    function.__doc__ = inspect.cleandoc(function.__doc__) + "\n" + describe_options(target, name)
    target.__signature__ = signature.replace(parameters=kept + keyword_parameters(target, name))
