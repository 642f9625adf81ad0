# SPDX-License-Identifier: Apache-2.0
"""Images to features: our own encoders, or any function of the user."""
import contextlib
import csv
import ctypes
import os
import sys
import threading
from collections.abc import Mapping
from numbers import Integral

import numpy as np

from ._bank import Bank
from ._library import (CANCELLED, RUN, EncoderCallback, Error, Folder, Handle, MismatchError, UseError, attempt, call,
                       check, context, current, decoded, encoded, floats, integers, lib, pointer)
from ._options import Options, spell_one

# ---- Encoders ---------------------------------------------------------------------------------------------


def is_module(function):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(function, torch.nn.Module)


def as_features(result, count, width, name):
    """What a function returned as float32 [count, width]; `width` None accepts any."""
    for step in ("detach", "float", "cpu", "numpy"):  # a tensor of PyTorch; TensorFlow's has only the last
        if not isinstance(result, np.ndarray) and hasattr(result, step):
            result = getattr(result, step)()
    if isinstance(result, Mapping):  # an output object of Hugging Face's transformers
        raise MismatchError(f"the encoder {name} returned a {type(result).__name__} with {', '.join(map(str, result))} "
                            "instead of an array [n, width]; give a function that selects one of these, such as lambda "
                            f"images: model(torch.from_numpy(images)).{list(result)[-1] if result else 'pooler_output'}")
    try:
        features = np.asarray(result, np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise MismatchError(f"the encoder {name} returned a {type(result).__name__} that is not an array [{count}, width] "
                            f"of numbers ({error}); give a function that returns one") from error
    wanted = (count, width if width is not None else features.shape[-1] if features.ndim else 0)
    if features.shape != wanted:
        raise MismatchError(f"the encoder {name} returned an array of shape {list(features.shape)} for {count} images; "
                            f"it must be [{count}, {width if width is not None else 'width'}]")
    return features


def side_of(size):
    if size is None or size == "native":
        return 0
    try:
        return int(size)
    except (TypeError, ValueError):
        raise UseError(f"size must be a number or native, not {size!r}") from None


def floats_at(address, shape):
    """Memory of the library as an array, valid as long as the library says."""
    return np.frombuffer((ctypes.c_float * int(np.prod(shape))).from_address(address), np.float32).reshape(shape)


class Turn:
    """Threads take turns, as C keeps scratch memory in an encoder; one that has its turn cannot wait for another."""

    def __init__(self):
        self.lock, self.owner = threading.Lock(), None

    def __enter__(self):
        if self.owner == threading.get_ident():
            raise UseError("this encoder is in use: neither its function nor a progress function can call it again; make "
                           "another Encoder for that call")
        self.lock.acquire()
        self.owner = threading.get_ident()

    def __exit__(self, *_):
        self.owner = None
        self.lock.release()


def check_encoder(encoder):
    if encoder is None or callable(encoder) or isinstance(encoder, (str, bytes, os.PathLike)):
        return
    kind = type(encoder).__name__
    if hasattr(encoder, "run") and hasattr(encoder, "get_inputs"):
        raise UseError(f"the encoder is an {kind} of ONNX Runtime; give the model's file, or a function that runs it, with "
                       "size=: lambda images: session.run(None, {session.get_inputs()[0].name: images})[0]")
    raise UseError(f"the encoder is a {kind}; give a weight file, the name of an encoder, a function or a torch.nn.Module")


def is_onnx(encoder):
    return isinstance(encoder, (str, os.PathLike)) and os.fspath(encoder).lower().endswith(".onnx")


def remake(encoder, arguments):
    return Encoder(encoder, **arguments)


class Encoder:
    """F: our own network (a weight file, or a name such as "pixels"), or a function of yours.

    A function takes normalised images [n, c, h, w], a float32 array that is valid only during the call, and returns
    features [n, width]. A torch.nn.Module is called in inference mode, on the device where it is. `size` and `normalize`
    say how images are prepared for it; `name` and `version` are recorded in the bank. If width is not given, the
    function is called once with a black image of that size. An encoder can be pickled if its function can.

    "model.onnx" is run by the package onnxruntime, on a GPU if the package has one, or as `providers` says;
    `onnx_output` chooses one of several outputs, `onnx_tokens` what becomes of an output [n, tokens, width].
    """

    def __init__(self, encoder=None, *, width=None, size=None, resize=None, normalize=None, filter=None, batch=None,
                 name=None, version=None, providers=None, threads=0, **options):
        encoder = options.pop("weights") if encoder is None and is_onnx(options.get("weights")) else encoder
        check_encoder(encoder)
        self._keep, self._threads, self._model = [], threads, None
        self._lock = Turn()
        self._made_of = encoder, {"width": width, "size": size, "resize": resize, "normalize": normalize, "filter": filter,
                                  "batch": batch, "name": name, "version": version, "providers": providers, "threads": threads,
                                  **options}
        out = ctypes.c_void_p()
        if is_onnx(encoder):
            from ._onnx import Model

            encoder = self._model = Model(encoder, providers, options.pop("onnx_output", None),
                                          options.pop("onnx_tokens", None), threads)
            size, resize = (encoder.side, encoder.resize) if size is None and resize is None else (size, resize)
            filter, normalize = filter or encoder.filter, encoder.normalize if normalize is None else normalize
            width, version = width or encoder.find_width(side_of(size)), version or encoder.version
        elif providers is not None:
            raise UseError("providers is for an ONNX model; leave it out")
        if callable(encoder):
            if options:
                raise UseError(f"{next(iter(options))} does not apply to an encoder that is a function; leave it out")
            if is_module(encoder):
                from ._torch import wrap

                encoder = wrap(encoder)
            described = self._describe(encoder, width, size, resize, normalize, filter, batch, name, version)
            check(lib.invar_encoder_from_callback(context(threads), ctypes.byref(described), ctypes.byref(out)))
        else:
            given = {"width": width, "filter": filter, "batch": batch, "name": name, "version": version, "size": size,
                     "resize": resize, "normalize": normalize}
            extra = [key for key, value in given.items() if value is not None]
            if extra:
                raise UseError(f"{extra[0]} is for an encoder that is a function; leave it out")
            values = Options("features", {**named(encoder), **options})
            call(lib.invar_encoder_open, context(threads), None, values.pointer, ctypes.byref(out))
        self._handle = Handle(out.value, lib.invar_encoder_close)
        self._handle.keep = self._keep  # C calls these as long as it has the encoder

    def _describe(self, function, width, size, resize, normalize, filter, batch, name, version):
        name = name or getattr(function, "__name__", type(function).__name__)
        side = side_of(size)
        if width is None:
            if not side:
                raise UseError(f"the encoder {name} needs width=, the length of a feature, or size= to find it out")
            width = as_features(function(np.zeros((1, 3, side, side), np.float32)), 1, None, name).shape[1]
            self._made_of[1]["width"] = width

        def run(user, images, shape, out, message, size):
            now = getattr(current, "call", None)
            try:
                shape = tuple(shape[:4])
                x = floats_at(images, shape)
                floats_at(out, (shape[0], width))[:] = as_features(function(x), shape[0], width, name)
                return CANCELLED if now is not None and now.interrupted else 0
            except BaseException as error:  # raised again after the call
                if now is not None:
                    now.fail(error)
                text = f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:max(size - 1, 0)] + b"\0"
                ctypes.memmove(message, text, min(len(text), size))
                if isinstance(error, KeyboardInterrupt):  # from a handler that the user installed
                    return CANCELLED
                return error.status if isinstance(error, Error) and error.status else UseError.status

        callback = RUN(run)
        self._keep.append(callback)
        return EncoderCallback(
            ctypes.sizeof(EncoderCallback), None, callback, encoded(name),
            None if version is None else encoded(str(version)), int(width), int(batch or 0), int(resize or 0), side,
            None if filter is None else encoded(filter), None if normalize is None else encoded(spell_one(normalize)),
            encoded(self._model.path) if self._model else None)

    @property
    def _pointer(self):
        return self._handle.value

    @property
    def name(self):
        return decoded(lib.invar_encoder_name(self._pointer))

    @property
    def side(self):
        """The side of the images it expects; 0: any."""
        return lib.invar_encoder_side(self._pointer)

    def __call__(self, images):
        """Normalised images [n, c, h, w] to features [n, width]. Threads take turns."""
        x = floats(images, "images", 4)
        shape = (ctypes.c_uint64 * 4)(*x.shape)
        width = ctypes.c_uint64()
        with self._lock:
            call(lib.invar_encoder_width, self._pointer, shape, ctypes.byref(width))
            out = np.empty((len(x), width.value), np.float32)
            call(lib.invar_encoder_run, self._pointer, pointer(x), shape, pointer(out))
        return out

    def __reduce__(self):
        return remake, self._made_of

    def __repr__(self):
        return f"Encoder({decoded(lib.invar_encoder_about(self._pointer))})"


