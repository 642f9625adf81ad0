#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# study_kills.sh INVAR MAKE [KILLS [SEED]] - a finished study is run again with options that
# change from run to run, and each run is killed (-9) at a random point. After each kill every
# bank, run and table under its name is complete, made with one of these options; the last
# run ends with the files of a study that was never killed.
set -u
invar=$(realpath "$1") make=$(realpath "$2") kills=${3:-12} RANDOM=${4:-$$}
seed=${4:-$$}
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail()
{
	echo "$* (SEED $seed, $killed killed)"
	cat log
	exit 1
}

"$make" photos photos 24 >/dev/null
cat >study.yaml <<'YAML'
name: study
data: folder:photos
encode: {holdout: 0.25, size: 8, copies: [train=3, test=2]}
encoders: pixels
diagnose: false
adapters:
  - {name: MaWa, preset: paper, epochs: 2, hidden: 16, checkpoint-seconds: 0}
  - {preset: instant, hidden: 16}
eval: {metrics: structure}
YAML
first=() second=(--set encode.size=10 --set adapters.0.epochs=3) third=(--set 'encode.copies=[train=2, test=3]' --set adapters.1.ridge=1)
killed=0 finished=0

# All runs are in a folder of the same name, as results name it.
run()
{
	local -n options=$2
	{ (cd "$1" && exec "$invar" run ../study.yaml -o study --threads 1 -q "${options[@]}") >out 2>log; } 2>/dev/null
}

# What a bank, a run or a file of results is, in one line.
digest()
{
	if [ -e "$1/bank.json" ]; then
		(cd "$1" && find . -type f ! -path './cache/*' | LC_ALL=C sort | xargs sha256sum | sha256sum)
	else
		sha256sum <"$1"
	fi
}
below=photos/pixels/rotation
outputs=($below/bank $below/runs/0/{mawa,instant}/adapter.safetensors $below/eval/0/{mawa,instant}.json $below/table.json
	table.{txt,md,csv,tex,json})
declare -A known
for set in first second third; do
	mkdir $set
	run $set $set || fail "the study itself fails"
	for output in "${outputs[@]}"; do known[$output]+="$(digest $set/study/$output) "; done
done

# Killed while it writes a file with other options, then run with the old ones: the old file
# is still right, and what the kill left beside it goes.
for output in $below/eval/0/mawa.json $below/table.json table.tex report.html stages.json; do
	rm -rf here
	mkdir here
	cp -r first/study here/study
	INVAR_TEST_STOP="file:written study/$output=kill" run here second
	[ $? = 137 ] || fail "not killed at $output"
	[ -e here/study/$output.invar.part ] || fail "no part of $output"
	run here first || fail "after a kill at $output: it fails"
	find here -name '*.part' | grep . && fail "part files were left behind by a kill at $output"
done

rm -r here
mkdir here
cp -r first/study here/study
points=$(cd here && cp -r study copy && INVAR_TEST_STOP='=list' "$invar" run ../study.yaml -o copy --threads 1 -q "${second[@]}" 2>&1 >/dev/null | wc -l)
rm -r here/copy
for ((i = 0; killed < kills && i < 10 * kills; i++)); do
	sets=(first second third)
	set=${sets[RANDOM % 3]} at=$((1 + RANDOM % points))
	INVAR_TEST_STOP="$at=kill" run here $set
	case $? in
	137) killed=$((killed + 1)) ;;
	0) finished=$((finished + 1)) ;;
	*) fail "point $at of the options $set: it fails" ;;
	esac
	for output in "${outputs[@]}"; do
		[ -e here/study/$output ] || fail "point $at of the options $set: $output is gone"
		case ${known[$output]} in *"$(digest here/study/$output)"*) ;; *) fail "point $at of the options $set: $output is not complete" ;; esac
	done
	tail -c 8 here/study/report.html | grep -q '</html>' || fail "point $at of the options $set: the page is not complete"
done
[ $killed -ge $((kills / 2)) ] || fail "only $killed runs of $i were killed"
run here $set || fail "it does not resume"
for output in "${outputs[@]}"; do
	[ "$(digest here/study/$output)" = "$(digest $set/study/$output)" ] || fail "$output differs from that of a study that was not killed"
done
find here -name '*.part' | grep . && fail "part files were left behind"
diff <(cd here/study && find . -type f | sort) <(cd $set/study && find . -type f | sort) || fail "other files"
echo "seed $seed: $killed killed at $points points, $finished finished before"
