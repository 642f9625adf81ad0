#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""large_weights.py INVAR - weight files of very many tensors or very long names.

Every action of `invar models` takes time in proportion to the file: a few seconds here, where
a step that is quadratic in names or tensors takes minutes. Names are shown escaped and cut,
so that they break neither the terminal nor the table.
"""
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zipfile

invar = os.path.realpath(sys.argv[1])
SECONDS = 20  # of CPU time; the slowest here takes one, and a few under sanitizers
LONG = 1000000
MANY = 10000
FEW = 5000
MOST_OUTPUT = 200 << 20  # bytes; a table padded to its longest name would fill the disk
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def write_safetensors(path, names):
    header = {n: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]}
              for i, n in enumerate(names)}
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + bytes(4 * len(names)))


def pickle_text(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def pickle_int(value):
    return b"J" + struct.pack("<i", value)


def write_torch(path, count):
    pickle = b"\x80\x02}("
    for i in range(count):
        storage = (pickle_text("storage") + b"ctorch\nFloatStorage\n" + pickle_text(str(i)) +
                   pickle_text("cpu") + pickle_int(1))
        pickle += (pickle_text(f"layer.{i}.weight") + b"ctorch._utils\n_rebuild_tensor_v2\n((" +
                   storage + b"tQ" + pickle_int(0) + 2 * (pickle_int(1) + b"\x85") + b"\x89}tR")
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("archive/data.pkl", pickle + b"u.")
        for i in range(count):
            z.writestr(f"archive/data/{i}", bytes(4))


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT, MOST_OUTPUT))


def run(*words):
    """Exit code, output and message; the code is None if it took too long or wrote too much."""
    with open("out", "wb") as out:
        got = subprocess.run([invar, "models", *words], stdout=out, stderr=subprocess.PIPE,
                             check=False, preexec_fn=limit)
    if got.returncode < 0:
        complain(f"{' '.join(words)}: ended by signal {-got.returncode}")
        return None, "", ""
    with open("out", encoding="utf-8") as out:
        return got.returncode, out.read(), got.stderr.decode()


def check_actions(name, tensors):
    code, text, said = run("inspect", name)
    if code is not None and (code != 0 or f"\ntensors     {tensors}, " not in text or len(text) > 2000):
        complain(f"inspect {name}: exit {code}: {text[:300]} {said[:300]}")
    code, text, said = run("inspect", name, "--tensors")
    lines = text.splitlines()
    if code is not None and (code != 0 or len(lines) < tensors + 5 or max(map(len, lines)) > 1200):
        complain(f"inspect {name} --tensors: exit {code}: {text[:300]} {said[:300]}")
    code, text, said = run("inspect", name, "--tensors", "--json")
    if code is not None and (code != 0 or len(json.loads(text)["tensors"]) != tensors):
        complain(f"inspect {name} --tensors --json: exit {code}: {text[:300]} {said[:300]}")
    code, _, said = run("verify", name)
    if code is not None and (code != 1 or "do not match any known encoder" not in said):
        complain(f"verify {name}: exit {code}: {said[:300]}")
    code, _, said = run("convert", name, "new.safetensors")
    if code is not None and code != 0:
        complain(f"convert {name}: exit {code}: {said[:300]}")


def check_files():
    layers = [f"layer.{i}.weight" for i in range(MANY)]
    write_safetensors("many.safetensors", layers)
    check_actions("many.safetensors", MANY)
    write_safetensors("long.safetensors", ["n" * LONG] + layers[:FEW])
    check_actions("long.safetensors", FEW + 1)
    write_safetensors("wrapped.safetensors", ["model." * (LONG // 6)] + layers[:FEW])
    check_actions("wrapped.safetensors", FEW + 1)
    write_torch("torch.pt", FEW)
    check_actions("torch.pt", FEW)


def check_hostile_names():
    names = ["a\nb", "c\x1b[31md", "e\u009bf", "g\\h", "naïve", "ü" * 100]
    write_safetensors("hostile.safetensors", names)
    _, text, _ = run("inspect", "hostile.safetensors", "--tensors")
    shown = [line.split()[0] for line in text.splitlines()[-len(names):]]
    if shown != ["a\\nb", "c\\x1b[31md", "e\\u009bf", "g\\\\h", "naïve", "ü" * 58 + "…"]:
        complain(f"names are shown as {shown}")
    _, text, _ = run("inspect", "hostile.safetensors", "--tensors", "--json")
    if [t["name"] for t in json.loads(text)["tensors"]] != names:
        complain(f"names in JSON are {text}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_files()
    check_hostile_names()
    os.chdir("/")
sys.exit(1 if failed else 0)
