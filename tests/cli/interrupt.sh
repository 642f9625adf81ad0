#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# interrupt.sh INVAR MAKE - SIGINT and SIGTERM exit 130 and leave a run that can be
# resumed and ends in the same bytes as one that was never interrupted.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
options=(--threads 1 --hidden 256 --epochs 20 --batch-size 64 --checkpoint-seconds 0 -q)
"$make" bank bank 2000 32
"$invar" train --trial=false bank -o whole "${options[@]}" || exit 1
for signal in int term; do
	stop_at "train:epoch 7=$signal" "$invar" train --trial=false bank -o run "${options[@]}" 2>message
	cat message
	[ $code = 130 ] || { echo "$signal: exit $code, expected 130"; exit 1; }
	grep -q -- "^invar: interrupted; '.*--resume'" message || { echo "$signal: no word about --resume"; exit 1; }
	[ "$(wc -l <run/log.jsonl)" = 7 ] || { echo "$signal: not stopped after 7 epochs"; exit 1; }
	"$invar" train --trial=false bank -o run --resume --threads 1 -q || exit 1
	cmp run/adapter.safetensors whole/adapter.safetensors || exit 1
	[ "$(wc -l <run/log.jsonl)" = 20 ] || { echo "the log lost or gained epochs"; exit 1; }
	rm -r run
done
