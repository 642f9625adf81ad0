#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# encode_killed.sh INVAR MAKE - encoding that is killed or interrupted resumes when the
# same command is given again, and ends in the same bytes as without interruption; finished
# blocks are not done again, and a command that differs is an error.
set -eu
invar=$(realpath "$1")
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail()
{
	echo "$1"
	exit 1
}

# 6000 grey images of 32 x 32
{
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (6000, 32, 32), }"
	seq 1 4000000 | head -c $((6000 * 32 * 32))
} >x.npy
options=(npy:x.npy --encoder pixels --holdout 0.3 --augment rotation+noise --copies 20 -q)
count=$(points "$invar" encode "${options[@]}" -o whole)
[ -e whole/bank.json ] || fail "encoding itself fails"
marks() { cat "$1"/*/done.part 2>/dev/null | cut -c66- | tr -cd 1 | wc -c; }
stop_at 'encode:block 2=kill' "$invar" encode "${options[@]}" -o killed
[ $code = 137 ] && [ "$(marks killed)" -gt 0 ] || fail "no block was finished before a kill"
for moment in 1 2 3 4 5 6; do
	stop_at "$((moment * count / 40))=kill" "$invar" encode "${options[@]}" -o killed
	[ $code = 137 ] || fail "exit $code instead of kill $moment of $count points"
done
"$invar" encode "${options[@]}" -o killed --threads 1
diff -r whole killed

# Interrupted: what is finished stays, and only the rest is encoded.
stop_at 'encode:block 2=int' "$invar" encode "${options[@]}" --copies 60 --threads 1 -o stopped 2>error
[ $code = 130 ] || fail "exit $code instead of 130"
grep -q 'interrupted; finished work is kept in stopped' error
refuse()
{
	message=$1
	shift
	code=0
	"$invar" encode "$@" -o stopped 2>error || code=$?
	[ $code = 1 ] || fail "exit $code instead of 1: $*"
	[ "$(wc -l <error)" = 1 ] && grep -q "$message" error || { cat error; fail "$*"; }
}
refuse 'was made with augment rotation+noise, not rotation' npy:x.npy --encoder pixels --holdout 0.3 --augment rotation -q
refuse 'was made with seed 0, not 1' "${options[@]}" --seed 1
refuse 'was made with dtype float32, not float16' "${options[@]}" --dtype float16
refuse 'was made with size \[32, 32\], not \[16, 16\]' "${options[@]}" --size 16
refuse 'has 4200 rows but 1000 images were selected' "${options[@]}" --limit 1000
head -c 128 x.npy >y.npy
tail -c +129 x.npy | tac -s 1 | head -c $((6000 * 32 * 32)) >>y.npy
truncate -s "$(stat -c %s x.npy)" y.npy
refuse 'image 0 of train has changed since its row was encoded' npy:y.npy "${options[@]:1}"
[ "$(marks stopped)" -gt 0 ] || fail "the finished blocks were lost"
"$invar" encode "${options[@]:0:7}" --copies 20 -o stopped 2>log
encoded=$(sed -n 's/^train: .*; \([0-9]*\) encoded.*/\1/p' log)
[ "$encoded" -lt $((4200 * 21)) ] || fail "finished blocks were encoded again: $encoded"
diff -r whole stopped

# A map whose part file is gone or truncated counts as empty.
stop_at 'encode:block 2=kill' "$invar" encode "${options[@]}" --copies 60 -o torn
[ $code = 137 ] && [ "$(marks torn)" -gt 0 ] || fail "no finished blocks to lose"
rm torn/train/aug/003.npy.part
truncate -s -1 torn/train/aug/004.npy.part
"$invar" encode "${options[@]}" -o torn
diff -r whole torn

# Views come after all copies of a split, and are resumed by the same rules.
viewed=("${options[@]}" --copies train=2,test=20 --views 4)
count=$(points "$invar" encode "${viewed[@]}" -o views)
[ -e views/test/aug/019.views.npy ] || fail "there are no views"
stop_at 'encode:pass encode test, views of 20 copies=kill' "$invar" encode "${viewed[@]}" -o killed-views
[ $code = 137 ] && [ -e killed-views/test/aug/019.npy ] || fail "views were started before all copies were finished"
for block in 1 2; do
	stop_at "encode:block $block=kill" "$invar" encode "${viewed[@]}" -o killed-views
	[ $code = 137 ] && [ "$(marks killed-views)" -gt 0 ] || fail "no block of views was finished before a kill"
done
[ ! -e killed-views/test/clean.views.npy ] || fail "views have their name before they are complete"
# Without the option they stay as they are; with it only the rest is encoded.
"$invar" encode "${options[@]}" --copies train=2,test=20 -o killed-views
[ "$(marks killed-views)" -gt 0 ] || fail "the finished blocks of views were lost"
"$invar" encode "${viewed[@]/-q/-v}" -o killed-views --threads 1 2>log
encoded=$(sed -n 's/^test: views of .*; \([0-9]*\) encoded.*/\1/p' log)
[ "$encoded" -gt 0 ] && [ "$encoded" -lt $((1800 * 21 * 3)) ] || fail "finished blocks of views were encoded again: $encoded"
diff -r views killed-views
for moment in 1 2 3 4; do
	stop_at "$((count - count * moment / 8))=kill" "$invar" encode "${viewed[@]}" -o late-views
	"$invar" encode "${viewed[@]}" -o late-views
	diff -r views late-views
	rm -rf late-views
done
