"""Norms in a file: what a node must state, and which statements are refused."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.compiler import compile_model
from mfsim.errors import FormatError, MfsimError, ModelError
from tests.compiler.files import File, assert_like_runtime, images

VALUES = np.array([1.0, -0.5, 0.75, 1.5], dtype=np.float32)
STATED = {"x_scale": 2.0**-4, "gamma_scale": 2.0**-6, "eps": 500, "guard": 128, "recip_one": 2**30, "y_scale": 2.0**-5}
INTEGERS = ("eps", "guard", "recip_one", "thresholds", "gain")


def norm(op, **changed):
    """Return a file with one norm of a quantized input [4] and a Quant behind it."""
    file, given = File(x=(4,)), STATED | {"thresholds": [4, 9, 18, 37], "gain": [256, 64, 512, 256]} | changed
    x = file.quant("x", -4)

    def parameter(name):
        exponent = given.get(f"{name}_exponent", {"gamma": -6, "beta": -5}[name])
        values = file.constant(VALUES)
        return values if exponent is None else file.quant(values, exponent, 8)

    def of(name):
        if name in ("gamma", "beta"):
            return parameter(name)
        return file.constant(given[name], dtype=np.int64 if name in INTEGERS else np.float32)

    if op.startswith("Shift"):
        names = ["x_scale", "gain", "beta", "thresholds", "y_scale"]
    else:
        names = ["x_scale", "gamma", "gamma_scale", *["beta"] * op.startswith("Layer"), "eps", "guard"]
        names += [*["recip_one"] * op.endswith("Recip"), "y_scale"]
    y = file.mf(op, x, *(of(name) for name in names))
    return file.model(file.quant(y, -5))


@pytest.mark.parametrize("op", ["LayerNorm", "LayerNormRecip", "RMSNorm", "RMSNormRecip", "ShiftNormL1", "ShiftNormL2"])
def test_norm(op):
    program = assert_like_runtime(norm(op), images((4,)))
    node = program.nodes[0]
    assert node.attributes["fraction"] == 5
    if op.startswith("Shift"):
        assert node.attributes["exponents"] == (0, -2, 1, 0)
        assert program.tensors[node.inputs[1]].codes.tolist() == [4, 9, 18, 37]
    else:
        assert (node.attributes["guard"], node.attributes["eps"]) == (7, 500)
        assert program.tensors[node.inputs[1]].codes.tolist() == [64, -32, 48, 96]
    assert node.attributes.get("reciprocal", 30) == 30


@pytest.mark.parametrize(
    ("op", "changed", "error", "message"),
    [
        ("LayerNorm", {"x_scale": 0.5}, FormatError, "the scale of x must be 2^-4, not 2^-1"),
        ("LayerNorm", {"x_scale": 0.3}, FormatError, "the scale of x must be a power of two, not 0.30000001192092896"),
        (
            "RMSNorm",
            {"gamma_scale": 2.0**-5},
            FormatError,
            "gamma must be quantized on the scale 2^-5, not 2^-6",
        ),
        (
            "RMSNorm",
            {"gamma_exponent": None},
            ModelError,
            "gamma must come from a Quant, not from the constant `c4`",
        ),
        (
            "LayerNormRecip",
            {"beta_exponent": -4},
            FormatError,
            "beta must be quantized on the scale 2^-5, not 2^-4",
        ),
        ("LayerNorm", {"guard": 100}, FormatError, "the guard must be a power of two, not 100"),
        ("LayerNorm", {"eps": [1, 2]}, FormatError, "eps must be one number, not of the shape (2,)"),
        (
            "RMSNormRecip",
            {"recip_one": 0},
            FormatError,
            "the dividend of the reciprocal must be a power of two, not 0",
        ),
        ("ShiftNormL1", {"gain": [256, 3, 1, 1]}, FormatError, "the gain must hold powers of two, not 3"),
        ("ShiftNormL2", {"thresholds": [[4]]}, FormatError, "the thresholds must have one axis, not 2"),
        (
            "ShiftNormL2",
            {"y_scale": 2.0**-4},
            FormatError,
            "beta must be quantized on the scale 2^-4, not 2^-5",
        ),
    ],
)
def test_what_a_norm_states_must_hold(op, changed, error, message):
    with pytest.raises(MfsimError) as caught:
        compile_model(norm(op, **changed))
    assert isinstance(caught.value, error)
    assert str(caught.value).endswith(f": {message}")
    assert str(caught.value).startswith("node `")
