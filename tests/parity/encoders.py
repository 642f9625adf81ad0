#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""encoders.py - features by invar beside transformers and torchvision, at full size.

    python3 encoders.py INVAR [FAMILY…]    INVAR is the program; FAMILIES below lists them

Weights are random but lively (attention that attends, batch norms with statistics of
their own), written as their authors publish them: DINO's, DINOv2's, OpenAI's, OpenCLIP's
and torchvision's names, Hugging Face's folders, in safetensors, PyTorch's zip and older
files and TorchScript. Both sides see the same normalised tensors; what counts is the
largest difference over the largest feature.

torchvision is Debian's, run by Debian's Python (python3-torchvision); where that is
not installed, the ResNets are compared with the plain one of bench/peers. Exit 77
(skipped) where PyTorch or transformers are not installed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    from torch.nn.functional import interpolate
except ImportError as error:
    print("skipped: %s (./dev parity encoders sets it up)" % error)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE, IMAGES = 1e-5, 3
DEBIAN = "/usr/bin/python3"
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


# ---- Random networks -------------------------------------------------------------


def enliven(model, seed):
    """Initial weights keep variance alone: attention would be flat, positions unseen."""
    rng = torch.Generator().manual_seed(seed)
    draw = lambda p, std: torch.randn(p.shape, generator=rng) * std
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name and name.endswith("weight"):
                p.copy_(1 + draw(p, 0.1))
            elif "lambda" in name:
                p.copy_(0.5 + draw(p, 0.1))
            elif "embedding" in name and "patch" not in name or "token" in name:
                p.copy_(draw(p, 0.5))
            elif p.dim() > 1:
                p.copy_(draw(p, p[0].numel() ** -0.5))
            else:
                p.copy_(draw(p, 0.05))
    return model.eval()


def vit(patch, width, heads, side, eps):
    return transformers.ViTModel(transformers.ViTConfig(
        hidden_size=width, num_hidden_layers=12, num_attention_heads=heads, intermediate_size=4 * width,
        patch_size=patch, image_size=side, layer_norm_eps=eps), add_pooling_layer=False)


def dinov2(side):
    return transformers.Dinov2Model(transformers.Dinov2Config(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=6, patch_size=14, image_size=side))


def clip():
    return transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(
        hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, patch_size=16,
        image_size=224, projection_dim=512))


def folder_of(place, model):
    """The folder as Hugging Face would hold it, and its tensors by their names there."""
    folder = tempfile.mkdtemp(dir=place)
    model.save_pretrained(folder)
    return folder, load_file(os.path.join(folder, "model.safetensors"))


def cls_row(model):
    return lambda x: model(x).last_hidden_state[:, 0]


# ---- The authors' names ----------------------------------------------------------


def dino_names(tensors):
    """Hugging Face's names of ViT and DINOv2 as DINO has them; q, k and v in one."""
    words = [("embeddings.cls_token", "cls_token"), ("embeddings.position_embeddings", "pos_embed"),
             ("embeddings.mask_token", "mask_token"), ("embeddings.patch_embeddings.projection", "patch_embed.proj"),
             ("encoder.layer.", "blocks."), ("layernorm_before", "norm1"), ("layernorm_after", "norm2"),
             ("attention.output.dense", "attn.proj"), ("intermediate.dense", "mlp.fc1"),
             ("output.dense", "mlp.fc2"), ("layer_scale1.lambda1", "ls1.gamma"),
             ("layer_scale2.lambda1", "ls2.gamma"), ("layernorm", "norm")]
    out = {}
    for name, value in tensors.items():
        if ".attention.attention.query." in name:
            value = torch.cat([tensors[name.replace("query", part)] for part in ("query", "key", "value")])
            name = name.replace("attention.attention.query", "attn.qkv")
        elif ".attention.attention." in name or name.startswith("pooler."):
            continue
        for theirs, ours in words:
            name = name.replace(theirs, ours)
        out[name] = value.contiguous()
    return out


