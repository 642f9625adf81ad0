A page about runs.

$ make-input photos photos 100; invar encode photos --encoder pixels --size 8 --augment rotation --copies 2 --holdout 0.5 -o bank -q
$ invar train --trial=false bank -o run --hidden 8 --epochs 2 -q
$ invar report run -q; grep -o '<section id="[a-z-]*"' run/report.html
> <section id="comparison"
> <section id="maps"
> <section id="curves"
> <section id="classes"
> <section id="worst"
> <section id="numbers"
> <section id="training"
> <section id="use"
> <section id="configuration"
> <section id="left-out"
$ grep -o '<th scope="row">residual</th><td>[a-z]*' run/report.html
> <th scope="row">residual</th><td>yes
$ sed -n '/id="left-out"/,$p' run/report.html | grep '^<li>'
> <li>Pictures (the augmentation, what a search finds, the worst images): no images were given; --data DATASET shows them.</li>

What is measured is kept, so the second time nothing is.
$ invar report run --data photos --holdout 0.5 2>&1 | grep measuring
? 1
$ grep -o '<section id="[a-z-]*"' run/report.html | head -2
> <section id="search"
> <section id="augmentation"
$ grep 'id="left-out"' run/report.html
? 1
$ grep -o 'torch.nn.Linear([0-9, ]*)' run/report.html
> torch.nn.Linear(192, 8)
> torch.nn.Linear(8, 192)

Nothing is measured with --as-is, and nothing is known without a measurement.
$ invar train --trial=false bank -o other --hidden 8 --epochs 2 --seed 1 -q; invar report other --as-is -q; ls other/metrics.json 2>/dev/null; grep -o '<section id="[a-z-]*"' other/report.html; grep -o 'Nothing was measured on these runs yet' other/report.html
> <section id="training"
> <section id="use"
> <section id="configuration"
> <section id="left-out"
> Nothing was measured on these runs yet

Several runs stand side by side; what was measured with other options is named.
$ invar eval bank other --metrics kept --probe-epochs 3 -q > table.txt; invar report run other --as-is -o both.html -q; grep -o '<p class="note">kept of other[^<]*' both.html
> <p class="note">kept of other was measured with other options than in the other columns: {&quot;train-split&quot;: &quot;train&quot;, &quot;seed&quot;: 0, &quot;probe-epochs&quot;: 3, &quot;probe-input&quot;: &quot;standard&quot;, &quot;seeds&quot;: 1}

Without labels and parameters.
$ invar train --trial=false bank -o bare --hidden 8 --epochs 2 -q; rm bank/test/labels.npy bank/train/labels.npy bank/test/aug/*.params.npy; invar report bare --metrics kept,structure,collision,curves,classes -q; sed -n '/id="left-out"/,$p' bare/report.html | grep labels
> <li>LC-kept, collision, accuracy by class: test has no labels.npy.</li>

A bank that has other rows than the run was trained on is not taken.
$ make-input bank moved; invar train --trial=false moved -o away --hidden 8 --epochs 2 -q; rm -r moved; invar report away -q; grep -c '"note">Why: moved, the bank of away, was not found' away/report.html; sed -n '/id="left-out"/,$p' away/report.html | grep -o 'the bank of away, [^;]*'
> 1
> the bank of away, was not found from the current folder or from that of the run
! warning: nothing is measured: moved, the bank of away, was not found from the current folder or from that of the run; give --bank BANK
$ make-input bank moved 50; invar report away -q; sed -n '/id="left-out"/,$p' away/report.html | grep -o 'the bank of away, [^;]*'
> the bank of away, has other rows than the run was trained on
! warning: nothing is measured: moved, the bank of away, has other rows than the run was trained on; give --bank BANK

A run whose report exists can be trained again.
$ invar train --trial=false bank -o away --hidden 8 --epochs 1 --force -q; ls away
> adapter.safetensors
> checkpoint.safetensors
> log.jsonl
> run.json

From another folder the bank is found beside the run.
$ mkdir -p sub/deep; cp -r run sub/moved; rm run/metrics.json sub/moved/metrics.json; cd sub/deep && invar report ../../run --metrics invariance,structure -q; grep -c '<section id="comparison"' ../../run/report.html; invar report ../moved --metrics invariance,structure -q; grep -c '<section id="comparison"' ../moved/report.html
> 1
> 1

A long class name is shortened wherever it is repeated, in metrics.json, in the page and in tables.
$ name=$(head -c 120000 /dev/zero | tr '\0' n); invar encode photos --encoder pixels --size 8 --augment rotation --copies 2 --holdout 0.5 -o named -q; sed -i "s/\"even\"/\"$name\"/" named/bank.json; invar train --trial=false named -o long --hidden 8 --epochs 2 -q; invar report long -q; find long -name '*.html' -size -3000k; find long -name metrics.json -size -1000k; grep -o -m 1 'n… (class 0)' long/report.html | head -1; invar eval named long --metrics classes -q | wc -L
> long/report.html
> long/metrics.json
> n… (class 0)
> 186

Wrong use.
$ invar report bank
! invar: bank: has no adapter.safetensors; is its training finished?
? 1
$ invar report run/adapter.safetensors
! invar report: run/adapter.safetensors is not a run; give a folder that 'invar train' has filled
? 2
$ invar report run --split tset
! invar report: bank has no split tset; choose one with --split
? 2
$ echo text > mine.html; invar report run --as-is -q -o mine.html
$ invar report run -o run/metrics.json
! invar report: -o run/metrics.json would replace a file that this command reads; choose another file
? 2

Copies with empty corners: training and the page say what inside=1 is. The page of a unit adapter begins with search, by cosine.
$ make-input photos aerial 24; invar encode aerial --encoder pixels --size 8 --augment rotation --copies 2 --holdout 0.5 -o turned -q; invar train turned -o e --loss none --init ridge --unit 2>&1 | grep -c 'rotation:inside=1'; invar train --data aerial --holdout 0.5 --encoder pixels --size 8 --augment rotation -o g --epochs 1 --hidden 8 2>&1 | grep -c 'rotation:inside=1'
> 1
> 1
$ invar report e -q; grep -c 'Note: the rotated copies have empty corners, and E learns to repair these.*rotation:inside=1' e/report.html; grep -o '<p class="headline">.*' e/report.html | grep -o 'a search in an index'; grep -o 'same image @1, old index, [A-Za-z0-9]*, over' e/report.html | sort -u
> 1
> a search in an index
> same image @1, old index, cosine, over
$ invar encode aerial --encoder pixels --size 8 --augment rotation:inside=1 --copies 2 --holdout 0.5 -o cut -q; invar train cut -o f --loss none --init ridge 2>&1 | grep -c 'inside=1'; invar report f -q; grep -c 'Note: the rotated' f/report.html
> 0
> 0
? 1
