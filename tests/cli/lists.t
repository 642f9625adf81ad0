csv: and tar: data sets that are lists of images, and images inside tar files.

$ I=$TESTS/formats/images; mkdir -p photos/a photos/b; cp "$I"/rgb.png "$I"/lzw.tif photos/a; cp "$I"/420.jpg "$I"/lossy.webp "$I"/turned6.tif photos/b
$ invar data photos -q
> split  images  labels  width × height
> train       5     yes   14–23 × 14–23
>
> class  train
> a          2
> b          3
$ printf 'path,label,split,note\nphotos/a/rgb.png,ripe,train,x\n"photos/a/lzw.tif",ripe,test,"one, ""two"""\r\nphotos/b/420.jpg,raw,train,\n\nphotos/b/lossy.webp,,test,y\n' > list.csv
$ invar data csv:list.csv -q
> split  images  labels  width × height
> train       2     yes         23 × 14
> test        2     yes         23 × 14
>
> class  train  test
> raw        1     0
> ripe       1     1
$ mkdir sub; sed 's|photos|../photos|' list.csv > sub/list.csv; invar data csv:sub/list.csv -q --split train # paths are relative to the list
> also there, by --split: test
>
> split  images  labels  width × height
> train       2     yes         23 × 14
>
> class  train
> raw        1
> ripe       1
$ printf 'File,Class\n%s/photos/a/rgb.png,10\nphotos/b/420.jpg,9\n' "$PWD" > numbers.csv; invar data csv:numbers.csv -q
> split  images  labels  width × height
> train       2     yes         23 × 14
>
> class  train
> 9          1
> 10         1

Blanks around labels and names of columns do not make other classes.
$ printf 'path , label ,split\nphotos/a/rgb.png, ripe ,train\nphotos/b/420.jpg,ripe, train \n' > blanks.csv; invar data csv:blanks.csv -q
> split  images  labels  width × height
> train       2     yes         23 × 14
>
> class  train
> ripe       2

Lists that cannot be.

$ invar data list.csv -q
! invar data: 'list.csv' is a file, not a data set; for a list of images write csv:list.csv
? 2
$ printf 'name,label\na.png,1\n' > bad.csv; invar data csv:bad.csv -q
! invar: bad.csv: none of its 2 columns is named path; the first line must name the columns, separated by commas: path,label,split
? 1
$ printf 'path,label\na.png\n' > bad.csv; invar data csv:bad.csv -q
! invar: bad.csv: line 2 has 1 field, but the first line has 2
? 1
$ printf 'path,label\n"a.png,1\nb.png,2\n' > bad.csv; invar data csv:bad.csv -q
! invar: bad.csv: line 2 has a quoted field that does not end
? 1
$ printf 'path,label\n"a.png"x,1\n' > bad.csv; invar data csv:bad.csv -q
! invar: bad.csv: line 2 has text after the end of a quoted field
? 1
$ printf 'path,split\na.png,train\nb.png,\n' > bad.csv; invar data csv:bad.csv -q
! invar: csv:bad.csv: a.png is in a split but b.png is not; put every image into one, or none
? 1
$ printf 'path,split\na.png,../up\n' > bad.csv; invar data csv:bad.csv -q
! invar: csv:bad.csv: a.png is in the split '../up', but the name of a split has 1 to 32 letters, digits, - and _
? 1
$ printf 'path,label\n' > bad.csv; invar data csv:bad.csv -q
! invar: csv:bad.csv: lists no images
? 1
$ : > bad.csv; invar data csv:bad.csv -q
! invar: bad.csv: is empty, expected a CSV file
? 1
$ printf 'path\nphotos/a/rgb.png\nphotos/lost.png\n' > lost.csv; invar data csv:lost.csv -q
! invar: photos/lost.png: cannot open: No such file or directory; --skip-broken skips such images
? 1
$ invar data csv:lost.csv -q --skip-broken
> split  images  broken  labels  width × height
> train       2       1      no         23 × 14
! warning: skipped: photos/lost.png: cannot open: No such file or directory

