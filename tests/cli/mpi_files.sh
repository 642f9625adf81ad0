#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_files.sh INVAR MAKE - two ranks in working folders of their own, as on machines with copies of the files: copies give
# the results of one process; a copy that differs in one byte is refused before anything is computed, by a message with the
# rank, the file and what to do; what a command does not read may differ.
set -eu
invar=$(realpath "$1") make=$(realpath "$2") weights=$(dirname "$(realpath "$0")")/../golden/encoders/convnets/bottleneck.safetensors
. "$(dirname "$0")/mpi_common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir a b
"$make" bank a/bank 4000 24
"$make" photos a/photos 40
cp "$weights" a/weights.safetensors
cp -r a/. b

apart() { mpirun -n 1 -wdir a "$invar" "$@" : -n 1 -wdir b "$invar" "$@"; }

# The last bit of byte -AT of a file changes; a second time it changes back.
flip() {
	local at=$(($(stat -c %s "$1") - $2)) byte
	byte=$(od -An -tu1 -j $at -N 1 "$1")
	printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}

# refused FILE COMMAND…
refused() {
	local file=$1 code=0
	shift
	apart "$@" >log 2>error || code=$?
	[ $code = 1 ] || { cat error; fail "$file differs: exit $code: $*"; }
	[ "$(grep -c '^invar' error)" = 1 ] || { cat error; fail "$file differs: not one message"; }
	grep -q "^invar.*: rank 1: $file.*: differs on .* from what rank 0 reads; copy it again" error || { cat error; fail "$file is not named"; }
}

train=(--hidden 64 --epochs 1 --threads 1 -q)
"$invar" train --trial=false a/bank -o plain "${train[@]}"
apart train --trial=false bank -o "$work/apart" "${train[@]}" || fail "equal copies of a bank are refused"
cmp plain/adapter.safetensors apart/adapter.safetensors

# refused_training FILE OPTION…
refused_training() {
	local file=bank/train/$1
	shift
	flip "b/$file" 4002
	refused "$file" train --trial=false bank -o "$work/no" "${train[@]}" "$@"
	flip "b/$file" 4002
	rm -rf no
}
refused_training clean.npy
refused_training aug/001.npy
refused_training aug/000.npy --loss none --init ridge
refused_training clean.npy --loss none --init features --hidden 512
flip b/bank/train/aug/001.npy 2
flip b/bank/test/clean.npy 2
apart train --trial=false bank -o "$work/first" "${train[@]}" --copies 1 || fail "a copy that is not used is compared"

encode=(folder:photos --weights weights.safetensors --augment rotation --copies 2 --threads 1 -q)
(cd a && "$invar" encode "${encode[@]}" -o ../bank)
apart encode "${encode[@]}" -o "$work/shared" || fail "equal copies of images are refused"
diff -r bank shared
photo=$(cd b/photos && find . -name '*.png' | sort | sed -n '33s|^./||p')
flip "b/photos/$photo" 1
refused "folder:photos: image .*$photo" encode "${encode[@]}" -o "$work/mixed"
[ -z "$(find mixed -name 'clean.npy*')" ] || fail "rows were written"
flip "b/photos/$photo" 1
flip b/weights.safetensors 1
refused weights.safetensors encode "${encode[@]}" -o "$work/mixed"

eval=(--metrics structure,knn --threads 1 -q)
"$invar" eval a/bank plain "${eval[@]}" >one
refused bank eval bank "$work/plain" "${eval[@]}"
flip b/bank/train/aug/001.npy 2
flip b/bank/test/clean.npy 2
apart eval bank "$work/plain" "${eval[@]}" >two || fail "equal copies of a bank are refused"
cmp one two
cp plain/adapter.safetensors a/e.safetensors
cp plain/adapter.safetensors b/e.safetensors
flip b/e.safetensors 2
refused e.safetensors eval bank e.safetensors "${eval[@]}"
