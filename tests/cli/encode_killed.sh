#!/usr/bin/env bash
# encode_killed.sh INVAR MAKE - encoding that is killed or interrupted ends, when the same
# command is given again, in the bytes of a run that was left alone.
set -eu
invar=$(realpath "$1")
export OMP_WAIT_POLICY=passive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# 1500 grey images of 32 x 32
{
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (1500, 32, 32), }"
	seq 1 400000 | head -c $((1500 * 32 * 32))
} >x.npy
options=(npy:x.npy --holdout 0.3 --augment rotation+noise --copies 20 -q)
"$invar" encode "${options[@]}" -o whole
for wait in 0.02 0.05 0.1 0.15 0.2 0.3 0.4 0.6; do
	"$invar" encode "${options[@]}" -o killed &
	sleep $wait
	kill -9 $! 2>/dev/null || true
	wait $! 2>/dev/null || true
done
"$invar" encode "${options[@]}" -o killed --threads 1
diff -r whole killed

"$invar" encode "${options[@]}" --copies 200 -o stopped 2>error &
until [ -e stopped/train/clean.npy.part ]; do sleep 0.02; done
kill -INT $!
code=0
wait $! || code=$?
[ $code = 130 ] || { echo "exit $code instead of 130"; exit 1; }
grep -q 'interrupted; arrays that are finished stay in stopped' error
[ -z "$(find stopped -name '*.part')" ]
"$invar" encode "${options[@]}" -o stopped
for file in train/clean.npy test/aug/019.npy test/labels.npy bank.json; do
	[ ! -e whole/$file ] || cmp whole/$file stopped/$file
done
