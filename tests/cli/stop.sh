#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stop.sh INVAR MAKE - one SIGTERM or SIGINT ends whatever is running within two
# seconds, with exit 130 and one message: an SVD that cannot be stopped, a long training
# step, a pipe that nobody fills. The sanitizers are given ten seconds.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
limit=2000
bash -c 'ulimit -v 4000000 && "$0" --version' "$invar" >/dev/null 2>&1 || limit=10000
failed=0

milliseconds() { date +%s%3N; }

# stopped SIGNAL SECONDS COMMAND…: the signal comes after so many seconds.
stopped() {
	local signal=$1 after=$2 child began took code
	shift 2
	"$invar" "$@" <&9 >out 2>err &
	child=$!
	sleep "$after"
	began=$(milliseconds)
	kill "-$signal" $child 2>/dev/null || echo "invar $*: ended before the signal: $(cat err)"
	wait $child
	code=$?
	took=$(($(milliseconds) - began))
	[ $code = 130 ] && [ $took -le $limit ] && [ "$(wc -l <err)" = 1 ] &&
		grep -q '^invar: interrupted' err && return
	echo "SIG$signal: invar $*: exit $code after $took ms: $(cat err)"
	failed=1
}

mkfifo pipe
exec 9<>pipe # nobody writes to it, and it does not end
"$make" bank wide 1200 2048 && "$make" bank tall 2400 256 && "$make" bank small 300 32 || exit 1
stopped TERM 1.5 eval wide --metrics collision -q --threads 1
stopped INT 1 train wide -o wide-run --init rigid -q --threads 1
limit=$((limit + 1000)) # it also writes a checkpoint
stopped TERM 1 train tall -o long --hidden 4096 --batch-size 2400 -q --threads 1
"$invar" train small -o run --hidden 32 --epochs 1 -q || exit 1
stopped TERM 0.3 apply run - -o codes.npy -q
exit $failed
