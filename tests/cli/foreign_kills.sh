#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# foreign_kills.sh INVAR MAKE - train, train --data, train --force, encode and eval are killed at
# random points, beside foreign files in every folder they use: these keep their
# bytes and modes, and the work ends in the same bytes as without kills. KILLS=60 for more.
set -u
invar=$(realpath "$1") make=$(realpath "$2") kills=${KILLS:-6}
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/here" && cd "$work/here" || exit 1
RANDOM=${SEED:-1}

fail()
{
	[ ! -s ../error ] || cat ../error
	echo "$1 (SEED=${SEED:-1} KILLS=$kills)"
	exit 1
}

# ---- Files of others -----------------------------------------------------------

# plant FOLDER - adds files as a user who keeps notes there; `written` lists them all.
plant()
{
	[ ! -e "$1/notes.txt" ] || return 0
	echo "notes on $1" >"$1/notes.txt"
	echo "half of a film in $1" >"$1/movie.mkv.part"
	echo "a page on $1" >"$1/report.html"
	echo "not for all: $1" >"$1/private" && chmod 600 "$1/private"
	ln -s notes.txt "$1/link"
	written+=("$1"/{notes.txt,movie.mkv.part,report.html,private,link})
	mkdir -p "$1/clean" && echo "a thesis on $1" >"$1/clean/thesis.txt"
	written+=("$1/clean/thesis.txt")
	record >../recorded
}

record()
{
	stat -c '%n %F %a %s %N' "${written[@]}"
	sha256sum "${written[@]}"
}

check()
{
	record 2>&1 | diff ../recorded - || fail "$1: files of others have changed"
}

# ---- What is done ----------------------------------------------------------------

written=()
"$make" bank bank 1000 32
"$make" photos photos 300
long=(--threads 1 --hidden 128 --epochs 30 --batch-size 64 --checkpoint-seconds 0 -q)
images=(--data folder:photos --encoder pixels --size 8 --augment rotation)
images_long=(--threads 1 --hidden 64 --epochs 6 --batch-size 64 --checkpoint-seconds 0 -q)
encode=(folder:photos --encoder pixels --size 8 --augment rotation+noise --copies 12 --holdout 0.3 --threads 1 -q)
measure=(--threads 1 --metrics structure,knn,lc --probe-epochs 3 -q)

# The same without kills, in separate folders.
mkdir ../whole
count=()
count[0]=$(points "$invar" train --trial=false bank -o ../whole/train "${long[@]}")
count[1]=$(points "$invar" train --trial=false "${images[@]}" -o ../whole/images "${images_long[@]}")
count[2]=${count[0]}
count[3]=$(points "$invar" encode "${encode[@]}" -o ../whole/encode)
"$invar" train --trial=false bank -o ../whole/old "${long[@]}" --seed 1 --epochs 2 || exit 1
cp -r ../whole/old ../whole/eval
count[4]=$(points "$invar" eval bank ../whole/eval "${measure[@]}")
rm -rf bank/cache

plant .
plant bank
for file in notes.txt movie.mkv.part private; do # a data set is taken as it is
	echo mine >photos/$file && written+=(photos/$file)
done
chmod 600 photos/private
record >../recorded

# What there must be before the work called NAME can begin: a run to replace or to measure.
prepare()
{
	case $1 in force | eval) [ -e "$2" ] || cp -r ../whole/old "$2" ;; esac
}

# run_KIND NAME - one more call; replaces the shell, so that it can be killed by its number.
run_train() { exec "$invar" train --trial=false bank -o "$1" "${long[@]}" $([ ! -e "$1/run.json" ] || echo --resume); }
run_images()
{
	[ ! -e "$1/run.json" ] || exec "$invar" train --trial=false "${images[@]:0:2}" -o "$1" -q --resume
	exec "$invar" train --trial=false "${images[@]}" -o "$1" "${images_long[@]}"
}
run_force()
{
	! grep -qs '"replaces"' "$1.part/run.json" "$1/run.json" ||
		exec "$invar" train --trial=false bank -o "$1" -q --threads 1 --resume
	! cmp -s "$1/adapter.safetensors" ../whole/old/adapter.safetensors ||
		exec "$invar" train --trial=false bank -o "$1" "${long[@]}" --force
}
run_encode() { exec "$invar" encode "${encode[@]}" -o "$1"; }
run_eval() { exec "$invar" eval bank "$1" "${measure[@]}" >/dev/null; }

# The folder of a run, or of a bank, gets notes as soon as it has begun. A run that --force is
# to replace gets them only once the new one has begun, for it is refused with them; a run on
# images once its bank has begun, for a folder of others in its place is refused.
plant_into()
{
	case $1 in
	force) [ ! -e "$2.part/checkpoint.safetensors" ] || plant "$2" ;;
	encode) [ ! -e "$2/bank.json" ] || plant "$2" ;;
	images) [ ! -e "$2/clean/bank.json" ] || plant "$2" ;;
	*) [ ! -e "$2/run.json" ] || plant "$2" ;;
	esac
}

# Its result equals that of the work without kills.
compare()
{
	case $1 in
	train | force) cmp "$2/adapter.safetensors" ../whole/train/adapter.safetensors ;;
	images)
		cmp "$2/adapter.safetensors" ../whole/images/adapter.safetensors &&
			diff -r -x thesis.txt "$2/clean" ../whole/images/clean
		;;
	encode) diff -r -x notes.txt -x movie.mkv.part -x report.html -x private -x link -x thesis.txt -x clean "$2" ../whole/encode ;;
	eval) cmp "$2/metrics.json" ../whole/eval/metrics.json ;;
	esac || fail "$2: another result"
	[ ! -e "$2.part" ] && [ ! -e "$2.old.part" ] || fail "$2: something is left beside it"
}

# ---- Kills -----------------------------------------------------------------------

kinds=(train images force encode eval)
is_paused_or_gone() { [ -e "$work/paused" ] || ! kill -0 "$1" 2>/dev/null; }

round=(0 0 0 0 0)
died=0 finished=0
for ((i = 0; died < kills && i < 10 * kills; i++)); do
	k=$((i % 5)) kind=${kinds[i % 5]}
	name=$kind.${round[k]}
	prepare $kind $name
	INVAR_TEST_STOP="$((1 + RANDOM % count[k]))=pause:$work/paused" run_$kind $name 2>../error &
	child=$!
	wait_for $child is_paused_or_gone $child
	plant_into $kind $name
	kill -9 $child 2>/dev/null
	rm -f "$work/paused"
	finish $child
	case $code in
	137) died=$((died + 1)) ;;
	0)
		finished=$((finished + 1))
		compare $kind $name
		round[k]=$((round[k] + 1))
		;;
	*) fail "call $i, $kind: exit $code" ;;
	esac
	check "call $i, $kind"
	[ $kind != force ] || [ ! -e $name.part ] || cmp $name/adapter.safetensors ../whole/old/adapter.safetensors ||
		cmp $name/adapter.safetensors ../whole/train/adapter.safetensors || fail "call $i: the old run is not whole"
done
for k in 0 1 2 3 4; do
	kind=${kinds[k]} name=${kinds[k]}.${round[k]}
	prepare $kind $name
	(run_$kind $name) 2>../error || fail "$name does not go on"
	compare $kind $name
	check "$name, to its end"
done
echo "$died killed, $finished finished before, ${#written[@]} files of others unchanged"
exit 0
