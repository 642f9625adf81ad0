#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_golden.py - the reference values that the C tests are held against.

    python3 make_golden.py [FOLDER]        default: the folder of this script

Everything is synthetic and small, with odd sizes on purpose: a kernel that works
in eights has a rest to deal with in every dimension. Inputs are float32. Outputs
are computed from them in float64 by PyTorch (losses, gradients by autograd,
optimisers, schedule), SciPy (pairwise distances, Procrustes) and scikit-learn (the
line through them, ridge regression), never by formulas of our own where one of those has them.

Needs numpy, torch, scipy, scikit-learn (bench/requirements.txt); takes a few
seconds. Equal library versions give equal bytes; others may differ in the last
digits, far below the tolerances in manifest.json.
"""

import json
import os
import struct
import sys

import numpy as np
import torch
from scipy.linalg import expm, orthogonal_procrustes
from scipy.optimize import brentq
from scipy.sparse.csgraph import laplacian
from scipy.spatial.distance import cdist, pdist
from scipy.stats import entropy
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.manifold import TSNE, trustworthiness
from sklearn.metrics import average_precision_score, pairwise_distances, r2_score, root_mean_squared_error
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

CONVENTIONS = {
    "files": "Paths are relative to the folder of this manifest. Inputs are float32, outputs float64 "
             "computed from them; little-endian, C order.",
    "scalars": "values.json of a case is flat: its parameters and its scalar results, which are also "
               "here under 'parameters' and 'values'.",
    "linear_layers": "y = W x + b, W [out, in] row-major. An adapter is layer 2 of relu of layer 0: "
                     "0_weight [hidden, d], 0_bias, 2_weight [d, hidden], 2_bias; relu'(0) = 0.",
    "rows": "aug.npy is [N, s, d]: copy k of image i at [i, k].",
    "tolerance": "For a float32 implementation. A scalar: |v - ref| <= abs + rel*|ref|. An array: "
                 "max|a - ref| <= abs + rel*max|ref|; with \"elementwise\": true, the scalar's rule for "
                 "each element. Integers must be equal. A key that names an output (a file without "
                 ".npy, or a value) overrides the case's own.",
}
BLOCKS = ("0.weight", "0.bias", "2.weight", "2.bias")
MAWA = ("MaWa loss: mean over i of 1/(s+1) * (|E(F(x_i)) - F(x_i)|^2 + sum over k of "
        "|E(F(t_k x_i)) - F(x_i)|^2), squared norms summed over dimensions; ")


class Case:
    """One case folder, and its entry in the manifest."""

    def __init__(self, root, cases, name, folder, definition, tolerance):
        self.root, self.folder = root, folder
        self.entry = {"name": name, "folder": folder, "definition": definition, "inputs": [],
                      "parameters": {}, "outputs": [], "values": {}, "tolerance": tolerance}
        cases.append(self.entry)
        os.makedirs(os.path.join(root, folder), exist_ok=True)

    def array(self, kind, name, data, dtype, meaning):
        data = np.ascontiguousarray(data, dtype=dtype)
        file = "%s/%s.npy" % (self.folder, name)
        np.save(os.path.join(self.root, file), data)
        self.entry[kind].append({"file": file, "shape": list(data.shape), "dtype": str(data.dtype),
                                 "meaning": meaning})

    def input(self, name, data, meaning):
        self.array("inputs", name, data, "<f4", meaning)

    def output(self, name, data, meaning):
        self.array("outputs", name, data, "<f8", meaning)

    def save(self, parameters=None, values=None):
        self.entry["parameters"] = parameters or {}
        self.entry["values"] = values or {}
        flat = dict(self.entry["parameters"], **self.entry["values"])
        with open(os.path.join(self.root, self.folder, "values.json"), "w") as f:
            f.write(json.dumps(flat, indent=1) + "\n")


def save_safetensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, data in sorted(tensors.items()):
        header[name] = {"dtype": "F32", "shape": list(data.shape), "data_offsets": [at, at + data.nbytes]}
        at += data.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, data in sorted(tensors.items()):
            f.write(data.astype("<f4").tobytes())


# ---- MaWa --------------------------------------------------------------------

def make_features(rng, N, s, d):
    """Clustered clean rows, and copies displaced along directions that all share."""
    clean = rng.normal(size=(5, d))[rng.integers(5, size=N)] + 0.5 * rng.normal(size=(N, d))
    shared = rng.normal(size=(3, d))
    aug = clean[:, None] + rng.normal(size=(N, s, 3)) @ shared + 0.2 * rng.normal(size=(N, s, d))
    return clean.astype("f4"), aug.astype("f4")


def make_weights(rng, d, hidden, w=None):
    """PyTorch's initial distribution, drawn by NumPy; w outputs, d where nobody says."""
    draw = lambda shape, fan: rng.uniform(-fan ** -0.5, fan ** -0.5, shape).astype("f4")
    return {"0.weight": draw((hidden, d), d), "0.bias": draw(hidden, d),
            "2.weight": draw((w or d, hidden), hidden), "2.bias": draw(w or d, hidden)}


def make_adapter(weights):
    (hidden, d), w = weights["0.weight"].shape, len(weights["2.bias"])
    adapter = torch.nn.Sequential(torch.nn.Linear(d, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, w))
    adapter.double().load_state_dict({k: torch.from_numpy(v).double() for k, v in weights.items()})
    return adapter


def mawa(adapter, clean, aug, residual):
    """The loss and the codes, rows [N, s + 1, d] with the clean one first."""
    rows = torch.cat([clean[:, None], aug], dim=1)
    codes = adapter(rows) + (rows if residual else 0)
    return (codes - clean[:, None]).square().sum(dim=2).mean(dim=1).mean(), codes


def refuse_kinks(layers, rows):
    """A unit near its kink could fall on either side in float32."""
    nearest = layers(rows).detach().abs().min().item()
    if nearest < 1e-5:
        sys.exit("a unit is %.1e from its kink; choose another seed" % nearest)


