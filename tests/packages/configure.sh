#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# configure.sh MESON SOURCE - what is missing on a machine: one message names all libraries and their Debian packages; an MPI
# without its header, as Debian's openmpi-bin is, counts as none, unless it is asked for.
set -eu
meson=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	cat "$work/log"
	echo "$1"
	exit 1
}

# configure OPTION…
configure() {
	rm -rf "$work/build"
	"$meson" setup "$work/build" "$source" -Dtests=false "$@" >"$work/log" 2>&1
}

export PKG_CONFIG_LIBDIR=$work/none
! configure -Dyaml=enabled -Drsvg=disabled || fail "configured without libraries"
[ "$(grep -c ERROR: "$work/log")" = 1 ] || fail "not one message"
for package in libturbojpeg0-dev libtiff-dev libyaml-dev; do
	grep -q "ERROR: .*on Debian: apt-get install .*$package" "$work/log" || fail "$package is not named"
done
! grep -q 'ERROR: .*\(librsvg2-dev\|libcmocka-dev\)' "$work/log" || fail "a package is named that is not needed"

# Without a compiler, and so without a look at the libraries.
! CC=/nowhere/cc configure || fail "configured without a compiler"
grep -q 'ERROR: .*C compiler; on Debian: apt-get install gcc libc6-dev pkg-config libjansson-dev .*zlib1g-dev$' "$work/log" ||
	fail "the packages of the compiler and the libraries are not named"

# Everything but MPI, and an mpicc that says where its header would be.
unset PKG_CONFIG_LIBDIR
mkdir "$work/pc" "$work/bin"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	for file in "$folder"/*.pc; do
		case ${file##*/} in
		ompi* | mpi* | '*.pc') ;;
		*) ln -sf "$file" "$work/pc/" ;;
		esac
	done
done
cat >"$work/bin/mpicc" <<'TEXT'
#!/bin/sh
case $1 in
--showme:version) echo 'mpicc: Open MPI 4.1.4 (Language: C)' ;;
--showme:compile) echo '-I/nowhere/openmpi/include -pthread' ;;
--showme:link) echo '-pthread' ;;
esac
TEXT
chmod +x "$work/bin/mpicc"
export PKG_CONFIG_LIBDIR=$work/pc PATH=$work/bin:$PATH
unset MPICC
configure || fail "an MPI without its header is an error"
grep -q 'MPI for c found: YES' "$work/log" || fail "the made mpicc was not found"
! grep -q invar_mpi "$work/build/build.ninja" || fail "the plugin for MPI would be built without mpi.h"
! configure -Dmpi=enabled || fail "configured without the MPI that was asked for"
grep -q 'ERROR: .*mpi\.h.*apt-get install libopenmpi-dev' "$work/log" || fail "libopenmpi-dev is not named"
