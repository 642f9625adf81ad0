# SPDX-License-Identifier: Apache-2.0
"""The C library: where it is, what its functions take, and how its errors become exceptions.

Everything else in this package calls C through `lib` and `call` below. Prototypes are written in a short notation,
one letter per argument, and a test compares them with include/invar.h. Calls release the interpreter lock.
"""
import ctypes
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import weakref

import numpy as np

log = logging.getLogger("invar")


# ---- Errors -------------------------------------------------------------------------------


class Error(Exception):
    """A call failed; the message says why. The subclasses correspond to the statuses of the library."""

    status = 0


class UseError(Error, ValueError):
    """An option or argument is not valid."""

    status = 1


class FileError(Error, OSError):
    """A file could not be read or written."""

    status = 2


class FormatError(Error, ValueError):
    """A file is not what it claims to be."""

    status = 3


class MismatchError(Error, ValueError):
    """Two things that must agree do not."""

    status = 4


class NumericError(Error, ArithmeticError):
    """NaN, an infinity, or a problem without a solution."""

    status = 5


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

    status = 6


class Cancelled(Error):
    """A callback asked to stop; what can be resumed was saved. Ctrl-C raises KeyboardInterrupt instead."""

    status = 7


ERRORS = {kind.status: kind for kind in Error.__subclasses__()}
OK, CANCELLED = 0, Cancelled.status


def failure(status):
    """The exception for a status, with the message of this thread's last error."""
    return ERRORS.get(status, Error)(lib.invar_last_error().decode("utf-8", "replace"))


# ---- Structs that are read or passed by pointer -----------------------------------------------


class Option(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("initial", ctypes.c_char_p),
        ("min", ctypes.c_double),
        ("max", ctypes.c_double),
        ("flags", ctypes.c_uint),
        ("choices", ctypes.c_char_p),
        ("choice", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_size_t)),
        ("meta", ctypes.c_char_p),
        ("group", ctypes.c_char_p),
        ("help", ctypes.c_char_p),
        ("choice_help", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_size_t)),
    ]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)
RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64),
                       ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Hooks(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("user", ctypes.c_void_p),
        ("log", LOG),
        ("progress", PROGRESS),
        ("option_prefix", ctypes.c_char_p),
    ]


class EncoderCallback(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("user", ctypes.c_void_p),
        ("run", RUN),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("width", ctypes.c_uint32),
        ("batch", ctypes.c_uint32),
        ("resize", ctypes.c_uint32),
        ("side", ctypes.c_uint32),
        ("filter", ctypes.c_char_p),
        ("normalize", ctypes.c_char_p),
        ("weights", ctypes.c_char_p),
    ]


