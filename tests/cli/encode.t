Images to a bank, and more of them later. The images are 12 of 3 x 4 grey pixels.

$ printf 'P' | tr P '\223' > x.npy; printf "NUMPY\001\000\166\000%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (12, 3, 4), }" >> x.npy; seq -s '' 10 81 >> x.npy; truncate -s 272 x.npy
$ invar data npy:x.npy -q | head -3
> split  images  labels  width × height
> train      12      no           4 × 3
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --copies train=2 -q; find bank -type f | LC_ALL=C sort
> bank/bank.json
> bank/train/aug/000.npy
> bank/train/aug/000.params.npy
> bank/train/aug/001.npy
> bank/train/aug/001.params.npy
> bank/train/clean.npy
> bank/train/fingerprints.npy
$ cat bank/bank.json
> {
>  "format": "invar-bank",
>  "version": 1,
>  "encoder": "pixels",
>  "weights_sha256": null,
>  "encoder_options": null,
>  "preprocess": {
>   "channels": 1,
>   "size": [
>    3,
>    4
>   ],
>   "resize": null,
>   "mean": [
>    0.5
>   ],
>   "std": [
>    0.5
>   ]
>  },
>  "dtype": "float32",
>  "augment": "rotation",
>  "augment_space": "normalized",
>  "augment_params": [
>   "angle"
>  ],
>  "seed": 0,
>  "classes": null,
>  "source": "npy",
>  "splits": {
>   "train": {
>    "images": 12,
>    "rows": 12,
>    "left_out": []
>   }
>  }
> }
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --copies train=2 2>&1 | head -2
> pixels: images of 4 x 3, 1 channel, mean 0.5 to 0.5, std 0.5 to 0.5
> train: already exists, with 2 copies; nothing to do
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --copies 3 --json -q
> {
>   "bank": "bank",
>   "encoder": "pixels",
>   "width": 12,
>   "splits": [
>     {
>       "name": "train",
>       "rows": 12,
>       "copies": 3,
>       "labels": false,
>       "names": false,
>       "views": false
>     }
>   ]
> }
$ invar encode npy:x.npy --encoder pixels -o other --augment rotation --copies 3 -q --threads 1; diff -r bank other
$ invar encode npy:x.npy --encoder pixels -o split --holdout 0.25 --augment 'noise|id' --dtype float16 2>&1 | sed 's/[0-9.]* per second/N per second/; s/[0-9.]\+ \(s\|MB\)/N \1/g'
> pixels: images of 4 x 3, 1 channel, mean 0.5 to 0.5, std 0.5 to 0.5
> train: 9 images, 4 copies; 45 encoded, N per second
> test: 3 images, 4 copies; 15 encoded, N per second
> split has features of 12 numbers; next: invar train split -o RUN
> done in N s, N s of CPU time, peak memory N MB
$ invar encode npy:x.npy --encoder pixels -o back --holdout 0.25 --augment 'noise|id' --dtype float16 --split test 2>&1 | grep holds
? 1
$ invar encode npy:x.npy --encoder pixels -o back --holdout 0.25 --augment 'noise|id' --dtype float16 --split train -q; diff -r split back; rm -r back
$ invar train --trial=false split -o run --hidden 16 --epochs 2 -q; ls run/adapter.safetensors
> run/adapter.safetensors
$ invar encode npy:x.npy --encoder pixels -o planned --augment rotation --copies 4 --dry-run | sed 's/measured [0-9.]*/measured N/; s/[0-9.]* [MG]B free/N MB free/; s/time  .*,/time  T,/'
> 12 images, 60 features of 12 numbers in float32
> time  T, at the measured N features per second
> disk  0.00 MB needed, N MB free
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --copies 4 --dry-run | head -1; ls
> 12 images, 60 features of 12 numbers in float32; 48 of them already exist, 12 are to be made
> bank
> other
> run
> split
> x.npy
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --copies 2 --dry-run --json | sed 's/"free_bytes": [0-9]*/"free_bytes": N/'
> {
>   "images": 12,
>   "features": 0,
>   "existing": 48,
>   "width": 12,
>   "dtype": "float32",
>   "rate": 0.0,
>   "seconds": 0.0,
>   "seconds_low": 0.0,
>   "seconds_high": 0.0,
>   "bytes": 0,
>   "free_bytes": N
> }