def named(encoder):
    """The option for an encoder given as text: a weight file, which has a path or a suffix, else a name from the list."""
    if encoder is None:
        return {}
    is_file = os.path.exists(encoder) or os.sep in encoder or os.path.splitext(encoder)[1]
    return {"weights": encoder} if is_file else {"encoder": encoder}


# ---- Images ----------------------------------------------------------------------------------------------------


def save_image(image, path):
    """PNG keeps every pixel; deterministic, so that an interrupted bank resumes."""
    (image if image.mode in ("L", "RGB") else image.convert("RGB")).save(path + ".png")


def image_path(image, folder, i, digits):
    """The path of an image as a list has it; a PIL image is saved in the folder first."""
    if isinstance(image, (str, os.PathLike)):
        path = os.path.abspath(os.fsdecode(image))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path}: there is no such file")
        return path
    if not hasattr(image, "convert"):
        raise UseError(f"image {i} is a {type(image).__name__}; images are files, PIL images or one NumPy array")
    name = f"{i:0{digits}}"
    save_image(image, os.path.join(folder, name))
    return name + ".png"


def check_class_name(name, i):
    """A list of files is read without blanks around a label, and an empty label means none."""
    if not name or name != name.strip(" \t"):
        raise UseError(f"label {i} is {name!r}; the name of a class has no blanks around it, and an image without a class "
                       "has None")
    encoded(name)


