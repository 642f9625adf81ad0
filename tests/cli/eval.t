What eval cannot measure, it says, and measures the rest.

$ make-input bank bank; invar train bank -o run --preset paper --hidden 16 --epochs 2 -q
$ echo "--probe-hidden 16 --probe-epochs 3 -q" > options

One class in train: probes are skipped with their reason, the others are measured.
$ cp -r bank one; make-input labels one/train/labels.npy 64 7
$ invar eval one $(cat options) --metrics probe,structure > probe.txt; echo $?; sed -n '3,$p' probe.txt
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
> LC, NC, EC and LC-kept were not measured: all rows of train have class 7, but a classifier needs at least two classes
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
$ invar eval one $(cat options) > one.txt; sed -n '/^LC/p; /^20-NN/p; /^L1/p; /^collision raw/p' one.txt | cut -d ' ' -f 1; tail -3 one.txt
> 20-NN,
> L1
> collision
> LC,
>
> no interval (–) where all images agree
> LC, NC, EC and LC-kept were not measured: all rows of train have class 7, but a classifier needs at least two classes
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
$ invar eval one --json $(cat options) > one.json; grep -A2 '"lc": {' one.json | head -3; grep -c '"F": "all rows of train' one.json
>     "lc": {
>       "F": "all rows of train have class 7, but a classifier needs at least two classes"
>     },
> 4
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
$ invar eval one --metrics lc -q
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
! invar: lc of F cannot be measured: all rows of train have class 7, but a classifier needs at least two classes
? 1
$ invar eval one --metrics lc,structure -q > lc.txt; echo $?; tail -2 lc.txt
> 1
>
> LC was not measured: all rows of train have class 7, but a classifier needs at least two classes
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
! invar: lc of F cannot be measured: all rows of train have class 7, but a classifier needs at least two classes
$ invar eval one --format csv $(cat options) | tail -1 | tr -d '\r'
> "LC, NC, EC and LC-kept were not measured: all rows of train have class 7, but a classifier needs at least two classes",
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
$ invar eval one --format markdown $(cat options) | tail -1
> LC, NC, EC and LC-kept were not measured: all rows of train have class 7, but a classifier needs at least two classes
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
$ invar eval one --format latex $(cat options) | tail -1
> \par LC, NC, EC and LC-kept were not measured: all rows of train have class 7, but a classifier needs at least two classes
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40

What is kept in a run: reasons where there was nothing, figures stay.
$ cp -r run kept; invar eval one kept $(cat options) > /dev/null; grep -A9 '"bank": "one"' kept/metrics.json | sed -n '1p; 3,5p' | head -4; grep -c '"skipped"' kept/metrics.json
>       "bank": "one",
>       "encoder": "synthetic",
>       "augment": "coherent displacement",
>       "split": "test",
> 3
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
$ invar eval bank kept --metrics lc $(cat options) > /dev/null; grep -c '"measurement": "lc",' kept/metrics.json; grep -c '"skipped"' kept/metrics.json
> 4
> 3
$ cp kept/metrics.json before.json; invar eval one kept --metrics probe $(cat options) > /dev/null; cmp before.json kept/metrics.json
! warning: images of test whose class is missing in train count as errors of probes and kNN: 40 of 40
$ rm one/test/labels.npy; invar eval one kept $(cat options) | tail -2; grep -c 'test has no labels.npy' kept/metrics.json
> kept shrinks: its copies have 0.22 times the spread of clean features (m 0.19), which harms a search by L2 in the old index; train with the option spread, make a new index, or search by cosine
> LC, NC, EC, LC-kept, kNN and collision were not measured: test has no labels.npy
> 6

