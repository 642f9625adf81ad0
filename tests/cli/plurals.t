A count of one has a noun of its own, wherever a number is said.
$ make-input npy x.npy 1 1 1 1; invar features x.npy -o f.npy --encoder pixels 2>&1 | head -1
> 1 image of 1 x 1, features of 1 number: the normalised pixels themselves
$ H='{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'; printf '%b%s%b' '\066\0\0\0\0\0\0\0' "$H" '\0\0\0\0' > one.safetensors; invar models convert one.safetensors new.safetensors; invar models inspect one.safetensors | grep tensors
> format      safetensors, 66 bytes
> encoder     none: one.safetensors: its tensors do not match any known encoder (resnet, cifar_resnet, squeezenet, vit, clip or siglip)
> tensors     1, 1 value, 4 bytes
! new.safetensors has 1 tensor from one.safetensors
$ make-input npy a.npy 20 2; invar dependence a.npy a.npy --projections 1 --permutations 1 --seed 1 -q | grep "pairs\|pairing"
> 20 pairs, SW_2 along 1 random direction
> for 1 shuffled pairing, where X and Z are independent:
> p            0.5  (share of all pairings, including the true one, that reach it)
$ make-input photos pets 2; mkdir -p one/pet; cp $(find pets -name '*.png' | sort | head -1) one/pet; invar encode folder:one --encoder pixels --size 4 -o planned --augment noise --copies 1 --dry-run -q | head -1
> 1 image, 2 features of 48 numbers in float32
$ invar encode folder:one --encoder pixels --size 1 -o bank --augment noise --copies 1 -q; invar train --trial=false bank -o run --validation 0.5
! invar train: --validation 0.5 of 1 image holds out no image
? 2
$ invar train --trial=false bank -o run --copies 2
! invar: bank: --copies is 2 but train has 1 copy
? 1
$ invar train bank -o run --loss none --init rigid --hidden 6 2>&1 | sed -n 1p
> rigid fitted to 1 image of train, with 1 copy per image
$ invar train bank -o trained --preset paper --samples 2 --hidden 1 --epochs 1 2>&1 | head -4 | sed 's/ MB.*//'
> using batches of 1 image: there are no more
> 1 sample per image: there are no more copies
> mawa on 1 image of train, (3, 1, 3), 1 step per epoch
> 1 step in total is few; try about 300 epochs for this many images
$ invar models inspect trained | sed -n 2p
> adapter     from 3 to 3 features, 1 hidden unit, loss mawa
