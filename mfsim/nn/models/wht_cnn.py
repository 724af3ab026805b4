"""`wht-cnn`: two Walsh-Hadamard layers, over the plane and over the channels, between MF convolutions."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from mfsim.nn.mf import MFConv2d, MFLinear
from mfsim.nn.models.layers import first_padding
from mfsim.nn.pool import AvgPool2d, GlobalAvgPool2d
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.nn.wht import WHTLayer


def build(
    input_shape: tuple[int, int, int], classes: int, *, width: int = 16, form: str = "ef", size: str = "exact"
) -> nn.Module:
    """Return the network for images of `input_shape` (C, H, W).

    Parameters
    ----------
    width : int
        Channels of the first convolution; the second has twice as many, the length of a transform.
    form : {"ef", "abs"}
        The MF operator.
    size : {"exact", "pad", "block"}
        For a `width` that is no power of two; see `mfsim.nn.WHTLayer`.
    """
    wide = 2 * width
    padding, plane = first_padding(input_shape)
    return nn.Sequential(
        OrderedDict(
            conv1=MFConv2d(input_shape[0], width, 3, padding=padding, bias=False, form=form),
            norm1=ShiftBatchNorm2d(width),
            relu1=nn.ReLU(),
            pool1=AvgPool2d(2),
            wht1=WHTLayer(width, (plane[0] // 2, plane[1] // 2), over="plane", form=form),
            relu2=nn.ReLU(),
            conv2=MFConv2d(width, wide, 3, padding=1, bias=False, form=form),
            norm2=ShiftBatchNorm2d(wide),
            relu3=nn.ReLU(),
            pool2=AvgPool2d(2),
            wht2=WHTLayer(wide, over="channels", form=form, size=size),
            pool3=GlobalAvgPool2d(),
            flatten=nn.Flatten(),
            head=MFLinear(wide, classes, bias=False, form=form),
            head_norm=ShiftBatchNorm1d(classes),
        )
    )