A second bank, or other options, add to what a run has; measuring the same again replaces it.
$ cp -r run both; cp -r bank moved; make-input npy moved/test/clean.npy 40 8; invar eval bank both --metrics knn -q > /dev/null; invar eval moved both --metrics knn -q > /dev/null
$ grep -c '"measurement": "knn",' both/metrics.json; grep '"bank"' both/metrics.json
> 4
>       "bank": "bank",
>       "bank": "moved",
$ invar eval bank both --metrics knn -q > /dev/null; invar eval bank both --metrics knn --k 3 -q > /dev/null; grep '"bank"' both/metrics.json; grep '"k":' both/metrics.json
>       "bank": "bank",
>       "bank": "moved",
>       "bank": "bank",
>         "k": 20,
>         "k": 20,
>         "k": 3,

Two adapters of one name, and one called F, each have a column and figures of their own.
$ mkdir -p a b; cp -r run a/run; cp -r run F; invar train bank -o b/run --loss none --init rigid --hidden 16 -q; invar eval bank a/run b/run F --metrics structure -q | sed -n '3p; 5p' | sed 's/[0-9][0-9.]*/N/g; s/  */ /g'
>  F run run F
> m N N N N
$ invar eval bank a/run b/run F --metrics structure --json -q | grep -A4 '"id": "[F1-9]"' | grep '"'
>       "id": "F",
>       "title": "F"
>       "id": "1",
>       "title": "run",
>       "adapter": "a/run/adapter.safetensors"
>       "id": "2",
>       "title": "run",
>       "adapter": "b/run/adapter.safetensors"
>       "id": "3",
>       "title": "F",
>       "adapter": "F/adapter.safetensors"
$ grep -c '"E": {' a/run/metrics.json b/run/metrics.json F/metrics.json; cmp -s a/run/metrics.json F/metrics.json && ! cmp -s a/run/metrics.json b/run/metrics.json && echo own
> a/run/metrics.json:2
> b/run/metrics.json:2
> F/metrics.json:2
> own

The file has the format of the table, or is the document.
$ invar eval bank a/run --metrics structure --format latex -o t.tex -q > t.txt; cmp t.tex t.txt; head -1 t.tex
> \begin{tabular}{lrr}
$ invar eval bank a/run --metrics structure --format markdown -o t.tex -q > t.txt; cmp t.tex t.txt; sed -n 3p t.tex | cut -c 1-14
> | L1 \| L2 | 1
$ invar eval bank a/run --metrics structure --format latex --json -o t.json -q > t.txt; cmp t.json t.txt; sed -n 2p t.json
>   "format": "invar-results",
$ echo mine > notes; invar eval bank a/run --metrics structure --format csv -o notes -q
! invar: notes: already exists; choose another file, or replace it with --force
? 1

Rows that are all the same have no structure.
$ cp -r bank same; make-input equal same/test/clean.npy 40 8
$ invar eval same --metrics knn,structure $(cat options) > same.txt; echo $?; sed -n '3,$p' same.txt
> 1
>                                F
> 20-NN, %             25.0 | 99.2
>   95 %    12.5–40.0 | 97.5–100.0
>
> structure was not measured: all pairs of rows are at distance 0 (in float32), so there is no structure to measure
! invar: structure of F cannot be measured: all pairs of rows are at distance 0 (in float32), so there is no structure to measure
$ invar eval same $(cat options) > same.txt; echo $?; grep 'not measured' same.txt
> 0
> structure was not measured: all pairs of rows are at distance 0 (in float32), so there is no structure to measure
> invariance was not measured: the clean features of all images in test are equal

A label below 0 is none: such rows are left out, and counted once.
$ cp -r bank some; make-input labels some/test/labels.npy 40 0 1 2 3 -1; make-input labels some/train/labels.npy 64 0 1 2 3 -1 0 1 2
$ invar eval some --metrics knn,collision,structure -q | tail -3
>
> 8 rows of test have no label; measurements that need labels ignore them
> 8 rows of train have no label; measurements that need labels ignore them
$ invar eval some --metrics knn,collision,structure --json -q | grep -A3 '"unlabelled"'
>   "unlabelled": {
>     "test": 8,
>     "train": 8
>   },
$ invar eval some --metrics knn,collision,structure --json -q | grep '"points": [1-9]\|"pairs"'
>   "points": 40,
>         "pairs": 780,
>         "points": 32,
$ make-input labels some/test/labels.npy 40 -1; invar eval some --metrics probe,structure -q | tail -1
> LC, NC, EC, LC-kept and kNN were not measured: no row of test has a label

