# SPDX-License-Identifier: Apache-2.0
"""Encoding: the bytes of the program; any function as an encoder; interruptions; images in memory."""
import copy
import os
import pathlib
import pickle
import signal
import threading
import time
import unittest

import numpy as np

import invar
from made import WEIGHTS, InFolder, photo_folder, pictures, program

SIDE = 16


def first_numbers(images):
    """A plain NumPy encoder: what `pixels` computes."""
    return images.reshape(len(images), -1)


class SameAsTheProgram(InFolder):
    def test_a_bank_of_pixels(self):
        photo_folder()
        program("encode", "photos", "-o", "theirs", "--encoder", "pixels", "--size", "16", "--augment",
                "rotation+noise:std=0.1", "--copies", "train=3,test=2", "--holdout", "0.3", "--seed", "5")
        bank = invar.encode("photos", "ours", encoder="pixels", size=16, augment="rotation+noise:std=0.1",
                            copies={"train": 3, "test": 2}, holdout=0.3, seed=5)
        self.assert_same_files("ours", "theirs")
        self.assertEqual((bank.copies("train"), bank.copies("test")), (3, 2))
        self.assertEqual(len(bank.names("test")), bank.rows("test"))

    def test_views_are_rotated_images(self):
        photo_folder()
        program("encode", "photos", "-o", "theirs", "--encoder", "pixels", "--size", "16", "--augment", "rotation",
                "--copies", "2", "--holdout", "0.3", "--views", "4")
        bank = invar.encode("photos", "ours", encoder=first_numbers, size=16, normalize="imagenet", augment="rotation",
                            copies=2, holdout=0.3, views=4)
        self.assertIsNone(bank.views(0))
        self.assertIsNone(bank.views(2, "test"))
        for copy_index in (-1, 0, 1):
            rows = bank.clean("test") if copy_index < 0 else bank.copy(copy_index, "test")
            image = rows.reshape(len(rows), 3, 16, 16)
            for turns in (1, 2, 3):
                np.testing.assert_array_equal(bank.views(copy_index, "test")[:, turns - 1].reshape(image.shape),
                                              np.rot90(image, turns, axes=(2, 3)))
            np.testing.assert_array_equal(bank.views(copy_index, "test"), invar.Bank("theirs").views(copy_index, "test"))
        results = invar.eval(bank, metrics="same-image")
        self.assertEqual(results.columns, ["F", "F.views"])

    def test_a_bank_of_a_network(self):
        photo_folder()
        words = ["--weights", WEIGHTS, "--size", "32", "--augment", "rotation", "--copies", "1"]
        program("encode", "photos", "-o", "theirs", *words)
        invar.encode("photos/", "ours", encoder=WEIGHTS, size=32, augment="rotation", copies=1)
        self.assert_same_files("ours", "theirs")

    def test_mistakes(self):
        photo_folder()
        with self.assertRaisesRegex(invar.UseError, "holdot; did you mean holdout"):
            invar.encode("photos", "bank", encoder="pixels", size=8, holdot=0.5)
        with self.assertRaisesRegex(OSError, "absent"):
            invar.encode("photos", "bank", encoder="absent.safetensors")
        with self.assertRaisesRegex(invar.UseError, "width is for an encoder that is a function"):
            invar.encode("photos", "bank", encoder="pixels", width=5)
        self.assertFalse(os.path.exists("bank"))