def case_mawa(root, cases, name, seed, N, s, d, hidden, residual):
    rng = np.random.default_rng(seed)
    clean, aug = make_features(rng, N, s, d)
    weights = make_weights(rng, d, hidden)
    adapter = make_adapter(weights)
    form = "E(z) = z + MLP(z)." if residual else "E(z) = MLP(z)."
    case = Case(root, cases, name, "losses/" + name, MAWA + form, {"rel": 2e-5, "abs": 1e-7})
    case.input("clean", clean, "F(x_i), [N, d]")
    case.input("aug", aug, "F(t_k x_i), [N, s, d]")
    for block in BLOCKS:
        case.input(block.replace(".", "_"), weights[block], block)
    save_safetensors(os.path.join(root, case.folder, "adapter.safetensors"), weights)

    X, A = torch.from_numpy(clean).double(), torch.from_numpy(aug).double()
    refuse_kinks(adapter[:1], torch.cat([X[:, None], A], dim=1))
    loss, codes = mawa(adapter, X, A, residual)
    loss.backward()
    codes = codes.detach().numpy()
    case.output("codes_clean", codes[:, 0], "E(F(x_i)), [N, d]")
    case.output("codes_aug", codes[:, 1:], "E(F(t_k x_i)), [N, s, d]")
    for block, parameter in adapter.named_parameters():
        case.output("grad_" + block.replace(".", "_"), parameter.grad.numpy(), "gradient of " + block)
    case.save({"N": N, "s": s, "d": d, "hidden": hidden}, {"loss": loss.item()})
    return clean, aug, weights


# ---- sliced Wasserstein and WaCo ---------------------------------------------

PARTS = ("xz", "xx", "zz")
WACO = ("Over the M = (s+1)N rows k N + i, X the clean features repeated and Z the codes: SW_xz = SW_2 of the rows "
        "(x_r, z_r) and (x_s1(r), z_s2(r)) in R^(d+w); SW_xx and SW_zz the same with one variable twice; each with "
        "directions and permutations s1, s2 of its own. SC = SW_xz / sqrt(SW_xx SW_zz).")
LOOSE = {"rel": 5e-5, "abs": 1e-6}


def sliced(a, b, directions, p):
    """The distance, and by direction the mean over ranks of |difference|^p."""
    gaps = torch.sort(a @ directions.T, dim=0).values - torch.sort(b @ directions.T, dim=0).values
    powers = gaps.abs().pow(p).mean(dim=0)
    return powers.mean().pow(1 / p), powers


def safe_directions(rng, count, a, b):
    """Unit rows along which float32 puts both sets in the same order as float64."""
    kept = []
    while len(kept) < count:
        u = rng.normal(size=a.shape[1])
        u = (u / np.linalg.norm(u)).astype("f4")
        sides = [np.sort(x @ u.astype("f8")) for x in (a, b)]
        if min(np.diff(s).min() for s in sides) > 2e-5 and np.abs(sides[0] - sides[1]).min() > 2e-5:
            kept.append(u)
    return np.array(kept)


def case_sliced(root, cases):
    rng, n, d, count = np.random.default_rng(201), 23, 5, 11
    case = Case(root, cases, "sliced_wasserstein", "losses/sliced_wasserstein",
                "SW_p(A, B) = (mean over directions u of mean over ranks j of |sort(A u)_j - sort(B u)_j|^p)^(1/p) for "
                "p = 1, 2, 3, and its gradient for A; directions are taken as they are.", {"rel": 2e-5, "abs": 1e-7})
    a, b = rng.normal(size=(n, d)).astype("f4"), (1.3 * rng.normal(size=(n, d)) + 0.2).astype("f4")
    directions = safe_directions(rng, count, a.astype("f8"), b.astype("f8"))
    case.input("a", a, "first set")
    case.input("b", b, "second set")
    case.input("directions", directions, "unit directions, one a row")
    values = {}
    for p in (1, 2, 3):
        A = torch.from_numpy(a).double().requires_grad_()
        value, powers = sliced(A, torch.from_numpy(b).double(), torch.from_numpy(directions).double(), p)
        value.backward()
        values["sw_p%d" % p] = value.item()
        case.output("powers_p%d" % p, powers.detach().numpy(), "by direction: mean over ranks of |difference|^p")
        case.output("grad_a_p%d" % p, A.grad.numpy(), "gradient of SW_%d for A" % p)
    case.save({"n": n, "d": d, "L": count}, values)


def save_network(root, case, weights, prefix=""):
    for block in BLOCKS:
        case.input(prefix + block.replace(".", "_"), weights[block], prefix + block)
    name = "decoder.safetensors" if prefix else "adapter.safetensors"
    save_safetensors(os.path.join(root, case.folder, name), weights)


def save_gradients(case, network, prefix=""):
    for block, parameter in network.named_parameters():
        name = prefix + block.replace(".", "_")
        case.output("grad_" + name, parameter.grad.numpy(), "gradient of " + prefix + block)


def pairing(part, x, z, perms):
    """The joint rows of a distance, and the same with both halves shuffled."""
    first, second = {"xz": (x, z), "xx": (x, x), "zz": (z, z)}[part]
    return torch.cat([first, second], dim=1), torch.cat([first[perms[0]], second[perms[1]]], dim=1)


def correlate(case, rng, x, z, count, prefix=""):
    """SC and the three distances, with directions and permutations drawn and saved."""
    sw = {}
    for part in PARTS:
        perms = [rng.permutation(len(x)) for _ in range(2)]
        for k, perm in enumerate(perms, 1):
            integers(case, "inputs", "%sperm_%s_%d" % (prefix, part, k), perm, "s%d of SW_%s" % (k, part))
        sides = pairing(part, x, z, [torch.from_numpy(perm) for perm in perms])
        flat = [side.detach().numpy() for side in sides]
        if part == "xx":  # equal rows tie, which moves no gradient: there is none
            flat = [rng.normal(size=(9, flat[0].shape[1])) for _ in range(2)]
        directions = safe_directions(rng, count, *flat)
        case.input("%sdirections_%s" % (prefix, part), directions, "unit directions of SW_" + part)
        sw["sw_" + part] = sliced(*sides, torch.from_numpy(directions).double(), 2)[0]
    return sw["sw_xz"] / torch.sqrt(sw["sw_xx"] * sw["sw_zz"]), sw


