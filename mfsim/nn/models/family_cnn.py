"""`adder-cnn`, `min-cnn`, `shift-cnn`: the shape of `mf-cnn` with the other products of the family, to compare."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from mfsim.nn.family import AdderConv2d, AdderLinear, MinConv2d, MinLinear, ShiftConv2d, ShiftLinear
from mfsim.nn.models.layers import first_padding
from mfsim.nn.pool import AvgPool2d, GlobalAvgPool2d
from mfsim.nn.product_layers import Conv2dProduct, LinearProduct
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d


def _build(
    conv: type[Conv2dProduct], linear: type[LinearProduct], shape: tuple[int, int, int], classes: int, width: int
) -> nn.Module:
    wide = 2 * width
    padding, _ = first_padding(shape)
    return nn.Sequential(
        OrderedDict(
            conv1=conv(shape[0], width, 3, padding=padding, bias=False),
            norm1=ShiftBatchNorm2d(width),
            relu1=nn.ReLU(),
            pool1=AvgPool2d(2),
            conv2=conv(width, wide, 3, padding=1, bias=False),
            norm2=ShiftBatchNorm2d(wide),
            relu2=nn.ReLU(),
            pool2=AvgPool2d(2),
            conv3=conv(wide, wide, 3, padding=1, bias=False),
            norm3=ShiftBatchNorm2d(wide),
            relu3=nn.ReLU(),
            pool3=GlobalAvgPool2d(),
            flatten=nn.Flatten(),
            head=linear(wide, classes, bias=False),
            head_norm=ShiftBatchNorm1d(classes),
        )
    )


def build_adder(input_shape: tuple[int, int, int], classes: int, *, width: int = 16) -> nn.Module:
    """Return the AdderNet, in the shape of `mf-cnn`.

    Parameters
    ----------
    input_shape : (C, H, W)
        Of one image; a side is a power of two or even.
    classes : int, at least 2
        Number of outputs.
    width : int, at least 1
        Channels of the first convolution; the others have twice as many.

    Returns
    -------
    torch.nn.Module
        From [N, C, H, W] to [N, classes].

    Raises
    ------
    ShapeError
        If a side is odd and no power of two.
    """
    return _build(AdderConv2d, AdderLinear, input_shape, classes, width)


def build_min(input_shape: tuple[int, int, int], classes: int, *, width: int = 16) -> nn.Module:
    """Return the network of min-type products, in the shape of `mf-cnn`.

    Parameters
    ----------
    input_shape, classes, width
        As in `build_adder`.

    Returns
    -------
    torch.nn.Module
        From [N, C, H, W] to [N, classes].

    Raises
    ------
    ShapeError
        If a side is odd and no power of two.
    """
    return _build(MinConv2d, MinLinear, input_shape, classes, width)


def build_shift(input_shape: tuple[int, int, int], classes: int, *, width: int = 16) -> nn.Module:
    """Return the network of power-of-two weights, in the shape of `mf-cnn`.

    Parameters
    ----------
    input_shape, classes, width
        As in `build_adder`.

    Returns
    -------
    torch.nn.Module
        From [N, C, H, W] to [N, classes].

    Raises
    ------
    ShapeError
        If a side is odd and no power of two.
    """
    return _build(ShiftConv2d, ShiftLinear, input_shape, classes, width)
