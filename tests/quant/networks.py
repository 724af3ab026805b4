"""Small networks with seeded weights and batch statistics, and inputs for them."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.nn import AvgPool2d, MFConv2d, MFLinear, ShiftBatchNorm1d, ShiftBatchNorm2d, WHTLayer


def images(count: int = 96, seed: int = 1) -> torch.Tensor:
    """Return float32 images [count, 1, 8, 8] in 0..1."""
    return torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(seed))


def settled(model: nn.Module) -> nn.Module:
    """Return `model` in eval mode, its weights seeded and its batch norms used to `images`."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
            else:
                parameter.add_(torch.randn(parameter.shape, generator=generator) / 8)
    model.train()
    for seed in range(3):
        model(images(32, seed))
    return model.eval()


def mf_mlp() -> nn.Sequential:
    """Return two MF layers with a batch norm of power-of-two gains between."""
    return nn.Sequential(nn.Flatten(), MFLinear(64, 16, bias=False), ShiftBatchNorm1d(16), nn.ReLU(), MFLinear(16, 5))


def wht_cnn(**options) -> nn.Sequential:
    """Return an MF convolution, a WHT layer with its residual, pooling and an MF classifier."""
    return nn.Sequential(
        MFConv2d(1, 8, 3, padding=1, bias=False),
        ShiftBatchNorm2d(8),
        nn.ReLU(),
        AvgPool2d(2),
        WHTLayer(8, **options),
        nn.MaxPool2d(2),
        nn.Flatten(),
        MFLinear(32, 5),
    )


def dense_cnn() -> nn.Sequential:
    """Return what anyone would write: convolutions, batch norm, torch's own pooling, a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Dropout(0.2),
        nn.Conv2d(8, 8, 3, stride=2, groups=2, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 5),
    )


class Residual(nn.Module):
    """A network of a user: a plain forward method with a residual from the input itself."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 1, 3, padding=1)
        self.last = nn.Linear(64, 5)

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        return self.last((picture + torch.relu(self.first(picture))).flatten(1))


class MFResidual(nn.Module):
    """Residual MF convolutions: where the two paths meet, the recipe has to put quantizers."""

    recipe = {"layers": {"first": {"activation": 8}, "second": {"activation": 7}}}  # noqa: RUF012, it is only read

    def __init__(self) -> None:
        super().__init__()
        self.a, self.first = MFConv2d(1, 4, 3, padding=1, bias=False), ShiftBatchNorm2d(4)
        self.b, self.second = MFConv2d(4, 4, 3, padding=1, bias=False), ShiftBatchNorm2d(4)
        self.last = MFLinear(256, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        x = torch.relu(self.first(self.a(x)))
        return self.last(torch.relu(x + self.second(self.b(x))).flatten(1))


NETWORKS = {"mf-mlp": mf_mlp, "wht-cnn": wht_cnn, "dense-cnn": dense_cnn, "residual": Residual}
