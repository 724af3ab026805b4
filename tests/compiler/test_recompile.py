"""A model that is compiled again after changes: always the program that a fresh compilation makes of it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from mfsim.compiler import compile_model
from mfsim.compiler.incremental.recompile import BLOCK, Recompiler
from mfsim.errors import FormatError, MfsimError, ModelError
from tests.compiler.files import QONNX, File


def network() -> onnx.ModelProto:
    """Return a chain of four products, each with weights and a bias that another one has too, and a sum around it."""
    rng = np.random.default_rng(0)
    file = File(x=(6,))
    weights = [file.weights(rng.normal(size=(6, 6)), -3, 5) for _ in range(2)]
    bias = file.quant(file.constant(np.rint(rng.normal(size=6) * 8) / 8, "bias"), -3, 8)
    x = file.quant("x", -4)
    for k in range(4):
        y = file.node("Add", file.mf("MFMatMul", x, weights[k % 2]) if k else file.node("MatMul", x, weights[0]), bias)
        x = file.quant(file.node("Add", x, file.quant(file.node("Relu", y), -3)), -4 + k, layer=f"layer{k}")
    return file.model(x)


def quantizers(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.domain == QONNX]


def put(model: onnx.ModelProto, name: str, values: object) -> str:
    """Give an initializer other values and return its name."""
    (tensor,) = (tensor for tensor in model.graph.initializer if tensor.name == name)
    tensor.CopyFrom(numpy_helper.from_array(np.array(values, dtype=np.float32), name))
    return name


def outcome(compiled) -> str:
    """Return the digest of a program, or the error instead."""
    try:
        return compiled().digest()
    except MfsimError as error:
        return f"{type(error).__name__}: {error}"


def test_any_changes_back_and_forth_give_the_program_of_a_fresh_compilation():
    model = network()
    recompiler, rng = Recompiler(model), np.random.default_rng(1)
    assert len(recompiler._steps) > 2 * BLOCK
    found, broken = [outcome(recompiler.program)], None
    for _ in range(60):
        node, changed = broken or quantizers(model)[rng.integers(len(quantizers(model)))], []
        if rng.random() < 0.8 or broken:
            broken = node if rng.random() < 0.1 and not broken else None
            changed.append(put(model, node.input[1], 0.3 if broken else 2.0 ** rng.integers(-5, -1)))
        if rng.random() < 0.5:
            changed.append(put(model, node.input[3], rng.integers(3, 9)))
        if rng.random() < 0.2:
            changed.append(put(model, "bias", np.rint(rng.normal(size=6) * 8) / 8))
        recompiler.change(changed)
        found.append(outcome(recompiler.program))
        assert found[-1] == outcome(lambda: compile_model(model))
    assert len(set(found)) > 30
    assert sum("Error" in text for text in found) > 3


def test_what_a_change_does_not_reach_is_the_same_object():
    model = network()
    recompiler = Recompiler(model)
    before = recompiler.program()
    last = next(node for node in reversed(quantizers(model)))
    recompiler.change([put(model, last.input[3], 5)])
    after = recompiler.program()
    assert after.digest() == compile_model(model).digest() != before.digest()
    (changed,) = (name for name, tensor in after.tensors.items() if tensor is not before.tensors[name])
    assert changed == last.output[0]
    assert [new.name for new, old in zip(after.nodes, before.nodes, strict=True) if new is not old] == [last.name]


def test_a_change_ends_where_it_makes_no_difference():
    model = network()
    weights = quantizers(model)[1]
    recompiler = Recompiler(model)
    recompiler.change([put(model, weights.input[3], 9)])  # from 9 bits on none saturates
    before = recompiler.program()
    recompiler.change([put(model, weights.input[3], 10)])
    after = recompiler.program()
    assert after.digest() == compile_model(model).digest() != before.digest()
    assert [name for name, t in after.tensors.items() if t is not before.tensors[name]] == [weights.output[0]]


def test_changes_that_change_nothing():
    model = network()
    recompiler = Recompiler(model)
    before = recompiler.program()
    model.metadata_props.add(key="a", value="b")
    recompiler.change([tensor.name for tensor in model.graph.initializer])
    after = recompiler.program()
    assert after.metadata["source"] == compile_model(model).metadata["source"] != before.metadata["source"]
    assert all(new is old for new, old in zip(after.nodes, before.nodes, strict=True))


def test_a_constant_that_is_no_number():
    model = network()
    recompiler = Recompiler(model)
    recompiler.program()
    put(model, "bias", [np.nan] * 6)
    with pytest.raises(ModelError, match=r"^initializer `bias` holds NaN$"):
        recompiler.change(["bias"])


def test_errors_are_those_of_the_node():
    model = network()
    recompiler, first = Recompiler(model), quantizers(model)[0]
    recompiler.program()
    recompiler.change([put(model, first.input[1], 0.3)])
    with pytest.raises(FormatError, match=rf"^node `{first.name}` .* the scale must be a power of two, not 0\.3"):
        recompiler.program()
    recompiler.change([put(model, first.input[1], 0.25)])
    assert recompiler.program().digest() == compile_model(model).digest()
