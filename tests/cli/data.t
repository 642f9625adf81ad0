invar data: what a person sees of a data set, and of one that is broken.

$ mkdir -p pets/cat pets/dog; I=$TESTS/formats/images; cp "$I"/rgb.png "$I"/420.jpg "$I"/exif6.jpg pets/cat; cp "$I"/grey.png "$I"/cmyk.jpg pets/dog
$ invar data folder:pets -q
> split  images  labels  width × height
> train       5     yes   14–23 × 14–23
>
> class  train
> cat        3
> dog        2
$ invar data folder:pets -q --holdout 0.4
> split  images  labels  width × height
> train       2     yes         23 × 14
> test        3     yes   14–23 × 14–23
>
> class  train  test
> cat        1     2
> dog        1     1
$ invar data folder:pets -q --holdout 0.4 --split test --json
> {
>   "dataset": "folder:pets",
>   "splits": [
>     {
>       "name": "test",
>       "images": 3,
>       "broken": 0,
>       "labels": true,
>       "width": [
>         14,
>         23
>       ],
>       "height": [
>         14,
>         23
>       ],
>       "class_counts": [
>         2,
>         1
>       ]
>     }
>   ],
>   "splits_there": [
>     "train",
>     "test"
>   ],
>   "classes": [
>     {
>       "name": "cat",
>       "title": "cat"
>     },
>     {
>       "name": "dog",
>       "title": "dog"
>     }
>   ]
> }
$ printf 'dog\n' > list; invar data folder:pets -q --classes list --limit 1
> split  images  labels  width × height
> train       1     yes         23 × 14
>
> class  train
> dog        1
$ cp -r pets flat; mv flat/*/* flat; rmdir flat/cat flat/dog; invar data folder:flat -q
> split  images  labels  width × height
> train       5      no   14–23 × 14–23

A contact sheet beside the table.

$ invar data folder:pets -q --classes list --limit 1 --sheet one.svg > /dev/null; grep -o 'train: 1 image of 1 class<' one.svg; rm one.svg
> train: 1 image of 1 class<

$ invar data folder:pets -q --sheet sheet.svg | head -n 2; grep -c '<image' sheet.svg; grep -o '>cat<' sheet.svg | wc -l
> split  images  labels  width × height
> train       5     yes   14–23 × 14–23
> 5
> 3
$ invar data folder:pets -q --sheet sheet.png > /dev/null; head -c 4 sheet.png | tail -c 3; echo; ls
> PNG
> flat
> list
> pets
> sheet.png
> sheet.svg
$ invar data folder:pets -q --sheet no/such.png
! invar: no/such.png: cannot write: No such file or directory
? 1
$ invar data folder:pets -q --sheet pets
! invar: pets: is a folder, expected a file
? 1

Splits, and parts of splits that have to be asked for.

$ mkdir stl; head -c 82944 /dev/zero > stl/train_X.bin; printf '\1\2\2' > stl/train_y.bin; printf '0 2\n1\n' > stl/fold_indices.txt
$ printf 'bird\nairplane\n' > two; invar data stl10:stl -q --classes two
> also there, by --split: fold0, fold1
>
> split  images  labels  width × height
> train       3     yes         96 × 96
>
> class     train
> bird          2
> airplane      1
$ invar data stl10:stl -q --classes two --split fold0
> also there, by --split: train, fold1
>
> split  images  labels  width × height
> fold0       2     yes         96 × 96
>
> class     fold0
> bird          1
> airplane      1
$ invar data stl10:stl -q --split fold2
! invar data: stl10:stl: has no split 'fold2'; it has train, fold0, fold1
? 2

Wrong use: exit 2, and the right word.

$ invar data -q
! invar data: DATASET is missing; usage: invar data DATASET [options]
? 2
$ invar data pets -q
> split  images  labels  width × height
> train       5     yes   14–23 × 14–23
>
> class  train
> cat        3
> dog        2
$ invar data flder:pets -q
! invar data: 'flder:pets' is not a data set: there is no such folder, and it does not start with stl10:, mnist:, fashion-mnist:, cifar10:, tiny-imagenet:, folder:, csv:, tar: or npy:; did you mean folder:?
? 2
$ invar data mnist: -q
! invar data: 'mnist:' has no path; write mnist:PATH
? 2
$ invar data folder:pets -q --holdout 2
! invar data: --holdout must be at least 0 and at most 1, not 2
? 2
$ invar data folder:pets -q --classes nolist
! invar: --classes: nolist: cannot open: No such file or directory
? 1

What is broken ends the command, or is named and counted.

$ echo 'no image' > pets/cat/broken.png; head -c 300 pets/cat/420.jpg > pets/cat/cut.jpg; ln -s nowhere pets/dog/lost.png
$ invar data folder:pets -q
! invar: pets/cat/broken.png: is not a JPEG, PNG, TIFF or WebP file; --skip-broken skips such images
? 1
$ invar data folder:pets -q --skip-broken
> split  images  broken  labels  width × height
> train       8       2     yes   14–23 × 14–23
>
> class  train
> cat        5
> dog        3
! warning: skipped: pets/cat/broken.png: is not a JPEG, PNG, TIFF or WebP file
! warning: skipped: pets/dog/lost.png: cannot open: No such file or directory
$ invar data folder:pets -q --skip-broken --check --sheet sheet.svg
> split  images  broken  labels  width × height
> train       8       3     yes   14–23 × 14–23
>
> class  train
> cat        5
> dog        3
! warning: skipped: pets/cat/broken.png: is not a JPEG, PNG, TIFF or WebP file
! warning: skipped: pets/cat/cut.jpg: is a truncated or damaged JPEG file: Invalid JPEG file structure: missing SOS marker
! warning: skipped: pets/dog/lost.png: cannot open: No such file or directory

Folders and files that cannot be.

$ mkdir 'pets/empty class'; invar data folder:pets -q
! invar: pets/empty class: has no JPEG, PNG, TIFF or WebP files; add some or remove the folder
? 1
$ mkdir pets/bank; touch pets/bank/bank.json; invar data folder:pets -q # a bank among its images is no class
! invar: pets/empty class: has no JPEG, PNG, TIFF or WebP files; add some or remove the folder
? 1
$ touch 'pets/empty class/a.BMP' 'pets/empty class/b.txt'; invar data folder:pets -q
! invar: pets/empty class: has no JPEG, PNG, TIFF or WebP files; convert other formats, such as a.BMP, to PNG
? 1
$ cp pets/cat/420.jpg 'pets/empty class'; invar data folder:pets -q --skip-broken --split train | tail -1
> empty class      1
! warning: folder:pets: 1 image such as a.BMP is not JPEG, PNG, TIFF or WebP and is skipped
! warning: skipped: pets/cat/broken.png: is not a JPEG, PNG, TIFF or WebP file
! warning: skipped: pets/dog/lost.png: cannot open: No such file or directory
$ invar data folder:nowhere -q
! invar: nowhere: cannot read the folder: No such file or directory
? 1
$ invar data stl10:pets -q
! invar: pets: has no train_X.bin, test_X.bin or unlabeled_X.bin, so it is not STL-10
? 1
$ invar data cifar10:pets -q
! invar: pets: has no data_batch_1.bin or test_batch.bin, so it is not CIFAR-10
? 1
$ invar data tiny-imagenet:pets -q
! invar: pets: has no wnids.txt or no train, so it is not Tiny ImageNet
? 1
$ invar data npy:list -q
! invar: list: is not a NumPy file (it does not start with \x93NUMPY)
? 1
$ head -c 82943 /dev/zero > stl/train_X.bin; invar data stl10:stl -q
! invar: stl/train_X.bin: has 82943 bytes, which is not a multiple of 27648, the size of an STL-10 image
? 1
$ make-input npy x.npy 2 3 4; invar data npy:x.npy -q --check
! invar: x.npy: image 0 has the value -3, but pixels stored as floats must be from 0 to 1
? 1
