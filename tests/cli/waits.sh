# SPDX-License-Identifier: Apache-2.0
# waits.sh - read by tests that wait for the program or stop it. What decides is never the clock: the
# program stops itself at a named point (src/base/test_stop.h), and limits only end a test that hangs.
hang=${INVAR_TEST_LIMIT:-300} # seconds; 8 busy loops on two cores stay far below

# An orderly end may take any time; without this, the program waits 1.5 s for it.
export INVAR_TEST_PATIENCE=$((hang * 1000))

give_up() {
	echo "$*"
	exit 1
}

# stop_at POINT=ACTION COMMAND…: the exit code is left in $code.
stop_at() {
	local stop=$1
	shift
	code=0
	INVAR_TEST_STOP=$stop timeout -k 10 "$hang" "$@" || code=$?
	[ $code != 124 ] || give_up "still running after $hang seconds: $*"
}

# wait_for PROCESS COMMAND…: until the command succeeds, while the process runs.
wait_for() {
	local process=$1 limit=$((SECONDS + hang))
	shift
	until "$@"; do
		kill -0 "$process" 2>/dev/null || "$@" || give_up "process $process has ended before: $*"
		[ $SECONDS -lt $limit ] || give_up "$hang seconds have passed before: $*"
		sleep 0.05
	done
}

# finish PROCESS: waits for the end of a child; the exit code is left in $code.
finish() {
	local limit=$((SECONDS + hang))
	while kill -0 "$1" 2>/dev/null; do
		[ $SECONDS -lt $limit ] || {
			kill -9 "$1"
			give_up "process $1 still runs after $hang seconds"
		}
		sleep 0.05
	done
	code=0
	wait "$1" 2>/dev/null || code=$?
}

# points COMMAND…: the number of points that it passes.
points() {
	INVAR_TEST_STOP='none=list' "$@" 2>&1 >/dev/null | grep -c '^[a-z]*:\|^svd$\|^eigen$'
}
