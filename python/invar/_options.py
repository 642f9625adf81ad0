# SPDX-License-Identifier: Apache-2.0
"""Options by name, from the tables of the library: checked there, described there, spelled here with underscores."""
import ctypes
import os
import re
from dataclasses import dataclass
from numbers import Integral, Real

from ._library import Handle, UseError, call, encoded, lib, taken_text

FLAG, COUNT, NUMBER, TEXT, LIST = range(5)


@dataclass(frozen=True)
class OptionInfo:
    """What the library says about an option."""

    name: str
    kind: int
    default: object
    choices: tuple
    meta: str
    group: str
    help: str

    @property
    def keyword(self):
        """As Python spells it."""
        return self.name.replace("-", "_")


def text(value):
    return None if value is None else value.decode("utf-8")


def default_of(row):
    initial = text(row.initial)
    if row.type == FLAG:
        return initial in ("1", "true")
    if initial is None:
        return [] if row.type == LIST else 0 if row.type in (COUNT, NUMBER) else None
    if row.type == COUNT:
        return int(initial)
    return float(initial) if row.type == NUMBER else initial


def choices_of(row):
    if row.choices:
        return tuple(text(row.choices).split("|"))
    found = []
    while row.choice:
        word = row.choice(len(found))
        if word is None:
            break
        found.append(text(word))
    return tuple(found)


def info(row):
    return OptionInfo(text(row.name), row.type, default_of(row), choices_of(row), text(row.meta) or "",
                      text(row.group) or "", text(row.help) or "")


class Options:
    """A list for a command ("train", "eval", …) with the given values."""

    def __init__(self, command, values=None):
        out = ctypes.c_void_p()
        call_status = lib.invar_options_new(encoded(command), ctypes.byref(out))
        if call_status:
            raise UseError(lib.invar_last_error().decode("utf-8", "replace"))
        self.command = command
        self.handle = Handle(out.value, lib.invar_options_free)
        for name, value in (values or {}).items():
            self.set(name, value)

    @property
    def pointer(self):
        return self.handle.value

    def rows(self):
        return [info(lib.invar_options_at(self.pointer, i).contents)
                for i in range(lib.invar_options_count(self.pointer))]

    def set(self, name, value):
        """None leaves the default."""
        if value is None:
            return
        name = name.replace("_", "-")
        for word in spell(value, self.is_list(name)):
            status = lib.invar_options_set(self.pointer, encoded(name), encoded(word))
            if status:
                raise UseError(as_keywords(lib.invar_last_error().decode("utf-8", "replace"), name))

    def is_list(self, name):
        return any(row.name == name and row.kind == LIST for row in self.rows())

    def values(self):
        """All values, set or default, as the library has them."""
        import json

        out = ctypes.c_void_p()
        call(lib.invar_options_json, self.pointer, ctypes.byref(out))
        return json.loads(taken_text(out.value))


def as_keywords(message, name):
    """A message of the library with names of options as Python spells them."""
    message = re.sub(r"(?<![\w-])%s(?![\w-])" % re.escape(name), name.replace("-", "_"), message)
    return re.sub(r"did you mean [\w-]+", lambda found: found.group().replace("-", "_"), message)


def spell(value, is_list):
    """The texts of a value: several for an option that is a list, else one."""
    if isinstance(value, (list, tuple)) and is_list:
        return [spell_one(one) for one in value]
    return [spell_one(value)]


def spell_one(value):
    if isinstance(value, dict):  # copies={"train": 10, "test": 5}
        return ",".join(f"{key}={spell_one(one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):  # metrics=["lc", "knn"], mean=(0.5, 0.5, 0.5)
        return ",".join(spell_one(one) for one in value)
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "1" if value else "0"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    return os.fspath(value)


def options(command):
    """The options of a command ("train", "eval", …), as the library describes them: a list of OptionInfo."""
    return Options(command).rows()


def commands():
    """The names of all lists of options."""
    found = []
    while True:
        word = lib.invar_options_commands(len(found))
        if word is None:
            return found
        found.append(text(word))
