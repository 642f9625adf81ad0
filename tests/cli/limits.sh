#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# limits.sh INVAR MAKE - a limit on the size of files, and a small stack: commands work or print
# one message; nothing is killed, no existing file is lost.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive LC_ALL=C.UTF-8
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
complain() {
	echo "$*"
	failed=1
}
"$make" bank bank
"$make" photos ph 40
"$make" npy x.npy 60 8
"$make" npy a.npy 60 2 8
"$make" npy t.npy 40 3 8 8
"$invar" train --trial=false bank -o run --hidden 16 --epochs 1 -q || exit 1
photo=$(find ph -name '*.png' | sort | head -n 1)
commands=(
	'apply run x.npy -o out/apply.npy'
	'features t.npy -o out/features.npy --encoder pixels'
	'augment rotation t.npy -o out/augment.npy'
	'augment rotation t.npy -o out/again.npy --params-out out/params.json'
	"augment rotation $photo -o out/augment.png"
	'data folder:ph --sheet out/data.png'
	'eval bank run --metrics structure,lc --probe-epochs 1 -o out/eval.json'
	'loss mawa --adapter run --clean x.npy --aug a.npy --grad out/grad'
	'models convert run/adapter.safetensors out/convert.safetensors'
	"models pull out/pull.pth --url file://$work/x.npy"
	'train --trial=false bank -o out/run --hidden 64 --epochs 1'
	'train bank -o out/waco --hidden 64 --epochs 1 --loss waco --projections 20'
	'encode folder:ph -o out/bank --encoder pixels --size 8 --augment rotation --copies 2'
	'dependence x.npy x.npy'
	'models list'
	'help'
)

# 1024 bytes per file, and the signal at its default, as a shell leaves it.
mkdir out
cp x.npy out/apply.npy
for command in "${commands[@]}"; do
	case $command in dependence* | 'models list' | help) continue ;; esac
	(
		ulimit -f 1
		timeout "$hang" "$invar" $command -q
	) > out.txt 2> err.txt < /dev/null
	code=$?
	[ $code = 1 ] && [ "$(wc -l < err.txt)" = 1 ] && grep -q 'File too large' err.txt ||
		complain "ulimit -f: $command: exit $code: $(cat err.txt)"
done
cmp -s x.npy out/apply.npy || complain "ulimit -f: the old file is lost"
left=$(find out -name '*.invar.part' ! -name 'pull*')
[ -z "$left" ] || complain "ulimit -f: left behind: $left"
for file in again.npy augment.png data.png eval.json convert.safetensors bank/train/clean.npy \
	run/adapter.safetensors; do
	[ ! -e out/$file ] || complain "ulimit -f: half of $file"
done

# A stack of 64 KB. A sanitizer's own start needs more.
if ! bash -c 'ulimit -S -s 64 && "$0" --version' "$invar" > /dev/null 2>&1; then
	echo "this build cannot start with a small stack: skipped"
	[ $failed = 0 ] && exit 77
	exit $failed
fi
rm -r out
mkdir out
for command in "${commands[@]}"; do
	(
		ulimit -S -s 64
		[ "$command" = help ] && exec timeout "$hang" "$invar" help
		timeout "$hang" "$invar" $command -q
	) > out.txt 2> err.txt < /dev/null
	code=$?
	[ $code = 0 ] || complain "ulimit -S -s: $command: exit $code: $(cat err.txt)"
done
# If the limit cannot be raised, a message says so.
(
	ulimit -s 64
	timeout "$hang" "$invar" data folder:ph --sheet out/hard.png -q
) > out.txt 2> err.txt
code=$?
[ $code = 1 ] && [ "$(wc -l < err.txt)" = 1 ] && grep -q '64 KB.*ulimit -s' err.txt ||
	complain "ulimit -H -s: exit $code: $(cat err.txt)"
exit $failed