class AnyFunction(InFolder):
    def setUp(self):
        super().setUp()
        photo_folder(each=150, side=SIDE)

    def encode(self, encoder, bank, **options):
        return invar.encode("photos", bank, encoder=encoder, **{"size": SIDE, "normalize": "imagenet",
                                                                "augment": "rotation", "copies": 2, "seed": 3, **options})

    def test_rows_are_those_of_our_own_encoder(self):
        ours = self.encode("pixels", "ours")
        theirs = self.encode(first_numbers, "theirs", width=3 * SIDE * SIDE)
        for copy in (0, 1):
            np.testing.assert_array_equal(ours.copy(copy), theirs.copy(copy))
        np.testing.assert_array_equal(ours.clean(), theirs.clean())
        np.testing.assert_array_equal(ours.labels(), theirs.labels())
        self.assertEqual(theirs.field("encoder"), "first_numbers")

    def test_name_version_batches_and_found_width(self):
        sizes = []

        def mine(images):
            sizes.append(len(images))
            return images.mean((2, 3))

        bank = self.encode(mine, "bank", name="means", version="7", batch=32)
        self.assertEqual(bank.dim, 3)
        self.assertEqual(bank.field("encoder"), "means")
        self.assertEqual(sizes[0], 1)  # the black image
        self.assertEqual(max(sizes), 32)
        with self.assertRaisesRegex(invar.MismatchError, "version"):
            self.encode(mine, "bank", name="means", version="8", copies=3)
        self.assertEqual(self.encode(mine, "bank", name="means", version="7", copies=3).copies(), 3)

    def test_an_exception_of_the_function_is_raised(self):
        calls = []

        def broken(images):
            calls.append(1)
            if len(calls) > 3:
                raise KeyError("lost")
            return np.zeros((len(images), 4))

        with self.assertRaisesRegex(KeyError, "lost"):
            self.encode(broken, "bank", width=4)
        self.assertEqual(len(calls), 4)

    def test_wrong_shapes_and_nan(self):
        with self.assertRaisesRegex(invar.MismatchError, r"shape \[64, 5\].*must be \[64, 4\]"):
            self.encode(lambda x: np.zeros((len(x), 5)), "a", width=4, name="mine")
        with self.assertRaisesRegex(invar.MismatchError, "shape"):
            self.encode(lambda x: np.zeros(4), "b", width=4, name="mine")
        with self.assertRaisesRegex(invar.NumericError, "NaN.*class0|class0.*NaN"):
            self.encode(lambda x: np.full((len(x), 4), np.nan), "c", width=4, name="mine")
        with self.assertRaisesRegex(invar.UseError, "needs width="):
            self.encode(first_numbers, "d", size=None)

    def test_interrupted_and_resumed_to_the_same_bytes(self):
        calls = []

        def stopping(images):
            calls.append(1)
            if len(calls) == 18:  # after the first block of 256 rows
                os.kill(os.getpid(), signal.SIGINT)
            return images.mean((2, 3))

        options = {"width": 3, "name": "means", "batch": 32, "copies": 1}
        with self.assertRaises(KeyboardInterrupt):
            self.encode(stopping, "stopped", **options)
        self.assertEqual(len(calls), 18)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        calls.clear()
        self.encode(lambda x: calls.append(1) or x.mean((2, 3)), "stopped", **options)
        self.assertEqual(len(calls), 5)  # the check of what is there, and 2 batches of 2 arrays
        self.encode(lambda x: x.mean((2, 3)), "whole", **options)
        self.assert_same_files("stopped", "whole")

    def test_ctrl_c_with_a_handler_of_the_user(self):
        """It stays, and its exception is the one that is raised; what was encoded is kept."""
        def handler(*_):
            raise KeyboardInterrupt("by hand")

        calls = []

        def stopping(images):
            calls.append(1)
            if len(calls) == 18:
                os.kill(os.getpid(), signal.SIGINT)
            return images.mean((2, 3))

        options = {"width": 3, "name": "means", "batch": 32, "copies": 1}
        before = signal.signal(signal.SIGINT, handler)
        try:
            with self.assertRaisesRegex(KeyboardInterrupt, "by hand"):
                self.encode(stopping, "stopped", **options)
            self.assertIs(signal.getsignal(signal.SIGINT), handler)
        finally:
            signal.signal(signal.SIGINT, before)
        calls.clear()
        self.encode(lambda x: calls.append(1) or x.mean((2, 3)), "stopped", **options)
        self.assertLess(len(calls), 18)

    def press_until(self, seen):
        os.kill(os.getpid(), signal.SIGINT)
        end = time.monotonic() + 60
        while not seen() and time.monotonic() < end:
            time.sleep(0.01)

    def test_the_second_ctrl_c_ends_a_function_that_blocks(self):
        reached = []

        def block(*_):
            self.press_until(lambda: invar._library.current.call.interrupted)
            reached.append("the first time")
            self.press_until(lambda: False)
            reached.append("the second time")

        with self.assertRaises(KeyboardInterrupt):
            self.encode(lambda images: block() or images.mean((2, 3)), "a", width=3, name="means")
        with self.assertRaises(KeyboardInterrupt):
            self.encode("pixels", "b", progress=block)
        self.assertEqual(reached, ["the first time"] * 2)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_ctrl_c_in_a_call_from_a_callback(self):
        """It stops both calls."""
        seen = []

        def inner(*_):
            seen.append("inner")
            if len(seen) == 2:
                self.press_until(lambda: invar._library.current.call.interrupted)

        def outer(*_):
            seen.append("outer")
            self.encode("pixels", "inner", progress=inner)

        with self.assertRaises(KeyboardInterrupt):
            self.encode("pixels", "outer", progress=outer)
        self.assertEqual(seen, ["outer", "inner"])

    def test_an_encoder_in_use_cannot_be_called_again(self):
        """It waited for itself."""
        x = np.zeros((2, 3, 5, 5), "f4")
        itself = invar.Encoder(lambda images: itself(images), width=3, name="itself")
        for call in (lambda: itself(x), lambda: self.encode(itself, "a")):
            with self.assertRaisesRegex(invar.UseError, "this encoder is in use"):
                call()
        F = invar.Encoder(lambda images: images.mean((2, 3)), width=3, size=SIDE, name="means")
        with self.assertRaisesRegex(invar.UseError, "this encoder is in use"):
            self.encode(F, "b", progress=lambda *_: F(x))
        np.testing.assert_array_equal(F(x), np.zeros((2, 3)))  # and now it is free

    def test_pickles_of_encoders(self):
        x = np.random.default_rng(0).normal(size=(3, 3, 33, 40)).astype("f4")
        for F in (invar.Encoder(WEIGHTS), invar.Encoder("pixels"), invar.Encoder(first_numbers, size=33, name="mine")):
            images = x[..., :33]
            for other in (pickle.loads(pickle.dumps(F)), copy.copy(F), copy.deepcopy(F)):
                np.testing.assert_array_equal(other(images), F(images))
                self.assertEqual((other.name, other.side), (F.name, F.side))

    def test_what_is_not_an_encoder(self):
        class InferenceSession:
            def run(self, names, feed):
                pass

            def get_inputs(self):
                pass

        class Output(dict):
            pass

        with self.assertRaisesRegex(invar.UseError, "InferenceSession of ONNX Runtime; give the model's file, "
                                                    "or a function.*session.run"):
            self.encode(InferenceSession(), "a")
        with self.assertRaisesRegex(invar.UseError, "the encoder is a list; give a weight file"):
            self.encode([1], "a")
        output = Output(last_hidden_state=np.zeros((1, 5, 4)), pooler_output=np.zeros((1, 4)))
        with self.assertRaisesRegex(invar.MismatchError, "returned a Output with last_hidden_state, pooler_output instead of "
                                                         "an array.*images.*pooler_output"):
            self.encode(lambda images: output, "a")
        with self.assertRaisesRegex(invar.MismatchError, r"returned a tuple that is not an array \[1, width\]"):
            self.encode(lambda images: tuple(output.values()), "a")

    def test_threads_may_share_an_encoder(self):
        """They take turns: C keeps scratch memory in an encoder."""
        F = invar.Encoder(WEIGHTS, threads=1)
        x = [np.random.default_rng(i).normal(size=(3, 3, 33 + i, 40)).astype("f4") for i in range(4)]
        expected, wrong = [F(one) for one in x], []

        def work(i):
            for _ in range(20):
                if not np.array_equal(F(x[i]), expected[i]):
                    wrong.append(i)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        self.assertEqual(wrong, [])

    def test_a_dry_run_writes_nothing(self):
        found = self.encode(first_numbers, "none", width=3 * SIDE * SIDE, dry_run=True)
        self.assertEqual(found["features"], 900)
        self.assertGreater(found["rate"], 0)
        self.assertFalse(os.path.exists("none"))

    def test_an_encoder_alone(self):
        x = np.random.default_rng(0).normal(size=(70, 3, 5, 5)).astype("f4")
        F = invar.Encoder(lambda images: images.sum((2, 3)), width=3, name="sums")
        np.testing.assert_allclose(F(x), x.sum((2, 3)), rtol=1e-6)
        self.assertEqual((F.name, F.side), ("sums", 0))
        ours = invar.Encoder("pixels")
        np.testing.assert_array_equal(ours(x), x.reshape(70, -1))
        with self.assertRaisesRegex(invar.UseError, "size is for an encoder that is a function"):
            invar.Encoder("pixels", size=8)
        for extra in ({"width": 4}, {"name": "other"}, {"threads": 2}):
            with self.assertRaisesRegex(invar.UseError, "was set when the encoder was made"):
                self.encode(F, "bank", **extra)
        with self.assertRaisesRegex(ZeroDivisionError, "zero"):
            invar.Encoder(lambda images: 1 / 0, width=3)(x)


