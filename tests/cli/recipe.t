A study from a recipe: an existing bank, a closed form and a training, two seeds.

$ make-input bank bank 80 8; printf 'name: a test\nbank: bank\nadapters:\n  - {preset: instant, hidden: 16}\n  - {name: MaWa, preset: paper, epochs: 2, hidden: 2d}\nseeds: [0, 1]\ndiagnose: {hidden: 16}\neval: {metrics: [lc, structure], probe-epochs: 2}\nreport: false\n' > study.yaml
$ invar run study.yaml 2>log > shown; echo $?; cmp shown study/table.txt; sed -n '1,4p' shown; tail -2 shown
> 0
> a test
>
> bank
> 40 points of the split test, 3 copies, width 8; clean | augmented
> means over 2 runs; ± is their standard deviation
> lc was trained for 2 steps, and few steps may leave a classifier close to its initial values; try probe-epochs 250
$ grep '^\[' log
> [1/15] diagnosing bank
> [2/15] training instant on bank, seed 0
> [3/15] measuring instant on bank, seed 0
> [4/15] training instant on bank, seed 1
> [5/15] measuring instant on bank, seed 1
> [6/15] training MaWa on bank, seed 0
> [7/15] measuring MaWa on bank, seed 0
> [8/15] training MaWa on bank, seed 1
> [9/15] measuring MaWa on bank, seed 1
> [10/15] writing bank/table.json
> [11/15] writing table.txt
> [12/15] writing table.md
> [13/15] writing table.csv
> [14/15] writing table.tex
> [15/15] writing table.json
$ ls study study/bank study/bank/runs study/bank/eval/1; ls study/bank/runs/1/mawa
> study:
> bank
> stages.json
> table.csv
> table.json
> table.md
> table.tex
> table.txt
>
> study/bank:
> diagnose.json
> eval
> runs
> table.json
>
> study/bank/eval/1:
> instant.json
> mawa.json
>
> study/bank/runs:
> 0
> 1
> adapter.safetensors
> checkpoint.safetensors
> log.jsonl
> metrics.json
> run.json

The second run does nothing and says so.
$ cp -r study whole; invar run study.yaml 2>log > again; cmp shown again; sed '/^done in/d' log; diff -r study whole
> diagnose bank: done before
> train bank/instant/0: done before
> eval bank/instant/0: done before
> train bank/instant/1: done before
> eval bank/instant/1: done before
> train bank/mawa/0: done before
> eval bank/mawa/0: done before
> train bank/mawa/1: done before
> eval bank/mawa/1: done before
> table bank: done before
> table.txt: done before
> table.md: done before
> table.csv: done before
> table.tex: done before
> table.json: done before
> study: all 15 stages were done before; nothing to do

One table in five formats; JSON has one results document per bank, which others can read.
$ head -3 study/table.md; head -2 study/table.csv | tr -d '\r'; grep -c tabular study/table.tex; grep -E '^ *"(format|name|study)"' study/table.json
> # a test
>
> ## bank
> bank
> ,F,instant,MaWa
> 2
>   "format": "invar-study",
>   "name": "a test",
>       "format": "invar-results",
>       "study": "a test",
$ invar plot study/bank/table.json -o plots -q > /dev/null; ls plots | head -1; invar run study.yaml --json -q | cmp - study/table.json
> accuracy.png

A changed option redoes what depends on it and nothing else.
$ invar run study.yaml --set adapters.1.epochs=3 2>&1 >/dev/null | grep '^\[\|again'
> train bank/mawa/0: inputs or options have changed; running it again
> [6/15] training MaWa on bank, seed 0
> eval bank/mawa/0: inputs or options have changed; running it again
> [7/15] measuring MaWa on bank, seed 0
> train bank/mawa/1: inputs or options have changed; running it again
> [8/15] training MaWa on bank, seed 1
> eval bank/mawa/1: inputs or options have changed; running it again
> [9/15] measuring MaWa on bank, seed 1
> table bank: inputs or options have changed; running it again
> [10/15] writing bank/table.json
> table.txt: inputs or options have changed; running it again
> [11/15] writing table.txt
> table.md: inputs or options have changed; running it again
> [12/15] writing table.md
> table.csv: inputs or options have changed; running it again
> [13/15] writing table.csv
> table.tex: inputs or options have changed; running it again
> [14/15] writing table.tex
> table.json: inputs or options have changed; running it again
> [15/15] writing table.json
$ invar run study.yaml --set adapters.1.epochs=3 --set eval.probe-epochs=3 2>&1 >/dev/null | grep '^\['
> [3/15] measuring instant on bank, seed 0
> [5/15] measuring instant on bank, seed 1
> [7/15] measuring MaWa on bank, seed 0
> [9/15] measuring MaWa on bank, seed 1
> [10/15] writing bank/table.json
> [11/15] writing table.txt
> [12/15] writing table.md
> [13/15] writing table.csv
> [14/15] writing table.tex
> [15/15] writing table.json

