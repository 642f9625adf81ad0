#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# transfer.sh OUT BANK BANK - does an adapter help on another data set? Banks of one encoder and one augmentation.
#
# Trains the default preset on each bank and searches both with it: same image @1 and @10 in the old and in the new index.
# `invar check` says for each pair whether it sees drift. INVAR names the program. Prints lines for a table.
set -eu
invar=${INVAR:-invar} out=$1
shift
mkdir -p "$out"
for bank in "$@"; do
	name=$(basename "$bank")
	[ -f "$out/$name/adapter.safetensors" ] || "$invar" train "$bank" -o "$out/$name" --trial=false --force -q
	"$invar" eval "$bank" "$out/$name" --metrics structure --certify -q >/dev/null
done
for trained in "$@"; do
	for searched in "$@"; do
		run=$out/$(basename "$trained") json=$out/$(basename "$trained")-on-$(basename "$searched").json
		"$invar" eval "$searched" "$run" --metrics same-image,structure --json -q >"$json" 2>/dev/null
		"$invar" check "$run" "$searched" --json -q >"$json.check" 2>/dev/null || true # 3 is drift
		python3 - "$json" "$(basename "$trained")" "$(basename "$searched")" <<'PY'
import json, sys
path, trained, searched = sys.argv[1:]
values, verdict = json.load(open(path))["values"], json.load(open(path + ".check"))["verdict"]
one = lambda name, column: 100 * values[name][column]["value"]
E = next(column for column in values["structure.R2"] if column != "F")
cells = []
for index, column in (("old", "F"), ("old", E), ("new", E)):
    for metric in ("l2", "cosine"):
        name = f"same-image.{index}.{metric}.augmented.recall_at_"
        cells.append(" \\| ".join(f"{one(name + k, column):.1f}" for k in ("1", "10")))
clean, R2 = f"{one('same-image.old.l2.clean.recall_at_1', E):.1f}", f"{values['structure.R2'][E]['value']:.3f}"
print("| " + " | ".join([searched, trained, *cells, clean, R2, verdict]) + " |")
PY
	done
done
