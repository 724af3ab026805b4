"""While torch exports, each operation leaves one node of `org.mfsim`, with its options as attributes."""

from __future__ import annotations

import warnings

import onnx
import torch
from torch import nn

from mfsim.nn import functional


class Everything(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.square = nn.Parameter(torch.randn(4, 1, 3, 3)), nn.Parameter(torch.randn(4, 4))
        self.register_buffer("vector", torch.ones(4))
        self.register_buffer("entries", torch.arange(16))

    def forward(self, x):
        x = functional.mf_conv2d(x, self.conv, stride=(1, 2), padding=(0, 1, 2, 3), groups=1, form="abs", sign_zero=1)
        x = functional.sum_pool2d(x, (2, 4), 2, (1, 0))
        x = functional.wht(x.movedim(1, -1), order="sequency", norm="shift", inverse=True)
        x = functional.soft_threshold(x, self.vector)
        x = functional.mf_matmul(x, self.square, grid="shared")
        x = functional.mf_mul(x, self.vector)
        x = functional.shift(x, self.vector)
        x = functional.accumulator(x, 0.25, 8, overflow="wrap", signed=False)
        return functional.table(x, 0.25, self.entries, -8, 2.0)


def test_one_node_each():
    model, x = Everything().eval(), torch.randn(2, 1, 8, 8)
    batch = {"x": {0: torch.export.Dim("batch")}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's exporter about itself
        program = torch.onnx.export(
            model, (x,), dynamo=True, optimize=False, opset_version=20, dynamic_shapes=batch, verbose=False
        )
    nodes = [node for node in program.model_proto.graph.node if node.domain]
    assert {node.domain for node in nodes} == {functional.DOMAIN}
    mf = {"form": b"ef", "sign_zero": 0, "grid": b"split"}
    assert [(n.op_type, {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}) for n in nodes] == [
        (
            "MFConv",
            {
                "form": b"abs",
                "sign_zero": 1,
                "grid": b"split",
                "strides": [1, 2],
                "pads": [0, 1, 2, 3],
                "dilations": [1, 1],
                "group": 1,
            },
        ),
        ("SumPool", {"kernel_shape": [2, 4], "strides": [2, 2], "pads": [1, 0, 1, 0]}),
        ("WHT", {"block": 0, "dims": 1, "order": b"sequency", "norm": b"shift", "inverse": 1}),
        ("SoftThreshold", {}),
        ("MFMatMul", mf | {"grid": b"shared"}),
        ("MFMul", mf),
        ("Shift", {}),
        ("Accumulator", {"overflow": b"wrap", "signed": 0}),
        ("Table", {}),
    ]
    assert [len(node.input) for node in nodes] == [2, 1, 1, 2, 2, 2, 2, 3, 5]
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in program.model_proto.graph.value_info}
    shapes |= {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in program.model_proto.graph.output}
    assert [shapes[node.output[0]][1:] for node in nodes] == [list(s) for s in _shapes(model, x)]


def _shapes(model, x):
    """Return the shapes, without batch, that the same operations have in eager mode."""
    convolved = functional.mf_conv2d(x, model.conv, stride=(1, 2), padding=(0, 1, 2, 3))
    pooled = functional.sum_pool2d(convolved, (2, 4), 2, (1, 0))
    assert model(x).shape == pooled.movedim(1, -1).shape
    return [convolved.shape[1:], pooled.shape[1:]] + [pooled.movedim(1, -1).shape[1:]] * 7
