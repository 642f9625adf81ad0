#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pull.sh INVAR - `invar models pull` against a server on this machine: complete and
# truncated files, wrong hashes, and unreachable addresses.
set -u
invar=$(realpath "$1") here=$(realpath "$(dirname "$0")")
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
cd "$work" || exit 1
mkdir served
python3 "$here/serve.py" served port &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export LC_ALL=C
head -c 300000 /dev/urandom > served/weights.pth
right=$(sha256sum served/weights.pth | cut -d ' ' -f 1)
wrong=$(echo wrong | sha256sum | cut -d ' ' -f 1)
wait_for $server test -f port
base=http://127.0.0.1:$(cat port) failed=0

complain() {
	echo "$*"
	failed=1
}

# expect CODE PATTERN ARGUMENTS…: the exit code, and a line of either stream.
expect() {
	local code=$1 pattern=$2 got
	shift 2
	"$invar" models pull "$@" > out 2> err
	got=$?
	[ $got = "$code" ] && cat out err | grep -q -- "$pattern" ||
		complain "pull $*: exit $got, wanted $code and '$pattern': $(cat out err)"
	[ "$code" = 0 ] || [ "$(wc -l < err)" = 1 ] || complain "pull $*: not one sentence: $(cat err)"
}

gone() {
	local file
	for file; do
		[ ! -e "$file" ] || complain "$file is there and should not be"
	done
}

# Whole files, with and without a hash to check.
expect 0 "^$right  a.pth" a.pth --url "$base/weights.pth"
grep -q 'no SHA-256 is known' err || complain "the missing hash is not mentioned"
cmp -s a.pth served/weights.pth || complain "a.pth is not what was served"
expect 0 "^$right  b.pth" b.pth --url "$base/weights.pth" --sha256 "${right^^}"
expect 0 '"checked": true' c.pth --url "$base/weights.pth" --sha256 "$right" --json
expect 0 "^$right  d.pth" x.pth -o d.pth --url "file://$work/served/weights.pth"
expect 0 "^$right  e.pth" e.pth --url "$base/to/$base/weights.pth"

# An existing file is not fetched again, and never replaced.
expect 0 'already exists' b.pth --url "$base/nowhere" --sha256 "$right"
expect 1 'already exists' a.pth --url "$base/weights.pth"
expect 1 'another SHA-256' a.pth --url "$base/weights.pth" --sha256 "$wrong"

# Truncated and resumed; the second time only the rest is transferred.
expect 1 'interrupted after 100000 bytes' r.pth --url "$base/cut/100000/weights.pth"
gone r.pth
[ "$(stat -c %s r.pth.invar.part)" = 100000 ] || complain "the part has $(stat -c %s r.pth.invar.part) bytes"
expect 0 'of which 100000 already existed' r.pth --url "$base/weights.pth" --sha256 "$right"
cmp -s r.pth served/weights.pth || complain "the resumed file is not what was served"
gone r.pth.invar.part
grep -q '^/weights.pth bytes=100000-' port.log || complain "no range was asked for"

# A file that changed meanwhile is fetched as a whole, be it known by its ETag or its date, and
# also if the server sends a rest all the same; an unchanged one is resumed.
for kind in '' dated/ deaf/; do
	head -c 300000 /dev/zero > served/moving.pth
	expect 1 'interrupted after 100000 bytes' i.pth --url "$base/${kind}cut/100000/moving.pth"
	[ -s i.pth.invar.part.version ] || complain "$kind: the version is not stored"
	head -c 300000 /dev/urandom > served/moving.pth
	expect 0 'starting from the beginning' i.pth --url "$base/${kind}moving.pth"
	cmp -s i.pth served/moving.pth || complain "$kind: i.pth is half old, half new"
	rm i.pth
	expect 1 'interrupted after 100000 bytes' i.pth --url "$base/${kind}cut/100000/moving.pth"
	expect 0 'of which 100000 already existed' i.pth --url "$base/${kind}moving.pth"
	cmp -s i.pth served/moving.pth || complain "$kind: i.pth is not what was served"
	gone i.pth.invar.part i.pth.invar.part.version
	rm -f i.pth
done
# Without a version, or with a weak one, a rest is asked for only if the SHA-256 is known.
expect 1 'interrupted after 100000 bytes' i.pth --url "$base/weak/cut/100000/weights.pth"
gone i.pth.invar.part.version
expect 0 'may be of another version' i.pth --url "$base/weak/weights.pth"
cmp -s i.pth served/weights.pth || complain "i.pth is not what was served"
expect 1 'interrupted after 100000 bytes' j.pth --url "$base/weak/cut/100000/weights.pth"
expect 0 'of which 100000 already existed' j.pth --url "$base/weak/weights.pth" --sha256 "$right"

