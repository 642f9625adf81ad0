#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""commands.py INVAR SOURCE - every command of the documentation is one that the program understands.

pages.sh types the commands that can run here. This test looks at all of them, also those that need a network, large
weights or hours: lines that begin with "invar" in blocks of code, and what stands between backquotes ("invar train BANK",
"eval --certify", "--loss none --init ridge", "./dev page"). With --help behind its words, a command line is parsed by
the program's own tables of options, names and values alike, and nothing runs. Options without a command must belong to
some command.
"""
import functools
import glob
import os
import re
import shlex
import subprocess
import sys

invar, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
FENCE, INLINE = re.compile(r"^ *```"), re.compile(r"`([^`]+)`")
FOREIGN = {"mca", "kill-on-bad-exit", "nodes", "ntasks-per-node"}  # of mpirun and srun, in docs/SCALE.md
PLACEHOLDER = re.compile(r"^[A-Z][A-Z0-9]*(\.[a-z]+)?$")


def ask(words):
    return subprocess.run([invar, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", cwd="/")


def options_of(command):
    return set(re.findall(r"^ +(?:-\w, )?--([a-z][a-z0-9-]*)", ask(["help", command, "--all"]).stdout, re.MULTILINE))


overview = ask(["help", "--all"]).stdout
commands = {name: options_of(name) for name in re.findall(r"^  ([a-z]+) ", overview, re.MULTILINE)}
helpers = {"help"} | set(re.findall(r"^  ([a-z]+) ", subprocess.run([source + "/dev", "help"], stdout=subprocess.PIPE, text=True).stdout,
                         re.MULTILINE))
metrics = set(re.findall(r"[a-z][a-z-]*", ask(["help", "eval", "--all"]).stdout))


def commands_of(text, inline):
    """(line, command) of a page; what a reader would type, or read as something to type."""
    in_block, joined = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            in_block = not in_block
        elif in_block:
            line = joined + line.strip()
            joined = line[:-1] + " " if line.endswith("\\") else ""
            if line.startswith("invar ") and not joined:
                yield number, re.sub(r"(?<=\S)(  +#.*| #.*| {3,}.*)$", "", line)
            for piped in re.findall(r"\| (invar [^|]*)", line):
                yield number, piped
        elif line.startswith("    invar "):
            yield number, re.sub(r"(?<=\S)(  +#.*| #.*| {3,}.*)$", "", line.strip())
        elif inline:
            for code in INLINE.findall(line):
                first = code.split()[0] if code.split() else ""
                if re.match(r"invar |--[a-z]|\./dev", code) or (first in commands and " --" in code):
                    yield number, code


def alternatives(words):
    """--goal a|b is two command lines."""
    for i, word in enumerate(words):
        if "|" in word and not word.startswith(("-", "|")) and re.fullmatch(r"[\w.|-]+", word) and i and words[i - 1].startswith("--"):
            for choice in word.split("|"):
                yield from alternatives(words[:i] + [choice] + words[i + 1:])
            return
    yield words


def understands(command, words):
    """Is it parsed, as it is or with a number for a word that stands for one?"""
    option = words[-1].lstrip("-").split("=")[0] if words and words[-1].startswith("--") else None
    if option is not None and "=" not in words[-1]:  # at the end; it may need a value
        if option not in commands[command]:
            return f"{command} has no option --{option}"
        words = words[:-1]
    stands = [bool(PLACEHOLDER.match(w)) and i > 0 and words[i - 1].startswith("-") for i, w in enumerate(words)]
    for number in (None, "2", "0.5") if any(stands) else (None,):
        attempt = [number if number and s else w for w, s in zip(words, stands)]
        done = ask([command, *attempt, "--help"])
        if done.returncode == 0:
            return wrong_metric(words)
    return done.stderr.strip()


def wrong_metric(words):
    """The list of measurements is checked when an evaluation begins, so here as well."""
    for i, word in enumerate(words[:-1]):
        if word == "--metrics":
            for name in words[i + 1].split(","):
                if re.fullmatch("[a-z-]+", name) and name not in metrics:
                    return f"eval has no measurement {name}"
    return None


@functools.lru_cache(maxsize=None)
def fault(code):
    code = re.sub(r"\[options\]|…", "", code)
    code = re.sub(r" [<>]+ *\S+| \| .*$", "", code) if code.startswith("invar ") and "(" not in code else code
    if code.startswith("./dev"):
        name = (code.split() + [""])[1]
        return None if not name or name in helpers or not name.islower() else f"./dev has no command {name}"
    code = re.sub(r"\(([^()|]*)\|[^()]*\)", r"\1", code)  # (BANK | --data DATASET): the first
    try:
        words = [w for w in shlex.split(re.sub(r"[\[\]]", "", code)) if w != "|"]
    except ValueError:
        return "quotes do not match"
    if words[0].startswith("--"):
        return fault_of_options(words)
    words = words[1:] if words[0] == "invar" else words
    if not words or words[0].startswith("-") or words[0].isupper():
        return None
    if words[0] not in commands:
        return f"no command {words[0]}"
    return next(filter(None, (understands(words[0], w) for w in alternatives(words[1:]))), None)


def fault_of_options(words):
    """Some command that has the first option must understand all of them."""
    name = words[0].lstrip("-").split("=")[0]
    if name in FOREIGN:
        return None
    having = [command for command in commands if name in commands[command]]
    if not having:
        return f"no command has --{name}"
    for attempt in alternatives(words):
        why = None
        for command in having:
            why = understands(command, attempt)
            if not why:
                break
        if why:
            return why
    return None


def main():
    pages = [source + "/README.md", *sorted(glob.glob(source + "/docs/*.md")),
             *sorted(glob.glob(source + "/docs/reference/*.md")), source + "/recipes/paper/README.md"]
    checked, wrong = 0, 0
    for page in pages:
        with open(page, encoding="utf-8") as file:
            # The options in CLI.md are written by the program; its examples are not checked there.
            for number, code in commands_of(file.read(), not page.endswith("/CLI.md")):
                why = fault(code)
                checked += 1
                if why:
                    wrong += 1
                    print(f"{os.path.relpath(page, source)}:{number}: {code}\n    {why}")
    print(f"{checked} commands of {len(pages)} pages, {wrong} wrong")
    # The test itself: what it must find.
    for bad in ("invar train bank --epoch 3", "--no-such-option 1", "invar trian bank", "train --preset fast", "./dev nothing",
                "invar eval bank --metrics lc,lcx", "--goal classify|nothing"):
        if not fault(bad):
            print(f"not found: {bad}")
            wrong += 1
    return 1 if wrong or checked < 150 else 0


if __name__ == "__main__":
    sys.exit(main())
