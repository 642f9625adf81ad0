Files that are missing, are something else, or do not fit together: one
sentence that names them, exit 1, nothing half-written.

$ make-input bank bank && make-input bank wide 64 12 && make-input npy x.npy 6 8
$ invar train --trial=false bank -o run --hidden 16 --epochs 2 -q

$ invar train --trial=false nowhere -o r
! invar: nowhere: no such bank
? 1
$ invar train --trial=false x.npy -o r
! invar: x.npy: is a file, but a bank is a folder
? 1
$ mkdir empty; invar train --trial=false empty -o r
! invar: empty: is not a bank: no sub-folder such as train/ has a clean.npy
? 1
$ invar train --trial=false bank -o run -q
! invar: run: already exists; use --resume to continue it, --force to replace it, or choose another name
? 1
$ invar train --trial=false bank -o x.npy -q
! invar: x.npy: is a file, but a run is a folder
? 1
$ invar train --trial=false bank -o no/such/folder -q
! invar: no/such/folder: cannot create the folder: No such file or directory
? 1
$ invar train bank -o fresh --resume -q
! invar: fresh: does not exist, so there is nothing to resume; leave out --resume
? 1
$ invar train bank -o run --resume --hidden 32 -q
! invar: run: was started with --hidden 16, so it cannot be resumed with 32
? 1
$ invar train wide -o run --resume -q
! invar: run: was started with different rows than those now in wide/train, so it cannot be resumed
? 1
$ invar train --trial=false bank -o r --split valid -q
! invar: bank: has no split valid; it has test, train
? 1
$ invar train bank -o r --width 4 -q
! invar train: --loss mawa needs codes as wide as the features: --width is 4, but the bank has 8
? 2
$ invar train bank -o r --residual --width 4 -q
! invar train: --loss mawa needs codes as wide as the features: --width is 4, but the bank has 8
? 2
$ invar train bank -o r --loss hsic --sigma-x wide -q
! invar train: --sigma-x must be median or a number above 0, not 'wide'
? 2
$ invar train --trial=false bank -o r --lr 1e-4 --lr-min 4e-4 -q
! invar train: --lr-min 0.0004 is above --lr 0.0001, so the learning rate could not be annealed to it
? 2
$ invar train bank -o r --loss none --init identity --anchor 2 -q
! invar train: --anchor needs --loss mawa or --init features, and neither is set
? 2
$ invar train bank -o r --preset paper --loss none -q
! invar train: --loss none trains nothing, so it needs a closed form: --init identity, rigid, ridge or features
? 2
$ invar train bank -o r --init ridge --hidden 15 -q
! invar train: --init ridge needs two hidden units for each feature: --hidden is 15, the bank has 8 features, so at least 16
? 2
$ invar train bank -o r --init rigid --ridge 0.1 -q
! invar train: --ridge needs --init ridge or features, but --init is rigid
? 2

$ invar apply nowhere x.npy -o out.npy -q
! invar: nowhere: cannot open: No such file or directory
? 1
$ invar apply empty x.npy -o out.npy -q
! invar: empty: has no adapter.safetensors; is its training finished?
? 1
$ invar apply x.npy x.npy -o out.npy -q
! invar: x.npy: is not a safetensors file, or is truncated: its header should have 379676406402707 bytes, but at most 312 are left
? 1
$ invar apply run nothing.npy -o out.npy -q
! invar: nothing.npy: cannot open: No such file or directory
? 1
$ invar apply run bank -o out.npy -q
! invar: bank: is a folder, expected a file
? 1
$ echo hello > text.npy; invar apply run text.npy -o out.npy -q
! invar: text.npy: is not a NumPy file (it does not start with \x93NUMPY)
? 1
$ : > empty.npy; invar apply run empty.npy -o out.npy -q
! invar: empty.npy: is empty, expected a NumPy file
? 1
$ head -c 100 x.npy > short.npy; invar apply run short.npy -o out.npy -q
! invar: short.npy: ends after 100 bytes, but its header alone needs 128
? 1
$ make-input npy wide.npy 6 12; invar apply run wide.npy -o out.npy -q
! invar: wide.npy: its shape is (6, 12) but run/adapter.safetensors takes (n, 8) or (n, c, 8)
? 1
$ make-input npy flat.npy 48; invar apply run flat.npy -o out.npy -q
! invar: flat.npy: its shape is (48,) but run/adapter.safetensors takes (n, 8) or (n, c, 8)
? 1
$ make-input nan nan.npy 6 8; invar apply run nan.npy -o out.npy -q
! invar: nan.npy: row 3, column 0 is NaN
? 1
$ invar apply run x.npy -o no/out.npy -q
! invar: no/out.npy: cannot write: No such file or directory
? 1
$ invar apply run x.npy -o empty -q
! invar: empty: is a folder, expected a file
? 1
$ echo hello | invar apply run - -o out.npy -q
! invar: standard input: is not a NumPy file (it does not start with \x93NUMPY)
? 1
$ invar apply run - -o out.npy -q < /dev/null
! invar: standard input: is empty, expected a NumPy file
? 1
$ invar apply run x.npy -o - -q > /dev/full
! invar: standard output: cannot write: No space left on device
? 1

