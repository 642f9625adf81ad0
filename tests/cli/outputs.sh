#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# outputs.sh INVAR MAKE - a command never overwrites its input, and a file with another ending only with
# --force: every command, every name a file can have.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive LC_ALL=C.UTF-8
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
complain() {
	echo "$*"
	failed=1
}

# refused CODE PATTERN ARGUMENTS…: one message, and no file was changed, added or removed.
refused() {
	local code=$1 pattern=$2 got
	shift 2
	find . ! -name '.said*' \( -type f -exec sha256sum {} + -o ! -type f -print \) | sort > .said_before
	timeout "$hang" "$invar" "$@" -q > .said_out 2> .said_err < /dev/null
	got=$?
	find . ! -name '.said*' \( -type f -exec sha256sum {} + -o ! -type f -print \) | sort > .said_after
	[ $got = "$code" ] && grep -q -- "$pattern" .said_err && [ "$(wc -l < .said_err)" = 1 ] ||
		complain "invar $*: exit $got, wanted $code and '$pattern': $(cat .said_err)"
	cmp -s .said_before .said_after || complain "invar $*: $(diff .said_before .said_after)"
}

# done_by ARGUMENTS…: exit 0.
done_by() {
	timeout "$hang" "$invar" "$@" -q > .said_out 2> .said_err < /dev/null ||
		complain "invar $*: exit $?: $(cat .said_err)"
}

"$make" bank bank
"$make" photos ph 4
"$make" npy x.npy 6 8
"$make" npy a.npy 6 2 8
"$make" npy t.npy 4 3 8 8
"$invar" train --trial=false bank -o run --hidden 16 --epochs 1 -q || exit 1
photo=$(find ph -name '*.png' | sort | head -n 1)
cp "$photo" photo.png
"$invar" augment rotation t.npy -o u.npy --params-out p.json -q || exit 1
echo 'my notes' > notes
mkfifo pipe

# The input itself, by its name, another spelling, and links of both kinds; also with --force.
ln -s photo.png by_link.png
ln photo.png by_hard_link.png
for name in photo.png ./photo.png by_link.png by_hard_link.png; do
	refused 2 "would replace a file" augment rotation photo.png -o "$name"
	refused 2 "would replace a file" augment rotation photo.png -o "$name" --force
done
refused 2 'would replace a file' augment rotation t.npy -o t.npy
refused 2 'would replace a file' augment rotation t.npy -o u.npy --params p.json --params-out p.json
refused 2 'would replace a file' augment rotation t.npy -o u.npy --params-out t.npy
refused 2 'both u.npy' augment rotation t.npy -o u.npy --params-out u.npy
ln "$photo" elsewhere.png
ln -s "../../photo.png" "$(dirname "$photo")/linked.png"
for name in "$photo" elsewhere.png photo.png; do
	refused 2 'would replace a file' data folder:ph --sheet "$name"
	refused 2 'would replace a file' data folder:ph --sheet "$name" --force
done
rm "$(dirname "$photo")/linked.png" elsewhere.png
refused 2 'would replace a file' eval bank run -o bank/test/clean.npy
refused 2 'would replace a file' eval bank run -o bank/test/clean.npy --force
refused 2 'would replace a file' eval bank run -o run/adapter.safetensors --force
refused 2 'would replace a file' eval bank run -o run/run.json
refused 2 'would replace a file' apply run x.npy -o run/adapter.safetensors
refused 2 'would replace a file' apply run x.npy -o x.npy
refused 2 'would replace a file' apply run x.npy -o x.npy --force
refused 2 'would replace a file' features t.npy -o ./t.npy --encoder pixels
refused 2 'would replace a file' features t.npy -o run/adapter.safetensors --weights run
refused 2 'would replace a file' models convert run/adapter.safetensors run/adapter.safetensors --force
mkdir g
cp x.npy g/a.npy
"$make" npy y.npy 6 8
refused 2 'g/a.npy would replace a file' loss sw --a g/a.npy --b y.npy --grad g
refused 2 'g/a.npy would replace a file' loss sw --a y.npy --b g/a.npy --grad g --force
cp a.npy g/codes.npy
refused 2 'g/codes.npy would replace a file' loss mawa --adapter run --clean x.npy --aug g/codes.npy --grad g
cp x.npy piped.npy
timeout "$hang" "$invar" apply run - -o piped.npy -q < piped.npy 2> .said_err
[ $? = 2 ] && cmp -s x.npy piped.npy || complain "standard input was replaced: $(cat .said_err)"

# A part file: an input of that name, and a user's own one.
cp x.npy z.npy.invar.part
refused 2 'would replace a file' apply run z.npy.invar.part -o z.npy
rm z.npy.invar.part
cp x.npy z.npy.part
done_by apply run z.npy.part -o z.npy
cmp -s x.npy z.npy.part || complain "the user's z.npy.part was touched"
cp run/adapter.safetensors w.pth.invar.part
refused 2 'would replace a file' models pull w.pth --url "file://$work/w.pth.invar.part"
rm w.pth.invar.part
for name in link fifo; do
	rm -f o.npy.invar.part
	if [ $name = link ]; then ln -s ../notes o.npy.invar.part; else mkfifo o.npy.invar.part; fi
	refused 1 'o.npy.invar.part: is .*remove it' apply run x.npy -o o.npy
