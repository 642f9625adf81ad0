#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hostile.sh INVAR SHARED - hostile images and arrays through `invar data`: one message
# each, exit 1 or counted as broken, memory bounded, nothing executed.
set -u
invar=$(realpath "$1") hostile=${INVAR_SHARED:-$2}/golden/hostile
if [ ! -d "$hostile" ]; then
	echo "skipped: there is no $hostile"
	exit 77
fi
hostile=$(realpath "$hostile")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
complain() {
	echo "$*"
	failed=1
}

# One message that names the file, exit 1.
refused() {
	local name=$1 code
	shift
	"$invar" data "$@" -q > out 2> err
	code=$?
	[ $code = 1 ] && [ "$(wc -l < err)" = 1 ] && [ ! -s out ] && grep -q "^invar: .*$name" err ||
		complain "$name: exit $code: $(cat err)"
}

# All images at once: the valid ones stay, each of the others is named.
mkdir -p images/class
cp "$hostile"/*.jpg "$hostile"/*.png images/class
chmod -R u+w images
"$invar" data folder:images --check --skip-broken --json > out 2> err || complain "$(tail -n 1 err)"
broken=$(sed -n 's/.*"broken": \([0-9]*\).*/\1/p' out)
[ "$broken" -ge 40 ] && [ "$broken" -lt "$(ls images/class | wc -l)" ] || complain "$broken broken"
[ "$(grep -c '^warning: skipped: images/class/' err)" = "$broken" ] || complain "not all are named"
peak=$(sed -n 's/.*peak memory \([0-9]*\) MB/\1/p' err)
[ "$peak" -lt 500 ] || complain "$peak MB for small hostile images"
refused jpg_ folder:images --check

# idx files instead of MNIST's, each with valid labels.
for file in "$hostile"/idx_*; do
	rm -rf digits
	mkdir digits
	case $file in *.gz) ending=.gz ;; *) ending= ;; esac
	cp "$hostile/ok.idx3-ubyte" digits/t10k-images-idx3-ubyte
	cp "$hostile/ok.idx1-ubyte" digits/t10k-labels-idx1-ubyte
	"$invar" data mnist:digits -q > out || complain "the sound pair is refused"
	case $file in
	*labels*) cp "$file" digits/t10k-labels-idx1-ubyte ;;
	*) rm digits/t10k-images-idx3-ubyte && cp "$file" digits/t10k-images-idx3-ubyte$ending ;;
	esac
	refused t10k mnist:digits
done

# Arrays: none of these is a set of images.
for file in "$hostile"/np_*.npy; do
	cp "$file" .
	refused "$(basename "$file")" "npy:$(basename "$file")"
done
[ ! -e /tmp/invar-pwned ] || complain "something was executed"
exit $failed
