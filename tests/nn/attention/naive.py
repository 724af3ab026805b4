"""Every preset in numpy float64, as its paper writes it: one head at a time, one formula for each unit.

`unit` is an `Attention`, whose weights are read; nothing else of it runs.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.linalg

SHEARLET = ("qk-sk", "q-sk-sk", "sq-sk-k", "sq-sk-sk")


def array(tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def linear(layer, x):
    y = x @ array(layer.weight).T
    return y if layer.bias is None else y + array(layer.bias)


def softmax(scores, causal=False):
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) > 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def tanh_l1(scores, causal=False):
    t = np.tanh(scores) * (np.tril(np.ones(scores.shape[-2:])) if causal else 1)
    return t / (1e-6 + np.abs(t).sum(-1, keepdims=True))


def mf(a, b, form):
    if form == "abs":
        return np.sign(a) * np.abs(b) + np.sign(b) * np.abs(a)
    return np.sign(b) * a + np.sign(a) * b


def mf_product(a, b):
    """Return the ef matrix product of a [..., M, K] and b [..., K, O]."""
    return mf(a[..., :, :, None], b[..., None, :, :], "ef").sum(-2)


def shearlet(bank, head, x):
    """Return patches filtered by an FFT over the grid; the class token passes."""
    from mfsim.nn.filterbank import filters

    weights = np.exp(array(bank.fusion)[head])
    fused = np.tensordot(weights / weights.sum(), filters(bank.grid), 1)
    image = x[:, bank.passing :].reshape(len(x), bank.grid, bank.grid, -1)
    spectrum = np.fft.fft2(image, axes=(1, 2)) * fused[None, :, :, None]
    patches = np.fft.ifft2(spectrum, axes=(1, 2)).real.reshape(len(x), bank.grid**2, -1)
    return np.concatenate([x[:, : bank.passing], patches], 1)


def head_output(name, unit, head, x):
    """Return what head `head` of the preset `name` gives for x [N, T, width], shape [N, T, n]."""
    n, config = unit.n, unit.config
    group = head * config.groups // config.heads
    own, shared = slice(head * n, head * n + n), slice(group * n, group * n + n)

    def q():
        return linear(unit.query, x)[..., own]

    def k():
        return linear(unit.key, x)[..., shared]

    def v():
        return linear(unit.value, x)[..., shared]

    def remap(y, number):
        return y @ array(unit.chain[number].weight)[own, :, 0, 0].T

    def attend(queries, keys, values):
        return softmax(queries @ keys.swapaxes(1, 2) / np.sqrt(n), config.causal) @ values

    def bank(y):
        return shearlet(unit.key_transform or unit.value_transform, head, y)

    if name.startswith("hadamard-o") or name in ("qkv", "gqa"):
        return attend(q(), k(), v())
    if name == "qkk":
        return attend(q(), k(), k())
    if name == "qk-dctk":
        return attend(q(), k(), scipy.fft.dct(k(), norm="ortho"))
    if name == "qk-whtk":
        gain = 2.0 ** -(int(np.log2(n)) // 2)
        return attend(q(), k(), k() @ scipy.linalg.hadamard(n) * gain)
    if name == "qk-dftk":
        return attend(q(), k(), np.abs(scipy.fft.fft(k(), norm="ortho")))
    if name in ("qk-mfqk", "qk-mfqk-ef"):
        form = "ef" if name.endswith("ef") else "abs"
        return tanh_l1(q() @ k().swapaxes(1, 2) / np.sqrt(n), config.causal) @ mf(q(), k(), form)
    if name == "qk-sk":
        return attend(q(), k(), bank(k()))
    if name == "q-sk-sk":
        return attend(q(), bank(k()), bank(k()))
    if name == "sq-sk-k":
        return attend(bank(q()), bank(k()), k())
    if name == "sq-sk-sk":
        return attend(bank(q()), bank(k()), bank(k()))
    if name == "qvv2":
        return attend(q(), v(), v())
    if name == "qvv3":
        return attend(remap(q(), 0), v(), v())
    if name == "qvv4":
        return attend(remap(remap(q(), 0), 1), v(), v())
    if name == "qvv4relu":
        return attend(remap(np.maximum(remap(q(), 0), 0), 1), v(), v())
    if name == "qkv3":
        return attend(remap(q(), 0), k(), v())
    if name in ("wqk", "collapsed-vo"):
        return attend(q(), x, v())
    if name in ("wqk-novo", "chained-vo"):
        return attend(q(), x, x)
    if name == "symmetric":
        return attend(q(), q(), v())
    if name == "cholesky":
        t = x @ array(unit.query.matrix())
        return attend(t, t, v())
    if name == "mf-scores":
        return softmax(mf_product(q(), k().swapaxes(1, 2)) / np.sqrt(n)) @ v()
    if name == "mf-aggregate":
        return mf_product(softmax(q() @ k().swapaxes(1, 2) / np.sqrt(n)), v())
    raise KeyError(name)


def output(name, unit, x):
    """Return the whole unit's output for x [N, T, width]."""
    heads = np.concatenate([head_output(name, unit, head, x) for head in range(unit.config.heads)], -1)
    if name.startswith("hadamard-o"):
        width = heads.shape[-1]
        length = 1 << (width - 1).bit_length() if name.endswith("pad") else width & -width
        padded = np.pad(heads, ((0, 0), (0, 0), (0, -width % length)))
        blocks = padded.reshape(*padded.shape[:2], -1, length) @ scipy.linalg.hadamard(length)
        mixed = blocks.reshape(padded.shape)[..., :width] * 2.0 ** -((length.bit_length() - 1) // 2)
        return mixed * array(unit.affine.gains()) + array(unit.affine.beta)
    if name in ("wqk-novo", "collapsed-vo", "chained-vo"):
        return heads
    return linear(unit.output, heads)
