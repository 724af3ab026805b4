"""`dense-cnn`: `mf-cnn` with ordinary convolutions, batch norms and linear layer; the baseline."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from mfsim.nn.models.layers import first_padding
from mfsim.nn.pool import AvgPool2d, GlobalAvgPool2d


def build(input_shape: tuple[int, int, int], classes: int, *, width: int = 16) -> nn.Module:
    """Return the network for images of `input_shape` (C, H, W).

    Parameters
    ----------
    width : int
        Channels of the first convolution; the others have twice as many.
    """
    wide = 2 * width
    padding, _ = first_padding(input_shape)
    return nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(input_shape[0], width, 3, padding=padding, bias=False),
            norm1=nn.BatchNorm2d(width),
            relu1=nn.ReLU(),
            pool1=AvgPool2d(2),
            conv2=nn.Conv2d(width, wide, 3, padding=1, bias=False),
            norm2=nn.BatchNorm2d(wide),
            relu2=nn.ReLU(),
            pool2=AvgPool2d(2),
            conv3=nn.Conv2d(wide, wide, 3, padding=1, bias=False),
            norm3=nn.BatchNorm2d(wide),
            relu3=nn.ReLU(),
            pool3=GlobalAvgPool2d(),
            flatten=nn.Flatten(),
            head=nn.Linear(wide, classes),
        )
    )
