"""torch_train.py - the MaWa training step in PyTorch, driven by lines.

    step D STEPS VARIANT    answers the seconds that STEPS steps took

Batch 256, s = 3, hidden 4096, as in the paper. The batch is made beforehand and
the loss is the formula as one would write it. A variant is MODE/OPTIMISER with
MODE eager or compile, OPTIMISER fused, foreach, or compiled (AdamW's step put
through torch.compile). The first use of a variant warms it up outside the time.
"""

import sys
import time

import torch
from torch import nn

N, S, HIDDEN = 256, 3, 4096


def mawa(model, rows, clean):
    """rows [(s+1), N, d], the clean ones first; clean [N, d]."""
    return (model(rows) - clean).square().sum(dim=2).mean()


def make_step(d, variant):
    mode, kind = variant.split("/")
    torch.manual_seed(0)
    clean = torch.randn(N, d)
    rows = torch.cat([clean[None], clean[None] + 0.5 * torch.randn(S, N, d)])
    model = nn.Sequential(nn.Linear(d, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, d))
    how = {"fused": {"fused": True}}.get(kind, {"foreach": True})
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4, **how)
    loss_of = torch.compile(mawa) if mode == "compile" else mawa
    update = torch.compile(optimiser.step) if kind == "compiled" else optimiser.step

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss_of(model, rows, clean).backward()
        update()

    for _ in range(3):
        step()
    return step


def main():
    torch.set_num_threads(int(sys.argv[sys.argv.index("--threads") + 1]))
    steps = {}
    print("ready", flush=True)
    for line in sys.stdin:
        _, d, count, variant = line.split()
        if (d, variant) not in steps:
            steps.clear()  # one at a time: the models are large
            steps[d, variant] = make_step(int(d), variant)
        step = steps[d, variant]
        start = time.perf_counter()
        for _ in range(int(count)):
            step()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
