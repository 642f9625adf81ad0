Certificates, and new data compared with them.

$ make-input bank bank 200 8; invar train --trial=false bank -o run --hidden 16 --epochs 1 -q
$ invar check run bank
! invar: run/adapter.safetensors: has no certificate; make one by eval with --certify
? 1
$ cp run/adapter.safetensors before.safetensors; invar eval bank run --metrics structure,knn --certify 2>&1 > /dev/null | head -1
> run/adapter.safetensors has a certificate
$ invar apply before.safetensors bank/test/clean.npy -o a.npy -q; invar apply run bank/test/clean.npy -o b.npy -q; cmp a.npy b.npy && echo the same adapter
> the same adapter
$ cp run/adapter.safetensors one.safetensors; invar eval bank run --metrics structure,knn --certify -q > /dev/null; cmp run/adapter.safetensors one.safetensors && echo the same certificate
> the same certificate

The same data is fine, other data is drift: exit 3.
$ invar check run bank -q > told.txt; echo $?; tail -1 told.txt | cut -d: -f1; invar check run bank --split train -q | tail -1 | cut -d: -f1
> 0
> fine
> fine
$ make-input bank other 200 8 7; invar check run other/test/aug/000.npy -q > told.txt; echo $?; tail -1 told.txt | cut -d' ' -f1-5
> 3
> drift: clean features are shifted
$ invar check run other/test/aug/000.npy --json -q -o c.json > printed.json; echo $?; cmp c.json printed.json; grep -E '"(verdict|format)"' c.json
> 3
>   "format": "invar-results",
>   "verdict": "drift",
$ invar check run bank --threads 1 --json -q > one.json; invar check run bank --threads 3 --json -q > three.json; cmp one.json three.json

A certificate is about the tensors that were measured: with others in the file it is refused.
$ cp run/adapter.safetensors changed.safetensors; printf '\001' | dd of=changed.safetensors bs=1 seek=$(($(stat -c %s changed.safetensors) - 2)) conv=notrunc status=none; invar check changed.safetensors bank; invar export changed.safetensors --card -o card.md; [ ! -e card.md ]
! invar: changed.safetensors: its tensors have changed since it was certified; make a new certificate by eval with --certify
! invar: changed.safetensors: its tensors have changed since it was certified; make a new certificate by eval with --certify

What cannot be checked.
$ make-input bank wide 60 5; invar check run wide; invar check run wide/test/clean.npy
! invar: run/adapter.safetensors takes features of width 8, but those of wide have width 5
! invar: wide/test/clean.npy: its shape is [40, 5] but run/adapter.safetensors takes [n, 8]
? 1
$ invar check run bank --split nowhere
! invar check: bank: has no split nowhere; it has test, train
? 2
$ invar check run bank -o run/adapter.safetensors
! invar check: -o run/adapter.safetensors would replace a file that this command reads; choose another file
? 2
$ chmod -w run/adapter.safetensors; [ $(id -u) = 0 ] || invar eval bank run --metrics structure --certify -q 2>&1 > /dev/null | grep -v write-protected