Tar files: classes are folders, or in .cls files as WebDataset has them.

$ tar --sort=name -cf photos.tar photos; invar data tar:photos.tar -q
> split  images  labels  width × height
> train       5     yes   14–23 × 14–23
>
> class  train
> a          2
> b          3
$ mkdir web; n=0; for f in photos/*/*; do cp "$f" web/00$n.${f##*.}; echo $((n % 2 * 10)) > web/00$n.cls; cp "$TESTS"/formats/images/bits.png web/00$n.seg.png; n=$((n + 1)); done
$ (cd web && tar --sort=name -cf ../train-0.tar 000.* 001.* && tar --sort=name -cf ../train-1.tar 002.* && tar --sort=name -cf ../test-0.tar 003.* 004.*); invar data 'tar:t*-*.tar' -q
> split  images  labels  width × height
> train       3     yes         23 × 14
> test        2     yes   14–23 × 14–23
>
> class  train  test
> 0          2     1
> 10         1     1
$ invar data tar:train-1.tar,test-0.tar -q --split test
> also there, by --split: train
>
> split  images  labels  width × height
> test        2     yes   14–23 × 14–23
>
> class  test
> 0         1
> 10        1
$ tar --sort=name -cf flat.tar -C photos/b .; invar data tar:flat.tar -q --holdout 0.5
> split  images  labels  width × height
> train       1      no         23 × 14
> test        2      no   14–23 × 14–23
$ mkdir -p set/train/x set/test/x set/test/y; for f in train/x test/x test/y; do cp photos/a/rgb.png set/$f; done; tar --sort=name -cf set.tar set; invar data tar:set.tar -q
> split  images  labels  width × height
> train       1     yes         23 × 14
> test        2     yes         23 × 14
>
> class  train  test
> x          1     1
> y          0     1

Links in tar files are images and labels of their own, as after extraction; the last of several members of a path counts.

$ mkdir -p links/a links/b && cd links && cp ../photos/a/rgb.png a/1.png && ln a/1.png b/hard.png && ln -s ../a/1.png b/soft.png && ln -s b c && ln -s ../c/soft.png a/chain.png && tar --sort=name --format=pax -cf ../links.tar a b c && tar -rf ../links.tar a/1.png && tar -tvf ../links.tar | grep -c -- ' -> \| link to '
> 4
$ invar encode tar:links.tar -o bank-links --encoder pixels --size 8 --augment rotation --copies train=1 -q && cat bank-links/train/names.txt
> links.tar/a/chain.png
> links.tar/b/hard.png
> links.tar/b/soft.png
> links.tar/a/1.png
! warning: tar:links.tar: 1 link such as c -> b does not lead to a file in the archive and is skipped
$ ln -s 001.cls web/005.cls && ln -s 001.png web/005.png && tar --sort=name -cf weblinks.tar -C web 001.cls 001.png 004.cls 004.tif 005.cls 005.png && invar data tar:weblinks.tar -q
> split  images  labels  width × height
> train       3     yes   14–23 × 14–23
>
> class  train
> 0          1
> 10         2
$ ln -sf 009.cls web/005.cls && tar --sort=name -cf weblost.tar -C web 001.cls 001.png 005.cls 005.png && invar data tar:weblost.tar -q
! invar: weblost.tar/005.cls: is a link to 009.cls, which is not a file in the archive
? 1
$ ln -s ../../a/1.png links/b/up.png && ln -s /nowhere links/d && tar -cf lost.tar -C links a/1.png b d && invar data tar:lost.tar -q
! warning: tar:lost.tar: 1 link such as d -> /nowhere does not lead to a file in the archive and is skipped
! invar: lost.tar/b/up.png: is a link to ../../a/1.png, which is not a file in the archive; --skip-broken skips such images
? 1
$ invar data tar:lost.tar -q --skip-broken
> split  images  broken  labels  width × height
> train       4       1     yes         23 × 14
>
> class  train
> a          1
> b          3
! warning: tar:lost.tar: 1 link such as d -> /nowhere does not lead to a file in the archive and is skipped
! warning: skipped: lost.tar/b/up.png: is a link to ../../a/1.png, which is not a file in the archive

Members outside of a tar file.

$ cd photos/a && tar -cPf ../../outside.tar rgb.png ../b/../a/rgb.png && cd ../.. && tar -rPf outside.tar --transform 's|^photos|/abs|' photos/b/420.jpg; tar -tPf outside.tar; invar data tar:outside.tar -q
> rgb.png
> ../b/../a/rgb.png
> /abs/b/420.jpg
> split  images  labels  width × height
> train       2     yes         23 × 14
>
> class  train
> b          1
! warning: tar:outside.tar: 1 member such as ../b/../a/rgb.png has .. in its path, which leads outside, and is skipped; write the tar file without ..
! warning: tar:outside.tar: the leading / of 1 path such as /abs/b/420.jpg is dropped, as tar does

Tar files that cannot be.

$ gzip -k photos.tar; invar data tar:photos.tar.gz -q
! invar: photos.tar.gz: is compressed, but images are read in place; decompress it with gunzip
? 1
$ head -c 3000 photos.tar > cut.tar; invar data tar:cut.tar -q
> split  images  labels  width × height
> train       1      no         23 × 14
$ invar data tar:photos/a/rgb.png -q
! invar: photos/a/rgb.png: is not a tar file: 322 bytes at byte 0 instead of a header
? 1
$ invar data 'tar:none-*.tar' -q
! invar: none-*.tar: there is no such tar file
? 1
$ cp train-0.tar mixed.tar; invar data tar:train-0.tar,mixed.tar -q
! invar: tar:train-0.tar,mixed.tar: train-0.tar/001.png is in a split but mixed.tar/001.png is not; put every image into one, or none
? 1
$ echo x > text; tar --sort=name -cf text.tar text; invar data tar:text.tar -q
! invar: tar:text.tar: has no JPEG, PNG, TIFF or WebP files in it
? 1
$ : > web/000.cls; tar --sort=name -cf noclass.tar -C web 000.cls 000.tif; invar data tar:noclass.tar -q
! invar: noclass.tar/000.cls: must hold one label, a number or a name of at most 255 bytes
? 1

The same images give the same features, wherever they are; rows keep their names, and a second run finds its bank.

$ cd photos && printf 'path,label\n' > list.csv && for f in */*; do echo "$f,${f%%/*}"; done >> list.csv
$ for set in folder:photos csv:photos/list.csv tar:photos.tar; do invar encode $set -o bank-${set%%:*} --encoder pixels --size 8 --augment rotation --copies train=1 -q; done
$ cmp bank-folder/train/clean.npy bank-csv/train/clean.npy && cmp bank-folder/train/labels.npy bank-csv/train/labels.npy && sort bank-tar/train/names.txt
> photos.tar/photos/a/lzw.tif
> photos.tar/photos/a/rgb.png
> photos.tar/photos/b/420.jpg
> photos.tar/photos/b/lossy.webp
> photos.tar/photos/b/turned6.tif
$ cat bank-csv/train/names.txt
> a/lzw.tif
> a/rgb.png
> b/420.jpg
> b/lossy.webp
> b/turned6.tif
$ invar encode tar:photos.tar -o bank-tar --encoder pixels --size 8 --augment rotation --copies train=1 2>&1 | head -2
> pixels: images of 8 x 8, 3 channels, mean 0.485 to 0.406, std 0.229 to 0.225
> train: already exists, with 1 copy; nothing to do

An output does not replace a list or a tar file that is read.

$ invar data csv:list.csv --sheet list.csv -q
! invar data: --sheet list.csv would replace a file that this command reads; choose another file
? 2
$ invar data tar:train-0.tar,train-1.tar --sheet train-0.tar -q
! invar data: --sheet train-0.tar would replace a file that this command reads; choose another file
? 2
