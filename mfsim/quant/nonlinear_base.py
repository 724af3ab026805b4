"""What the quantized nonlinear layers share: an input quantizer, an integer algorithm, a stated grid of the result.

    codes = input_quant(x) / x_scale -> integer algorithm -> codes * y_scale

`y_scale` is that of the quantizer which reads the result (`mfsim.quant.readers`), so that this one only
saturates and nothing is rounded twice. Tables, thresholds and guards follow from the scales: they are
derived, never stored. Until `derive` has been called the layer is its float function, as while the
network is calibrated; the gradient is always that of the float function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import nn

from mfsim.quant.quantizers import ActivationQuant


class QuantNonlinear(nn.Module, ABC):
    """A nonlinear function of codes.

    Parameters
    ----------
    layer : module
        The float layer.
    bits, signed : word of the input.

    Attributes
    ----------
    input_quant : ActivationQuant
    y_scale : buffer, the grid of the result: a power of two
    derived : whether tables for these scales are there.
    """

    arguments: ClassVar[tuple[str, ...]] = ()
    """Those with which the float layer is made again, to derive constants for other words, as far as it has them."""

    whole_rows: ClassVar[bool] = False
    """Whether it normalises rows: then its constants depend on their length, and the result lies in -1..1."""

    y_scale: torch.Tensor

    def __init__(self, layer: nn.Module, bits: int, signed: bool) -> None:
        super().__init__()
        self.input_quant = ActivationQuant(bits, signed)
        self.register_buffer("y_scale", torch.ones(()))
        self.derived = False

    @property
    def x_exponent(self) -> int:
        """The exponent of the input's scale."""
        return exponent_of(self.input_quant.scale)

    @property
    def y_exponent(self) -> int:
        """The exponent of the result's scale."""
        return exponent_of(self.y_scale)

    def derive(self) -> None:
        """Make the derived constants anew for the scales as they are."""
        self.make_constants()
        self.derived = True

    @abstractmethod
    def make_constants(self) -> None:
        """Set the derived constants as buffers that are not saved."""

    @abstractmethod
    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float function.

        Parameters
        ----------
        x : float tensor, as the float layer takes it

        Returns
        -------
        float tensor, as the float layer returns it
        """

    @abstractmethod
    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the integer algorithm's result; while torch exports, one node.

        Parameters
        ----------
        x : float tensor, as the float layer takes it
            Codes times the input's scale.

        Returns
        -------
        float tensor, as the float layer returns it
            Codes times `y_scale`.
        """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result on its grid, with the gradient of the float function.

        Parameters
        ----------
        x : float tensor, as the float layer takes it

        Returns
        -------
        float tensor, as the float layer returns it
            Multiples of `y_scale`; before `derive`, the float function of the quantized input.
        """
        x = self.input_quant(x)
        if not self.derived:
            return self.function(x)
        y = self.integers(x)
        learns = x.requires_grad or any(parameter.requires_grad for parameter in self.parameters())
        if not (torch.is_grad_enabled() and learns):
            return y
        smooth = self.function(x)
        return y.detach() + (smooth - smooth.detach())

    def set_constant(self, name: str, values: Any) -> None:
        """Set a derived int64 constant as a buffer that is not saved.

        Parameters
        ----------
        name : str
            Of the buffer.
        values : int or nested sequence of int
        """
        self.register_buffer(name, torch.tensor(values, dtype=torch.int64), persistent=False)


def exponent_of(scale: torch.Tensor) -> int:
    """Return e of a scale 2**e.

    Parameters
    ----------
    scale : float tensor of one element
        A power of two.

    Returns
    -------
    int
    """
    return int(torch.log2(scale.double()))
