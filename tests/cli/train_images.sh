#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# train_images.sh INVAR MAKE WEIGHTS - fresh copies in every epoch: those of epoch 0 are the copies
# of a bank; threads, interruptions and kills change no byte.
set -eu
invar=$(realpath "$1") make=$(realpath "$2") weights=$(realpath "$3")
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail()
{
	echo "$1"
	exit 1
}

"$make" photos photos 600
images=(--data folder:photos --encoder pixels --size 8 --augment rotation+noise:std=0.1)
short=(--hidden 64 --batch-size 64 -q)

# One epoch on the only copy of a bank, and on images: the same adapter.
for space in normalized pixel; do
	"$invar" encode folder:photos "${images[@]:2}" --augment-space $space --copies 1 --seed 3 -o bank-$space -q
	"$invar" train --trial=false bank-$space -o by-bank-$space "${short[@]}" --samples 1 --epochs 1 --seed 3
	"$invar" train "${images[@]}" --augment-space $space -o by-images-$space "${short[@]}" --samples 1 --epochs 1 --seed 3
	cmp by-bank-$space/adapter.safetensors by-images-$space/adapter.safetensors
	cmp bank-$space/train/clean.npy by-images-$space/clean/train/clean.npy
done

# The same with --unit: copies that are made are normalised as stored ones are.
"$invar" train --trial=false bank-normalized -o unit-by-bank "${short[@]}" --samples 1 --epochs 1 --seed 3 --unit
"$invar" train "${images[@]}" -o unit-by-images "${short[@]}" --samples 1 --epochs 1 --seed 3 --unit
cmp unit-by-bank/adapter.safetensors unit-by-images/adapter.safetensors
grep -q '"invar.unit":"1"' unit-by-images/adapter.safetensors || fail "it is not said that the adapter is unit"

# The same with --scaled and a decoder; stopped and resumed, the same again.
scaled=("${short[@]}" --loss mawa --scaled --decoder --samples 1 --seed 3 --validation 0.1 --keep best)
"$invar" train bank-normalized -o scaled-by-bank "${scaled[@]}" --epochs 1
"$invar" train "${images[@]}" -o scaled-by-images "${scaled[@]}" --epochs 1
for file in adapter decoder; do
	cmp scaled-by-bank/$file.safetensors scaled-by-images/$file.safetensors
done
"$invar" train "${images[@]}" -o scaled "${scaled[@]}" --epochs 12
stop_at 'train:epoch 5=int' "$invar" train "${images[@]}" -o scaled-again "${scaled[@]}" --epochs 12
[ $code = 130 ] || fail "exit $code instead of 130"
"$invar" train "${images[@]:0:2}" -q --resume -o scaled-again
cmp scaled/adapter.safetensors scaled-again/adapter.safetensors

# Later epochs have other copies: a second epoch does not repeat the first.
"$invar" train --trial=false bank-normalized -o two-by-bank "${short[@]}" --samples 1 --epochs 2 --seed 3
"$invar" train "${images[@]}" -o two-by-images "${short[@]}" --samples 1 --epochs 2 --seed 3
! cmp -s two-by-bank/adapter.safetensors two-by-images/adapter.safetensors || fail "epoch 1 has the copies of epoch 0"

# Threads.
for n in 1 2; do
	"$invar" train "${images[@]}" -o threads$n "${short[@]}" --epochs 3 --validation 0.1 --keep best --threads $n
done
cmp threads1/adapter.safetensors threads2/adapter.safetensors

# Every loss.
for loss in 'waco --projections 20' 'simclr' 'hsic' 'keep' 'mawa --samples 0' 'waco --projections 20 --width 8 --decoder'; do
	"$invar" train "${images[@]}" -o loss --force "${short[@]}" --epochs 1 --loss $loss
	[ -e loss/adapter.safetensors ] || fail "$loss"
done

# Killed and interrupted, in mid-epoch too.
long=("${short[@]}" --epochs 20 --checkpoint-seconds 0 --threads 1)
count=$(points "$invar" train "${images[@]}" -o whole "${long[@]}")
again=("${images[@]:0:2}" -q --resume) # all else is known from the run
for moment in 1 2 3 4 5 6; do
	if [ -e run/run.json ]; then words=("${again[@]}"); else words=("${images[@]}" "${long[@]}"); fi
	if [ $((moment % 2)) = 0 ]; then action=int expected=130; else action=kill expected=137; fi
	stop_at "$((count * moment / 40))=$action" "$invar" train "${words[@]}" -o run 2>message
	[ $code = $expected ] || { cat message; fail "exit $code instead of $expected"; }
	[ $action = kill ] || grep -q "^invar: interrupted; 'invar train --data folder:photos -o run --resume" message ||
		{ cat message; fail "no word about --resume"; }
