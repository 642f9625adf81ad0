#!/usr/bin/env bash
# symbols.sh LIBINVAR.SO - only invar_* leaves the shared library.
set -eu
foreign=$(nm -D --defined-only "$1" | awk '{print $NF}' | grep -v '^invar_' || true)
[ -z "$foreign" ] || { echo "exported though not public: $foreign"; exit 1; }
[ "$(nm -D --defined-only "$1" | grep -c ' invar_')" -gt 30 ]
