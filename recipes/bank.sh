#!/usr/bin/env bash
# bank.sh BANK OUT [EPOCHS] - from a bank of features to one table.
#
# The closed forms that training has to beat (rigid, ridge), MaWa and residual MaWa
# with three seeds each, then everything that can be measured, side by side. What is
# done already in OUT is not done again. INVAR names the program, if it is not on PATH.
set -eu
bank=$1 out=$2 epochs=${3:-30}
invar=${INVAR:-invar}
mkdir -p "$out"

train() { # NAME OPTIONS…
	local name=$1
	shift
	[ -e "$out/$name/adapter.safetensors" ] && return
	local how=()
	[ -e "$out/$name/run.json" ] && how=(--resume)
	"$invar" train "$bank" -o "$out/$name" "$@" "${how[@]}"
}

train rigid --loss none --init rigid
train ridge --loss none --init ridge
for seed in 0 1 2; do
	train "mawa-$seed" --epochs "$epochs" --seed "$seed"
	train "residual-$seed" --residual --epochs "$epochs" --seed "$seed"
done
"$invar" eval "$bank" "$out"/{rigid,ridge,mawa-{0,1,2},residual-{0,1,2}} -o "$out/results.json"
"$invar" eval "$bank" "$out"/{rigid,ridge,mawa-{0,1,2},residual-{0,1,2}} --only knn --k 1 --index clean \
	-o "$out/old-index.json"
