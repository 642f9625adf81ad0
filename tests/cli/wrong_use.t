Data that a measurement cannot work with: one message each, and what to do where that is not plain.

$ make-input bank bank 60 8; echo "-q --probe-epochs 2" > options

More neighbours than rows, and a perplexity that is too large.
$ invar eval bank --metrics graph $(cat options)
! invar: graph of F cannot be measured: graphs of 50 neighbours and 50 eigenvalues need at least 51 rows, not 40
? 1
$ invar eval bank --metrics tsne --points 15 $(cat options)
! invar: tsne of F cannot be measured: --perplexity 30 is too large for 30 rows; it must be below 29
? 1
$ invar tsne bank/test/clean.npy --perplexity 39 -o map.npy -q
! invar tsne: --perplexity 39 is too large for 40 rows; it must be below 39
? 2
$ invar subset bank -k 5 -q
! invar: bank: train has 4 classes, but --count asks for 5
? 1

Constant features.
$ cp -r bank flat; for f in flat/t*/clean.npy flat/t*/aug/*.npy; do make-input equal $f $(case $f in *train*) echo 60;; *) echo 40;; esac) 8; done
$ for m in tsne curves ceiling classes worst invariance; do invar eval flat --metrics $m $(cat options); echo $?; done
> 1
> 1
> 1
> 1
> 1
> 1
! invar: tsne of F cannot be measured: all 80 rows are equal, so there is nothing to embed
! invar: flat: curves cannot be measured: the clean features of all images in test are equal
! invar: flat: ceiling cannot be measured: the clean features of all images in test are equal
! invar: flat: classes cannot be measured: the clean features of all images in test are equal
! invar: flat: worst cannot be measured: the clean features of all images in test are equal
! invar: flat: invariance cannot be measured: the clean features of all images in test are equal
$ make-input equal flat/test/clean.npy 60 8; rm -r flat/test/aug flat/test/labels.npy; invar eval flat --metrics graph -q
! invar: graph of F cannot be measured: each row equals its 10 nearest rows, so that they have no graph
? 1
$ invar subset flat -k 2 -q
! invar: flat: all classes of train have the same mean feature, so none is farther apart than others
? 1
$ invar tsne flat/test/clean.npy -o map.npy -q
! invar: all 60 rows are equal, so there is nothing to embed
? 1

Duplicated rows are embedded like others.
$ invar tsne bank/test/clean.npy bank/test/clean.npy --perplexity 10 -o map.npy -q > out; echo $?
> 0

NaN.
$ cp -r bank nan; make-input nan nan/test/clean.npy 40 8
$ for m in graph tsne ceiling classes worst invariance; do invar eval nan --metrics $m $(cat options); echo $?; done
> 1
> 1
> 1
> 1
> 1
> 1
! invar: graph of F cannot be measured: nan/test/clean.npy: row 20, column 0 is NaN
! invar: tsne of F cannot be measured: nan/test/clean.npy: row 20, column 0 is NaN
! invar: ceiling of F cannot be measured: nan/test/clean.npy: row 20, column 0 is NaN
! invar: classes of F cannot be measured: nan/test/clean.npy: row 20, column 0 is NaN
! invar: worst of F cannot be measured: nan/test/clean.npy: row 20, column 0 is NaN
! invar: invariance of F cannot be measured: nan/test/clean.npy: row 20, column 0 is NaN
$ make-input nan nan/train/clean.npy 60 8; invar subset nan -k 2 -q
! invar: nan/train/clean.npy: row 30, column 0 is NaN
? 1
$ invar tsne nan/test/clean.npy -o map.npy -q
! invar: nan/test/clean.npy: its element [20, 0] is NaN
? 1

One class.
$ cp -r bank one; for s in train:60 test:40; do make-input labels one/${s%:*}/labels.npy ${s#*:} 7; done
$ for m in ceiling classes; do invar eval one --metrics $m $(cat options); echo $?; done
> 1
> 1
! invar: ceiling of F cannot be measured: all rows of train have class 7, but a classifier needs at least two classes
! invar: classes of F cannot be measured: all rows of train have class 7, but a classifier needs at least two classes
$ invar subset one -k 2 -q
! invar: one: train has 1 class, but --count asks for 2
? 1

No labels.
$ cp -r bank bare; rm bare/*/labels.npy; for m in ceiling classes; do invar eval bare --metrics $m $(cat options); echo $?; done
> 1
> 1
! invar: bare: ceiling cannot be measured: test has no labels.npy
! invar: bare: classes cannot be measured: test has no labels.npy
$ invar subset bare -k 2 -q
! invar: bare: train has no labels.npy
? 1
$ for m in worst invariance tsne; do invar eval bare --metrics $m $(cat options) > out; echo $?; done
> 0
> 0
> 0

No parameters in the bank, no copies.
$ invar eval bank --metrics curves $(cat options)
! invar: curves of F cannot be measured: bank.json does not name the parameters of copies (augment_params)
? 1
$ make-input photos pets 12; invar encode folder:pets -o drawn --encoder pixels --size 4 --holdout 0.5 --augment rotation --copies 2 -q; rm drawn/test/aug/001.params.npy; invar eval drawn --metrics curves $(cat options)
! invar: curves of F cannot be measured: test has no aug/001.params.npy, so how its copies were made is unknown
? 1
$ make-input nan drawn/test/aug/000.params.npy 1 1; invar eval drawn --metrics curves $(cat options)
! invar: curves of F cannot be measured: drawn/test/aug/000.params.npy: its shape is (1, 1) but (6, 1) was expected: the rows of the split and augment_params of bank.json
? 1
$ invar encode folder:pets -o same --encoder pixels --size 4 --holdout 0.5 --augment rotation:degrees=90..90 --copies 2 -q; invar eval same --metrics curves $(cat options)
! invar: curves of F cannot be measured: the parameters of all copies of test are equal or NaN, so there is nothing to draw a curve over
? 1
$ rm -r same/test/aug; for m in tsne curves classes worst invariance; do invar eval same --metrics $m $(cat options); echo $?; done
> 1
> 1
> 1
> 1
> 1
! invar: same: tsne cannot be measured: test has no augmented copies
! invar: same: curves cannot be measured: test has no augmented copies
! invar: same: classes cannot be measured: test has no augmented copies
! invar: same: worst cannot be measured: test has no augmented copies
! invar: same: invariance cannot be measured: test has no augmented copies
