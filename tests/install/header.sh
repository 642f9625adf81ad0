#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# header.sh INVAR_H - the public header compiles alone, in C11 and in C++11.
set -eu
cc -x c -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "$1"
if ! command -v c++ > /dev/null; then
	echo "skipped: there is no C++ compiler"
	exit 77
fi
c++ -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "$1"