Where images are files, a bank has their names.
$ make-input photos pets 5; mv pets/even/0002.png "$(printf 'pets/even/a\\b\nc.png')"; invar encode folder:pets --encoder pixels -o pets-bank --size 4 --json -q | grep names; cat pets-bank/train/names.txt
>       "names": true,
> even/0000.png
> even/0004.png
> even/a\\b\x0ac.png
> odd/0001.png
> odd/0003.png
$ mv pets elsewhere; invar encode folder:elsewhere --encoder pixels -o pets-bank --size 4 --augment rotation --copies 1 -q; rm pets-bank/train/names.txt; invar encode folder:elsewhere --encoder pixels -o pets-bank --size 4 --augment rotation --copies 1 2>&1 | sed -n 2,3p
> train: added names.txt, with the file of each row
> train: already exists, with 1 copy; nothing to do
$ mv elsewhere/odd/0001.png elsewhere/odd/0002.png; invar encode folder:elsewhere --encoder pixels -o pets-bank --size 4 --augment rotation --copies 2 -q
! invar: pets-bank/train/names.txt: row 3 was made from odd/0001.png, but that image is now odd/0002.png; copies can only be added for the same images
? 1
$ mv elsewhere/odd/0002.png elsewhere/odd/0001.png; cp elsewhere/odd/0003.png elsewhere/odd/0001.png; invar encode folder:elsewhere --encoder pixels -o pets-bank --size 4 --augment rotation --copies 2 -q
! invar: pets-bank/train/fingerprints.npy: image 3 (odd/0001.png) of train has changed since its row was encoded; restore the old image, or use another bank
? 1

Views, the same images rotated by right angles, for test or the splits that are named; they can be added later.
$ invar encode npy:x.npy --encoder pixels -o viewed --size 4 --holdout 0.5 --augment rotation --copies 1 --views 4 2>&1 | sed '1d; s/[0-9.]* per second/N per second/; 5,$d'; find viewed/test -type f | LC_ALL=C sort; tail -13 viewed/bank.json
> train: 6 images, 1 copy; 12 encoded, N per second
> test: 6 images, 1 copy; 12 encoded, N per second
> test: views of 6 images, 1 copy; 36 encoded, N per second
> viewed/test/aug/000.npy
> viewed/test/aug/000.params.npy
> viewed/test/aug/000.views.npy
> viewed/test/clean.npy
> viewed/test/clean.views.npy
> viewed/test/fingerprints.npy
>   "train": {
>    "images": 6,
>    "rows": 6,
>    "left_out": []
>   },
>   "test": {
>    "images": 6,
>    "rows": 6,
>    "left_out": [],
>    "views": 4
>   }
>  }
> }
$ invar encode npy:x.npy --encoder pixels -o viewed --size 4 --holdout 0.5 --augment rotation --copies 2 -q; invar eval viewed --metrics same-image -q | tail -2
> 4 views: the query is encoded at 0, 90, 180 and 270 degrees and the nearest of the four counts; 4 encodings per query
> not all copies have views, so only clean queries are measured with 4 views; encode adds the missing ones
$ invar encode npy:x.npy --encoder pixels -o viewed --size 4 --holdout 0.5 --augment rotation --copies 2 --views 4 --dry-run | sed -n '1p; 3s/,.*//p'
> 12 images, 90 features of 16 numbers in float32; 72 of them already exist, 18 are to be made
> disk  0.00 MB needed
$ invar encode npy:x.npy --encoder pixels -o viewed --size 4 --holdout 0.5 --augment rotation --copies 2 --views 4 --json -q | grep views; invar encode npy:x.npy --encoder pixels -o viewed --size 4 --holdout 0.5 --augment rotation --copies 2 --views 4 2>&1 | sed -n 3p
>       "views": true
>       "views": false
> test: already exists, with views and 2 copies; nothing to do
$ invar encode npy:x.npy --encoder pixels -o planned --holdout 0.5 --views 4 -q; invar encode npy:x.npy --encoder pixels -o planned --size 4 --views 4 -q
! invar encode: --views 4: needs square images, but the encoder gets 4 x 3 pixels; use --size N
! invar encode: --views 4: npy:x.npy has no split test; name the splits to store views of, such as val=4
? 2
$ invar encode npy:x.npy --encoder pixels -o planned --size 4 --views 3 -q
! invar encode: --views 3: must be 4, or by split such as val=4,test=4
? 2