def encode(adapter, clean, aug):
    """The codes Z of the rows k N + i, as a leaf of the gradient's tree."""
    rows = np.concatenate([clean] + [aug[:, k] for k in range(aug.shape[1])])
    rows = torch.from_numpy(rows).double()
    refuse_kinks(adapter[:1], rows)
    codes = adapter(rows)
    codes.retain_grad()
    return codes


def case_waco(root, cases, name, seed, w, s=2, decoder=False):
    rng, N, d, hidden, count = np.random.default_rng(seed), 11, 9, 19, 13
    clean, aug = make_features(rng, N, s, d)
    weights = make_weights(rng, d, hidden, w)
    form = ("alpha times the mean over clean rows of |x - D(E(x))|^2, less beta SC. " if decoder
            else "-SC, p = 2. ")
    case = Case(root, cases, name, "losses/" + name, "WaCo loss: " + form + WACO, LOOSE)
    parameters = {"N": N, "s": s, "d": d, "w": w, "hidden": hidden, "L": count, "M": (s + 1) * N}
    case.input("clean", clean, "F(x_i), [N, d]")
    if s:
        case.input("aug", aug, "F(t_k x_i), [N, s, d]")
    save_network(root, case, weights)
    adapter = make_adapter(weights)
    X = torch.from_numpy(np.concatenate([clean] * (s + 1))).double()
    Z = encode(adapter, clean, aug)
    sc, sw = correlate(case, rng, X, Z, count)
    loss, values = -sc, {}
    if decoder:
        parameters.update(alpha=0.4, beta=0.6)
        back = make_weights(rng, w, 7, d)
        save_network(root, case, back, "dec_")
        back = make_adapter(back)
        refuse_kinks(back[:1], Z[:N])
        reconstruction = (X[:N] - back(Z[:N])).square().sum(dim=1).mean()
        loss, values = 0.4 * reconstruction - 0.6 * sc, {"reconstruction": reconstruction.item()}
    loss.backward()
    values.update({"loss": loss.item(), "sc": sc.item()}, **{k: v.item() for k, v in sw.items()})
    case.output("grad_codes", Z.grad.numpy(), "gradient of Z")
    save_gradients(case, adapter)
    if decoder:
        save_gradients(case, back, "dec_")
    case.save(parameters, values)


def case_waco_multi(root, cases):
    rng, N, s, d, hidden, count = np.random.default_rng(206), 10, 2, 7, 17, 12
    clean, first = make_features(rng, N, s, d)
    second = (0.7 * clean[:, None, ::-1] + 0.5 * rng.normal(size=(N, s, d))).astype("f4")
    weights = make_weights(rng, d, hidden)
    case = Case(root, cases, "waco_multi", "losses/waco_multi",
                "Two augmentations: -sum_j log SC_j, SC_j over the clean rows and the copies of augmentation j. " + WACO,
                LOOSE)
    case.input("clean", clean, "F(x_i), [N, d]")
    save_network(root, case, weights)
    adapter, loss, codes, values = make_adapter(weights), 0, [], {}
    X = torch.from_numpy(np.concatenate([clean] * (s + 1))).double()
    for j, aug in enumerate((first, second), 1):
        case.input("aug_%d" % j, aug, "copies of augmentation %d, [N, s, d]" % j)
        codes.append(encode(adapter, clean, aug))
        sc, sw = correlate(case, rng, X, codes[-1], count, "a%d_" % j)
        loss = loss - torch.log(sc)
        values.update({"sc_%d" % j: sc.item()}, **{"%s_%d" % (k, j): v.item() for k, v in sw.items()})
    loss.backward()
    for j, Z in enumerate(codes, 1):
        case.output("grad_codes_%d" % j, Z.grad.numpy(), "gradient of the codes of augmentation %d" % j)
    save_gradients(case, adapter)
    case.save({"N": N, "s": s, "d": d, "w": d, "hidden": hidden, "L": count, "M": (s + 1) * N},
              dict(values, loss=loss.item()))


def case_wacos(root, cases):
    case_sliced(root, cases)
    case_waco(root, cases, "waco", 202, w=9)
    case_waco(root, cases, "waco_reduce", 203, w=4)
    case_waco(root, cases, "waco_identity", 204, w=9, s=0)
    case_waco(root, cases, "waco_decoder", 205, w=4, decoder=True)
    case_waco_multi(root, cases)


# ---- optimisers ----------------------------------------------------------------

def case_adam(root, cases, name, optimiser, decay, start, grads):
    settings = {"lr": 2e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": decay}
    moment = {"rel": 1e-5, "abs": 1e-30, "elementwise": True}
    case = Case(root, cases, name, "optim/" + name,
                "%s, one step for each row of grads: p *= 1 - lr*wd; m = b1 m + (1-b1) g; "
                "v = b2 v + (1-b2) g^2; p -= lr * (m/(1-b1^t)) / (sqrt(v/(1-b2^t)) + eps)." % name,
                {"rel": 2e-6, "abs": 1e-6, "elementwise": True, "m": moment, "v": moment})
    case.input("start", start, "parameters before the first step")
    case.input("grads", grads, "gradients, one row a step")
    p = torch.nn.Parameter(torch.from_numpy(start).double())
    opt, path = optimiser([p], **settings), []
    for row in grads:
        p.grad = torch.from_numpy(row).double()
        opt.step()
        path.append(p.detach().numpy().copy())
    case.output("path", path, "parameters after each step")
    case.output("m", opt.state[p]["exp_avg"].numpy(), "first moment at the end, not corrected")
    case.output("v", opt.state[p]["exp_avg_sq"].numpy(), "second moment at the end, not corrected")
    case.save({"lr": settings["lr"], "weight_decay": decay, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8,
               "steps": len(grads)})


def case_adams(root, cases):
    """Gradients of every size, one that is always zero, one that is mostly zero."""
    rng = np.random.default_rng(404)
    start = rng.normal(size=19).astype("f4")
    grads = (rng.normal(size=(7, 19)) * 10.0 ** rng.integers(-6, 4, size=19)).astype("f4")
    grads[:, 3] = 0
    grads[:-1, 5] = 0
    case_adam(root, cases, "adam", torch.optim.Adam, 0.0, start, grads)
    case_adam(root, cases, "adamw", torch.optim.AdamW, 1e-4, start, grads)
    case_adam(root, cases, "adamw_strong_decay", torch.optim.AdamW, 0.5, start, grads)


def case_schedule(root, cases):
    lr, low, T = 3e-3, 2e-4, 37
    case = Case(root, cases, "cosine_schedule", "optim/cosine_schedule",
                "Rate of epoch t = 0..T_max: eta_min + (lr - eta_min) * (1 + cos(pi t/T_max)) / 2.",
                {"rel": 1e-6, "abs": 0})
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    schedule, rates = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=T, eta_min=low), []
    for _ in range(T + 1):
        rates.append(schedule.get_last_lr()[0])
        opt.step()
        schedule.step()
    case.output("rates", rates, "the T_max + 1 rates")
    case.save({"lr": lr, "eta_min": low, "T_max": T})


