#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# encode_faults.sh INVAR MAKE SHARED - a full disk, an image that vanishes, weights that change:
# exit 1 with one message, nothing lost, and the same command resumes afterwards.
set -eu
invar=$(realpath "$1") make=$(realpath "$2") shared=${INVAR_SHARED:-$3}
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'umount "$work/disk" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

fail()
{
	echo "$1"
	exit 1
}

# expect WORDS COMMAND... - exit 1, one message with these words
expect()
{
	words=$1
	shift
	code=0
	"$@" 2>message || code=$?
	cat message
	[ $code = 1 ] || fail "exit $code, expected 1: $*"
	[ "$(wc -l <message)" = 1 ] || fail "not one sentence: $*"
	grep -q "$words" message || fail "not said: $words"
}

"$make" photos photos 600
options=(folder:photos --encoder pixels --size 16 --augment rotation --copies 3 -q)
"$invar" encode "${options[@]}" -o whole

# An image vanishes; the list of files is made before.
INVAR_TEST_STOP='encode:pass*=pause:listed' "$invar" encode "${options[@]}" -o vanished 2>message &
child=$!
wait_for $child test -e listed
mv photos/odd/0599.png .
rm listed
finish $child
cat message
[ $code = 1 ] && [ "$(wc -l <message)" = 1 ] || fail "exit $code after an image has vanished"
grep -q 'odd/0599.png: cannot open' message || fail "the image is not named"
mv 0599.png photos/odd
printf 'no image' >photos/odd/0597.png
expect 'odd/0597.png' "$invar" encode "${options[@]}" -o broken
cut -c66- broken/train/done.part | tail -n +2 | grep -q 1 || fail "finished blocks were lost"

# A dry run skips it too, before the bank exists and afterwards.
"$invar" encode "${options[@]}" -o passed --skip-broken --dry-run >plan 2>message || fail "$(tail -1 message)"
"$invar" encode "${options[@]}" -o passed --skip-broken 2>message || fail "$(tail -1 message)"
"$invar" encode "${options[@]}" -o passed --skip-broken --dry-run --json >plan 2>message || fail "$(tail -1 message)"
grep -q '"images": 599' plan || fail "not 599 images: $(cat plan)"

"$make" photos photos 600
"$invar" encode "${options[@]}" -o broken
diff -r whole broken

# Out of descriptors: no image is broken, and none is skipped.
expect 'Too many open files; raise the limit with ulimit -n' \
	bash -c 'ulimit -n 20 && exec "$@"' - "$invar" encode "${options[@]}" --copies 9 --skip-broken -o few
"$invar" encode "${options[@]}" -o few
diff -r whole few

# Weights change.
if [ -e "$shared/data/cifar10_resnet20.safetensors" ]; then
	cp "$shared/data/cifar10_resnet20.safetensors" w.safetensors
	chmod u+w w.safetensors
	network=(folder:photos --weights w.safetensors --size 32 --augment rotation --copies 1 -q)
	"$invar" encode "${network[@]}" -o by_network
	INVAR_TEST_STOP='encode:block 1=pause:begun' "$invar" encode "${network[@]}" -o changed 2>message &
	child=$!
	wait_for $child test -e begun
	cp w.safetensors old
	printf '\77' | dd of=w.safetensors bs=1 seek=900000 conv=notrunc 2>/dev/null
	rm begun
	finish $child
	cat message
	[ $code = 1 ] && [ "$(wc -l <message)" = 1 ] || fail "exit $code after the weights changed"
	grep -q 'w.safetensors: the weights changed' message || fail "not said"
	expect 'was made with weights_sha256' "$invar" encode "${network[@]}" -o changed
	cp old w.safetensors
	"$invar" encode "${network[@]}" -o changed
	diff -r by_network changed

	# Images are truncated during the run, before they are read.
	"$make" npy x.npy 400 3 32 32
	INVAR_TEST_STOP='features:open*=pause:opened' "$invar" features x.npy -o cut.npy --weights w.safetensors -q \
		--threads 1 2>message &
	child=$!
	wait_for $child test -e opened
	truncate -s 4096 x.npy
	rm opened
	finish $child
	cat message
	[ $code = 1 ] && [ "$(wc -l <message)" = 1 ] || fail "exit $code after the images were cut"
	[ ! -e cut.npy ] || fail "a result without its images"
else
	echo "no weights in $shared: the change of weights is skipped"
fi

# A full disk; needs the right to mount a small tmpfs.
mkdir disk
if mount -t tmpfs -o size=9m none disk 2>/dev/null; then
	expect 'cannot reserve disk space for it: No space left' \
		"$invar" encode "${options[@]}" --copies 9 -o disk/bank
	[ -z "$(find disk -name '*.npy.part')" ] || fail "parts without a row were left"
	"$invar" encode "${options[@]}" --copies 2 -o disk/bank
	expect 'No space left' "$invar" encode "${options[@]}" --copies 9 -o disk/bank
	cmp whole/train/aug/001.npy disk/bank/train/aug/001.npy
	mount -o remount,size=100m disk
	"$invar" encode "${options[@]}" -o disk/bank
	diff -r whole disk/bank
else
	echo "no right to mount a tmpfs: the full disk is skipped"
fi
