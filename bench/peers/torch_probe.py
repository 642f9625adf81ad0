# SPDX-License-Identifier: Apache-2.0
"""torch_probe.py - training a probe in PyTorch, driven by lines.

    probe KIND ROWS D EPOCHS VARIANT    answers the seconds that the training took

KIND is nc (d, 4096, 10) or ec (d, 4096, 4096, 10): cross-entropy, Adam 1e-3 with a
cosine per epoch, batches of 256 in a new order every epoch, the last incomplete one
dropped. A variant is MODE/OPTIMISER: MODE eager or compile, OPTIMISER fused, foreach
or compiled (its step put through torch.compile). The first use of a variant trains
one epoch outside the time.
"""

import math
import sys
import time

import torch
from torch import nn

BATCH, HIDDEN, CLASSES = 256, 4096, 10
HIDDEN_LAYERS = {"lc": 0, "nc": 1, "ec": 2}


def make_model(kind, d):
    layers, width = [], d
    for _ in range(HIDDEN_LAYERS[kind]):
        layers += [nn.Linear(width, HIDDEN), nn.ReLU()]
        width = HIDDEN
    return nn.Sequential(*layers, nn.Linear(width, CLASSES))


def make_training(kind, n, d, variant):
    mode, optimiser_kind = variant.split("/")
    torch.manual_seed(0)
    x, labels = torch.randn(n, d), torch.arange(n) % CLASSES
    batch = min(BATCH, n)
    loss = nn.CrossEntropyLoss()
    how = {"fused": {"fused": True}, "foreach": {"foreach": True}}.get(optimiser_kind, {})
    model = make_model(kind, d)
    loss_of = lambda rows, classes: loss(model(rows), classes)
    loss_of = torch.compile(loss_of) if mode == "compile" else loss_of
    # A compiled step would be compiled again for every new number, but not for a new tensor.
    rate = torch.tensor(1e-3) if optimiser_kind == "compiled" else 1e-3
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, **how)
    update = torch.compile(optimiser.step) if optimiser_kind == "compiled" else optimiser.step

    def set_rate(value):
        for group in optimiser.param_groups:
            if optimiser_kind == "compiled":
                group["lr"].fill_(value)
            else:
                group["lr"] = value

    def start_over():
        for layer in model:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()
        for state in optimiser.state.values():
            for moment in state.values():
                moment.zero_()

    def train(epochs):
        start_over()
        for epoch in range(epochs):
            set_rate(4e-4 + 6e-4 * (1 + math.cos(math.pi * epoch / epochs)) / 2)
            order = torch.randperm(n)
            for at in range(0, n - batch + 1, batch):
                rows = order[at:at + batch]
                optimiser.zero_grad(set_to_none=True)
                loss_of(x[rows], labels[rows]).backward()
                update()

    train(1)
    return train


def main():
    torch.set_num_threads(int(sys.argv[sys.argv.index("--threads") + 1]))
    trainings = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, kind, n, d, epochs, variant = line.split()
        key = kind, n, d, variant
        if key not in trainings:
            trainings.clear()  # one at a time: the models are large
            trainings[key] = make_training(kind, int(n), int(d), variant)
        start = time.perf_counter()
        trainings[key](int(epochs))
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