def case_train(root, cases, clean, aug, weights):
    steps, settings = 15, {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 1e-4}
    wide = {"rel": 0, "abs": 1e-4}
    tolerance = {"rel": 1e-4, "abs": 1e-6}
    tolerance.update({"final_" + b.replace(".", "_"): wide for b in BLOCKS})
    case = Case(root, cases, "train_mawa", "optim/train_mawa",
                "%d AdamW steps on all rows of case mawa, constant rate, decay on all four blocks. "
                "losses[t] is the loss before step t + 1, the last one that after the last step." % steps,
                tolerance)
    source = {os.path.basename(i["file"]): i for i in cases[0]["inputs"]}
    case.entry["inputs"] = [dict(i, meaning="as in case mawa") for i in source.values()]
    adapter = make_adapter(weights)
    opt, losses = torch.optim.AdamW(adapter.parameters(), **settings), []
    X, A = torch.from_numpy(clean).double(), torch.from_numpy(aug).double()
    for _ in range(steps):
        opt.zero_grad()
        loss, _ = mawa(adapter, X, A, False)
        loss.backward()
        losses.append(loss.item())
        opt.step()
    losses.append(mawa(adapter, X, A, False)[0].item())
    case.output("losses", losses, "the loss before each step and after the last")
    for block, parameter in adapter.named_parameters():
        case.output("final_" + block.replace(".", "_"), parameter.detach().numpy(), "final " + block)
    case.save({"steps": steps, "lr": settings["lr"], "weight_decay": settings["weight_decay"],
               "beta1": 0.9, "beta2": 0.999, "eps": 1e-8})


# ---- structure -------------------------------------------------------------------

STRUCTURE = ("Over the unordered pairs of rows, d = |x-y|, e = |E(x)-E(y)|: L1 = min e/d, L2 = max e/d; "
             "m, b, R2 of the least-squares line e = m d + b; RMSD = sqrt(mean (e-d)^2), "
             "NRMSD = RMSD/(max d - min d), CVRMSD = RMSD/mean d.")


def structure(x, e, drop):
    d, e = pdist(x.astype("f8")), pdist(e.astype("f8"))
    apart = d > 0
    ratio = e[apart] / d[apart]
    zero = int((~apart).sum())
    if drop:
        d, e = d[apart], e[apart]
    line = LinearRegression().fit(d[:, None], e)
    rmsd = root_mean_squared_error(d, e)
    return {"pairs": len(d), "zero_pairs": zero, "L1": ratio.min(), "L2": ratio.max(),
            "m": float(line.coef_[0]), "b": float(line.intercept_),
            "R2": r2_score(e, line.predict(d[:, None])), "RMSD": rmsd,
            "NRMSD": rmsd / (d.max() - d.min()), "CVRMSD": rmsd / d.mean()}


def nearly_isometric(rng, x, width):
    """A turned copy of the points, bent a little; `width` of its dimensions."""
    turn = np.linalg.qr(rng.normal(size=(x.shape[1], x.shape[1])))[0]
    return (0.9 * x @ turn + 0.1 * np.tanh(x)).astype("f4")[:, :width]


def case_structures(root, cases):
    rng = np.random.default_rng(777)
    wide, tolerance = {"rel": 0, "abs": 2e-5}, {"rel": 2e-5, "abs": 1e-6}
    x = (2 * rng.normal(size=(4, 19))[rng.integers(4, size=131)] + rng.normal(size=(131, 19))).astype("f4")

    case = Case(root, cases, "structure", "metrics/structure", STRUCTURE, dict(tolerance, b=wide))
    e = nearly_isometric(rng, x, 13)
    case.input("x", x, "points")
    case.input("e", e, "their codes, of another width")
    case.save(None, structure(x, e, True))

    case = Case(root, cases, "structure_duplicates", "metrics/structure_duplicates",
                STRUCTURE + " Some rows occur two or three times. Pairs with d = 0 are counted in "
                "zero_pairs and have no part in L1 and L2; _keep keeps them in the rest, _drop leaves "
                "them out everywhere.", dict(tolerance, b_keep=wide, b_drop=wide))
    x[-9:] = x[[0, 0, 7, 11, 11, 50, 99, 100, 121]]
    e = nearly_isometric(rng, x, 19)
    case.input("x", x, "points, the last 9 repeat others")
    case.input("e", e, "their codes")
    values = {}
    for tag, drop in (("keep", False), ("drop", True)):
        values.update({"%s_%s" % (k, tag): v for k, v in structure(x, e, drop).items()})
    case.save(None, values)


# ---- closed forms ----------------------------------------------------------------

