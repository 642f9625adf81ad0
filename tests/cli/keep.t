KEEP: what it takes, what it records, what it refuses.

$ make-input bank bank; echo 'invar train --trial=false bank --hidden 16 --epochs 3 --seed 3 -q "$@"' >t
$ . ./t -o default; . ./t -o keep --loss keep; . ./t -o paper --preset paper --loss keep; cmp default/adapter.safetensors keep/adapter.safetensors
$ head -1 keep/log.jsonl | grep -o '"[a-z0-9_]*"' | paste -sd ' '
> "epoch" "loss" "terms" "mawa" "vicinal" "old_l2" "old_cosine" "new_l2" "new_cosine" "lr" "seconds"
$ grep -oE '"(preset|residual|scaled|contrast|vicinal-weight)": [^,]*' keep/run.json
> "preset": "keep"
> "residual": true
> "scaled": true
> "contrast": 1.0
> "vicinal-weight": 4.0
$ grep -oE '"(preset|residual|scaled)": [^,]*' paper/run.json | paste -sd ' '
> "preset": "paper" "residual": true "scaled": true

The contrast weighs four terms: without it and the vicinal rows it is MaWa in units.
$ . ./t -o none --contrast 0 --vicinal-weight 0; . ./t -o mawa --loss mawa --scaled --lr 1e-3 --lr-min 4e-4
$ for r in none mawa; do head -1 $r/log.jsonl | grep -oE '"loss": [0-9.]{5}'; done
> "loss": 0.081
> "loss": 0.649

Threads and a resumed run change no byte, and validation uses the same vicinal rows every epoch.
$ . ./t -o one --threads 1; . ./t -o two --threads 2; cmp one/adapter.safetensors two/adapter.safetensors
$ invar train --trial=false bank -o keep --resume -q; cmp keep/adapter.safetensors one/adapter.safetensors
$ . ./t -o held --validation 0.25 --keep best --lr 1e-12 --lr-min 0; grep -o '"validation": [0-9.]*' held/log.jsonl | cut -c1-20 | sort -u | wc -l
> 1
$ invar train --trial=false bank -o keep --resume --contrast 3 -q
! invar: keep: was started with --contrast 1.0, so it cannot be resumed with 3.0
? 1

What does not fit.
$ . ./t -o r --decoder
! invar train: --loss keep cannot train a --decoder; choose another --loss
? 2
$ . ./t -o r --loss keep --scaled=false
! invar train: --loss keep is computed in units of the scaled residual, so --scaled cannot be false; leave it out
? 2
$ . ./t -o r --loss keep --residual=false
! invar train: --loss keep trains a residual, so --residual cannot be false; leave it out
? 2
$ . ./t -o r --loss keep --no-identity
! invar train: --no-identity needs --loss mawa, waco or hsic, but --loss is keep
? 2
$ . ./t -o r --loss keep --width 4
! invar train: --loss keep needs codes as wide as the features: --width is 4, but the bank has 8
? 2
$ . ./t -o r --samples 0
! invar train: --loss keep needs 1 copy per image, but --samples is 0
? 2
$ . ./t -o r --contrast -1
! invar train: --contrast must be at least 0 and at most 1000000000, not -1
? 2
$ . ./t -o r --loss mawa --contrast 2
! invar train: --contrast needs --loss keep, but --loss is mawa
? 2
$ invar train --trial=false bank bank -o r -q
! invar train: --loss keep takes one bank, but 2 are given: the second one is bank
? 2
$ make-input bank flat; make-input equal flat/train/clean.npy 64 8; invar train --trial=false flat -o r -q
! invar: flat: the clean features of all images in train are equal, so they have no scale
? 1
$ ls r
! ls: cannot access 'r': No such file or directory
? 2

On arrays, which are in units; vicinal rows are drawn by the seed, the origin is 0 and the distance 2 d N / (N - 1) unless they are given.
$ make-input npy x.npy 6 8; make-input npy a.npy 6 2 8; make-input npy v.npy 6 8; make-input npy m.npy 8; echo 'invar loss keep --adapter keep --clean x.npy --aug a.npy -q "$@"' >l
$ . ./l | awk '{print $1}'; . ./l --grad g --json >/dev/null; ls g
> value
> mawa
> vicinal
> old_l2
> old_cosine
> new_l2
> new_cosine
> 0_bias.npy
> 0_weight.npy
> 2_bias.npy
> 2_weight.npy
> codes.npy
$ [ "$(. ./l)" = "$(. ./l --distance 19.2)" ] && [ "$(. ./l)" != "$(. ./l --distance 3)" ] && [ "$(. ./l)" != "$(. ./l --origin m.npy)" ] && [ "$(. ./l)" != "$(. ./l --vicinal v.npy)" ] && [ "$(. ./l)" != "$(. ./l --seed 1)" ] && [ "$(. ./l --vicinal v.npy)" = "$(. ./l --vicinal v.npy --seed 1)" ]
$ . ./l --vicinal m.npy
! invar: m.npy has shape [8], but must have that of x.npy, [6, 8]
? 1
$ . ./l --origin v.npy
! invar: v.npy has shape [6, 8], but must be [8]
? 1
$ invar loss keep --adapter keep --clean x.npy -q
! invar loss: keep needs copies here, but there are none
? 2
$ . ./l --decoder keep
! invar loss: keep takes no decoder; leave it out
? 2
$ invar loss mawa --adapter keep --clean x.npy --vicinal v.npy -q
! invar loss: --vicinal is an option of keep, not of mawa
? 2
$ invar loss mawa --adapter keep --clean x.npy --distance 1 -q
! invar loss: --distance is an option of keep, not of mawa
? 2
$ invar loss mawa --adapter keep --clean x.npy --alpha 1 -q
! invar loss: --alpha needs --decoder
? 2
