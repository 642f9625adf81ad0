#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# linked.sh INVAR LIBINVAR.SO - the program takes all of libinvar from the shared library, so
# the linker enforces the public header; and libraries that are loaded on first use are linked to neither.
set -eu
name=$(objdump -p "$2" | awk '$1 == "SONAME" {print $2}')
objdump -p "$1" | grep -q "NEEDED *$name" || { echo "$1 is not linked to $name"; exit 1; }
for one in libopenblas libdnnl libarpack; do
	! objdump -p "$1" "$2" | grep "NEEDED *$one" || { echo "$one is loaded before main"; exit 1; }
done
"$1" --version > /dev/null
