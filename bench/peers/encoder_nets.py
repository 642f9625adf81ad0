# SPDX-License-Identifier: Apache-2.0
"""encoder_nets.py - ViTs and ResNets in PyTorch, for the peers.

Parameters are named as DINO (and timm) and torchvision name them, so a file saved here
is one that invar reads. Attention is F.scaled_dot_product_attention.
"""

import torch
import torch.nn.functional as F
from torch import nn

# name: (kind, what it is made of); and GMAC an image (convolutions, linears, attention).
NETS = {"vit_small_patch8": ("vit", dict(patch=8, width=384, heads=6)),
        "vit_small_patch16": ("vit", dict(patch=16, width=384, heads=6)),
        "vit_tiny_patch16": ("vit", dict(patch=16, width=192, heads=3)),
        "vit_base_patch16": ("vit", dict(patch=16, width=768, heads=12)),
        "resnet50": ("resnet", dict(counts=(3, 4, 6, 3), bottleneck=True)),
        "resnet18": ("resnet", dict(counts=(2, 2, 2, 2), bottleneck=False)),
        "dinov3_small": ("vit", None), "siglip_base": ("vit", None), "hf_resnet50": ("resnet", None)}
GMAC = {("vit_small_patch8", 96): 3.283, ("vit_tiny_patch16", 224): 1.253, ("vit_base_patch16", 224): 17.563,
        ("vit_small_patch16", 224): 4.598, ("resnet50", 96): 0.753, ("resnet50", 224): 4.089, ("resnet18", 224): 1.814,
        ("dinov3_small", 224): 4.692, ("siglip_base", 224): 17.713, ("hf_resnet50", 224): 4.089}


# ---- ViT -----------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, tokens, width = x.shape
        q, k, v = self.qkv(x).view(n, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, tokens, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, 1e-6), Attention(width, heads)
        self.norm2, self.mlp = nn.LayerNorm(width, 1e-6), Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, patch, width):
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, side, patch, width, heads):
        super().__init__()
        self.patch_embed = PatchEmbed(patch, width)
        self.cls_token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, 1 + (side // patch) ** 2, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(12))
        self.norm = nn.LayerNorm(width, 1e-6)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, 0]


# ---- ResNet ----------------------------------------------------------------------


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Residual(nn.Module):
    """Basic: 3x3, 3x3; bottleneck: 1x1, 3x3 with the stride, 1x1 to four times the planes."""

    def __init__(self, inputs, planes, stride, bottleneck):
        super().__init__()
        outputs = 4 * planes if bottleneck else planes
        kernels = (1, 3, 1) if bottleneck else (3, 3)
        strides = (1, stride, 1) if bottleneck else (stride, 1)
        widths = (inputs, planes, planes, outputs) if bottleneck else (inputs, planes, outputs)
        self.count = len(kernels)
        for i in range(self.count):
            self.add_module("conv%d" % (i + 1), convolution(widths[i], widths[i + 1], kernels[i], strides[i]))
            self.add_module("bn%d" % (i + 1), nn.BatchNorm2d(widths[i + 1]))
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, "bn%d" % i)(getattr(self, "conv%d" % i)(y))
            y = F.relu(y) if i < self.count else y
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, counts, bottleneck):
        super().__init__()
        self.conv1, self.bn1 = convolution(3, 64, 7, 2), nn.BatchNorm2d(64)
        inputs = 64
        for i, count in enumerate(counts):
            planes, blocks = 64 << i, []
            for j in range(count):
                blocks.append(Residual(inputs, planes, 2 if i > 0 and j == 0 else 1, bottleneck))
                inputs = 4 * planes if bottleneck else planes
            self.add_module("layer%d" % (i + 1), nn.Sequential(*blocks))
        self.fc = nn.Identity()

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


# ---- By transformers -------------------------------------------------------------


class Pooled(nn.Module):
    """A model of transformers, from images to its pooled features; its weights have their published names."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).pooler_output.flatten(1)

    def state_dict(self, *given, **named):
        return self.model.state_dict(*given, **named)

    def load_state_dict(self, state, **named):
        return self.model.load_state_dict(state, **named)


def of_transformers(name, side):
    import transformers
    if name == "dinov3_small":
        return transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(num_register_tokens=4, image_size=side))
    if name == "siglip_base":
        return transformers.SiglipVisionModel(transformers.SiglipVisionConfig(image_size=side))
    return transformers.ResNetModel(transformers.ResNetConfig())


# ---- By name ---------------------------------------------------------------------


def make(name, side):
    kind, shape = NETS[name]
    if shape is None:
        return Pooled(of_transformers(name, side)).eval()
    return (ViT(side, **shape) if kind == "vit" else ResNet(**shape)).eval()


def loaded(name, side, path):
    """With the weights of a safetensors file, and no time lost on initial ones."""
    from safetensors.torch import load_file
    if NETS[name][1] is None:  # some of its buffers are not in the file
        net = make(name, side)
    else:
        with torch.device("meta"):
            net = make(name, side)
    net.load_state_dict(load_file(path), assign=True)
    return net.requires_grad_(False)


# What tests/parity/encoders.py asks of torchvision.
__version__ = "is not here: a plain ResNet in PyTorch"
models = type("models", (), {name: staticmethod(lambda weights=None, name=name: make(name, 224))
                             for name in ("resnet18", "resnet50")})
