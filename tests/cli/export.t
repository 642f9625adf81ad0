Adapters as ONNX models and model cards. What the onnx package and ONNX Runtime make of the models: tests/parity/onnx.py.

$ make-input bank bank 80 4; invar train --trial=false bank -o run --hidden 6 --epochs 1 -q
$ invar export run -o adapter.onnx 2>&1 | head -1
> adapter.onnx is written: onnx, 1288 bytes
$ invar export run -o again.onnx -q; cmp adapter.onnx again.onnx && echo same
> same
$ invar export run -o half.onnx --dtype float16 --json -q | grep -E 'format|dim'
>   "format": "onnx",
>   "input_dim": 4,
>   "output_dim": 4
$ grep -ao 'invar.encoder' adapter.onnx | head -1; invar export run/adapter.safetensors -o again.onnx -q; cmp adapter.onnx again.onnx && echo same
> invar.encoder
> same

Onto a model: its bytes stay, as the first and as the last.
$ models=$TESTS/../fuzz/corpus/onnx; invar export run --onto $models/plain -o onto.onnx 2>&1 | sed 's/[0-9]* bytes/N bytes/' | head -1
> onto.onnx is written: onnx, N bytes
$ grep -ao 'invar/codes' onto.onnx | sort | uniq -c; invar export run --onto onto.onnx --onto-output invar/codes -o twice.onnx -q; grep -ao 'invar1/codes' twice.onnx | sort -u
>       3 invar/codes
> invar1/codes
$ models=$TESTS/../fuzz/corpus/onnx; invar export run --onto $models/two-outputs --onto-output second -o onto.onnx -q; invar export run --onto $models/plain --onto-output hidden -o onto.onnx -q

What does not fit is refused, with a reason, and nothing is written.
$ ln -s $TESTS/../fuzz/corpus/onnx models; rm onto.onnx
$ invar export run --onto models/two-outputs -o onto.onnx
! invar export: models/two-outputs: has 2 outputs (features, second); choose one with --onto-output
? 2
$ invar export run --onto models/plain --onto-output third -o onto.onnx
! invar export: models/plain: computes no tensor 'third'; its outputs are features
? 2
$ for m in models/bad-*; do invar export run --onto $m -o onto.onnx; done; ls onto.onnx
! invar: models/bad-empty: is not an ONNX model: it has no version
! invar: models/bad-external: keeps weights in another file; save it as one file first (onnx.save without save_as_external_data)
! invar: models/bad-group: is not an ONNX model, or is truncated: a field does not fit in its message
! invar: models/bad-length: is not an ONNX model, or is truncated: a field does not fit in its message
! invar: models/bad-nested: its graphs are nested more than 16 deep
! invar: models/bad-opset: uses opset 6; convert it to 7 or later first (onnx.version_converter)
! invar: models/bad-output: no node computes its output 'features'; export the model again
! invar: models/bad-rank: 'features' has 1 dimensions, but features have at least 2
! invar: models/bad-truncated: is not an ONNX model, or is truncated: a field does not fit in its message
! invar: models/bad-two-graphs: has more than one graph
! invar: models/bad-type: 'features' does not have floating point numbers
! invar: models/bad-width: 'features' has width 5, but the adapter takes features of width 4; choose another tensor with --onto-output
! ls: cannot access 'onto.onnx': No such file or directory
? 2
$ invar export run --onto bank/test/clean.npy -o onto.onnx
! invar: bank/test/clean.npy: is not an ONNX model, or is truncated: a field does not fit in its message
? 1
$ invar export run --onto missing.onnx -o onto.onnx
! invar: missing.onnx: cannot open: No such file or directory
? 1
$ invar export run --onto-output features -o onto.onnx
! invar export: --onto-output names a tensor of a model: give that model with --onto
? 2
$ cp models/plain own.onnx; invar export run --onto own.onnx -o own.onnx
! invar export: -o own.onnx would replace a file that this command reads; choose another file
? 2
$ invar export run -o bank/test/clean.npy
! invar: bank/test/clean.npy: already exists; choose another file, or replace it with --force
? 1
$ invar export run -o run/adapter.safetensors
! invar export: -o run/adapter.safetensors would replace a file that this command reads; choose another file
? 2
$ invar export run
! invar export: the output is missing: -o FILE
? 2
$ invar export bank -o a.onnx
! invar: bank: has no adapter.safetensors; is its training finished?
? 1
$ invar export run -o a.onnx --dtype float8
! invar export: --dtype must be float32 or float16, not 'float8'; did you mean float32?
? 2

