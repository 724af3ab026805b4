"""The body of an op in integer.onnx, run by stock ONNX Runtime: the reference's codes."""

from __future__ import annotations

import functools

import onnx

from mfsim.export.runtime import session
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from tests.bits import assert_bit_equal
from tests.serialize.running import run_session


def checks(given):
    if "integer" in given.op.realisations:
        model = integer_model(given.program)
        yield "integer.onnx", functools.partial(check_model, model=model)
        for optimised in (False, True):
            yield (
                f"integer.onnx, {'' if optimised else 'not '}optimised",
                functools.partial(check, model=model, optimised=optimised),
            )


def check_model(given, model):
    onnx.checker.check_model(model, full_check=True)
    assert read_integer(model).digest() == given.program.digest()


def check(given, model, optimised):
    opened = session(model, optimised)
    names = given.program.inputs
    outputs = run_session(opened, dict(zip(names, given.arrays, strict=True)))
    empty = run_session(opened, {name: a[:0] for name, a in zip(names, given.arrays, strict=True)})
    for name, codes in zip(given.node.outputs, given.expected, strict=True):
        assert_bit_equal(outputs[name], codes, name)
        assert_bit_equal(empty[name], codes[:0], f"{name} of an empty batch")
