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
$ make-input bank bank; invar train --trial=false bank -o run --hidden 4 --epochs 1 -q; invar models inspect run/adapter.safetensors
> format      safetensors, 1320 bytes
> adapter     from 8 to 8 features, 4 hidden units, residual, loss keep
> made for    synthetic; coherent displacement
> tensors     4, 76 values, 304 bytes
$ invar models inspect run/adapter.safetensors --tensors
> format      safetensors, 1320 bytes
> adapter     from 8 to 8 features, 4 hidden units, residual, loss keep
> made for    synthetic; coherent displacement
> tensors     4, 76 values, 304 bytes
>
> tensor    type  shape  values
> 0.bias    F32       4       4
> 0.weight  F32   4 x 8      32
> 2.bias    F32       8       8
> 2.weight  F32   8 x 4      32
$ invar models inspect run/adapter.safetensors --json | sed '/"adapter"/,/},/d'
> {
>   "file": "run/adapter.safetensors",
>   "format": "safetensors",
>   "file_bytes": 1320,
>   "key": "",
>   "keys": "",
>   "encoder": null,
>   "tensor_count": 4,
>   "values": 76,
>   "bytes": 304
> }
$ invar models inspect run/adapter.safetensors --json --tensors | sed '/"adapter"/,/},/d' | head -15
> {
>   "file": "run/adapter.safetensors",
>   "format": "safetensors",
>   "file_bytes": 1320,
>   "key": "",
>   "keys": "",
>   "encoder": null,
>   "tensor_count": 4,
>   "values": 76,
>   "bytes": 304,
>   "tensors": [
>     {
>       "name": "0.bias",
>       "type": "F32",
>       "shape": [
$ make-input photos pets 8; invar encode folder:pets --encoder pixels -o pixels --size 4 --augment rotation --copies 1 -q; invar train --trial=false pixels -o run-pixels --hidden 4 --epochs 1 --residual --loss waco --projections 4 -q; invar models inspect run-pixels | sed -n 2,3p; invar models inspect run-pixels --json | sed -n '/"adapter"/,/"values"/p'
> adapter     from 48 to 48 features, 4 hidden units, residual, loss waco
> made for    pixels, images of 4 x 4 (shorter side, bilinear, centre), mean 0.485 0.456 0.406, std 0.229 0.224 0.225; rotation of normalised images
>   "adapter": {
>     "input": 48,
>     "hidden": 4,
>     "output": 48,
>     "residual": true,
>     "unit": false,
>     "loss": "waco",
>     "augment": "rotation",
>     "encoder": "pixels",
>     "encoder_sha256": null,
>     "preparation": {
>       "channels": 3,
>       "size": [
>         4,
>         4
>       ],
>       "resize": "shorter side, bilinear, centre",
>       "mean": [
>         0.485,
>         0.456,
>         0.406
>       ],
>       "std": [
>         0.229,
>         0.224,
>         0.225
>       ],
>       "augment_space": "normalized"
>     }
>   },
>   "tensor_count": 4,
>   "values": 436,
$ invar encode folder:pets --encoder pixels -o other --size 4 --normalize none --holdout 0.5 -q; invar eval other run-pixels --metrics structure -q | tail -1 | cut -c 1-6
> CVRMSD
! warning: run-pixels/adapter.safetensors: was trained on images with mean [0.485, 0.456, 0.406], std [0.229, 0.224, 0.225] but other was made from images with mean [0.0, 0.0, 0.0], std [1.0, 1.0, 1.0]
$ invar apply run-pixels other/test/clean.npy -o codes.npy -q; ls codes.npy
> codes.npy
! warning: run-pixels/adapter.safetensors: was trained on images with mean [0.485, 0.456, 0.406], std [0.229, 0.224, 0.225] but other/test/clean.npy was made from images with mean [0.0, 0.0, 0.0], std [1.0, 1.0, 1.0]
$ invar models verify run/adapter.safetensors 2>&1 | sed 's/here (.*)/here (...)/'
> invar: run/adapter.safetensors: its tensors do not match any known encoder (resnet, cifar_resnet, squeezenet, vit, clip or siglip) (see 'invar models inspect FILE')
$ invar models convert run/adapter.safetensors run/adapter.safetensors
! invar models: run/adapter.safetensors would replace a file that this command reads; choose another file
? 2

A run whose adapter is damaged is still a run, not a folder without weights.
$ mkdir cut; head -c 100 run/adapter.safetensors > cut/adapter.safetensors; invar models inspect cut
! invar: cut/adapter.safetensors: is not a safetensors file, or is truncated: its header should have 1008 bytes, but at most 92 are left
? 1

Wrong use: exit 2, and the right word.
$ invar models
! invar models: ACTION is missing; usage: invar models ACTION [FILE [OUT]] [options]
? 2
$ invar models lists
! invar models: ACTION must be list, inspect, verify, convert or pull, not 'lists'; did you mean list?
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
! invar models: list does not take --url
? 2
$ invar models verify run/adapter.safetensors --tensors
! invar models: verify does not take --tensors
? 2
$ invar models inspect run/adapter.safetensors --sha256 12
! invar models: inspect does not take --sha256
? 2
$ invar models inspect run/adapter.safetensors --encoder dino_vits9
! invar models: there is no encoder 'dino_vits9'; did you mean dino_vits8? (see 'invar models list')
? 2
$ invar models verify run/adapter.safetensors --encoder dino_vits9
! invar models: there is no encoder 'dino_vits9'; did you mean dino_vits8? (see 'invar models list')
? 2
$ invar models inspect missing.pth
! invar: missing.pth: cannot open: No such file or directory
? 1
