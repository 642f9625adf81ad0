What a new user types first.

$ invar
> invar makes a frozen vision encoder invariant to augmentations.
>
> Usage: invar COMMAND [arguments] [options]
>
> Commands, in the order of use:
>   demo      shows the whole method on real images
>   encode    turns images and augmented copies of them into a bank of features
>   diagnose  tells on held-out images whether an adapter would help
>   train     trains an adapter on a bank of features
>   eval      measures what adapters do to a bank's features
>   report    writes an HTML page about runs: results, figures, pictures
>   apply     applies an adapter to features
>   export    writes an adapter as an ONNX model, or a model card for it
>   check     tells whether new data looks like what an adapter was certified on
>   run       runs a whole study from a recipe
>
> 'invar COMMAND --help' explains a command; 'invar help --all' lists more of them.
$ invar --version
> invar 0.1.0
$ invar train --version
> invar 0.1.0
$ invar help help
> invar help: explains a command
>
> Usage: invar help [COMMAND [ACTION]] [--all]
>
> Examples:
>   invar help
>       lists the commands that everybody needs
>   invar help --all
>       lists all commands
>   invar help train
>       the same as invar train --help
>   invar help models pull
>       the same as invar models pull --help
>
> Arguments:
>   COMMAND  the command to explain
>   ACTION   one of its actions, for commands that have some; the page is the
>            command's
>
> Result:
>   --all  list all commands, or all options of the command
>
> Common: -h, --help; --help-all; --version
$ invar help models pull > page && invar models pull --help | cmp - page && head -1 page
> invar models: lists, inspects, verifies, converts and downloads encoders
$ invar help models pul
! invar help: ACTION must be list, inspect, verify, convert or pull, not 'pul'; did you mean pull?
? 2
$ invar help train now
! invar help: train has no actions; use invar help train
? 2
$ invar apply --help
> invar apply: applies an adapter to features
>
> Usage: invar apply ADAPTER IN.npy -o OUT.npy [options]
>
> Examples:
>   invar apply run features.npy -o adapted.npy
>       applies the adapter of a run to every row
>   invar apply adapter.safetensors bank/test/aug.npy -o out.npy --dtype float16
>       [n, c, d] in, half precision out
>   invar apply run features.npy -o half.npy --strength 0.5
>       halfway between the features and E
>   make-features | invar apply run - -o - | use-features
>       as a filter of NumPy files
>
> Works in blocks, so files may be larger than memory. The last axis of IN.npy is
> the feature and must have the width of the adapter's input.
>
> Arguments:
>   ADAPTER  a safetensors file or a run folder
>   IN.npy   features [n, d] or [n, c, d] as a NumPy file; - is standard input
>
> Result:
>   -o, --output OUT.npy  NumPy file to write; - is standard output
>   --dtype WORD          number type of the output (one of float32, float16;
>                         default float32)
>   --strength W          how far features are moved: z + W (E(z) - z); 0: not at
>                         all (default 1)
>   --force               replace any existing file; never one that is read
>
> Common: --threads N; --json; -q, --quiet; -v, --verbose; -h, --help; --help-all;
> --version
>
> 'invar apply --help-all' shows 1 more option.
$ diff <(invar help train) <(invar train -h)
$ diff <(invar) <(invar --help)
$ for c in $(invar docs commands); do invar $c --help | awk -v c=$c 'length($0) > 82 {print c ": too wide: " $0}'; done
> neighbours: too wide: invar neighbours: draws the images that a search finds, before and after an adapter
> neighbours: too wide:   invar neighbours bank run --data photos -o neighbours.svg --queries 5 --nearest 5
$ invar docs bash | bash -n
$ for c in $(invar docs commands); do invar $c --help | sed -n '5p'; done | sort -u
> Examples:

The completion offers commands, options and the words an option may have.
$ source <(invar docs bash); COMP_WORDS=(invar tr) COMP_CWORD=1; _invar; echo "${COMPREPLY[@]}"
> train
$ source <(invar docs bash); COMP_WORDS=(invar train --resid) COMP_CWORD=2; _invar; echo "${COMPREPLY[@]}"
> --residual
$ source <(invar docs bash); COMP_WORDS=(invar train --keep '') COMP_CWORD=3; _invar; echo "${COMPREPLY[@]}"
> last best
$ touch 'two words.npy'; source <(invar docs bash); COMP_WORDS=(invar apply tw) COMP_CWORD=2; _invar; echo "${COMPREPLY[0]}"
> two words.npy
