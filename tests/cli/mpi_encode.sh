#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_encode.sh INVAR - encoding under mpirun: the same bytes for any number of ranks; a rank
# that is killed ends the run with a message, and the next start, with other ranks or none,
# encodes what is missing and ends in the same bytes; SIGTERM ends all ranks with 130.
set -eu
invar=$(realpath "$1")
. "$(dirname "$0")/mpi_common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# 4000 grey images of 32 x 32
{
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (4000, 32, 32), }"
	seq 1 4000000 | head -c $((4000 * 32 * 32))
} >x.npy
options=(npy:x.npy --encoder pixels --holdout 0.3 --augment rotation+noise --copies 12 --threads 1)
"$invar" encode "${options[@]}" -q -o whole

for n in 1 2 4; do
	ranks $n "$invar" encode "${options[@]}" -q -o "by-$n" || fail "$n ranks: exit $?"
	diff -r whole "by-$n" || fail "$n ranks make another bank"
	[ -z "$(find "by-$n" -name '*.part')" ] || fail "$n ranks leave part files"
done
# Copies that are added to a bank of the plain program, with fingerprints to be compared.
"$invar" encode "${options[@]:0:7}" --copies 5 -q -o grown
ranks 3 "$invar" encode "${options[@]}" -q -o grown
diff -r whole grown

# Views, of all ranks and added by them.
"$invar" encode "${options[@]}" --views 4 -q -o views
ranks 2 "$invar" encode "${options[@]}" --views 4 -q -o by-2-views
diff -r views by-2-views || fail "2 ranks make other views"
ranks 3 "$invar" encode "${options[@]}" --views 4 -q -o grown
diff -r views grown || fail "3 ranks add other views"

# Errors of one rank, and of all, are said once.
code=0
ranks 2 "$invar" encode npy:nowhere.npy --encoder pixels -o no 2>error || code=$?
[ $code = 1 ] && [ "$(grep -c '^invar' error)" = 1 ] || { cat error; fail "a missing file: exit $code"; }
code=0
ranks 2 "$invar" encode --no-such 2>error || code=$?
[ $code = 2 ] && [ "$(grep -c '^invar encode' error)" = 1 ] || { cat error; fail "wrong use: exit $code"; }

marks() { cat "$1"/*/done.part 2>/dev/null | cut -c66- | tr -cd 1 | wc -c; }

# One rank after the other is killed: rank 0 and the others, each in mid-encoding.
copies=40
many=("${options[@]:0:7}" --copies $copies --threads 1)
for rank in 1 0 2; do
	before=$(marks killed)
	limited ranks 3 "${only[@]}" $rank 'encode:block 1=kill' "$invar" encode "${many[@]}" -q -o killed 2>error
	[ $code != 0 ] || fail "rank $rank was killed, but the run ended well"
	[ -s error ] || fail "rank $rank was killed without a message"
	[ "$(marks killed)" -gt "$before" ] || fail "finished blocks were lost"
done
kept=$(marks killed)
"$invar" encode "${many[@]}" -o killed 2>log
encoded=$(($(sed -n 's/^.*; \([0-9]*\) encoded.*/\1/p' log | paste -sd+)))
[ "$encoded" -le $((4000 * (copies + 1) - 256 * (kept - 40))) ] || fail "finished blocks were encoded again: $encoded, $kept marks"
"$invar" encode "${many[@]}" -q -o many
diff -r many killed

# SIGTERM to all ranks, as a scheduler sends it.
INVAR_TEST_STOP='encode:block 1=term' limited ranks 3 "$invar" encode "${many[@]}" -q -o stopped 2>error
[ $code = 130 ] || { cat error; fail "SIGTERM: exit $code instead of 130"; }
grep -q 'interrupted; finished work is kept in stopped' error || { cat error; fail "SIGTERM without a message"; }
ranks 4 "$invar" encode "${many[@]}" -q -o stopped
diff -r many stopped