$ invar eval nowhere run -q
! invar: nowhere: no such bank
? 1
$ invar eval bank nowhere -q
! invar: nowhere: cannot open: No such file or directory
? 1
$ invar eval wide run -q
! invar: run takes features of width 8, but those of wide have width 12
? 1
$ invar eval bank run --metrics strukture -q
! invar eval: --metrics: there is no measurement 'strukture'; choose from lc, nc, ec, kept, knn, structure, collision, invariance, same-image, same-class, distances, tsne, curves, classes, worst, ceiling, graph; did you mean structure?
? 2
$ invar eval bank run --split valid -q
! invar: bank: has no split valid; it has test, train
? 1
$ invar eval bank run -o empty -q
! invar: empty: is a folder, expected a file
? 1
$ invar eval bank run -o no/such.json -q
! invar: no/such.json: cannot write: No such file or directory
? 1
$ invar eval bank run --json -q > /dev/full
! invar: cannot write to standard output: No space left on device
? 1
$ cp -r run broken; echo '{"a": 1' > broken/metrics.json; invar eval bank broken -q
! invar: broken/metrics.json: line 2: '}' expected near end of file
? 1
$ head -c 300 run/adapter.safetensors > cut.safetensors; invar eval bank cut.safetensors -q 2>&1 | sed 's/have [0-9]* bytes/have N bytes/'
> invar: cut.safetensors: is not a safetensors file, or is truncated: its header should have N bytes, but at most 292 are left

$ make-input npy a.npy 6 2 8; make-input npy fewer.npy 5 2 8; make-input npy thin.npy 6 2 7
$ invar loss mawa --adapter run --clean x.npy --aug fewer.npy -q
! invar: fewer.npy has shape [5, 2, 8], but with x.npy of shape [6, 8] it must be [6, s, 8]
? 1
$ invar loss mawa --adapter run --clean x.npy --aug thin.npy -q
! invar: thin.npy has shape [6, 2, 7], but with x.npy of shape [6, 8] it must be [6, s, 8]
? 1
$ invar loss mawa --adapter run --clean x.npy --aug x.npy -q
! invar: x.npy has shape [6, 8], but with x.npy of shape [6, 8] it must be [6, s, 8]
? 1
$ invar loss mawa --adapter run --clean wide.npy --aug a.npy -q
! invar: wide.npy has shape [6, 12], but the adapter run/adapter.safetensors takes features of width 8
? 1
$ invar loss mawa --adapter run --clean a.npy --aug a.npy -q
! invar: a.npy has shape [6, 2, 8], but must be [N, 8]
? 1
$ invar loss mawa --adapter run --clean x.npy --aug a.npy --grad x.npy -q | wc -l
> 0
! invar: x.npy: cannot create the folder: File exists
$ invar loss mawa --adapter run --clean nan.npy --aug a.npy -q
! invar: nan.npy: its element [3, 0] is NaN
? 1

$ invar demo --data nowhere -q
! invar demo: 'nowhere' is not a data set: there is no such folder, and it does not start with stl10:, mnist:, fashion-mnist:, cifar10:, tiny-imagenet:, folder:, csv:, tar: or npy:
? 2
$ invar demo --data mnist:bank -q
! invar: bank: has no train-images-idx3-ubyte or t10k-images-idx3-ubyte, compressed with gzip or not
? 1
$ invar demo --data npy:a.npy -o x.npy -q
! invar: x.npy: cannot create the folder: File exists
? 1

$ ls -A
> a.npy
> bank
> broken
> cut.safetensors
> empty
> empty.npy
> fewer.npy
> flat.npy
> nan.npy
> run
> short.npy
> text.npy
> thin.npy
> wide
> wide.npy
> x.npy
$ ls run broken
> broken:
> adapter.safetensors
> checkpoint.safetensors
> log.jsonl
> metrics.json
> run.json
>
> run:
> adapter.safetensors
> checkpoint.safetensors
> log.jsonl
> metrics.json
> run.json
