# SPDX-License-Identifier: Apache-2.0
"""E on arrays: values, shapes, no copies, threads, the cost of a call."""
import os
import pickle
import subprocess
import sys
import threading
import time
import timeit
import unittest
import warnings

import numpy as np

import invar
from made import InFolder, stops

rng = np.random.default_rng(0)
D, HIDDEN, W = 6, 11, 4
WEIGHTS = [rng.normal(size=shape).astype("f4") for shape in ((HIDDEN, D), (HIDDEN,), (W, HIDDEN), (W,))]


def plain(z):
    hidden = np.maximum(z @ WEIGHTS[0].T + WEIGHTS[1], 0)
    return hidden @ WEIGHTS[2].T + WEIGHTS[3]


class Apply(InFolder):
    def setUp(self):
        super().setUp()
        self.E = invar.Adapter.from_weights(*WEIGHTS)

    def test_values_and_shapes(self):
        for shape in ((D,), (1, D), (7, D), (5, 3, D), (0, D)):
            z = rng.normal(size=shape).astype("f4")
            codes = self.E(z)
            self.assertEqual(codes.shape, shape[:-1] + (W,))
            self.assertEqual(codes.dtype, np.float32)
            np.testing.assert_allclose(codes, plain(z), atol=1e-5)

    def test_other_arrays_are_converted(self):
        z = rng.normal(size=(9, D)).astype("f4")
        wide = np.zeros((9, 2 * D), "f4")
        wide[:, ::2] = z
        odd = np.frombuffer(b"x" + z.tobytes(), "u1")[1:].view("f4").reshape(z.shape)
        self.assertFalse(odd.flags.aligned)
        for other in (z.astype("f8"), np.asfortranarray(z), wide[:, ::2], z.tolist(), z.astype(">f4"), odd):
            np.testing.assert_array_equal(self.E(other), self.E(z))

    def test_nothing_is_copied(self):
        z, out = np.zeros((100, D), "f4"), np.empty((100, W), "f4")
        self.assertIs(self.E(z, out=out), out)
        np.testing.assert_allclose(out, plain(z), atol=1e-6)
        fixed = np.empty((100, W), "f4")
        fixed.flags.writeable = False  # of a mapped file, writing would be a segmentation fault
        for bad in (np.empty((100, W)), np.empty((99, W), "f4"), np.asfortranarray(out), fixed, out.tolist()):
            with self.assertRaises(invar.UseError):
                self.E(z, out=bad)
        both = np.zeros((10, D), "f4")
        square = invar.Adapter.from_weights(np.eye(D), np.zeros(D), np.eye(D), np.zeros(D))
        with self.assertRaisesRegex(invar.UseError, "overlap"):
            square(both, out=both)

    def test_wrong_shapes(self):
        for bad in (np.zeros(D + 1), np.zeros((3, D - 1)), np.float32(1)):
            with self.assertRaisesRegex(invar.UseError, "last axis"):
                self.E(bad)
        with self.assertRaises(invar.UseError):
            invar.Adapter.from_weights(WEIGHTS[0], WEIGHTS[1], WEIGHTS[2].T, WEIGHTS[3])

    def test_what_is_not_finite(self):
        """As `invar apply` does; the message has the index."""
        z = np.zeros((4, 3, D), "f4")
        for value, word in ((np.nan, "NaN"), (np.inf, "infinite")):
            z[2, 1, 5] = value
            self.assertEqual(self.E(z[:2]).shape, (2, 3, W))
            for rows, place in ((z, "2, 1, 5"), (z.reshape(-1, D), "7, 5"), (z[2, 1], "5")):
                with self.assertRaisesRegex(invar.NumericError, rf"^z at \[{place}\] is {word}$"):
                    self.E(rows)
        large = invar.Adapter.from_weights([[3e38]], [0], [[3e38]], [0])
        with self.assertRaisesRegex(invar.NumericError, r"the code of z at \[1, 0\] is infinite"):
            large([[0], [1]])
        square = invar.Adapter.from_weights(np.eye(D), np.zeros(D), np.eye(D), np.zeros(D))
        with self.assertRaisesRegex(invar.NumericError, "smaller strength"):
            invar.merge([square], strength=1e300)

    def test_files_bytes_and_pickles(self):
        z = rng.normal(size=(9, D)).astype("f4")
        self.E.save("e.safetensors")
        for other in (invar.Adapter("e.safetensors"), invar.Adapter.from_bytes(self.E.to_bytes()),
                      pickle.loads(pickle.dumps(self.E))):
            np.testing.assert_array_equal(other(z), self.E(z))
        for name, array in zip(("0.weight", "0.bias", "2.weight", "2.bias"), WEIGHTS):
            np.testing.assert_array_equal(self.E.weights()[name], array)
        self.assertEqual((self.E.input, self.E.hidden, self.E.output, self.E.residual), (D, HIDDEN, W, False))
        with open("bad.safetensors", "wb") as file:
            file.write(b"\xff" * 50)
        with self.assertRaisesRegex(invar.FormatError, "bad.safetensors"):
            invar.Adapter("bad.safetensors")
        with self.assertRaises(OSError):
            invar.Adapter("absent")

    def test_merge(self):
        z = rng.normal(size=(9, D)).astype("f4")
        self.E.save("e.safetensors")
        np.testing.assert_allclose(invar.merge([self.E, "e.safetensors"])(z), self.E(z), atol=1e-5)
        with self.assertRaises(invar.UseError):
            invar.merge([self.E], weights=[1, 2])

    def test_unit_adapters(self):
        """Features and codes are divided by their norms; zeros stay zeros."""
        z = (30 * rng.normal(size=(300, D)) + 5).astype("f4")
        z[7] = 0
        norm = lambda x: x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-30)
        E = invar.Adapter.from_weights(*WEIGHTS, unit=True)
        self.assertTrue(E.unit and not self.E.unit)
        self.assertIn("unit", repr(E))
        np.testing.assert_allclose(E(z), norm(plain(norm(z))), atol=1e-6)
        np.testing.assert_allclose(E(z), E(norm(z)), atol=1e-6)
        for other in (pickle.loads(pickle.dumps(E)), invar.merge([E, E])):
            self.assertTrue(other.unit)
            np.testing.assert_allclose(other(z), E(z), atol=1e-6)
        with self.assertRaisesRegex(invar.MismatchError, "does not, so they cannot be merged"):
            invar.merge([E, self.E])

    def test_norms_that_do_not_fit(self):
        """One UserWarning per adapter, and none for rows like those of training or for a unit adapter."""
        clean = rng.normal(size=(200, D)) + 4
        copies = [clean + 0.1 * rng.normal(size=clean.shape) for _ in range(2)]
        options = {"loss": "none", "init": "ridge", "hidden": 16}
        raw = invar.train(invar.bank(clean, copies), **options).adapter
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            raw(clean), raw(clean[0]), raw(np.stack(copies, 1)), raw(np.zeros((0, D)))
            found = invar.train(invar.bank(clean / np.linalg.norm(clean, axis=1, keepdims=True), [
                copy / np.linalg.norm(copy, axis=1, keepdims=True) for copy in copies]), **options).adapter
            self.assertTrue(found.unit and not raw.unit)
            found(clean), found(clean / 100)
        with self.assertWarnsRegex(UserWarning, "these rows have norm 1; .* train it again with unit") as caught:
            raw(clean / np.linalg.norm(clean, axis=1, keepdims=True))
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            raw(clean / 100)  # said once

    @stops
    def test_the_lock_is_released(self):
        """While one thread is in C, another one runs Python: it lets the first one go on."""
        script = ("import os, threading, time, numpy as np, invar\n"
                  "E = invar.Adapter.from_weights(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2), threads=1)\n"
                  "def release():\n"
                  "    while not os.path.exists('paused'):\n        time.sleep(0.01)\n"
                  "    os.remove('paused')\n"
                  "other = threading.Thread(target=release)\n"
                  "other.start()\n"
                  "E(np.zeros((1, 2)))\n"
                  "other.join()\n")
        subprocess.run([sys.executable, "-c", script], env=os.environ | {"INVAR_TEST_STOP": "apply:rows=pause:paused"},
                       check=True, timeout=120)

    def test_threads_may_share_an_adapter(self):
        z = rng.normal(size=(500, D)).astype("f4")
        expected, wrong = self.E(z), []

        def work():
            for _ in range(50):
                if not np.array_equal(self.E(z), expected):
                    wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        self.assertFalse(wrong)

    def test_a_forked_process_may_use_it(self):
        """As the workers of PyTorch's DataLoader are, after this process has used several threads."""
        E = invar.Adapter.from_weights(*(rng.normal(size=s) for s in ((2048, 512), (2048,), (512, 2048), (512,))), threads=2)
        z = rng.normal(size=(1000, 512)).astype("f4")
        codes, child = E(z), os.fork()
        if child == 0:
            os._exit(0 if (E(z) == codes).all() else 1)
        for _ in range(2400):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.1)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
            self.fail("the child hangs")
        self.assertEqual(status, 0)

    def test_a_call_costs_less_than_20_microseconds(self):
        tiny = invar.Adapter.from_weights(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2), threads=1)
        z, number = np.zeros((1, 2), "f4"), 100
        # The fastest of many short runs, in processor time: others may use the machine.
        seconds = min(timeit.repeat(lambda: tiny(z), timer=time.process_time, number=number,
                                    repeat=1000)) / number
        print(f"a call of E on one row: {seconds * 1e6:.1f} µs")
        self.assertLess(seconds, 20e-6)


class Exceptions(unittest.TestCase):
    def test_one_class_per_status(self):
        kinds = [invar.UseError, invar.FileError, invar.FormatError, invar.MismatchError, invar.NumericError,
                 invar.OutOfMemoryError, invar.Cancelled]
        self.assertEqual([kind.status for kind in kinds], list(range(1, 8)))
        self.assertTrue(all(issubclass(kind, invar.Error) for kind in kinds))
        self.assertTrue(issubclass(invar.FileError, OSError))
        self.assertTrue(issubclass(invar.OutOfMemoryError, MemoryError))

    def test_a_null_character_is_refused(self):
        with self.assertRaises(ValueError):
            invar.Adapter("a\0b")


if __name__ == "__main__":
    unittest.main()
