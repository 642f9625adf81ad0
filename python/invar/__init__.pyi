# SPDX-License-Identifier: Apache-2.0
# Made from the option tables of the library by `python3 -m invar._stub`; do not edit.
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import index as index

OptionText = str | int | float | PathLike[str] | Sequence[Any] | Mapping[str, Any] | None
Path = str | PathLike[str]
Progress = bool | Callable[[str, int, int], Any] | None
Floats = NDArray[np.float32]

__version__: str
@overload
def encode(
    images: Path | ArrayLike | Sequence[Any],
    bank: Path,
    *,
    encoder: Path | Callable[..., Any] | Encoder | None = None,
    labels: ArrayLike | Sequence[str] | None = None,
    width: int | None = None,
    batch: int | None = None,
    filter: Literal["bilinear", "bicubic"] | None = None,
    name: str | None = None,
    version: str | None = None,
    providers: str | Sequence[Any] | None = None,
    dry_run: Literal[False] = False,
    threads: int = 0,
    progress: Progress = None,
    weights: OptionText = None,
    key: OptionText = None,
    precision: Literal["float32", "bfloat16", "int8"] | None = 'float32',
    bn_eps: float | None = 0.0,
    stride: Literal["3x3", "1x1"] | None = None,
    heads: int | None = 0,
    eps: float | None = 0.0,
    pos: Literal["dino", "timm", "hf"] | None = None,
    gelu: Literal["exact", "quick", "tanh"] | None = None,
    onnx_output: OptionText = None,
    onnx_tokens: Literal["first", "mean"] | None = None,
    augment: OptionText = None,
    augment_space: Literal["normalized", "pixel"] | None = 'normalized',
    size: OptionText = None,
    resize: int | None = 0,
    normalize: OptionText = None,
    mean: OptionText = None,
    std: OptionText = None,
    copies: OptionText = None,
    views: OptionText = None,
    dtype: Literal["float32", "float16"] | None = 'float32',
    seed: int | None = 0,
    classes: OptionText = None,
    holdout: float | None = 0.0,
    limit: int | None = 0,
    skip_broken: bool | None = False,
    split: OptionText = None,
) -> Bank: ...
@overload
def encode(
    images: Path | ArrayLike | Sequence[Any],
    bank: Path,
    *,
    encoder: Path | Callable[..., Any] | Encoder | None = None,
    labels: ArrayLike | Sequence[str] | None = None,
    width: int | None = None,
    batch: int | None = None,
    filter: Literal["bilinear", "bicubic"] | None = None,
    name: str | None = None,
    version: str | None = None,
    providers: str | Sequence[Any] | None = None,
    dry_run: Literal[True],
    threads: int = 0,
    progress: Progress = None,
    weights: OptionText = None,
    key: OptionText = None,
    precision: Literal["float32", "bfloat16", "int8"] | None = 'float32',
    bn_eps: float | None = 0.0,
    stride: Literal["3x3", "1x1"] | None = None,
    heads: int | None = 0,
    eps: float | None = 0.0,
    pos: Literal["dino", "timm", "hf"] | None = None,
    gelu: Literal["exact", "quick", "tanh"] | None = None,
    onnx_output: OptionText = None,
    onnx_tokens: Literal["first", "mean"] | None = None,
    augment: OptionText = None,
    augment_space: Literal["normalized", "pixel"] | None = 'normalized',
    size: OptionText = None,
    resize: int | None = 0,
    normalize: OptionText = None,
    mean: OptionText = None,
    std: OptionText = None,
    copies: OptionText = None,
    views: OptionText = None,
    dtype: Literal["float32", "float16"] | None = 'float32',
    seed: int | None = 0,
    classes: OptionText = None,
    holdout: float | None = 0.0,
    limit: int | None = 0,
    skip_broken: bool | None = False,
    split: OptionText = None,
) -> dict[str, float]: ...
@overload
def encode(
    images: Path | ArrayLike | Sequence[Any],
    bank: Path,
    *,
    encoder: Path | Callable[..., Any] | Encoder | None = None,
    labels: ArrayLike | Sequence[str] | None = None,
    width: int | None = None,
    batch: int | None = None,
    filter: Literal["bilinear", "bicubic"] | None = None,
    name: str | None = None,
    version: str | None = None,
    providers: str | Sequence[Any] | None = None,
    dry_run: bool = False,
    threads: int = 0,
    progress: Progress = None,
    weights: OptionText = None,
    key: OptionText = None,
    precision: Literal["float32", "bfloat16", "int8"] | None = 'float32',
    bn_eps: float | None = 0.0,
    stride: Literal["3x3", "1x1"] | None = None,
    heads: int | None = 0,
    eps: float | None = 0.0,
    pos: Literal["dino", "timm", "hf"] | None = None,
    gelu: Literal["exact", "quick", "tanh"] | None = None,
    onnx_output: OptionText = None,
    onnx_tokens: Literal["first", "mean"] | None = None,
    augment: OptionText = None,
    augment_space: Literal["normalized", "pixel"] | None = 'normalized',
    size: OptionText = None,
    resize: int | None = 0,
    normalize: OptionText = None,
    mean: OptionText = None,
    std: OptionText = None,
    copies: OptionText = None,
    views: OptionText = None,
    dtype: Literal["float32", "float16"] | None = 'float32',
    seed: int | None = 0,
    classes: OptionText = None,
    holdout: float | None = 0.0,
    limit: int | None = 0,
    skip_broken: bool | None = False,
    split: OptionText = None,
) -> Bank | dict[str, float]: ...
def train(
    bank: Path | Sequence[Path] | None,
    run: Path | None = None,
    *,
    threads: int = 0,
    progress: Progress = None,
    preset: Literal["keep", "paper", "instant"] | None = 'keep',
    loss: Literal["mawa", "waco", "simclr", "hsic", "keep", "none"] | None = 'keep',
    init: Literal["random", "identity", "rigid", "ridge", "features"] | None = 'random',
    residual: bool | None = True,
    scaled: bool | None = True,
    unit: bool | None = False,
    no_identity: bool | None = False,
    samples: int | None = 3,
    hidden: int | None = 1024,
    width: int | None = 0,
    anchor: float | None = 1.0,
    projections: int | None = 1000,
    p: float | None = 2.0,
    slices: Literal["random", "orthogonal"] | None = 'random',
    shuffle: Literal["both", "second"] | None = 'both',
    temperature: float | None = 0.5,
    sigma_x: OptionText = 'median',
    sigma_z: OptionText = 'median',
    contrast: float | None = 1.0,
    vicinal_weight: float | None = 4.0,
    ridge: float | None = 0.0,
    spread: Literal["none", "scale"] | None = 'none',
    strength: float | None = 1.0,
    decoder: bool | None = False,
    split: OptionText = 'train',
    copies: int | None = 0,
    validation: float | None = 0.0,
    keep: Literal["last", "best"] | None = 'last',
    epochs: int | None = 20,
    batch_size: int | None = 0,
    lr: float | None = 0.001,
    lr_min: float | None = 0.0004,
    weight_decay: float | None = 0.0001,
    checkpoint_seconds: float | None = 60.0,
    resume: bool | None = False,
    force: bool | None = False,
    seed: int | None = 0,
    encoder_name: OptionText = None,
    alpha: float | None = 1.0,
    beta: float | None = 1.0,
    trial: bool | None = True,
    keep_structure: float | None = 0.0,
    even_if_worse: bool | None = False,
    data: OptionText = None,
    classes: OptionText = None,
    holdout: float | None = 0.0,
    limit: int | None = 0,
    skip_broken: bool | None = False,
    weights: OptionText = None,
    encoder: OptionText = None,
    key: OptionText = None,
    precision: Literal["float32", "bfloat16", "int8"] | None = 'float32',
    bn_eps: float | None = 0.0,
    stride: Literal["3x3", "1x1"] | None = None,
    heads: int | None = 0,
    eps: float | None = 0.0,
    pos: Literal["dino", "timm", "hf"] | None = None,
    gelu: Literal["exact", "quick", "tanh"] | None = None,
    onnx_output: OptionText = None,
    onnx_tokens: Literal["first", "mean"] | None = None,
    augment: OptionText = None,
    augment_space: Literal["normalized", "pixel"] | None = 'normalized',
    size: OptionText = None,
    resize: int | None = 0,
    normalize: OptionText = None,
    mean: OptionText = None,
    std: OptionText = None,
) -> Run: ...
def fit(
    clean: ArrayLike | Mapping[str, ArrayLike],
    copies: Any,
    *,
    threads: int = 0,
    progress: Progress = None,
    preset: Literal["keep", "paper", "instant"] | None = 'keep',
    loss: Literal["mawa", "waco", "simclr", "hsic", "keep", "none"] | None = 'keep',
    init: Literal["random", "identity", "rigid", "ridge", "features"] | None = 'random',
    residual: bool | None = True,
    scaled: bool | None = True,
    unit: bool | None = False,
    no_identity: bool | None = False,
    samples: int | None = 3,
    hidden: int | None = 1024,
    width: int | None = 0,
    anchor: float | None = 1.0,
    projections: int | None = 1000,
    p: float | None = 2.0,
    slices: Literal["random", "orthogonal"] | None = 'random',
    shuffle: Literal["both", "second"] | None = 'both',
    temperature: float | None = 0.5,
    sigma_x: OptionText = 'median',
    sigma_z: OptionText = 'median',
    contrast: float | None = 1.0,
    vicinal_weight: float | None = 4.0,
    ridge: float | None = 0.0,
    spread: Literal["none", "scale"] | None = 'none',
    strength: float | None = 1.0,
    validation: float | None = 0.0,
    keep: Literal["last", "best"] | None = 'last',
    epochs: int | None = 20,
    batch_size: int | None = 0,
    lr: float | None = 0.001,
    lr_min: float | None = 0.0004,
    weight_decay: float | None = 0.0001,
    seed: int | None = 0,
    encoder_name: OptionText = None,
    trial: bool | None = True,
    keep_structure: float | None = 0.0,
    even_if_worse: bool | None = False,
) -> InvariantTransformer: ...
def eval(
    bank: Path,
    *adapters: Path | Adapter,
    certify: bool = False,
    threads: int = 0,
    progress: Progress = None,
    metrics: OptionText = None,
    split: OptionText = 'test',
    points: int | None = 0,
    train_split: OptionText = 'train',
    seed: int | None = 0,
    classes: OptionText = None,
    encoder_name: OptionText = None,
    probe_epochs: int | None = 50,
    probe_input: Literal["standard", "raw"] | None = 'standard',
    seeds: int | None = 1,
    probe_hidden: int | None = 4096,
    k: int | None = 20,
    index: Literal["new", "old"] | None = 'new',
    metric: Literal["l2", "cosine"] | None = 'l2',
    leave_one_out: bool | None = False,
    query_image: Literal["left-out", "counted"] | None = 'left-out',
    bins: int | None = 12,
    graph: Literal["published", "plain"] | None = 'published',
) -> Results: ...
def diagnose(
    bank: Path,
    *,
    threads: int = 0,
    progress: Progress = None,
    split: OptionText = 'train',
    hidden: int | None = 0,
    seed: int | None = 0,
    classes: OptionText = None,
) -> Results: ...
def check(
    adapter: Path | Adapter,
    new: Path | ArrayLike,
    *,
    threads: int = 0,
    progress: Progress = None,
    split: OptionText = None,
    points: int | None = 1000,
) -> Results: ...
def export(
    adapter: Path | Adapter,
    path: Path,
    *,
    encoder: Path | Encoder | None = None,
    threads: int = 0,
    format: Literal["onnx", "card"] | None = 'onnx',
    dtype: Literal["float32", "float16"] | None = 'float32',
    onto: OptionText = None,
    onto_output: OptionText = None,
    image_size: int | None = 0,
    title: OptionText = None,
    license: OptionText = 'other',
) -> None: ...
def bank(
    clean: ArrayLike | Mapping[str, ArrayLike],
    copies: Any = None,
    labels: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    name: str | None = None,
    augment: str | None = None,
    holdout: float = 0,
    path: Path | None = None,
    threads: int = 0,
) -> Bank: ...
def merge(adapters: Sequence[Path | Adapter], weights: ArrayLike | None = None, strength: float = 1.0) -> Adapter: ...
def synthetic(
    path: Path,
    *,
    threads: int = 0,
    rows: int | None = 2000,
    test_rows: int | None = 1000,
    dim: int | None = 64,
    classes: int | None = 10,
    copies: int | None = 5,
    spread: float | None = 0.6,
    shift: float | None = 2.0,
    half: bool | None = False,
    seed: int | None = 0,
) -> Bank: ...