def paired_clouds(rng, n, d):
    """Clean rows far from zero with features of all sizes, and a turned, bent, noisy copy of them."""
    b = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d) + 5 * rng.normal(size=d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    a = b @ turn + 0.3 * np.abs(b) + 0.2 * rng.normal(size=(n, d))
    return a.astype("f4"), b.astype("f4")


def case_rigid(root, cases, name, seed, n, d):
    a, b = paired_clouds(np.random.default_rng(seed), n, d)
    A, B = a.astype("f8"), b.astype("f8")
    case = Case(root, cases, name, "metrics/" + name,
                "The orthogonal Q and the t with the least sum of |a_i Q + t - b_i|^2, by "
                "scipy.linalg.orthogonal_procrustes of the centred rows; before is the sum with Q = I, t = 0. "
                "Computed in double." + ("" if n > d else " With n <= d, Q is not unique, the residual is."),
                {"rel": 1e-9, "abs": 1e-12})
    case.input("a", a, "sources, [n, d]")
    case.input("b", b, "targets, [n, d]")
    Q, nuclear = orthogonal_procrustes(A - A.mean(0), B - B.mean(0))
    t = B.mean(0) - A.mean(0) @ Q
    if n > d:
        case.output("Q", Q, "orthogonal map, [d, d]; rows are multiplied from the left")
        case.output("t", t, "translation")
    case.save({"n": n, "d": d}, {"residual": float(((A @ Q + t - B) ** 2).sum()),
                                 "before": float(((A - B) ** 2).sum()), "nuclear": float(nuclear)})


def case_ridge(root, cases, name, seed, n, d):
    a, b = paired_clouds(np.random.default_rng(seed), n, d)
    A, B = a.astype("f8"), b.astype("f8")
    case = Case(root, cases, name, "metrics/" + name,
                "sklearn.linear_model.Ridge of b on a with intercept, alpha = lambda times the mean "
                "diagonal of the centred Gram matrix, lambda_k for k = 0.. . Computed in double.",
                {"rel": 1e-9, "abs": 1e-12})
    case.input("a", a, "sources, [n, d]")
    case.input("b", b, "targets, [n, d]")
    scale = ((A - A.mean(0)) ** 2).sum(0).mean()
    parameters, values = {"n": n, "d": d}, {}
    for k, strength in enumerate((1e-4, 1e-2, 1.0, 10.0)):
        fit = Ridge(alpha=strength * scale, solver="svd").fit(A, B)
        parameters["lambda_%d" % k] = strength
        case.output("M_%d" % k, fit.coef_.T, "map, [d, d]; rows are multiplied from the left")
        case.output("t_%d" % k, fit.intercept_, "intercept")
        values["residual_%d" % k] = float(((fit.predict(A) - B) ** 2).sum())
    case.save(parameters, values)


def case_closed_forms(root, cases):
    case_rigid(root, cases, "rigid", 909, n=67, d=13)
    case_rigid(root, cases, "rigid_few", 910, n=7, d=13)
    case_ridge(root, cases, "ridge", 911, n=71, d=11)
    case_ridge(root, cases, "ridge_few", 912, n=9, d=14)


# ---- collisions and neighbours ---------------------------------------------------

COLLISION = ("hits: the nearest clean point of another class is strictly nearer to the augmented point than the "
             "nearest of its own class; _all: over all clean points, the own clean image included; _loo: that one "
             "left out. raw: on aug; aligned: after the orthogonal map and translation with the least squared "
             "residual onto clean.")


def integers(case, kind, name, data, meaning):
    case.array(kind, name, data, "<i4", meaning)


def collisions(clean, labels, moved, leave_out):
    """(who collides, the smallest margin between the two minima)."""
    dist, same = cdist(moved, clean), labels[:, None] == labels[None]
    inside = same & ~np.eye(len(clean), dtype=bool) if leave_out else same
    other = np.where(same, np.inf, dist).min(axis=1)
    own = np.where(inside, dist, np.inf).min(axis=1)
    return other < own, np.abs(other - own).min()


def case_collision(root, cases):
    rng = np.random.default_rng(515)
    n, d, classes = 137, 11, 5
    labels = rng.integers(classes, size=n)
    clean = (0.8 * rng.normal(size=(classes, d))[labels] + 0.7 * rng.normal(size=(n, d))).astype("f4")
    skew = 0.15 * rng.normal(size=(d, d))
    turn = expm(skew - skew.T)
    aug = (clean @ turn + 0.3 * rng.normal(size=d) + 0.9 * rng.normal(size=(n, d))).astype("f4")
    C, A = clean.astype("f8"), aug.astype("f8")
    Q, _ = orthogonal_procrustes(A - A.mean(0), C - C.mean(0))
    case = Case(root, cases, "collision", "metrics/collision", COLLISION, {"rel": 0, "abs": 1e-9})
    case.input("clean", clean, "clean points")
    case.input("aug", aug, "augmented points, row i belongs to clean row i")
    integers(case, "inputs", "labels", labels, "class of each row")
    values = {}
    for kind, moved in (("raw", A), ("aligned", (A - A.mean(0)) @ Q + C.mean(0))):
        for tag in ("all", "loo"):
            hits, margin = collisions(C, labels, moved, tag == "loo")
            if margin < 1e-3:
                sys.exit("two minima are %.1e apart; choose another seed" % margin)
            integers(case, "outputs", "hits_%s_%s" % (kind, tag), hits, "1 where the point collides")
            values["count_%s_%s" % (kind, tag)] = int(hits.sum())
            values["rate_%s_%s" % (kind, tag)] = float(hits.mean())
    case.save(None, values)


def case_collision_ties(root, cases):
    """A grid of whole numbers: equal distances everywhere, points that occur twice."""
    rng = np.random.default_rng(616)
    clean, aug = rng.integers(-3, 4, size=(2, 61, 3)).astype("f4")
    labels = rng.integers(3, size=61)
    case = Case(root, cases, "collision_ties", "metrics/collision_ties",
                COLLISION + " Small whole numbers, so ties are exact; a tie is no collision.",
                {"rel": 0, "abs": 1e-9})
    case.input("clean", clean, "clean points")
    case.input("aug", aug, "augmented points")
    integers(case, "inputs", "labels", labels, "class of each row")
    values = {}
    for tag in ("all", "loo"):
        dist2 = np.square(aug[:, None] - clean[None]).sum(-1)  # whole numbers: no rounding
        same = labels[:, None] == labels[None]
        inside = same & ~np.eye(len(clean), dtype=bool) if tag == "loo" else same
        hits = np.where(same, np.inf, dist2).min(1) < np.where(inside, dist2, np.inf).min(1)
        integers(case, "outputs", "hits_raw_" + tag, hits, "1 where the point collides")
        values.update({"count_raw_" + tag: int(hits.sum()), "rate_raw_" + tag: float(hits.mean())})
    case.save(None, values)


def case_knn(root, cases):
    rng = np.random.default_rng(717)
    n, d, classes = 109, 9, 6
    labels = rng.integers(classes, size=n)
    gallery = (0.6 * rng.normal(size=(classes, d))[labels] + 0.7 * rng.normal(size=(n, d))).astype("f4")
    queries = (gallery + 0.9 * rng.normal(size=(n, d))).astype("f4")
    case = Case(root, cases, "knn_retrieval", "metrics/knn_retrieval",
                "sklearn.neighbors.KNeighborsClassifier, brute force, uniform weights: the majority of the k "
                "nearest labels, the smallest label where several have as many votes. recall_at_K: share of queries with "
                "at least one row of their class (own_: row i itself) among the K nearest; mAP: mean of "
                "sklearn.metrics.average_precision_score; cosine_: by cosine distance.", {"rel": 0, "abs": 1e-9})
    case.input("gallery", gallery, "clean points")
    case.input("queries", queries, "augmented points, row i belongs to gallery row i")
    integers(case, "inputs", "labels", labels, "class of gallery row i and of query i")
    values = {}
    for k in (1, 5, 20):
        model = KNeighborsClassifier(k, algorithm="brute").fit(gallery.astype("f8"), labels)
        found = model.predict(queries.astype("f8"))
        integers(case, "outputs", "knn_predictions_%d" % k, found, "predicted class of each query, k=%d" % k)
        values.update({"knn_correct_%d" % k: int((found == labels).sum()),
                       "knn_accuracy_%d" % k: float((found == labels).mean())})
    values.update(retrieval(gallery.astype("f8"), queries.astype("f8"), labels))
    case.save(None, values)


def retrieval(gallery, queries, labels):
    """By class, every row of the class being relevant, and by image, row i alone for query i."""
    values = {}
    for prefix, metric in (("", "euclidean"), ("cosine_", "cosine")):
        distance = pairwise_distances(queries, gallery, metric)
        order = distance.argsort(axis=1)
        for name, relevant in (("", labels[:, None] == labels), ("own_", np.eye(len(labels), dtype=bool))):
            hit = np.take_along_axis(relevant, order, axis=1)
            values.update({prefix + name + "recall_at_%d" % k: float(hit[:, :k].any(axis=1).mean())
                           for k in (1, 5, 10)})
            values[prefix + name + "mAP"] = float(np.mean(
                [average_precision_score(row, -far) for row, far in zip(relevant, distance)]))
    return values


# ---- t-SNE -------------------------------------------------------------------------

def case_tsne(root, cases):
    rng = np.random.default_rng(818)
    n, d, clusters, perplexity = 87, 7, 4, 9.0
    labels = rng.integers(clusters, size=n)
    x = (1.5 * rng.normal(size=(clusters, d))[labels] + 0.7 * rng.normal(size=(n, d))).astype("f4")
    y = (3 * rng.normal(size=(clusters, 2))[labels] + rng.normal(size=(n, 2))).astype("f4")
    case = Case(root, cases, "tsne", "metrics/tsne",
                "p_{j|i} = exp(-beta_i |x_i-x_j|^2) over its sum, entropy log(perplexity) (scipy.optimize.brentq); "
                "P = (p_{j|i} + p_{i|j}) / 2n; KL of P and Student's Q at y, gradient by autograd. final_: "
                "sklearn.manifold.TSNE, exact, init pca, 1000 iterations; sklearn.manifold.trustworthiness, 12 "
                "neighbours.",
                {"rel": 1e-4, "abs": 1e-9, "final_kl": {"rel": 0.05, "abs": 0},
                 "final_trustworthiness": {"rel": 0, "abs": 1e-5}})
    case.input("x", x, "points")
    case.input("y", y, "an embedding")
    squared = cdist(x.astype("f8"), x.astype("f8"), "sqeuclidean")
    cond, betas = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        gaps = np.delete(squared[i], i)
        weights = lambda log_beta: np.exp(-np.exp(log_beta) * (gaps - gaps.min()))
        found = brentq(lambda b: entropy(weights(b)) - np.log(perplexity), -20, 20, xtol=1e-14)
        betas[i] = np.exp(found)
        cond[i, np.arange(n) != i] = weights(found) / weights(found).sum()
    joint = (cond + cond.T) / (2 * n)
    at = torch.tensor(y.astype("f8"), requires_grad=True)
    P, off = torch.tensor(joint), ~torch.eye(n, dtype=torch.bool)
    kernel = 1 / (1 + (at[:, None] - at[None]).square().sum(-1))[off]
    kl = torch.xlogy(P[off], P[off]).sum() - (P[off] * torch.log(kernel / kernel.sum())).sum()
    kl.backward()
    case.output("betas", betas, "precisions")
    case.output("conditional_first_rows", cond[:20], "p_{j|i}, i = 0..19")
    case.output("joint", joint, "P")
    case.output("gradient", at.grad.numpy(), "of KL at y")
    model = TSNE(perplexity=perplexity, method="exact", init="pca", random_state=0)
    final = model.fit_transform(x.astype("f8")).astype("f4")
    case.input("final_embedding", final, "scikit-learn's embedding")
    case.save({"n": n, "d": d, "perplexity": perplexity},
              {"kl": float(kl), "final_kl": float(model.kl_divergence_),
               "final_trustworthiness": float(trustworthiness(x.astype("f8"), final, n_neighbors=12)),
               "y_trustworthiness": float(trustworthiness(x.astype("f8"), y, n_neighbors=12))})


# ---- classifiers -------------------------------------------------------------------

def case_classifier(root, cases, name, seed, widths):
    """Cross-entropy of a network of linear layers with ReLU between them, and its gradients."""
    rng, n = np.random.default_rng(seed), 43
    case = Case(root, cases, name, "metrics/" + name,
                "Linear layers %s with ReLU between them. loss: mean over rows of -log softmax(logits)[label]; "
                "predictions: the largest logit." % (widths,), {"rel": 2e-5, "abs": 1e-7})
    layers = [torch.nn.Linear(a, b).double() for a, b in zip(widths, widths[1:])]
    model = torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.ReLU())][:-1])
    x = (2 * rng.normal(size=(n, widths[0]))).astype("f4")
    labels = rng.integers(widths[-1], size=n)
    case.input("x", x, "rows, [n, d]")
    case.array("inputs", "labels", labels, "<i4", "class of each row")
    plain = lambda block: block.split(".")[1] if len(layers) == 1 else block.replace(".", "_")
    for block, parameter in model.named_parameters():
        fan = parameter.shape[-1] if parameter.dim() == 2 else fan
        values = rng.uniform(-fan ** -0.5, fan ** -0.5, parameter.shape).astype("f4")
        parameter.data = torch.from_numpy(values).double()
        case.input(plain(block), values, block)
    X = torch.from_numpy(x).double()
    for depth in range(1, len(layers)):
        refuse_kinks(model[:2 * depth - 1], X)
    logits = model(X)
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))
    loss.backward()
    case.output("logits", logits.detach().numpy(), "[n, classes]")
    case.array("outputs", "predictions", logits.argmax(dim=1).numpy(), "<i4", "the largest logit")
    for block, parameter in model.named_parameters():
        case.output("grad_" + plain(block), parameter.grad.numpy(), "gradient of " + block)
    case.save({}, {"loss": loss.item(), "correct": int((logits.argmax(dim=1).numpy() == labels).sum())})


