#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pixels.sh DATASET OUT [EPOCHS] - dimension reduction of pixels that forgets rotation.
#
# The paper's experiment without an encoder: WaCo, (784, 4096, 64) for images of 28 x 28,
# once with the identity alone and once with rotations. Then k nearest neighbours: codes
# of test images as they are and rotated by exactly 90 degrees, among codes of upright
# train images. The first column of the tables is the pixels themselves.
#
#     recipes/pixels.sh fashion-mnist: out/fashion
#     recipes/pixels.sh mnist:mnist_subset out/mnist
#
# INVAR names the program, if it is not on PATH; LIMIT is the maximum number of images per split
# (10000), HIDDEN the hidden units (4096), COPIES the rotated copies of train (10). What
# is already in OUT is not done again.
set -eu
dataset=$1 out=$2 epochs=${3:-20}
limit=${LIMIT:-10000} hidden=${HIDDEN:-4096} copies=${COPIES:-10}
. "$(dirname "$0")/common.sh"

"$invar" encode "$dataset" -o "$out/bank" --encoder pixels --limit "$limit" \
	--augment rotation --copies "train=$copies,test=5"
"$invar" encode "$dataset" -o "$out/turned" --encoder pixels --limit "$limit" \
	--augment rotation:degrees=90..90 --copies test=1

train() { # NAME OPTIONS…
	local name=$1
	shift
	train_once "$out/$name" "$out/bank" --preset paper --loss waco --width 64 --hidden "$hidden" --epochs "$epochs" "$@"
}

train id --samples 0
train rotation
for k in 20 1; do
	echo "turned by 90 degrees, k = $k"
	"$invar" eval "$out/turned" "$out/id" "$out/rotation" --metrics knn --k "$k" -o "$out/turned-$k.json"
	echo "turned by any angle, k = $k"
	"$invar" eval "$out/bank" "$out/id" "$out/rotation" --metrics knn --k "$k" -o "$out/any-$k.json"
done
