# SPDX-License-Identifier: Apache-2.0
"""E as a PyTorch module; imported only when it is asked for."""
import torch


class TorchAdapter(torch.nn.Sequential):
    """Linear, ReLU, Linear with the names of the adapter's file; plus the input if `residual`."""

    def __init__(self, d, hidden, w, residual):
        super().__init__(torch.nn.Linear(d, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, w))
        self.residual = residual

    def forward(self, z):
        codes = super().forward(z)
        return z + codes if self.residual else codes


def module(adapter):
    made = TorchAdapter(adapter.input, adapter.hidden, adapter.output, adapter.residual)
    made.load_state_dict({name: torch.from_numpy(array) for name, array in adapter.weights().items()})
    return made.eval()


def wrap(network):
    """A torch.nn.Module as a function of NumPy arrays, on the device where it is."""

    def run(images):
        first = next(network.parameters(), None)
        device = first.device if first is not None else "cpu"
        was_training = network.training
        network.eval()
        try:
            with torch.inference_mode():
                return network(torch.from_numpy(images).to(device))
        finally:
            network.train(was_training)

    run.__name__ = type(network).__name__
    return run
