"""Parameters of the dot product of multiplication-free (MF) terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from mfsim.ir.formats import Format
from mfsim.ir.program import Tensor
from mfsim.ops.mf.mf_matmul import OP as MF_MATMUL
from mfsim.ops.op import activation
from mfsim.rtl_models.block import Parameters, Port, Stage, check_int
from mfsim.rtl_models.mf_dot import model
from mfsim.rtl_models.mf_term.model import split_term
from mfsim.rtl_models.mf_term.parameters import CELLS, MfTermParameters


@dataclass(frozen=True)
class MfDotParameters(Parameters):
    """A dot product of `n` terms of signed words of `x_bits` and `w_bits` bits that lie on one grid.

    Parameters
    ----------
    n : in 2..1024.
    x_bits, w_bits : in 2..32.
    form : "ef", sign(w) x + sign(x) w, or "abs", sign(w) |x| + sign(x) |w|.
    sign_zero : sign of the code 0: 0, or 1 for the sign bit alone.

    Examples
    --------
    >>> MfDotParameters(n=64).output.word.bits
    16
    """

    n: int = 4
    x_bits: int = 8
    w_bits: int = 8
    form: str = "ef"
    sign_zero: int = 0

    block: ClassVar[str] = "mf_dot"
    summary: ClassVar[str] = "dot product of n multiplication-free terms, pipelined adder tree"
    sources: ClassVar[tuple[str, ...]] = (
        "common/valid_delay.sv",
        "mf_term/mf_term.sv",
        "mf_dot/mf_tree_level.sv",
        "mf_dot/mf_dot.sv",
    )
    cells: ClassVar[frozenset[str]] = CELLS | {"$dff", "$adff"}
    op: ClassVar[str] = MF_MATMUL.name

    def __post_init__(self) -> None:
        check_int("n", self.n, 2, 1024)
        _ = self.term  # checks the rest

    @property
    def term(self) -> MfTermParameters:
        """Parameters of one term."""
        return MfTermParameters(self.x_bits, self.w_bits, self.form, self.sign_zero)

    @property
    def levels(self) -> int:
        """Levels of the adder tree."""
        return (self.n - 1).bit_length()

    @property
    def top(self) -> str:
        return f"mf_dot_{self.form}_n{self.n}_x{self.x_bits}_w{self.w_bits}_z{self.sign_zero}"

    @property
    def equation(self) -> str:
        return self.term.equation.replace("y = ", "y = sum of ")

    @property
    def attributes(self) -> dict[str, Any]:
        return self.term.attributes

    @property
    def inputs(self) -> tuple[Port, ...]:
        return Port("x", self.n, Format(self.x_bits)), Port("w", self.n, Format(self.w_bits))

    @property
    def latency(self) -> int:
        return 1 + self.levels

    @property
    def adders(self) -> int:
        return self.n * self.term.adders + self.n - 1

    def generics(self) -> dict[str, int]:
        inner = self.term.generics()
        return {
            "N": self.n,
            "XBits": self.x_bits,
            "WBits": self.w_bits,
            "Abs": inner["Abs"],
            "SignZero": self.sign_zero,
            "TermBits": inner["YBits"],
            "Levels": self.levels,
            "YBits": self.output.word.bits,
        }

    def tensors(self) -> list[Tensor]:
        x = activation("x", (1, self.n), Format(self.x_bits))
        return [x, activation("w", (self.n, 1), Format(self.w_bits))]

    def stages(self) -> list[Stage]:
        terms = partial(split_term, form=self.form, sign_zero=self.sign_zero)
        return [terms, *[model.level] * self.levels]
