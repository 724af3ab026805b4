"""Parameters of one multiplication-free (MF) term."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from mfsim.ir.formats import Format
from mfsim.ir.program import Tensor
from mfsim.ops.mf.mf_mul import OP as MF_MUL
from mfsim.ops.op import activation
from mfsim.ops.products import FORMS
from mfsim.rtl_models.block import Parameters, Port, Stage, check_choice, check_int
from mfsim.rtl_models.mf_term import model

CELLS = frozenset({"$add", "$xor", "$and", "$reduce_or"})


@dataclass(frozen=True)
class MfTermParameters(Parameters):
    """A term of signed words of `x_bits` and `w_bits` bits that lie on one grid.

    Parameters
    ----------
    x_bits, w_bits : in 2..32.
    form : "ef", sign(w) x + sign(x) w, or "abs", sign(w) |x| + sign(x) |w|.
    sign_zero : sign of the code 0: 0, or 1 for the sign bit alone.

    Examples
    --------
    >>> [MfTermParameters(form=form).output.word.bits for form in ("ef", "abs")]
    [10, 9]
    """

    x_bits: int = 8
    w_bits: int = 8
    form: str = "ef"
    sign_zero: int = 0

    block: ClassVar[str] = "mf_term"
    summary: ClassVar[str] = "one multiplication-free term of two words on one grid"
    sources: ClassVar[tuple[str, ...]] = ("mf_term/mf_term.sv",)
    cells: ClassVar[frozenset[str]] = CELLS
    op: ClassVar[str] = MF_MUL.name

    def __post_init__(self) -> None:
        check_int("x_bits", self.x_bits, 2, 32)
        check_int("w_bits", self.w_bits, 2, 32)
        check_choice("form", self.form, FORMS)
        check_choice("sign_zero", self.sign_zero, (0, 1))

    @property
    def top(self) -> str:
        return f"mf_term_{self.form}_x{self.x_bits}_w{self.w_bits}_z{self.sign_zero}"

    @property
    def equation(self) -> str:
        parts = "sign(w)*|x| + sign(x)*|w|" if self.form == "abs" else "sign(w)*x + sign(x)*w"
        return f"y = {parts}, sign(0) = {self.sign_zero}"

    @property
    def attributes(self) -> dict[str, Any]:
        return {"form": self.form, "sign_zero": self.sign_zero, "grid": "shared"}

    @property
    def inputs(self) -> tuple[Port, ...]:
        return Port("x", 1, Format(self.x_bits)), Port("w", 1, Format(self.w_bits))

    @property
    def latency(self) -> int:
        return 0

    @property
    def adders(self) -> int:
        return 2

    def generics(self) -> dict[str, int]:
        return {
            "XBits": self.x_bits,
            "WBits": self.w_bits,
            "Abs": int(self.form == "abs"),
            "SignZero": self.sign_zero,
            "YBits": self.output.word.bits,
        }

    def tensors(self) -> list[Tensor]:
        return [activation("x", (1,), Format(self.x_bits)), activation("w", (1,), Format(self.w_bits))]

    def stages(self) -> list[Stage]:
        return [partial(model.split_term, form=self.form, sign_zero=self.sign_zero)]
