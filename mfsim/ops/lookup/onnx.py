"""Bodies of the lookups in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, Arrays, IntegerBody, Tensors, attributes_of

# Table: y = table[clamp(x - first, 0, size - 1)] on codes. Definition: mfsim/ops/lookup/table.py.
#
# `table` (codes on y_scale) and `first` are int64; X lies on x_scale.

TABLE = """
<opset_import: ["" : 20], domain: "org.mfsim">
Table (X, x_scale, table, first, y_scale) => (Y) {
    scaled = Div (X, x_scale)
    nearest = Round (scaled)
    codes = Cast <to = 7> (nearest)
    place = Sub (codes, first)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    entries = Size (table)
    last = Sub (entries, one)
    least = Max (place, zero)
    index = Min (least, last)
    found = Gather (table, index)
    value = CastLike (found, X)
    Y = Mul (value, y_scale)
}
"""


# table: Gather at the clamped address, which so never leaves the table.


def _table_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    first = attributes_of(node)["first"]
    return {"least": first, "greatest": first + inputs[1].shape[0] - 1}


TABLE_INTEGER = IntegerBody(
    text="""
  raised = Max(x, least)
  clamped = Min(raised, greatest)
  address = Sub(clamped, least)
  y = Gather<axis: int = 0>(table, address)
""",
    extra={"least": CODE, "greatest": CODE},
    derived=_table_inputs,
)

# embedding: Gather of rows; codes that number them never leave the table.

EMBEDDING_INTEGER = IntegerBody(
    text="""
  y = Gather<axis: int = 0>(rows, x)
""",
)

MODEL_BODIES = {
    "table": (TABLE,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "table": TABLE_INTEGER,
    "embedding": EMBEDDING_INTEGER,
}
"""By op, its body in integer.onnx."""