done
rm o.npy.invar.part
[ "$(cat notes)" = 'my notes' ] || complain "the target of a link was overwritten"

# Within the data: nothing.
refused 2 'is inside ph, which this command reads' data folder:ph --sheet ph/sheet.png
refused 2 'is inside ph, which this command reads' data folder:ph --sheet ph/sheet.svg --force
refused 2 'is inside bank, which this command reads' eval bank run -o bank/results.json
refused 2 'is inside bank, which this command reads' eval bank run -o bank/results.json --force
refused 2 'is inside ph, which this command reads' encode folder:ph -o ph/bank --size 4
refused 2 'is inside ph, which this command reads' encode folder:ph -o ph/new/bank --size 4
refused 2 'is inside ph, which this command reads' train --data folder:ph -o ph/run --size 4 --augment rotation
refused 2 'is inside ph, which this command reads' demo --data folder:ph -o ph/demo
refused 2 'is inside bank, which this command reads' train bank -o bank/run
ln -s bank beside
refused 2 'is inside bank, which this command reads' train bank -o beside/run
rm beside

# Files with another ending: only with --force. With the same ending, and empty ones: replaced.
echo '{"mine": 1}' > mine.json
for name in notes mine.json; do
	refused 1 "$name: already exists" apply run x.npy -o $name
	refused 1 "$name: already exists" features t.npy -o $name --encoder pixels
	refused 1 "$name: already exists" augment rotation t.npy -o $name
	refused 1 "$name: already exists" models convert run/adapter.safetensors $name
	refused 1 "$name: already exists" augment rotation photo.png -o $name
	refused 1 "$name: already exists" data folder:ph --sheet $name
done
refused 1 'notes: already exists' eval bank run -o notes
refused 1 'notes: already exists' augment rotation t.npy -o new.npy --params-out notes
for round in 1 2; do
	done_by apply run x.npy -o again.npy
	done_by eval bank run -o again.json --metrics structure
	done_by augment rotation photo.png -o again.svg
	done_by models convert run/adapter.safetensors again.safetensors
done
rm -r g
mkdir g demo
mkdir g/codes.npy
refused 1 'g/codes.npy: is a folder' loss mawa --adapter run --clean x.npy --aug a.npy --grad g
rmdir g/codes.npy
cp mine.json demo/table.json
refused 1 'demo/table.json: already exists' demo --data folder:ph -o demo
done_by loss mawa --adapter run --clean x.npy --aug a.npy --grad g
done_by loss mawa --adapter run --clean x.npy --aug a.npy --grad g
forced() {
	echo 'of another kind' > target
	done_by "$@" --force
	grep -q '^of another kind$' target && complain "--force did nothing: $*"
	: > target
	done_by "$@"
}
forced apply run x.npy -o target
forced features t.npy -o target --encoder pixels
forced augment rotation t.npy -o target
forced augment rotation t.npy -o u.npy --params-out target
forced augment rotation photo.png -o target
forced data folder:ph --sheet target
forced eval bank run -o target --metrics structure
forced models convert run/adapter.safetensors target
if [ "$(id -u)" != 0 ]; then
	chmod a-w again.safetensors
	refused 1 'again.safetensors: is write-protected' models convert run/adapter.safetensors again.safetensors
	done_by models convert run/adapter.safetensors again.safetensors --force
fi

# Pipes, devices, standard output by other names, and '-' where it means nothing.
for name in pipe /dev/null; do
	refused 1 "$name: is a pipe or a device, expected a file; '-o -'" apply run x.npy -o $name
	refused 1 "$name: is a pipe or a device" eval bank run -o $name
	refused 1 "$name: is a pipe or a device" augment rotation photo.png -o $name
done
for name in /dev/stdout /dev/fd/1; do
	timeout "$hang" "$invar" apply run x.npy -o $name -q 2> .said_err | cat > .said_out
	[ "${PIPESTATUS[0]}" = 1 ] && grep -q "'-o -'" .said_err || complain "$name: $(cat .said_err)"
	timeout "$hang" "$invar" apply run x.npy -o $name -q 2> .said_err > stream.npy
	[ $? = 2 ] && grep -q "'-o -'" .said_err || complain "$name > file: $(cat .said_err)"
done
rm stream.npy
for command in 'augment rotation photo.png -o -' 'augment rotation t.npy -o -' \
	'augment rotation t.npy -o u.npy --params-out -' 'data folder:ph --sheet -' \
	'eval bank run -o -' 'models convert run -' 'models pull - --url file:///nowhere' \
	'encode folder:ph -o - --size 4' 'train bank -o -' 'demo --data folder:ph -o -' \
	'loss mawa --adapter run --clean x.npy --aug a.npy --grad -'; do
	refused 2 "'-' is not a" $command
done
refused 2 "'' is not a" models convert run ''
exit $failed
