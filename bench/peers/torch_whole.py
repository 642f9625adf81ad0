# SPDX-License-Identifier: Apache-2.0
"""torch_whole.py FOLDER WEIGHTS OUT - from JPEG files to a tested adapter the authors' way, in PyTorch.

Pillow decodes in a DataLoader, copies are rotated by grid_sample as Kornia does, and clean
images and copies go through ResNet-18 together. The features of train then train MaWa as
published (hidden 4096, batch 256, s = 3, fused AdamW, 100 epochs); those of test give the
1-NN accuracy of copies among clean training rows, before and after. Writes OUT.safetensors,
and OUT.json with the seconds, and seconds of processors, of each stage: setup (from the start of
the process: imports, loading and compiling the network), encode, train, test.

A variant is eager, channels-last or compile-frozen; with "autocast:" in front the network
runs under torch.autocast("cpu", torch.bfloat16).
"""

import argparse
import json
import os
import resource
import time

import torch
import torch._inductor.config
from safetensors.torch import load_file
from torch.utils.data import DataLoader

import encoder_nets
import torch_quality
from torch_encode import rotated
from torch_folder import Folder

SIDE = 224


def clocks():
    """Seconds since the machine started, and of processors in this process and its ended workers."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.clock_gettime(time.CLOCK_BOOTTIME), sum(u.ru_utime + u.ru_stime for u in used)


def process_start():
    with open("/proc/self/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")


def network(weights, variant, batch):
    """From normalised images [batch, 3, 224, 224] to features, and warm."""
    precision, form = variant.split(":") if ":" in variant else ("float32", variant)
    net = encoder_nets.make("resnet18", SIDE).eval().requires_grad_(False)
    known = net.state_dict()
    net.load_state_dict({name: t for name, t in load_file(weights).items() if name in known})  # without the classifier
    layout = torch.contiguous_format if form == "eager" else torch.channels_last
    net = net.to(memory_format=layout)
    if form == "compile-frozen":
        torch._inductor.config.freezing = True
        net = torch.compile(net, dynamic=False)

    def run(x):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
            return net(x.contiguous(memory_format=layout)).float()

    run(torch.randn(batch, 3, SIDE, SIDE))
    return run


def encode(run, folder, copies, batch, workers):
    """Clean rows [n, d], copies [copies, n, d] and the class of each row."""
    files = Folder(folder, SIDE, draft=True)
    loader = DataLoader(files, batch_size=batch, num_workers=workers, prefetch_factor=2 if workers else None)
    rows = []
    for x in loader:
        tensors = torch.cat([x] + [rotated(x) for _ in range(copies)])
        lacking = -len(tensors) % batch  # a compiled network takes whole batches
        tensors = torch.cat([tensors, tensors[:1].expand(lacking, -1, -1, -1)]) if lacking else tensors
        features = torch.cat([run(part) for part in tensors.split(batch)])
        rows.append(features[:(1 + copies) * len(x)].view(1 + copies, len(x), -1))
    rows = torch.cat(rows, 1)
    classes = sorted({path.parent.name for path in files.paths})
    return rows[0], rows[1:], torch.tensor([classes.index(path.parent.name) for path in files.paths])


def accuracy(gallery, gallery_labels, queries, labels):
    nearest = torch.cdist(queries, gallery).argmin(1)
    return (gallery_labels[nearest] == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("weights")
    parser.add_argument("out")
    parser.add_argument("--variant", default="compile-frozen")
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    stages, last = {}, [process_start(), 0.0]

    def stage_ends(name):
        now = clocks()
        stages[name] = [now[0] - last[0], now[1] - last[1]]
        last[:] = now

    with torch.inference_mode():
        run = network(options.weights, options.variant, options.batch)
        stage_ends("setup")
        splits = {split: encode(run, os.path.join(options.folder, split), options.copies, options.batch, options.workers)
                  for split in ("train", "test")}
    splits = {split: [rows.clone() for rows in given] for split, given in splits.items()}
    stage_ends("encode")
    clean, copies, labels = splits["train"]
    model = torch_quality.train(clean, copies, options.epochs, 256, 3)
    torch_quality.save(options.out + ".safetensors", {name: t.detach().numpy() for name, t in model.state_dict().items()})
    stage_ends("train")
    with torch.inference_mode():
        queries = splits["test"][1].flatten(0, 1)
        wanted = splits["test"][2].repeat(options.copies)
        found = [accuracy(clean, labels, q, wanted) for q in (queries, model(queries))]
    stage_ends("test")
    with open(options.out + ".json", "w") as f:
        json.dump({"stages": stages, "1-NN": found}, f)


if __name__ == "__main__":
    main()
