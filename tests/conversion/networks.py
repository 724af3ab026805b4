"""Networks that know nothing of mfsim, and exact inputs for them."""

from __future__ import annotations

import torch
from torch import nn


def integers(*shape: int, seed: int = 0, largest: int = 3) -> torch.Tensor:
    """Return whole numbers in -largest..largest as float32, whose sums are exact."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-largest, largest + 1, shape, generator=generator).float()


def whole(model: nn.Module) -> nn.Module:
    """Return `model` with whole numbers for parameters."""
    with torch.no_grad():
        for k, parameter in enumerate(model.parameters()):
            parameter.copy_(integers(*parameter.shape, seed=k + 1))
    return model


class Small(nn.Module):
    """Two convolutions with batch norms, one of them pointwise, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.body = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU())
        self.fc1 = nn.Linear(16, 16)
        self.fc2 = nn.Linear(16, 3)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of images [N, 2, 2, 2]."""
        x = self.body(self.relu(self.bn(self.stem(x))))
        return self.fc2(self.fc1(x.flatten(1))) * self.scale


class Shared(nn.Module):
    """One linear layer at two paths, and weights that two layers share."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = nn.ModuleDict({"inner": self.first})
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the values."""
        return self.tied(self.again["inner"](self.first(x)))


class Reader(nn.Module):
    """Reads the weights of a layer without calling it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the values."""
        return nn.functional.linear(x, self.fc.weight)
