#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# killed.sh INVAR MAKE [KILLS [OPTION...]] - kill -9 at random points, resume each time:
# the adapter is byte-identical to that of a run that was never killed.
set -u
invar=$(realpath "$1") make=$(realpath "$2") kills=${3:-5}
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
options=(--threads 1 --hidden 256 --epochs 20 --batch-size 64 --checkpoint-seconds 0 -q "${@:4}")
"$make" bank bank 2000 32
count=$(points "$invar" train --trial=false bank -o whole "${options[@]}")
[ -e whole/adapter.safetensors ] || { echo "the run itself fails"; exit 1; }
RANDOM=1
for ((i = 0; i < kills; i++)); do
	if [ -e run/run.json ]; then again=(--resume); else again=(--force); fi
	point=$((1 + RANDOM % (count / (kills + 1))))
	stop_at "$point=kill" "$invar" train --trial=false bank -o run "${options[@]}" "${again[@]}" 2>message
	[ $code = 137 ] || { cat message; echo "exit $code instead of a kill at point $point of $count"; exit 1; }
done
if [ -e run/run.json ]; then again=(--resume); else again=(--force); fi
"$invar" train --trial=false bank -o run "${options[@]}" "${again[@]}" || exit 1
for net in whole/adapter.safetensors whole/decoder.safetensors; do
	[ ! -e $net ] || cmp "run/${net#*/}" $net || exit 1
done
ls run | grep '\.part$' && { echo "part files were left behind"; exit 1; }
exit 0
