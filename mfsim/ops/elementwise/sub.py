"""sub: y = a - b on the finer of their grids; b may be a constant that broadcasts to a sample of a."""

from __future__ import annotations

from functools import partial

from mfsim.ops.alignment import SHIFTS_OF_A_SUM, SUM_HELD, count_sum, derive_sum, infer_sum
from mfsim.ops.op import Op
from mfsim.ops.traits import Trait


def _reference(inputs, attributes):
    a, b = inputs
    return [a * 2 ** attributes["shift_a"] - b * 2 ** attributes["shift_b"]]


OP = Op(
    name="sub",
    summary="a - b",
    attributes=SHIFTS_OF_A_SUM,
    inputs=("a", "b"),
    traits=frozenset({Trait.FUSES_EPILOGUE}),
    primitives=frozenset({"shift", "addsub"}),
    infer=partial(infer_sum, "sub", -1),
    reference=_reference,
    count=count_sum,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    derive=partial(derive_sum, "sub"),
    held=SUM_HELD,
)
