"""Every edge of a program is compared with the files, so that a code inside that differs is counted."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import ParityError
from mfsim.export.exporter import quantized_model
from mfsim.parity import edges
from mfsim.parity.edges import edge_pairs
from mfsim.parity.realisations import compare_realisations
from mfsim.serialize.write import integer_model
from mfsim.simulate import quantize_input
from tests.parity.test_realisations import reader


@pytest.fixture(scope="module")
def parts():
    """Return a program, its files and its inputs."""
    network, inputs = reader("qkk")
    found = compare_realisations(network, inputs, edges=False, threads=1)
    assert not [pair for pair in found.parity if "edge" in pair.name]
    values = {name: x.numpy() for name, x in zip(found.program.inputs, inputs, strict=True)}
    model = quantized_model(network, inputs)
    return found.program, model, integer_model(found.program), values, quantize_input(found.program, values)


def test_every_activation_is_compared_with_the_integer_file(parts):
    program, *_, codes = parts
    floats, integers = edge_pairs(*parts)
    assert (floats.mismatches, integers.mismatches) == (0, 0)
    samples = len(next(iter(codes.values())))
    inner = [t for name, t in program.tensors.items() if not t.is_constant and name not in program.inputs]
    assert integers.compared == samples * sum(tensor.sample_size for tensor in inner)
    assert samples * 24 < floats.compared <= integers.compared


def test_a_code_inside_that_differs_is_counted_once_for_each_file(parts, monkeypatch):
    program, model, *_ = parts
    written = {name for node in model.graph.node for name in node.output}
    inside = next(n.outputs[0] for n in program.nodes if n.outputs[0] in written - set(program.outputs))

    class Wrong(edges.Simulator):
        def run(self, *arguments, **options):
            found = super().run(*arguments, **options)
            found.kept[inside].reshape(-1)[3] += 1
            return found

    monkeypatch.setattr(edges, "Simulator", Wrong)
    assert [pair.mismatches for pair in edge_pairs(*parts)] == [1, 1]


def test_a_value_that_is_no_code_is_named(parts, monkeypatch):
    real = edges.run

    def off(session, inputs, **options):
        found = real(session, inputs, **options)
        name, values = next((n, v) for n, v in found.items() if v.dtype == np.float32)
        return {**found, name: values + np.float32(1e-4)}

    monkeypatch.setattr(edges, "run", off)
    with pytest.raises(ParityError) as error:
        edge_pairs(*parts)
    assert "has values that are no multiples of" in str(error.value)
