#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# full.sh INVAR MAKE - a full disk: exit 1, one message, no partial files.
# Needs the right to mount a small tmpfs; skipped (77) elsewhere.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
work=$(mktemp -d)
mkdir "$work/disk"
if ! mount -t tmpfs -o size=64k none "$work/disk" 2>/dev/null; then
	rm -rf "$work"
	echo "no right to mount a tmpfs: skipped"
	exit 77
fi
trap 'umount "$work/disk"; rm -rf "$work"' EXIT
cd "$work" || exit 1
"$make" bank bank
"$make" npy big.npy 20000 8
"$invar" train --trial=false bank -o run --hidden 16 --epochs 2 -q || exit 1

expect()
{
	"$@" 2>message
	code=$?
	cat message
	[ $code = 1 ] || { echo "exit $code, expected 1: $*"; exit 1; }
	[ "$(wc -l <message)" = 1 ] || { echo "not one sentence: $*"; exit 1; }
}
expect "$invar" apply run big.npy -o disk/out.npy -q
[ -z "$(ls -A disk)" ] || { ls -lA disk; exit 1; }
head -c 63000 /dev/zero >disk/fill
expect "$invar" train --trial=false bank -o disk/run --hidden 1024 --epochs 2 -q
expect "$invar" loss mawa --adapter run --clean bank/train/clean.npy --grad disk/g -q
ls -R disk | grep '\.part$' && exit 1
exit 0
