"""`WHT` and `WHTLayer`: the steps, sizes that are no power of two, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import WHT, WHTLayer


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def codes(*shape):
    return torch.randint(-8, 8, shape).float()


def hadamard(n):
    return np.array([[(-1.0) ** (i & j).bit_count() for j in range(n)] for i in range(n)])


def plain(layer, x):
    """Return WHT, soft threshold, MF product and inverse of rows x [..., n], from the definition."""
    n = x.shape[-1]
    q = n.bit_length() - 1
    y = x @ hadamard(n) / 2 ** (q // 2)
    t = layer.threshold.weight.detach().abs().numpy()
    y = np.sign(y) * np.maximum(np.abs(y) - t, 0)
    w = layer.product.weight.detach().numpy().T
    y = (np.sign(w) * y[..., None] + np.sign(y[..., None]) * w).sum(-2)
    if layer.product.bias is None:
        gain, offset = (v.numpy() for v in layer.norm.gain_and_offset())
        y = y * gain + offset
    else:
        y = y + layer.product.bias.detach().numpy()
    return y @ hadamard(n) / 2 ** ((q + 1) // 2)


def on_a_grid(layer):
    """Give `layer` parameters that are multiples of 1/8, so that float32 is exact."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randint(-16, 17, parameter.shape) / 8)
    return layer.eval()


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("residual", [True, False])
def test_layer_over_channels(norm, residual):
    layer, x = on_a_grid(WHTLayer(8, norm=norm, residual=residual)), codes(2, 8, 3, 2)
    rows = x.movedim(1, -1).numpy()
    expected = plain(layer, rows) + residual * rows
    assert np.array_equal(layer(x).detach().movedim(1, -1).numpy(), expected)
    features = WHTLayer(8, norm=norm, residual=residual, layout="features").eval()
    features.load_state_dict(layer.state_dict())
    assert torch.equal(features(x.movedim(1, -1)).movedim(-1, 1), layer(x))


def test_layer_over_the_plane():
    layer, x = on_a_grid(WHTLayer(3, (4, 8), over="plane", norm=False)), codes(2, 3, 4, 8)
    y = np.einsum("ab,ncbd,de->ncae", hadamard(4), x.numpy(), hadamard(8)) / 4
    t = layer.threshold.weight.detach().abs().numpy().reshape(4, 8)
    y = np.sign(y) * np.maximum(np.abs(y) - t, 0)
    w = layer.product.weight.detach().numpy()[None, :, :, None, None]  # [1, out, in, 1, 1]
    y = (np.sign(w) * y[:, None] + np.sign(y[:, None]) * w).sum(2) + layer.product.bias.detach().numpy()[:, None, None]
    y = np.einsum("ab,ncbd,de->ncae", hadamard(4), y, hadamard(8)) / 8
    assert np.array_equal(layer(x).detach().numpy(), x.numpy() + y)


def test_padded_channels_are_zeros_that_are_cut_off_again():
    layer, x = on_a_grid(WHTLayer(6, norm=False, size="pad")), codes(2, 6, 2, 2)
    rows = np.pad(x.movedim(1, -1).numpy(), [(0, 0)] * 3 + [(0, 2)])
    expected = (plain(layer, rows) + rows)[..., :6]
    assert np.array_equal(layer(x).detach().movedim(1, -1).numpy(), expected)


def test_blocks_are_transforms_of_their_own():
    layer, x = on_a_grid(WHTLayer(12, norm=False, size="block", threshold=0.0, residual=False)), codes(2, 12, 1, 1)
    assert layer.transform.block == 4
    blocks = x.reshape(2, 3, 4).numpy() @ hadamard(4) / 2
    assert np.array_equal(layer.transform(x.flatten(1)).numpy().reshape(2, 3, 4), blocks)
    assert layer(x).shape == x.shape


@pytest.mark.parametrize("size", ["pad", "block"])
def test_planes_that_are_no_power_of_two(size):
    layer, x = WHTLayer(2, (6, 12), over="plane", size=size), torch.randn(3, 2, 6, 12)
    assert layer(x).shape == x.shape
    assert layer.padded == ((8, 16) if size == "pad" else (6, 12))
    assert layer.transform.block == (0 if size == "pad" else 2)


def test_gradients_reach_every_parameter():
    layer = WHTLayer(4, (4, 4), over="plane")
    layer(torch.randn(5, 4, 4, 4)).square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


def test_every_step_is_a_named_submodule():
    names = [name for name, _ in WHTLayer(4).named_children()]
    assert names == ["entry", "transform", "threshold", "scaling", "product", "norm", "inverse"]


def test_transform_pads_or_cuts_on_request():
    x = codes(2, 6)
    assert torch.equal(WHT(size="pad")(x), WHT()(torch.nn.functional.pad(x, (0, 2))))
    assert torch.equal(WHT(size="block")(x), WHT(block=2)(x))
    assert torch.equal(WHT(size="pad")(codes(1, 8)[:0]), torch.empty(0, 8))


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (
            lambda: WHTLayer(12),
            ShapeError,
            "the length of a Walsh-Hadamard transform must be a power of two, not 12; "
            "use `size` pad (zeros up to 16) or block (blocks of 4)",
        ),
        (
            lambda: WHT()(torch.ones(1, 7)),
            ShapeError,
            "the length of a Walsh-Hadamard transform must be a power of two, not 7; use `size` pad (zeros up to 8)",
        ),
        (
            lambda: WHTLayer(4, (6, 8), over="plane"),
            ShapeError,
            "the length of a Walsh-Hadamard transform must be a power of two, not 6 x 8; "
            "use `size` pad (zeros up to 8 x 8) or block (blocks of 2)",
        ),
        (
            lambda: WHTLayer(7, size="block"),
            ShapeError,
            "no power of two above 1 divides 7, so it cannot be cut into blocks; use `size` pad",
        ),
        (lambda: WHT(size="zero"), FormatError, "`size` must be one of exact, pad, block, not 'zero'"),
        (
            lambda: WHTLayer(4, over="channel"),
            FormatError,
            "`over` must be one of channels, plane, not 'channel'; did you mean `channels`?",
        ),
        (
            lambda: WHTLayer(4, over="plane"),
            ShapeError,
            "a WHTLayer with `over` plane needs `plane` (rows, columns) and `layout` image",
        ),
        (
            lambda: WHTLayer(4, (4, 4), over="plane")(torch.ones(1, 4, 4, 8)),
            ShapeError,
            "a WHTLayer of 4 channels over plane (4, 4) does not suit x (1, 4, 4, 8)",
        ),
        (
            lambda: WHTLayer(4)(torch.ones(1, 8, 2, 2)),
            ShapeError,
            "a WHTLayer of 4 channels over channels (4,) does not suit x (1, 8, 2, 2)",
        ),
    ],
)
def test_refused(call, kind, sentence):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == sentence
