"""The check: it passes on what it should, and each limit fails for its own reason."""

from __future__ import annotations

import copy
import functools
import json

import numpy as np
import pytest
import torch
from onnx import helper, numpy_helper
from torch import nn

from mfsim.errors import DataError, ModelError
from mfsim.export.check import check
from mfsim.export.check_report import Limits
from mfsim.export.exporter import float_model, quantized_model
from mfsim.export.near_zero_signs import sign_ties
from mfsim.nn import MFLinear
from mfsim.quant import Recipe, fold, quantize
from tests.quant.networks import NETWORKS, images, settled


@functools.cache
def material(name="wht-cnn"):
    """Return the folded and the quantized network and their files, which the tests do not change."""
    folded = fold(settled(NETWORKS[name]()), images(2))
    network = quantize(folded, Recipe(), images())
    return folded, network, float_model(folded, images(2)), quantized_model(network, images(2))


def changed(model, name, change):
    """Return a copy of `model` with the initializer `name` changed."""
    model = copy.deepcopy(model)
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(tensor)).astype(np.float32), name))
            return model
    raise KeyError(name)


def test_a_good_export_passes_and_every_layer_has_its_error():
    report = check(*material(), images(40, 5), limits=Limits(sqnr_db=3.0))
    assert report.passed, report.reasons
    assert [parity.optimised for parity in report.floats] == [True, False]
    assert [(parity.compared, parity.mismatches, parity.worst) for parity in report.codes] == [(200, 0, 0)] * 2
    assert [output.name for output in report.outputs] == ["output"]
    names = [layer.name for layer in report.layers]
    assert names == [
        "0",
        "1",
        "2",
        "3",
        "4.transform",
        "4.threshold",
        "4.product",
        "4.norm",
        "4.inverse",
        "4",
        "5",
        "6",
        "7",
    ]
    first = report.layers[0].figures
    assert first.count == 40 * 8 * 64
    assert first.sqnr_db > 20
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["passed"] is True


def test_errors_by_layer_are_those_of_the_torch_networks():
    folded, network, *files = material()
    report = check(folded, network, *files, images(40, 5))
    seen = {}
    for key, model in (("float", folded), ("quantized", network.model)):
        hook = model[3].register_forward_hook(lambda module, arguments, result, key=key: seen.update({key: result}))
        model(images(40, 5))
        hook.remove()
    difference = (seen["float"] - seen["quantized"]).abs().detach().double()
    (figures,) = [layer.figures for layer in report.layers if layer.name == "3"]
    assert figures.max_abs == pytest.approx(float(difference.max()), rel=1e-5)
    assert figures.mean_abs == pytest.approx(float(difference.mean()), rel=1e-5)


def test_progress_reaches_the_end():
    steps = []
    check(*material(), images(10), batch_size=4, progress=lambda what, done, total: steps.append((what, done, total)))
    assert [step for step in steps if step[0] == "layers"] == [("layers", 4, 10), ("layers", 8, 10), ("layers", 10, 10)]
    assert steps[0] == ("float.onnx", 0, 20)


def test_codes_that_differ_fail_with_their_number():
    folded, network, floats, model = material()
    wrong = changed(model, "7.bias_quant.scale", lambda scale: scale * 8)
    report = check(folded, network, floats, wrong, images(20))
    assert not report.passed
    assert report.codes[0].mismatches > 0
    assert report.reasons[0] == (
        f"model.onnx with optimisations on differs from the quantized model in {report.codes[0].mismatches} of 100 "
        f"output codes, by up to {report.codes[0].worst} LSB"
    )
    assert check(folded, network, floats, wrong, images(20), limits=Limits(code_mismatches=100)).passed


def test_one_code_that_differs_by_one_fails():
    folded, network, floats, model = material()
    wrong = copy.deepcopy(model)
    (output,) = (node for node in wrong.graph.node if "output" in node.output)
    output.output[list(output.output).index("output")] = "before"
    step = np.zeros((20, 5), np.float32)
    step[3, 1] = float(network.output_quant[0].scale)
    wrong.graph.initializer.append(numpy_helper.from_array(step, "step"))
    wrong.graph.node.append(helper.make_node("Add", ["before", "step"], ["output"]))
    report = check(folded, network, floats, wrong, images(20))
    assert [(codes.compared, codes.mismatches, codes.worst) for codes in report.codes] == [(100, 1, 1)] * 2
    assert report.reasons == tuple(
        f"model.onnx with optimisations {which} differs from the quantized model in 1 of 100 output codes, by up to 1 LSB"
        for which in ("on", "off")
    )