def openai_names(tensors):
    words = [("vision_model.embeddings.class_embedding", "class_embedding"),
             ("vision_model.embeddings.position_embedding.weight", "positional_embedding"),
             ("vision_model.embeddings.patch_embedding", "conv1"), ("vision_model.pre_layrnorm", "ln_pre"),
             ("vision_model.post_layernorm", "ln_post"), ("vision_model.encoder.layers", "transformer.resblocks"),
             ("layer_norm", "ln_"), ("self_attn.out_proj", "attn.out_proj"), ("mlp.fc1", "mlp.c_fc"),
             ("mlp.fc2", "mlp.c_proj")]
    out = {}
    for name, value in tensors.items():
        if name == "visual_projection.weight":
            name, value = "proj", value.T
        elif ".q_proj." in name:
            value = torch.cat([tensors[name.replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")])
            name = name.replace("self_attn.q_proj.", "attn.in_proj_")
        elif ".k_proj." in name or ".v_proj." in name:
            continue
        for theirs, ours in words:
            name = name.replace(theirs, ours)
        out["visual." + name] = value.contiguous()
    return out


def dino_positions(table, n):
    """DINO's rule: bicubic by the factor (n + 0.1) / G, which the library keeps."""
    grid = round((table.shape[1] - 1) ** 0.5)
    patches = table[:, 1:].reshape(1, grid, grid, -1).permute(0, 3, 1, 2)
    patches = interpolate(patches, scale_factor=((n + 0.1) / grid,) * 2, mode="bicubic")
    assert patches.shape[-2:] == (n, n)
    return torch.cat([table[:, :1], patches.permute(0, 2, 3, 1).flatten(1, 2)], 1)


def with_positions(small, full, n):
    """The network for another size, with the positions that DINO would give it."""
    state = full.state_dict()
    state["embeddings.position_embeddings"] = dino_positions(state["embeddings.position_embeddings"], n)
    small.load_state_dict(state)
    return small.eval()


def torchscript(tensors, path):
    """An archive of these names, as OpenAI's: half precision but for norms and embeddings."""
    root = torch.nn.Module()
    for name, value in tensors.items():
        module, parts = root, name.split(".")
        for part in parts[:-1]:
            if not hasattr(module, part):
                module.add_module(part, torch.nn.Module())
            module = getattr(module, part)
        module.register_parameter(parts[-1], torch.nn.Parameter(value, requires_grad=False))
    torch.jit.save(torch.jit.script(root), path)


# ---- ResNets by torchvision -------------------------------------------------------

RESNET = """
import sys
import numpy as np
import torch
import torchvision

which, place = sys.argv[1:]
torch.manual_seed(3)
net = getattr(torchvision.models, which)(weights=None)
norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
for m in norms:
    m.momentum = 1  # statistics of these very images, so that something is left of them at the end
    torch.nn.init.uniform_(m.weight, 0.5, 1.2)
    torch.nn.init.normal_(m.bias, 0, 0.2)
with torch.no_grad():
    net.train()(torch.from_numpy(np.load(place + "/x96.npy")))
for m in norms:
    m.running_mean += 0.2 * m.running_var.sqrt() * torch.randn(m.running_var.shape)
    m.running_var *= torch.rand(m.running_var.shape) + 0.5
net.eval()
torch.save(net.state_dict(), place + "/zip.pth")
torch.save(net.state_dict(), place + "/legacy.pth", _use_new_zipfile_serialization=False)
net.fc = torch.nn.Identity()
with torch.no_grad():
    for side in ("96", "224"):
        np.save(place + "/want%s.npy" % side, net(torch.from_numpy(np.load(place + "/x%s.npy" % side))).numpy())
print("torchvision", torchvision.__version__)
"""
# The same words, from the plain network where torchvision is not to be had.
PLAIN = RESNET.replace("import torchvision\n", "import encoder_nets as torchvision\n")


def torchvision_python():
    """The Python that has torchvision, and the text it is to run."""
    for python in (DEBIAN, sys.executable):
        if os.path.exists(python) and subprocess.run([python, "-c", "import torch, torchvision"],
                                                     stderr=subprocess.DEVNULL).returncode == 0:
            return python, RESNET
    print("no torchvision here (Debian: python3-torchvision); ResNets beside a plain one in PyTorch")
    return sys.executable, PLAIN


# ---- Comparing ---------------------------------------------------------------------


class Checks:
    def __init__(self, program, place):
        self.program, self.place = program, place
        self.passed, self.failed = 0, 0

    def at(self, name):
        return os.path.join(self.place, name)

    def images(self, side):
        """Smooth and rough: what photographs are after normalising."""
        rng = np.random.default_rng(side)
        coarse = torch.from_numpy(rng.normal(size=(IMAGES, 3, 12, 12)).astype("f4"))
        fine = torch.from_numpy(rng.normal(size=(IMAGES, 3, side, side)).astype("f4"))
        return interpolate(coarse, size=(side, side), mode="bilinear") + 0.3 * fine

    def features(self, weights, x, *more):
        np.save(self.at("in.npy"), x)
        if os.path.exists(self.at("out.npy")):
            os.remove(self.at("out.npy"))
        started = time.time()
        ran = subprocess.run([self.program, "features", self.at("in.npy"), "-o", self.at("out.npy"), "--weights",
                              weights, "-q", *more], capture_output=True, text=True)
        if ran.returncode:
            return None, ran.stderr.strip().replace(self.place + "/", "")
        return np.load(self.at("out.npy")), "%.1f s" % (time.time() - started)

    def compare(self, name, weights, x, want, *more):
        have, said = self.features(weights, np.asarray(x), *more)
        want = np.asarray(want)
        spread = np.abs(want - want.mean(0)).max() / np.abs(want).max()  # blind networks prove nothing
        if have is None or have.shape != want.shape:
            gap = float("nan")
            said = said if have is None else "shape %s, not %s" % (have.shape, want.shape)
        else:
            gap = float(np.abs(have - want).max() / np.abs(want).max())
        fine = gap <= TOLERANCE and spread > 0.01
        self.passed, self.failed = self.passed + fine, self.failed + (not fine)
        print("%-48s %.1e  (images differ by %.2f) %s" % (name, gap, spread, said), flush=True)


def check_dino(c):
    full = enliven(vit(8, 384, 6, 224, 1e-6), 1)
    tensors = dino_names(folder_of(c.place, full)[1])
    torch.save(tensors, c.at("dino.pth"))
    torch.save({"teacher": {"module.backbone." + k: v for k, v in tensors.items()}, "epoch": 100},
               c.at("dino_checkpoint.pth"))
    x = c.images(224)
    c.compare("DINO ViT-S/8 at 224, zip", c.at("dino.pth"), x, cls_row(full)(x), "--encoder", "dino_vits8")
    small, x = with_positions(vit(8, 384, 6, 96, 1e-6), full, 12), c.images(96)
    want = cls_row(small)(x)
    c.compare("DINO ViT-S/8 at 96, zip", c.at("dino.pth"), x, want, "--encoder", "dino_vits8")
    c.compare("DINO ViT-S/8 at 96, teacher of a checkpoint", c.at("dino_checkpoint.pth"), x, want)


def check_clip(c):
    model, x = enliven(clip(), 2), c.images(224)
    folder, tensors = folder_of(c.place, model)
    c.compare("CLIP ViT-B/16, Hugging Face", folder, x, model(x).image_embeds)
    torch.save(openai_names(tensors), c.at("clip.pt"))
    c.compare("CLIP ViT-B/16, OpenAI's names", c.at("clip.pt"), x, model(x).image_embeds)
    half = lambda name, value: value if "norm" in name or "position" in name or "class" in name else value.half()
    rounded = {name: half(name, value) for name, value in tensors.items()}
    model.load_state_dict({name: value.float() for name, value in rounded.items()}, strict=False)
    torchscript(openai_names(rounded), c.at("ViT-B-16.pt"))
    c.compare("CLIP ViT-B/16, TorchScript in half precision", c.at("ViT-B-16.pt"), x, model(x).image_embeds,
              "--encoder", "clip_vitb16")


def check_dinov2(c):
    full, x = enliven(dinov2(518), 4), c.images(224)
    folder, tensors = folder_of(c.place, full)
    c.compare("DINOv2 ViT-S/14 at 224, Hugging Face", folder, x, cls_row(full)(x))
    torch.save(dino_names(tensors), c.at("dinov2.pth"))
    small = with_positions(dinov2(224), full, 16)
    c.compare("DINOv2 ViT-S/14 at 224, the authors' names", c.at("dinov2.pth"), x, cls_row(small)(x),
              "--encoder", "dinov2_vits14")


def check_dinov3(c):
    for size, sides in (("small", (224, 256)), ("small+", (224,)), ("base", (224,))):
        width = {"base": 768}.get(size, 384)
        gated = dict(use_gated_mlp=True, hidden_act="silu") if "+" in size else {}
        model = enliven(transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(
            hidden_size=width, num_attention_heads=width // 64, intermediate_size=4 * width, num_register_tokens=4,
            **gated)), 6)
        folder, _ = folder_of(c.place, model)
        for side in sides:
            x = c.images(side)
            c.compare("DINOv3 ViT, %s, at %d, Hugging Face" % (size, side), folder, x, model(x).pooler_output)


def check_dinov2_gated(c):
    model = enliven(transformers.Dinov2Model(transformers.Dinov2Config(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=6, patch_size=14, image_size=224,
        use_swiglu_ffn=True)), 7)
    x = c.images(224)
    c.compare("DINOv2 with gated MLPs at 224, Hugging Face", folder_of(c.place, model)[0], x, cls_row(model)(x))


def check_siglip(c):
    for patch, side, more in ((16, 224, {}), (14, 224, dict(hidden_size=1152, num_attention_heads=16,
                                                           intermediate_size=4304, num_hidden_layers=4))):
        config = transformers.SiglipVisionConfig(patch_size=patch, image_size=side, **more)
        model, x = enliven(transformers.SiglipVisionModel(config), 8), c.images(side)
        c.compare("SigLIP, patch %d at %d, Hugging Face" % (patch, side), folder_of(c.place, model)[0], x,
                  model(x).pooler_output)
    whole = transformers.SiglipModel(transformers.SiglipConfig(
        vision_config=dict(num_hidden_layers=2), text_config=dict(num_hidden_layers=1, vocab_size=10)))
    enliven(whole, 9)
    x = c.images(224)
    c.compare("SigLIP with its text tower, Hugging Face", folder_of(c.place, whole)[0], x,
              whole.vision_model(x).pooler_output)


def check_open_clip(c):
    """OpenCLIP's names are OpenAI's; GELU and heads are in its config."""
    model = transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(
        hidden_size=640, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2560, patch_size=16,
        image_size=224, projection_dim=512, hidden_act="gelu"))
    x = c.images(224)
    enliven(model, 10)
    folder = tempfile.mkdtemp(dir=c.place)
    save_file(openai_names(folder_of(c.place, model)[1]), os.path.join(folder, "open_clip_model.safetensors"))
    config = {"model_cfg": {"embed_dim": 512, "vision_cfg": {
        "image_size": 224, "layers": 6, "width": 640, "head_width": 80, "patch_size": 16}},
        "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "squash"}}
    with open(os.path.join(folder, "open_clip_config.json"), "w") as file:
        json.dump(config, file)
    c.compare("CLIP with OpenCLIP's names and config", os.path.join(folder, "open_clip_model.safetensors"), x,
              model(x).image_embeds)


LAST_NORM = {"basic": ".layer.1.normalization", "bottleneck": ".layer.2.normalization"}


def lively_norms(model, x):
    """Batch norms with the statistics of these images. The last one of a block is small, as in trained networks:
    else rounding grows from block to block, and PyTorch itself is 2e-5 away from its own doubles."""
    for name, m in model.named_modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.momentum = 1
            last = name.endswith(LAST_NORM[model.config.layer_type])
            torch.nn.init.uniform_(m.weight, *((0.1, 0.4) if last else (0.5, 1.2)))
            torch.nn.init.normal_(m.bias, 0, 0.2)
    model.train()(x)
    return model.eval()


def check_hf_resnets(c):
    basic = dict(layer_type="basic", hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2])
    for name, more in (("ResNet-50", {}), ("ResNet-50, stride in the 1x1", dict(downsample_in_bottleneck=True)),
                       ("ResNet-18", basic)):
        x = c.images(224)
        torch.manual_seed(3)
        model = lively_norms(transformers.ResNetModel(transformers.ResNetConfig(**more)), c.images(96))
        c.compare(name + ", Hugging Face", folder_of(c.place, model)[0], x, model(x).pooler_output.flatten(1))


def check_vit(c):
    model, x = enliven(vit(16, 768, 12, 224, 1e-12), 5), c.images(224)
    c.compare("ViT-B/16, Hugging Face", folder_of(c.place, model)[0], x, cls_row(model)(x))


def check_resnets(c):
    python, text = torchvision_python()
    environment = dict(os.environ, PYTHONPATH=os.path.join(HERE, "..", "..", "bench", "peers"))
    for side in (96, 224):
        np.save(c.at("x%d.npy" % side), c.images(side))
    for which in ("resnet50", "resnet18"):
        subprocess.run([python, "-c", text, which, c.place], check=True, env=environment)
        save_file(torch.load(c.at("zip.pth")), c.at("saved.safetensors"))
        files = {"zip": "zip.pth", "older file": "legacy.pth", "safetensors": "saved.safetensors"}
        for side in (96, 224):
            for form, file in files.items():
                c.compare("%s at %d, %s" % (which, side, form), c.at(file), np.load(c.at("x%d.npy" % side)),
                          np.load(c.at("want%d.npy" % side)))


FAMILIES = {"dino": check_dino, "clip": check_clip, "dinov2": check_dinov2, "dinov2_gated": check_dinov2_gated,
            "dinov3": check_dinov3, "siglip": check_siglip, "open_clip": check_open_clip, "vit": check_vit,
            "resnet": check_resnets, "hf_resnet": check_hf_resnets}


def main():
    program, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(FAMILIES)
    print("torch %s, transformers %s; at most %.0e of the largest feature" % (
        torch.__version__, transformers.__version__, TOLERANCE))
    with tempfile.TemporaryDirectory() as place, torch.no_grad():
        c = Checks(program, place)
        for family in wanted:
            FAMILIES[family](c)
    print("%d passed, %d failed" % (c.passed, c.failed))
    sys.exit(bool(c.failed))


if __name__ == "__main__":
    main()