Changed back, the tables are those of the beginning; what was deleted is made again, and no more.
$ invar run study.yaml -q | cmp - shown; for f in txt md csv tex json; do cmp study/table.$f whole/table.$f; done; rm study/bank/runs/0/instant/adapter.safetensors; invar run study.yaml 2>&1 >/dev/null | grep '^\['; cmp study/bank/runs/0/instant/adapter.safetensors whole/bank/runs/0/instant/adapter.safetensors
> [2/15] training instant on bank, seed 0
> [3/15] measuring instant on bank, seed 0

More seeds train no adapter twice.
$ invar run study.yaml --set 'seeds=[0, 1, 2]' 2>&1 >/dev/null | grep '^\[' | grep -v writing
> [6/19] training instant on bank, seed 2
> [7/19] measuring instant on bank, seed 2
> [12/19] training MaWa on bank, seed 2
> [13/19] measuring MaWa on bank, seed 2

Two runs of one recipe at the same time: the second says so and stops.
$ cp -r study before; flock study invar run study.yaml; flock study invar run study.yaml --dry-run; diff -r study before
! invar: study: another process runs its stages; wait until it has ended, or choose another folder
! invar: study: another process runs its stages; wait until it has ended, or choose another folder

The plan: what would run, without a file being written.
$ rm -r study; invar run study.yaml --dry-run -q > plan; echo $?; ls; sed 's/  *[0-9.]* MB$//; s/[0-9.]* [MG]B/N MB/g' plan
> 0
> again
> bank
> before
> log
> plan
> plots
> shown
> study.yaml
> whole
> stage                  state  took     disk
> diagnose bank         to run
> train bank/instant/0  to run
> eval bank/instant/0   to run
> train bank/instant/1  to run
> eval bank/instant/1   to run
> train bank/mawa/0     to run
> eval bank/mawa/0      to run
> train bank/mawa/1     to run
> eval bank/mawa/1      to run
> table bank            to run
> table.txt             to run
> table.md              to run
> table.csv             to run
> table.tex             to run
> table.json            to run
>
> 15 of 15 stages to run: N MB of disk space, N MB free.
$ invar run study.yaml -q > /dev/null; invar run study.yaml --dry-run -q; invar run study.yaml --dry-run -q --json --set adapters.0.ridge=1 | grep -B1 '"pending": true' | grep stage
> stage                 state  took  disk
> diagnose bank          done
> train bank/instant/0   done
> eval bank/instant/0    done
> train bank/instant/1   done
> eval bank/instant/1    done
> train bank/mawa/0      done
> eval bank/mawa/0       done
> train bank/mawa/1      done
> eval bank/mawa/1       done
> table bank             done
> table.txt              done
> table.md               done
> table.csv              done
> table.tex              done
> table.json             done
>
> All stages are done.
>       "stage": "train bank/instant/0",
>       "stage": "eval bank/instant/0",
>       "stage": "train bank/instant/1",
>       "stage": "eval bank/instant/1",
>       "stage": "table bank",
>       "stage": "table.txt",
>       "stage": "table.md",
>       "stage": "table.csv",
>       "stage": "table.tex",
>       "stage": "table.json",
$ invar run study.yaml --dry-run -q --set adapters.0.ridge=1 | sed -n 's/  *[0-9.]* s\>/ T/g; s/  *[0-9.]* [MG]B/ N MB/g; /instant.0/p; /ran before/p; /stages to run/p'
> train bank/instant/0  to run T N MB
> eval bank/instant/0   to run T
> 10 of 15 stages to run: N MB of disk space, N MB free.
> 10 of them ran before and took T then.

Without an output in the recipe, the study is named after it; -o and the recipe can say otherwise.
$ mkdir sub; sed 's/^bank: bank/bank: ..\/bank/; s/\[0, 1\]/0/' study.yaml > sub/two.yaml; invar run sub/two.yaml -q > /dev/null; ls two | head -2; invar run sub/two.yaml -o three -q --set 'adapters={preset: instant, hidden: 16}' > /dev/null; ls three/bank/runs/0; invar run sub/two.yaml -q --set 'adapters={preset: instant, hidden: 16}' --set output=four > /dev/null; ls four/bank/runs/0
> bank
> stages.json
> instant
> instant

