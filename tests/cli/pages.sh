#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pages.sh INVAR MAKE_INPUT SOURCE PAGE - types every command of a page of the documentation.
#
# Runs the blocks marked sh and python of PAGE (README.md, docs/TUTORIAL.md …) from top to
# bottom, each in one shell, in a folder that has what the page speaks of: share/, a folder
# of photos, the weights of an encoder. A block marked yaml becomes study.yaml. Commands of ./dev, which runs this test, and settings
# of PATH are left out. Skipped as a whole if a data set of the page is not installed, or if it needs the Python module and NumPy is
# absent; elsewhere, without NumPy, a bank that a Python block would write is made by make_input.
set -eu
invar=$(realpath "$1") make_input=$(realpath "$2") source=$(realpath "$3") page=$4
weights=$source/tests/golden/encoders/convnets/bottleneck.safetensors
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if grep -q '^invar.*fashion-mnist:' "$source/$page" && ! "$invar" data fashion-mnist: -q >/dev/null 2>&1; then
	echo "dataset-fashion-mnist is not installed"
	exit 77
fi
if grep -q '^from invar.index import' "$source/$page" && ! python3 -c 'import numpy' 2>/dev/null; then
	echo "no python3 with NumPy"
	exit 77
fi
export PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1 INVAR_LIBRARY=${invar%/cli/invar}/libinvar.so.0
mkdir "$work/bin" "$work/here"
# The photos and the encoder are random, so that no trial finds that an adapter helps.
cat >"$work/bin/invar" <<EOF
#!/bin/sh
[ "\$1" != train ] || { shift; set -- train --even-if-worse "\$@"; }
exec "$invar" "\$@"
EOF
chmod +x "$work/bin/invar"
export PATH=$work/bin:$PATH
cd "$work/here"
ln -s "$source/share" share
"$make_input" photos photos 100
mv photos/even photos/cats
mv photos/cats/0000.png photos/cats/1.jpg # its contents tell what it is
cp -r photos new
cp "$weights" resnet50-0676ba61.pth
mkdir images
cp -r photos images/ucmerced
cp "$weights" resnet18.safetensors
cp photos/cats/1.jpg photo.jpg
"$make_input" npy images.npy 4 3 16 16

# mentions TEXT - does a command of the page have it?
mentions() { grep -q "^invar.*$1" "$source/$page"; }

# What a page uses but does not make.
if ! mentions ' -o bank '; then
	"$invar" encode photos -o bank --encoder pixels --size 8 --augment rotation --copies 3 --holdout 0.3 -q
fi
if mentions ' run\( \|$\)' && ! mentions ' -o run'; then
	"$invar" train --trial=false bank -o run --preset instant --hidden 32 -q
fi
! mentions 'tonight.npy' || cp bank/test/clean.npy tonight.npy
! mentions 'encoder.onnx' || "$invar" export run -o encoder.onnx -q

# make_bank BLOCK - what a Python block that saves f"NAME/{split}/clean.npy" and aug.npy makes
make_bank() {
	local bank split
	bank=$(sed -n 's|.*f"\([a-z]*\)/{split}/clean.npy.*|\1|p' "$1")
	"$make_input" bank "$bank" 300 64
	for split in train:300 test:40; do
		rm -r "$bank/${split%:*}/aug"
		"$make_input" npy "$bank/${split%:*}/aug.npy" "${split#*:}" 4 64
	done
}

# block-N.sh, block-N.python and block-N.yaml, in the order of the page
awk -v folder="$work" '
	/^```(sh|python|yaml)$/ { kind = substr($0, 4); file = sprintf("%s/block-%03d.%s", folder, ++n, kind); next }
	/^```/ { kind = ""; next }
	kind == "sh" && (/^\.\/dev/ || /^export PATH=/ || /^$/) { next }
	kind { print > file }' "$source/$page"

typed=0
for block in "$work"/block-*; do
	case $block in
	*.python)
		grep -q 'import torch\|from torch\|import onnxruntime\|import faiss' "$block" && continue # ./dev parity runs these
		if python3 -c 'import numpy' 2>/dev/null; then
			python3 "$block"
		else
			echo "no NumPy here: the features are made by make_input"
			make_bank "$block"
		fi
		;;
	*.yaml) cp "$block" study.yaml ;;
	*)
		sed 's/^/$ /' "$block"
		bash -eu "$block" </dev/null >out.txt 2>err.txt || { cat out.txt err.txt; exit 1; }
		typed=$((typed + $(grep -c '^[a-z]' "$block")))
		;;
	esac
done
[ "$typed" -gt 0 ] || { echo "$page has no commands"; exit 1; }
echo "$page: $typed commands"
