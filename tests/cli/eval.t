What eval cannot measure, it says, and measures the rest.

$ make-input bank bank; invar train bank -o run --hidden 16 --epochs 2 -q
$ echo "--probe-hidden 16 --probe-epochs 3 -q" > options

One class in train: probes are skipped with their reason, the others are measured.
$ cp -r bank one; make-input labels one/train/labels.npy 64 7
$ invar eval one $(cat options) --only probe,structure > probe.txt; echo $?; sed -n '3,$p' probe.txt
> 0
>                       F
> 20-NN, %      0.0 | 0.0
>   95 %            – | –
> L1 | L2   1.000 | 1.000
> m                1.0000
> b                0.0000
> R²               1.0000
> RMSD             0.0000
> NRMSD            0.0000
> CVRMSD           0.0000
>
> no interval (–) where all images agree
> LC, NC, EC and LC-kept were not measured: all rows of train are of class 7, a classifier needs at least two classes
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
$ invar eval one $(cat options) > one.txt; sed -n '/^LC/p; /^20-NN/p; /^L1/p; /^collision raw/p' one.txt | cut -d ' ' -f 1; tail -3 one.txt
> 20-NN,
> L1
> collision
> LC,
>
> no interval (–) where all images agree
> LC, NC, EC and LC-kept were not measured: all rows of train are of class 7, a classifier needs at least two classes
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
$ invar eval one --json $(cat options) > one.json; grep -A1 '"lc"' one.json; grep -c '"skipped": "all rows of train' one.json
>     "lc": {
>       "F": {
> 4
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
$ invar eval one --only lc -q
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
! invar: lc of F cannot be measured: all rows of train are of class 7, a classifier needs at least two classes
? 1
$ invar eval one --only lc,structure -q > lc.txt; echo $?; tail -2 lc.txt
> 1
>
> LC was not measured: all rows of train are of class 7, a classifier needs at least two classes
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
! invar: lc of F cannot be measured: all rows of train are of class 7, a classifier needs at least two classes
$ invar eval one --format csv $(cat options) | tail -1 | tr -d '\r'
> "LC, NC, EC and LC-kept were not measured: all rows of train are of class 7, a classifier needs at least two classes",
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
$ invar eval one --format markdown $(cat options) | tail -1
> LC, NC, EC and LC-kept were not measured: all rows of train are of class 7, a classifier needs at least two classes
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
$ invar eval one --format latex $(cat options) | tail -1
> \par LC, NC, EC and LC-kept were not measured: all rows of train are of class 7, a classifier needs at least two classes
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40

What is kept in a run: reasons where there was nothing, figures stay.
$ cp -r run kept; invar eval one kept $(cat options) > /dev/null; grep -A8 '"lc"' kept/metrics.json
>     "lc": {
>       "bank": "one",
>       "split": "test",
>       "points": 40,
>       "dim": 8,
>       "F": {
>         "skipped": "all rows of train are of class 7, a classifier needs at least two classes"
>       },
>       "E": {
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
$ invar eval bank kept --only lc $(cat options) > /dev/null; grep -c skipped kept/metrics.json; cp kept/metrics.json before.json
> 5
$ invar eval one kept --only probe $(cat options) > /dev/null; grep -A3 '"lc"' kept/metrics.json
>     "lc": {
>       "bank": "bank",
>       "split": "test",
>       "points": 40,
! warning: images of test whose class train does not have count as wrong for probes and kNN: 40 of 40
$ rm one/test/labels.npy; invar eval one kept $(cat options) | tail -2; grep -c 'test has no labels.npy' kept/metrics.json
>
> LC, NC, EC, LC-kept, kNN and collision were not measured: test has no labels.npy
> 3

Rows that are all the same have no structure.
$ cp -r bank same; make-input equal same/test/clean.npy 40 8
$ invar eval same --only knn,structure $(cat options) > same.txt; echo $?; sed -n '3,$p' same.txt
> 1
>                                F
> 20-NN, %             25.0 | 99.2
>   95 %    12.5–40.0 | 97.5–100.0
>
> structure was not measured: all pairs of rows are at distance 0 (in float32), so there is no structure to measure
! invar: structure of F cannot be measured: all pairs of rows are at distance 0 (in float32), so there is no structure to measure
$ invar eval same $(cat options) > same.txt; echo $?; tail -1 same.txt
> 0
> structure was not measured: all pairs of rows are at distance 0 (in float32), so there is no structure to measure

A label below 0 is none: such rows are left out, and counted once.
$ cp -r bank some; make-input labels some/test/labels.npy 40 0 1 2 3 -1; make-input labels some/train/labels.npy 64 0 1 2 3 -1 0 1 2
$ invar eval some --only knn,collision,structure -q | tail -3
>
> 8 rows of test have no label; what needs labels leaves them out
> 8 rows of train have no label; what needs labels leaves them out
$ invar eval some --only knn,collision,structure --json -q | grep -A3 '"unlabelled"'
>   "unlabelled": {
>     "test": 8,
>     "train": 8
>   },
$ invar eval some --only knn,collision,structure --json -q | grep '"points"\|"pairs"'
>   "points": 40,
>         "pairs": 780,
>         "points": 32,
$ make-input labels some/test/labels.npy 40 -1; invar eval some --only probe,structure -q | tail -1
> LC, NC, EC, LC-kept and kNN were not measured: no row of test has a label

Labels may be any numbers: these give the figures of 0, 1, 2, 3.
$ cp -r bank dense; make-input labels dense/train/labels.npy 64 0 1 2 3; make-input labels dense/test/labels.npy 40 0 1 2 3
$ cp -r bank sparse; for s in "train 64" "test 40"; do make-input labels sparse/${s% *}/labels.npy ${s#* } 3 500000 1000000 9223372036854775807; done
$ invar eval dense run --json $(cat options) | sed 's/"dense"/"X"/' > a.json; invar eval sparse run --json $(cat options) | sed 's/"sparse"/"X"/' > b.json; cmp a.json b.json

A class that train does not have is never answered.
$ make-input labels dense/test/labels.npy 40 0 1 2 9
$ invar eval dense --only knn,lc $(cat options) > /dev/null
! warning: images of test whose class train does not have count as wrong for probes and kNN: 10 of 40

Few images have no interval; a count is a whole number.
$ cp -r bank few; rm -r few/test few/train/aug; cp -r bank/train few/; mkdir few/test; make-input equal few/test/clean.npy 3 8; make-input labels few/test/labels.npy 3 0
$ invar eval few --only knn -q
> synthetic, coherent displacement: 3 points of the split test, 0 copies, width 8; clean | augmented
>
>                   F
> 20-NN, %  100.0 | –
>   95 %        – | –
>
> too few images for an interval (n = 3)
$ invar eval few --only knn --json -q | grep -A3 '"clean"'
>         "clean": {
>           "value": 1.0,
>           "no_interval": "too few images for an interval (n = 3)"
>         }
$ make-input npy twice.npy 14 8; cp twice.npy few/test/clean.npy; make-input labels few/test/labels.npy 14 0 1
$ invar eval few --only structure -q | tail -1
> pairs at distance 0              7
$ make-input equal few/test/clean.npy 1 8; make-input labels few/test/labels.npy 1 -1; mkdir few/test/aug; make-input equal few/test/aug/000.npy 1 8
$ invar eval few -q
! invar: few: lc cannot be measured: no row of test has a label
? 1
$ make-input labels few/test/labels.npy 1 0; invar eval few --only knn,structure -q
> synthetic, coherent displacement: 1 point of the split test, 1 copy, width 8; clean | augmented
>
>                       F
> 20-NN, %  100.0 | 100.0
>   95 %            – | –
>
> too few images for an interval (n = 1)
> structure was not measured: structure needs at least 2 rows, there is only 1
! invar: structure of F cannot be measured: structure needs at least 2 rows, there is only 1
? 1
