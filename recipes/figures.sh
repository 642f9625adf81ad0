#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# figures.sh BANK RUN OUT - the figures of docs/img from a bank and a trained run:
# accuracy over the parameter of the augmentation, distances before and after, t-SNE.
set -euo pipefail
[ $# = 3 ] || { echo "usage: figures.sh BANK RUN OUT" >&2; exit 2; }
bank=$1 run=$2 out=$3
invar=${INVAR:-invar}
results=$(mktemp)
trap 'rm -f "$results"' EXIT

"$invar" eval "$bank" "$run" --metrics lc,kept,knn,structure,curves,tsne --k 1 --index old --json -q > "$results"
mkdir -p "$out"
for figure in structure.distances curve.angle.kept tsne; do
	"$invar" plot "$results" --figure "$figure" -o "$out/$figure.svg"
done
