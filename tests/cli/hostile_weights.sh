#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hostile_weights.sh INVAR SHARED - hostile weight files through the program: one message each
# that names the file, exit 1, memory bounded, nothing left behind, nothing executed.
set -u
invar=$(realpath "$1") shared=${INVAR_SHARED:-$2}
hostile=$shared/golden/hostile images=$shared/golden/encoders/in_32x32.npy
if [ ! -d "$hostile" ] || [ ! -e "$images" ]; then
	echo "skipped: there is no $hostile or no $images"
	exit 77
fi
hostile=$(realpath "$hostile") images=$(realpath "$images")
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# The sanitizers reserve terabytes of addresses, so their own memory limit is used.
if bash -c 'ulimit -v 4000000 && "$0" --version' "$invar" > /dev/null 2>&1; then
	ulimit -v 4000000
else
	export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}hard_rss_limit_mb=2000:max_allocation_size_mb=2000"
fi

refused() {
	local name=$1 code
	shift
	timeout "$hang" "$invar" "$@" > out 2> err
	code=$?
	[ $code = 1 ] && [ "$(wc -l < err)" = 1 ] && [ ! -s out ] && grep -q "^invar: .*$name" err &&
		[ "$(ls)" = "$(printf 'err\nout')" ] && return
	echo "$name: $1: exit $code: $(cat err) $(ls)"
	failed=1
}

for file in "$hostile"/{leg,pk,tn,zip}_*.pth "$hostile"/st_*.safetensors; do
	name=$(basename "$file")
	refused "$name" models inspect "$file"
	refused "$name" models convert "$file" new.safetensors
	refused "$name" features "$images" -o new.npy --weights "$file"
done
for file in "$hostile"/{leg_system,pk_memo_bomb,zip_bomb,tn_broadcast_bomb}.pth; do
	refused "$(basename "$file")" encode "npy:$images" -o bank --weights "$file"
done
[ ! -e /tmp/invar-pwned ] || {
	echo "something was executed"
	failed=1
}
exit $failed
