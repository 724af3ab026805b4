"""`htma-resnet20`: ResNet-20 whose second convolutions are Walsh-Hadamard layers, all products MF.

After HTMA-Net (Hamdan and Cetin, arXiv 2509.23103: Hadamard layers with multiplication-avoiding 1 x 1
convolutions) and the replaced convolutions of Pan, Badawi and Cetin (ICML 2023). Which convolutions are
replaced, the shortcut without parameters (He et al., 2016, option A) and power-of-two batch norm are
our choice.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import ShapeError
from mfsim.nn.elementwise import Add
from mfsim.nn.mf import MFConv2d, MFLinear
from mfsim.nn.models.layers import first_padding
from mfsim.nn.pool import GlobalAvgPool2d
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.nn.wht import WHTLayer


class HTMABlock(nn.Module):
    """relu(x + wht(relu(norm(conv(x))))); with a stride the shortcut drops pixels and adds channels of zeros."""

    def __init__(self, inputs: int, outputs: int, stride: int, plane: tuple[int, int], form: str) -> None:
        super().__init__()
        self.stride, self.more = stride, outputs - inputs
        self.conv = MFConv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False, form=form)
        self.norm = ShiftBatchNorm2d(outputs)
        self.relu1 = nn.ReLU()
        self.wht = WHTLayer(outputs, plane, over="plane", residual=False, form=form)
        self.add, self.relu2 = Add(), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output.

        Parameters
        ----------
        x : float tensor, shape [N, inputs, H, W]
            H / stride and W / stride are the sides of `plane`.

        Returns
        -------
        float tensor, shape [N, outputs, H / stride, W / stride]
        """
        y = self.wht(self.relu1(self.norm(self.conv(x))))
        short = x[:, :, :: self.stride, :: self.stride] if self.stride > 1 else x
        if self.more:
            short = F.pad(short, (0, 0, 0, 0, 0, self.more))
        z: torch.Tensor = self.relu2(self.add(short, y))
        return z


def build(
    input_shape: tuple[int, int, int], classes: int, *, width: int = 16, blocks: int = 3, form: str = "ef"
) -> nn.Module:
    """Return the network for images of `input_shape` (C, H, W).

    Parameters
    ----------
    width : int
        Channels of the first of three stages; each next one has twice as many.
    blocks : int
        Of a stage; 3 for 20 layers.
    form : {"ef", "abs"}
        The MF operator.
    input_shape : (C, H, W)
        Of one image; a side is a power of two or even.
    classes : int, at least 2
        Number of outputs.

    Returns
    -------
    torch.nn.Module
        From [N, C, H, W] to [N, classes].

    Raises
    ------
    ShapeError
        If `blocks` is less than 1, or a side is odd and no power of two.
    """
    if blocks < 1:
        raise ShapeError(f"`blocks` must be at least 1, not {blocks}")
    padding, plane = first_padding(input_shape)
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv=MFConv2d(input_shape[0], width, 3, padding=padding, bias=False, form=form),
        norm=ShiftBatchNorm2d(width),
        relu=nn.ReLU(),
    )
    channels = width
    for stage in range(3):
        for number in range(blocks):
            stride = 2 if stage and not number else 1
            plane = plane[0] // stride, plane[1] // stride
            outputs = width << stage
            layers[f"stage{stage + 1}_block{number + 1}"] = HTMABlock(channels, outputs, stride, plane, form)
            channels = outputs
    layers["pool"] = GlobalAvgPool2d()
    layers["flatten"] = nn.Flatten()
    layers["head"] = MFLinear(channels, classes, bias=False, form=form)
    layers["head_norm"] = ShiftBatchNorm1d(classes)
    return nn.Sequential(layers)
