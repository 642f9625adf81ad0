#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# interrupt_eval.sh INVAR MAKE - an eval that is interrupted exits 130, prints no table, and
# leaves what it measured in the runs' metrics.json; what was there before stays.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail()
{
	cat log
	echo "$1"
	exit 1
}
"$make" bank bank 600 16
"$invar" train --trial=false bank -o first --loss none --init rigid --hidden 32 -q || exit 1
cp -r first second
cp -r first third
"$invar" eval bank third --metrics lc,structure --probe-epochs 2 -q >/dev/null || exit 1
cp third/metrics.json before.json
stop_at 'eval:lc of first=int' "$invar" eval bank first second third --metrics lc,structure --probe-epochs 3 \
	--threads 1 -v -o all.json >out 2>log
[ $code = 130 ] || fail "exit $code, expected 130"
[ ! -s out ] || fail "a table was printed"
[ ! -e all.json ] || fail "half a document was written"
! grep -q 'structure of first is measured' log || fail "it went on measuring"
grep -q '"measurement": "lc"' first/metrics.json || fail "the measured lc is not kept"
! grep -q '"incomplete"\|skipped' first/metrics.json || fail "more is kept than was measured"
[ ! -e second/metrics.json ] || fail "metrics of a run that was not measured are kept"
cmp before.json third/metrics.json || fail "what was there before is gone"
