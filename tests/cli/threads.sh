#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# threads.sh INVAR MAKE - one thread and two: measurements and codes are equal bit
# for bit, adapters after 50 steps agree to 1e-5 in what they compute.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$make" bank bank 1000 32
for n in 1 2; do
	"$invar" train --trial=false bank -o run$n --hidden 128 --batch-size 200 --epochs 10 --threads $n -q
	"$invar" eval bank run1 --probe-epochs 3 --threads $n --json -q >structure$n.json
	rm -rf bank/cache
	"$invar" eval bank run1 --metrics graph --split train --threads $n --json -q >graph$n.json
	"$invar" apply run1 bank/test/clean.npy -o codes$n.npy --threads $n -q
done
cmp structure1.json structure2.json
cmp graph1.json graph2.json
cmp codes1.npy codes2.npy
"$invar" apply run2 bank/test/clean.npy -o other.npy -q
"$make" compare codes1.npy other.npy 1e-5
if cmp -s run1/adapter.safetensors run2/adapter.safetensors; then
	echo "the adapters are bit-equal"
else
	echo "the adapters are not bit-equal"
fi