class TsneRows(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("rows", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("dim", ctypes.c_uint32),
        ("labels", ctypes.c_void_p),
        ("classes", ctypes.c_void_p),
        ("parts", ctypes.c_size_t),
        ("part_rows", ctypes.c_void_p),
        ("part_titles", ctypes.c_void_p),
    ]


# ---- Prototypes -----------------------------------------------------------------------------------

# p: any pointer, s: const char *, S: status (as a result), i: int, u: 32 bits, U: 64 bits, z: size_t, d: double,
# l: int32, -: nothing; O: const invar_option *.
KINDS = {
    "p": ctypes.c_void_p, "s": ctypes.c_char_p, "S": ctypes.c_int, "i": ctypes.c_int, "u": ctypes.c_uint32,
    "U": ctypes.c_uint64, "z": ctypes.c_size_t, "d": ctypes.c_double, "l": ctypes.c_int32, "-": None,
    "O": ctypes.POINTER(Option),
}

# Name: result and arguments.
PROTOTYPES = {
    "version": "s", "last_error": "s", "context_new": "Supp", "context_free": "-p", "free": "-p",
    "options_new": "Ssp", "options_commands": "sz", "options_free": "-p", "options_set": "Spss",
    "options_count": "zp", "options_at": "Opz", "options_json": "Spp",
    "figure": "dps", "figure_name": "spz", "figures_free": "-p",
    "adapter_open": "Spsp", "adapter_from_memory": "Sppzp", "adapter_new": "Spuuuippppp", "adapter_save": "Sps",
    "adapter_input": "up", "adapter_hidden": "up", "adapter_output": "up", "adapter_residual": "ip",
    "adapter_unit": "ip", "adapter_check_norms": "SppU",
    "adapter_path": "sp", "adapter_metadata": "sps", "adapter_apply": "SppUp", "adapter_close": "-p",
    "adapter_merge": "Sppzdp", "adapter_export": "Sppps", "adapter_certify": "Spppsps",
    "dataset_open": "Spspp", "dataset_close": "-p",
    "bank_open": "Spspp", "bank_dim": "up", "bank_splits": "zp", "bank_split": "spz",
    "bank_rows": "Ups", "bank_copies": "ups", "bank_has_labels": "ips", "bank_field": "sps",
    "bank_read": "SpslUUp", "bank_has_views": "ipsl", "bank_read_views": "SpslUUp", "bank_labels": "Spsp",
    "bank_names": "Spsp", "bank_close": "-p", "bank_synthesize": "Spps",
    "bank_from_arrays": "SppppUuup", "bank_add_split": "SpspppUu", "bank_set_field": "Spss", "fit": "SpppUuupp",
    "train": "Spzps", "run_keep_results": "Spsps", "run_results": "Spszp",
    "train_images": "Sppps", "train_images_options": "Sps",
    "run_check_new": "Ssi", "trial": "Sppp", "trial_settle": "Spp",
    "neighbours": "SppUpUuupp",
    "results_json": "Spp", "results_open": "Spsp", "results_free": "-p",
    "structure": "SppupuUp", "sliced_wasserstein": "SpppUupppp", "dependence": "SppupuUpp",
    "tsne": "Sppppp", "eval": "Spppzpp", "diagnose": "Sppp", "check": "Spppp",
    "augment_parse": "Spsp", "augment_close": "-p", "augment_pixels": "Sps", "augment_result": "Sppp",
    "augment_columns": "zp", "augment_draw": "Spppp", "augment_apply": "Spppppp",
    "encoder_open": "Spspp", "encoder_from_callback": "Sppp", "encoder_name": "sp",
    "encoder_about": "sp", "encoder_side": "up", "encoder_width": "Sppp", "encoder_run": "Spppp",
    "encoder_close": "-p", "encode": "Sppps", "encode_forecast": "Spppsp",
}


def find_library():
    """INVAR_LIBRARY; the one in this package; the system's."""
    named = os.environ.get("INVAR_LIBRARY")
    if named:
        return named
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libinvar.so.0")
    return here if os.path.exists(here) else "libinvar.so.0"


def load(path):
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{error}; install libinvar, or set INVAR_LIBRARY to the path of libinvar.so.0") from None
    for name, kinds in PROTOTYPES.items():
        function = getattr(loaded, "invar_" + name)
        function.restype, *function.argtypes = (KINDS[kind] for kind in kinds)
    return loaded


lib = load(find_library())
__version__ = lib.invar_version().decode()


# ---- Text, arrays, handles ------------------------------------------------------------------------


def encoded(text):
    """A path or text as C has it."""
    out = os.fsencode(text)
    if b"\0" in out:
        raise ValueError(f"{text!r} contains a null character")
    return out


def decoded(text):
    return None if text is None else os.fsdecode(text)


def floats(array, name="the array", dims=None):
    """As C-contiguous, aligned float32, without a copy if it already is."""
    out = np.require(array, np.float32, ["C", "A"])
    if dims is not None and out.ndim != dims:
        raise UseError(f"{name} must have {dims} dimensions, not {out.ndim}")
    return out


def integers(array, count, name="labels"):
    out = np.ascontiguousarray(array)
    if out.dtype.kind not in "iub":
        raise UseError(f"{name} must be integers, not {out.dtype}")
    if out.shape != (count,):
        raise UseError(f"{name} must have shape ({count},), not {out.shape}")
    if out.dtype.kind == "u" and out.size and int(out.max()) > np.iinfo(np.int64).max:
        raise UseError(f"{name} must be below 2^63, and {int(out.max())} is not")
    return np.require(out, np.int64, ["C", "A"])


def pointer(array):
    return array.__array_interface__["data"][0] if array is not None else None


class Handle:
    """An object of the library, closed with its last reference. Its context is never closed before."""

    def __init__(self, value, close):
        self.value = value
        self.close = weakref.finalize(self, close, value)

    def __reduce__(self):
        """Neither pickle nor deepcopy: the copy would have the address, but not what keeps it valid."""
        raise TypeError("an object of the C library cannot be copied or pickled")


def remove_folder(path, process):
    """By the process that made it: a forked child has the same finalizers, and ends before its parent."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


class Folder:
    """A temporary folder, removed with its last reference or at the end of a with block."""

    def __init__(self, prefix="invar-", parent=None):
        self.path = tempfile.mkdtemp(prefix=prefix, dir=parent)
        self.remove = weakref.finalize(self, remove_folder, self.path, os.getpid())

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.remove()


class OfFolder:
    """A bank or a run: what it holds is in files at `path`, and `_folder` keeps these if they are temporary."""

    _folder = None
    _threads = 0

    def __copy__(self):
        return self  # nothing in it changes

    def __deepcopy__(self, memo):
        return self

    def _is_temporary(self):
        return self._folder is not None

    def __reduce__(self):
        if self._is_temporary():
            raise TypeError(f"this {type(self).__name__} is temporary, removed with its last reference in this process, "
                            f"so it cannot be pickled; make it in a folder of yours with {self._where}=")
        return reopen, (type(self), os.path.abspath(self.path), self._threads)


def reopen(kind, path, threads):
    return kind(path, threads=threads)


def taken_text(memory):
    """Text that the library gave."""
    try:
        return ctypes.string_at(memory).decode("utf-8", "replace")
    finally:
        lib.invar_free(memory)


# ---- Calls: progress, log, Ctrl-C ----------------------------------------------------------------------

current = threading.local()  # .call: what this thread is doing in the library


class Bar:
    """A tqdm bar per stage, on a terminal or in a notebook; nothing if tqdm is not installed."""

    def __init__(self, wanted):
        self.bar, self.stage, self.tqdm = None, None, None
        if wanted is None:
            wanted = sys.stderr is not None and sys.stderr.isatty() or "ipykernel" in sys.modules
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self.tqdm = tqdm

    def show(self, stage, done, total):
        if self.tqdm is None:
            return
        if stage != self.stage:
            self.close()
            self.stage, self.bar = stage, self.tqdm(total=total, desc=stage.decode("utf-8", "replace"), leave=False)
        self.bar.total = total
        self.bar.update(done - self.bar.n)

    def close(self):
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class Call:
    """What happens while C works: the bar, Ctrl-C, and an exception of a callback."""

    def __init__(self, progress, outer=None):
        self.bar = None if callable(progress) else Bar(progress)
        self.function = progress if callable(progress) else None
        self.interrupted, self.error = False, None
        self.outer = outer  # the call that made this one, from a callback

    def interrupt(self, *_):
        """The handler of Ctrl-C. The second time it raises, as the first has not ended what a callback waits for."""
        again, one = self.interrupted, current.call
        while one is not None:
            one.interrupted, one = True, one.outer
        if again:
            raise KeyboardInterrupt

    def fail(self, error):
        """Keeps the first exception; those that follow from it say less."""
        if self.error is None:
            self.error = error

    def step(self, stage, done, total):
        """Whether to stop."""
        if self.function is not None:
            if self.function(stage.decode("utf-8", "replace"), done, total):
                return True
        else:
            self.bar.show(stage, done, total)
        return self.interrupted or self.error is not None

    def close(self):
        if self.bar is not None:
            self.bar.close()


def on_progress(user, stage, done, total):
    call_now = getattr(current, "call", None)
    if call_now is None:
        return 0
    try:
        return int(bool(call_now.step(stage, done, total)))
    except BaseException as error:  # an exception cannot pass through C: it is raised after the call
        call_now.fail(error)
        return 1


LEVELS = {0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}


def on_log(user, level, line):
    try:
        log.log(LEVELS.get(level, logging.DEBUG), "%s", line.decode("utf-8", "replace"))
    except BaseException as error:
        call_now = getattr(current, "call", None)
        if call_now is not None:
            call_now.fail(error)


hooks = Hooks(ctypes.sizeof(Hooks), None, LOG(on_log), PROGRESS(on_progress), None)
contexts = {}


def context(threads=0):
    """One per number of threads, for as long as the process lives."""
    threads = int(threads or 0)
    if threads not in contexts:
        if not 0 <= threads < 2**31:
            raise UseError(f"threads must be a positive number or 0 for all cores, not {threads}")
        out = ctypes.c_void_p()
        check(lib.invar_context_new(threads, ctypes.byref(hooks), ctypes.byref(out)))
        contexts[threads] = out.value
    return contexts[threads]


def check(status):
    if status != OK:
        raise failure(status)


class Watch:
    """Ctrl-C becomes a wish to stop while C works, so that it saves first. Only the main thread sees signals."""

    def __init__(self, call_now):
        self.call = call_now
        self.before = None

    def __enter__(self):
        if (threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
            self.before = signal.signal(signal.SIGINT, self.call.interrupt)
        return self

    def __exit__(self, *_):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)


def attempt(function, *arguments, progress=None):
    """A long call; returns its exception or None, so that the caller can use what was made before it failed."""
    before = getattr(current, "call", None)
    call_now = current.call = Call(progress, before)
    try:
        with Watch(call_now):
            status = function(*arguments)
        error = failure(status) if status != OK else None
    finally:
        current.call = before
        call_now.close()
    if call_now.error is not None:
        return call_now.error
    if call_now.interrupted:
        return KeyboardInterrupt(str(error) if error else "")
    return error


def call(function, *arguments, progress=None):
    error = attempt(function, *arguments, progress=progress)
    if error is not None:
        raise error
