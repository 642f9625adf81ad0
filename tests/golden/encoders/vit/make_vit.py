#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiny vision transformers with random weights, and the features they must give.

    python3 tests/golden/encoders/vit/make_vit.py

writes *.safetensors, hf_*/, in_*.npy, exp_*.npy and manifest.json beside itself. The
forward pass is the formulas written out plainly in double; weights are random. Needs NumPy.
"""
import json
import math
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
D, HEADS, DEPTH, HIDDEN, PATCH, GRID = 12, 2, 2, 20, 4, 3
erf = np.vectorize(math.erf)


def save_safetensors(path, tensors):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    head, at = {}, 0
    for name in sorted(tensors):
        size = tensors[name].size * 4
        head[name] = {"dtype": "F32", "shape": list(tensors[name].shape),
                      "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(tensors):
            f.write(tensors[name].astype("<f4").tobytes())


# ---- Positions ---------------------------------------------------------------------------

def cubic(x, a):
    x = abs(x)
    if x < 1:
        return (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1
    return a * x ** 3 - 5 * a * x ** 2 + 8 * a * x - 4 * a if x < 2 else 0.0


def axis(way, n):
    w = np.zeros((n, GRID))
    for i in range(n):
        if way == "timm":
            step = GRID / n
            wide = max(step, 1)
            for j in range(GRID):
                w[i, j] = cubic((j + 0.5 - (i + 0.5) * step) / wide, -0.5)
            w[i] /= w[i].sum()
        else:
            source = (i + 0.5) * GRID / (n + (0.1 if way == "dino" else 0)) - 0.5
            for tap in range(math.floor(source) - 1, math.floor(source) + 3):
                w[i, min(max(tap, 0), GRID - 1)] += cubic(source - tap, -0.75)
    return w


def fit(table, way, rows, cols, square):
    if rows == GRID and cols == GRID and (square or way == "timm"):
        return table
    t = table.reshape(GRID, GRID, -1)
    return np.einsum("iu,jv,uvc->ijc", axis(way, rows), axis(way, cols), t).reshape(
        rows * cols, -1)


# ---- Forward -----------------------------------------------------------------------------

def layer_norm(x, w, b, eps):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / np.sqrt(v + eps) * w + b


def gelu(x, quick):
    return x / (1 + np.exp(-1.702 * x)) if quick else x * 0.5 * (1 + erf(x / math.sqrt(2)))


def forward(net, image):
    w = {k: v.astype(np.float64) for k, v in net["w"].items()}
    image = image.astype(np.float64)
    rows, cols = image.shape[1] // PATCH, image.shape[2] // PATCH
    patches = np.array([image[:, i * PATCH:(i + 1) * PATCH, j * PATCH:(j + 1) * PATCH].ravel()
                        for i in range(rows) for j in range(cols)])
    x = patches @ w["patch.weight"].reshape(D, -1).T + w.get("patch.bias", 0)
    table = w["pos"]
    square = image.shape[1] == image.shape[2]
    others = len(table) - GRID * GRID
    x = x + fit(table[others:], net["pos"], rows, cols, square)
    registers = w.get("registers", np.zeros((0, D)))
    front = np.concatenate([w["class"][None], registers])
    front[:others] += table[:others]
    x = np.concatenate([front, x])
    eps = net["eps"]
    if "before.weight" in w:
        x = layer_norm(x, w["before.weight"], w["before.bias"], eps)
    for i in range(DEPTH):
        b = lambda name: w[f"{i}.{name}"]
        y = layer_norm(x, b("norm1.weight"), b("norm1.bias"), eps)
        q, k, v = np.split(y @ b("qkv.weight").T + b("qkv.bias"), 3, axis=1)
        mixed = np.zeros_like(x)
        for h in range(HEADS):
            part = slice(h * D // HEADS, (h + 1) * D // HEADS)
            s = q[:, part] @ k[:, part].T / math.sqrt(D // HEADS)
            s = np.exp(s - s.max(1, keepdims=True))
            mixed[:, part] = s / s.sum(1, keepdims=True) @ v[:, part]
        scale = w.get(f"{i}.scale1", 1.0)
        x = x + scale * (mixed @ b("out.weight").T + b("out.bias"))
        y = layer_norm(x, b("norm2.weight"), b("norm2.bias"), eps)
        y = gelu(y @ b("fc1.weight").T + b("fc1.bias"), net["quick"])
        x = x + w.get(f"{i}.scale2", 1.0) * (y @ b("fc2.weight").T + b("fc2.bias"))
    row = x[len(front):].mean(0) if net["mean"] else x[0]
    row = layer_norm(row, w["after.weight"], w["after.bias"], eps)
    return w["projection"] @ row if "projection" in w else row


# ---- Networks ----------------------------------------------------------------------------

def draw(rng, registers=0, others=1, scales=False, clip=False):
    r = lambda *shape: rng.normal(size=shape).astype("f4") * np.float32(0.4)
    w = {"class": r(D), "pos": r(GRID * GRID + others, D), "after.weight": 1 + r(D),
         "after.bias": r(D), "patch.weight": r(D, 3, PATCH, PATCH)}
    if registers:
        w["registers"] = r(registers, D)
    if clip:
        w.update({"before.weight": 1 + r(D), "before.bias": r(D), "projection": r(7, D)})
    else:
        w["patch.bias"] = r(D)
    for i in range(DEPTH):
        for name, out, ins in (("qkv", 3 * D, D), ("out", D, D), ("fc1", HIDDEN, D),
                               ("fc2", D, HIDDEN)):
            w[f"{i}.{name}.weight"], w[f"{i}.{name}.bias"] = r(out, ins), r(out)
        for name in ("norm1", "norm2"):
            w[f"{i}.{name}.weight"], w[f"{i}.{name}.bias"] = 1 + r(D), r(D)
        if scales:
            w[f"{i}.scale1"], w[f"{i}.scale2"] = r(D), r(D)
    return w


def rename(w, names, block, prefix="", split=False):
    out = {}
    for key, value in w.items():
        at, _, rest = key.partition(".")
        if not at.isdigit():
            part, _, end = key.partition(".")
            name = names[part] + end
            value = value[None] if name in ("pos_embed", "embeddings.position_embeddings") else value
        else:
            part, _, end = rest.partition(".")
            if part == "qkv" and split:
                for third, name in zip(np.split(value, 3), names["qkv"]):
                    out[prefix + block % {"i": int(at)} + name + end] = third
                continue
            name = block % {"i": int(at)} + names[part] + end
        out[(prefix if name != "visual_projection.weight" else "") + name] = value
    return out


DINO = {"class": "cls_token", "pos": "pos_embed", "patch": "patch_embed.proj.",
        "registers": "register_tokens", "after": "norm.", "norm1": "norm1.",
        "qkv": "attn.qkv.", "out": "attn.proj.", "norm2": "norm2.", "fc1": "mlp.fc1.",
        "fc2": "mlp.fc2.", "scale1": "ls1.gamma", "scale2": "ls2.gamma"}
HF = {"class": "embeddings.cls_token", "pos": "embeddings.position_embeddings",
      "patch": "embeddings.patch_embeddings.projection.",
      "registers": "embeddings.register_tokens", "after": "layernorm.",
      "norm1": "layernorm_before.",
      "qkv": ["attention.attention.%s." % n for n in ("query", "key", "value")],
      "out": "attention.output.dense.", "norm2": "layernorm_after.",
      "fc1": "intermediate.dense.", "fc2": "output.dense."}
HF_DINOV2 = dict(HF, norm1="norm1.", norm2="norm2.", fc1="mlp.fc1.", fc2="mlp.fc2.",
                 scale1="layer_scale1.lambda1", scale2="layer_scale2.lambda1")
HF_CLIP = {"class": "embeddings.class_embedding", "pos": "embeddings.position_embedding.weight",
           "patch": "embeddings.patch_embedding.", "before": "pre_layrnorm.",
           "after": "post_layernorm.", "norm1": "layer_norm1.",
           "qkv": ["self_attn.%s_proj." % n for n in "qkv"], "out": "self_attn.out_proj.",
           "norm2": "layer_norm2.", "fc1": "mlp.fc1.", "fc2": "mlp.fc2.",
           "projection": "visual_projection.weight"}
CLIP = {"class": "class_embedding", "pos": "positional_embedding", "patch": "conv1.",
        "before": "ln_pre.", "after": "ln_post.", "norm1": "ln_1.", "qkv": "attn.in_proj_",
        "out": "attn.out_proj.", "norm2": "ln_2.", "fc1": "mlp.c_fc.", "fc2": "mlp.c_proj.",
        "projection": "proj"}


def networks(rng):
    dino = draw(rng)
    yield ("dino.safetensors", "dino_vit", "dino", 1e-6, dino,
           rename(dino, DINO, "blocks.%(i)d.", "module.backbone."), {})
    timm = draw(rng, registers=2, others=3)
    names = dict(DINO, registers="reg_token", after="fc_norm.")
    stored = rename(timm, names, "blocks.%(i)d.")
    stored["head.weight"] = rng.normal(size=(3, D)).astype("f4")
    yield "timm_mean.safetensors", "timm_vit", "timm", 1e-6, timm, stored, {"mean": True}
    bare = draw(rng, registers=1, others=0)
    stored = rename(bare, dict(DINO, registers="reg_token"), "blocks.%(i)d.")
    yield "timm_bare_class.safetensors", "timm_vit", "timm", 1e-6, bare, stored, {}
    v2 = draw(rng, registers=3, scales=True)
    stored = rename(v2, DINO, "blocks.%(i)d.%(i)d.")
    stored["mask_token"] = np.zeros((1, D), "f4")
    yield "dinov2_reg_chunked.safetensors", "dinov2", "timm", 1e-6, v2, stored, {}
    hf = draw(rng)
    yield ("hf_vit/model.safetensors", "hf_vit", "hf", 1e-3, hf,
           rename(hf, HF, "encoder.layer.%(i)d.", "vit.", True), {})
    hf = draw(rng, scales=True)
    yield ("hf_dinov2/model.safetensors", "hf_dinov2", "hf", 1e-6, hf,
           rename(hf, HF_DINOV2, "encoder.layer.%(i)d.", "dinov2.", True), {})
    clip = draw(rng, clip=True)
    stored = rename(clip, HF_CLIP, "encoder.layers.%(i)d.", "vision_model.", True)
    stored["text_model.encoder.layers.2.layer_norm1.weight"] = np.ones(D, "f4")
    yield ("hf_clip/model.safetensors", "hf_clip", None, 1e-5, clip, stored,
           {"quick": True, "inside": True})
    clip = draw(rng, clip=True)
    stored = rename(clip, CLIP, "transformer.resblocks.%(i)d.", "visual.")
    stored["visual.proj"] = clip["projection"].T
    stored["transformer.resblocks.2.ln_1.weight"] = np.ones(D, "f4")  # of the text
    yield "clip.safetensors", "openai_clip", None, 1e-5, clip, stored, {"quick": True}


def main():
    rng = np.random.default_rng(7)
    inputs = {}
    for h, w in ((12, 12), (17, 14), (14, 12)):
        inputs[h, w] = rng.normal(size=(2, 3, h, w)).astype("f4")
        np.save(os.path.join(HERE, f"in_{h}x{w}.npy"), inputs[h, w])
    cases, architectures = [], {}
    for path, family, pos, eps, w, stored, more in networks(rng):
        save_safetensors(os.path.join(HERE, path), stored)
        if "/" in path:
            config = {"num_attention_heads": HEADS, "layer_norm_eps": eps,
                      "hidden_act": "quick_gelu" if more.get("quick") else "gelu"}
            if more.get("inside"):
                config = {"vision_config": config}
            with open(os.path.join(HERE, os.path.dirname(path), "config.json"), "w") as f:
                json.dump(config, f)
        net = {"w": w, "pos": pos, "eps": eps, "quick": more.get("quick", False),
               "mean": more.get("mean", False)}
        architectures[path] = {"family": family}
        if "/" not in path:
            architectures[path]["heads"] = HEADS
        for (h, wide), images in inputs.items():
            if pos is None and (h, wide) != (12, 12):
                continue
            name = f"{path.split('.')[0].split('/')[0]}_{h}x{wide}"
            np.save(os.path.join(HERE, f"exp_{name}.npy"),
                    np.array([forward(net, x) for x in images]).astype("f4"))
            cases.append({"name": name, "weights": path, "input": f"in_{h}x{wide}.npy",
                          "expected": f"exp_{name}.npy", "tolerance_abs": 2e-5})
    with open(os.path.join(HERE, "manifest.json"), "w") as f:
        json.dump({"about": "tiny vision transformers with random weights, made by "
                            "make_vit.py; features in double, rounded to float32",
                   "architectures": architectures, "cases": cases}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
