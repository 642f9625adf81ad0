#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_train.sh INVAR MAKE - training under mpirun: adapters are the same bytes for any number of
# ranks, of closed forms and of every loss; a rank that is killed ends the run with a message, and
# --resume, by other ranks or none, ends in the adapter of a run that was never killed; SIGTERM saves
# and ends all ranks with 130.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
. "$(dirname "$0")/mpi_common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$make" bank bank 4000 24

# --- Closed forms: enough rows that ranks share them (feature_ridge.c), chosen or given lambda.
for form in '--init features --hidden 512' '--init features --hidden 512 --ridge 0.1 --anchor 2' '--init ridge' '--init ridge --ridge 0.1' '--init ridge --unit' '--init rigid' '--init features --hidden 512 --unit'; do
	rm -rf plain
	"$invar" train --trial=false bank -o plain --loss none $form --threads 1 -q
	rm -rf shared
	ranks 3 "$invar" train --trial=false bank -o shared --loss none $form --threads 1 -q
	cmp plain/adapter.safetensors shared/adapter.safetensors || fail "$form: 3 ranks make another adapter"
done

# --- Steps: after 48 of them, the same bytes for every loss; 3 ranks have shares that differ in size.
lines_of() { cat "$1/log.jsonl" 2>/dev/null | wc -l; }
log_of() { sed 's/, "seconds".*//' "$1/log.jsonl"; }
for loss in 'mawa --validation 0.1 --keep best' 'waco --decoder --width 16' 'mawa --no-identity' 'mawa --scaled' 'mawa --unit' 'keep --validation 0.1' simclr hsic waco; do
	options=(--loss $loss --hidden 72 --epochs 3 --batch-size 250 --threads 1 -q)
	[ "${loss%% *}" != waco ] || options+=(--projections 40)
	rm -rf plain
	"$invar" train --trial=false bank -o plain "${options[@]}"
	for n in 3 $([ "$loss" != waco ] || echo 1 2 4); do
		rm -rf shared
		ranks $n "$invar" train --trial=false bank -o shared "${options[@]}"
		cmp plain/adapter.safetensors shared/adapter.safetensors || fail "$loss: $n ranks make another adapter"
		[ "$(log_of plain)" = "$(log_of shared)" ] || fail "$loss: $n ranks log other losses"
	done
done

# --- With its trial, and on two banks.
"$invar" train bank -o tried --hidden 64 --epochs 1 --threads 1 -q --even-if-worse
ranks 2 "$invar" train bank -o tried-by-2 --hidden 64 --epochs 1 --threads 1 -q --even-if-worse
cmp tried/adapter.safetensors tried-by-2/adapter.safetensors || fail "2 ranks make another trial"
two=(--loss waco --projections 40 --hidden 64 --epochs 1 --threads 1 -q)
"$invar" train --trial=false bank bank -o both "${two[@]}"
ranks 2 "$invar" train --trial=false bank bank -o both-by-2 "${two[@]}"
cmp both/adapter.safetensors both-by-2/adapter.safetensors || fail "2 ranks make another adapter from two banks"

# --- A rank is killed in mid-training, then another; the run resumes and ends as if nothing was.
options=(--hidden 128 --epochs 40 --batch-size 1000 --threads 1 --checkpoint-seconds 0 -q)
"$invar" train --trial=false bank -o whole "${options[@]}"
resume=
for rank in 2 1 0; do # of 3, 4 and 3 ranks
	limited ranks $((rank == 1 ? 4 : 3)) "${only[@]}" $rank "train:forward $((50 - 15 * rank))=kill" \
		"$invar" train --trial=false bank -o run "${options[@]}" $resume 2>error
	[ $code != 0 ] || fail "rank $rank was killed, but the run ended well"
	[ -s error ] || fail "rank $rank was killed without a message"
	[ "$(lines_of run)" -lt 40 ] && [ -s run/checkpoint.safetensors ] || fail "rank $rank was not killed in between"
	resume=--resume
done
limited ranks 2 "$invar" train --trial=false bank -o run "${options[@]}" --resume 2>error
[ $code = 0 ] || { cat error; fail "the run cannot be resumed"; }
cmp run/adapter.safetensors whole/adapter.safetensors || fail "a run that was killed ends in another adapter"
[ -z "$(find run -name '*.part')" ] || fail "part files were left behind"

# --- SIGTERM to all ranks, as a scheduler sends it.
INVAR_TEST_STOP='train:forward 12=term' limited ranks 2 "$invar" train --trial=false bank -o stopped "${options[@]}" \
	--checkpoint-seconds 100 2>error
[ $code = 130 ] || { cat error; fail "SIGTERM: exit $code instead of 130"; }
grep -q 'interrupted; .*--resume' error || { cat error; fail "SIGTERM without a message"; }
ranks 3 "$invar" train --trial=false bank -o stopped --resume -q || fail "cannot be resumed with another number of ranks"
grep -q '"epoch": 39' stopped/log.jsonl
