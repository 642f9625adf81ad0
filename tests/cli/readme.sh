#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme.sh INVAR MAKE_INPUT README WEIGHTS - types every command of the README.
#
# Small versions of its images and weights are made here. Its Python program runs if NumPy
# is installed, else a similar bank is made; ./dev's own commands
# are not run from within a test of ./dev.
set -eu
invar=$(realpath "$1") make_input=$(realpath "$2") readme=$(realpath "$3") weights=$(realpath "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$invar" "$work/bin/invar"
export PATH=$work/bin:$PATH
cd "$work"
"$make_input" photos photos 40
mv photos/even photos/cats
mv photos/cats/0000.png photos/cats/1.jpg # what it is tells its content
cp -r photos new
cp "$weights" resnet50-0676ba61.pth
sed -n '/^```yaml$/,/^```$/p' "$readme" | sed '1d;$d' > study.yaml
if python3 -c 'import numpy' 2>/dev/null; then
	sed -n '/^import os$/,/^```$/p' "$readme" | sed '$d' | python3 -
else
	echo "no NumPy here: the features are made by make_input"
	"$make_input" bank features 300 64
	for split in train:300 test:40; do
		rm -r "features/${split%:*}/aug"
		"$make_input" npy "features/${split%:*}/aug.npy" "${split#*:}" 4 64
	done
fi
typed=0
while IFS= read -r line; do
	echo "\$ $line"
	bash -euc "$line" < /dev/null > out.txt 2> err.txt || { cat out.txt err.txt; exit 1; }
	typed=$((typed + 1))
done < <(sed -n '/^```sh$/,/^```$/p' "$readme" | grep '^invar ')
[ "$typed" -ge 14 ] || { echo "only $typed commands were found"; exit 1; }
for file in photos.png rotation.png bank/bank.json run/adapter.safetensors e/adapter.safetensors codes.npy out.npy \
	study/table.txt study/report.html; do
	[ -s "$file" ] || { echo "$file is missing"; exit 1; }
done