def test_values_that_differ_fail_and_are_no_ties():
    folded, network, floats, model = material()
    wrong = changed(floats, "7.bias", lambda bias: bias + 0.01)
    report = check(folded, network, wrong, model, images(20))
    assert report.floats[0].failures == tuple(range(20))
    assert report.floats[0].ties == ()
    assert report.reasons[0] == (
        "float.onnx with optimisations on differs from the float model by more than 1e-05 of the largest output "
        "on 20 of 20 samples, first on sample 0"
    )


def test_a_file_that_gives_nan_fails():
    folded, network, floats, model = material()
    wrong = changed(floats, "7.bias", lambda bias: bias * np.nan)
    with pytest.raises(DataError, match=r"^the reference of output `output` must be finite, and 20 values are not$"):
        check(folded, network, wrong, model, images(4))


def test_limits_on_the_quantized_network():
    folded, network, floats, model = material()
    report = check(folded, network, floats, model, images(40, 5), limits=Limits(top1=1.01, sqnr_db=200.0))
    assert report.codes[0].mismatches == 0
    assert len(report.reasons) == 2
    assert "agrees with the float model in" in report.reasons[0]
    assert report.reasons[1].endswith("dB; 200.0 dB are wanted")


class Ties(nn.Module):
    """Sums that are zero up to rounding meet a sign; torch and the file add them in opposite orders."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 1, bias=False), MFLinear(1, 1)
        with torch.no_grad():
            self.first.weight.copy_(torch.tensor([[1.0, 1.0, -1.0]]))
            self.second.weight.fill_(5.0)

    def forward(self, x):
        a, b, c = x.split(1, 1)
        exporting = torch.onnx.is_in_onnx_export()
        x = torch.cat([a, b, c] if exporting else [b, a, c], 1)
        first = (x[:, :1] + x[:, 1:2]) - x[:, 2:] if exporting else x[:, :1] + (x[:, 1:2] - x[:, 2:])
        return self.second(first)


def test_a_sign_that_flips_within_rounding_of_zero_is_a_tie():
    # 0.1 + 0.2 - 0.3 is 1.2e-8 in one order of float32 and 0 in the other; the MF product jumps by 5.
    x = torch.tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3], [3.0, 1.0, 9.0]]).repeat(20, 1)
    x[3:, :] = x[0]
    network = quantize(nn.Sequential(MFLinear(3, 1)), Recipe(), x)
    module, files = Ties(), (float_model(Ties(), x), quantized_model(network, x))
    report = check(module, network, *files, x, limits=Limits(sign_ties=0.02))
    for parity in report.floats:
        assert parity.ties == (1,)
        assert parity.failures == ()
        assert parity.worst > 0.1
    strict = check(module, network, *files, x)
    assert strict.reasons[0] == "float.onnx with optimisations on has 1 sign ties in 60 samples; 0.50% are allowed"


def test_a_sign_that_flips_far_from_zero_is_no_tie():
    x = torch.tensor([[1.0, 2.0, 0.5], [3.0, 1.0, 9.0]])
    network = quantize(nn.Sequential(MFLinear(3, 1)), Recipe(), x)
    module = Ties()
    with torch.no_grad():
        module.second.weight.neg_()
    report = check(module, network, float_model(Ties(), x), quantized_model(network, x), x)
    assert report.floats[0].ties == ()
    assert report.floats[0].failures == (0, 1)


class Moved(nn.Module):
    """The operand of a product, off by a constant."""

    def __init__(self, offset):
        super().__init__()
        self.product = MFLinear(1, 1)
        self.offset = offset

    def forward(self, x):
        return self.product(x + self.offset)


@pytest.mark.parametrize(("offset", "ties"), [(0.9e-5, (0,)), (1.1e-5, ()), (1e-3, ())])
def test_within_rounding_of_zero_is_a_hundred_thousandth_of_the_largest_operand(offset, ties):
    x = torch.tensor([[0.0], [1.0]])
    assert sign_ties(float_model(Moved(-offset), x), Moved(offset), (x,), (0,), optimise=True) == ties


def test_samples_and_files_that_do_not_suit():
    folded, network, floats, model = material()
    with pytest.raises(DataError, match=r"^a check needs at least one sample$"):
        check(folded, network, floats, model, images(4)[:0])
    other = float_model(nn.Sequential(nn.Flatten(), MFLinear(64, 3)), images(2))
    shapes = r"\[\(4, 3\)\], and its torch model \[\(4, 5\)\]"
    with pytest.raises(ModelError, match=rf"^the file has outputs of the shapes {shapes}$"):
        check(folded, network, other, model, images(4))
