A file may be called anything. JSON holds UTF-8 only, so other bytes of a name come as '?'.
$ make-input bank bank; invar train --trial=false bank -o $'r\xffn' --hidden 4 --epochs 1 --json -q | head -3
> {
>   "run": "r?n",
>   "adapter": "r?n/adapter.safetensors",
$ make-input npy x.npy 6 8; invar apply $'r\xffn' x.npy -o $'o\xff.npy' --json -q | head -2
> {
>   "output": "o?.npy",
$ make-input npy t.npy 2 3 8 8; invar augment id t.npy -o $'o\xff.npy' --json -q | tail -2
>   "output": "o?.npy"
> }
$ invar features t.npy -o $'f\xff.npy' --encoder pixels --json -q | grep output
>   "output": "f?.npy",
$ invar models convert $'r\xffn/adapter.safetensors' $'c\xff.safetensors' --json -q | head -2
> {
>   "output": "c?.safetensors",
$ make-input photos pets 4; invar encode folder:pets --encoder pixels --size 4 -o $'b\xffk' --json -q | head -2
> {
>   "bank": "b?k",
$ ls -b
> bank
> b\377k
> c\377.safetensors
> f\377.npy
> o\377.npy
> pets
> r\377n
> t.npy
> x.npy

Characters that command a terminal or turn the direction of text are shown as escapes, in tables and in messages.
$ mkdir -p $'odd/a\xe2\x80\xaecba' $'odd/b\xe2\x80\x8bc'; for d in odd/*; do cp "$TESTS"/formats/images/rgb.png "$d"; done; invar data odd -q
> split  images  labels  width × height
> train       2     yes         23 × 14
>
> class       train
> a\u202ecba      1
> b\u200bc        1
$ invar data $'gone\xe2\x80\xae\e[31m'
! invar data: 'gone\u202e?[31m' is not a data set: there is no such folder, and it does not start with stl10:, mnist:, fashion-mnist:, cifar10:, tiny-imagenet:, folder:, csv:, tar: or npy:
? 2
$ invar encode odd --encoder pixels --size 4 -o $'k\xe2\x81\xa6' --copies train=1 --augment rotation -q; invar train --trial=false $'k\xe2\x81\xa6' -o $'k\xe2\x81\xa6' -q
! invar train: -o k\u2066 is inside k\u2066, which this command reads; choose another place
? 2
