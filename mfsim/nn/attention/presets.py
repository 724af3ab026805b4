"""`PRESETS`: the attention units of four papers, and a few of our own, by name.

Combinations that no paper tried are `dataclasses.replace(PRESETS[...], ...)`. Sources:

    Learned Queries and Keys Are All You Need   arXiv 2609.36698
    Keyless Attention                           arXiv 2606.21848
    Reducing the Transformer to a Minimum       arXiv 2410.13732
    Structured Hadamard output projection       arXiv 2603.08343
"""

from __future__ import annotations

from dataclasses import replace

from mfsim.errors import UnsupportedOpError, did_you_mean
from mfsim.nn.attention.config import AttentionConfig

_QKV = AttentionConfig()
_QKK = replace(_QKV, value="key")
_MFQK = replace(_QKV, value="mf", normaliser="tanh_l1")
_QVV = replace(_QKV, key="value")
_WQK = replace(_QKV, heads=1, key="input")
_HADAMARD = replace(_QKV, output="hadamard")

PRESETS: dict[str, AttentionConfig] = {
    # Learned Queries and Keys
    "qkv": _QKV,
    "qkk": _QKK,
    "qk-dctk": replace(_QKK, value_transform="dct"),
    "qk-whtk": replace(_QKK, value_transform="wht"),
    "qk-dftk": replace(_QKK, value_transform="dft"),
    "qk-mfqk": _MFQK,
    "qk-mfqk-ef": replace(_MFQK, value_form="ef"),
    "qk-sk": replace(_QKK, value_transform="filterbank"),
    "q-sk-sk": replace(_QKK, key_transform="filterbank", value_transform="filterbank"),
    "sq-sk-k": replace(_QKK, query_transform="filterbank", key_transform="filterbank"),
    "sq-sk-sk": replace(_QKK, query_transform="filterbank", key_transform="filterbank", value_transform="filterbank"),
    # Keyless
    "qvv2": _QVV,
    "qvv3": replace(_QVV, chain=1),
    "qvv4": replace(_QVV, chain=2),
    "qvv4relu": replace(_QVV, chain=2, chain_relu=True),
    "qkv3": replace(_QKV, chain=1),
    "gqa": replace(_QKV, kv_heads=2),
    # Minimum
    "wqk": _WQK,
    "wqk-novo": replace(_WQK, value="input", output="none"),
    "symmetric": replace(_QKV, key="query"),
    "cholesky": replace(_QKV, heads=1, query="triangular", key="query"),
    "collapsed-vo": replace(_WQK, output="none"),
    "chained-vo": replace(_WQK, value="input", output="chained"),
    # Hadamard output
    "hadamard-o": _HADAMARD,
    "hadamard-o-pad": replace(_HADAMARD, hadamard_size="pad"),
    "hadamard-o-block": replace(_HADAMARD, hadamard_size="block"),
    "hadamard-o-pow2": replace(_HADAMARD, alpha="power-of-two"),
    # Ours: products of two activations without multiplications
    "mf-scores": replace(_QKV, similarity="mf"),
    "mf-aggregate": replace(_QKV, aggregation="mf"),
    "mf-attention": AttentionConfig(
        projection="mf",
        projection_norm="shift-batch",
        similarity="mf",
        normaliser="tanh_l1",
        normaliser_form="shift",
        aggregation="mf",
        output="mf",
    ),
}
"""Units by name, with 4 heads; with 1 where the paper has one."""


def attention_config(attention: str | AttentionConfig) -> AttentionConfig:
    """Return the unit of that name, or `attention` itself.

    Parameters
    ----------
    attention : str or AttentionConfig
        A key of `PRESETS`, or a unit.

    Returns
    -------
    AttentionConfig

    Raises
    ------
    UnsupportedOpError
        If there is no such preset.
    """
    if isinstance(attention, AttentionConfig):
        return attention
    if attention not in PRESETS:
        raise UnsupportedOpError(
            f"`attention` must be an AttentionConfig or one of {', '.join(PRESETS)}, "
            f"not {attention!r}{did_you_mean(str(attention), PRESETS)}"
        )
    return PRESETS[attention]
