#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# banks.sh IMAGES WEIGHTS OUT [NAME…] - the banks of the table of adapters that need no tuning.
#
#   recipes/no_tuning/banks.sh images weights banks
#   recipes/no_tuning/banks.sh images weights banks neu-resnet50-rotation
#
# IMAGES holds stl10/{train,test}, ucmerced/{train,test}, NEU and RSSCN7, a folder per class; WEIGHTS
# holds resnet50_keras.f16.safetensors, resnet18.safetensors and
# squeezenet1_1_caffe.f16.safetensors. Makes OUT/NAME for the names given, or for all of the
# list below, each with four views of every copy of test, the rival that an adapter is compared
# with. All images are prepared at 96 x 96, all draws have seed 0. A bank that exists is kept, one that was interrupted resumes.
# COPIES (such as train=2,test=2) replaces the numbers of copies below, VIEWS=none leaves out the views,
# INVAR names the program, if it is not on PATH.
set -eu
images=$1 weights=$2 out=$3
shift 3
. "$(dirname "$0")/../common.sh"

# name                                images    encoder        augment            train test
banks='
  neu-resnet50-rotation               NEU       resnet50_keras rotation           6     4
  rsscn7-resnet50-rotation            RSSCN7    resnet50_keras rotation           6     4
  stl10-resnet50-rotation             stl10     resnet50_keras rotation           6     2
  ucmerced-resnet50-rotation          ucmerced  resnet50_keras rotation           6     4
  ucmerced-resnet18-rotation          ucmerced  resnet18       rotation           4     3
  ucmerced-resnet18-noise             ucmerced  resnet18       noise              4     3
  ucmerced-resnet18-affine            ucmerced  resnet18       affine             4     3
  ucmerced-resnet18-crop              ucmerced  resnet18       crop               4     3
  ucmerced-resnet18-rotation-inside   ucmerced  resnet18       rotation:inside=1  4     3
  stl10-squeezenet-rotation           stl10     squeezenet1_1  rotation           6     4
  stl10-squeezenet-rotation-inside    stl10     squeezenet1_1  rotation:inside=1  6     4
  ucmerced-resnet50-rotation-inside   ucmerced  resnet50_keras rotation:inside=1  6     4
'

weights_of() { # ENCODER
	case $1 in
	resnet50_keras) echo "$weights/resnet50_keras.f16.safetensors" ;;
	resnet18) echo "$weights/resnet18.safetensors" ;;
	squeezenet1_1) echo "$weights/squeezenet1_1_caffe.f16.safetensors" ;;
	esac
}

# make_bank NAME IMAGES ENCODER AUGMENT TRAIN TEST
make_bank() {
	local how=()
	[ "${VIEWS:-4}" = none ] || how=(--views "${VIEWS:-4}")
	# These have no splits: the last three tenths of the images of each class are test.
	case $2 in NEU | RSSCN7) how+=(--holdout 0.3) ;; esac
	"$invar" encode "folder:$images/$2" -o "$out/$1" --encoder "$3" --weights "$(weights_of "$3")" \
		--size 96 --augment "$4" --copies "${COPIES:-train=$5,test=$6}" "${how[@]}"
	du -sh "$out/$1"
}

while read -r name row; do
	[ -n "$name" ] || continue
	for wanted in "${@:-$name}"; do
		# shellcheck disable=SC2086
		[ "$wanted" != "$name" ] || make_bank "$name" $row
	done
done <<<"$banks"
