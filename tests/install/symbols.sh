#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# symbols.sh LIBINVAR.SO INVAR.H - what the header declares leaves the shared library, under
# the version INVAR_0, and nothing else does.
set -eu
exported=$(nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" {print $NF}' | sort)
declared=$(cc -E -P "$2" | sed 's/(\*/*/g' | grep -o 'invar_[a-z0-9_]* *(' | tr -d ' (' | sort -u | sed 's/$/@@INVAR_0/')
difference=$(diff <(printf '%s\n' "$declared") <(printf '%s\n' "$exported") || true)
[ -z "$difference" ] || { echo "declared (<) and exported (>) differ:"; echo "$difference"; exit 1; }
