#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lists_stopped.sh INVAR MAKE - encoding a list or a tar file that is interrupted resumes, and
# ends in the same bytes as without interruption; if images changed meanwhile, it is an error.
set -eu
invar=$(realpath "$1")
images=$(realpath "$(dirname "$0")/../formats/images")
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

mkdir a b
for i in $(seq 100 349); do
	ln "$images/rgb.png" a/$i.png 2>/dev/null || cp "$images/rgb.png" a/$i.png
	ln "$images/lzw.tif" b/$i.tif 2>/dev/null || cp "$images/lzw.tif" b/$i.tif
done
{
	echo path,label
	for i in $(seq 100 349); do printf 'a/%s.png,first\nb/%s.tif,second\n' $i $i; done
} >list.csv
tar --sort=name --hard-dereference -cf pictures.tar a b

options=(--encoder pixels --size 32 --holdout 0.3 --augment rotation --copies 6 --threads 1 -q)
for set in csv:list.csv tar:pictures.tar; do
	kind=${set%%:*}
	"$invar" encode $set "${options[@]}" -o whole-$kind
	stop_at 'encode:block 1=int' "$invar" encode $set "${options[@]}" -o stopped-$kind 2>error
	[ $code = 130 ] || fail "$kind: exit $code instead of 130"
	cp -r stopped-$kind changed-$kind
	"$invar" encode $set "${options[@]}" -o stopped-$kind
	diff -r whole-$kind stopped-$kind
done
head -1 whole-tar/train/names.txt | grep -qx 'pictures.tar/a/100.png' || fail "names of rows"

# Images that changed since the interruption: all of them, as any may be unfinished.
cp "$images/bits.png" other.png
sed -i 's|a/1..\.png|other.png|' list.csv
for file in a/* b/*; do ln -f other.png "$file"; done
tar --sort=name --hard-dereference -cf pictures.tar a b
for set in csv:list.csv tar:pictures.tar; do
	code=0
	"$invar" encode $set "${options[@]}" -o changed-${set%%:*} 2>error || code=$?
	[ $code = 1 ] || { cat error; fail "$set: exit $code instead of 1"; }
	[ "$(wc -l <error)" = 1 ] || fail "$set: more than one sentence"
	cat error
done
