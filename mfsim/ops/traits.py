"""What the engines may know of an op besides its definition: traits, roles of inputs, and its form in model.onnx.

No engine asks for the name of an op in order to treat it in a special way: it asks for a `Trait`. So an op that is
added is treated rightly by all of them once its definition states the traits that hold.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Trait(enum.Enum):
    """A property of an op that an engine relies on."""

    VIEW = "view"
    """The result has the codes of the input in the same order: another shape or another scale, and nothing is computed."""

    LAYOUT = "layout"
    """Codes of the inputs, and perhaps zeros, in another order, number or shape, on an unchanged scale."""

    PERMUTES = "permutes"
    """A layout op that reorders the axes of its only input by `perm`."""

    SELECTS = "selects"
    """A layout op whose result is a part of its only input."""

    ANY_WORD = "any_word"
    """The plain kernel moves codes of any integer type, not of int64 alone."""

    RECTIFIES = "rectifies"
    """max(x, 0)."""

    CLIPS = "clips"
    """Limits codes to a range and leaves those inside it as they are."""

    MAX_POOL = "max_pool"
    """The greatest code of each window of a plane [N, C, H, W]; attributes `kernel`, `strides`, `pads`, `dilations`."""

    SUM_POOL = "sum_pool"
    """The sum of each window of a plane [N, C, H, W]; attributes `kernel`, `strides`, `pads`."""

    REQUANTIZES = "requantizes"
    """Brings each code into a word of another width or scale by rounding and an overflow rule, on its own."""

    EPILOGUE = "epilogue"
    """A requantization by shifts alone, by the attributes of `requantize`, that a fast kernel can do before it writes."""

    FUSES_EPILOGUE = "fuses_epilogue"
    """The fast kernel takes an epilogue as its last argument, and writes requantized codes instead of its results."""

    PRODUCT = "product"
    """Sums over terms of an activation and a weight, `w`, [K, O] or [O, C / groups, kh, kw], with an optional bias."""

    CONVOLUTION = "convolution"
    """A product over the windows of planes: the outputs are axis 1 of the result and axis 0 of the weights."""

    OUTPUTS_FIRST = "outputs_first"
    """Axis 0 of the weights in model.onnx has the outputs; otherwise the last axis has."""

    MULTIPLY_ACCUMULATE = "multiply_accumulate"
    """Sums of products of two codes: the multiplications of a linear layer, which the counting rule `paper` counts."""

    MF_TERMS = "mf_terms"
    """Terms sign(x) |w| + sign(w) |x| or sign(x) w + sign(w) x: a sign that flips near zero changes the result by a step."""

    DISTANCE = "distance"
    """Negative sums of absolute differences: large next to what a batch norm leaves of them."""

    JOINS_GRIDS = "joins_grids"
    """Sums lie on the finer one of the grids of x and w; otherwise on the product of both."""

    KEEPS_GRID = "keeps_grid"
    """Its layer has no quantizer of its own, and gets one behind it only where a recipe names the layer."""


FOLLOWERS = frozenset(
    {
        Trait.VIEW,
        Trait.PERMUTES,
        Trait.SELECTS,
        Trait.RECTIFIES,
        Trait.CLIPS,
        Trait.MAX_POOL,
        Trait.SUM_POOL,
        Trait.REQUANTIZES,
    }
)
"""Traits of ops that belong to the stage of what they read; see `mfsim.ir.stages`."""


class Role(enum.Enum):
    """What an input of an op is."""

    ACTIVATION = "activation"
    """A value that depends on the inputs of the network."""

    WEIGHT = "weight"
    """Learned factors: weights, gammas, rows of an embedding; in model.onnx they come from a quantizer."""

    BIAS = "bias"
    """Learned addends."""

    THRESHOLD = "threshold"
    """Learned thresholds on the grid of an activation."""

    GAIN = "gain"
    """Gains that are exact as they are: powers of two, or signed digits."""

    SCALE = "scale"
    """In model.onnx: the scale of an input or of the result, which follows from the quantizers around the op."""

    WEIGHT_SCALE = "weight_scale"
    """In model.onnx: the scale of weights that are read as codes."""

    BIT_WIDTH = "bit_width"
    """In model.onnx: the width of a word."""

    TABLE = "table"
    """Entries of a lookup table, addressed by codes."""

    STEPS = "steps"
    """Thresholds that are searched, or a table that is read at the result of such a search only: never a product."""

    FACTOR = "factor"
    """Fixed factors of a transform, such as cosines."""

    CONSTANT = "constant"
    """Any other integers that follow from widths, scales and shapes."""

    MASK = "mask"
    """0 where an entry is hidden, else 1."""


DERIVED = frozenset({Role.SCALE, Role.TABLE, Role.STEPS, Role.FACTOR, Role.CONSTANT})
"""Roles of constants in model.onnx that follow from words and scales, and are made again where these change."""

UNQUANTIZED = frozenset({Role.SCALE, Role.WEIGHT_SCALE, Role.BIT_WIDTH, Role.GAIN})
"""Roles of constants of model.onnx that are floats and come from no quantizer."""


DOMAIN = "org.mfsim"
"""The domain of the ops of model.onnx that are not standard."""

MASKED = "Masked"
"""In front of the op type of the form that takes a mask as its last input: an ONNX function has no optional inputs."""


@dataclass(frozen=True)
class Input:
    """An input of an op in model.onnx.

    Attributes
    ----------
    name : as the body reads it.
    role : what it is.
    initializer : what its initializer is called behind the path of the layer; None for its own name.
    unquantized : whether it may be a constant of floats that no quantizer has touched; None where its role says so.
    """

    name: str
    role: Role
    initializer: str | None = None
    unquantized: bool | None = None

    @property
    def stored(self) -> str:
        """What its initializer is called behind the path of the layer; "" for an activation, which has none."""
        if self.role in (Role.ACTIVATION, Role.MASK):
            return ""
        return self.name if self.initializer is None else self.initializer

    @property
    def may_be_float(self) -> bool:
        """Whether it may be a constant of floats that no quantizer has touched."""
        return self.role in UNQUANTIZED if self.unquantized is None else self.unquantized


X = Input("X", Role.ACTIVATION)
W = Input("W", Role.WEIGHT, "weight")
X_SCALE = Input("x_scale", Role.SCALE)
Y_SCALE = Input("y_scale", Role.SCALE)


@dataclass(frozen=True)
class Signature:
    """What an op of `org.mfsim` is called in model.onnx, and its inputs and attributes there.

    Attributes
    ----------
    op_type : its name.
    inputs : in order; without the mask.
    attributes : names, in the order of the body's head.
    masked : whether there is a second form, `Masked` in front of its name, with a mask as its last input.
    """

    op_type: str
    inputs: tuple[Input, ...] = (X,)
    attributes: tuple[str, ...] = ()
    masked: bool = False

    @property
    def op_types(self) -> tuple[str, ...]:
        """The name, and that of the masked form."""
        return (self.op_type, MASKED + self.op_type) if self.masked else (self.op_type,)

    @property
    def is_integer(self) -> bool:
        """Whether it computes on integer codes between the scales of its input and of its result."""
        return X_SCALE in self.inputs
