# SPDX-License-Identifier: Apache-2.0
# common.sh - what the recipes share; each of them sources it. They have set $out.
invar=${INVAR:-invar}
mkdir -p "$out"

# train_once RUN TRAIN-ARGUMENT… - a run that is done is not done again, one that was
# interrupted goes on.
train_once() {
	local run=$1 how=()
	shift
	[ -e "$run/adapter.safetensors" ] && return
	[ -e "$run/run.json" ] && how=(--resume)
	"$invar" train --trial=false "$@" -o "$run" "${how[@]}"
}