def class_texts(labels, count):
    """Labels of a list as texts: integers, negative for none, or names of classes; None for none."""
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)  # an array, a tensor, a pandas series
    if len(labels) != count:
        raise UseError(f"there are {count} images but {len(labels)} labels")
    texts, kinds = [], set()
    for i, label in enumerate(labels):
        if isinstance(label, str):
            check_class_name(label, i)
            kinds.add("names")
        elif isinstance(label, Integral):
            kinds.add("integers")
        elif label is not None:
            raise UseError(f"label {i} is {label!r}; labels are integers, negative for none, or names of classes")
        texts.append("" if label is None or isinstance(label, Integral) and label < 0 else
                     label if isinstance(label, str) else str(int(label)))
    if len(kinds) > 1:
        raise UseError("some labels are integers and some are names; give one or the other")
    return texts


def write_list(images, labels, folder):
    """A list of image files or PIL images as a data set csv:FILE, in the order of the list."""
    labels = None if labels is None else class_texts(labels, len(images))
    digits = len(str(len(images)))
    path = os.path.join(folder, "images.csv")
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerow(["path"] if labels is None else ["path", "label"])
        for i, image in enumerate(images):
            named = [image_path(image, folder, i, digits)]
            rows.writerow(named if labels is None else [*named, labels[i]])
    return f"csv:{path}"


def as_list(images):
    """A generator, a set or the like, such as Path.glob gives, as a list; arrays and texts stay."""
    if isinstance(images, (str, os.PathLike, list, tuple)) or hasattr(images, "__array__"):
        return images
    try:
        return sorted(images) if isinstance(images, (set, frozenset)) else list(images)
    except TypeError:
        raise UseError(f"images are a {type(images).__name__}; give a folder, a list of files or PIL images, or one "
                       "NumPy array") from None


