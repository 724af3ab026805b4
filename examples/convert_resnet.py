"""A ResNet-18 as torchvision writes it, made multiplication-free and taken through every step.

The network is written in plain torch and knows nothing of mfsim: basic blocks with `conv1`, `bn1`, `conv2`,
`bn2` and `downsample`, a stem, `layer1` to `layer4`, and `fc`. Three rules convert it: convolutions and the
linear layer to MF products, batch norms to ones whose gains are powers of two. Here it is narrow, and its stem suits
images of 8 x 8; `resnet18(width=64, stem=7)` has the size of the original.

Two values that are added need one scale each for all channels, which an MF product with a batch norm does not
leave. So the recipe names the layers in front of the additions, and puts a quantizer behind each of them.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

import torch
from torch import nn

import mfsim
from mfsim.quant import Recipe
from mfsim.workflow.settings import Settings

RULES = [
    {"match": "*", "to": "mf"},
    {"match": "*", "to": "shift"},
]


class BasicBlock(nn.Module):
    """Two convolutions of 3 x 3 and a shortcut."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or channels_in != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += shortcut
        return self.relu(y)


class ResNet(nn.Module):
    """Stem, four stages of basic blocks, mean over the plane, classifier."""

    def __init__(self, blocks: tuple[int, ...], channels_in: int, classes: int, width: int, stem: int) -> None:
        super().__init__()
        large = stem == 7
        self.conv1 = nn.Conv2d(channels_in, width, stem, 2 if large else 1, padding=stem // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1) if large else nn.Identity()
        channels = width
        for stage, count in enumerate(blocks):
            wide, layers = width << stage, []
            for number in range(count):
                layers.append(BasicBlock(channels, wide, 2 if stage and not number else 1))
                channels = wide
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one number for each class."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18(input_shape: tuple[int, int, int] = (3, 224, 224), classes: int = 1000, width: int = 64, stem: int = 7):
    """Return a ResNet-18 whose first stage has `width` channels; `stem` is the side of the first kernel, 7 or 3."""
    return ResNet((2, 2, 2, 2), input_shape[0], classes, width, stem)


def recipe(network: nn.Module, bits: int = 8) -> Recipe:
    """Return a recipe with `bits` everywhere and a quantizer behind every layer whose result is added."""
    added = ["maxpool"]
    for path, module in network.named_modules():
        if isinstance(module, BasicBlock):
            added.append(f"{path}.bn2")
            if module.downsample is not None:
                added.append(f"{path}.downsample.1")
    return Recipe.from_dict(
        {"weight": bits, "activation": bits, "layers": {path: {"activation": bits} for path in added}}
    )


def main(folder: pathlib.Path, epochs: int = 3) -> None:
    """Convert, print the report, and run every step in `folder`."""
    options = {"width": 4, "stem": 3}
    network = resnet18((1, 8, 8), 10, **options)
    conversion = mfsim.convert(network, RULES, example=torch.zeros(2, 1, 8, 8))
    print(conversion.text())

    result = mfsim.run_network(
        folder,
        "convert_resnet:resnet18",
        "digits",
        Settings(epochs=epochs, learning_rate=0.01, quantized_epochs=0, reference_samples=1),
        options=options,
        rules=mfsim.Rules.from_list(RULES),
        recipe=recipe(network),
    )
    print("\naccuracy:", result.accuracy)
    for pair in result.parity:
        print(f"{pair.name}: {pair.mismatches} of {pair.compared} codes differ")
    assert result.bit_exact
    assert result.multiplications == 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else name), *map(int, sys.argv[2:]))