With --keep-going a failure stops only what depends on it; later runs repeat what failed.
$ printf 'bank: bank\nreport: false\ndiagnose: false\neval: {metrics: lc, probe-epochs: 2}\nadapters:\n  - {name: bad, preset: paper, loss: mawa, width: 4}\n  - {preset: instant, hidden: 16}\n' > fails.yaml; invar run fails.yaml -q
! invar run: train bank/bad/0: loss mawa needs codes as wide as the features: width is 4, but the bank has 8
? 2
$ invar run fails.yaml --keep-going -q | sed -n '6p'
>                           F              instant
! failed: train bank/bad/0: loss mawa needs codes as wide as the features: width is 4, but the bank has 8
! invar: 1 stage failed; what does not depend on it is done
$ invar run fails.yaml --keep-going > /dev/null 2>log; echo $?; grep '^\[' log
> 1
> [1/10] training bad on bank, seed 0
$ invar run fails.yaml --set adapters.0.width=0 -q --set adapters.0.epochs=1 | sed -n '6p'
>                           F                  bad              instant

That no adapter helps is a result: the table says so, F is measured alone, and it is done once.
$ make-input bank easy 200 8; for i in 0 1 2; do cp easy/train/clean.npy easy/train/aug/00$i.npy; done; printf 'bank: easy\ndiagnose: false\neval: {metrics: structure}\nadapters: {name: any, preset: instant, hidden: 16}\n' > none.yaml; invar run none.yaml -q | grep 'F \|R²\|seed 0' | sed 's|written: .*|written|'; invar run none.yaml 2>&1 > /dev/null | grep 'nothing\|page'; ls none/easy/runs/0/any; invar run none.yaml --set 'adapters=[{name: any, preset: instant, hidden: 16}, {preset: instant, hidden: 16, trial: false}]' 2> log | sed -n '6p'; grep '^\[.*on easy\|page;' log; rm -r easy none none.yaml
>                      F  any
> R²              1.0000    –
> any, seed 0: it does not help on held-out images, so that no adapter is written
> none: all 9 stages were done before; nothing to do
> none: has no page, as no adapter was trained
> run.json
>                      F  any        instant
> [3/11] training instant on easy, seed 0
> [4/11] measuring instant on easy, seed 0
> none/report.html is the page; open it with a browser

Names: a mark of UTF-8 is skipped, letters of all languages are letters, and names of our files are taken.
$ printf '\357\273\277bank: {bank: bank, name: 日本}\nreport: false\ndiagnose: false\neval: {metrics: structure}\nadapters: {name: Café №1, preset: instant, hidden: 16}\n' > name.yaml; invar run name.yaml -q | sed -n '3p;6p'; ls name name/日本/runs/0; for name in table.txt Report.html stages.json x.part; do invar run name.yaml -q --set "bank.name=$name"; done; invar run name.yaml --set adapters.name=..; rm -r name name.yaml
> 日本
>                      F        Café №1
> name:
> stages.json
> table.csv
> table.json
> table.md
> table.tex
> table.txt
> 日本
>
> name/日本/runs/0:
> café-№1
! invar run: --set bank.name: the name 'table.txt' is the name of a file of the study; choose another name
! invar run: --set bank.name: the name 'Report.html' is the name of a file of the study; choose another name
! invar run: --set bank.name: the name 'stages.json' is the name of a file of the study; choose another name
! invar run: --set bank.name: the name 'x.part' is the name of a file of the study; choose another name
! invar run: --set adapters.name: the name '..' has no letter or digit; a folder is named after it
$ mkdir lists; printf 'path\n' > lists/birds.csv; for data in csv:lists/birds.csv tar:lists/a.tar,lists/b.tar npy:lists/x.npy,lists/y.npy folder:lists; do printf 'data: %s\nencoders: pixels\n' $data > name.yaml; invar run name.yaml --dry-run -q | grep -o '^encode [^ ]*'; done; rm -r lists name.yaml
> encode birds/pixels/rotation
> encode a/pixels/rotation
> encode x/pixels/rotation
> encode lists/pixels/rotation