@contextlib.contextmanager
def dataset_text(images, labels):
    """The name of the data set, and a place for arrays and lists while it is read."""
    if isinstance(images, (str, os.PathLike)):
        if labels is not None:
            raise UseError("labels are for images in memory or a list of files; a folder's classes are its sub-folders")
        yield os.fspath(images)
        return
    with Folder() as folder:
        if isinstance(images, (list, tuple)):
            yield write_list(images, labels, folder)
            return
        array = np.asarray(images)
        np.save(os.path.join(folder, "images.npy"), array)
        text = f"npy:{folder}/images.npy"
        if labels is not None:
            np.save(os.path.join(folder, "labels.npy"), np.maximum(integers(labels, len(array)), -1))
            text += f",{folder}/labels.npy"
        yield text


# ---- Encoding -----------------------------------------------------------------------------------------------------

OF_FUNCTION = ("width", "filter", "batch", "name", "version")


def open_encoder(encoder, threads, options, about):
    """The encoder, and the options that remain for the bank."""
    if encoder is None and is_onnx(options.get("weights")):
        encoder, options = options["weights"], {key: value for key, value in options.items() if key != "weights"}
    if isinstance(encoder, Encoder):
        extra = [key for key, value in about.items() if value is not None]
        if extra or threads:
            raise UseError(f"{(extra or ['threads'])[0]} was set when the encoder was made; leave it out")
        return encoder, options
    if not callable(encoder) and not is_onnx(encoder):
        known = {row.keyword for row in Options("features").rows()}
        own = {key: value for key, value in options.items() if key.replace("-", "_") in known}
        return Encoder(encoder, threads=threads, **own, **about), {**options, **named(encoder)}
    prepared = {key: options.get(key) for key in ("size", "resize", "normalize")}
    if is_onnx(encoder):
        prepared.update({key: options.pop(key) for key in ("onnx_output", "onnx_tokens") if key in options})
    return Encoder(encoder, threads=threads, **prepared, **about), options


def figures(handle):
    try:
        found, i = {}, 0
        while (name := lib.invar_figure_name(handle, i)) is not None:
            found[decoded(name).replace("-", "_")] = lib.invar_figure(handle, name)
            i += 1
        return found
    finally:
        lib.invar_figures_free(handle)


def encode(images, bank, *, encoder=None, labels=None, width=None, batch=None, filter=None, name=None, version=None,
           providers=None, dry_run=False, threads=0, progress=None, **options):
    """Turns images and augmented copies of them into a bank of features, as `invar encode` does.

    images: a folder or another data set ("stl10:data"); a NumPy array [n, h, w, 3], [n, h, w] or [n, c, h, w] of bytes,
    or of floats from 0 to 1; a list of files; a list of PIL images. labels, for the last three: one integer per image,
    negative for none; for a list also names of classes, None for none. Of a list, equal labels become one class, in order.
    bank: the new folder, or an existing bank to extend. encoder: a weight file, "model.onnx", a name ("pixels"), a
    function or a torch.nn.Module; see Encoder, also for width, batch, filter, name, version and providers. An interrupted
    call (Ctrl-C) is resumed by the same call. dry_run gives the time and disk space needed and writes nothing.
    """
    about = {"width": width, "filter": filter, "batch": batch, "name": name, "version": version, "providers": providers}
    with dataset_text(as_list(images), labels) as text:
        made, options = open_encoder(encoder, threads, options, about)
        if made._model:
            made._model.check_preparation({**made._made_of[1], **options})
        values = Options("encode", options)
        out = ctypes.c_void_p()
        call(lib.invar_dataset_open, context(made._threads), encoded(text), values.pointer, ctypes.byref(out))
        data = Handle(out.value, lib.invar_dataset_close)
        with made._lock:
            if dry_run:
                out = ctypes.c_void_p()
                call(lib.invar_encode_forecast, made._pointer, data.value, values.pointer, encoded(bank),
                     ctypes.byref(out), progress=progress)
                return figures(out.value)
            error = attempt(lib.invar_encode, made._pointer, data.value, values.pointer, encoded(bank), progress=progress)
        data.close()
        if error is not None:
            raise error
    return Bank(bank, threads=threads)