# A server without ranges; a part that is already complete; one that is longer than the file.
head -c 5000 served/weights.pth > w.pth.invar.part
expect 0 'cannot resume' w.pth --url "$base/whole/weights.pth" --sha256 "$right"
cp served/weights.pth p.pth.invar.part
expect 0 "^$right  p.pth" p.pth --url "$base/nowhere" --sha256 "$right"
cp served/weights.pth q.pth.invar.part
expect 0 "^$right  q.pth" q.pth --url "$base/weights.pth"
head -c 5000 served/weights.pth > f.pth.invar.part
expect 0 'of which 5000 already existed' f.pth --url "file://$work/served/weights.pth" --sha256 "$right"

# Wrong hashes leave nothing behind, also where the part was not of this file.
expect 1 "SHA-256 is $right but should be $wrong" h.pth --url "$base/weights.pth" --sha256 "$wrong"
gone h.pth h.pth.invar.part
head -c 5000 /dev/zero > h.pth.invar.part
expect 1 'but should be' h.pth --url "$base/weights.pth" --sha256 "$right"
gone h.pth h.pth.invar.part
expect 0 "^$right  h.pth" h.pth --url "$base/weights.pth" --sha256 "$right"

# A part of the user's own is left alone, a link or a pipe of our name is neither followed nor removed.
echo 'a download of a browser' > u.pth.part
expect 0 "^$right  u.pth" u.pth --url "$base/weights.pth" --sha256 "$right"
[ "$(cat u.pth.part)" = 'a download of a browser' ] || complain "u.pth.part was touched"
echo precious > victim
ln -s victim v.pth.invar.part
expect 1 'v.pth.invar.part: cannot be opened: it is a link' v.pth --url "$base/weights.pth"
mkfifo y.pth.invar.part
expect 1 'y.pth.invar.part: is not a regular file' y.pth --url "$base/weights.pth"
ln victim t.pth.invar.part
expect 1 't.pth.invar.part: is a hard link' t.pth --url "$base/weights.pth"
[ "$(cat victim)" = precious ] && [ -L v.pth.invar.part ] && [ -p y.pth.invar.part ] ||
	complain "what stood in the place of a part was touched"

# A name from the list means its file and its hash.
expect 1 'but should be 0676ba61' resnet50 --url "$base/weights.pth"
gone resnet50-0676ba61.pth resnet50-0676ba61.pth.invar.part
expect 1 'but should be b627a593' resnet34-b627a593.pth --url "$base/weights.pth"
expect 0 "  dino_deitsmall8_pretrain.pth" dino_vits8 --url "$base/weights.pth"
expect 2 'has no weights' pixels --url "$base/weights.pth"

# A server that never ends, or promises too much, leaves nothing: not more than the list says,
# than --max-size, than there is disk space. A part that is too long is fetched again.
expect 1 'has more than 2483856 bytes; the file in the list' squeezenet1_1 --url "$base/endless"
expect 1 'has more than 2483856 bytes; the file in the list' squeezenet1_1 --url "$base/claims/2483857"
expect 1 'has more than 1000000 bytes; if that is expected, raise --max-size' m.pth --url "$base/endless" --max-size 0.001
expect 1 'has more than 20000000000 bytes' m.pth --url "$base/claims/20000000001"
expect 1 'does not fit on the disk of m.pth' m.pth --url "$base/claims/900000000000000" --max-size 1000000
gone squeezenet1_1_caffe.f16.safetensors{,.invar.part} m.pth m.pth.invar.part
head -c 2000000 /dev/zero > l.pth.invar.part
expect 0 "^$right  l.pth" l.pth --url "$base/weights.pth" --sha256 "$right" --max-size 0.001
head -c 900000 /dev/urandom > served/large.pth
head -c 200000 served/large.pth > k.pth.invar.part
expect 0 'cannot resume' k.pth --url "$base/whole/large.pth" --max-size 0.001 --sha256 "$(sha256sum < served/large.pth | cut -d ' ' -f 1)"
expect 2 '--max-size' m.pth --url "$base/endless" --max-size 0

# Unreachable addresses.
expect 1 '404: no such file' n.pth --url "$base/nowhere"
expect 1 'cannot be downloaded' n.pth --url http://127.0.0.1:1/weights.pth
expect 1 'cannot be downloaded' n.pth --url "file://$work/nowhere"
expect 2 'must start with http' n.pth --url ftp://127.0.0.1/weights.pth
expect 2 'must start with http' n.pth --url "$base/to/file://$work/served/weights.pth"
expect 1 'cannot write' nowhere/n.pth --url "$base/weights.pth"
expect 2 'must be 64 hexadecimal digits' n.pth --url "$base/weights.pth" --sha256 abc
expect 2 'URL is missing' n.pth
gone n.pth n.pth.invar.part

# A full disk: a message, and the part is kept for later.
(
	trap '' XFSZ
	ulimit -f 100
	"$invar" models pull full.pth --url "$base/weights.pth" > out 2> err
	echo $? > code
)
[ "$(cat code)" = 1 ] && grep -q 'full.pth.invar.part: cannot write: File too large' err ||
	complain "a full disk: exit $(cat code), $(cat err)"
gone full.pth
expect 0 'already existed' full.pth --url "$base/weights.pth" --sha256 "$right"
exit $failed
