#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reference values of the loss KEEP: value, terms and gradients, in float64.

Usage: make_keep.py [FOLDER [SERIES]]     (default: the folder of this script, series 1)

Gradients follow the formulas of the terms one by one, with NumPy alone, and are compared
with central differences of the value before anything is written. Rows are in units
u = (z - mean) / sigma. Inputs are float32: clean [N, d], aug [N, s, d], vicinal [N, d],
origin [d] and a residual MLP; outputs are float64, grad_codes [(s+2)N, d] in the order
clean, copies, vicinal.
"""
import json
import os
import sys

import numpy as np

WEIGHTS = dict(vicinal=1.5, old_l2=0.25, old_cosine=0.2, new_l2=0.04, new_cosine=0.04)
TAU_L2, TAU_COSINE = 0.1, 0.05
N, S, D, HIDDEN = 19, 2, 13, 29
BLOCKS = ("0.weight", "0.bias", "2.weight", "2.bias")


def make_inputs(series):
    g = np.random.default_rng(700 + series)
    clean = g.normal(size=(N, D))
    aug = clean[:, None] + 0.8 * g.normal(size=(N, S, D))
    a = g.permutation(N)
    b = a[g.permutation(N)]
    vicinal = clean + g.uniform(-0.5, 0.5, size=(N, 1)) * (clean[a] - clean[b])
    x = {"clean": clean, "aug": aug, "vicinal": vicinal, "origin": 0.6 + 0.4 * g.normal(size=D),
         "0.weight": g.normal(size=(HIDDEN, D)) / np.sqrt(D), "0.bias": 0.3 * g.normal(size=HIDDEN),
         "2.weight": 0.4 * g.normal(size=(D, HIDDEN)) / np.sqrt(HIDDEN), "2.bias": 0.1 * g.normal(size=D)}
    return {name: value.astype(np.float32) for name, value in x.items()}


def entropy(logits):
    """Mean cross-entropy of rows k N + i against column i, and its gradient."""
    own = np.arange(len(logits)) % N
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    value = -np.log(p[np.arange(len(p)), own]).mean()
    p[np.arange(len(p)), own] -= 1
    return value, p / len(p)


def by_l2(y, keys, distance):
    scale = 1 / (TAU_L2 * distance)
    value, p = entropy(scale * (2 * y @ keys.T - np.square(keys).sum(axis=1)))
    return value, 2 * scale * p @ keys, 2 * scale * (p.T @ y - p.sum(axis=0)[:, None] * keys)


def unit(x):
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / length, lambda dq: (dq - x * (x * dq).sum(axis=1, keepdims=True) / length ** 2) / length


def by_cosine(y, keys, origin):
    (q, back_q), (k, back_k) = unit(y + origin), unit(keys + origin)
    value, p = entropy(q @ k.T / TAU_COSINE)
    return value, back_q(p @ k / TAU_COSINE), back_k(p.T @ q / TAU_COSINE)


def loss(codes, x, distance):
    """Value, terms and the gradient with respect to the codes."""
    u, v, m = (x[name].astype(np.float64) for name in ("clean", "vicinal", "origin"))
    grad, own, all_rows = np.zeros_like(codes), slice(N, (S + 1) * N), slice(0, (S + 1) * N)
    y0, y, between = codes[:N], codes[own], slice((S + 1) * N, None)
    gap, moved = codes[all_rows] - np.tile(u, (S + 1, 1)), codes[between] - v
    terms = {"mawa": np.square(gap).sum() / gap.size, "vicinal": np.square(moved).sum() / moved.size}
    grad[all_rows] += 2 * gap / gap.size
    grad[between] += WEIGHTS["vicinal"] * 2 * moved / moved.size
    for index, keys in (("old", u), ("new", y0)):
        for measure in ("l2", "cosine"):
            name = index + "_" + measure
            terms[name], dy, dk = by_l2(y, keys, distance) if measure == "l2" else by_cosine(y, keys, m)
            grad[own] += WEIGHTS[name] * dy
            if index == "new":
                grad[:N] += WEIGHTS[name] * dk
    return terms["mawa"] + sum(w * terms[name] for name, w in WEIGHTS.items()), terms, grad


def forward(x, w):
    rows = np.concatenate([x["clean"]] + [x["aug"][:, k] for k in range(S)] + [x["vicinal"]]).astype(np.float64)
    hidden = rows @ w["0.weight"].T + w["0.bias"]
    if np.abs(hidden).min() < 1e-5:
        sys.exit("a hidden unit is too close to the kink of ReLU: choose another series")
    return rows, np.maximum(hidden, 0), rows + np.maximum(hidden, 0) @ w["2.weight"].T + w["2.bias"]


def check(name, array, grad, value_of):
    """Central differences of some entries."""
    for i in np.random.default_rng(1).choice(array.size, min(40, array.size), replace=False):
        at, step = np.unravel_index(i, array.shape), 1e-6
        kept = array[at]
        array[at] = kept + step
        up = value_of()
        array[at] = kept - step
        down = value_of()
        array[at] = kept
        if abs((up - down) / (2 * step) - grad[at]) > 1e-7 * max(1, np.abs(grad).max()):
            sys.exit("the gradient of %s at %s is not that of differences" % (name, at))


def write_safetensors(path, weights):
    header, data = {"__metadata__": {"format": "pt", "invar.residual": "1"}}, b""
    for name in BLOCKS:
        raw = weights[name].tobytes()
        header[name] = {"dtype": "F32", "shape": list(weights[name].shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    x = make_inputs(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    distance = 2.0 * D * N / (N - 1)
    w = {name: x[name].astype(np.float64) for name in BLOCKS}
    rows, hidden, codes = forward(x, w)
    value, terms, grad = loss(codes, x, distance)
    d_hidden = (grad @ w["2.weight"]) * (hidden > 0)
    grads = {"0.weight": d_hidden.T @ rows, "0.bias": d_hidden.sum(axis=0),
             "2.weight": grad.T @ hidden, "2.bias": grad.sum(axis=0)}
    check("codes", codes, grad, lambda: loss(codes, x, distance)[0])
    for name in BLOCKS:
        check(name, w[name], grads[name], lambda: loss(forward(x, w)[2], x, distance)[0])

    os.makedirs(folder, exist_ok=True)
    for name, array in x.items():
        np.save(os.path.join(folder, name.replace(".", "_") + ".npy"), array)
    for name, array in grads.items():
        np.save(os.path.join(folder, "grad_" + name.replace(".", "_") + ".npy"), array)
    np.save(os.path.join(folder, "grad_codes.npy"), grad)
    write_safetensors(os.path.join(folder, "adapter.safetensors"), x)
    with open(os.path.join(folder, "values.json"), "w") as f:
        json.dump(dict(N=N, s=S, d=D, hidden=HIDDEN, **WEIGHTS, tau_l2=TAU_L2, tau_cosine=TAU_COSINE,
                       distance=distance, value=value, terms=terms), f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
