#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# graphs.sh OUT BANK… - what adapters do to neighbour graphs and to displacement.
#
#     recipes/graphs.sh out data/bank-*
#
# On each bank: keep and instant, the paper's MaWa and WaCo with EPOCHS epochs (30); then
# one table of the distances between graphs of nearest neighbours before and after E, and of
# the displacement of copies, to standard output and to OUT/BANK/table.md; the numbers are also
# in the metrics.json of each run. Adapters that are already in OUT are not trained again.
# HIDDEN is the number of hidden units (empty: each preset's own) and INVAR the program, if
# it is not on PATH.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: graphs.sh OUT BANK…" >&2; exit 2; }
out=$1
shift
epochs=${EPOCHS:-30} width=(${HIDDEN:+--hidden "$HIDDEN"})
. "$(dirname "$0")/common.sh"

for bank in "$@"; do
	name=$(basename "$bank")
	to=$out/${name#bank-}
	mkdir -p "$to"
	train_once "$to/keep" "$bank" --preset keep "${width[@]}"
	train_once "$to/instant" "$bank" --preset instant "${width[@]}"
	train_once "$to/MaWa" "$bank" --preset paper --epochs "$epochs" "${width[@]}"
	train_once "$to/WaCo" "$bank" --preset paper --loss waco --epochs "$epochs" "${width[@]}"
	echo "${name#bank-}"
	"$invar" eval "$bank" "$to"/{keep,instant,MaWa,WaCo} --metrics invariance,graph --format markdown -o "$to/table.md"
done