class Adapter:
    def __init__(self, path: Path, *, threads: int = 0) -> None: ...
    @classmethod
    def from_bytes(cls, data: bytes, *, threads: int = 0) -> Adapter: ...
    @classmethod
    def from_weights(
        cls,
        weight_0: ArrayLike,
        bias_0: ArrayLike,
        weight_2: ArrayLike,
        bias_2: ArrayLike,
        *,
        residual: bool = False,
        unit: bool = False,
        threads: int = 0,
    ) -> Adapter: ...
    def __call__(self, z: ArrayLike, out: Floats | None = None) -> Floats: ...
    @property
    def input(self) -> int: ...
    @property
    def output(self) -> int: ...
    @property
    def hidden(self) -> int: ...
    @property
    def residual(self) -> bool: ...
    @property
    def unit(self) -> bool: ...
    @property
    def path(self) -> str: ...
    def metadata(self, key: str) -> str | None: ...
    def save(self, path: Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    def weights(self) -> dict[str, Floats]: ...
    def torch(self) -> Any: ...

class Bank:
    path: str
    def __init__(self, path: Path, *, threads: int = 0) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def splits(self) -> list[str]: ...
    def field(self, name: str) -> str | None: ...
    def rows(self, split: str = 'train') -> int: ...
    def copies(self, split: str = 'train') -> int: ...
    def clean(self, split: str = 'train') -> NDArray[Any]: ...
    def copy(self, index: int, split: str = 'train') -> Floats: ...
    def views(self, index: int = -1, split: str = 'train') -> Floats | None: ...
    def labels(self, split: str = 'train') -> NDArray[np.int64] | None: ...
    def names(self, split: str = 'train') -> list[str] | None: ...
    def __fspath__(self) -> str: ...

class Encoder:
    def __init__(
        self,
        encoder: Path | Callable[..., Any] | Encoder | None = None,
        *,
        width: int | None = None,
        size: int | str | None = None,
        resize: int | None = None,
        normalize: OptionText = None,
        filter: Literal["bilinear", "bicubic"] | None = None,
        batch: int | None = None,
        name: str | None = None,
        version: str | None = None,
        providers: str | Sequence[Any] | None = None,
        threads: int = 0,
        weights: OptionText = None,
        key: OptionText = None,
        precision: Literal["float32", "bfloat16", "int8"] | None = 'float32',
        bn_eps: float | None = 0.0,
        stride: Literal["3x3", "1x1"] | None = None,
        heads: int | None = 0,
        eps: float | None = 0.0,
        pos: Literal["dino", "timm", "hf"] | None = None,
        gelu: Literal["exact", "quick", "tanh"] | None = None,
        onnx_output: OptionText = None,
        onnx_tokens: Literal["first", "mean"] | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def side(self) -> int: ...
    def __call__(self, images: Path | ArrayLike | Sequence[Any]) -> Floats: ...

class Results:
    def __init__(self, document: dict[str, Any]) -> None: ...
    @classmethod
    def open(cls, path: Path) -> Results: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def titles(self) -> list[str]: ...
    @property
    def metrics(self) -> list[str]: ...
    @property
    def complete(self) -> bool: ...
    def value(self, metric: str, column: str) -> dict[str, Any] | None: ...
    def __getitem__(self, key: tuple[str, str]) -> float: ...
    def to_json(self, path: Path | None = None) -> str: ...
    def to_pandas(self, intervals: bool = False) -> Any: ...
    def table(self) -> list[list[str]]: ...
    def notes(self) -> list[str]: ...
    def heading(self) -> str: ...

class Run:
    path: str
    def __init__(self, path: Path, *, threads: int = 0) -> None: ...
    @property
    def adapter(self) -> Adapter: ...
    @property
    def decoder(self) -> Adapter: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def log(self) -> list[dict[str, Any]]: ...
    def eval(
        self,
        bank: Path,
        *,
        certify: bool = False,
        threads: int = 0,
        progress: Progress = None,
        metrics: OptionText = None,
        split: OptionText = 'test',
        points: int | None = 0,
        train_split: OptionText = 'train',
        seed: int | None = 0,
        classes: OptionText = None,
        encoder_name: OptionText = None,
        probe_epochs: int | None = 50,
        probe_input: Literal["standard", "raw"] | None = 'standard',
        seeds: int | None = 1,
        probe_hidden: int | None = 4096,
        k: int | None = 20,
        index: Literal["new", "old"] | None = 'new',
        metric: Literal["l2", "cosine"] | None = 'l2',
        leave_one_out: bool | None = False,
        query_image: Literal["left-out", "counted"] | None = 'left-out',
        bins: int | None = 12,
        graph: Literal["published", "plain"] | None = 'published',
    ) -> Results: ...
    def results(self) -> list[Results]: ...
    def __fspath__(self) -> str: ...

class InvariantTransformer:
    def __init__(
        self,
        preset: str = 'instant',
        copies: Any = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 0,
        threads: int = 0,
        *,
        loss: Literal["mawa", "waco", "simclr", "hsic", "keep", "none"] | None = None,
        init: Literal["random", "identity", "rigid", "ridge", "features"] | None = None,
        residual: bool | None = None,
        scaled: bool | None = None,
        unit: bool | None = None,
        no_identity: bool | None = None,
        samples: int | None = None,
        hidden: int | None = None,
        width: int | None = None,
        anchor: float | None = None,
        projections: int | None = None,
        p: float | None = None,
        slices: Literal["random", "orthogonal"] | None = None,
        shuffle: Literal["both", "second"] | None = None,
        temperature: float | None = None,
        sigma_x: OptionText = None,
        sigma_z: OptionText = None,
        contrast: float | None = None,
        ridge: float | None = None,
        spread: Literal["none", "scale"] | None = None,
        strength: float | None = None,
        validation: float | None = None,
        keep: Literal["last", "best"] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        lr_min: float | None = None,
        weight_decay: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        trial: bool | None = None,
        keep_structure: float | None = None,
        even_if_worse: bool | None = None,
    ) -> None: ...
    def fit(self, X: ArrayLike, y: Any = None) -> InvariantTransformer: ...
    def transform(self, X: ArrayLike) -> Floats: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...
    def fit_transform(self, X: ArrayLike, y: Any = None, **params: Any) -> Floats: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> InvariantTransformer: ...
def structure(x: ArrayLike, e: ArrayLike, *, threads: int = 0, progress: Progress = None) -> Results: ...
def dependence(
    x: ArrayLike,
    z: ArrayLike,
    *,
    threads: int = 0,
    progress: Progress = None,
    projections: int | None = 1000,
    p: float | None = 2.0,
    slices: Literal["random", "orthogonal"] | None = 'random',
    permutations: int | None = 20,
    seed: int | None = 0,
) -> Results: ...
@overload
def sliced_wasserstein(
    a: ArrayLike,
    b: ArrayLike,
    *,
    directions: ArrayLike | None = None,
    gradient: Literal[False] = False,
    threads: int = 0,
    progress: Progress = None,
    projections: int | None = 1000,
    p: float | None = 2.0,
    slices: Literal["random", "orthogonal"] | None = 'random',
    permutations: int | None = 20,
    seed: int | None = 0,
) -> float: ...
@overload
def sliced_wasserstein(
    a: ArrayLike,
    b: ArrayLike,
    *,
    directions: ArrayLike | None = None,
    gradient: Literal[True],
    threads: int = 0,
    progress: Progress = None,
    projections: int | None = 1000,
    p: float | None = 2.0,
    slices: Literal["random", "orthogonal"] | None = 'random',
    permutations: int | None = 20,
    seed: int | None = 0,
) -> tuple[float, Floats]: ...
@overload
def sliced_wasserstein(
    a: ArrayLike,
    b: ArrayLike,
    *,
    directions: ArrayLike | None = None,
    gradient: bool = False,
    threads: int = 0,
    progress: Progress = None,
    projections: int | None = 1000,
    p: float | None = 2.0,
    slices: Literal["random", "orthogonal"] | None = 'random',
    permutations: int | None = 20,
    seed: int | None = 0,
) -> float | tuple[float, Floats]: ...
def tsne(
    x: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    threads: int = 0,
    progress: Progress = None,
    perplexity: float | None = 30.0,
    iterations: int | None = 1000,
    exaggeration: float | None = 12.0,
    early_iterations: int | None = 250,
    learning_rate: float | None = 0.0,
    init: Literal["pca", "random"] | None = 'pca',
    seed: int | None = 0,
) -> tuple[Floats, Results]: ...
def neighbours(
    gallery: ArrayLike,
    queries: ArrayLike,
    k: int = 1,
    *,
    threads: int = 0,
    progress: Progress = None,
) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
def augment(
    images: ArrayLike,
    spec: str,
    *,
    params: ArrayLike | None = None,
    normalize: OptionText = None,
    threads: int = 0,
    size: OptionText = '224',
    seed: int | None = 0,
    split: OptionText = 'train',
    epoch: int | None = 0,
    copy: int | None = 0,
    first: int | None = 0,
) -> tuple[Floats, Floats]: ...
def options(command: str) -> list[OptionInfo]: ...
def commands() -> list[str]: ...

class OptionInfo:
    name: str
    kind: int
    default: Any
    choices: tuple[str, ...]
    meta: str
    group: str
    help: str
    @property
    def keyword(self) -> str: ...

class Error(Exception):
    status: int

class UseError(Error, ValueError):
    status: int

class FileError(Error, OSError):
    status: int

class FormatError(Error, ValueError):
    status: int

class MismatchError(Error, ValueError):
    status: int

class NumericError(Error, ArithmeticError):
    status: int

class OutOfMemoryError(Error, MemoryError):
    status: int

class Cancelled(Error):
    status: int
