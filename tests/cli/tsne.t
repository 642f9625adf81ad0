Embeddings in the plane: what is printed and written, and what is refused.

$ make-input npy x.npy 60 5
$ make-input npy more.npy 40 5
$ make-input npy wide.npy 60 6
$ make-input npy flat.npy 60
$ make-input nan bad.npy 60 5
$ make-input equal same.npy 60 5
$ make-input labels labels.npy 60 0 1 -1
$ make-input labels few.npy 40 2 1
$ invar tsne x.npy -o map.npy --perplexity 10 --iterations 60 -q
> 60 rows of 1 array, width 5
> KL divergence 1.3632 after 60 iterations
$ invar tsne x.npy -o again.npy --perplexity 10 --iterations 60 --threads 1 -q
> 60 rows of 1 array, width 5
> KL divergence 1.3632 after 60 iterations
$ cmp map.npy again.npy
$ invar tsne x.npy more.npy --labels labels.npy --labels few.npy -o both.npy -o both.json -o both.svg --perplexity 10 --iterations 60 -q
> 100 rows of 2 arrays, width 5
> KL divergence 0.0378 after 60 iterations
> 100 rows have more than 10 equally near neighbours, such as duplicates, and treat them alike
$ invar tsne x.npy more.npy -o both.npy --perplexity 10 --iterations 60 --json -q
> {
>   "kl": 0.0378250566997959,
>   "iterations": 60,
>   "rows": 100,
>   "dim": 5,
>   "inputs": [
>     {
>       "path": "x.npy",
>       "rows": 60
>     },
>     {
>       "path": "more.npy",
>       "rows": 40
>     }
>   ],
>   "outputs": [
>     "both.npy"
>   ]
> }
$ invar tsne x.npy
! invar tsne: the output is missing: -o OUT
? 2
$ invar tsne x.npy -o map.txt
! invar tsne: -o map.txt must end in .npy (points), .json (results), .png or .svg (a plot)
? 2
$ invar tsne x.npy -o x.npy
! invar tsne: -o x.npy would replace a file that this command reads; choose another file
? 2
$ invar tsne x.npy -o map.npy --perplexity 59
! invar tsne: --perplexity 59 is too large for 60 rows; it must be below 59
? 2
$ invar tsne x.npy wide.npy -o map.npy
! invar: x.npy has shape [60, 5] and wide.npy has shape [60, 6], but arrays that are embedded together need the same width
? 1
$ invar tsne flat.npy -o map.npy
! invar: flat.npy has shape [60], but must be [n, width]
? 1
$ invar tsne bad.npy -o map.npy
! invar: bad.npy: its element [30, 0] is NaN
? 1
$ invar tsne same.npy -o map.npy
! invar: all 60 rows are equal, so there is nothing to embed
? 1
$ invar tsne x.npy more.npy --labels labels.npy -o map.npy
! invar: --labels labels.npy has shape [60], but must be [40] to label more.npy
? 1
$ invar tsne x.npy --labels labels.npy --labels few.npy -o map.npy
! invar tsne: --labels was given 2 times for 1 arrays; give it once for all or once for each
? 2
$ invar tsne x.npy --class-names missing.txt -o map.npy
! invar: missing.txt: cannot open: No such file or directory
? 1
$ invar tsne x.npy -o map.npy --learning-rate 1e9 --perplexity 10
! invar: the embedding diverged at iteration 1; lower --learning-rate
? 1

As a measurement: clean rows and copies of each column, for plots.
$ make-input bank eval-bank; invar train --trial=false eval-bank -o run --hidden 8 --epochs 1 -q; invar eval eval-bank run --metrics tsne -q -o tsne-eval.json > table.txt; invar plot tsne-eval.json
> tsne                     embedding by t-SNE, perplexity 30
