Some classes of a bank: rows of the others are left out, labels are the lines of the list.

$ make-input photos raw 42; i=0; for f in raw/*/*.png; do c=$(echo ant bee cow | cut -d' ' -f$((i % 3 + 1))); s=$([ $i -lt 27 ] && echo train || echo test); mkdir -p pets/$s/$c; mv $f pets/$s/$c/; i=$((i+1)); done
$ invar encode folder:pets -o whole --encoder pixels --size 4 --augment rotation --copies train=2,test=2 -q
$ printf 'cow\nant\n' > list; invar encode folder:pets -o small --classes list --encoder pixels --size 4 --augment rotation --copies train=2,test=2 -q

A view of a bank has the rows of a bank that was encoded with the same list: an adapter gets the same numbers.
$ invar train whole -o view --loss none --init rigid --hidden 120 --classes list 2>&1 | sed 's/done in .*//; /empty corners/d'
> rigid fitted to 18 images of train, with 2 copies per image
> view/adapter.safetensors is finished; next: invar eval whole view --classes list
>
$ invar train small -o own --loss none --init rigid --hidden 120 -q; for run in view own; do invar apply $run whole/test/clean.npy -o $run.npy -q; done; cmp view.npy own.npy && echo same
> same
$ for bank in 'whole --classes list' small; do invar eval $bank view --metrics structure,knn,same-class --k 1 -q | sed -n '3,$p' > "$bank.txt"; done; cmp 'whole --classes list.txt' small.txt && echo same
> same
$ invar eval whole view --metrics structure -q | sed -n '3,$p' > all.txt; cmp -s all.txt small.txt || echo other
> other

The list is recorded by its classes; another one cannot resume the run.
$ grep -A3 '^ *"classes"' view/run.json | tr -d '\n '; echo
> "classes":["cow","ant"],
$ grep -a -o 'invar.classes":"[^]]*]' view/adapter.safetensors; grep -q -a 'invar.classes' own/adapter.safetensors || echo none
> invar.classes":"[\"cow\", \"ant\"]
> none
$ invar eval whole --classes list --metrics structure -q --json | sed -n '/"classes"/,/]/p' | tr -d '\n '; echo
> "classes":["cow","ant"],
$ invar train whole -o view --classes list --resume -q; echo $?
> 0
$ invar train whole -o view --resume -q
! invar: view: was started with 2 classes of its bank; give --classes with the same list to resume it
? 1
$ echo cow > one; invar train whole -o view --classes one --resume -q
! invar: view: was started with 2 classes of its bank; give --classes with the same list to resume it
? 1
$ invar train small -o own --classes list --resume -q
! invar: own: was started with all classes of its bank, so it cannot be resumed with --classes
? 1

Numbers of a view are cached beside those of the whole bank, not in their place.
$ invar eval whole --metrics lc --probe-epochs 2 -q > lc-all; invar eval whole --metrics lc --probe-epochs 2 -q --classes list > lc-two; ls whole/cache | sed 's/[0-9a-f]\{32\}/HASH/g' | sort
> linear-HASH-HASH.safetensors
> linear-HASH.safetensors
$ for i in 1 2; do invar eval whole --metrics lc --probe-epochs 2 -q | cmp - lc-all; invar eval whole --metrics lc --probe-epochs 2 -q --classes list | cmp - lc-two; done; cmp -s lc-all lc-two || echo other
> other

The list of subset is such a list; the other commands that read a bank take it too.
$ invar subset whole -k 2 -q > far; invar eval whole view --classes far --metrics structure -q > out; echo $?
> 0
$ invar subset whole -k 2 --classes list -q | sort
> ant
> cow
$ invar subset whole -k 3 --classes list -q
! invar: whole: train has 2 classes, but --count asks for 3
? 1
$ invar neighbours whole view --data folder:pets --classes list -o sheet.svg -q; grep -o '>bee<' sheet.svg; grep -o '>cow<' sheet.svg | sort -u
> >cow<
$ invar neighbours small view --data folder:pets --classes list -o other.svg -q; cmp sheet.svg other.svg && echo same
> same
$ invar diagnose whole --classes list -q
> verdict: unknown
> train has 18 images, and with fewer than 50 a trial cannot tell whether an adapter helps

Lists that make no sense: the same messages as for images.
$ printf 'cow\nwolf\n' > bad; invar eval whole --classes bad -q
! invar eval: --classes bad: there is no class 'wolf' in whole
? 2
$ invar data folder:pets --classes bad -q
! invar data: --classes bad: there is no class 'wolf' in folder:pets
? 2
$ printf 'cow\n2\n' > bad; invar train --trial=false whole -o run --classes bad -q
! invar train: --classes bad: lists the class 'cow' twice
? 2
$ printf '\n \n' > bad; invar subset whole -k 2 --classes bad -q
! invar subset: --classes bad: lists no class
? 2
$ invar diagnose whole --classes nolist -q
! invar: --classes: nolist: cannot open: No such file or directory
? 1
$ rm -r whole/*/labels.npy; invar eval whole --classes list -q
! invar eval: --classes list: whole has no classes
? 2

A split without an image of these classes is left out, of images as of a bank.
$ rm -r pets/test/bee; echo bee > one; invar encode folder:pets -o bees --classes one --encoder pixels --size 4 2>&1 | grep -v 'done in\|per second\|^pixels'; ls bees
> test has no images of these classes and is left out
> bees has features of 48 numbers, without copies; next: invar apply RUN bees/train/clean.npy -o OUT.npy
> bank.json
> train
$ invar encode folder:pets -o three --encoder pixels --size 4 -q; invar eval three --classes one -q
! invar: three: test has no rows of these --classes
? 1
$ echo 1 > two; invar encode folder:pets --split test -o test --encoder pixels --size 4 -q; invar eval test --classes two -q --metrics structure
! invar eval: --classes two: no image of test has one of these classes
? 2
