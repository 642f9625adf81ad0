#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# edited_run.sh INVAR MAKE - a run.json that differs from what its checkpoint was made with
# is an error that names the field, and nothing changes; a different version is a warning.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail()
{
	cat error
	echo "$1"
	exit 1
}

"$make" bank bank 200 8
"$invar" train bank -o whole --loss mawa --scaled --hidden 16 --epochs 10 --batch-size 32 -q || exit 1

# edit FIELD VALUE SENTENCE - of an interrupted run.
edit()
{
	rm -rf run
	cp -r whole run && rm run/adapter.safetensors
	sed -i "s/^\( *\"$1\": \)[^,]*/\1$2/" run/run.json
	cmp -s run/run.json whole/run.json && fail "$1 is not in run.json"
	cp -r run before
	"$invar" train --trial=false bank -o run --resume -q 2>error
	[ $? = 1 ] || fail "$1: not refused"
	[ "$(wc -l <error)" = 1 ] && grep -q -e "$3" error || fail "$1: not said: $3"
	diff -r before run || fail "$1: the run has changed"
	rm -r before
}
edit epochs 5 'run/run.json has epochs 5, but the checkpoint was made with 10;'
edit epochs 20 'run/run.json has epochs 20, but the checkpoint was made with 10;'
edit batch-size 40 'has batch-size 40, but the checkpoint was made with 32'
edit lr 0.002 'has lr 0.002, but the checkpoint was made with 0.001'
edit lr-min 0.0001 'has lr-min 0.0001, but the checkpoint was made with 0.0004'
edit seed 7 'has seed 7, but the checkpoint was made with 0'
edit hidden 17 'has hidden 17, but the checkpoint was made with 16'
edit samples 2 'has samples 2, but the checkpoint was made with 3'
edit anchor 2.0 'has anchor 2.0, but the checkpoint was made with 1.0'
edit loss '"simclr"' 'has loss simclr, but the checkpoint was made with mawa'
edit residual false 'has residual false, but the checkpoint was made with true'
edit scaled false 'has scaled false, but the checkpoint was made with true'
edit copies 2 'has copies 2, but the checkpoint was made with 0'
edit weight-decay 0.1 'has weight-decay 0.1, but the checkpoint was made with 0.0001'

# Other rows, and a run.json that was edited to accept them.
"$make" bank wide 200 8 && "$make" npy wide/train/clean.npy 200 8
"$invar" train wide -o other --loss mawa --scaled --hidden 16 --epochs 10 --batch-size 32 -q || exit 1
rm -rf run && cp -r other run && cp whole/checkpoint.safetensors run
"$invar" train --trial=false wide -o run --resume -q 2>error && fail "the checkpoint of other rows is taken"
grep -q 'the checkpoint was made with' error || fail "other rows: not said"

# What does not change the result may be changed.
rm -rf run && cp -r whole run && rm run/adapter.safetensors
sed -i 's/"checkpoint-seconds": [0-9.]*/"checkpoint-seconds": 5.0/' run/run.json
"$invar" train --trial=false bank -o run --resume -q 2>error || fail "checkpoint-seconds"
cmp run/adapter.safetensors whole/adapter.safetensors || exit 1

# A different version warns and resumes.
rm run/adapter.safetensors
sed -i 's/"invar": "[^"]*"/"invar": "0.0.1"/' run/run.json
"$invar" train --trial=false bank -o run --resume 2>error || fail "another version"
version=$("$invar" --version | grep -o '[0-9][0-9a-z.-]*' | head -1)
grep -q "run was written by invar 0.0.1, but this is $version" error || fail "the versions are not said"
cmp run/adapter.safetensors whole/adapter.safetensors
