#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# same_on_batch.sh OUT DATASET OPERATION ENCODE-OPTION… - does it matter that images share a draw?
#
#   recipes/same_on_batch.sh out folder:stl10 rotation --weights squeezenet1_1.safetensors --size 96
#
# Adapters trained on copies with a draw of their own for each image, and with one draw for 256
# consecutive images (same_on_batch=1), both measured on copies with draws of their own; the table is
# written to OUT/table.md and printed. What is already in OUT is not done again. COPIES
# (train=6,test=4), SEEDS (3), TRAIN (options of train; --preset paper --epochs 30) and INVAR (the
# program, if it is not on PATH) come from the environment.
set -eu
out=$1 dataset=$2 operation=$3
shift 3
here=$(dirname "$0")
read -ra train <<<"${TRAIN:---preset paper --epochs 30}"
. "$here/common.sh"

shared=$operation:same_on_batch=1
[ "${operation/:/}" = "$operation" ] || shared=$operation,same_on_batch=1
runs=()
for name in per-image same-on-batch; do
	spec=$operation
	[ $name = per-image ] || spec=$shared
	"$invar" encode "$dataset" -o "$out/bank-$name" --augment "$spec" \
		--copies "${COPIES:-train=6,test=4}" "$@"
	for ((seed = 0; seed < ${SEEDS:-3}; seed++)); do
		runs+=("$out/$name-$seed")
		train_once "$out/$name-$seed" "$out/bank-$name" --seed "$seed" "${train[@]}"
	done
done
results=$out/results.json
[ -e "$results" ] ||
	"$invar" eval "$out/bank-per-image" "${runs[@]}" --metrics lc,kept,structure -o "$results"
"$here/summary" "$results:lc.clean,lc.augmented=LC" "$results:kept.clean,kept.augmented=LC-kept" \
	"$results:structure.R2=R²" "$results:structure.CVRMSD=CVRMSD" >"$out/table.md"
cat "$out/table.md"
