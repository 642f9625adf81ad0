#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# early_signal.sh INVAR LIBRARY - a signal that comes before the command has begun: exit 130 and a message,
# also while the program begins again.
set -u
invar=$(realpath "$1") library=$(realpath "$2")
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# ended NAME COMMAND…
ended() {
	local name=$1 code=0
	shift
	timeout -k 10 "$hang" "$@" >out 2>err || code=$?
	[ $code = 130 ] && [ ! -s out ] && [ "$(cat err)" = 'invar: interrupted before the command began' ] && return
	echo "$name: exit $code: $(cat out err)"
	failed=1
}

# The signal is there before the program is: blocked, sent, and still pending after exec.
pending='import os, signal, sys
number = getattr(signal, sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, {number})
os.kill(os.getpid(), number)
os.execv(sys.argv[2], sys.argv[2:])'
for signal in SIGTERM SIGINT SIGHUP; do
	ended "pending $signal" python3 -c "$pending" $signal "$invar" --version
	ended "pending $signal, no exec" env OMP_WAIT_POLICY=passive python3 -c "$pending" $signal "$invar" models list
done

# nohup: who ignores SIGHUP goes on.
[ "$(trap '' HUP; python3 -c "$pending" SIGHUP "$invar" --version 2>&1)" = "$("$invar" --version)" ] ||
	{ echo "SIGHUP ends a program that was started with nohup"; failed=1; }

# It comes between the first and the second start of the program.
ended "while it begins again" env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT LD_PRELOAD="$library" \
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" "$invar" --version
exit $failed
