"""Bodies of the layout ops in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, channelwise, target

# concat: Concat, then one power of two for each index of the axis brings all parts to the finest grid.


def _concat_text(count: int) -> str:
    parts = ", ".join(f"x{k}" for k in range(count))
    return f"""
  parts = Concat<axis: int = @axis>({parts})
  y = Mul(parts, gain)
"""


def _concat_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    axis = attributes_of(node)["axis"]
    gains = [1 << s for x, s in zip(inputs, attributes_of(node)["shifts"], strict=True) for _ in range(x.shape[axis])]
    one = len(set(gains)) == 1
    return {"gain": channelwise(gains[:1] if one else gains, axis, len(outputs[0].shape))}


CONCAT_INTEGER = IntegerBody(text=_concat_text, extra={"gain": CODE}, derived=_concat_inputs)

# flatten: the standard Flatten behind the batch.

FLATTEN_INTEGER = IntegerBody(
    text="""
  y = Flatten<axis: int = 1>(x)
"""
)


# reshape: the standard Reshape, whatever the batch.


def _reshape_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"target": target(outputs[0].shape)}


RESHAPE_INTEGER = IntegerBody(
    text="""
  y = Reshape(x, target)
""",
    extra={"target": SHAPE},
    derived=_reshape_inputs,
)


# slice: the standard Slice.


def _slice_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,), attributes = inputs, attributes_of(node)
    axes = attributes["axes"]
    # Slice counts a negative end from the back; the end before index 0 has to lie before all of them.
    ends = [end if end >= 0 else -x.shape[axis] - 1 for axis, end in zip(axes, attributes["ends"], strict=True)]
    return {"starts": attributes["starts"], "stops": ends, "places": axes, "strides": attributes["steps"]}


SLICE_INTEGER = IntegerBody(
    text="""
  y = Slice(x, starts, stops, places, strides)
""",
    extra={"starts": SHAPE, "stops": SHAPE, "places": SHAPE, "strides": SHAPE},
    derived=_slice_inputs,
)

# transpose: the standard Transpose.

TRANSPOSE_INTEGER = IntegerBody(
    text="""
  y = Transpose<perm: ints = @perm>(x)
"""
)


# pad: the standard Pad with a constant code.


def _pad_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"places": attributes_of(node)["pads"], "padding": attributes_of(node)["value"]}


PAD_INTEGER = IntegerBody(
    text="""
  y = Pad(x, places, padding)
""",
    extra={"places": SHAPE, "padding": CODE},
    derived=_pad_inputs,
)

INTEGER_BODIES = {
    "concat": CONCAT_INTEGER,
    "flatten": FLATTEN_INTEGER,
    "reshape": RESHAPE_INTEGER,
    "slice": SLICE_INTEGER,
    "transpose": TRANSPOSE_INTEGER,
    "pad": PAD_INTEGER,
}
"""By op, its body in integer.onnx."""
