#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# linked.sh INVAR LIBINVAR.SO - libraries that are loaded on first use are linked to neither.
set -eu
for one in libopenblas libarpack; do
	! objdump -p "$1" "$2" | grep "NEEDED *$one" || { echo "$one is loaded before main"; exit 1; }
done
"$1" --version > /dev/null
