#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# interrupt_eval.sh INVAR MAKE - an eval that is interrupted exits 130, prints no table, and
# leaves what it measured in the runs' metrics.json; what was there before stays.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
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
"$invar" train bank -o first --loss none --init rigid --hidden 32 -q || exit 1
runs=(first)
for i in $(seq 20); do # a second or so each: the signal comes long before the last
	cp -r first run$i
	runs+=("run$i")
done
"$invar" eval bank run20 --metrics lc,structure --probe-epochs 2 -q >/dev/null || exit 1
cp run20/metrics.json before.json
"$invar" eval bank "${runs[@]}" --metrics lc,structure --probe-epochs 8000 --threads 1 -v \
	-o all.json >out 2>log &
child=$!
until grep -q 'lc of first is measured' log || ! kill -0 $child 2>/dev/null; do sleep 0.02; done
kill -INT $child
wait $child
code=$?
[ $code = 130 ] || fail "exit $code, expected 130"
[ ! -s out ] || fail "a table was printed"
[ ! -e all.json ] || fail "half a document was written"
grep -q '"measurement": "lc"' first/metrics.json || fail "the measured lc is not kept"
! grep -q '"incomplete"\|skipped' first/metrics.json || fail "more is kept than was measured"
[ ! -e run19/metrics.json ] || fail "metrics of a run that was not measured are kept"
cmp before.json run20/metrics.json || fail "what was there before is gone"