Labels may be any numbers: these give the figures of 0, 1, 2, 3.
$ cp -r bank dense; make-input labels dense/train/labels.npy 64 0 1 2 3; make-input labels dense/test/labels.npy 40 0 1 2 3
$ cp -r bank sparse; for s in "train 64" "test 40"; do make-input labels sparse/${s% *}/labels.npy ${s#* } 3 500000 1000000 9223372036854775807; done
$ invar eval dense run --json $(cat options) | sed 's/"dense"/"X"/; /"fingerprint"/d' > a.json; invar eval sparse run --json $(cat options) | sed 's/"sparse"/"X"/; /"fingerprint"/d' > b.json; cmp a.json b.json

A class that train does not have is never answered.
$ make-input labels dense/test/labels.npy 40 0 1 2 9
$ invar eval dense --metrics knn,lc $(cat options) > /dev/null
! warning: images of test whose class is missing in train count as errors of probes and kNN: 10 of 40

Few images have no interval; a count is a whole number.
$ cp -r bank few; rm -r few/test few/train/aug; cp -r bank/train few/; mkdir few/test; make-input equal few/test/clean.npy 3 8; make-input labels few/test/labels.npy 3 0
$ invar eval few --metrics knn -q
> synthetic, coherent displacement: 3 points of the split test, 0 copies, width 8; clean | augmented
>
>                   F
> 20-NN, %  100.0 | –
>   95 %        – | –
>
> too few images for an interval (n = 3)
$ invar eval few --metrics knn --json -q | grep -A6 '"knn.clean": {'
>     "knn.clean": {
>       "F": {
>         "value": 1.0,
>         "no_interval": "too few images for an interval (n = 3)",
>         "count": 3
>       }
>     }
$ make-input npy twice.npy 14 8; cp twice.npy few/test/clean.npy; make-input labels few/test/labels.npy 14 0 1
$ invar eval few --metrics structure -q | tail -1
> pairs at distance 0              7
$ make-input equal few/test/clean.npy 1 8; make-input labels few/test/labels.npy 1 -1; mkdir few/test/aug; make-input equal few/test/aug/000.npy 1 8
$ invar eval few --metrics probe -q
! invar: few: lc cannot be measured: no row of test has a label
? 1
$ make-input labels few/test/labels.npy 1 0; invar eval few --metrics knn,structure -q
> synthetic, coherent displacement: 1 point of the split test, 1 copy, width 8; clean | augmented
>
>                       F
> 20-NN, %  100.0 | 100.0
>   95 %            – | –
>
> too few images for an interval (n = 1)
> structure was not measured: structure needs at least 2 rows, but there is only 1
! invar: structure of F cannot be measured: structure needs at least 2 rows, but there is only 1
? 1

Retrieval is measured on request: by image without labels, and by class with them.
$ cp -r bank found; rm found/train/labels.npy; invar eval found run --metrics retrieval -q > found.txt; sed -n '3s/   */, /gp; s/^\([cs][a-z].*\), %.*/\1/p; $p' found.txt
> , F, run
> same image @1 | @10, old index, L2
> clean, same image @1 | @10, old index, L2
> same image @1 | @10, old index, cosine
> clean, same image @1 | @10, old index, cosine
> same image @1 | @10, new index, L2
> clean, same image @1 | @10, new index, L2
> same image @1 | @10, new index, cosine
> clean, same image @1 | @10, new index, cosine
> same class @1 | mAP, old index, L2
> clean, same class @1 | mAP, old index, L2
> same class @1 | mAP, old index, cosine
> clean, same class @1 | mAP, old index, cosine
> same class @1 | mAP, new index, L2
> clean, same class @1 | mAP, new index, L2
> same class @1 | mAP, new index, cosine
> clean, same class @1 | mAP, new index, cosine
> same class: the image that a query was made from is left out
$ rm found/test/labels.npy; invar eval found --metrics retrieval -q | tail -1; invar eval found --metrics same-class -q
> retrieval by class was not measured: test has no labels.npy
! invar: found: same-class cannot be measured: test has no labels.npy
? 1

With views in the bank, every column is followed by one with four encodings per query; a run keeps them beside its own figures.
$ printf 'P' | tr P '\223' > photos.npy; printf "NUMPY\001\000\166\000%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (60, 4, 4), }" >> photos.npy; seq -s '' 1000 2000 | head -c 960 >> photos.npy; invar encode npy:photos.npy --encoder pixels -o viewed --holdout 0.5 --augment rotation --copies 2 --views 4 -q; invar train viewed -o seen --preset instant --hidden 64 -q; invar eval viewed seen --metrics same-image -q > seen.txt; sed -n '3s/   */, /gp' seen.txt; sed -n '/encodings per query/{s/([0-9. and]* %)/(A and B %)/g; p}' seen.txt; sed -n 's/^ *\("baselines"\|"[FE].views"\): {$/\1/p' seen/metrics.json
> , F, F, 4 views, seen, seen, 4 views
> 4 views: the query is encoded at 0, 90, 180 and 270 degrees and the nearest of the four counts; 4 encodings per query
> same image @1, old index: F with 4 views (4 encodings per query) is ahead of seen by L2 (A and B %) and cosine (A and B %)
> "baselines"
> "F.views"
> "E.views"

A run keeps its figures, and measures anew where only the rest of the gallery differs.
$ cp -r run asks; rm -f asks/metrics.json; invar eval found asks --metrics same-image -q > /dev/null
$ mkdir found/other; cp found/test/clean.npy found/other/; invar eval found asks --metrics same-image -q > /dev/null; invar eval found asks --metrics same-image -q > /dev/null; grep -c '"gallery": "' asks/metrics.json
> 1
$ cp found/train/clean.npy found/other/; invar eval found asks --metrics same-image -q > /dev/null; grep -c '"gallery": "' asks/metrics.json
> 2
$ invar eval bank run --metrics invariance,structure --json -q | grep -c '"invariance[.a-z0-9]*": {'
> 13
$ invar eval bank run --metrics retrieval --json -q --threads 1 > a.json; invar eval bank run --metrics retrieval --json -q --threads 2 > b.json; cmp a.json b.json

Graphs of neighbours, on request; a second run takes those of F from the cache, and three figures are their spectra.
$ invar eval bank --metrics graph -q
! invar: graph of F cannot be measured: graphs of 50 neighbours and 50 eigenvalues need at least 51 rows, not 40
? 1
$ invar eval bank run --metrics graph --split train -q > graph.txt; sed -n '3,$p' graph.txt | cut -c 1-65
>                                                                F
> spectral distance, k = 10 | 20 | 50     0.0000 | 0.0000 | 0.0000
> spectral distance, mean over k                            0.0000
> heat kernel distance, k = 10 | 20 | 50  0.0000 | 0.0000 | 0.0000
> heat kernel distance, mean over k                         0.0000
> Fiedler value, k = 10 | 20 | 50         0.0000 | 0.1099 | 0.7884
> largest gap, k = 10 | 20 | 50           0.5731 | 0.3533 | 0.7884
> trace, k = 10 | 20 | 50                    42.47 | 45.84 | 48.22
> components, k = 10 | 20 | 50                           2 | 1 | 1
$ invar eval bank run --metrics graph --split train -q | cmp graph.txt; ls bank/cache | cut -d - -f 1 | sort -u
> graph
> linear
$ invar eval bank run --metrics graph --split train --graph plain -q -o plain.json --plots drawn > /dev/null; ls drawn
> graph.spectrum.k10.png
> graph.spectrum.k20.png
> graph.spectrum.k50.png
$ invar eval bank --metrics graph --graph fancy -q
! invar eval: --graph must be published or plain, not 'fancy'
? 2
