Adapters are averaged, made weaker and given the spread of clean features.

$ make-input bank bank
$ invar train bank -o a --preset paper --hidden 16 --epochs 1 -q; invar train --trial=false bank -o b --hidden 5 --epochs 1 --seed 1 --residual -q
$ invar train bank -o c --loss none --init features --hidden 12 --ridge 0.3 --anchor 2 --spread scale 2>&1 | head -1
> features fitted to 64 images of train, with 3 copies per image

Hidden layers lie side by side; half an identity takes two units per feature.
$ invar merge a a -o twice.safetensors 2>&1 | head -1
> twice.safetensors is written: (8, 32, 8)
$ invar merge a b -o mean.safetensors 2>&1 | head -1
> mean.safetensors is written: (8, 37, 8)
$ invar merge a b c -o mean.safetensors --weights 2,1,1 --json -q
> {
>   "output": "mean.safetensors",
>   "input_dim": 8,
>   "hidden": 49,
>   "output_dim": 8,
>   "residual": false,
>   "unit": false
> }

One at half its strength, as a file and when it is applied: the same bytes.
$ invar merge a -o half.safetensors --strength 0.5 -q
$ invar apply half.safetensors bank/test/clean.npy -o one.npy -q; invar apply a bank/test/clean.npy -o two.npy --strength 0.5 -q; cmp one.npy two.npy && echo same
> same
$ invar apply b bank/test/clean.npy -o none.npy --strength 0 -q; cmp none.npy bank/test/clean.npy && echo same
> same

What cannot be merged.
$ invar merge a b
! invar merge: the output is missing: -o OUT.safetensors
? 2
$ invar merge a b -o mean.safetensors --weights 1
! invar merge: --weights 1 has too few weights: give a number above 0 for each of the 2 adapters, separated by commas
? 2
$ invar merge a b -o mean.safetensors --weights 1,2,3
! invar merge: --weights 1,2,3 has too many weights: give a number above 0 for each of the 2 adapters, separated by commas
? 2
$ invar merge a b -o mean.safetensors --weights 1,-2
! invar merge: --weights 1,-2 cannot be read: give a number above 0 for each of the 2 adapters, separated by commas
? 2
$ invar merge a b -o a/adapter.safetensors
! invar merge: -o a/adapter.safetensors would replace a file that this command reads; choose another file
? 2
$ invar merge a -o bank/test/clean.npy
! invar: bank/test/clean.npy: already exists; choose another file, or replace it with --force
? 1
$ invar train bank -o w --hidden 16 --epochs 1 --loss waco --projections 10 --width 4 -q; invar merge a w -o mean.safetensors -q
! invar: w/adapter.safetensors: maps 8 features to 4 but a/adapter.safetensors maps 8 to 8, so they cannot be merged
? 1
$ invar merge w -o mean.safetensors --strength 0.5 -q
! invar: w/adapter.safetensors: maps 8 features to 4, but a --strength of 0.5 needs codes as wide as the features
? 1
$ invar train bank -o x --spread scale --loss waco --width 4 -q
! invar train: --spread scale needs codes as wide as the features: --width is 4, but the bank has 8
? 2
