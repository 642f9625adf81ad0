#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# eval_together.sh INVAR MAKE [TRIES] - several evals of one run at once: every result is
# in its metrics.json, also while the run is being trained on.
set -u
invar=$(realpath "$1") make=$(realpath "$2") tries=${3:-3}
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$make" bank bank 64 8
"$invar" train --trial=false bank -o run --hidden 16 --epochs 2 -q || exit 1
names=(lc nc ec kept knn structure collision)
options=(--probe-epochs 2 --threads 1 -q)

# together TRY - all measurements at once; their results must be there.
together()
{
	local name pids=()
	rm -f run/metrics.json
	for name in "${names[@]}" structure; do
		"$invar" eval bank run --metrics $name "${options[@]}" >/dev/null 2>"error.${#pids[@]}" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		finish "$pid"
		[ $code = 0 ] || { cat error.*; echo "try $1: an eval failed"; exit 1; }
	done
	for name in "${names[@]}"; do
		grep -q "^ *\"measurement\": \"$name\",$" run/metrics.json || { echo "try $1: $name is lost"; exit 1; }
	done
	[ ! -e run/metrics.json.invar.part ] || { echo "try $1: metrics.json.invar.part is left"; exit 1; }
}
for ((i = 0; i < tries; i++)); do together $i; done

# A training locks its run all the time; results must not be lost.
INVAR_TEST_STOP='train:epoch 1=pause:training' "$invar" train --trial=false bank -o run --hidden 64 --epochs 9 --force -q 2>/dev/null &
child=$!
wait_for $child test -e training
together training
kill -INT $child
rm training
finish $child
[ $code = 130 ] || { echo "the training was not interrupted: exit $code"; exit 1; }

# Killed while writing: the next one replaces its part file.
echo '{"format": ' >run/metrics.json.invar.part
together killed

# Another program holds the lock for a while: this one waits, and its result is kept.
rm run/metrics.json
touch run/metrics.json.invar.part
exec 9<run/metrics.json.invar.part
flock 9
INVAR_TEST_STOP='file:locked run/metrics.json=pause:waiting' "$invar" eval bank run --metrics structure \
	"${options[@]}" >/dev/null 2>error 9<&- &
child=$!
wait_for $child test -e waiting
exec 9<&-
rm waiting
finish $child
[ $code = 0 ] || { cat error; echo "it did not go on: exit $code"; exit 1; }
grep -q '"structure"' run/metrics.json || { echo "structure is lost"; exit 1; }
exit 0
