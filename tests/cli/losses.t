Every loss, a decoder, several banks: what trains, what is refused and how.

$ make-input bank bank && make-input bank noise 64 8 0.5 && make-input bank other 60 8
$ for l in mawa waco simclr hsic keep; do invar train --trial=false bank -o $l --loss $l --hidden 16 --epochs 2 -q; done
$ for l in mawa waco simclr hsic keep; do head -1 $l/log.jsonl | grep -o '"[a-z0-9_]*"' | paste -sd ' '; grep -o '"batch-size": [0-9]*' $l/run.json; done
> "epoch" "loss" "terms" "clean" "augmented" "lr" "seconds"
> "batch-size": 256
> "epoch" "loss" "terms" "sc" "sw_xz" "sw_xx" "sw_zz" "lr" "seconds"
> "batch-size": 256
> "epoch" "loss" "terms" "cosine" "lr" "seconds"
> "batch-size": 1024
> "epoch" "loss" "terms" "hsic" "sigma_x" "sigma_z" "lr" "seconds"
> "batch-size": 256
> "epoch" "loss" "terms" "mawa" "vicinal" "old_l2" "old_cosine" "new_l2" "new_cosine" "lr" "seconds"
> "batch-size": 256
$ invar train --trial=false bank -o two --loss simclr --hidden 16 --epochs 1 2>&1 | sed -n '1,3p'
> using preset paper: the default, keep, does not fit the option loss
> using batches of 64 images: there are no more
> 2 samples per image: simclr takes no more

Options that belong to another loss.
$ invar train --trial=false bank -o r --temperature 0.1 -q
! invar train: --temperature needs --loss simclr, but --loss is keep
? 2
$ invar train --trial=false bank -o r --loss simclr --no-identity -q
! invar train: --no-identity needs --loss mawa, waco or hsic, but --loss is simclr
? 2
$ invar train --trial=false bank -o r --loss hsic --projections 10 -q
! invar train: --projections needs --loss waco, but --loss is hsic
? 2
$ invar train --trial=false bank -o r --loss waco --sigma-z median -q
! invar train: --sigma-z needs --loss hsic, but --loss is waco
? 2
$ invar train --trial=false bank noise -o r -q
! invar train: --loss keep takes one bank, but 2 are given: the second one is noise
? 2
$ invar train --trial=false bank -o r --loss simclr --samples 1 -q
! invar train: --loss simclr needs 2 copies per image, but --samples is 1
? 2
$ invar train --trial=false bank -o r --loss simclr --copies 1 -q
! invar: bank: --loss simclr needs 2 copies per image, but train has 1
? 1
$ invar train --trial=false bank -o r --loss waco --samples 0 --no-identity -q
! invar train: --loss waco without the clean rows needs augmented copies, but --samples is 0
? 2

A decoder: codes to features, an adapter like any other.
$ invar train --trial=false bank -o dec --loss waco --width 3 --decoder --alpha 0.5 --hidden 16 --epochs 2 --projections 20 -q; ls dec
> adapter.safetensors
> checkpoint.safetensors
> decoder.safetensors
> log.jsonl
> run.json
$ tail -1 dec/log.jsonl | grep -o '"reconstruction"'
> "reconstruction"
$ make-input npy x.npy 6 8; invar apply dec x.npy -o z.npy -q; invar apply dec/decoder.safetensors z.npy -o back.npy --json -q | grep dim
>   "input_dim": 3,
>   "output_dim": 8
$ invar train --trial=false bank -o r --alpha 2 -q
! invar train: --alpha needs --decoder, which is not set
? 2
$ invar train --trial=false bank -o r --loss none --init identity --hidden 16 --decoder -q
! invar train: --loss none trains nothing, so it cannot train a --decoder
? 2

