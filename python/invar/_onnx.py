# SPDX-License-Identifier: Apache-2.0
"""An ONNX model as an encoder, by the package onnxruntime; imported only when it is asked for.

The messages and the preparation of images are those of src/encoders/onnx_runtime.c.
"""
import hashlib
import json
import mmap
import os

import numpy as np

from ._library import FileError, FormatError, MismatchError, UseError

# Used if the package has them; others, such as TensorRT, on request.
GPUS = ("CUDAExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider", "DmlExecutionProvider")
CPU = "CPUExecutionProvider"


# ---- The file itself ------------------------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def messages(data, start, end, number):
    """Where the fields of this number lie within a message of protocol buffers."""
    while start < end:
        tag, start = varint(data, start)
        kind, size = tag & 7, 0
        if kind == 0:
            _, start = varint(data, start)
        elif kind == 2:
            size, start = varint(data, start)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise IndexError
        if start + size > end:
            raise IndexError
        if kind == 2 and tag >> 3 == number:
            yield start, start + size
        start += size


def files_beside(path):
    """The files in which a model keeps its weights: graph (7), initializer (5), external_data (13), key and value."""
    found = {}
    with open(path, "rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                for graph in messages(data, 0, len(data), 7):
                    for tensor in messages(data, *graph, 5):
                        for entry in messages(data, *tensor, 13):
                            key, value = (b"".join(data[a:b] for a, b in messages(data, *entry, n)) for n in (1, 2))
                            if key == b"location":
                                found[os.fsdecode(value)] = None
        except (IndexError, ValueError):  # an empty file cannot be mapped
            raise FormatError(f"{path}: is not an ONNX model, or is truncated") from None
    for name in found:
        beside = os.path.join(os.path.dirname(path), name)
        if not os.path.exists(beside):
            raise FileError(f"{path}: keeps weights in {beside}, which is missing; copy it beside the model")
    return list(found)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


# ---- Preparation ----------------------------------------------------------------------------------------------------


def load_object(text):
    try:
        said = json.loads(text)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def constants(mean, std):
    return "/".join(",".join(f"{x:.9g}" for x in numbers) for numbers in (mean, std)) if mean and std else None


def preparation(path, metadata):
    """(side, resize, filter, normalize) as the metadata of `invar export` or Hugging Face's file beside the model say."""
    side = resize = filter = normalize = None
    beside = os.path.join(os.path.dirname(path), "preprocessor_config.json")
    if os.path.exists(beside):
        with open(beside, encoding="utf-8") as file:
            said = load_object(file.read())
        size, crop = (said.get(key) if isinstance(said.get(key), dict) else {} for key in ("size", "crop_size"))
        resize = size.get("shortest_edge")
        side = crop.get("height") or size.get("height") or resize
        filter = "bicubic" if said.get("resample") == 3 else None
        normalize = "none" if said.get("do_normalize") is False else constants(said.get("image_mean"), said.get("image_std"))
    said = load_object(metadata.get("invar.input", ""))
    how, size = said.get("resize"), said.get("size") or [0, 1]
    if how and size[0] == size[1]:
        words = how.replace(",", "").split()
        side, resize = size[0], int(words[2]) if words[:2] == ["shorter", "side"] and words[2].isdigit() else None
        filter = "bicubic" if "bicubic" in words else None
    normalize = constants(said.get("mean"), said.get("std")) or normalize
    return side, resize if resize and side and resize >= side else None, filter, normalize


# ---- The session ----------------------------------------------------------------------------------------------------


def import_runtime(path):
    try:
        import onnxruntime
    except ImportError:
        raise UseError(f"{path}: an ONNX model needs ONNX Runtime; pip install onnxruntime (or onnxruntime-gpu)") from None
    return onnxruntime


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def choose_providers(runtime, wanted):
    available = runtime.get_available_providers()
    if wanted is None:
        return [name for name in GPUS if name in available] + [CPU]
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    for one in wanted:
        name = one if isinstance(one, str) else one[0]
        if name not in available:
            raise UseError(f"providers: this onnxruntime has no {name}; it has {', '.join(available)}")
    return wanted


class Model:
    """A function from images to features; `side`, `resize`, `filter`, `normalize` say what is known of their preparation."""

    def __init__(self, path, providers=None, output=None, tokens=None, threads=0):
        self.path = path = os.fspath(path)
        self.__name__ = os.path.basename(path)
        self.tokens = tokens
        if tokens not in (None, "first", "mean"):
            raise UseError(f"onnx_tokens must be first or mean, not {tokens!r}")
        if not os.path.exists(path):
            raise FileError(f"{path}: cannot open: No such file or directory")
        beside = files_beside(path)
        runtime = import_runtime(path)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4  # what it logs is in its exceptions, too
        wanted = choose_providers(runtime, providers)
        try:
            self.session = runtime.InferenceSession(path, options, providers=wanted)
        except Exception as error:  # of many kinds, all of them the runtime's
            raise FormatError(f"{path}: ONNX Runtime cannot load the model: {first_line(error)}") from None
        used = self.session.get_providers()[0]
        if providers is not None and used != (wanted[0] if isinstance(wanted[0], str) else wanted[0][0]):
            raise UseError(f"{path}: ONNX Runtime could not start {wanted[0]} and uses {used}; see its installation guide")
        self.read_input()
        self.read_output(output)
        self.side, self.resize, self.filter, self.normalize = preparation(path, self.session.get_modelmeta().custom_metadata_map)
        h, w = self.axes[2:]
        if (h or w) and self.side != (h if h == w else None):
            self.side, self.resize = (h if h == w else None), None
        self.asks_size = not self.side and not (h and w)
        self.version = ", ".join([f"onnxruntime {runtime.__version__}", *([] if used == CPU else [used]),
                                  *([f"output {self.output}"] if output else []), *([f"tokens {tokens}"] if tokens else []),
                                  *(f"{name} {sha256(os.path.join(os.path.dirname(path), name))}" for name in beside)])

    def read_input(self):
        inputs = self.session.get_inputs()
        names = ", ".join(one.name for one in inputs)
        if len(inputs) != 1:
            raise MismatchError(f"{self.path}: has {len(inputs)} inputs ({names}), but an encoder has one, images [n, channels, "
                                "height, width]; export it with that input alone")
        self.input, kind, shape = inputs[0].name, inputs[0].type, inputs[0].shape
        if kind == "tensor(float16)":
            raise MismatchError(f"{self.path}: takes images of float16; convert it so that inputs and outputs stay float32 "
                                "(keep_io_types=True of onnxconverter-common)")
        if kind != "tensor(float)":
            raise MismatchError(f"{self.path}: its input {names} does not take float32 but {kind}; export it with an input of "
                                "float32")
        if shape and len(shape) != 4:
            raise MismatchError(f"{self.path}: its input {names} has {len(shape)} axes, but images have 4, [n, channels, height, "
                                "width]; export the part that takes images")
        self.axes = [size if isinstance(size, int) and size > 0 else None for size in shape or [None] * 4]
        if (self.axes[0] or 1) > 1:
            raise MismatchError(f"{self.path}: takes exactly {self.axes[0]} images per call; export it for one, or with a free "
                                "batch axis")
        if self.axes[1] not in (None, 3):
            raise MismatchError(f"{self.path}: takes images of {self.axes[1]} channels, but invar.encode gives 3")

    def read_output(self, wanted):
        outputs = {one.name: one for one in self.session.get_outputs()}
        names = ", ".join(outputs)
        if wanted is None and len(outputs) != 1:
            raise UseError(f"{self.path}: has {len(outputs)} outputs ({names}); choose the one with the features with "
                           "onnx_output=")
        self.output = next(iter(outputs)) if wanted is None else wanted
        if self.output not in outputs:
            raise UseError(f"{self.path}: has no output {self.output!r}; its outputs are {names}")
        if outputs[self.output].type != "tensor(float)":
            raise MismatchError(f"{self.path}: its output {self.output} is not float32 ({outputs[self.output].type}); convert it "
                                "so that its outputs are float32")
        shape = outputs[self.output].shape
        self.width = shape[1] if shape and len(shape) == 2 and isinstance(shape[1], int) else None

    def find_width(self, side):
        """As the model says, else of a black image."""
        h, w = self.axes[2] or side, self.axes[3] or side
        if self.tokens is None and self.width:
            return self.width
        if not (h and w):
            raise UseError(f"{self.path}: takes images of any size; say which one with size=N")
        return self(np.zeros((1, 3, h, w), np.float32)).shape[1]

    def run_batch(self, images):
        try:
            return self.session.run([self.output], {self.input: images})[0]
        except Exception as error:
            raise MismatchError(f"{self.path}: ONNX Runtime cannot encode images of {images.shape[3]} x {images.shape[2]}: "
                                f"{first_line(error)}") from None

    def __call__(self, images):
        have = f"{images.shape[3]} x {images.shape[2]}"
        if any(size and size != given for size, given in zip(self.axes[2:], images.shape[2:])):
            raise MismatchError(f"{self.path}: takes images of {self.axes[3] or images.shape[3]} x "
                                f"{self.axes[2] or images.shape[2]} pixels, not of {have}; give it that size (size=), or export "
                                "it with free axes")
        step = self.axes[0] or len(images)
        x = np.concatenate([self.run_batch(images[i:i + step]) for i in range(0, len(images), step)])
        shape = f"[{', '.join(['n', *map(str, x.shape[1:])])}]"
        if x.ndim < 2 or len(x) != len(images) or not x.size:
            raise MismatchError(f"{self.path}: its output {self.output} has the shape {list(x.shape)} for {len(images)} images; "
                                "features are [n, width]")
        if self.tokens and x.ndim == 2:
            raise UseError(f"{self.path}: onnx_tokens={self.tokens} does not apply to its output {self.output}, which has the "
                           f"shape {shape}; leave it out")
        if x.ndim == 3 and x.shape[1] > 1 and not self.tokens:
            raise UseError(f"{self.path}: its output {self.output} has the shape {shape}, several tokens per image; choose "
                           "onnx_tokens=first, the class token of most networks, or mean")
        if x.ndim == 3:
            return x.mean(1, dtype=np.float64).astype(np.float32) if self.tokens == "mean" else x[:, 0]
        x = x.reshape(*x.shape[:2], -1)  # maps
        if x.shape[2] > 1 and self.tokens != "mean":
            raise UseError(f"{self.path}: its output {self.output} has the shape {shape}, maps of several pixels; choose "
                           "onnx_tokens=mean")
        return x.mean(2, dtype=np.float64).astype(np.float32) if x.shape[2] > 1 else x[:, :, 0]

    def check_preparation(self, options):
        """Where nobody says how images are prepared, encoding asks instead of guessing."""
        if self.asks_size and options.get("size") is None:
            raise UseError(f"{self.path}: takes images of any size; say which one with size=N, or size=native")
        given = {key for key in ("normalize", "mean", "std") if options.get(key) is not None}
        if not self.normalize and "normalize" not in given and not {"mean", "std"} <= given:
            raise UseError(f"{self.path}: does not say how images are normalised; use normalize= (imagenet for most networks, "
                           "none if the model does it itself), or mean= and std=")
