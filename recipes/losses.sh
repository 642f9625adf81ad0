#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# losses.sh BANK OUT [EPOCHS [SEEDS]] - the paper's losses side by side on one bank.
#
# MaWa and WaCo with and without the identity, WaCo to a quarter of the width, with a
# decoder, SimCLR and HSIC, each with the given number of seeds (3), then two tables
# (codes as wide as the features, and narrower ones) of accuracy and structure, and how
# long each training took. What is already in OUT is not done again. INVAR names
# the program, if it is not on PATH.
set -eu
bank=$1 out=$2 epochs=${3:-30} seeds=${4:-3}
. "$(dirname "$0")/common.sh"
runs=()

train() { # NAME OPTIONS…
	local name=$1 seed
	shift
	for ((seed = 0; seed < seeds; seed++)); do
		runs+=("$out/$name-$seed")
		train_once "$out/$name-$seed" "$bank" --preset paper --epochs "$epochs" --seed "$seed" "$@"
	done
}

# The last axis of the clean features, out of the header of their NumPy file.
width=$(head -c 128 "$bank/train/clean.npy" | tr -cd '[:print:]' | sed -n "s/.*'shape': ([0-9]*, \([0-9]*\)).*/\1/p")

train mawa --loss mawa
train mawa-alone --loss mawa --no-identity
train waco --loss waco
train waco-alone --loss waco --no-identity
train simclr --loss simclr
train hsic --loss hsic
train keep --loss keep
wide=("${runs[@]}") runs=()
train waco-quarter --loss waco --width $((width / 4))
train waco-decoder --loss waco --width $((width / 4)) --decoder

# A classifier of features cannot read narrower codes, so those have no LC-kept.
"$invar" eval "$bank" "${wide[@]}" --metrics lc,nc,kept,structure -o "$out/wide.json"
"$invar" eval "$bank" "${runs[@]}" --metrics lc,nc,structure -o "$out/narrow.json"
for run in "${wide[@]}" "${runs[@]}"; do
	printf '%-24s %6.1f s\n' "${run##*/}" "$(sed -n 's/.*"wall_seconds": \([0-9.]*\).*/\1/p' "$run/run.json")"
done
