#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mnist_figure.sh DATASET OUT [EPOCHS] - the paper's figure of MNIST: dimension reduction
# with and without invariance.
#
#     recipes/mnist_figure.sh mnist:mnist_subset out
#
# WaCo on pixels, (784, 4096, 64), once with T = {id} and once with T = {id, rotation by any
# angle}. Then digits of test and the same digits rotated by 90 degrees are embedded together
# by t-SNE, as pixels and as codes of either training: OUT/mnist.svg, panels side by side;
# and classified by their nearest neighbour among upright train digits: OUT/neighbours.md.
# Copies are rotated before pixels are normalised, so that what enters at the corners is as
# black as the background.
#
# INVAR names the program, if it is not on PATH; LIMIT is the maximum number of images per
# split (10000), HIDDEN the hidden units (4096), COPIES the rotated copies of train (10),
# POINTS the digits in the figure (500). What is already in OUT is not done again.
set -euo pipefail
[ $# -ge 2 ] && [ $# -le 3 ] || { echo "usage: mnist_figure.sh DATASET OUT [EPOCHS]" >&2; exit 2; }
dataset=$1 out=$2 epochs=${3:-20}
limit=${LIMIT:-10000} hidden=${HIDDEN:-4096} copies=${COPIES:-10} points=${POINTS:-500}
. "$(dirname "$0")/common.sh"

encode() { # BANK OPTIONS…
	local bank=$1
	shift
	"$invar" encode "$dataset" -o "$out/$bank" --encoder pixels --limit "$limit" --augment-space pixel "$@"
}

train() { # NAME OPTIONS…
	local name=$1
	shift
	train_once "$out/$name" "$out/bank" --preset paper --loss waco --width 64 --hidden "$hidden" --epochs "$epochs" "$@"
}

encode bank --augment rotation --copies "train=$copies,test=0"
encode turned --augment rotation:degrees=90..90 --copies train=0,test=1
train 'id' --samples 0
train 'id, rotation'
"$invar" eval "$out/turned" "$out/id" "$out/id, rotation" --metrics knn --k 1 --format markdown -o "$out/neighbours.md"
"$invar" eval "$out/turned" "$out/id" "$out/id, rotation" --metrics tsne --points "$points" --json > "$out/tsne.json"
"$invar" plot "$out/tsne.json" --figure tsne -o "$out/mnist.svg"
