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

"$make" photos photos 80 >/dev/null
cat >study.yaml <<'YAML'
data: folder:photos
encode: {holdout: 0.25, size: 8, copies: [train=3, test=2]}
encoders: pixels
augmentations: [rotation, noise]
diagnose: {hidden: 64}
adapters:
  - {name: MaWa, preset: paper, epochs: 5, hidden: 64, checkpoint-seconds: 0}
  - {preset: instant, hidden: 64}
eval: {metrics: [structure, tsne]}
YAML
INVAR_TEST_STOP='=list' "$invar" run study.yaml -o whole --threads 1 -q >whole.txt 2>points || fail "the study itself fails"
grep '^stage:' points | sed 's/^stage://' >stages
[ "$(wc -l <stages)" = 22 ] || fail "$(wc -l <stages) stages"

# Two banks, so there is a page for each and an overview of both.
for page in photos/pixels/rotation/report.html photos/pixels/noise/report.html report.html; do
	[ -s whole/$page ] || fail "no $page"
done

# Killed when a stage begins, and in the middle of those that write more than one file.
kill_at()
{
	{ INVAR_TEST_STOP="$1=kill" "$invar" run study.yaml -o study --threads 1 >/dev/null 2>log; } 2>/dev/null
	[ $? = 137 ] || { cat log; fail "not killed at $1"; }
}
while read -r stage; do
	kill_at "stage:$stage"
	grep -A1 "\"$stage\": {" study/stages.json | grep -q begun || fail "the record does not say that $stage has begun"
	case $stage in
	encode*) kill_at 'encode:*' ;;
	train*mawa*) kill_at 'train:epoch 3' ;;
	esac
done <stages
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
