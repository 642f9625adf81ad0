#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# waiting.sh INVAR - threads that wait sleep, unless the user wants them to spin.
set -eu
invar=$1

# The last spin count that libgomp reports: 0 is asleep.
spins() { # NAME=VALUE…
	env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT "$@" OMP_DISPLAY_ENV=verbose "$invar" --version 2>&1 >/dev/null |
		sed -n "s/.*GOMP_SPINCOUNT = '\([0-9]*\)'.*/\1/p" | tail -n 1
}

expect() { # WANTED NAME=VALUE…
	local wanted=$1 found
	shift
	found=$(spins "$@")
	[ "$found" = "$wanted" ] || { echo "with '$*' threads spin '$found' times, not $wanted"; exit 1; }
}

expect 0
expect 7 GOMP_SPINCOUNT=7
[ "$(spins OMP_WAIT_POLICY=active)" -gt 1000000 ] || { echo "the user's policy was replaced"; exit 1; }
