# SPDX-License-Identifier: Apache-2.0
"""An ONNX model as an encoder: what is found before the package onnxruntime is needed, and what it computes where it is."""
import importlib.util
import json
import os
import pickle
import sys
import unittest
from unittest import mock

import numpy as np

import invar
from made import SOURCE, InFolder

sys.path.insert(0, os.path.join(SOURCE, "tests/cli"))
from tiny_onnx import FLOAT16, W, make  # noqa: E402

here = unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "the package onnxruntime is not installed")


class WithoutTheRuntime(InFolder):
    def test_what_to_install(self):
        make("m.onnx")
        with mock.patch.dict(sys.modules, {"onnxruntime": None}):
            for call in (lambda: invar.Encoder("m.onnx"), lambda: invar.Encoder(weights="m.onnx")):
                with self.assertRaisesRegex(invar.UseError, "m.onnx: an ONNX model needs ONNX Runtime; pip install onnxruntime"):
                    call()

    def test_files(self):
        make("m.onnx", external="m.data")
        with self.assertRaisesRegex(OSError, "m.onnx: keeps weights in m.data, which is missing; copy it beside the model"):
            invar.Encoder("m.onnx")
        with self.assertRaisesRegex(OSError, "absent.onnx: cannot open"):
            invar.Encoder("absent.onnx")
        with open("m.onnx", "rb") as file:
            data = file.read()
        for size in (0, len(data) // 2):
            with open("short.onnx", "wb") as file:
                file.write(data[:size])
            with self.assertRaisesRegex(invar.FormatError, "short.onnx: is not an ONNX model, or is truncated"):
                invar.Encoder("short.onnx")

    def test_providers_are_for_models(self):
        with self.assertRaisesRegex(invar.UseError, "providers is for an ONNX model"):
            invar.Encoder("pixels", providers="CPUExecutionProvider")


@here
class WithTheRuntime(InFolder):
    x = np.random.default_rng(0).normal(size=(5, 3, 8, 8)).astype("f4")

    def test_features(self):
        want = self.x.mean((2, 3)) @ np.array(W, "f4")
        for traits in ({}, {"shape": (1, 3, 8, 8)}, {"ir": 3}):
            make("m.onnx", **traits)
            F = invar.Encoder("m.onnx", providers="CPUExecutionProvider")
            np.testing.assert_allclose(F(self.x), want, atol=1e-6)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(F))(self.x), F(self.x))
            self.assertEqual((F.name, F.side), ("m.onnx", 8))
        make("t.onnx", output="tokens")
        rows = self.x.reshape(5, 3, 64)
        np.testing.assert_allclose(invar.Encoder("t.onnx", onnx_tokens="mean")(self.x), rows.mean(1), atol=1e-6)
        np.testing.assert_array_equal(invar.Encoder("t.onnx", onnx_tokens="first")(self.x), rows[:, 0])
        make("maps.onnx", output="maps")
        np.testing.assert_allclose(invar.Encoder("maps.onnx", onnx_tokens="mean")(self.x), np.maximum(rows, 0).mean(2), atol=1e-6)

    def test_mistakes(self):
        for traits, options, words in (
                ({"extra_input": True}, {}, r"has 2 inputs \(images, mask\), but an encoder has one"),
                ({"element": FLOAT16, "output": "maps", "output_element": FLOAT16}, {}, "takes images of float16"),
                ({"shape": (8, 3, 8, 8)}, {}, "takes exactly 8 images per call"),
                ({"extra_output": True}, {}, r"has 2 outputs \(features, tokens\); choose .* with onnx_output="),
                ({}, {"onnx_output": "codes"}, "has no output 'codes'; its outputs are features"),
                ({"output": "tokens"}, {}, "several tokens per image; choose onnx_tokens=first"),
                ({}, {"onnx_tokens": "mean"}, "onnx_tokens=mean does not apply"),
                ({"shape": ("n", 3, "h", "w"), "output": "maps"}, {"onnx_tokens": "mean"}, "takes images of any size; say which"),
                ({"operator": "NoSuchOperator"}, {}, "ONNX Runtime cannot load the model: "),
                ({}, {"providers": "NoExecutionProvider"}, "this onnxruntime has no NoExecutionProvider; it has ")):
            make("m.onnx", **traits)
            with self.assertRaisesRegex(invar.Error, words) as caught:
                invar.Encoder("m.onnx", **options)
            self.assertNotIn("\n", str(caught.exception))

    def test_banks(self):
        pictures = np.random.default_rng(1).integers(0, 256, (20, 12, 10, 3)).astype("u1")
        raw = make("m.onnx", shape=("n", 3, "h", "w"), external="m.data")
        with open("m.data", "wb") as file:
            file.write(raw)
        for options, words in (({"normalize": "half"}, "takes images of any size; say which one with size=N"),
                               ({"size": 8}, "does not say how images are normalised"),
                               ({"size": 8, "mean": 0.5}, "does not say how images are normalised")):
            with self.assertRaisesRegex(invar.UseError, words):
                invar.encode(pictures, "bank", encoder="m.onnx", **options)
        told = dict(encoder="m.onnx", size=8, normalize="half", augment="rotation")
        self.assertEqual(invar.encode(pictures, "bank", dry_run=True, **told)["width"], 5)
        self.assertFalse(os.path.exists("bank"))
        invar.encode(pictures, "bank", copies=2, **told)
        with open("bank/bank.json") as file:
            about = json.load(file)
        self.assertEqual((about["encoder"], len(about["weights_sha256"])), ("m.onnx", 64))
        self.assertRegex(about["encoder_options"]["version"], r"^onnxruntime [\d.]+, m.data [0-9a-f]{64}$")
        with open("m.data", "r+b") as file:
            file.write(np.float32(2.5).tobytes())
        with self.assertRaisesRegex(invar.MismatchError, "was made with version onnxruntime"):
            invar.encode(pictures, "bank", copies=3, **told)


if __name__ == "__main__":
    unittest.main()
