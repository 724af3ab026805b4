"""Parameters of the pipelined Walsh-Hadamard transform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ir.program import Tensor
from mfsim.ops.op import activation
from mfsim.ops.wht.wht import OP as WHT
from mfsim.rtl_models.block import Parameters, Port, Stage, check_choice, check_int
from mfsim.rtl_models.wht import model

LONGEST = 1024
ORDERS = ("natural", "sequency")
"""Orders of the outputs that the block is wired for."""


@dataclass(frozen=True)
class WhtParameters(Parameters):
    """A transform of `n` signed words of `x_bits` bits.

    Parameters
    ----------
    n : a power of two in 2..1024.
    x_bits : in 1..32.
    order : "natural" or "sequency", of the outputs.

    Examples
    --------
    >>> WhtParameters(n=64, x_bits=16).output
    Port(name='y', length=64, word=Format(bits=22, signed=True))
    """

    n: int = 8
    x_bits: int = 8
    order: str = "natural"

    block: ClassVar[str] = "wht"
    summary: ClassVar[str] = "Walsh-Hadamard transform of n words, one pipeline stage for each butterfly level"
    sources: ClassVar[tuple[str, ...]] = (
        "common/valid_delay.sv",
        "wht/wht_butterfly.sv",
        "wht/wht_stage.sv",
        "wht/wht.sv",
    )
    cells: ClassVar[frozenset[str]] = frozenset({"$add", "$sub", "$dff", "$adff"})
    op: ClassVar[str] = WHT.name

    def __post_init__(self) -> None:
        check_int("n", self.n, 2, LONGEST)
        if self.n & (self.n - 1):
            raise FormatError(f"`n` must be a power of two, not {self.n}")
        check_int("x_bits", self.x_bits, 1, 32)
        check_choice("order", self.order, ORDERS)

    @property
    def top(self) -> str:
        return f"wht_n{self.n}_x{self.x_bits}_{self.order}"

    @property
    def equation(self) -> str:
        rows = ", rows sorted by sign changes" if self.order == "sequency" else ""
        return f"y = H x, H[i][j] = (-1)**popcount(i & j){rows}"

    @property
    def attributes(self) -> dict[str, Any]:
        return {"order": self.order}

    @property
    def inputs(self) -> tuple[Port, ...]:
        return (Port("x", self.n, Format(self.x_bits)),)

    @property
    def latency(self) -> int:
        return self.n.bit_length() - 1

    @property
    def adders(self) -> int:
        return self.n * self.latency

    def generics(self) -> dict[str, int]:
        return {
            "N": self.n,
            "XBits": self.x_bits,
            "Sequency": int(self.order == "sequency"),
            "Stages": self.latency,
            "YBits": self.output.word.bits,
        }

    def tensors(self) -> list[Tensor]:
        return [activation("x", (self.n,), Format(self.x_bits))]

    def stages(self) -> list[Stage]:
        stages: list[Callable[..., Any]] = [partial(model.stage, half=1 << s) for s in range(self.latency)]
        if self.order == "sequency":
            stages[-1] = partial(model.last_stage, half=self.n // 2)
        return stages
