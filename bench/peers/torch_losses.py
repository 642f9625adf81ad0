# SPDX-License-Identifier: Apache-2.0
"""torch_losses.py - the losses in PyTorch, written as their formulas.

Each takes codes [k, N, w], samples of the same N images, the clean ones first if the
loss has any, the clean features [N, d], and what it draws at random: drawn outside, as
torch.compile of PyTorch 2.13 fails on torch.randperm in an index and makes torch.randn
slower. If there are two natural ways and the faster one depends on the size,
both are here and FORMS names them; all forms of a loss give the same value.
"""

import torch
import torch.nn.functional as F

DIRECTIONS, TEMPERATURE = 1000, 0.5


# ---- MaWa and SimCLR -----------------------------------------------------------

def mawa(codes, clean, drawn):
    return (codes - clean).square().sum(dim=2).mean()


def simclr(codes, clean, drawn):
    """NT-Xent; row i of one view and of the other are partners."""
    n = codes.shape[1]
    z = F.normalize(codes.flatten(0, 1), dim=1)
    similar = (z @ z.T / TEMPERATURE).fill_diagonal_(float("-inf"))
    return F.cross_entropy(similar, torch.arange(2 * n).roll(n))


# ---- WaCo ------------------------------------------------------------------------

def draw_directions(count, width):
    return F.normalize(torch.randn(count, width), dim=1)


def draw_waco(m, d, w):
    """Directions and two permutations for each of XZ, XX and ZZ."""
    return [(draw_directions(DIRECTIONS, width), torch.randperm(m), torch.randperm(m))
            for width in (d + w, 2 * d, 2 * w)]


def sliced_columns(a, b, directions):
    """SW_2; projections [M, L], each direction a column."""
    a, b = (torch.sort(x @ directions.T, dim=0).values for x in (a, b))
    return (a - b).square().mean().sqrt()


def sliced_rows(a, b, directions):
    """SW_2; projections [L, M], each direction a row."""
    a, b = (torch.sort(directions @ x.T, dim=1).values for x in (a, b))
    return (a - b).square().mean().sqrt()


def dependence(sliced, x, z, directions, first, second):
    """SW_2 of the pairs and of the same with both halves shuffled."""
    joint = torch.cat([x, z], dim=1)
    shuffled = torch.cat([x[first], z[second]], dim=1)
    return sliced(joint, shuffled, directions)


def waco(sliced, codes, clean, drawn):
    x, z = clean.repeat(len(codes), 1), codes.flatten(0, 1)
    xz = dependence(sliced, x, z, *drawn[0])
    with torch.no_grad():
        xx = dependence(sliced, x, x, *drawn[1])
    zz = dependence(sliced, z, z, *drawn[2])
    return -xz / (xx * zz + 1e-10).sqrt()


def waco_columns(codes, clean, drawn):
    return waco(sliced_columns, codes, clean, drawn)


def waco_rows(codes, clean, drawn):
    return waco(sliced_rows, codes, clean, drawn)


# ---- HSIC ------------------------------------------------------------------------

def squares_by_product(x):
    norms = x.square().sum(dim=1)
    return (norms[:, None] + norms - 2 * x @ x.T).clamp_min(0)


def squares_by_cdist(x):
    return torch.cdist(x, x).square()


def kernel(squares, x):
    """Gaussian, its width the median distance of distinct rows, which has no gradient."""
    squared = squares(x)
    i, j = torch.triu_indices(len(x), len(x), 1)
    return torch.exp(-squared / (2 * squared.detach()[i, j].median()))


def centre(k):
    """H k H"""
    return k - k.mean(dim=0) - k.mean(dim=1, keepdim=True) + k.mean()


def hsic(squares, codes, clean):
    """The clean rows repeat, so their kernel does too."""
    samples, m = len(codes), codes.shape[0] * codes.shape[1]
    k = centre(kernel(squares, clean)).repeat(samples, samples)
    return -(k * kernel(squares, codes.flatten(0, 1))).sum() / (m - 1) ** 2


def hsic_product(codes, clean, drawn):
    return hsic(squares_by_product, codes, clean)


def hsic_cdist(codes, clean, drawn):
    return hsic(squares_by_cdist, codes, clean)


# ---- KEEP ------------------------------------------------------------------------

def draw_keep(n):
    """Two permutations of the images and how far to move between them."""
    return torch.randperm(n), torch.randperm(n), torch.rand(n, 1) - 0.5


def keep_rows(rows, clean, drawn):
    """Rows [k, N, d] and vicinal rows, the last ones of [k + 1, N, d]."""
    a, b, rho = drawn
    return torch.cat([rows, (clean + rho * (clean[a] - clean[a[b]]))[None]])


def keep(codes, clean, drawn, vicinal):
    """The batch is in units of its spread; the mean of all features is at -1."""
    n, d = clean.shape
    copies, own = codes[1:-1].flatten(0, 1), torch.arange(n).repeat(len(codes) - 2)
    value = (codes[:-1] - clean).square().mean() + 1.5 * (codes[-1] - vicinal).square().mean()
    q = F.normalize(copies + 1, dim=1)
    for keys, by_l2, by_cosine in ((clean, 0.25, 0.2), (codes[0], 0.04, 0.04)):
        l2 = (2 * copies @ keys.T - keys.square().sum(dim=1)) / (0.1 * 2 * d)
        cosine = q @ F.normalize(keys + 1, dim=1).T / 0.05
        value = value + by_l2 * F.cross_entropy(l2, own) + by_cosine * F.cross_entropy(cosine, own)
    return value


def draw(loss, codes_shape, clean_shape):
    """What the loss needs of random numbers for a step."""
    samples, n, w = codes_shape
    if loss == "keep":
        return draw_keep(n)
    return draw_waco(samples * n, clean_shape[1], w) if loss == "waco" else []


FORMS = {"mawa": {"": mawa}, "simclr": {"": simclr},
         "waco": {"columns": waco_columns, "rows": waco_rows},
         "hsic": {"product": hsic_product, "cdist": hsic_cdist},
         "keep": {"": keep}}
