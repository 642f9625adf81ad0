#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# address_space.sh INVAR MAKE WEIGHTS - little address space: every command works or exits 1 with one
# message that there is too little; none hangs, crashes or leaves a part file.
set -u
invar=$(realpath "$1") make=$(realpath "$2") weights=$(realpath "$3")
# The sanitizers reserve terabytes of addresses.
if ! bash -c 'ulimit -v 4000000 && "$0" --version' "$invar" >/dev/null 2>&1; then
	echo "skipped: the program does not start under ulimit -v 4000000 (sanitizers?)"
	exit 77
fi
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$make" bank bank 200 32 && "$make" photos photos 40 || exit 1
"$invar" train --trial=false bank -o done --hidden 64 --epochs 1 -q || exit 1
failed=0 worked=0 short=0

# Before main, the loader itself reports that a library does not fit.
of_the_loader() { [ "$code" = 127 ] && grep -q 'error while loading shared libraries' err; }

try() {
	local limit=$1
	shift
	(ulimit -v "$limit" && exec timeout -k 1 "$hang" "$invar" "$@") >out 2>err
	code=$?
	if [ $code = 0 ]; then
		worked=$((worked + 1))
		return
	fi
	short=$((short + 1))
	[ $code = 1 ] && [ "$(grep -vc '^warning: ' err)" = 1 ] &&
		grep -q '^invar: .*\(memory\|allocate\|thread\)' err && return
	of_the_loader && return
	echo "ulimit -v $limit: invar $*: exit $code: $(cat err)"
	failed=1
}

for limit in 100000 128000 200000 320000 460000 700000 1500000; do
	rm -rf run new network codes.npy
	try $limit --version
	try $limit train --trial=false bank -o run --hidden 64 --epochs 1 --threads 2 -q
	try $limit eval bank done --threads 2 -q --metrics collision
	try $limit encode folder:photos -o new --encoder pixels --threads 2 -q
	try $limit encode folder:photos -o network --weights "$weights" --threads 2 -q
	try $limit apply done bank/test/clean.npy -o codes.npy --threads 2 -q
done
echo "$worked worked, $short were short of memory"
[ $worked -gt 15 ] && [ $short -gt 5 ] || failed=1
exit $failed
