Tensors to features. `make-input` writes images of 3 x 4 x 4 numbers.

$ make-input npy x.npy 8 3 4 4
$ invar features x.npy -o f.npy --encoder pixels 2>&1 | head -1
> 8 images of 4 x 4, features of 48 numbers: the normalised pixels themselves
$ invar features x.npy -o f.npy --encoder pixels --json -q
> {
>   "encoder": "pixels",
>   "about": "the normalised pixels themselves",
>   "shape": [
>     8,
>     3,
>     4,
>     4
>   ],
>   "width": 48,
>   "output": "f.npy",
>   "dtype": "float32"
> }
$ cat x.npy | invar features - -o - --encoder pixels -q | cmp - f.npy
$ invar features x.npy -o half.npy --encoder pixels --dtype float16 -q; wc -c < half.npy
> 896

More than one block; a feature of pixels is the image itself.
$ make-input npy large.npy 700 3 96 96; invar features large.npy -o f.npy --encoder pixels -q; cmp -i 128 large.npy f.npy

What is wrong is said before the work.
$ invar features half.npy -o y.npy --encoder pixels
! invar: half.npy: its shape is (8, 48), but pixels takes images (n, channels, height, width)
? 1
$ make-input nan nan.npy 4 1 2 2; invar features nan.npy -o y.npy --encoder pixels; ls y.npy
! invar: nan.npy: image 2 has a pixel that is NaN (value 0)
! ls: cannot access 'y.npy': No such file or directory
? 2
$ printf 'P' | tr P '\223' > u8.npy; printf "NUMPY\001\000\166\000%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 2, 2), }" >> u8.npy; printf 12345678 >> u8.npy; invar features u8.npy -o y.npy --encoder pixels
! invar: u8.npy: contains uint8 but must contain floats, already normalised; to normalise images of bytes, encode them as a data set npy:FILE
? 1
$ invar features x.npy -o f.npy
! invar features: the encoder is missing: give its --weights, or --encoder pixels to use the normalised pixels
? 2
$ invar features x.npy --encoder pixels
! invar features: the output is missing: -o OUT.npy
? 2
$ invar features x.npy -o - --encoder pixels --json
! invar features: --json and '-o -' both write to standard output; use only one
? 2
$ invar features x.npy -o f.npy --encoder pixels --weights x.npy
! invar features: x.npy: the encoder pixels takes no weights; leave them out
? 2
$ invar features x.npy -o f.npy --encoder dino_vits9 --weights x.npy
! invar features: there is no encoder 'dino_vits9'; did you mean dino_vits8? (see 'invar models list')
? 2
$ invar features x.npy -o f.npy --weights x.npy
! invar: x.npy: is neither a safetensors file nor a PyTorch checkpoint
? 1
$ invar features x.npy -o f.npy --weights missing.pth
! invar: missing.pth: cannot open: No such file or directory
? 1