class ImagesInMemory(InFolder):
    def test_arrays(self):
        x, labels = pictures(40), np.arange(40) % 4
        np.save("x.npy", x)
        np.save("y.npy", labels)
        invar.encode(x, "memory", labels=labels, encoder="pixels", size=8, augment="rotation", copies=1)
        invar.encode("npy:x.npy,y.npy", "file", encoder="pixels", size=8, augment="rotation", copies=1)
        self.assert_same_files("memory", "file")

    def test_a_list_of_files_keeps_its_order_and_labels(self):
        photo_folder()
        files = [os.path.join(place, name) for place, _, names in os.walk("photos") for name in names]
        files.sort(reverse=True)
        labels = np.arange(len(files)) % 3
        bank = invar.encode(files, "bank", labels=labels, encoder="pixels", size=8, holdout=0.25)
        self.assertEqual((bank.rows("train"), bank.rows("test")), (28, 12))  # 4 of each class
        np.testing.assert_array_equal(bank.labels("test"), labels[28:])
        self.assertEqual(bank.names("train"), [os.path.abspath(one) for one in files[:28]])
        alone = invar.encode(files[:1], "alone", encoder="pixels", size=8)
        np.testing.assert_array_equal(alone.clean()[0], bank.clean()[0])
        with self.assertRaises(FileNotFoundError):
            invar.encode(["absent.png"], "none", encoder="pixels")

    def test_labels_of_a_list_may_be_names(self):
        photo_folder(each=4)
        files = sorted(pathlib.Path("photos").glob("*/*.png"))
        bank = invar.encode(files, "bank", labels=[one.parent.name for one in files], encoder="pixels", size=8)
        np.testing.assert_array_equal(bank.labels(), [0] * 4 + [1] * 4)
        with self.assertRaisesRegex(invar.UseError, "8 images but 3 labels"):
            invar.encode(files, "none", labels=[1, 2, 3], encoder="pixels", size=8)

    def test_labels_that_mean_none(self):
        """Negative integers, also in an array, and None: a bank has labels if each image of a split has one."""
        photo_folder(each=2)
        files = sorted(pathlib.Path("photos").glob("*/*.png"))
        for i, labels in enumerate(([7, -1, 5, -2], np.array([-1, 0, 0, 3]), ["b", None, "a", "b"], [2, None, 10, 2])):
            for images, kind in ((files, "list"), (pictures(4), "array")):
                if kind == "array" and None in list(labels):
                    continue
                with self.subTest(labels=labels, kind=kind), self.assertLogs("invar", "WARNING") as seen:
                    bank = invar.encode(images, f"{kind}{i}", labels=labels, encoder="pixels", size=8)
                self.assertIsNone(bank.labels())
                self.assertRegex(seen.output[0], "[12] images? of train ha(s|ve) no label")

    def test_labels_of_a_list_that_would_change(self):
        photo_folder(each=2)
        files = sorted(pathlib.Path("photos").glob("*/*.png"))
        for labels, message in ((["a", " a", "a ", "a"], "label 1 is ' a'"), (["a", "b", "c", "d\t"], "label 3"),
                                (["a", "", "b", "b"], "label 1 is ''"), ([1, "1", 2, 2], "some labels are integers"),
                                ([0.5, 1, 2, 3], "label 0 is 0.5"), (np.array([0, 1, np.nan, 1]), "label 0 is 0.0"),
                                (["a", "b\0", "a", "b"], "null character")):
            with self.assertRaisesRegex(ValueError, message):
                invar.encode(files, "none", labels=labels, encoder="pixels", size=8)
        names = ["a b", 'a "b"', "a,b", "a\nb"]
        bank = invar.encode(files, "bank", labels=names, encoder="pixels", size=8)
        self.assertEqual(len(set(bank.labels())), 4)

    def test_whatever_can_be_listed(self):
        photo_folder(each=4)
        found = invar.encode(pathlib.Path("photos").glob("*/*.png"), "found", encoder="pixels", size=8)
        self.assertEqual(found.rows(), 8)
        names = invar.encode({"photos/class0/000.png", "photos/class0/001.png"}, "set", encoder="pixels", size=8).names()
        self.assertEqual([os.path.basename(name) for name in names], ["000.png", "001.png"])
        with self.assertRaisesRegex(invar.UseError, "images are a int"):
            invar.encode(5, "none", encoder="pixels")

    def test_file_names_with_commas_and_quotes(self):
        photo_folder(each=1)
        os.rename("photos/class0/000.png", 'photos/a, "b"\n.png')
        bank = invar.encode(['photos/a, "b"\n.png'], "bank", encoder="pixels", size=8)
        self.assertEqual(bank.names(), [os.path.abspath('photos/a, "b"\n.png')])

    def test_pil_images(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("Pillow is not installed")
        x = pictures(10)
        bank = invar.encode([Image.fromarray(one) for one in x], "pil", encoder="pixels")
        other = invar.encode(x, "array", encoder="pixels", normalize="imagenet")
        np.testing.assert_array_equal(bank.clean(), other.clean())

    def test_what_is_not_an_image(self):
        with self.assertRaisesRegex(invar.UseError, "image 0 is a int"):
            invar.encode([1, 2], "none", encoder="pixels")
        with self.assertRaisesRegex(invar.UseError, "labels"):
            invar.encode("photos", "none", labels=[1], encoder="pixels")


if __name__ == "__main__":
    unittest.main()