Mistakes have a line, a column and the nearest right name; nothing is written.
$ printf 'bank: bank\nadapters:\n  - {preset: paper, epoch: 3}\n' > wrong.yaml; invar run wrong.yaml
! invar run: wrong.yaml:3:21: unknown key 'epoch', did you mean epochs?; the options of 'invar train' and name can stand here
? 2
$ printf 'bank: bank\nseedz: 3\n' > wrong.yaml; invar run wrong.yaml
! invar run: wrong.yaml:2:1: unknown key 'seedz', did you mean seeds?; 'invar run --print-defaults' shows all keys
? 2
$ printf 'bank: &a bank\n' > wrong.yaml; invar run wrong.yaml
! invar: wrong.yaml:1:7: anchors (&) are not supported; write the value again
? 1
$ printf 'bank: bank\n' > wrong.yaml; invar run wrong.yaml --set adapters.0.epochs=x
! invar run: --set adapters.0.epochs: epochs needs a whole number, not 'x'
? 2
$ invar run wrong.yaml --set adapters.3.epochs=1
! invar run: wrong.yaml: unknown key '3'; the options of 'invar train' and name can stand here
? 2
$ invar run wrong.yaml --set seeds
! invar run: --set seeds: expected KEY=VALUE, such as encode.size=64
? 2
$ invar run wrong.yaml --set 'seeds=[1'
! invar run: --set seeds: is not valid YAML: did not find expected ',' or ']', while parsing a flow sequence
? 2
$ invar run nowhere.yaml
! invar: nowhere.yaml: No such file or directory
? 1
$ invar run
! invar run: the recipe is missing: invar run RECIPE.yaml; --print-defaults prints one to start from
? 2
$ invar run wrong.yaml -o bank/study
! invar run: -o bank/study is inside bank, which this command reads; choose another place
? 2
$ printf 'bank: nowhere\n' > wrong.yaml; invar run wrong.yaml -q; invar run wrong.yaml --dry-run -q 2>&1 | head -2; ls -d wrong*
> stage                  state  took  disk
> bank nowhere          to run           ?
> wrong.yaml
! invar: nowhere: no such bank

Pages are part of the plan: one per bank, and an overview of several.
$ make-input photos photos 8 > /dev/null; printf 'data: folder:photos\nencoders: pixels\nencode: {holdout: 0.25, size: 8}\naugmentations: [rotation, noise]\n' > wrong.yaml; invar run wrong.yaml --dry-run -q | grep -o '^[^ ]*report.html *to run'; rm -r wrong.yaml photos
> photos/pixels/rotation/report.html   to run
> photos/pixels/noise/report.html      to run
> report.html                          to run

A folder that is no study keeps its files.
$ mkdir mine; echo mine > mine/table.txt; invar run study.yaml -o mine -q; cat mine/table.txt; rm -r mine
> mine
! invar: mine/table.txt: already exists and is not from a study; choose another folder with -o

With views in the banks, the table of a study has a column with 4 views behind F and behind every adapter, means over seeds as well.
$ make-input photos photos 40 > /dev/null; printf 'data: folder:photos\nencode: {holdout: 0.5, size: 8, copies: 1, views: 4}\nencoders: pixels\naugmentations: rotation\ndiagnose: false\nadapters: [{name: one, preset: instant, hidden: 16, trial: false}, {name: two, preset: paper, epochs: 1, hidden: 16}]\nseeds: [0, 1]\neval: {metrics: same-image}\n' > views.yaml; invar run views.yaml -q > shown; grep 'F, 4 views' shown | sed 's/   */, /g'; grep -c '^ *same image @1 |' shown; grep -o '^4 views.*' shown; grep -o '<bdi>[A-Za-z0-9 -]*, 4 views</bdi>\|4 encodings per query<' views/report.html | sort -u; rm -r views views.yaml photos shown
> , F, F, 4 views, one, one, 4 views, two, two, 4 views
> 4
> 4 views: the query is encoded at 0, 90, 180 and 270 degrees and the nearest of the four counts; 4 encodings per query
> 4 encodings per query<
> <bdi>F, 4 views</bdi>
> <bdi>one, 4 views</bdi>
> <bdi>two, 4 views</bdi>

