# SPDX-License-Identifier: Apache-2.0
"""E as a PyTorch module; imported only when it is asked for."""
import torch


class TorchAdapter(torch.nn.Sequential):
    """Linear, ReLU, Linear with the names of the adapter's file; plus the input if `residual`; rows and codes divided by
    their norms if `unit`."""

    def __init__(self, d, hidden, w, residual, unit):
        super().__init__(torch.nn.Linear(d, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, w))
        self.residual = residual
        self.unit = unit

    def forward(self, z):
        if self.unit:
            z = torch.nn.functional.normalize(z, dim=-1, eps=1e-30)  # zeros stay zeros
        codes = z
        for layer in self:  # torch.jit.script knows no super()
            codes = layer(codes)
        if self.residual:
            codes = z + codes
        return torch.nn.functional.normalize(codes, dim=-1, eps=1e-30) if self.unit else codes


def module(adapter):
    made = TorchAdapter(adapter.input, adapter.hidden, adapter.output, adapter.residual, adapter.unit)
    made.load_state_dict({name: torch.from_numpy(array) for name, array in adapter.weights().items()})
    return made.eval()


def wrap(network):
    """A torch.nn.Module as a function of NumPy arrays, on the device and in the number type where it is."""

    def run(images):
        first = next((p for p in network.parameters() if p.is_floating_point()), None)
        x = torch.from_numpy(images)
        x = x if first is None else x.to(first.device, first.dtype)
        training = [part for part in network.modules() if part.training]  # a frozen part of it may not be
        network.eval()
        try:
            with torch.inference_mode():
                return network(x)
        finally:
            for part in training:
                part.training = True

    run.__name__ = type(network).__name__
    return run
