"""`mf-cnn`: three multiplication-free convolutions and a linear layer."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from mfsim.nn.mf import MFConv2d, MFLinear
from mfsim.nn.models.layers import first_padding
from mfsim.nn.pool import AvgPool2d, GlobalAvgPool2d
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d


def build(input_shape: tuple[int, int, int], classes: int, *, width: int = 16, form: str = "ef") -> nn.Module:
    """Return the network for images of `input_shape` (C, H, W).

    Parameters
    ----------
    width : int
        Channels of the first convolution; the others have twice as many.
    form : {"ef", "abs"}
        The MF operator.
    """
    wide = 2 * width
    padding, _ = first_padding(input_shape)
    return nn.Sequential(
        OrderedDict(
            conv1=MFConv2d(input_shape[0], width, 3, padding=padding, bias=False, form=form),
            norm1=ShiftBatchNorm2d(width),
            relu1=nn.ReLU(),
            pool1=AvgPool2d(2),
            conv2=MFConv2d(width, wide, 3, padding=1, bias=False, form=form),
            norm2=ShiftBatchNorm2d(wide),
            relu2=nn.ReLU(),
            pool2=AvgPool2d(2),
            conv3=MFConv2d(wide, wide, 3, padding=1, bias=False, form=form),
            norm3=ShiftBatchNorm2d(wide),
            relu3=nn.ReLU(),
            pool3=GlobalAvgPool2d(),
            flatten=nn.Flatten(),
            head=MFLinear(wide, classes, bias=False, form=form),
            head_norm=ShiftBatchNorm1d(classes),
        )
    )
