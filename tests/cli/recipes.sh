#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# recipes.sh INVAR MAKE SOURCE - the recipes that draw and compare, at a tiny size.
set -euo pipefail
invar=$(realpath "$1") make=$(realpath "$2") source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export INVAR=$invar

die() {
	echo "recipes: $*" >&2
	exit 1
}

# Two classes of small pictures instead of digits.
"$make" photos photos 160
mkdir -p data/train data/test
for class in even odd; do
	mkdir "data/train/$class" "data/test/$class"
	n=0
	for file in photos/"$class"/*.png; do
		mv "$file" "data/$([ $n -lt 24 ] && echo train || echo test)/$class/"
		n=$((n + 1))
	done
done
LIMIT=60 HIDDEN=16 COPIES=2 POINTS=32 "$source/recipes/mnist_figure.sh" folder:data figure 1 >out 2>&1 || { cat out; die "mnist_figure.sh failed"; }
grep -q '>id, rotation<' figure/mnist.svg || die "the figure has no panel of the second training"
[ "$(grep -c '^| 1-NN' figure/neighbours.md)" = 1 ] || die "no accuracies"
grep -q '"samples": 0' 'figure/id/run.json' || die "the first training has seen copies"
grep -q '"samples": 3' 'figure/id, rotation/run.json' || die "the second training has seen no copies"
before=$(stat -c %Y.%s 'figure/id/adapter.safetensors')
LIMIT=60 HIDDEN=16 COPIES=2 POINTS=32 "$source/recipes/mnist_figure.sh" folder:data figure 1 >out 2>&1 || die "a second time fails"
[ "$before" = "$(stat -c %Y.%s 'figure/id/adapter.safetensors')" ] || die "an adapter was trained again"

"$invar" encode folder:data -o bank-a --encoder pixels --size 4 --limit 60 --augment rotation --copies 2 -q
EPOCHS=1 HIDDEN=96 "$source/recipes/graphs.sh" graphs bank-a >out 2>&1 || { cat out; die "graphs.sh failed"; }
for column in F keep instant MaWa WaCo; do
	grep -q "| $column |" graphs/a/table.md || die "no column $column"
done
grep -q 'spectral distance' graphs/a/table.md || die "no graphs"
"$invar" encode folder:data -o bank-p --encoder pixels --size 8 --augment rotation --copies train=2,test=1 -q
"$invar" train --trial=false bank-p -o run-p --preset instant --hidden 512 -q
"$source/recipes/readme_picture" bank-p run-p folder:data picture.svg picture.txt || die "readme_picture failed"
grep -qx 'queries 2' picture.txt || die "not one query per class"
[ "$(grep -c '<image' picture.svg)" = "$((8 * $(sed -n 's/^shown //p' picture.txt)))" ] || die "other rows are shown than counted"
! "$source/recipes/mnist_figure.sh" 2>/dev/null || die "no arguments, no error"
! "$source/recipes/graphs.sh" only 2>/dev/null || die "no bank, no error"
