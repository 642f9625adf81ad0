A file may be called anything. JSON holds UTF-8 only, so other bytes of a name come as '?'.
$ make-input bank bank; invar train bank -o $'r\xffn' --hidden 4 --epochs 1 --json -q | head -3
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
