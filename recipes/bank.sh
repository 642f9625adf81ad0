#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bank.sh BANK OUT [EPOCHS] - from a bank of features to one table.
#
# The closed forms as baselines of training (rigid, ridge); keep (the default of train,
# with its own epochs), the paper's MaWa and residual MaWa, with three seeds each; then
# everything that can be measured, side by side. What is already in OUT is not done
# again. INVAR names the program, if it is not on PATH.
set -eu
bank=$1 out=$2 epochs=${3:-30}
. "$(dirname "$0")/common.sh"

train_once "$out/rigid" "$bank" --loss none --init rigid
train_once "$out/ridge" "$bank" --loss none --init ridge
for seed in 0 1 2; do
	train_once "$out/keep-$seed" "$bank" --preset keep --seed "$seed"
	train_once "$out/mawa-$seed" "$bank" --preset paper --epochs "$epochs" --seed "$seed"
	train_once "$out/residual-$seed" "$bank" --preset paper --residual --epochs "$epochs" --seed "$seed"
done
"$invar" eval "$bank" "$out"/{rigid,ridge,keep-{0,1,2},mawa-{0,1,2},residual-{0,1,2}} -o "$out/results.json"
"$invar" eval "$bank" "$out"/{rigid,ridge,keep-{0,1,2},mawa-{0,1,2},residual-{0,1,2}} --metrics knn --k 1 --index clean \
	-o "$out/old-index.json"
