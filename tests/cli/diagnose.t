Diagnose: the trial of the presets, before any training.

$ make-input bank bank 80 8; invar diagnose bank --hidden 16 -q > told.txt; echo $?; head -1 told.txt; grep -o '^verdict: [a-z]*' told.txt
> 0
> synthetic, coherent displacement: 80 images of the split train, 16 of them held out; copies of these are measured
> verdict: none
$ invar diagnose bank --hidden 16 -q --json -o kept.json > json.txt; cmp json.txt kept.json; grep -E '"(format|verdict|points|held_out)"' kept.json
>   "format": "invar-results",
>   "points": 80,
>   "held_out": 16,
>   "verdict": "none",
>         "points": 80,
>         "held_out": [
$ grep -A1 '"id": "F"\|"id": "instant"\|"id": "robust"' kept.json | grep title
>       "title": "F"
>       "title": "rigid"
>       "title": "ridge"
>       "title": "random features"

Neither figures nor verdict depend on threads, nor on the split test, which is not read.
$ invar diagnose bank --hidden 16 -q --json --threads 1 > one.txt; cmp json.txt one.txt
$ cp -r bank other; rm -r other/test; invar diagnose other --hidden 16 -q --json | grep -v '"bank"' > other.txt; grep -v '"bank"' json.txt | cmp - other.txt

A second file is replaced, a file of another kind and one in the bank are not.
$ invar diagnose bank --hidden 16 -q -o kept.json > /dev/null; cmp json.txt kept.json
$ invar diagnose bank -q -o told.txt
! invar: told.txt: already exists and is not a JSON file of results; choose another file, or replace it with --force
? 1
$ invar diagnose bank -q -o bank/d.json
! invar diagnose: -o bank/d.json is inside bank, among the features that this command reads; choose another place, or give --force
? 2

Without labels, what needs them is skipped by name; the verdict stands.
$ cp -r bank bare; rm bare/train/labels.npy; invar diagnose bare --hidden 16 -q > bare.txt; echo $?; grep 'not measured' bare.txt; grep -c '^verdict' bare.txt; grep -c '^class, ' bare.txt
> 0
> collision, 1-NN and LC-kept were not measured: train has no labels.npy
> 1
> 0
? 1
$ cp -r bank one; make-input labels one/train/labels.npy 80 7; invar diagnose one --hidden 16 -q | grep 'not measured'
> collision, 1-NN and LC-kept were not measured: all rows of train have class 7, but at least two classes are needed
$ cp -r bank none; make-input labels none/train/labels.npy 80 -1; invar diagnose none --hidden 16 -q | grep 'not measured'
> collision, 1-NN and LC-kept were not measured: no row of train has a label
$ cp -r bank half; make-input labels half/train/labels.npy 80 0 -1 1 -1; invar diagnose half --hidden 16 -q > half.txt; echo $?; grep -c '^class, ' half.txt
> 0
> 1

What cannot be diagnosed.
$ invar diagnose
! invar diagnose: BANK is missing; usage: invar diagnose BANK [options]
? 2
$ invar diagnose bank run
! invar diagnose: unexpected argument 'run'; usage: invar diagnose BANK [options]
? 2
$ invar diagnose bank --hidden -1
! invar diagnose: --hidden must be at least 1 and at most 16384, not 0
? 2
$ invar diagnose bank --hidden 16384 -q
! invar diagnose: --hidden 16384: random features and features together can be at most 16384; bank has 8
? 2
$ invar diagnose nowhere
! invar: nowhere: no such bank
? 1
$ invar diagnose bank --split validation -q
! invar: bank: has no split validation; it has test, train
? 1
$ rm -r other/train; mkdir other/test; make-input npy other/test/clean.npy 60 8; invar diagnose other -q
! invar: other: has no split train; it has test
? 1
$ cp -r bank still; rm -r still/train/aug; invar diagnose still -q
! invar: still: train has no augmented copies (aug/000.npy …), which a diagnosis needs; encode it again with --augment to add them
? 1

Too few images cannot tell; that is a verdict, not an error.
$ make-input bank few 49; invar diagnose few -q
! invar: few: 49 images of train: a diagnosis needs at least 50, to fit maps to four fifths of them and measure on the rest
? 1
$ rm few/train/labels.npy; make-input npy few/train/clean.npy 1 8; for i in 0 1 2; do make-input npy few/train/aug/00$i.npy 1 8; done; invar diagnose few -q
! invar: few: 1 image of train: a diagnosis needs at least 50, to fit maps to four fifths of them and measure on the rest
? 1
$ cp -r bank alike; make-input equal alike/train/clean.npy 80 8; invar diagnose alike -q
! invar: alike: the clean features of the 16 held-out images of train are all equal, so there is nothing to diagnose
? 1
$ cp -r bank hole; make-input nan hole/train/aug/001.npy 80 8; invar diagnose hole -q
! invar: hole/train/aug/001.npy: row 40, column 0 is NaN
? 1
$ cp -r bank hole2; make-input nan hole2/train/clean.npy 80 8; invar diagnose hole2 -q
! invar: hole2/train/clean.npy: row 40, column 0 is NaN
? 1

Copies that are the clean features: none, as nothing is to gain.
$ cp -r bank same; for i in 0 1 2; do cp same/train/clean.npy same/train/aug/00$i.npy; done; invar diagnose same --hidden 16 -q | grep -o '^verdict.*\|^[a-z]* does not help: [^;]*'
> verdict: none
> Copies explain 100.0 % of the variance of clean features as they are. They are so close to their images that an adapter has nothing to gain.
