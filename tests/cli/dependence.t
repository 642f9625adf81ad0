Dependence of paired samples: what is printed, and what is refused.

$ make-input array x.npy 40 3
$ make-input array z.npy 40 2
$ make-input array short.npy 39 2
$ make-input array flat.npy 40
$ make-input nan bad.npy 40 2
$ invar dependence x.npy x.npy --projections 48 --permutations 0 -q
> 40 pairs, SW_2 along 48 random directions
>
> dependence   0.88372 ± 0.0061
> correlation  1.0035 ± 0.0295
$ invar dependence x.npy z.npy --projections 32 --permutations 3 -q
> 40 pairs, SW_2 along 32 random directions
>
> dependence   0.6637 ± 0.024
> correlation  0.7238 ± 0.0350
>
> for 3 shuffled pairings, where X and Z are independent:
> dependence   0.34347
> correlation  0.3746, deviating by 0.0095
> p            0.25  (share of all pairings, including the true one, that reach it)
$ invar dependence x.npy z.npy --projections 16 --permutations 0 -q
> 40 pairs, SW_2 along 16 random directions
>
> dependence   0.63882
> correlation  0.6735
$ make-input array empty.npy 40 0
$ invar dependence x.npy empty.npy
! invar: empty.npy has shape [40, 0], but must be [n, width]
? 1
$ invar dependence x.npy
! invar dependence: Z.npy is missing; usage: invar dependence X.npy Z.npy [options]
? 2
$ invar dependence x.npy missing.npy
! invar: missing.npy: cannot open: No such file or directory
? 1
$ invar dependence x.npy short.npy
! invar: x.npy has shape [40, 3] and short.npy has shape [39, 2], but both need the same number of rows
? 1
$ invar dependence x.npy flat.npy
! invar: flat.npy has shape [40], but must be [n, width]
? 1
$ invar dependence x.npy bad.npy
! invar: bad.npy: its element [20, 0] is NaN
? 1
$ invar dependence x.npy z.npy --p 0.5
! invar dependence: --p must be at least 1 and at most 100, not 0.5
? 2
$ invar dependence x.npy z.npy --slices diagonal
! invar dependence: --slices must be random or orthogonal, not 'diagonal'
? 2
$ invar dependence x.npy z.npy --projections 0
! invar dependence: --projections must be at least 1 and at most 1048576, not 0
? 2