def case_classifiers(root, cases):
    case_classifier(root, cases, "softmax_regression", 511, (21, 7))
    case_classifier(root, cases, "mlp_classifier", 512, (21, 37, 7))
    case_classifier(root, cases, "mlp_classifier_deep", 513, (13, 27, 27, 5))


# ---- SimCLR and HSIC -------------------------------------------------------------

def nt_xent(codes, temperature):
    unit, half = torch.nn.functional.normalize(codes), len(codes) // 2
    logits = (unit @ unit.T / temperature).fill_diagonal_(-torch.inf)
    return torch.nn.functional.cross_entropy(logits, (torch.arange(2 * half) + half) % (2 * half))


def output_gradients(case, adapter, codes, suffix):
    case.output("grad_codes" + suffix, codes.grad.numpy(), "gradient of the codes")
    for block, parameter in adapter.named_parameters():
        case.output("grad_%s%s" % (block.replace(".", "_"), suffix), parameter.grad.numpy(),
                    "gradient of " + block)
        parameter.grad = None


def case_simclr(root, cases):
    rng, B, d, hidden = np.random.default_rng(301), 13, 15, 19
    _, aug = make_features(rng, B, 2, d)
    views, weights = np.concatenate([aug[:, 0], aug[:, 1]]), make_weights(rng, d, hidden)
    case = Case(root, cases, "simclr", "losses/simclr",
                "NT-Xent of the codes of views, rows i and i + B being partners: mean over the 2B rows of "
                "-log softmax over k != i of cosines / T at the partner. T = 0.5 (_t05) and 0.1 (_t01).",
                {"rel": 5e-5, "abs": 1e-7})
    case.input("views", views, "both views of each image, [2B, d]")
    save_network(root, case, weights)
    adapter, V, values = make_adapter(weights), torch.from_numpy(views).double(), {}
    refuse_kinks(adapter[:1], V)
    for tag, temperature in (("_t05", 0.5), ("_t01", 0.1)):
        codes = adapter(V)
        codes.retain_grad()
        loss = nt_xent(codes, temperature)
        loss.backward()
        values["loss" + tag] = loss.item()
        output_gradients(case, adapter, codes, tag)
    case.save({"B": B, "d": d, "hidden": hidden}, values)


