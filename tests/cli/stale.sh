#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# stale.sh INVAR SOURCE - fails if a generated page differs from the tables.
set -eu
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$2/man/generate" "$1" "$fresh"
for file in docs/reference/CLI.md docs/reference/recipe.schema.json docs/reference/MODELS.md docs/AUGMENTATIONS.md completions/invar completions/_invar completions/invar.fish $(cd "$fresh" && ls man/*.1); do
	if ! cmp -s "$fresh/$file" "$2/$file"; then
		echo "$file is stale: run man/generate $1"
		diff -u "$2/$file" "$fresh/$file" | head -20
		exit 1
	fi
done
