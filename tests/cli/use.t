Wrong use: one sentence, exit 2, nothing written.

$ invar trian
! invar: there is no command 'trian'; did you mean 'train'?
? 2
$ invar frobnicate
! invar: there is no command 'frobnicate'; 'invar help' lists the commands
? 2
$ invar --verbos
! invar: there is no option '--verbos'; did you mean '--version'?
? 2
$ invar help evla
! invar help: there is no command 'evla'; did you mean 'eval'?
? 2
$ invar docs manual
! invar docs: KIND must be markdown, man, bash, zsh, fish, models, augmentations, recipe-schema or commands, not 'manual'
? 2
$ invar docs markdown train
! invar docs: unexpected argument 'train': only man takes a COMMAND
? 2
$ invar train
! invar train: the output is missing: -o RUN
? 2
$ invar train bank
! invar train: the output is missing: -o RUN
? 2
$ invar encode folder:pets --encoder pixels extra -o bank
! invar encode: unexpected argument 'extra'; usage: invar encode DATASET -o BANK [options]
? 2
$ invar train bank -o
! invar train: -o needs a value: -o RUN
? 2
$ invar train bank -o --json
! invar train: -o needs a value, but '--json' follows; if that is the value, write --output=--json
? 2
$ invar train bank -o run --epoch 3
! invar train: there is no option --epoch; did you mean --epochs?
? 2
$ invar train bank -o run --xyzzy
! invar train: there is no option --xyzzy; 'invar train --help-all' lists the options
? 2
$ invar train bank -o run --check
! invar train: there is no option --check; did you mean --checkpoint-seconds?
? 2
$ invar train bank -o run -x
! invar train: there is no option -x; 'invar train --help' lists the options
? 2
$ invar train bank -o run --hidden 0
! invar train: --hidden must be at least 1 and at most 1048576, not 0
? 2
$ invar train bank -o run --hidden -4
! invar train: --hidden must be at least 1 and at most 1048576, not -4
? 2
$ invar train bank -o run --hidden=12x
! invar train: --hidden needs a whole number, not '12x'
? 2
$ invar train bank -o run --hidden 1e3
! invar train: --hidden needs a whole number, not '1e3'
? 2
$ invar train bank -o run --hidden ''
! invar train: --hidden needs a whole number, not ''
? 2
$ invar train bank -o run --hidden 99999999999999999999999
! invar train: --hidden must be at least 1 and at most 1048576, not 99999999999999999999999
? 2
$ invar train bank -o run --epochs
! invar train: --epochs needs a value: --epochs N
? 2
$ invar train bank -o run --lr nan
! invar train: --lr needs a number, not 'nan'
? 2
$ invar train bank -o run --lr inf
! invar train: --lr needs a number, not 'inf'
? 2
$ invar train bank -o run --lr 0x10
! invar train: --lr needs a number, not '0x10'
? 2
$ invar train bank -o run --lr ' 1'
! invar train: --lr needs a number, not ' 1'
? 2
$ invar train bank -o run --lr 1e999
! invar train: --lr must be above 0 and at most 1000, not 1e999
? 2
$ invar train bank -o run --lr -1
! invar train: --lr must be above 0 and at most 1000, not -1
? 2
$ invar train bank -o run --validation 1.5
! invar train: --validation must be at least 0 and at most 0.9, not 1.5
? 2
$ invar train bank -o run --residual=yes
! invar train: --residual must be true or false, not 'yes'
? 2
$ invar train bank -o run --loss mava
! invar train: --loss must be mawa, waco, simclr, hsic, keep or none, not 'mava'; did you mean mawa?
? 2
$ invar train bank -o run --temperature 0
! invar train: --temperature must be above 0 and at most 1000000, not 0
? 2
$ invar train bank -o run --p 0.5
! invar train: --p must be at least 1 and at most 10, not 0.5
? 2
$ invar train bank -o run --slices orthgonal
! invar train: --slices must be random or orthogonal, not 'orthgonal'; did you mean orthogonal?
? 2
$ invar train bank -o run --keep lats
! invar train: --keep must be last or best, not 'lats'; did you mean last?
? 2
$ invar train bank -o run --threads 5000
! invar train: --threads must be at least 0 and at most 1024, not 5000
? 2
$ invar train bank -o ''
! invar train: the value of --output must not be empty
? 2
$ invar apply adapter.safetensors
! invar apply: IN.npy is missing; usage: invar apply ADAPTER IN.npy -o OUT.npy [options]
? 2
$ invar apply adapter.safetensors in.npy
! invar apply: the output is missing: -o OUT.npy
? 2
$ invar apply adapter.safetensors in.npy -o out.npy --dtype float64
! invar apply: --dtype must be float32 or float16, not 'float64'; did you mean float32?
? 2
$ invar apply adapter.safetensors - -o - --json
! invar apply: --json and '-o -' both write to standard output; use only one
? 2
$ invar eval bank
! invar: bank: no such bank
? 1
$ invar eval bank run --format html
! invar eval: --format must be text, markdown, csv or latex, not 'html'
? 2
$ invar eval bank run --points -1
! invar eval: --points must be at least 0 and at most 4000000000, not -1
? 2
$ invar loss
! invar loss: KIND is missing; usage: invar loss KIND --adapter FILE --clean X.npy [--aug A.npy] [options]
? 2
$ invar loss mava
! invar loss: KIND must be mawa, waco, simclr, hsic, keep or sw, not 'mava'; did you mean mawa?
? 2
$ invar loss mawa
! invar loss: the adapter is missing: --adapter FILE
? 2
$ invar loss mawa --adapter e.safetensors
! invar loss: the clean features are missing: --clean X.npy
? 2
$ invar demo now
! invar demo: unexpected argument 'now'; usage: invar demo [options]
? 2
$ invar train -- --help
! invar train: the output is missing: -o RUN
? 2
$ INVAR_CPU=sse9 invar train bank -o run
! invar train: INVAR_CPU is 'sse9' but must be ref, avx2 or avx512
? 2
$ ls -A
