#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh INVAR MAKE - the demo on a few images: what it prints, what it leaves behind, that
# its recipe does the same, that it resumes after an interruption, and other images.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
recipe=$(dirname "$(realpath "$0")")/../../share/demo.yaml
export OMP_WAIT_POLICY=passive LC_ALL=C.UTF-8
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "$*"; exit 1; }

# Own images, all classes of them, another augmentation; no Fashion-MNIST is needed.
"$make" photos photos 60 >/dev/null
"$invar" demo --data photos --augment affine --size 16 --normalize half -o own >said 2>told || fail "$(cat told)"
cat said
[ "$(grep -c '^clean | ' said)" = 1 ]
for row in 'F, no adapter' ridge instant keep mawa waco; do
	[ "$(grep -c "^$row\( \*\)\?  *[0-9.]* | [0-9.]* " said)" = 1 ] || fail "no row '$row'"
done
grep -q '^  own/report.html$' said
grep -q 'data:image/jpeg' own/report.html || fail "no pictures in the page"
! grep -q 'class="more"' own/report.html || fail "a page of one bank needs no overview"
# Few images: more epochs of losses that need steps, and a word about chance.
grep -q '"epochs": 300,' own/photos/demo/affine/runs/0/mawa/run.json || fail "few images, few steps"
grep -q '^  Only 12 images were tested: differences of less than [0-9]* points may be chance.$' said || fail "$(cat said)"
[ "$(wc -c <own/report.html)" -lt 3000000 ]
! "$invar" demo --data photos --augment nonsense -q 2>error || fail "nonsense was accepted"
grep -q -- '--augment' error || fail "$(cat error)"

if ! [ -e /usr/share/datasets/fashion-mnist ]; then
	"$invar" demo -q 2>error && fail "a demo without images"
	grep -q 'apt install dataset-fashion-mnist.*--data' error || fail "$(cat error)"
	echo "skipped: the package dataset-fashion-mnist is not installed"
	exit 77
fi
few=(--limit 60)
"$invar" demo "${few[@]}" >said 2>told
cat said told
[ "$(grep -c '^clean | ' said)" = 2 ]
[ "$(grep -c '^F, no adapter ' said)" = 2 ]
for name in rotation noise; do
	grep -q "^$name: .* recommended" said
	for file in bank/bank.json runs/0/keep/adapter.safetensors runs/0/waco/run.json table.json report.html; do
		[ -s "invar-demo/fashion-mnist/demo/$name/$file" ] || fail "no $file"
	done
	grep -q "href=\"fashion-mnist/demo/$name/report.html\"" invar-demo/report.html || fail "no link to $name"
	grep -q 'data:image/jpeg' "invar-demo/fashion-mnist/demo/$name/report.html" || fail "no pictures of $name"
done
grep -q '^  invar-demo/report.html$' said

# Words: a loss is called one, whatever the numbers are.
awk '/instead of/ { n = split($0, part, /, /); for (i = 1; i <= n; i++) if (match(part[i], /(more|fewer) [a-z]* images: [0-9]+ % instead of [0-9]+/)) {
	split(substr(part[i], RSTART, RLENGTH), w, " "); if ((w[1] == "more") != (w[4] + 0 > w[8] + 0)) { print "wrong words: " part[i]; bad = 1 } seen = 1 } }
	END { exit bad || !seen }' said || fail "a loss reads like a gain"

# Again: nothing is done twice, and only what was deleted is made again.
"$invar" demo "${few[@]}" >again 2>told
diff said again
! grep -q '\[[0-9]*/34\]' told || fail "$(cat told)"
rm invar-demo/fashion-mnist/demo/noise/runs/0/waco/adapter.safetensors
"$invar" demo "${few[@]}" >again 2>told
diff said again
grep -q 'training waco on fashion-mnist, demo, noise' told || fail "$(cat told)"
! grep -q 'training keep\|encoding' told || fail "$(cat told)"

# 'invar run' with the recipe does what the demo did, so there is nothing left to do.
"$invar" run "$recipe" --set encode.limit=60 --set encode.seed=0 -o invar-demo 2>told >/dev/null
grep -q 'all 34 stages were done before' told || fail "$(cat told)"

# A folder is for one demo at a time: here another process holds it.
if command -v flock >/dev/null; then
	! flock invar-demo "$invar" demo "${few[@]}" -q 2>error || fail "two demos in one folder"
	grep -qx 'invar: invar-demo: another process runs its stages; wait until it has ended, or choose another folder' \
		error || fail "$(cat error)"
fi

# Two at once: one of them says so and stops, the other one does the work. Interrupted and
# started again, it ends in the same bytes; as JSON.
one=(--augment rotation -o stopped)
INVAR_TEST_STOP="stage:encode*=pause:$work/paused" "$invar" demo "${few[@]}" "${one[@]}" >/dev/null 2>message &
child=$!
wait_for $child test -e paused
! "$invar" demo "${few[@]}" "${one[@]}" -q 2>error || fail "two demos in one folder at the same time"
grep -q 'another process runs its stages' error || fail "$(cat error)"
kill -INT $child
rm paused
finish $child
[ $code = 130 ] || fail "exit $code, expected 130"
stop_at 'train:epoch 2=int' "$invar" demo "${few[@]}" "${one[@]}" >/dev/null 2>message
[ $code = 130 ] || fail "exit $code, expected 130"
grep -q 'the same command resumes' message || fail "$(cat message)"
"$invar" demo "${few[@]}" "${one[@]}" --json -q >json
grep -q '"invar-study"' json
for run in ridge instant keep mawa waco; do
	cmp stopped/fashion-mnist/demo/rotation/runs/0/$run/adapter.safetensors \
		invar-demo/fashion-mnist/demo/rotation/runs/0/$run/adapter.safetensors
done
