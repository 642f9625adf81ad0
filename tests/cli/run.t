The path a user walks: train, measure, apply, go on.

$ make-input bank bank
$ invar train --trial=false bank -o run --hidden 16 --epochs 4 2>&1 | sed -n '$s/[0-9.]\+ /N /gp'
> done in N s, N s of CPU time, peak memory N MB
$ invar train --trial=false bank -o quiet --hidden 16 --epochs 4 -q
$ ls run
> adapter.safetensors
> checkpoint.safetensors
> log.jsonl
> run.json
$ wc -l < run/log.jsonl
> 4
$ cmp run/adapter.safetensors quiet/adapter.safetensors
$ invar train --trial=false bank -o summary --hidden 16 --epochs 4 --json -q | grep -c '"loss"'
> 1
$ invar train --trial=false bank -o run --hidden 16 --epochs 4 --force -q
$ cmp run/adapter.safetensors quiet/adapter.safetensors

Another seed is another adapter; flags may come before the arguments.
$ invar train -q --trial=false --seed=1 --hidden=16 --epochs 4 --output other -- bank
$ cmp -s run/adapter.safetensors other/adapter.safetensors
? 1
$ invar train --trial=false bank -o residual --residual --lr 1e-4 --hidden 16 --epochs 4 -q

Closed forms: no training, or a beginning for one.
$ invar train bank -o rigid --loss none --init rigid --hidden 16 -q; ls rigid; wc -c < rigid/log.jsonl
> adapter.safetensors
> log.jsonl
> run.json
> 0
$ invar train bank -o ridge --loss none --init ridge --hidden 20 --json -q | grep -o '"epochs": 0'
> "epochs": 0
$ grep -c '"error"' ridge/run.json
> 6
$ invar train bank -o begun --init ridge --ridge 0.1 --residual --hidden 20 --epochs 2 -q; wc -l < begun/log.jsonl
> 2
$ invar eval bank rigid --metrics structure -q | grep R²
> R²              1.0000         1.0000

A run that is finished has nothing left to do.
$ invar train bank -o run --resume -q; cmp run/adapter.safetensors quiet/adapter.safetensors