HSIC = ("Loss -tr(K H L H)/(M-1)^2 over the M = (s+1)N rows, X the clean features repeated, Z the codes (rows "
        "k N + i), H = I - 11^T/M, kernels exp(-|a-b|^2/(2 sigma^2)). ")


def gaussian(rows, sigma):
    return torch.exp(-(rows[:, None] - rows[None]).square().sum(dim=2) / (2 * sigma ** 2))


def hsic(X, Z, sigma_x, sigma_z):
    M = len(Z)
    H = torch.eye(M, dtype=Z.dtype) - 1 / M
    return torch.trace(gaussian(X, sigma_x) @ H @ gaussian(Z, sigma_z) @ H) / (M - 1) ** 2


def case_hsic(root, cases):
    rng, N, s, d, hidden = np.random.default_rng(302), 11, 2, 13, 17
    clean, aug = make_features(rng, N, s, d)
    weights, given, sigma_z = make_weights(rng, d, hidden), 3.5, 0.7
    median = float(np.median(pdist(clean.astype("f8"))))
    case = Case(root, cases, "hsic", "losses/hsic",
                HSIC + "_given: sigma_x and sigma_z; _median: the same sigma_z, and sigma_x the median distance "
                "among the clean rows.", {"rel": 1e-4, "abs": 1e-7})
    case.input("clean", clean, "F(x_i), [N, d]")
    case.input("aug", aug, "F(t_k x_i), [N, s, d]")
    save_network(root, case, weights)
    adapter, values = make_adapter(weights), {"sigma_x_median": median}
    rows = torch.from_numpy(np.concatenate([clean] + [aug[:, k] for k in range(s)])).double()
    X = torch.from_numpy(np.concatenate([clean] * (s + 1))).double()
    refuse_kinks(adapter[:1], rows)
    for tag, sigma_x in (("_given", given), ("_median", median)):
        codes = adapter(rows)
        codes.retain_grad()
        value = hsic(X, codes, sigma_x, sigma_z)
        (-value).backward()
        values.update({"hsic" + tag: value.item(), "loss" + tag: -value.item()})
        output_gradients(case, adapter, codes, tag)
    case.save({"N": N, "s": s, "d": d, "hidden": hidden, "M": (s + 1) * N, "sigma_x": given,
               "sigma_z": sigma_z}, values)


