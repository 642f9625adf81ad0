# SPDX-License-Identifier: Apache-2.0
"""torch_train.py - a training step in PyTorch, driven by lines.

    step LOSS D STEPS VARIANT    answers the seconds that STEPS steps took

Hidden 4096, as in the paper, for KEEP 1024; batch 256 with s = 3, for SimCLR 1024 with two views
and no clean one. The batch is made beforehand, vicinal rows of KEEP in the step. A variant is MODE/OPTIMISER, with /FORM
where torch_losses.py has several forms of the loss: MODE eager or compile, OPTIMISER
fused, foreach, or compiled (AdamW's step put through torch.compile). The first use of
a variant warms it up outside the time.
"""

import sys
import time

import torch
from torch import nn

import torch_losses

HIDDEN, KEEP_HIDDEN = 4096, 1024


def make_batch(loss, d):
    """Rows [k, N, d] that E sees, and the clean features [N, d]."""
    if loss == "simclr":
        clean = torch.randn(1024, d)
        return clean + 0.5 * torch.randn(2, 1024, d), clean
    clean = torch.randn(256, d)
    return torch.cat([clean[None], clean + 0.5 * torch.randn(3, 256, d)]), clean


def make_step(loss, d, variant):
    mode, kind, form = (variant + "/").split("/")[:3]
    formula = torch_losses.FORMS[loss][form]
    torch._dynamo.reset()  # or it takes the next variant for a change of the last one
    torch.manual_seed(0)
    rows, clean = make_batch(loss, d)
    hidden = KEEP_HIDDEN if loss == "keep" else HIDDEN
    model = nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, d))
    how = {"fused": {"fused": True}}.get(kind, {"foreach": True})
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4, **how)

    def loss_of(rows, clean, drawn):
        if loss != "keep":
            return formula(model(rows), clean, drawn)
        rows = torch_losses.keep_rows(rows, clean, drawn)
        return formula(rows + model(rows), clean, drawn, rows[-1])

    loss_of = torch.compile(loss_of) if mode == "compile" else loss_of
    update = torch.compile(optimiser.step) if kind == "compiled" else optimiser.step

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss_of(rows, clean, torch_losses.draw(loss, rows.shape, clean.shape)).backward()
        update()

    for _ in range(3):
        step()
    return step


def main():
    torch.set_num_threads(int(sys.argv[sys.argv.index("--threads") + 1]))
    steps = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, loss, d, count, variant = line.split()
        key = loss, d, variant
        if key not in steps:
            steps.clear()  # one at a time: the models are large
            steps[key] = make_step(loss, int(d), variant)
        step = steps[key]
        start = time.perf_counter()
        for _ in range(int(count)):
            step()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
