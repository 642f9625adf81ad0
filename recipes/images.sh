#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# images.sh OUT DATASET ENCODE-OPTION… - from images and a weight file to one table.
#
#   recipes/images.sh out folder:photos --weights resnet50.pth --size 96 --holdout 0.3 --augment rotation
#
# Encodes the images and augmented copies of them, fits a closed form and trains adapters
# (ridge; keep, the default of train, with its own epochs; the paper's MaWa;
# residual MaWa with a smaller rate; WaCo), and measures all of it side by side, also
# against an index of old features. What is already in OUT is not done again. EPOCHS
# (30), SPLIT (what is measured, test) and INVAR (the program, if it is not on PATH) come
# from the environment.
set -eu
out=$1 dataset=$2
shift 2
epochs=${EPOCHS:-30} split=${SPLIT:-test}
. "$(dirname "$0")/common.sh"

"$invar" encode "$dataset" -o "$out/bank" "$@"
train_once "$out/ridge" "$out/bank" --loss none --init ridge
train_once "$out/keep" "$out/bank" --preset keep
train_once "$out/mawa" "$out/bank" --preset paper --epochs "$epochs"
train_once "$out/residual" "$out/bank" --preset paper --epochs "$epochs" --residual --lr 1e-4
train_once "$out/waco" "$out/bank" --preset paper --epochs "$epochs" --loss waco
# First what F itself loses, which needs no training; then the adapters.
"$invar" eval "$out/bank" --split "$split" --metrics collision -o "$out/collision.json"
"$invar" eval "$out/bank" "$out"/{ridge,keep,mawa,residual,waco} --split "$split" \
	--metrics lc,ec,kept,structure -o "$out/results.json"
"$invar" eval "$out/bank" "$out"/{ridge,keep,mawa,residual} --split "$split" --metrics knn --k 1 --index clean \
	-o "$out/old-index.json"
