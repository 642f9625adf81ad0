Results are drawn as pictures.

$ make-input bank bank
$ invar train --trial=false bank -o run --hidden 8 --epochs 2 -q
$ invar eval bank run --metrics lc,knn,structure --probe-epochs 2 --k 1 -o results.json --plots plots -q > table.txt
$ ls plots
> accuracy.png
> structure.distances.png
$ invar plot run
> train.loss               Training of run
> accuracy                 Accuracy, clean and augmented
> structure.distances      Distances between clean features, before and after the adapter
$ invar plot results.json --json
> {
>   "figures": [
>     {
>       "figure": "accuracy",
>       "title": "Accuracy, clean and augmented"
>     },
>     {
>       "figure": "structure.distances",
>       "title": "Distances between clean features, before and after the adapter"
>     }
>   ]
> }
$ invar plot results.json --figure accuracy -o again.svg --json -q
> {
>   "output": "again.svg",
>   "figures": [
>     {
>       "figure": "accuracy",
>       "title": "Accuracy, clean and augmented"
>     }
>   ]
> }
$ invar plot results.json --figure accuracy -o accuracy.svg -q; grep -c '<rect' accuracy.svg
> 13
$ invar plot run --figure train.loss -o loss.png --dark -q; head -c 4 loss.png | tail -c 3; echo
> PNG
$ invar plot run results.json -o both -q; ls both
> accuracy-2.png
> accuracy.png
> structure.distances-2.png
> structure.distances.png
> train.loss.png

What cannot be drawn.
$ invar plot run -o one.svg
! invar plot: there are 3 figures for one file; choose one with --figure, or give a folder to -o (without -o their names are listed)
? 2
$ invar plot run --figure acuracy -o one.svg
! invar plot: --figure must be train.loss, accuracy or structure.distances, not 'acuracy'; did you mean accuracy?
? 2
$ invar plot bank -o one.svg
! invar plot: bank has nothing to draw; 'invar eval' measures a run
? 2
$ invar plot table.txt -o one.svg
! invar: table.txt: line 1: '[' or '{' expected near 'synthetic'
? 1
$ invar plot run --figure accuracy -o results.json/x.svg
! invar: results.json/x.svg: cannot write: results.json is not a folder
? 1
$ echo text > other.png; invar plot run --figure accuracy -o other.png
$ invar plot run -o other.png/folder
! invar: other.png/folder: cannot create the folder: Not a directory
? 1
$ mkdir empty; invar plot empty
! invar plot: empty has nothing to draw; 'invar eval' measures a run
? 2
