#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bare.sh INVAR MAKE - a program without librsvg and libcurl reports what it cannot do, in one
# message, and does the rest.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# refused STATUS WORDS COMMAND…
refused() {
	local want=$1 words=$2 status=0
	shift 2
	"$invar" "$@" > out 2> message || status=$?
	[ "$status" = "$want" ] || { echo "$*: ended with $status, not $want"; cat message; exit 1; }
	grep -q "$words" message || { echo "$*: does not say '$words':"; cat message; exit 1; }
	[ "$(grep -c ^invar message)" = 1 ] || { echo "$*: more than one sentence:"; cat message; exit 1; }
}

"$make" photos ph 4
refused 1 'built without librsvg; a file name ending in .svg needs no rendering' data folder:ph --sheet sheet.png
"$invar" data folder:ph --sheet sheet.svg -q > out
grep -q '</svg>' sheet.svg
refused 2 'built without libcurl' models pull dino_vits8 --url http://localhost/w.pth -o w.pth
[ ! -e w.pth ] && [ ! -e w.pth.invar.part ]
"$invar" models list > out
printf 'bank: b\n' > study.yaml
refused 2 'built without libyaml and cannot read recipes; build it with -Dyaml=enabled' run study.yaml
"$invar" run --print-defaults | grep -q '^adapters:'
[ ! -e study ]