What is refused.
$ invar encode npy:x.npy --encoder pixels -o bank --augment noise -q
! invar: bank/bank.json: was made with augment rotation, not noise; use another bank for these features
? 1
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --seed 1 -q
! invar: bank/bank.json: was made with seed 0, not 1; use another bank for these features
? 1
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --size 8 -q
! invar: bank/bank.json: was made with size [3, 4], not [8, 8]; use another bank for these features
? 1
$ invar encode npy:x.npy --encoder pixels -o bank --augment rotation --limit 5 -q
! invar: bank: its split train has 12 rows but 5 images were selected; select the same images, or make another bank
? 1
$ invar encode npy:x.npy --encoder pixels
! invar encode: the output is missing: -o BANK
? 2
$ invar encode npy:x.npy -o new --encoder pixles
! invar encode: there is no encoder 'pixles'; did you mean pixels? (see 'invar models list')
? 2
$ invar encode npy:x.npy --encoder pixels -o new --copies 3
! invar encode: --copies 3 needs --augment, such as --augment rotation
? 2
$ invar encode npy:x.npy --encoder pixels -o new --augment rotation --copies test=3
! invar encode: --copies test=3: npy:x.npy has no split 'test'
? 2
$ invar encode npy:x.npy --encoder pixels -o new --normalize imagenet
! invar encode: the normalisation is for 3 channels but the images of npy:x.npy have 1; use another --normalize, or --mean and --std
? 2
$ invar encode npy:x.npy --encoder pixels -o new --mean 1,2
! invar encode: the normalisation is for 2 channels but the images of npy:x.npy have 1; use another --normalize, or --mean and --std
? 2
$ make-input photos photos 2; invar encode folder:photos --encoder pixels -o new --mean 1,2; rm -r photos
! invar encode: --mean 1,2: must be one number, or one per channel separated by commas
$ invar encode npy:x.npy --encoder pixels -o new --size big
! invar encode: the size 'big' must be native or 1 to 8192
? 2
$ invar encode npy:x.npy --encoder pixels -o new --resize 8
! invar encode: --resize 8: needs --size N, the centre to crop; without it images keep their size
? 2
$ invar encode npy:x.npy --encoder pixels -o new --resize 8 --size 9
! invar encode: --resize 8: is smaller than the centre of 9 x 9 pixels that --size crops
? 2
$ invar encode npy:none.npy --encoder pixels -o new
! invar: none.npy: cannot open: No such file or directory
? 1
$ mkdir full; touch full/notes; invar encode npy:x.npy --encoder pixels -o full
! invar: full: already exists without a bank.json that says how it was made; choose another name for the new bank
? 1
$ ls
> bank
> elsewhere
> full
> other
> pets-bank
> run
> split
> viewed
> x.npy

An image that cannot be read: the option that skips it is spelled as it is given.
$ make-input photos spoilt 4; echo no > spoilt/even/0000.png; invar encode spoilt --encoder pixels --size 4 -o spoilt-bank -q
! invar: spoilt/even/0000.png: is not a JPEG, PNG, TIFF or WebP file; --skip-broken skips such images
? 1
