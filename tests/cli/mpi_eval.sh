#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_eval.sh INVAR MAKE - measurements under mpirun: the same text, digit by digit, for any number
# of ranks; a recipe by invar run --ranks, also one of which a stage fails.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
. "$(dirname "$0")/mpi_common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Large enough that ranks share the searches and the pairs: measured on train.
"$make" bank bank 2500 48
"$invar" train --trial=false bank -o run --loss none --init ridge --hidden 128 -q
options=(bank run/adapter.safetensors --split train --metrics structure,collision,knn,retrieval --threads 1 -q --json)
"$invar" eval "${options[@]}" >plain.json
for n in 1 3; do
	ranks $n "$invar" eval "${options[@]}" >shared.json
	cmp plain.json shared.json || fail "$n ranks measure something else"
done
# Called by its name alone, as an installed program is, it finds its plugin.
PATH=$(dirname "$invar"):$PATH ranks 2 "$(basename "$invar")" eval "${options[@]}" >shared.json
cmp plain.json shared.json || fail "ranks found on PATH measure something else"

# --- A recipe: the launcher is started by the program.
"$make" bank small 80 8
printf 'bank: small\nadapters: [{preset: instant, hidden: 16}, {name: MaWa, preset: paper, epochs: 2, hidden: 16}]\n' >study.yaml
printf 'eval: {metrics: [structure, knn]}\nreport: false\n' >>study.yaml
"$invar" run study.yaml -o plain -q >plain.txt
"$invar" run study.yaml -o shared -q --ranks 2 >shared.txt
diff plain.txt shared.txt

# --- A stage that fails because of its data is left out by all ranks; what is done stays done.
printf 'eval: {metrics: [structure], split: none}\nreport: false\nbank: small\nadapters: [{preset: instant, hidden: 16}]\n' >failing.yaml
for n in 0 2; do
	code=0
	$([ $n = 0 ] || echo ranks $n) "$invar" run failing.yaml -o "failing-$n" --keep-going 2>"error-$n" || code=$?
	[ $code = 1 ] || { cat "error-$n"; fail "$n ranks: a failing stage: exit $code"; }
	grep -E '^(invar|failed)' "error-$n" | sed "s/failing-$n/STUDY/g" >"told-$n"
	[ -s "failing-$n/small/runs/0/instant/adapter.safetensors" ] || fail "$n ranks: the stage before was not kept"
done
diff told-0 told-2
code=0
ranks 2 "$invar" run study.yaml -o other -q --ranks 3 2>error || code=$?
[ $code = 2 ] && grep -q -- '--ranks 3, but the launcher has started 2' error || { cat error; fail "another number of ranks: exit $code"; }