A model card, with and without numbers.
$ invar export run --card -o README.md -q; head -3 README.md; grep -c 'None are recorded' README.md; grep -c '^| .*{' README.md
> ---
> library_name: invar
> license: "other"
> 1
> 0
? 1
$ invar eval bank run --metrics structure,collision --certify -q > /dev/null; invar export run --format card --title 'Rotations | "of" <us>' --license mit -o README.md --force -q; head -4 README.md; grep -E '^# |R²,? \||Measured on' README.md; grep -A1 '"structure.R2"' README.md
> ---
> library_name: invar
> license: "mit"
> pipeline_tag: image-feature-extraction
> # Rotations \| "of" \<us\>
> Measured on 40 images, 3 augmented copies of each, of the split test of the bank with
> | R² | 1.0000 | 1.0000 |
> # PyTorch
> # ONNX Runtime, after: invar export adapter.safetensors -o adapter.onnx
>         - type: "structure.R2"
>           name: "R²"
$ invar export run --card -o CARD.md --format onnx
! invar export: --card and --format onnx differ; use only one
? 2
$ invar export run --card -o CARD.md --dtype float16
! invar export: --dtype needs --format onnx, but --format is card
? 2
$ echo my notes > NOTES.md; invar export run --card -o NOTES.md
! invar: NOTES.md: already exists; choose another file, or replace it with --force
? 1

With its encoder: what does not fit.
$ invar export run --with-encoder bank/test/clean.npy -o pair.onnx
! invar: bank/test/clean.npy: is neither a safetensors file nor a PyTorch checkpoint
? 1
$ invar export run --with-encoder $TESTS/golden/encoders/convnets/bottleneck.safetensors -o pair.onnx 2>&1 | sed 's|/.*/||'
> invar: runbottleneck.safetensors have width 20
$ invar export run --encoder resnet18 -o pair.onnx
! invar export: --encoder is about the encoder of --with-encoder, which is missing
? 2
$ invar export run --heads 2 -o pair.onnx
! invar export: --heads is about the encoder of --with-encoder, which is missing
? 2
$ invar export run --image-size 32 -o pair.onnx
! invar export: --image-size is about the images of an encoder, and none is written; leave it out
? 2

A vision transformer is for images of one size: the one that the adapter was trained on, or as told.
$ V=$TESTS/golden/encoders/vit; make-input bank wide 60 12; invar train --trial=false wide -o vit --hidden 6 --epochs 1 -q; invar export vit --with-encoder $V/dino.safetensors --heads 2 -o vit.onnx -q && grep -ao 'LayerNormalization' vit.onnx | wc -l
> 5
$ V=$TESTS/golden/encoders/vit; invar export vit --with-encoder $V/dino.safetensors --heads 2 --image-size 3 -o vit.onnx 2>&1 | sed 's|/.*/||'
> invar export: dino.safetensors: images of 3 x 3 are smaller than one patch of 4 x 4; use larger images
$ V=$TESTS/golden/encoders/vit; make-input bank seven 60 7; invar train --trial=false seven -o clip --hidden 6 --epochs 1 -q; invar export clip --with-encoder $V/clip.safetensors --heads 2 --image-size 40 -o vit.onnx 2>&1 | sed "s|/.*/||"
> invar export: clip.safetensors: is a CLIP model for images of 12 x 12, not 40 x 40; resize the images, or set --pos to resize its positions
$ V=$TESTS/golden/encoders/vit; invar export vit --with-encoder $V/dino.safetensors --stride 1x1 -o vit.onnx 2>&1 | sed 's|/.*/||'
> invar export: --stride does not apply to the encoder vit in dino.safetensors; leave it out