Several banks: the same clean rows, each with copies of its own.
$ invar train --trial=false bank noise -o both --loss waco --hidden 16 --epochs 2 --projections 20 -q; tail -1 both/log.jsonl | grep -o '"sc_[12]"'
> "sc_1"
> "sc_2"
$ grep -o '"bank": "[a-z]*"' both/run.json; grep -o '"also": ' both/run.json
> "bank": "bank"
> "bank": "noise"
> "also":
$ invar train --trial=false bank noise -o both --resume -q
$ invar train --trial=false bank -o both --resume -q
! invar: both: was started with 2 banks, so it cannot be resumed with 1
? 1
$ invar train --trial=false bank noise -o again --loss waco --hidden 16 --epochs 2 --projections 20 -q; cmp both/adapter.safetensors again/adapter.safetensors
$ invar train --trial=false bank other -o r --loss waco -q
! invar: other/train/clean.npy: is [60, 8] but bank/train/clean.npy is [64, 8]; the banks of one training must have the same clean rows
? 1
$ invar train --trial=false bank nowhere -o r --loss waco -q
! invar: nowhere: no such bank
? 1
$ make-input bank turned 64 8; make-input npy turned/train/clean.npy 64 8; invar train --trial=false bank turned -o r --loss waco -q
! invar: turned/train/clean.npy: row 0 differs from that of bank/train/clean.npy; the banks of one training must have the same clean rows in the same order
? 1
$ invar train --trial=false bank noise -o r --loss waco --init rigid --hidden 16 -q
! invar train: --init rigid is fitted to the copies of one bank, but 2 are given
? 2
$ invar train --trial=false bank '' -o r --loss waco -q
! invar: : no such bank
? 1
$ invar train --trial=false bank $(for i in 1 2 3 4 5 6 7 8; do echo noise; done) -o r --loss waco -q
! invar train: a training takes 1 to 8 banks, not 9
? 2
$ ls r
! ls: cannot access 'r': No such file or directory
? 2

Losses on arrays: what is drawn follows from the seed.
$ make-input npy a.npy 6 2 8; make-input npy b.npy 6 2 8
$ v() { invar loss waco --adapter mawa --clean x.npy --aug a.npy --projections 9 -q "$@" | head -1; }; [ "$(v)" = "$(v --seed 0)" ] && [ "$(v)" != "$(v --seed 1)" ] && [ "$(v)" != "$(v --slices orthogonal)" ] && [ "$(v)" != "$(v --shuffle second)" ]
$ invar loss waco --adapter mawa --clean x.npy --aug a.npy --aug b.npy --projections 9 --grad g -q | awk '{print $1}'
> value
> sc_1
> sw_xz_1
> sw_xx_1
> sw_zz_1
> sc_2
> sw_xz_2
> sw_xx_2
> sw_zz_2
$ ls g
> 0_bias.npy
> 0_weight.npy
> 2_bias.npy
> 2_weight.npy
> codes_1.npy
> codes_2.npy
$ invar loss waco --adapter dec --decoder dec/decoder.safetensors --clean x.npy --aug a.npy --projections 9 --grad gd -q | tail -1 | awk '{print $1}'; ls gd
> reconstruction
> 0_bias.npy
> 0_weight.npy
> 2_bias.npy
> 2_weight.npy
> codes.npy
> dec_0_bias.npy
> dec_0_weight.npy
> dec_2_bias.npy
> dec_2_weight.npy
$ make-input npy v.npy 12 8; invar loss simclr --adapter mawa --views v.npy -q | awk '{print $1}' | head -1
> value
$ invar loss hsic --adapter mawa --clean x.npy --aug a.npy --sigma-x 2 -q | awk '{print $1}' | head -1
> value
$ make-input npy p.npy 30 8; invar loss sw --a x.npy --b x.npy -q
> value  0
$ invar loss sw --a x.npy --b x.npy --p 1 --directions p.npy --json --grad gs -q; ls gs
> {
>   "value": 0.0,
>   "terms": {}
> }
> a.npy

