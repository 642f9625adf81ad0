#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# foreign.sh INVAR MAKE - a training never removes or replaces a file that is not its own,
# and a run that --force replaces stays complete until the new one is complete.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$work".*' EXIT
cd "$work" || exit 1

fail()
{
	echo "$1"
	exit 1
}

# Bytes, modes and targets of links below folders, to be compared later.
state()
{
	find "$@" -printf '%p %y %m %l\n' | sort
	find "$@" -type f -print0 | sort -z | xargs -0 -r sha256sum
}

# refuse WORDS ARGUMENT… - exit 1 and one message with these words; nothing has changed.
refuse()
{
	local words=$1 code=0
	shift
	state . >"$work.before"
	"$invar" train --trial=false "$@" -q 2>"$work.error" || code=$?
	state . >"$work.after"
	[ $code = 1 ] || { cat "$work.error"; fail "exit $code instead of 1: $*"; }
	[ "$(wc -l <"$work.error")" = 1 ] && grep -q -e "$words" "$work.error" ||
		{ cat "$work.error"; fail "not said: $words: $*"; }
	diff "$work.before" "$work.after" || fail "files have changed: $*"
}

"$make" bank bank 64 8
"$make" photos photos 40
short=(--hidden 16 --epochs 2)
images=(--data folder:photos --encoder pixels --size 4 --augment rotation "${short[@]}")

# A new run needs its own folder.
for thing in notes.txt movie.mkv.part report.html metrics.json log.jsonl adapter.safetensors.part .hidden; do
	rm -rf own && mkdir own && echo mine >own/$thing && chmod 600 own/$thing
	refuse "own: contains $thing, which is not part of a run" bank -o own "${short[@]}"
done
refuse 'own: contains .hidden, which is not part of a run' bank -o own "${short[@]}" --force
refuse 'own: contains .hidden, which is not part of a run' "${images[@]}" -o own
rm -rf own && mkdir -p own/clean && echo 'my thesis' >own/clean/thesis.txt
refuse 'own: contains clean, which is not part of a run' bank -o own "${short[@]}"
refuse 'own: contains clean, which is not part of a run' "${images[@]}" -o own --force
rm -rf own && mkdir own && echo '{"kind": "marathon"}' >own/run.json
refuse 'own: contains run.json, which is not part of a run' bank -o own "${short[@]}"
refuse 'own: contains run.json, which is not part of a run' bank -o own "${short[@]}" --force
rm -rf own && mkdir own && ln -s /etc/hostname own/adapter.safetensors
refuse 'own: contains adapter.safetensors, which is not' bank -o own "${short[@]}"

# A run that failed early is tried again by the same command, with nothing else in it.
cat >failed.json <<'JSON'
{
 "format": "invar-run",
 "version": 1,
 "state": "failed",
 "options": {}
}
JSON
for thing in movie.mkv.part report.html metrics.json notes.txt; do
	rm -rf failed && mkdir failed && cp failed.json failed/run.json && echo mine >failed/$thing
	refuse "failed: contains $thing, which is not part of" bank -o failed "${short[@]}"
	refuse "failed: contains $thing, which is not part of" bank -o failed "${short[@]}" --force
done
rm -rf failed && mkdir -p failed/clean && cp failed.json failed/run.json && echo mine >failed/clean/thesis.txt
refuse 'failed: contains clean, which is not part of' bank -o failed "${short[@]}"
refuse 'failed: contains clean, which is not part of' "${images[@]}" -o failed
rm -rf failed/clean
"$invar" train --trial=false bank -o failed "${short[@]}" -q || fail "a failed run is not tried again"

"$make" photos broken 40
photo=$(find broken -type f | sort | tail -1)
cp "$photo" photo && : >"$photo"
other=(--data folder:broken "${images[@]:2}" --limit 0)
"$invar" train --trial=false "${other[@]}" -o mended -q 2>error && fail "a broken image was read"
[ -e mended/run.json ] && grep -q '"failed"' mended/run.json || fail "a failure is not noted"
cp photo "$photo"
"$invar" train --trial=false "${other[@]}" -o mended -q || fail "a training on images is not tried again"

# What lies in a run that --force would replace; a bank of clean features with more in it.
"$invar" train --trial=false bank -o run "${short[@]}" -q || exit 1
"$invar" train --trial=false "${images[@]}" -o pictures -q || exit 1
for thing in run/notes.txt run/movie.mkv.part run/report.html run/clean/thesis.txt; do
	mkdir -p "$(dirname $thing)" && echo mine >$thing
	refuse "run: contains [a-z.]*, which is not part of the run" bank -o run "${short[@]}" --force
	rm -r $thing && rmdir run/clean 2>/dev/null
done
for thing in thesis.txt train/thesis.txt movie.mkv.part train/aug; do
	echo mine >pictures/clean/$thing
	refuse "pictures: contains clean/$thing, which is not part of the run" "${images[@]}" -o pictures --force
	rm pictures/clean/$thing
done
cp pictures/clean/bank.json keep.json
sed -i 's/"encoder": "pixels"/"encoder": "other"/' pictures/clean/bank.json
refuse 'pictures: contains clean, which is not part of the run' "${images[@]}" -o pictures --force
cp keep.json pictures/clean/bank.json
mkdir run.part && echo mine >run.part/notes.txt
refuse 'run.part: contains notes.txt, which is not part of a run' bank -o run "${short[@]}" --force
rm -r run.part && echo mine >run.part
refuse 'run.part: is a file' bank -o run "${short[@]}" --force
rm run.part

