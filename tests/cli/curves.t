Curves over parameters, accuracy by class, worst images, a ceiling, and classes that are far apart.

$ make-input bank bank 60 8; echo "-q --k 5 --probe-epochs 3" > options

A bank that does not tell how its copies were made has no curves; the others are measured.
$ invar eval bank --metrics curves $(cat options)
! invar: curves of F cannot be measured: bank.json does not name the parameters of copies (augment_params)
? 1
$ invar eval bank --metrics classes,worst,ceiling $(cat options) > told.txt; echo $?; sed -n '3,$p' told.txt
> 0
>                                                                  F
> kNN, old index, weakest | strongest class, %          96.7 | 100.0
> LC-kept, weakest | strongest class, %                   0.0 | 23.3
> displacement of the worst image                               1.44
> images LC-kept never recognises in copies, %                  87.5
> LC trained on copies, %                                22.5 | 15.0
>   95 %                                        10.0–35.0 | 5.0–24.2
> chance: the largest class, %                                  25.0
>
> no interval (–) where all images agree
> the linear classifier of F (LC-kept) was trained for 3 steps, and few steps may leave a classifier close to its initial values; try probe-epochs 250
> F, 5-NN, old index: classes recognised least often in copies: 1 (96.7 %), 0 (100.0 %), 2 (100.0 %)
> F, LC-kept: classes recognised least often in copies: 0 (0.0 %), 2 (0.0 %), 3 (0.0 %)
> F: images whose copies are displaced most: row 37, 29, 35
> F: images whose copies are misclassified most: row 37, 35, 11
> ceiling was trained for 3 steps, and few steps may leave a classifier close to its initial values; try probe-epochs 250
$ cp -r bank bare; rm bare/test/labels.npy; invar eval bare --metrics worst $(cat options) | tail -2
>
> F: images whose copies are displaced most: row 37, 29, 35
$ invar eval bare --metrics classes $(cat options)
! invar: bare: classes cannot be measured: test has no labels.npy
? 1
$ rm -r bank/train/aug; invar eval bank --metrics ceiling $(cat options)
! invar: ceiling of F cannot be measured: train has no augmented copies
? 1
$ invar eval bank --metrics curves --bins 1 -q
! invar eval: --bins must be at least 2 and at most 360, not 1
? 2

Classes that are far apart.
$ invar subset bank -k 3 -q > classes.txt; echo $?; cat classes.txt
> 0
> 1
> 3
> 2
$ invar subset -q bank -k 2 --json
> {
>   "split": "train",
>   "classes": [
>     {
>       "label": 1,
>       "distance": 5.54551129983296
>     },
>     {
>       "label": 3,
>       "distance": 5.54551129983296
>     }
>   ]
> }
$ invar subset -q bank -k 1000
! invar: bank: train has 4 classes, but --count asks for 1000
? 1
$ invar subset -q bank -k 1
! invar subset: --count must be at least 2 and at most 1048576, not 1
? 2
$ invar subset -q bare --split test -k 2
! invar: bare: test has no labels.npy
? 1
$ make-input labels bare/train/labels.npy 60 7; invar subset -q bare -k 2
! invar: bare: train has 1 class, but --count asks for 2
? 1
$ invar subset -q bank --split val -k 2
! invar: bank: has no split val; it has test, train
? 1
