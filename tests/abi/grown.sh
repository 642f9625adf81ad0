#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# grown.sh CALLER LIBINVAR.SO GROWN_LIBINVAR.SO - one program, with the library that it was
# compiled for and with a later one, whose tables and structs have grown.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/plain" "$work/grown"
LD_LIBRARY_PATH=$(dirname "$2") "$1" "$work/plain" plain
LD_LIBRARY_PATH=$(dirname "$3") "$1" "$work/grown" grown
