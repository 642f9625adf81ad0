#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_train.sh INVAR MAKE - training under mpirun: closed forms are the same bytes for any number
# of ranks, trained weights the same to float32; a rank that is killed ends the run with a message,
# and --resume ends in the adapter of a run that was never killed; SIGTERM saves and ends all ranks
# with 130.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
. "$(dirname "$0")/mpi_common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$make" bank bank 4000 24

# --- Closed forms: enough rows that ranks share them (feature_ranks.h), chosen or given lambda.
for form in '--init features --hidden 512' '--init features --hidden 512 --ridge 0.1 --anchor 2' '--init ridge'; do
	rm -rf plain
	"$invar" train bank -o plain --loss none $form --threads 1 -q
	for n in 2 3; do
		rm -rf shared
		ranks $n "$invar" train bank -o shared --loss none $form --threads 1 -q
		cmp plain/adapter.safetensors shared/adapter.safetensors || fail "$form: $n ranks make another adapter"
	done
done

# --- Steps: codes after 48 steps, to 1e-5. AdamW divides a gradient by its own size, so that the
# last bits of a small one count: HSIC is compared to 5e-4. WaCo sorts as well: where two
# projections are nearly equal, the last bit decides; it is compared by its loss.
"$make" npy x.npy 200 24
lines_of() { cat "$1/log.jsonl" 2>/dev/null | wc -l; }
loss_of() { tail -n 1 "$1/log.jsonl" | sed 's/.*"loss": \([-0-9.e]*\),.*/\1/'; }
for loss in mawa 'mawa --no-identity' 'mawa --preset robust' simclr hsic anco waco; do
	options=(--loss $loss --hidden 64 --epochs 3 --batch-size 250 --threads 1 -q)
	[ "$loss" != waco ] || options+=(--projections 40)
	rm -rf plain
	"$invar" train bank -o plain "${options[@]}"
	"$invar" apply plain x.npy -o plain.npy -q
	for n in 3; do # shares that differ in size
		rm -rf shared
		ranks $n "$invar" train bank -o shared "${options[@]}"
		"$invar" apply shared x.npy -o shared.npy -q
		awk -v a="$(loss_of plain)" -v b="$(loss_of shared)" \
			'BEGIN { d = (a - b) / a; exit !(d < 2e-4 && d > -2e-4) }' ||
			fail "$loss: $n ranks have the loss $(loss_of shared) instead of $(loss_of plain)"
		near=1e-5
		[ "$loss" != hsic ] || near=5e-4
		[ "$loss" = waco ] || "$make" compare plain.npy shared.npy $near || fail "$loss: $n ranks"
	done
done
ranks 2 "$invar" train bank -o alone --loss waco --decoder --width 16 --hidden 64 --epochs 1 --projections 20 2>log
grep -q 'rank 0 trains alone: it has a decoder' log || { cat log; fail "a decoder is not split"; }

# --- A rank is killed in mid-training, then another; the run resumes and ends as if nothing was.
options=(--hidden 128 --epochs 40 --batch-size 1000 --threads 1 --checkpoint-seconds 0 -q)
ranks 3 "$invar" train bank -o whole "${options[@]}"
ranks 3 "$invar" train bank -o run "${options[@]}" 2>error &
for rank in 2 0 1; do
	run=$!
	before=$(lines_of run)
	until [ "$(lines_of run)" -gt $((before + 3)) ]; do
		sleep 0.02
		kill -0 $run 2>/dev/null || { cat error; fail "training ended before rank $rank was killed"; }
	done
	began=$(date +%s)
	kill -9 "$(process_of $rank '-o run')"
	code=0
	wait $run || code=$?
	[ $code != 0 ] || fail "rank $rank was killed, but the run ended well"
	[ $(($(date +%s) - began)) -le 30 ] || fail "the end came after 30 seconds"
	[ -s error ] || fail "rank $rank was killed without a message"
	ranks 3 "$invar" train bank -o run "${options[@]}" --resume 2>error &
done
wait $! || { cat error; fail "the run cannot be resumed"; }
cmp run/adapter.safetensors whole/adapter.safetensors || fail "a run that was killed ends in another adapter"
[ -z "$(find run -name '*.part')" ] || fail "part files were left behind"

# --- SIGTERM to all ranks.
ranks 2 "$invar" train bank -o stopped "${options[@]}" --checkpoint-seconds 100 2>error &
run=$!
until [ "$(lines_of stopped)" -gt 2 ]; do sleep 0.02; done
for rank in 1 0; do kill -TERM "$(process_of $rank '-o stopped')"; done
code=0
wait $run || code=$?
[ $code = 130 ] || { cat error; fail "SIGTERM: exit $code instead of 130"; }
grep -q 'interrupted; .*--resume' error || { cat error; fail "SIGTERM without a message"; }
ranks 3 "$invar" train bank -o stopped --resume -q || fail "cannot be resumed with another number of ranks"
grep -q '"epoch": 39' stopped/log.jsonl
