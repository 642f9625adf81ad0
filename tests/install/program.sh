#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# program.sh BUILD INVAR DOC MAKE - installs to a folder, compiles the first program of
# docs/C-API.md with pkg-config alone, and compares its answer with `invar apply`.
set -eu
build=$(realpath "$1") invar=$(realpath "$2") doc=$(realpath "$3") make=$(realpath "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$work/root" > /dev/null
config=$(dirname "$(find "$work/root" -name invar.pc)")
export PKG_CONFIG_SYSROOT_DIR=$work/root PKG_CONFIG_PATH=$config
sed -n '/^\/\* apply\.c/,/^```$/p' "$doc" | sed '$d' > "$work/apply.c"
[ "$(wc -l < "$work/apply.c")" -gt 10 ]
cd "$work"
cc -std=c11 -Wall -Werror apply.c $(pkg-config --cflags --libs invar) -o apply
"$make" bank bank 64 64
"$invar" train --trial=false bank -o e --hidden 16 --epochs 2 -q
export LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name libinvar.so)")
answer=$(./apply)
# E(0), first feature, by the program.
printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), }" > zero.npy
head -c 256 /dev/zero >> zero.npy
"$invar" apply e zero.npy -o out.npy -q
want=$(tail -c 256 out.npy | od -A n -t f4 -N 4 | tr -d ' ')
awk -v a="$answer" -v b="$want" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= 1e-5) }'
# The program finds its library wherever the two were installed together.
unset LD_LIBRARY_PATH
mv root moved
installed=$(find "$work/moved" -path '*/bin/invar')
[ "$("$installed" --version)" = "$("$invar" --version)" ]
mv moved root
for file in bin/invar share/man/man1/invar.1 share/bash-completion/completions/invar include/invar.h share/invar/demo.safetensors; do
	[ -n "$(find "$work/root" -path "*/$file*")" ] || { echo "$file is not installed"; exit 1; }
done
