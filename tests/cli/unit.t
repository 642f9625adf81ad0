Unit rows: features and codes divided by their norms. An identity with --unit makes a bank of unit rows.

$ make-input bank bank 200 8; invar train --trial=false bank -o id --loss none --init identity --unit --hidden 16 -q
$ mkdir -p unit/train/aug unit/test/aug; for f in train/clean train/aug/000 train/aug/001 train/aug/002 test/clean test/aug/000 test/aug/001 test/aug/002; do invar apply id bank/$f.npy -o unit/$f.npy -q; done

Such a bank is noticed, and the option is recorded; --unit=false switches it off.
$ invar train --trial=false unit -o run --preset instant --hidden 16 2>&1 | head -1
> all rows of train have norm 1: E normalises features and codes (--unit)
$ grep '"unit":' run/run.json; invar models inspect run | head -2 | tail -1
>   "unit": true,
> adapter     from 8 to 8 features, 32 hidden units, residual, unit, loss none
$ invar train --trial=false unit -o off --preset instant --hidden 16 --unit=false -q; grep '"unit":' off/run.json
>   "unit": false,
$ invar train --trial=false bank -o raw --preset instant --hidden 16 -q; grep '"unit":' raw/run.json
>   "unit": false,
$ invar train --trial=false bank -o both --preset paper --hidden 16 --epochs 1 --unit -q; grep '"unit":' both/run.json
>   "unit": true,
$ invar train --trial=false bank -o no --preset paper --unit --decoder -q
! invar train: --unit normalises the codes, but a --decoder is trained on codes as they are; use only one of them
? 2

Any number of threads gives the same codes, of arrays and of pipes.
$ invar apply run bank/test/clean.npy -o one.npy --threads 1 -q; invar apply run bank/test/clean.npy -o three.npy --threads 3 -q; invar apply run - -o - -q < bank/test/clean.npy > pipe.npy; cmp one.npy three.npy && cmp one.npy pipe.npy && echo same
> same

A resumed training ends in the same bytes.
$ invar train --trial=false unit -o whole --preset paper --hidden 16 --epochs 3 -q; INVAR_TEST_STOP='train:epoch 2=term' invar train --trial=false unit -o part --preset paper --hidden 16 --epochs 3 --checkpoint-seconds 0 -q 2> /dev/null; invar train --trial=false unit -o part --resume -q; cmp whole/adapter.safetensors part/adapter.safetensors && echo same
> same
$ invar train --trial=false unit -o part --resume --unit=false -q
! invar: part: was started with --unit true, so it cannot be resumed with false
? 1

Rows whose norms are not those of training are reported; a unit adapter takes any.
$ invar apply raw unit/test/clean.npy -o x.npy -q 2>&1 | sed 's/norm [0-9.]* (deviation [0-9.]*)/norm M (deviation S)/'
> warning: raw/adapter.safetensors: was trained on features of norm M (deviation S), but those of unit/test/clean.npy have norm 1; give it features as in training, or train it again with --unit, which takes both
$ invar eval unit raw --metrics structure -q 2>&1 > /dev/null | grep -c 'was trained on features of norm'
> 1
$ invar apply raw bank/test/clean.npy -o x.npy -q; invar apply raw bank/test/aug/002.npy -o x.npy -q; invar eval bank raw --metrics structure -q > /dev/null
$ invar apply run unit/test/clean.npy -o x.npy -q; invar apply run bank/test/clean.npy -o x.npy -q; invar eval unit run --metrics structure -q > /dev/null

Measured on raw features, a unit adapter is compared with their unit rows: the figures of the unit bank.
$ for b in bank unit; do invar eval $b run --metrics structure,retrieval -q > $b.txt; grep -E '^(R²|CVRMSD|same image)' $b.txt | tr -s ' ' > $b.figures; done; grep norms bank.txt; grep -c norms unit.txt; cmp bank.figures unit.figures && echo same
> features are divided by their norms, as the adapter does: distances are those of an index of unit vectors
> 0
> same
$ invar eval bank raw run --metrics structure -q | tail -1
> run divides features by their norms: its column is compared with features of norm 1, the others with features as they are

Merging: the mean of the maps inside, and never with one that does not normalise.
$ invar merge run both -o mean.safetensors 2>&1 | head -1; invar apply mean.safetensors bank/test/clean.npy -o x.npy -q
> mean.safetensors is written: (8, 48, 8) unit
$ invar merge run raw -o mixed.safetensors; invar merge raw run -o mixed.safetensors
! invar: run/adapter.safetensors: normalises features and codes but raw/adapter.safetensors does not, so they cannot be merged; train both with --unit or both without
! invar: run/adapter.safetensors: normalises features and codes but raw/adapter.safetensors does not, so they cannot be merged; train both with --unit or both without
? 1
$ invar apply run bank/test/clean.npy -o none.npy --strength 0 -q; cmp none.npy unit/test/clean.npy && echo the unit rows themselves
> the unit rows themselves

A certificate made on unit rows holds for raw ones.
$ invar eval unit run --metrics structure --certify -q > /dev/null; invar check run unit -q | tail -1 | cut -d: -f1; invar check run bank -q | tail -1 | cut -d: -f1; invar check run bank/test/clean.npy -q | tail -1 | cut -d: -f1
> fine
> fine
> fine
$ invar export run --card -o card.md -q; grep -c 'unit(z + E(z), dim=-1)' card.md
> 1
