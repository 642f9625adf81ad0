#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# copies.sh OUT DATASET ENCODE-OPTION… - how many copies are enough?
#
#   recipes/copies.sh out folder:photos --weights squeezenet1_1.safetensors --size 96 --augment rotation
#
# MaWa on the first 1, 3, 10 and 30 copies of one bank, and on fresh augmentations in
# every epoch (train --data), with SEEDS seeds (3) each; the table is written to OUT/table.md and
# printed. What is already in OUT is not done again. SEEDS, TRAIN (options of train; --preset paper
# --epochs 30) and INVAR (the program, if it is not on PATH) come from the environment.
set -eu
out=$1 dataset=$2
shift 2
seeds=${SEEDS:-3}
here=$(dirname "$0")
read -ra how <<<"${TRAIN:---preset paper --epochs 30}"
. "$here/common.sh"
runs=()

train() { # NAME OPTIONS…
	local name=$1 seed
	shift
	for ((seed = 0; seed < seeds; seed++)); do
		runs+=("$out/$name-$seed")
		train_once "$out/$name-$seed" --seed "$seed" "${how[@]}" "$@"
	done
}

"$invar" encode "$dataset" -o "$out/bank" --copies train=30,test=5 "$@"
for copies in 1 3 10 30; do
	train "copies-$copies" "$out/bank" --copies "$copies"
done
train fresh --data "$dataset" "$@"
results=$out/results.json
[ -e "$results" ] ||
	"$invar" eval "$out/bank" "${runs[@]}" --metrics lc,kept,structure -o "$results"
"$here/summary" "$results:lc.clean,lc.augmented=LC" "$results:kept.clean,kept.augmented=LC-kept" \
	"$results:structure.R2=R²" "$results:structure.CVRMSD=CVRMSD" >"$out/table.md"
cat "$out/table.md"