def case_hsic_median(root, cases):
    """Both widths by their medians, with clean rows and codes that occur several times."""
    rng, N, s, d, w = np.random.default_rng(303), 12, 2, 7, 5
    clean = rng.normal(size=(N, d)).astype("f4")
    clean[7], clean[9], clean[11] = clean[2], clean[2], clean[0]
    codes = (4 + rng.normal(size=((s + 1) * N, w))).astype("f4")
    codes[5], codes[30] = codes[20], codes[20]
    case = Case(root, cases, "hsic_median", "losses/hsic_median",
                HSIC + "sigma_x: median distance among the distinct clean rows; sigma_z: among all pairs of codes; "
                "constants to the gradient.", {"rel": 1e-4, "abs": 1e-7})
    case.input("clean", clean, "F(x_i), [N, d]")
    case.input("codes", codes, "rows k N + i, [M, w]")
    sigma_x = float(np.median(pdist(np.unique(clean, axis=0).astype("f8"))))
    sigma_z = float(np.median(pdist(codes.astype("f8"))))
    Z = torch.from_numpy(codes).double().requires_grad_()
    value = hsic(torch.from_numpy(np.concatenate([clean] * (s + 1))).double(), Z, sigma_x, sigma_z)
    (-value).backward()
    case.output("grad_codes", Z.grad.numpy(), "gradient of the codes")
    case.save({"N": N, "s": s, "d": d, "w": w}, {"sigma_x": sigma_x, "sigma_z": sigma_z, "hsic": value.item(),
                                                 "loss": -value.item()})


# ---- Graphs of neighbours -------------------------------------------------------------------

TIMES, PAIRS = np.geomspace(0.1, 10, 10), 50


def spectrum(a):
    """The smallest eigenvalues of the normalised Laplacian, and heat kernel signatures."""
    values, vectors = np.linalg.eigh(laplacian(a, normed=True) if not a.diagonal().any() else looped(a))
    low = values[:PAIRS]
    return low, (vectors[:, :PAIRS] ** 2) @ np.exp(-np.outer(low, TIMES)), values[PAIRS] - low[-1]


def looped(a):
    """SciPy leaves loops out of the degrees; here they count."""
    scale = a.sum(axis=1) ** -0.5
    return np.eye(len(a)) - scale[:, None] * a * scale


def graph_side(case, values, tag, rows, k, published):
    """Puts what belongs to one set of rows; returns its spectrum and signatures."""
    near = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(rows.astype("f8"))
    query = rows.astype("f8") if published else None
    a = near.kneighbors_graph(query).toarray()
    low, hks, room = spectrum(np.maximum(a, a.T))
    values.update({"fiedler_" + tag: low[1], "largest_gap_" + tag: np.diff(low).max()})
    if published:
        far = near.kneighbors_graph(query, mode="distance").toarray()
        sigma = near.kneighbors(query)[0][:, -1].mean()
        weight = np.where(a > 0, np.exp(-far ** 2 / (2 * sigma ** 2)), 0)
        _, hks, heat_room = spectrum((weight + weight.T) / 2)
        room = min(room, heat_room)
        values.update({"trace_" + tag: low.sum(), "sigma_" + tag: sigma})
    else:
        union = np.maximum(a, a.T)
        values.update({"trace_" + tag: np.trace(laplacian(union, normed=True)),
                       "edges_" + tag: int(union.sum() / 2), "largest_gap_index_" + tag: int(np.diff(low).argmax())})
    if room < 1e-3:
        sys.exit("eigenvalues %d and %d are too close; choose another seed" % (PAIRS, PAIRS + 1))
    case.output("eigenvalues_" + tag, low, "the smallest eigenvalues")
    case.output("hks_" + tag, hks, "heat kernel signatures, [n, 10]")
    return low, hks


def case_graph(root, cases, name, k, x, y, published):
    case = Case(root, cases, name, "metrics/" + name,
                "The 50 smallest eigenvalues of D^-1/2 (D - A) D^-1/2 of the graph with i-j where i is among the k "
                "nearest of j or j of i, and heat kernel signatures at geomspace(0.1, 10, 10). " +
                ("A row is one of its own k nearest (loops); spectra are divided by their largest value; heat from "
                 "weights exp(-dist^2 / (2 sigma^2)), sigma the mean distance to the k-th, (W + W^T) / 2; "
                 "hks_distance: mean over times of the L2 distance of columns of length 1."
                 if published else "No loops, weights 1; hks_distance: mean of absolute differences."),
                {"rel": 1e-4, "abs": 1e-5})
    case.input("x", x, "rows")
    case.input("y", y, "the same rows, displaced")
    values = {}
    (low_x, hks_x), (low_y, hks_y) = (graph_side(case, values, tag, rows, k, published)
                                      for tag, rows in (("x", x), ("y", y)))
    if published:
        low_x, low_y = low_x / low_x.max(), low_y / low_y.max()
        unit = lambda hks: hks / np.linalg.norm(hks, axis=0)
        values["hks_distance"] = np.linalg.norm(unit(hks_x) - unit(hks_y), axis=0).mean()
    else:
        values["hks_distance"] = np.abs(hks_x - hks_y).mean()
    values["spectral_distance"] = np.linalg.norm(low_x - low_y)
    case.save({"n": len(x), "d": x.shape[1], "k": k}, values)


def case_graphs(root, cases):
    rng, n, d = np.random.default_rng(602), 271, 11
    x = (rng.normal(size=(4, d))[rng.integers(4, size=n)] + 0.6 * rng.normal(size=(n, d))).astype("f4")
    y = (x + 0.1 * rng.normal(size=(n, d))).astype("f4")
    for k in (10, 20):
        case_graph(root, cases, "graph_k%d" % k, k, x, y, False)
        case_graph(root, cases, "graph_published_k%d" % k, k, x, y, True)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.set_num_threads(1)
    cases = []
    mawa_data = case_mawa(root, cases, "mawa", 101, N=23, s=2, d=17, hidden=37, residual=False)
    case_mawa(root, cases, "mawa_residual", 202, N=19, s=3, d=21, hidden=45, residual=True)
    case_wacos(root, cases)
    case_adams(root, cases)
    case_schedule(root, cases)
    case_train(root, cases, *mawa_data)
    case_structures(root, cases)
    case_closed_forms(root, cases)
    case_collision(root, cases)
    case_collision_ties(root, cases)
    case_knn(root, cases)
    case_tsne(root, cases)
    case_classifiers(root, cases)
    case_simclr(root, cases)
    case_hsic(root, cases)
    case_hsic_median(root, cases)
    case_graphs(root, cases)
    with open(os.path.join(root, "manifest.json"), "w") as f:
        f.write(json.dumps({"format": 1, "conventions": CONVENTIONS, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