# Replaced at once, with the folder's mode; never in between.
chmod 750 run
"$invar" train --trial=false bank -o run/ "${short[@]}" --force --seed 3 -q || fail "--force"
"$invar" train --trial=false bank -o other "${short[@]}" --seed 3 -q || exit 1
cmp run/adapter.safetensors other/adapter.safetensors || exit 1
[ "$(stat -c %a run)" = 750 ] && [ ! -e run.part ] || fail "the folder's mode, or run.part"
"$invar" train --trial=false "${images[@]}" -o pictures --force --seed 3 -q || fail "--force on images"
[ ! -e pictures.part ] || fail "pictures.part is left"
grep -q '"bank": "pictures/clean"' pictures/run.json || fail "run.json names another bank"
! grep -q '"replaces"' run/run.json pictures/run.json || fail "the mark of a replacement is left"
ln -s run link
"$invar" train --trial=false bank -o link "${short[@]}" --force --seed 4 -q || fail "--force through a link"
[ -L link ] && [ ! -e link.part ] && [ ! -e run.part ] || fail "the link"
(cd run && refuse '--force cannot replace the current folder' ../bank -o . "${short[@]}" --force) || exit 1

# Interrupted, failed or killed, --force leaves the old run as it was; --resume continues the new one.
state run >old
long=(--hidden 64 --epochs 40 --checkpoint-seconds 0)
begin()
{
	INVAR_TEST_STOP="train:epoch 3=pause:$work.paused" "$invar" train --trial=false bank -o run "${long[@]}" --force -q 2>error &
	child=$!
	wait_for $child test -e "$work.paused"
	[ -s run.part/checkpoint.safetensors ] || fail "no checkpoint after two epochs"
}
end()
{
	kill -$1 $child
	rm "$work.paused"
	finish $child
	state run | diff old - || fail "SIG$1: the old run has changed"
}
begin
"$invar" eval bank run --metrics structure -q >/dev/null || fail "the old run is of no use meanwhile"
rm run/metrics.json
"$invar" train --trial=false bank -o run --force "${short[@]}" -q 2>other.error && fail "two at once"
grep -q 'another process is training in it' other.error || { cat other.error; exit 1; }
end INT
[ $code = 130 ] && grep -q "'invar train bank -o run --resume'" error || { cat error; fail "interrupted: exit $code"; }
refuse 'already exists' bank -o run "${short[@]}"
mv run away
refuse 'run.part: holds a replacement of run that was interrupted' bank -o run "${short[@]}"
mv away run
begin # again: the interrupted one is replaced
end KILL
cp -r run.part killed
"$invar" train --trial=false bank -o run --force "${short[@]}" --seed 3 -q || fail "--force after a kill"
cmp run/adapter.safetensors other/adapter.safetensors || exit 1
[ ! -e run.part ] || fail "run.part is left"

# Resuming finishes the new run, and notes that were added to the old one stay where they are.
"$invar" train --trial=false bank -o run "${short[@]}" --force -q || exit 1
long=(--hidden 64 --epochs 40 --seed 5 --checkpoint-seconds 0)
"$invar" train --trial=false bank -o whole "${long[@]}" -q || exit 1
state run >old
begin
end KILL
echo 'my notes' >run/notes.txt && chmod 600 run/notes.txt
mkdir run/clean && echo 'my thesis' >run/clean/thesis.txt
"$invar" train --trial=false bank -o run --resume -q || fail "--resume after --force was killed"
cmp run/adapter.safetensors whole/adapter.safetensors || exit 1
[ "$(cat run/notes.txt)" = 'my notes' ] && [ "$(stat -c %a run/notes.txt)" = 600 ] &&
	[ "$(cat run/clean/thesis.txt)" = 'my thesis' ] || fail "the notes are gone"
[ ! -e run.part ] || fail "run.part is left"
rm -r run/notes.txt run/clean

# A run that the user named run.part belongs to the user.
cp -r other run.part
refuse 'run.part: is another run' bank -o run "${short[@]}" --force
"$invar" train --trial=false bank -o run --resume -q || exit 1
diff -r other run.part || fail "somebody's run.part was touched"
cmp run/adapter.safetensors whole/adapter.safetensors || fail "the old run came back"
rm -r run.part

# Killed after the exchange: the rest of the old run is removed, and never resumed.
for how in "--resume" "--force --seed 3 ${short[*]}"; do
	sed -i 's/^ "version": 1,/ "version": 1,\n "replaces": true,/' run/run.json
	cp -r other run.part
	rm run.part/adapter.safetensors
	echo 'my notes' >run.part/notes.txt
	"$invar" train --trial=false bank -o run $how -q 2>error || { [ "$how" != --resume ] && rm run/notes.txt && "$invar" train --trial=false bank -o run $how -q; } ||
		{ cat error; fail "after the exchange: $how"; }
	[ ! -e run.part ] && ! grep -q '"replaces"' run/run.json || fail "the rest of the old run is left: $how"
	[ "$how" != --resume ] || { cmp run/adapter.safetensors whole/adapter.safetensors && rm run/notes.txt; } || fail "$how"
done
cmp run/adapter.safetensors other/adapter.safetensors || exit 1

# Without an exchange of folders there is a moment with the old run under another name.
mv run run.old.part
"$invar" train --trial=false bank -o run --resume -q || fail "the old run is not found"
[ -e run/adapter.safetensors ] && [ ! -e run.old.part ] || fail "the old run is not put back"

# A replacement that fails before its first checkpoint leaves nothing behind.
state run >old
"$invar" train --trial=false bank -o run --force --hidden 16 --epochs 20 --lr 1000 --weight-decay 1000 -q 2>error && fail "it did not fail"
state run | diff old - || fail "a failed --force has changed the old run"
[ ! -e run.part ] || { ls run.part; fail "a failed --force has left run.part"; }
exit 0