Structure: F against itself is an isometry. Names need not differ.
$ invar eval bank run run/ ./run/adapter.safetensors --metrics structure -q | awk '{print $1, $2}'
> synthetic, coherent
>
> F run
> L1 |
> m 1.0000
> b 0.0000
> R² 1.0000
> RMSD 0.0000
> NRMSD 0.0000
> CVRMSD 0.0000
$ invar eval bank run run/ ./run/adapter.safetensors --metrics structure -q | sed -n 3p
>                      F            run            run            run
$ invar eval bank --points 10 --metrics structure -q
> synthetic, coherent displacement: 10 points of the split test, 3 copies, width 8; clean | augmented
>
>                      F
> L1 | L2  1.000 | 1.000
> m               1.0000
> b               0.0000
> R²              1.0000
> RMSD            0.0000
> NRMSD           0.0000
> CVRMSD          0.0000
$ invar eval bank run --json --metrics structure -q | grep -c '"structure": {'
> 2
$ invar eval bank run --json --metrics structure -q -o all.json > printed.json; cmp all.json printed.json
$ sed -n '2,3p' run/metrics.json; grep -A9 '"bank"' run/metrics.json | grep -v fingerprint
>   "format": "invar-metrics",
>   "version": 1,
>       "bank": "bank",
>       "encoder": "synthetic",
>       "augment": "coherent displacement",
>       "split": "test",
>       "points": 40,
>       "copies": 3,
>       "dim": 8,
>       "measurement": "structure",
>       "options": {
$ mv run/metrics.json metrics.json; echo '{"measurements": {"other": 1}, "note": 2}' > run/metrics.json; invar eval bank run --metrics structure -q; mv metrics.json run
! invar: run/metrics.json: is not a metrics.json of version 1; move it away to measure this run

Every format, with names that need care; F is the same everywhere.
$ cp -r run $'a|b_c,"d"'; cp -r run '名前'
$ invar eval bank $'a|b_c,"d"' '名前' --format text --metrics structure -q | sed -n 3p
>                      F      a|b_c,"d"           名前
$ invar eval bank --format text --metrics structure -q | sed -n '3,5p'
>                      F
> L1 | L2  1.000 | 1.000
> m               1.0000
$ invar eval bank $'a|b_c,"d"' '名前' --format markdown --metrics structure -q | head -2
> |  | F | a\|b_c,"d" | 名前 |
> |---|---:|---:|---:|
$ invar eval bank --format markdown --metrics structure -q | head -3
> |  | F |
> |---|---:|
> | L1 \| L2 | 1.000 \| 1.000 |
$ invar eval bank $'a|b_c,"d"' '名前' --format csv --metrics structure -q | head -1 | tr -d '\r'
> ,F,"a|b_c,""d""",名前
$ invar eval bank --format csv --metrics structure -q | head -2 | tr -d '\r'
> ,F
> L1 | L2,1.000 | 1.000
$ invar eval bank $'a|b_c,"d"' '名前' --format latex --metrics structure -q | head -3
> \begin{tabular}{lrrr}
> \hline
>  & F & a|b\_c,"d" & 名前 \\
$ invar eval bank --format latex --metrics structure -q | tail -4
> NRMSD & 0.0000 \\
> CVRMSD & 0.0000 \\
> \hline
> \end{tabular}

Applying: rows, copies of rows, half precision, streams.
$ make-input npy x.npy 5 8; make-input npy xs.npy 5 3 8
$ invar apply run x.npy -o y.npy -q; head -c 128 y.npy | tr -d '\0' | grep -ao "{.*}"
> {'descr': '<f4', 'fortran_order': False, 'shape': (5, 8), }
$ invar apply run xs.npy -o ys.npy -q; head -c 128 ys.npy | grep -ao "{.*}"
> {'descr': '<f4', 'fortran_order': False, 'shape': (5, 3, 8), }
$ invar apply run x.npy -o half.npy --dtype float16 -q; head -c 128 half.npy | grep -ao "{.*}"
> {'descr': '<f2', 'fortran_order': False, 'shape': (5, 8), }
$ invar apply run/adapter.safetensors - -o - < x.npy 2> /dev/null | cmp - y.npy
$ cat x.npy | invar apply run - -o piped.npy -q; cmp piped.npy y.npy
$ invar apply run x.npy -o y.npy --json -q
> {
>   "output": "y.npy",
>   "dtype": "float32",
>   "input_dim": 8,
>   "output_dim": 8
> }

Losses: a document for programs, gradients beside it.
$ invar loss mawa --adapter run --clean x.npy --aug xs.npy --json --grad grads -q | grep -o '"[a-z]*"' | head -2
> "value"
> "terms"
$ ls grads
> 0_bias.npy
> 0_weight.npy
> 2_bias.npy
> 2_weight.npy
> codes.npy
$ for g in 0_weight 0_bias 2_weight 2_bias; do head -c 128 grads/$g.npy | grep -ao "'shape': ([^)]*)"; done
> 'shape': (16, 8)
> 'shape': (16,)
> 'shape': (8, 16)
> 'shape': (8,)
$ invar loss mawa --adapter run --clean x.npy --aug xs.npy -q | awk '{print $1}' | head -1
> value
$ a=$(invar loss mawa --adapter residual --clean x.npy --aug xs.npy -q); b=$(invar loss mawa --residual --adapter residual --clean x.npy --aug xs.npy -q); [ "$a" = "$b" ]

A reader that goes away is no reason to complain.
$ mkfifo gone; (exec 3<>gone 4>gone 3>&-; invar docs markdown >&4; echo $?)
> 1
$ make-input npy big.npy 100000 8; invar apply run big.npy -o - -q | head -c 10 > /dev/null; echo "${PIPESTATUS[0]}"
> 1

What is not used is reported.
$ make-input bank told 80 8; invar train --trial=false told -o closed --preset instant --hidden 16 --epochs 3 --validation 0.2 2>&1 | grep 'not used'
> --epochs is not used: a closed form has no steps
> --validation is not used: a closed form has no steps

The trial comes first: its table on standard output, then the training; run.json has it, and so has --json.
$ make-input bank large 300 8; invar train large -o tried --preset instant --hidden 16 > table.txt 2> log.txt; echo $?; head -3 table.txt; sed -n '4,7s/[0-9][0-9.]*/N/gp' table.txt; grep -o '^verdict: [a-z]*' table.txt; head -1 log.txt; grep -c '"trial"' tried/run.json
> 0
> synthetic, coherent displacement: trial on 300 held-out images of the 300 of train; clean | augmented queries
>
>                                                  F              E  E, strength 0.9
> same image @N, old index, LN, %       N | N    N | N      N | N
> same image @N, old index, cosine, %   N | N    N | N      N | N
> same image @N, old index, LN, %      N | N  N | N    N | N
> same image @N, old index, cosine, %  N | N   N | N     N | N
> verdict: helps
> trial: measured on 300 held-out images of train, in 5 fits
> 1
$ invar train large -o tried-json --preset instant --hidden 16 --json -q | grep -o '"trial"\|"verdict": "[a-z]*"'
> "trial"
> "verdict": "helps"
$ invar train large -o tried-quiet --preset instant --hidden 16 -q; cmp tried/adapter.safetensors tried-quiet/adapter.safetensors

What does not help is not written, unless it is asked for; nor is a trial made twice.
$ cp -r large same; for i in 0 1 2; do cp same/train/clean.npy same/train/aug/00$i.npy; done; invar train same -o none --preset instant --hidden 16 -q; ls none
! invar: it does not help on held-out images, so that no adapter is written: no figure gets better beyond chance; same image @1 of augmented images (old index, L2) changes from 100.0 % with F to 100.0 % (95 % interval of the difference: +0.0 to +0.0 points); --even-if-worse writes it all the same
! ls: cannot access 'none': No such file or directory
? 2
$ invar train same -o none --preset instant --hidden 16 -q --even-if-worse; grep -o '"verdict": "[a-z]*"' none/run.json
> "verdict": "none"
$ invar train same -o untried --preset instant --hidden 16 -q --trial=false; grep -c '"trial"' untried/run.json
> 0
? 1
$ invar train large -o tried --resume 2>&1 | grep -c 'trial:\|verdict'
> 0
? 1
$ invar train large -o tried --preset instant -q
! invar: tried: already exists; use --resume to continue it, --force to replace it, or choose another name
? 1

The dial, and what it needs.
$ invar train large -o dialled --preset instant --hidden 16 --keep-structure 0.99 --even-if-worse --json -q | grep -o '"strength": 0[.]'
> "strength": 0.
$ invar train large -o r --preset instant --keep-structure 0.99 --trial=false -q
! invar train: --keep-structure is found in the trial, so --trial cannot be false; leave one of them out
? 2
$ invar train large -o r --loss waco --width 4 --keep-structure 0.99 -q
! invar train: --keep-structure needs codes as wide as the features: --width is 4, but the bank has 8
? 2
$ make-input bank few 40 8; invar train few -o r --keep-structure 0.9 -q
! invar: --keep-structure has no strength: train has 40 images, and with fewer than 50 a trial cannot tell whether an adapter helps
? 1
$ invar train few -o short --preset instant --hidden 16 2>/dev/null
> verdict: unknown
> train has 40 images, and with fewer than 50 a trial cannot tell whether an adapter helps
$ invar train large told -o r --loss waco --trial -q
! invar train: --trial is measured on the copies of one bank, not of 2
? 2
$ make-input photos seen 8; invar train --data seen --encoder pixels --size 4 --augment rotation -o live --hidden 4 --epochs 1 2>&1 | grep trial
> no trial was made: it needs a bank with copies, not --data
$ invar train --data seen --encoder pixels --size 4 --augment rotation -o live2 --trial -q
! invar train: --trial needs a bank with copies, not --data
? 2
$ invar train --data seen --encoder pixels --size 4 --augment rotation -o live2 --keep-structure 0.9 -q
! invar train: --keep-structure needs a bank with copies, not --data
? 2

A loss that makes a space of its own is measured in the new index alone, if asked.
$ invar train large -o space --loss waco --projections 10 --width 4 --hidden 16 --epochs 2 --trial --even-if-worse 2>/dev/null | grep -o '^same image @1, [a-z]* index, L2'
> same image @1, new index, L2
