#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# c_api.sh BUILD INVAR DOC MAKE WEIGHTS - compiles the programs of docs/C-API.md against an
# installed library, as C and without warnings, and runs them on a few images.
set -eu
build=$(realpath "$1") invar=$(realpath "$2") doc=$(realpath "$3") make=$(realpath "$4") weights=$(realpath "$5")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
meson install -C "$build" --no-rebuild --quiet --destdir "$work/root" > /dev/null
export PKG_CONFIG_SYSROOT_DIR=$work/root PKG_CONFIG_PATH=$(dirname "$(find root -name invar.pc)")
PKG_CONFIG_PATH=$(realpath "$PKG_CONFIG_PATH")
LD_LIBRARY_PATH=$(realpath "$(dirname "$(find root -name libinvar.so)")")
export LD_LIBRARY_PATH

# A block that begins with "/* NAME.c - " is a program.
awk '/^```c$/ { code = 1; next } /^```$/ { code = 0; file = ""; next }
	code && !file { if (!match($0, /^\/\* [a-z]+\.c - /)) { print "a block is no program: " $0; exit 1 }
		split($0, word, " "); file = word[2] }
	code { print > file }' "$doc"
for program in apply study find fit; do # apply is run by program.sh
	cc -std=c11 -Wall -Wextra -Werror "$program.c" $(pkg-config --cflags --libs invar) -o "$program"
done
[ "$(ls ./*.c | wc -l)" = 4 ]

mkdir images
"$make" photos images/train 60
"$make" photos images/test 20
./study images "$weights" > said 2> progress
cat said
[ "$(cut -d' ' -f1 said | tr '\n' ' ')" = 'lc.clean lc.augmented structure.R2 ' ]
grep -q 'encode .* of ' progress
awk '{ if ($(NF) <= 0 || $(NF) > 1) exit 1 }' said

# What `find` answers for each clean image, and the nearest old row of its code by plain loops.
while read -r name; do
	./find "images/$name" "$weights" | cut -d' ' -f2
done < bank/test/names.txt > found
"$invar" apply run bank/test/clean.npy -o codes.npy -q
python3 - > wanted << 'PYTHON'
import array
def rows(path, count):
    raw = open(path, "rb").read()
    values = array.array("f", raw[10 + int.from_bytes(raw[8:10], "little"):])
    d = len(values) // count
    return [values[i * d:(i + 1) * d] for i in range(count)]
old, codes = rows("bank/test/clean.npy", 20), rows("codes.npy", 20)
for code in codes:
    print(min(range(20), key=lambda i: sum((a - b) ** 2 for a, b in zip(old[i], code))))
PYTHON
[ "$(wc -l < found)" = 20 ]
diff found wanted

# What `fit` makes of the same rows in memory is what `invar train` writes.
python3 - << 'PYTHON'
import array, os, random
def save(path, shape, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + array.array("f", values).tobytes())
random.seed(0)
clean = [[random.gauss(0, 1) for _ in range(8)] for _ in range(200)]
copies = [x + (j == 5) * (2 + k) for row in clean for k in range(3) for j, x in enumerate(row)]
os.makedirs("made/train")
save("made/train/clean.npy", (200, 8), [x for row in clean for x in row])
save("made/train/aug.npy", (200, 3, 8), copies)
PYTHON
./fit made/train/clean.npy made/train/aug.npy
"$invar" train made -o made_run -q
cmp adapter.safetensors made_run/adapter.safetensors

# What fails is one sentence and an exit code.
if ./fit none.npy made/train/aug.npy > said; then exit 1; fi
grep -q none.npy said
if ./find images/none.png "$weights" 2> said; then exit 1; fi
[ "$(wc -l < said)" = 1 ] && grep -q none.png said
if ./study images none.safetensors 2> said; then exit 1; fi
grep -q none.safetensors said
