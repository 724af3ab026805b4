"""Layouts of token networks as torch's exporter writes them: every part keeps its values, for any batch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mfsim.compiler import compile_model
from mfsim.errors import ExportError
from mfsim.export.exporter import float_model, quantized_model
from mfsim.export.runtime import run, session
from mfsim.quant import Recipe, quantize


class Parts(nn.Module):
    def __init__(self, cut):
        super().__init__()
        self.linear, self.cut = nn.Linear(4, 12), cut

    def forward(self, x):
        return self.cut(self.linear(x))


def heads(y):
    return y.reshape(y.shape[0], -1, 3, 4)


CUTS = {
    "chunk": lambda y: y.chunk(3, -1),
    "split": lambda y: torch.split(y, [2, 7, 3], -1),
    "split-of-a-split": lambda y: torch.split(y, [2, 2, 8], -1)[2].chunk(3, 1),
    "unbind": lambda y: heads(y).unbind(2),
    "batch-moved": lambda y: tuple(heads(y).permute(2, 0, 3, 1)),
    "batch-moved-and-indexed": lambda y: tuple(heads(y).permute(2, 0, 1, 3)[k] for k in (2, 0)),
    "token": lambda y: y[:, 0],
    "last-tokens": lambda y: y[:, -2:],
    "joined": lambda y: torch.cat((y[..., 6:], y[..., :6]), -1),
}


@pytest.mark.parametrize("name", CUTS)
def test_parts_of_a_tensor(name):
    torch.manual_seed(0)
    model = Parts(CUTS[name])
    x = torch.randn(7, 3, 4)
    for module, write in ((model, float_model), (quantize(model, Recipe(), x), quantized_model)):
        proto = write(module, x)
        assert not {node.op_type for node in proto.graph.node} & {"SplitToSequence", "SequenceAt"}
        found = list(run(session(proto, False), x.numpy()).values())
        with torch.no_grad():
            expected = module(x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for values, wanted in zip(found, expected, strict=True):
            assert torch.allclose(torch.from_numpy(values), wanted, rtol=0, atol=1e-6)  # float32 sums of four terms
    assert compile_model(proto).outputs


def test_a_batch_that_became_a_constant():
    with pytest.raises(ExportError) as error:
        float_model(Parts(lambda y: y.reshape(len(y), 36)), torch.randn(7, 3, 4))
    assert str(error.value) == (
        "the batch of input `x` became a constant; in `forward`, write x.shape[0] in place of len(x)"
    )
