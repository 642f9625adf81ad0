#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diagnose.py INVAR SOURCE - the verdict on banks for which it is known what an adapter can do."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
invar, source = os.path.realpath(sys.argv[1]), sys.argv[2]
sys.path.insert(0, os.path.join(source, "recipes", "no_tuning"))
import made_banks  # noqa: E402

EXPECTED = {
    "easy": ("instant", "little to learn"),
    "curved": ("instant", "little to learn"),
    "hard": ("instant", "but only"),  # the class comes nearer, the image is lost
    "noise": ("none", "only shrink the copies"),
    "hopeless": ("none", "send them to the mean"),
    "close": ("none", "so close"),
}


def diagnose(bank, threads):
    return subprocess.run([invar, "diagnose", bank, "--json", "-q", "--hidden", "256", "--threads",
                           str(threads)], stdout=subprocess.PIPE, check=True).stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, (verdict, why) in EXPECTED.items():
            bank = os.path.join(folder, name)
            made_banks.make(name, bank)
            text = diagnose(bank, 1)
            found = json.loads(text)
            print(name, found["verdict"], found["why"])
            assert found["verdict"] == verdict, name
            assert why in found["why"], name
            if name == "hard":
                assert text == diagnose(bank, 2), "1 and 2 threads differ"


main()
