#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh INVAR MAKE - the demo on a few images: what it prints, what it leaves behind, that
# the commands it prints work, and that it resumes after an interruption.
set -eu
invar=$(realpath "$1")
export OMP_WAIT_POLICY=passive LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "$*"; exit 1; }

if ! [ -e /usr/share/datasets/fashion-mnist ]; then
	"$invar" demo -q 2>error && fail "a demo without images"
	grep -q 'apt install dataset-fashion-mnist.*--data' error || fail "$(cat error)"
	echo "skipped: the package dataset-fashion-mnist is not installed"
	exit 77
fi
few=(--limit 100)
"$invar" demo "${few[@]}" >said 2>told
cat said told
for row in 'F, no adapter' 'F, classifier EC' ridge robust 'MaWa, paper' 'MaWa, residual' WaCo; do
	[ "$(grep -c "^$row  *[0-9.]* | [0-9.]* " said)" = 1 ] || fail "no row '$row'"
done
grep -q '20 epochs, 512 hidden units' told
for file in bank/bank.json robust/adapter.safetensors waco/run.json results.json; do
	[ -s "invar-demo/$file" ] || fail "no $file"
done
[ "$(head -c 4 invar-demo/neighbours.png | tail -c 3)" = PNG ]

# The commands that it suggests.
next=$(sed -n 's/^  invar eval invar-demo/eval invar-demo/p' said)
[ -n "$next" ]
"$invar" $next --metrics structure -q >structure
grep -q 'robust.*mawa' structure
next=$(sed -n 's/^  invar train invar-demo/train invar-demo/p' said)
[ -n "$next" ]
"$invar" ${next% --epochs*} --epochs 1 --hidden 16 -q

# Again: nothing is done twice, and only what was deleted is made again.
"$invar" demo "${few[@]}" >again 2>told
diff said again
[ "$(grep -c ': done before$' told)" = 8 ] || fail "$(cat told)"
! grep -q 'Training\|Encoding\|Measuring' told || fail "$(cat told)"
rm invar-demo/waco/adapter.safetensors
"$invar" demo "${few[@]}" >again 2>told
diff said again
[ "$(grep -c ': done before$' told)" = 7 ] || fail "$(cat told)"
grep -q 'Training WaCo' told

# A folder is for one demo at a time: here another process holds it.
if command -v flock >/dev/null; then
	! flock invar-demo "$invar" demo "${few[@]}" -q 2>error || fail "two demos in one folder"
	grep -qx 'invar: invar-demo: another process runs its stages; wait until it has ended, or choose another folder' \
		error || fail "$(cat error)"
fi

# As JSON, and with idx files that are named.
"$invar" demo "${few[@]}" -o other --data /usr/share/datasets/fashion-mnist --json -q >json
cmp other/bank/test/aug/000.npy invar-demo/bank/test/aug/000.npy
cmp other/mawa/adapter.safetensors invar-demo/mawa/adapter.safetensors
grep -q '"held_out"' json

# Another option in the same folder redoes what depends on it: here, everything.
"$invar" demo --limit 50 -o other -q >/dev/null
"$invar" demo --limit 50 -o fifty -q >/dev/null
cmp other/bank/train/aug/004.npy fifty/bank/train/aug/004.npy
cmp other/mawa/adapter.safetensors fifty/mawa/adapter.safetensors

# Interrupted and started again, it ends in the same bytes.
"$invar" demo "${few[@]}" -o stopped >/dev/null 2>message &
child=$!
until [ -s stopped/mawa/log.jsonl ] || ! kill -0 $child 2>/dev/null; do sleep 0.01; done
kill -INT $child
code=0
wait $child || code=$?
[ $code = 130 ] || fail "exit $code, expected 130"
grep -q 'the same command resumes' message || fail "$(cat message)"
"$invar" demo "${few[@]}" -o stopped -q >finished
for run in ridge robust mawa residual waco; do
	cmp stopped/$run/adapter.safetensors invar-demo/$run/adapter.safetensors
done