And what does not fit.
$ make-input range p18.npy 18; make-input range p12.npy 12; make-input npy d16.npy 5 16; make-input npy d9.npy 5 9; make-input npy d16b.npy 4 16
$ w() { invar loss waco --adapter mawa --clean x.npy --aug a.npy -q "$@"; }; d() { w --directions-xz $1 --directions-xx $2 --directions-zz $3 --perm-xz $4 --perm-xx p18.npy,p18.npy --perm-zz p18.npy,p18.npy; }; d d16.npy d16.npy d16.npy p18.npy,p18.npy | head -1; w --directions-xz d16.npy; d d9.npy d16.npy d16.npy p18.npy,p18.npy; d d16.npy d16b.npy d16.npy p18.npy,p18.npy; d d16.npy d16.npy d16.npy p18.npy; d d16.npy d16.npy d16.npy p18.npy,p12.npy; make-input npy n18.npy 18; d d16.npy d16.npy d16.npy p18.npy,n18.npy; w --aug b.npy --directions-xz d16.npy --directions-xx d16.npy --directions-zz d16.npy --perm-xz p18.npy,p18.npy --perm-xx p18.npy,p18.npy --perm-zz p18.npy,p18.npy
> value  0
! invar loss: --directions-xx is missing: give directions and permutations for all of xz, xx and zz, or for none
! invar: d9.npy has shape [5, 9], but must be [L, 16]
! invar: d16b.npy has shape [4, 16], but the first array of directions has 5
! invar loss: --perm-xz is 'p18.npy' but must be two files: P1.npy,P2.npy
! invar: p12.npy has shape [12], but must be [18]
! invar: n18.npy: element [0] is -3, but each of 0 to 17 must occur once
! invar loss: --directions-xz: 1 given, but there are 2 --aug
? 2
$ make-input npy a3.npy 6 3 8; invar loss waco --adapter mawa --clean x.npy --aug a.npy --aug a3.npy -q
! invar: a3.npy has shape [6, 3, 8], but the first --aug has 2 samples per image
? 1
$ invar loss mawa --adapter mawa --clean x.npy --aug a.npy --aug b.npy -q
! invar loss: mawa takes one augmentation, but there are 2
? 2
$ invar loss mawa --adapter mawa --clean x.npy --aug a.npy --temperature 2 -q
! invar loss: --temperature is an option of simclr, not of mawa
? 2
$ invar loss mawa --adapter mawa --clean x.npy --aug a.npy --beta 2 -q
! invar loss: --beta needs --decoder
? 2
$ invar loss mawa --adapter mawa --clean x.npy --views v.npy -q
! invar loss: --views is an option of simclr, not of mawa
? 2
$ invar loss mawa --adapter mawa --decoder dec/decoder.safetensors --clean x.npy -q
! invar: dec/decoder.safetensors: maps 3 to 8, but a decoder of mawa/adapter.safetensors maps 8 to 8
? 1
$ invar loss simclr --adapter mawa --views a.npy -q
! invar: a.npy has shape [6, 2, 8], but must be [2 N, 8]: rows i and i + N are a pair
? 1
$ make-input npy odd.npy 7 8; invar loss simclr --adapter mawa --views odd.npy -q
! invar: odd.npy has shape [7, 8], but must be [2 N, 8]: rows i and i + N are a pair
? 1
$ invar loss simclr --adapter mawa --views v.npy --aug a.npy -q
! invar loss: --views and --aug cannot be used together
? 2
$ invar loss simclr --adapter mawa --clean x.npy --aug a3.npy -q
! invar loss: simclr takes 2 samples per image, but there are 3
? 2
$ invar loss hsic --adapter mawa --clean x.npy --aug a.npy --sigma-x wide -q
! invar loss: --sigma-x must be median or a number above 0, not 'wide'
? 2
$ invar loss sw --a x.npy -q
! invar loss: the second set is missing: --b B.npy
? 2
$ invar loss sw --a x.npy --b v.npy -q
! invar: v.npy has shape [12, 8], but x.npy has [6, 8]; both must have the same shape
? 1
$ invar loss sw --a x.npy --b x.npy --directions d9.npy -q
! invar: d9.npy has shape [5, 9], but must be [L, 8]
? 1
$ invar loss sw --a x.npy --b x.npy --clean x.npy -q
! invar loss: --clean is not an option of sw
? 2
$ invar loss waco --a x.npy -q
! invar loss: --a is an option of sw, not of waco
? 2
