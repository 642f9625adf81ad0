Augmentations: tensors in and out, repeated by their parameters; one sentence a fault.

$ make-input npy x.npy 3 3 8 10 && make-input npy flat.npy 3 8
$ invar augment rotation+noise:p=0.5 x.npy -o a.npy --params-out a.json -q
$ invar augment rotation+noise:p=0.5 x.npy -o b.npy --params a.json -q && cmp a.npy b.npy
$ invar augment rotation+noise:p=0.5 x.npy -o b.npy --threads 1 -q && cmp a.npy b.npy
$ INVAR_CPU=ref invar augment rotation+noise:p=0.5 x.npy -o b.npy -q && make-input compare a.npy b.npy 1e-5 > gap
$ invar augment rotation+noise:p=0.5 x.npy -o b.npy --seed 1 -q && cmp -s a.npy b.npy
? 1
$ invar augment rotation+noise:p=0.5 x.npy -o b.npy --copy 1 -q && cmp -s a.npy b.npy
? 1
$ invar augment 'id|2*crop:size=5x6' x.npy -o b.npy -q
! invar augment: the chains of id|2*crop:size=5x6 produce 8 x 10 and 5 x 6 pixels; make them the same size
? 2
$ invar augment 'rotation:degrees=180|id' x.npy -o b.npy --json -q
> {
>   "augment": "rotation|id",
>   "columns": [
>     "chain",
>     "0.angle"
>   ],
>   "output": "b.npy"
> }

$ invar augment rotatoin x.npy -o b.npy
! invar augment: there is no augmentation 'rotatoin'; choose from rotation, affine, noise, crop, flip, blur, brightness, contrast, jpeg or id; did you mean rotation?
? 2
$ invar augment rotation:degree=5 x.npy -o b.npy
! invar augment: the augmentation 'rotation' has no key 'degree'; it has degrees, align_corners, corners, fill, circle, inside, p or same_on_batch; did you mean degrees?
? 2
$ make-input npy square.npy 3 3 34 34 && make-input npy small.npy 3 3 24 24
$ invar augment rotation:inside=1 square.npy -o a.npy --params-out a.json -q && invar augment rotation:inside=1 square.npy -o b.npy --params a.json -q && cmp a.npy b.npy
$ invar augment rotation:inside=1 square.npy -o b.npy --threads 1 -q && cmp a.npy b.npy
$ invar augment 'rotation:degrees=0,inside=1' square.npy -o a.npy -q && invar augment 'id|rotation:inside=1,p=0' square.npy -o b.npy -q && cmp a.npy b.npy
$ invar augment rotation:inside=1 x.npy -o b.npy
! invar augment: rotation:inside=1 needs square images, but these have 10 x 8 pixels
? 2
$ invar augment rotation:inside=2 square.npy -o b.npy
! invar augment: the augmentation 'rotation' needs 0 or 1 for inside, not '2'
? 2
$ invar augment crop:size=9+rotation:inside=1 square.npy -o b.npy
! invar augment: the augmentation 'crop' with its own size comes before 'rotation' with inside=1; put it after
? 2
$ invar augment affine:scale=0.02,inside=1 small.npy -o b.npy
! invar augment: affine:scale=0.02,inside=1 needs images of at least 192 x 192 pixels, but these have 24 x 24
? 2
$ invar augment rotation+noise:p=0.5 x.npy -o a.npy --params-out a.json -q
$ invar augment crop x.npy -o b.npy --params a.json -q
! invar: a.json: has 2 stages, but the SPEC crop has 1
? 1
$ invar augment rotation:align_corners=false+noise:p=0.5 x.npy -o b.npy --params a.json
! invar: a.json: stage 0 (rotation): align_corners differs from the SPEC
? 1
$ invar augment rotation+noise x.npy -o b.npy --params a.json
! invar: a.json: stage 1 (noise): it skips images, but the SPEC has p=1
? 1
$ invar augment rotation x.npy flat.npy -o b.npy
! invar augment: unexpected argument 'flat.npy': only one NumPy file can be given
? 2
$ invar augment rotation flat.npy -o b.npy
! invar: flat.npy has 2 dimensions, but images are [n, c, h, w]
? 1
$ invar augment rotation x.npy
! invar augment: the output is missing: -o FILE
? 2
$ invar augment rotation nowhere.npy -o b.npy
! invar: nowhere.npy: cannot open: No such file or directory
? 1
$ invar augment rotation nowhere.jpg -o b.png
! invar: nowhere.jpg: cannot open: No such file or directory
? 1
$ echo text > text.png; invar augment rotation text.png -o b.png
! invar: text.png: is not a JPEG, PNG, TIFF or WebP file
? 1
$ invar augment rotation text.png -o b.png --normalize imagnet
! invar augment: the normalisation 'imagnet' is neither none, half, imagenet, clip, keras, caffe, mnist, fashion-mnist, stl10 or cifar10 nor MEANS/STDS such as 0.5/0.5; did you mean imagenet?
? 2
$ invar augment rotation text.png -o b.png --params a.json
! invar augment: --params and --params-out are for NumPy files
? 2
$ echo '{"stages": 3}' > bad.json; invar augment rotation x.npy -o b.npy --params bad.json
! invar: bad.json: has 0 stages, but the SPEC rotation has 1
? 1
$ invar augment rotation x.npy -o nowhere/b.npy
! invar: nowhere/b.npy: cannot write: No such file or directory
? 1
$ ls
> a.json
> a.npy
> b.npy
> bad.json
> flat.npy
> gap
> small.npy
> square.npy
> text.png
> x.npy

Tensors that are not finite give an error before anything is written, as in features.
$ make-input nan nan.npy 4 3 8 10; invar augment rotation nan.npy -o n.npy --params-out n.json; echo "exit $?"; ls | grep "^n[.]" || true
> exit 1
! invar: nan.npy: image 2 has a pixel that is NaN (element 0)
