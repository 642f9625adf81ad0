Encoders by name, and what is in weight files. An adapter is a weight file too.

$ invar models list | sed -n '1,3p;18p'
> name                   width  images                normalised   file                                 SHA-256
> pixels                     -  native                as the data  -                                    -
> dino_vits8               384  224 of 256, bicubic   imagenet     dino_deitsmall8_pretrain.pth         -
> swav_resnet50           2048  224 of 256, bilinear  imagenet     swav_800ep_pretrain.pth.tar          -
$ invar models list --json | grep -A 10 '"name": "clip_vitb16"'
>       "name": "clip_vitb16",
>       "family": "clip",
>       "about": "CLIP, ViT-B/16",
>       "width": 512,
>       "resize": 224,
>       "side": 224,
>       "filter": "bicubic",
>       "normalize": "clip",
>       "file": "ViT-B-16.pt",
>       "bytes": null,
>       "sha256": "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f"
$ make-input bank bank; invar train bank -o run --hidden 4 --epochs 1 -q; invar models inspect run/adapter.safetensors | sed 's/here (.*)/here (...)/'
> format      safetensors, 1344 bytes
> encoder     none: run/adapter.safetensors: its tensors are not those of an encoder known here (...); see invar models inspect
> tensors     4, 76 values, 304 bytes
>
> tensor    type  shape  values
> 0.bias    F32       4       4
> 0.weight  F32   4 x 8      32
> 2.bias    F32       8       8
> 2.weight  F32   8 x 4      32
$ invar models inspect run/adapter.safetensors --json | head -15
> {
>   "file": "run/adapter.safetensors",
>   "format": "safetensors",
>   "file_bytes": 1344,
>   "key": "",
>   "keys": "",
>   "encoder": null,
>   "values": 76,
>   "bytes": 304,
>   "tensors": [
>     {
>       "name": "0.bias",
>       "type": "F32",
>       "shape": [
>         4
$ invar models verify run/adapter.safetensors 2>&1 | sed 's/here (.*)/here (...)/'
> invar: run/adapter.safetensors: its tensors are not those of an encoder known here (...); see invar models inspect
$ invar models convert run/adapter.safetensors run/adapter.safetensors
! invar models: run/adapter.safetensors would replace the file itself; name another one
? 2

Wrong use: exit 2, and the right word.
$ invar models
! invar models: ACTION is missing; the usage is: invar models ACTION [FILE [OUT]] [options]
? 2
$ invar models lists
! invar models: ACTION is 'lists' but must be list, inspect, verify, convert or pull; did you mean list?
? 2
$ invar models list me
! invar models: list takes no arguments
? 2
$ invar models inspect
! invar models: inspect takes FILE
? 2
$ invar models convert run/adapter.safetensors
! invar models: convert takes FILE OUT.safetensors
? 2
$ invar models list --url http://example.org
! invar models: list takes no --url
? 2
$ invar models inspect run/adapter.safetensors --sha256 12
! invar models: inspect takes no --sha256
? 2
$ invar models inspect run/adapter.safetensors --encoder dino_vits9
! invar models: no encoder of invar models list is called 'dino_vits9'; did you mean dino_vits8?
? 2
$ invar models verify run/adapter.safetensors --encoder dino_vits9
! invar models: no encoder of invar models list is called 'dino_vits9'; did you mean dino_vits8?
? 2
$ invar models inspect missing.pth
! invar: missing.pth: cannot open: No such file or directory
? 1
