Anchored contrast: what it takes, what it records, what it refuses.

$ make-input bank bank; echo 'invar train bank --loss anco --hidden 16 --epochs 3 --seed 3 -q "$@"' >t
$ . ./t -o l2; . ./t -o cosine --similarity cosine --residual
$ for r in l2 cosine; do head -1 $r/log.jsonl | grep -o '"[a-z_]*"' | paste -sd ' '; grep -oE '"(alpha|tau|similarity|anchor)": [^,]*' $r/run.json | paste -sd ' '; done
> "epoch" "loss" "terms" "mawa" "contrast" "lr" "seconds"
> "anchor": 1.0 "similarity": "l2" "tau": 0.1 "alpha": 0.3
> "epoch" "loss" "terms" "mawa" "contrast" "lr" "seconds"
> "anchor": 1.0 "similarity": "cosine" "tau": 0.05 "alpha": 0.3

The spread of the clean rows that train is measured and recorded.
$ grep -A3 '"frame"' l2/run.json | grep -oE '"[a-z]*": [0-9.]{5}'
> "sigma": 1.175
> "distance": 22.12
$ . ./t -o held --validation 0.25 --keep best; grep -A3 '"frame"' held/run.json | grep -oE '"sigma": [0-9.]{5}'
> "sigma": 1.171

An option that is set stays, whichever comes first.
$ . ./t -o given --tau 0.2 --similarity cosine --alpha 1 --anchor 2; grep -oE '"(alpha|tau|anchor)": [^,]*' given/run.json | paste -sd ' '
> "anchor": 2.0 "tau": 0.2 "alpha": 1.0
$ . ./t -o without --no-identity; . ./t -o none --samples 0; tail -1 none/log.jsonl | grep -c contrast
> 1

Threads and a resumed run change no byte.
$ . ./t -o one --threads 1; . ./t -o two --threads 2; cmp one/adapter.safetensors two/adapter.safetensors
$ invar train bank -o l2 --resume -q; cmp l2/adapter.safetensors one/adapter.safetensors
$ invar train bank -o l2 --resume --loss anco --tau 0.2 -q
! invar: l2: was started with --tau 0.1, so it cannot be resumed with 0.2
? 1

What does not fit.
$ . ./t -o r --decoder
! invar train: --loss anco cannot train a --decoder: --alpha would weigh both its own term and the decoder's
? 2
$ . ./t -o r --width 4
! invar train: --loss anco needs codes as wide as the features: --width is 4, but the bank has 8
? 2
$ . ./t -o r --similarity dot
! invar train: --similarity must be l2 or cosine, not 'dot'
? 2
$ . ./t -o r --tau 0
! invar train: --tau must be above 0 and at most 1000000, not 0
? 2
$ invar train --trial=false bank -o r --tau 0.2 -q
! invar train: --tau needs --loss anco, but --loss is mawa
? 2
$ invar train bank -o r --loss simclr --alpha 0.2 -q
! invar train: --alpha needs --decoder or --loss anco, and neither is set
? 2
$ invar train bank bank -o r --loss anco -q
! invar train: --loss anco takes one bank, but 2 are given: the second one is bank
? 2
$ make-input bank flat; make-input equal flat/train/clean.npy 64 8; invar train flat -o r --loss anco -q
! invar: flat: the clean features of all images in train are equal, so they have no scale
? 1
$ ls r
! ls: cannot access 'r': No such file or directory
? 2

On arrays; sigma and distance are those of the clean features unless they are given.
$ make-input npy x.npy 6 8; make-input npy a.npy 6 2 8; echo 'invar loss anco --adapter l2 --clean x.npy --aug a.npy -q "$@"' >l
$ . ./l | awk '{print $1}'; . ./l --grad g --json >/dev/null; ls g
> value
> mawa
> contrast
> 0_bias.npy
> 0_weight.npy
> 2_bias.npy
> 2_weight.npy
> codes.npy
$ [ "$(. ./l)" = "$(. ./l --alpha 0.3 --tau 0.1)" ] && [ "$(. ./l)" != "$(. ./l --sigma 2)" ] && [ "$(. ./l)" != "$(. ./l --distance 3)" ] && [ "$(. ./l --similarity cosine)" = "$(. ./l --similarity cosine --tau 0.05 --distance 3)" ] && [ "$(. ./l)" != "$(. ./l --no-identity)" ]
$ make-input npy one.npy 1 8; invar loss anco --adapter l2 --clean one.npy -q
! invar: --sigma is needed: the clean features are all equal, so they have no scale
? 1
$ invar loss anco --adapter l2 --clean one.npy --sigma 1 -q | tail -1
> contrast  0
$ invar loss anco --adapter l2 --clean x.npy --decoder l2 -q
! invar loss: anco takes no decoder: --alpha would weigh both its own term and the decoder's
? 2
$ invar loss mawa --adapter l2 --clean x.npy --sigma 1 -q
! invar loss: --sigma is an option of anco, not of mawa
? 2
$ invar loss mawa --adapter l2 --clean x.npy --alpha 1 -q
! invar loss: --alpha needs --decoder
? 2