From images, with few of them: the trial cannot tell, which is a result.
$ make-input photos photos 8 > /dev/null; printf 'data: folder:photos\nencode: {holdout: 0.25, size: 8, copies: 1}\nencoders: pixels\naugmentations: [rotation, noise]\nadapters: {epochs: 1, hidden: 16}\neval: {metrics: structure}\nreport: false\n' > short.yaml; invar run short.yaml -o made > shown 2> log; echo $?; grep '^photos' shown; grep -h '"verdict"' made/photos/pixels/*/diagnose.json
> 0
> photos, pixels, rotation
> photos, pixels, noise
>   "verdict": "unknown",
>   "verdict": "unknown",

Finished work stays if new options are wrong or an image is broken, and nothing is left beside it by the next run.
$ cp -r made kept; invar run short.yaml -o wide -q --set adapters.width=7 2> /dev/null; ls -d wide* 2> /dev/null; for set in encode.size=4000 'encode.copies=[train=1,val=2]' adapters.width=7 eval.split=zzz; do invar run short.yaml -o made -q --set "$set" > /dev/null; done; printf 'no image' > photos/even/z.jpg; invar run short.yaml -o made -q > /dev/null; rm photos/even/z.jpg; diff -r -x stages.json -x '*.part' made kept; invar run short.yaml -o made 2>&1 > /dev/null | grep nothing; find made -name '*.part'
> made: all 15 stages were done before; nothing to do
! invar run: encode photos/pixels/rotation: folder:photos: features of 48000000 numbers are too wide, at most 2^24 are allowed; use size N
! invar run: encode photos/pixels/rotation: copies train=1,val=2: folder:photos has no split 'val'
! invar run: train photos/pixels/rotation/keep/0: loss mawa needs codes as wide as the features: width is 7, but the bank has 192
! invar run: eval: folder:photos: has no split zzz; it has train, test
! invar: encode photos/pixels/rotation: photos/even/z.jpg: is not a JPEG, PNG, TIFF or WebP file; skip-broken skips such images

Outputs that were changed, extended or exchanged are made again, with the numbers of the beginning.
$ cd made/photos/pixels; head -c 128 rotation/bank/test/labels.npy > labels; head -c 16 /dev/zero >> labels; cp labels rotation/bank/test/labels.npy; rm labels; cp rotation/runs/0/keep/adapter.safetensors noise/runs/0/keep; cd ../../..; invar encode folder:photos -o made/photos/pixels/noise/bank --encoder pixels --holdout 0.25 --size 8 --augment noise --copies 2 -q > /dev/null; invar run short.yaml -o made 2>&1 > /dev/null | grep again; for file in table.txt table.json photos/pixels/rotation/bank photos/pixels/noise/bank photos/pixels/noise/runs/0/keep/adapter.safetensors; do diff -r made/$file kept/$file; done; invar run short.yaml -o made 2>&1 > /dev/null | grep nothing; rm -r kept
> encode photos/pixels/rotation: its output was changed or removed; running it again
> encode photos/pixels/noise: its output was changed or removed; running it again
> train photos/pixels/noise/keep/0: its output was changed or removed; running it again
> eval photos/pixels/noise/keep/0: its output was changed or removed; running it again
> made: all 15 stages were done before; nothing to do

The plan says what is missing.
$ invar run short.yaml --dry-run -q --set 'encoders=[pixels, {weights: nowhere.pth}]' | grep 'encode\|nowhere.pth:' | sed 's/  *[0-9.]* MB$//'
> encode photos/pixels/rotation         to run
> encode photos/pixels/noise            to run
> encode photos/nowhere/rotation        to run              ?
> encode photos/nowhere/noise           to run              ?
> nowhere.pth: cannot open: No such file or directory
$ invar run short.yaml -o made 2>&1 >/dev/null --set encode.size=10 | grep -c '^\['
> 15

The recipe of defaults means the defaults.
$ invar run --print-defaults > long.yaml; invar run long.yaml -o made --set data=folder:photos --set 'encode={holdout: 0.25, size: 10, copies: 1}' --set encoders=pixels --set 'augmentations=[rotation, noise]' --set adapters.0.epochs=1 --set adapters.0.hidden=16 --set eval.metrics=structure --set report=false --set name=short 2>&1 >/dev/null | grep '^\[\|nothing'
> made: all 15 stages were done before; nothing to do
$ for command in encode train eval diagnose; do invar $command --help-all | grep -o '^ *--[a-z0-9-]*\|^  -., --[a-z0-9-]*' | sed 's/.*--//' | sort > offered; grep -o '^ *# [a-z0-9-]*:' long.yaml | tr -d ' #:' | sort -u > printed; echo $command: $(comm -23 offered printed); done
> encode: augment dry-run encoder help help-all json quiet threads verbose version weights
> train: augment data encoder force help help-all json preset quiet resume threads verbose version weights
> eval: certify force format help help-all json plots quiet threads verbose version
> diagnose: force help help-all json quiet threads verbose version