done
if [ -e run/run.json ]; then words=("${again[@]}"); else words=("${images[@]}" "${long[@]}"); fi
"$invar" train "${words[@]}" -o run
cmp whole/adapter.safetensors run/adapter.safetensors
diff -r whole/clean run/clean

# A run resumes without its options, and with equivalent ones.
"$invar" train "${again[@]}" -o whole
"$invar" train "${again[@]}" -o whole --augment rotation:degrees=-180..180+noise:std=0.1 --encoder pixels --size 8
cmp whole/adapter.safetensors run/adapter.safetensors
"$invar" train "${images[@]:0:6}" --loss mawa --samples 0 --holdout 0.25 --split test -o few "${short[@]}" --epochs 2
cp -r few again
rm again/adapter.safetensors again/checkpoint.safetensors
"$invar" train "${again[@]}" -o again
cmp few/adapter.safetensors again/adapter.safetensors

# The encoder's weights and options too, from wherever the weights are now.
cp "$weights" w.safetensors
network=(--data folder:photos --weights w.safetensors --size 16 --augment rotation --bn-eps 1e-4 --stride 1x1 --limit 70)
"$invar" train "${network[@]}" -o net "${short[@]}" --epochs 2 --samples 1
cp -r net net2
rm net2/adapter.safetensors net2/checkpoint.safetensors
"$invar" train "${again[@]}" -o net2
cmp net/adapter.safetensors net2/adapter.safetensors
mv w.safetensors moved.safetensors
! "$invar" train "${again[@]}" -o net2 2>error || fail "without its weights"
grep -q w.safetensors error
"$invar" train "${again[@]}" -o net2 --weights moved.safetensors
grep -q '"weights": "moved.safetensors"' net2/run.json

# Errors, one message each.
refuse()
{
	want=$1 words=$2
	shift 2
	code=0
	"$invar" train "$@" 2>error || code=$?
	cat error
	[ $code = "$want" ] || fail "exit $code instead of $want: $*"
	[ "$(wc -l <error)" = 1 ] && grep -q -e "$words" error || fail "not said: $words"
}
refuse 2 'not both' bank-pixel "${images[@]}" -o new
refuse 2 'BANK is missing' -o new
refuse 2 '--augment needs --data, which is not set' bank-pixel --augment rotation -o new
refuse 2 'set --augment SPEC' "${images[@]:0:6}" -o new
refuse 2 'every epoch makes its own' "${images[@]}" --copies 2 -o new
refuse 2 '--init ridge needs a bank' "${images[@]}" --init ridge -o new
refuse 2 '--loss none needs a bank' "${images[@]}" --loss none --init identity -o new
[ ! -e new ] || fail "a folder was made"
refuse 1 'was made with augment rotation+noise:std=0.1, not noise' "${images[@]:0:6}" --augment noise -o whole --resume
refuse 1 'was made with size \[8, 8\], not \[9, 9\]' "${again[@]}" --size 9 -o whole
refuse 1 'has 600 rows but 450 images were selected' "${again[@]}" --holdout 0.25 -o whole
refuse 1 'was started with --hidden 64, so it cannot be resumed with 32' "${again[@]}" --hidden 32 -o whole
refuse 1 'was made with bn-eps 0.0001, not 0.001' "${again[@]}" --weights moved.safetensors --bn-eps 1e-3 -o net
refuse 1 'started on a bank' "${again[@]}" -o by-bank-pixel
refuse 1 'there is nothing to resume' "${again[@]}" -o new
cp -r whole older # as from before options of images were kept
sed -i '/^   "augment":/d' older/run.json
refuse 2 'set --augment SPEC' "${again[@]}" -o older
"$invar" train "${again[@]}" "${images[@]:6}" -o older
sed -i 's/^   "size": ".*/   "size": 8,/' older/run.json
refuse 1 'the value of "size" is not valid' "${again[@]}" -o older
refuse 1 'already exists' "${images[@]}" -o whole
"$invar" train "${images[@]:0:6}" --augment noise -o whole --force "${short[@]}" --epochs 1
grep -q '"augment": "noise"' whole/clean/bank.json
