#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh IMAGES WEIGHTS [OUT] - what `invar check` says about every data set below IMAGES: its own test split, the
# same images with noise and blurred, and the test splits of all others. Prints the tables of docs/CHECK.md.
#
#     recipes/check.sh images resnet18.safetensors out/check
#
# For each data set an adapter (preset instant, rotation) is trained on its training split and certified. Everything is
# kept in OUT and not made again. At most LIMIT (500) images of each split; SIZE (96) pixels; NOISE (1) in units of
# normalised pixels: 57 for encoders that take 0..255.
set -euo pipefail
images=$1 weights=$2 out=${3:-out/check}
size=${SIZE:-96} noise=${NOISE:-1} limit=${LIMIT:-500} threads=${THREADS:-0}
. "$(dirname "$0")/common.sh"

# Name and data set; a set without splits has the last 30 % of each class held out.
sets="STL-10|$images/stl10
UC_Merced|$images/ucmerced
RSSCN7|$images/RSSCN7 --holdout 0.3
NEU|$images/NEU --holdout 0.3
MNIST|mnist:$images/mnist
CIFAR-10|cifar10:$images/cifar-10-batches-bin
Tiny_ImageNet|tiny-imagenet:$images/tiny-imagenet-200"

# changes of the test images, by name and augmentation
changes="noise|noise:std=$noise
blur|blur:sigma=3
JPEG_50|jpeg:quality=50"

# encode_once BANK DATASET-AND-OPTIONS ENCODE-OPTION…
encode_once() {
	local bank=$1 data=$2
	shift 2
	[ -e "$bank.done" ] && return
	# shellcheck disable=SC2086  # a data set and its options
	"$invar" encode $data -o "$bank" --weights "$weights" --size "$size" --limit "$limit" --threads "$threads" -q "$@"
	touch "$bank.done"
}

test_split() { [ -d "$1/test" ] && echo test || echo val; }

make_all() {
	local name data change spec split
	while IFS='|' read -r name data; do
		[ -e "$(sed 's/^[a-z0-9-]*://; s/ .*//' <<<"$data")" ] || {
			echo "skipped: $name is not below $images" >&2
			continue
		}
		encode_once "$out/$name" "$data" --augment rotation --copies 1
		split=$(test_split "$out/$name")
		train_once "$out/$name-run" "$out/$name" --preset instant --threads "$threads" -q
		"$invar" eval "$out/$name" "$out/$name-run" --split "$split" --metrics structure --certify -q >/dev/null
		while IFS='|' read -r change spec; do
			encode_once "$out/$name-$change" "$data --split $split" --augment "$spec" --copies 1
		done <<<"$changes"
	done <<<"$sets"
}

# verdict RUN FEATURES: "0.31 drift"
verdict() {
	"$invar" check "$1" "$2" --json -q --threads "$threads" >"$out/check.json" || [ $? = 3 ]
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print("%.2f %s" % (r["values"]["check.shift"]["new"]["value"], r["verdict"]))' "$out/check.json"
}

# Rows: what was certified; columns: new data. A cell has the shift of features, bold if the verdict is drift.
print_table() {
	local name other data change spec split rows found line
	line="| certified on train of | its test split |"
	while IFS='|' read -r change spec; do line+=" ${change//_/ } |"; done <<<"$changes"
	while IFS='|' read -r other data; do [ -d "$out/$other-run" ] && line+=" ${other//_/ } |"; done <<<"$sets"
	echo "$line"
	echo "$line" | sed 's/[^|]\{1,\}/---:/g; s/---:/---/'
	while IFS='|' read -r name data; do
		[ -d "$out/$name-run" ] || continue
		split=$(test_split "$out/$name")
		line="| ${name//_/ } |"
		found=$(verdict "$out/$name-run" "$out/$name/$split/clean.npy")
		line+=" $(mark "$found") |"
		while IFS='|' read -r change spec; do
			line+=" $(mark "$(verdict "$out/$name-run" "$out/$name-$change/$split/aug/000.npy")") |"
		done <<<"$changes"
		while IFS='|' read -r other data; do
			[ -d "$out/$other-run" ] || continue
			rows=$out/$other/$(test_split "$out/$other")/clean.npy
			if [ "$other" = "$name" ]; then line+=" |"; else line+=" $(mark "$(verdict "$out/$name-run" "$rows")") |"; fi
		done <<<"$sets"
		echo "$line"
	done <<<"$sets"
}

mark() { case $1 in *drift) echo "**${1% *}**" ;; *) echo "${1% *}" ;; esac; }

make_all
print_table
