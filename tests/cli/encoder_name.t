Features that others made can be named: an adapter records the name and warns about another one.
$ make-input bank bank; rm bank/bank.json; invar train --trial=false bank -o run --preset instant --hidden 4 --encoder-name may -q
$ invar models inspect run/adapter.safetensors | grep may
> made for    may
$ invar eval bank run --metrics structure --encoder-name may -q | head -1
> may, 40 points of the split test, 3 copies, width 8; clean | augmented
$ invar eval bank run --metrics structure --encoder-name june -q | head -1
> june, 40 points of the split test, 3 copies, width 8; clean | augmented
! warning: run/adapter.safetensors: was trained on features of may but bank has features of june
$ invar eval bank run --metrics structure -q | head -1
> 40 points of the split test, 3 copies, width 8; clean | augmented
$ invar apply run bank/test/clean.npy -o out.npy --encoder-name june -q
! warning: run: was trained on features of may but bank/test/clean.npy has features of june
$ invar apply run bank/test/clean.npy -o out.npy --encoder-name may -q
$ invar train --trial=false bank -o other --preset instant --hidden 4 --encoder-name ''
! invar train: the value of --encoder-name must not be empty
? 2
A run keeps the name that it was started with.
$ invar train bank -o run --resume --encoder-name june
! invar: run: was started with --encoder-name may, so it cannot be resumed with june
? 1
The bank's own word stands, and training on images has an encoder.
$ echo '{"format": "invar-bank", "version": 1, "encoder": "april"}' >bank/bank.json
$ invar train --trial=false bank -o other --preset instant --hidden 4 --encoder-name may
! invar: bank: its bank.json says that its features are of april, but --encoder-name is may
? 1
$ invar train --trial=false bank -o other --preset instant --hidden 4 --encoder-name april -q
$ make-input photos pets 4; invar train --data pets --encoder pixels --size 4 --augment rotation -o third --encoder-name may
! invar train: --encoder-name is for features that others made; with --data the encoder is known, so leave it out
? 2
