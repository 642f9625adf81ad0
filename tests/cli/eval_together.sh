#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# eval_together.sh INVAR MAKE [TRIES] - several evals of one run at once: every result is
# in its metrics.json, also while the run is being trained on.
set -u
invar=$(realpath "$1") make=$(realpath "$2") tries=${3:-3}
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$make" bank bank 64 8
"$invar" train bank -o run --hidden 16 --epochs 2 -q || exit 1
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
		wait "$pid" || { cat error.*; echo "try $1: an eval failed"; exit 1; }
	done
	for name in "${names[@]}"; do
		grep -q "^ *\"measurement\": \"$name\",$" run/metrics.json || { echo "try $1: $name is lost"; exit 1; }
	done
	[ ! -e run/metrics.json.invar.part ] || { echo "try $1: metrics.json.invar.part is left"; exit 1; }
}
for ((i = 0; i < tries; i++)); do together $i; done

# A training locks its run all the time; results must not be lost.
"$invar" train bank -o run --hidden 64 --epochs 100000 --force -q 2>/dev/null &
child=$!
until [ -e run.part/run.json ] || ! kill -0 $child 2>/dev/null; do sleep 0.02; done
together training
kill -INT $child
wait $child
[ $? = 130 ] || { echo "the training ended on its own"; exit 1; }

# Killed while writing: the next one replaces its part file.
echo '{"format": ' >run/metrics.json.invar.part
together killed

# Another program holds the lock for too long: an error instead of an endless wait.
rm run/metrics.json
touch run/metrics.json.invar.part
exec 9<run/metrics.json.invar.part
flock 9
timeout 60 "$invar" eval bank run --metrics structure "${options[@]}" >/dev/null 2>error 9<&- &
child=$!
sleep 0.5
kill -0 $child 2>/dev/null || { cat error; echo "it did not wait"; exit 1; }
exec 9<&-
wait $child || { cat error; echo "it did not go on"; exit 1; }
grep -q '"structure"' run/metrics.json || { echo "structure is lost"; exit 1; }
exit 0
