#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# results.sh INVAR SOURCE - every recipe of recipes/results can be planned, with its images and
# weights at hand or not.
set -eu
invar=$(realpath "$1") source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for recipe in "$source"/recipes/results/*.yaml; do
	"$invar" run "$recipe" --dry-run -o study --threads 1 >plan.txt 2>error.txt || { cat error.txt; exit 1; }
	stages=$(grep -c '^\(encode\|train\|eval\) ' plan.txt)
	echo "${recipe##*/}: $stages stages"
	[ "$stages" -gt 10 ]
	[ ! -e study ] || { echo "a plan has written something"; exit 1; }
done
