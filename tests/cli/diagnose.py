#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diagnose.py INVAR SOURCE - verdicts on banks for which it is known what an adapter can do."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
invar, source = os.path.realpath(sys.argv[1]), sys.argv[2]
sys.path.insert(0, os.path.join(source, "recipes", "no_tuning"))
import made_banks  # noqa: E402

# Does an adapter help? If not, what every preset is told.
EXPECTED = {
    "easy": (True, ""),
    "curved": (True, ""),
    "hard": (False, "does harm"),  # copies come nearer to their class and lose their image
    "noise": (False, "does harm"),
    "hopeless": (False, "does harm"),
    "close": (False, "does not help"),
}


def run(*words):
    return subprocess.run([invar, *words, "-q", "--hidden", "256"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)


def diagnose(bank, threads):
    done = run("diagnose", bank, "--json", "--threads", str(threads))
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, (helps, why) in EXPECTED.items():
            bank, out = os.path.join(folder, name), os.path.join(folder, name + "-run")
            made_banks.make(name, bank)
            text = diagnose(bank, 1)
            found = json.loads(text)
            print(name, found["verdict"], found["why"])
            assert (found["verdict"] != "none") == helps, name
            assert all(why in line for line in found["why"].splitlines()), name
            if name == "hard":
                assert text == diagnose(bank, 2), "1 and 2 threads differ"
            done = run("train", bank, "-o", out, "--preset", "instant")
            assert done.returncode == (0 if helps else 1), done.stderr
            assert os.path.exists(out) == helps, name


main()
