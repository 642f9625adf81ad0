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

DIRECTIONS, TEMPERATURE, ALPHA, TAU = 1000, 0.5, 0.3, 0.1


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


# ---- AnCo ------------------------------------------------------------------------

def anco(squares, codes, clean):
    """MaWa, and each code against all clean features; the batch is of unit spread."""
    n, d = clean.shape
    similar = -squares(codes.flatten(0, 1), clean) / (2 * d)
    contrast = F.cross_entropy(similar / TAU, torch.arange(n).repeat(len(codes)))
    return (codes - clean).square().sum(dim=2).mean() / d + ALPHA * contrast


def between_by_product(z, x):
    return z.square().sum(dim=1, keepdim=True) + x.square().sum(dim=1) - 2 * z @ x.T


def between_by_cdist(z, x):
    return torch.cdist(z, x).square()


def anco_product(codes, clean, drawn):
    return anco(between_by_product, codes, clean)


def anco_cdist(codes, clean, drawn):
    return anco(between_by_cdist, codes, clean)


def draw(loss, codes_shape, clean_shape):
    """What the loss needs of random numbers for a step."""
    samples, n, w = codes_shape
    return draw_waco(samples * n, clean_shape[1], w) if loss == "waco" else []


FORMS = {"mawa": {"": mawa}, "simclr": {"": simclr},
         "waco": {"columns": waco_columns, "rows": waco_rows},
         "hsic": {"product": hsic_product, "cdist": hsic_cdist},
         "anco": {"product": anco_product, "cdist": anco_cdist}}
