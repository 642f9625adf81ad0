#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small checkpoints in torch/ with PyTorch (2.3 or later), not with invar.

    python3 tests/formats/make_torch.py

Element i in C order holds (i - 5) / 4, cut to whole numbers for integers, so that a
test knows every value from its place, however the tensor lies in its storage.
"""

import argparse
import os
import zipfile

import torch
from torch import nn

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch")


def path(name):
    return os.path.join(HERE, name)


def ramp(*shape, dtype=torch.float32):
    count = 1
    for n in shape:
        count *= n
    i = torch.arange(count)
    return ((i - 5).double() / 4).to(dtype).reshape(shape)


def counts(*shape, dtype):
    return ramp(*shape, dtype=torch.float64).trunc().clamp(min=0).to(dtype)


def state():
    """Every type, and every way to lie in a storage."""
    wide = torch.cat([torch.zeros(7), ramp(3, 4).flatten(), torch.zeros(2)])
    tied = ramp(5)
    return {
        "f32": ramp(2, 3),
        "f64": ramp(2, 3, dtype=torch.float64),
        "f16": ramp(7, dtype=torch.float16),
        "bf16": ramp(7, dtype=torch.bfloat16),
        "i64": ramp(13, dtype=torch.int64),
        "i32": ramp(13, dtype=torch.int32),
        "i16": ramp(13, dtype=torch.int16),
        "i8": ramp(13, dtype=torch.int8),
        "u8": counts(13, dtype=torch.uint8),
        "flags": torch.tensor([True, False, True]),
        "scalar": ramp(1).reshape(()),
        "num_batches_tracked": torch.tensor(-1),
        "empty": torch.zeros(0, 3),
        "slice": wide[7:19].reshape(3, 4),
        "turned": ramp(4, 3).t().contiguous().t(),
        "last": ramp(2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        "tied.a": tied,
        "tied.b": tied,
        "parameter": nn.Parameter(ramp(3)),
        "not a tensor": [1, 2.5, None, "text", (True, {"a": 2 ** 70})],
    }


def nested():
    return {
        "epoch": 3,
        "args": argparse.Namespace(arch="vit", lr=0.5, layers=[1, 2]),
        "student": {"module.backbone.w": ramp(2, 2), "module.backbone.b": ramp(2)},
        "teacher": {"backbone": {"w": ramp(2, 3), "b": ramp(3)}},
        "optimizer": {"state": {0: {"step": ramp(1), "exp_avg": ramp(2, 2)}}},
    }


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [1, 2, 3]
        self.seq = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))

    def forward(self, x):
        return self.seq(x) * self.sizes[0]


def script():
    module = Part()
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(ramp(*p.shape))
    torch.jit.script(module).save(path("script.pt"))


def doubled():
    """Two names for each of the dictionaries below it: 2^40 tensors by name."""
    d = {"w": ramp(2)}
    for _ in range(40):
        d = {"a": d, "b": d}
    return d


def deflated():
    with zipfile.ZipFile(path("zip.pth")) as old, zipfile.ZipFile(path("deflated.pth"), "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(zipfile.ZipInfo(entry.filename, (1980, 1, 1, 0, 0, 0)), old.read(entry), zipfile.ZIP_DEFLATED)


class Call:
    def __reduce__(self):
        return os.system, ("touch /tmp/invar-pwned",)


def main():
    os.makedirs(HERE, exist_ok=True)
    torch.save({**state(), "u16": counts(13, dtype=torch.uint16)}, path("zip.pth"))
    torch.save(state(), path("legacy.pth"), _use_new_zipfile_serialization=False)
    torch.save(nested(), path("nested.pth"))
    torch.save({"w": ramp(2), "hook": Call()}, path("call.pth"))
    torch.save(nn.Linear(2, 2), path("module.pth"))
    torch.save(ramp(3), path("one_tensor.pth"))
    torch.save(doubled(), path("doubled.pth"))
    script()
    deflated()


main()
