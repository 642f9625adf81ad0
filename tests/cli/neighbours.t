What a search finds for augmented images, as a sheet.

$ make-input photos photos 24; invar encode photos --encoder pixels --size 8 --augment rotation+noise --copies 2 --holdout 0.5 -o bank -q
$ invar train bank -o run --loss none --init ridge --ridge 0.1 -q
$ invar neighbours bank run --data photos --holdout 0.5 -o sheet.svg -q; grep -c '<image' sheet.svg
> 16
$ invar neighbours bank run --data photos --holdout 0.5 -o sheet.png --queries 1 --nearest 2 --copy 1 --split train --gallery test -q; head -c 4 sheet.png | tail -c 3; echo
> PNG

Without labels queries are spread evenly.
$ rm bank/test/labels.npy; invar neighbours bank run --data photos --holdout 0.5 -o even.svg --queries 3 -q; grep -c '<image' even.svg
> 24

The nearest image of a copy that nothing was done to is the same image, also among those of another split: one picture, three
times, two of them in a blue frame (id has no parameters, so the copy is not shown).
$ invar encode photos --encoder pixels --size 8 --augment id --copies 1 --holdout 0.5 -o same -q; rm same/train/labels.npy; invar train same -o still --loss none --init identity -q
$ invar neighbours same still --data photos --holdout 0.5 --split train --queries 1 --nearest 1 -o same.svg -q; grep -o 'base64,[^"]*' same.svg | wc -l; grep -o 'base64,[^"]*' same.svg | sort -u | wc -l
> 3
> 2
$ grep -o '>same image<' same.svg | wc -l; invar neighbours same still --data photos --holdout 0.5 --queries 1 --nearest 1 -o test.svg -q; grep -o '>same image<' test.svg | wc -l
> 2
> 2

Wrong use.
$ invar neighbours bank run -o sheet.png
! invar neighbours: the images are missing: --data DATASET
? 2
$ invar neighbours bank run --data photos
! invar neighbours: the output is missing: -o FILE
? 2
$ invar neighbours bank run --data photos --holdout 0.5 -o new.png --copy 2
! invar neighbours: --copy 2: test of bank has 2 copies, numbered from 0
? 2
$ invar neighbours bank run --data photos --holdout 0.5 -o new.png --split tset
! invar neighbours: --split tset: bank has no such split
? 2
$ invar neighbours bank run --data photos --holdout 0.4 -o new.png
! invar: the data set has no image 'even/0012.png', which row 0 of test was made from; give the data set with the options of 'invar encode'
? 1
$ invar neighbours bank run --data photos --holdout 0.5 -o photos/new.png
! invar neighbours: -o photos/new.png is inside photos, which this command reads; choose another place
? 2
$ make-input bank other; invar train other -o other-run --loss none --init ridge --ridge 0.1 -q; invar neighbours bank other-run --data photos --holdout 0.5 -o new.png
! invar: other-run maps 8 features to 8, but an index of the bank's 192 features needs codes of the same width
? 1
