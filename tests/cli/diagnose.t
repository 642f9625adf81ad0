Diagnose: the trial of the presets, before any training.

$ make-input bank bank 80 8; invar diagnose bank --hidden 16 -q > told.txt; echo $?; head -1 told.txt; grep -o '^verdict: [a-z]*' told.txt
> 0
> synthetic, coherent displacement: trial on 80 held-out images of the 80 of train; clean | augmented queries
> verdict: instant
$ invar diagnose bank --hidden 16 -q --json -o kept.json > json.txt; cmp json.txt kept.json; grep -E '"(format|verdict|points|held_out)"' kept.json
>   "format": "invar-results",
>   "points": 80,
>   "held_out": 80,
>   "verdict": "instant",
$ grep -A1 '"id": "F"\|"id": "instant"\|"id": "keep"' kept.json | grep title
>       "title": "F"
>       "title": "instant"
>       "title": "keep"

Neither figures nor verdict depend on threads, nor on the split test, which is not read.
$ invar diagnose bank --hidden 16 -q --json --threads 1 > one.txt; cmp json.txt one.txt
$ cp -r bank other; rm -r other/test; invar diagnose other --hidden 16 -q --json | grep -v '"bank"' > other.txt; grep -v '"bank"' json.txt | cmp - other.txt

A second file is replaced, a file of another kind and one in the bank are not.
$ invar diagnose bank --hidden 16 -q -o kept.json > /dev/null; cmp json.txt kept.json
$ invar diagnose bank -q -o told.txt
! invar: told.txt: already exists; choose another file, or replace it with --force
? 1
$ invar diagnose bank -q -o bank/d.json
! invar diagnose: -o bank/d.json is inside bank, which this command reads; choose another place
? 2

Without labels, what needs them is skipped by name; the verdict stands.
$ cp -r bank bare; rm bare/train/labels.npy; invar diagnose bare --hidden 16 -q > bare.txt; echo $?; grep 'not measured' bare.txt; grep -c '^verdict' bare.txt; grep -c '^class, ' bare.txt
> 0
> class of the nearest neighbour was not measured: train has no labels.npy
> 1
> 0
? 1
$ cp -r bank one; make-input labels one/train/labels.npy 80 7; invar diagnose one --hidden 16 -q | grep 'not measured'
> class of the nearest neighbour was not measured: all rows of train have class 7, but at least two classes are needed
$ cp -r bank none; make-input labels none/train/labels.npy 80 -1; invar diagnose none --hidden 16 -q | grep 'not measured'
> class of the nearest neighbour was not measured: no row of train has a label
$ cp -r bank half; make-input labels half/train/labels.npy 80 0 -1 1 -1; invar diagnose half --hidden 16 -q > half.txt; echo $?; grep -c '^class, ' half.txt
> 0
> 4

What cannot be diagnosed.
$ invar diagnose
! invar diagnose: BANK is missing; usage: invar diagnose BANK [options]
? 2
$ invar diagnose bank run
! invar diagnose: unexpected argument 'run'; usage: invar diagnose BANK [options]
? 2
$ invar diagnose bank --hidden -1
! invar diagnose: --hidden must be at least 0 and at most 1048576, not -1
? 2
$ invar diagnose bank --hidden 16384 -q
! invar diagnose: --init features solves for all features and hidden units at once, at most 16384: the bank has 8, --hidden is 16384
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
! invar: still: train has no augmented copies (aug/000.npy …), which --init features is fitted to; encode it again with --augment to add them
? 1

Too few images cannot tell; that is a verdict, not an error.
$ make-input bank few 49; invar diagnose few -q
> verdict: unknown
> train has 49 images, and with fewer than 50 a trial cannot tell whether an adapter helps
$ rm few/train/labels.npy; make-input npy few/train/clean.npy 1 8; for i in 0 1 2; do make-input npy few/train/aug/00$i.npy 1 8; done; invar diagnose few -q
> verdict: unknown
> train has 1 image, and with fewer than 50 a trial cannot tell whether an adapter helps
$ cp -r bank alike; make-input equal alike/train/clean.npy 80 8; invar diagnose alike -q
! invar: alike: the clean features of all images in train are equal, so they have no scale
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
> instant does not help: no figure gets better beyond chance
> keep does not help: no figure gets better beyond chance
