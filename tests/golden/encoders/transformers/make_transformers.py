#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiny encoders of transformers with random weights, and the features they must give.

    python3 tests/golden/encoders/transformers/make_transformers.py

writes a folder per network with its config.json and model.safetensors, in_*.npy, exp_*.npy and
manifest.json beside itself. Features are those of transformers, computed in double; OpenCLIP's
network is Hugging Face's CLIP with OpenCLIP's names. Needs transformers; comparing needs nothing.
"""
import json
import os
import shutil

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 2e-5
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def randomise(model, seed):
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + list(model.named_buffers()):
            if not p.is_floating_point() or name.endswith("inv_freq"):
                continue
            x = torch.randn(p.shape, generator=rng) * 0.4
            if name.endswith("running_var"):
                x = 0.3 + x.abs() * 2
            elif "norm" in name and name.endswith("weight"):
                x = 1 + x / 4
            elif p.dim() == 4:
                x = x * 2.5 * (2 / p[0].numel()) ** 0.5
            elif p.dim() == 2:
                x = x * 2.5 * p[0].numel() ** -0.5
            p.copy_(x)
    return model.eval()


def dinov3(width, **more):
    return transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(
        hidden_size=width, num_attention_heads=2, num_hidden_layers=2, intermediate_size=20, patch_size=4,
        image_size=12, **more))


def siglip():
    return transformers.SiglipVisionModel(transformers.SiglipVisionConfig(
        hidden_size=32, num_attention_heads=2, num_hidden_layers=2, intermediate_size=20, patch_size=4, image_size=14))


def dinov2_gated():
    return transformers.Dinov2Model(transformers.Dinov2Config(
        hidden_size=24, num_attention_heads=2, num_hidden_layers=2, patch_size=4, image_size=12, mlp_ratio=1,
        use_swiglu_ffn=True))


def clip():
    return transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(
        hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=20, patch_size=4, image_size=12,
        projection_dim=7, hidden_act="gelu"))


def resnet(**more):
    return transformers.ResNetModel(transformers.ResNetConfig(**dict(
        dict(embedding_size=4, hidden_sizes=[8, 12, 20], depths=[1, 2, 1]), **more)))


def pooled(model, x):
    return model(x).pooler_output.flatten(1)


# name: (network, features, sizes of images)
NETWORKS = {
    "hf_dinov3": (lambda: dinov3(24, num_register_tokens=3, query_bias=True, key_bias=False), pooled,
                  ((12, 12), (17, 14))),
    "hf_dinov3_gated": (lambda: dinov3(32, use_gated_mlp=True, hidden_act="silu", rope_theta=30.0, mlp_bias=False),
                        pooled, ((12, 12), (17, 14))),
    "hf_dinov2_gated": (dinov2_gated, pooled, ((12, 12),)),
    "hf_siglip": (siglip, pooled, ((14, 14),)),
    "open_clip": (clip, lambda model, x: model(x).image_embeds, ((12, 12),)),
    "hf_resnet_bottleneck": (lambda: resnet(downsample_in_bottleneck=True, downsample_in_first_stage=True), pooled,
                             ((40, 33),)),
    "hf_resnet_basic": (lambda: resnet(layer_type="basic"), pooled, ((40, 33),)),
}
OPEN_CLIP = [("vision_model.embeddings.class_embedding", "class_embedding"),
             ("vision_model.embeddings.position_embedding.weight", "positional_embedding"),
             ("vision_model.embeddings.patch_embedding", "conv1"), ("vision_model.pre_layrnorm", "ln_pre"),
             ("vision_model.post_layernorm", "ln_post"), ("vision_model.encoder.layers", "transformer.resblocks"),
             ("layer_norm", "ln_"), ("self_attn.out_proj", "attn.out_proj"), ("mlp.fc1", "mlp.c_fc"),
             ("mlp.fc2", "mlp.c_proj")]
OPEN_CLIP_CONFIG = {"model_cfg": {"embed_dim": 7, "vision_cfg": {
    "image_size": 12, "layers": 2, "width": 24, "head_width": 8, "patch_size": 4}},
    "preprocess_cfg": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "resize_mode": "squash"}}


def write_open_clip(folder):
    path = os.path.join(folder, "model.safetensors")
    tensors, out = load_file(path), {}
    for name, value in tensors.items():
        if name == "visual_projection.weight":
            name, value = "proj", value.T
        elif ".q_proj." in name:
            value = torch.cat([tensors[name.replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")])
            name = name.replace("self_attn.q_proj.", "attn.in_proj_")
        elif ".k_proj." in name or ".v_proj." in name:
            continue
        for theirs, ours in OPEN_CLIP:
            name = name.replace(theirs, ours)
        out["visual." + name] = value.contiguous()
    save_file(out, path)
    os.remove(os.path.join(folder, "config.json"))
    with open(os.path.join(folder, "open_clip_config.json"), "w") as file:
        json.dump(OPEN_CLIP_CONFIG, file)


def main():
    rng = np.random.default_rng(11)
    inputs, architectures, cases = {}, {}, []
    for number, (name, (make, features, sizes)) in enumerate(NETWORKS.items()):
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        model = randomise(make(), number)
        model.save_pretrained(folder)
        if name == "open_clip":
            write_open_clip(folder)
        architectures[name + "/model.safetensors"] = {"family": name}
        model = model.double()
        for h, w in sizes:
            if (h, w) not in inputs:
                inputs[h, w] = rng.normal(size=(2, 3, h, w)).astype("f4")
                np.save(os.path.join(HERE, "in_%dx%d.npy" % (h, w)), inputs[h, w])
            with torch.no_grad():
                want = features(model, torch.from_numpy(inputs[h, w]).double())
            case = "%s_%dx%d" % (name, h, w)
            np.save(os.path.join(HERE, "exp_%s.npy" % case), want.numpy().astype("f4"))
            cases.append({"name": case, "weights": name + "/model.safetensors", "input": "in_%dx%d.npy" % (h, w),
                          "expected": "exp_%s.npy" % case, "tolerance_abs": TOLERANCE})
    with open(os.path.join(HERE, "manifest.json"), "w") as file:
        json.dump({"about": "tiny encoders of transformers %s with random weights, made by make_transformers.py; "
                            "features in double, rounded to float32" % transformers.__version__,
                   "architectures": architectures, "cases": cases}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
