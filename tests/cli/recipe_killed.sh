#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# recipe_killed.sh INVAR MAKE - a study that is killed (-9) in each of its stages and started
# again ends with the tables, banks, adapters and results of one that was never killed.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "$*"; exit 1; }

"$make" photos photos 120 >/dev/null
cat >study.yaml <<'YAML'
data: folder:photos
encode: {holdout: 0.25, size: 8, copies: [train=3, test=2]}
encoders: pixels
augmentations: [rotation, noise]
diagnose: {hidden: 256}
adapters:
  - {name: MaWa, preset: paper, epochs: 30, hidden: 256, checkpoint-seconds: 0}
  - {preset: instant, hidden: 256}
eval: {metrics: [lc, structure, tsne], probe-epochs: 10}
YAML
"$invar" run study.yaml -o whole --threads 1 -q >whole.txt || fail "the study itself fails"
stages=$(grep -c '"state": "done"' whole/stages.json)
[ "$stages" = 22 ] || fail "$stages stages"

# Two banks, so there is a page for each and an overview of both.
for page in photos/pixels/rotation/report.html photos/pixels/noise/report.html report.html; do
	[ -s whole/$page ] || fail "no $page"
done

# Killed when the log says that stage i has begun, and then as often as it takes to hit it.
hits=0 killed=
for ((i = 1; i <= stages; i++)); do
	"$invar" run study.yaml -o study --threads 1 >/dev/null 2>log &
	child=$!
	until grep -q "^\[$i/" log || ! kill -0 $child 2>/dev/null; do sleep 0.002; done
	kill -9 $child 2>/dev/null
	wait $child 2>/dev/null
	begun=$(grep -B1 '"state": "begun"' study/stages.json | sed -n 's/^ *"\([^"]*\)": {$/\1/p')
	[ -z "$begun" ] || { hits=$((hits + 1)); killed="$killed${begun%% *} "; }
done
echo "killed in: $killed"
[ $hits -ge 8 ] || fail "only $hits kills hit a stage while it ran"
for kind in encode diagnose train eval photos/pixels/rotation/report.html; do
	case $killed in *"$kind "*) ;; *) fail "no kill hit a stage $kind" ;; esac
done
"$invar" run study.yaml -o study --threads 1 -q >study.txt || fail "it does not resume"
cmp study.txt whole.txt || exit 1
for file in table.txt table.md table.csv table.tex; do cmp study/$file whole/$file || exit 1; done
for file in $(cd whole && find . -name '*.npy' -o -name adapter.safetensors); do
	cmp "study/$file" "whole/$file" || exit 1
done
cmp <(sed 's|study/photos|whole/photos|g' study/report.html) whole/report.html || exit 1
# Results name the folder of the study; otherwise they are equal.
for file in table.json $(cd whole && find . -path '*/eval/*.json' -o -name diagnose.json); do
	cmp <(sed 's|"study/|"whole/|' "study/$file") "whole/$file" || exit 1
done
find study -name '*.part' | grep . && fail "part files were left behind"
"$invar" run study.yaml -o study --threads 1 2>&1 >/dev/null | grep -q 'all 22 stages were done before' ||
	fail "something is left to do"
