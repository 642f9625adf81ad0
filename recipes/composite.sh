#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# composite.sh OUT DATASET A B ENCODE-OPTION… - is invariance to A and to B invariance to both at once?
#
#   recipes/composite.sh out folder:stl10 rotation noise:std=58 --weights squeezenet1_1.safetensors --size 96
#
# Adapters trained on copies by A, by B, by one of the two (A|B) and by one after the other (A+B),
# each measured on copies of all four kinds; the table is written to OUT/table.md and printed. What
# is already in OUT is not done again. COPIES (train=6,test=4), SEEDS (3), TRAIN (options of train;
# --preset paper --epochs 30) and INVAR (the program, if it is not on PATH) come from the environment.
set -eu
out=$1 dataset=$2 a=$3 b=$4
shift 4
here=$(dirname "$0")
read -ra train <<<"${TRAIN:---preset paper --epochs 30}"
. "$here/common.sh"

names=(A B A-or-B A-then-B)
specs=("$a" "$b" "$a|$b" "$a+$b")
runs=()
for i in 0 1 2 3; do
	"$invar" encode "$dataset" -o "$out/bank-${names[i]}" --augment "${specs[i]}" \
		--copies "${COPIES:-train=6,test=4}" "$@"
	for ((seed = 0; seed < ${SEEDS:-3}; seed++)); do
		run=$out/${names[i]}-$seed
		runs+=("$run")
		train_once "$run" "$out/bank-${names[i]}" --seed "$seed" "${train[@]}"
	done
done
columns=()
for i in 0 1 2 3; do
	results=$out/${names[i]}.json
	[ -e "$results" ] ||
		"$invar" eval "$out/bank-${names[i]}" "${runs[@]}" --metrics lc,kept,structure -o "$results"
	columns+=("$results:lc.augmented,kept.augmented=${specs[i]//|/\\|}: LC \\| LC-kept")
done
"$here/summary" "$out/A.json:lc.clean,kept.clean=clean: LC \\| LC-kept" "${columns[@]}" \
	"$out/A.json:structure.R2=R²" >"$out/table.md"
cat "$out/table.md"
