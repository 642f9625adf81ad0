#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_eval.sh INVAR MAKE - measurements under mpirun: the same text, digit by digit, for any number
# of ranks; a recipe by invar run --ranks.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
. "$(dirname "$0")/mpi_common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Large enough that ranks share the searches and the pairs: measured on train.
"$make" bank bank 3000 64
"$invar" train bank -o run --loss none --init ridge --hidden 128 -q
options=(bank run/adapter.safetensors --split train --metrics structure,collision,knn,graph,retrieval --threads 1 -q --json)
"$invar" eval "${options[@]}" >plain.json
for n in 1 2 4; do
	ranks $n "$invar" eval "${options[@]}" >shared.json
	cmp plain.json shared.json || fail "$n ranks measure something else"
done

# --- A recipe: the launcher is started by the program.
mkdir photos
"$make" photos photos 60
cat >study.yaml <<'TEXT'
data: photos
holdout: 0.3
encoder: pixels
size: 16
augment: rotation
encode: {copies: 2}
adapters: [{preset: instant, hidden: 32}]
metrics: [structure, knn]
TEXT
"$invar" run study.yaml -o plain -q >/dev/null || { cat study.yaml; exit 1; }
"$invar" run study.yaml -o shared -q --ranks 2 >/dev/null
diff plain/table.txt shared/table.txt
code=0
ranks 2 "$invar" run study.yaml -o other -q --ranks 3 2>error || code=$?
[ $code = 2 ] && grep -q -- '--ranks 3, but the launcher has started 2' error || { cat error; fail "another number of ranks: exit $code"; }
