#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# real.sh SUMS SUMS.TXT SHARED - the shared archives and Debian's Fashion-MNIST, compared
# with counts and checksums from NumPy and Pillow; with 1 and 2 threads.
set -eu
sums=$(realpath "$1") expected=$(realpath "$2") shared=${INVAR_SHARED:-$3}/data
if [ ! -d "$shared" ]; then
	echo "skipped: there is no $shared"
	exit 77
fi
if ! command -v xz > /dev/null; then
	echo "skipped: there is no xz to unpack the archives"
	exit 77
fi
shared=$(realpath "$shared")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for name in stl10_binary_mini.tar.xz mnist_subset.tar.xz cifar10_subset.tar.xz \
	tiny_imagenet_50.tar stl10_jpeg.tar neu_steel.tar rsscn7.tar ucmerced.tar; do
	tar -xf "$shared/$name"
done
checked=0
for dataset in $(cut -d' ' -f1 "$expected" | uniq); do
	if [ "$dataset" = fashion-mnist: ] && [ ! -d /usr/share/datasets/fashion-mnist ]; then
		echo "skipped: fashion-mnist:, Debian's dataset-fashion-mnist is not installed"
		continue
	fi
	for threads in 1 2; do
		${MESON_EXE_WRAPPER:-} "$sums" "$dataset" $threads | sed "s|^|$dataset |" > found.txt
		grep "^$dataset " "$expected" | diff -u - found.txt
	done
	checked=$((checked + 1))
done
echo "$checked data sets"
