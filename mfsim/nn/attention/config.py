"""`AttentionConfig`: an attention unit as orthogonal parts, and what parts do not suit each other.

    Q, K, V      each a projection of x, another of the three, or x itself
    transforms   of Q and K before the scores, of V before the aggregation
    scores       similarity(Q, K), then the normaliser over each row
    result       aggregation(weights, V), heads side by side, then the output

`mfsim.nn.attention.PRESETS` has the units of the literature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mfsim.errors import FormatError, ShapeError, UnsupportedOpError, did_you_mean
from mfsim.nn import functional
from mfsim.nn.filterbank import FORMS as FILTERBANK_FORMS
from mfsim.nn.fourier import DCT_FORMS, DFT_FORMS
from mfsim.nn.gains import ALPHAS
from mfsim.nn.projections import KINDS
from mfsim.nn.softmax import SOFTMAX_FORMS, TANH_L1_FORMS
from mfsim.nn.wht import SIZES
from mfsim.ops.products import FORMS

PROJECTIONS = KINDS
QUERIES = ("projection", "triangular", "input")
KEYS = ("projection", "query", "value", "input")
VALUES = ("projection", "key", "mf", "input")
TRANSFORMS = ("none", "dct", "wht", "dft", "filterbank")
PRODUCTS = ("dot", "mf")
NORMALISERS = {"softmax": SOFTMAX_FORMS, "tanh_l1": TANH_L1_FORMS}
OUTPUTS = (*KINDS, "hadamard", "none", "chained")
PROJECTION_NORMS = ("none", "shift-batch")
MIXING = ("filterbank",)
"""Transforms that mix tokens."""


@dataclass(frozen=True)
class AttentionConfig:
    """The parts of an attention unit; every combination that the checks let pass can be built.

    Raises
    ------
    FormatError
        If a part has an unknown value.
    ShapeError
        If a number is too small, or `heads` is no multiple of `kv_heads`.
    UnsupportedOpError
        If two parts contradict each other.
    """

    heads: int = 4
    kv_heads: int | None = None
    """Heads of keys and values, each for heads / kv_heads heads of queries; None: as many as `heads`."""
    projection: str = "dense"
    """What kind the projections of Q, K and V are: dense, mf or power-of-two."""
    projection_norm: str = "none"
    """Norm behind each projection, the output's too: none, or shift-batch (`ShiftBatchNorm1d`)."""
    query: str = "projection"
    """Q: a projection of x, a triangular one (the Cholesky factor), or the input x itself."""
    chain: int = 0
    """Number of matrices W_R, n x n for each head, behind the projection of Q."""
    chain_relu: bool = False
    """Whether a ReLU stands in front of the last W_R."""
    key: str = "projection"
    """K: a projection of x, Q's projection (query), V (value), or the input x itself."""
    value: str = "projection"
    """V: a projection of x, K (key), the element-wise MF operator of Q and K (mf), or the input x itself."""
    value_form: str = "abs"
    """Form of that element-wise operator: ef or abs."""
    query_transform: str = "none"
    key_transform: str = "none"
    value_transform: str = "none"
    """Of each head's features (dct, wht, dft), or of its patches over their grid (filterbank)."""
    dct_form: str = "dense"
    """What a cosine transform is when quantized: dense, fast or csd (`mfsim.nn.DCT`)."""
    dft_form: str = "root"
    """How Fourier magnitudes are taken: root, alpha-beta or csd (`mfsim.nn.DFTMagnitude`)."""
    filterbank_form: str = "product"
    """What a filterbank is when quantized: product, fft or csd (`mfsim.nn.Filterbank`)."""
    normalise_filters: bool = False
    """Whether a filterbank's gains are divided by the largest."""
    rope: bool = False
    """Whether queries and keys are rotated by their positions; values never are."""
    rope_base: float = 10000.0
    similarity: str = "dot"
    normaliser: str = "softmax"
    """softmax or tanh_l1; the factor 1 / sqrt(n) of the scores belongs to it."""
    normaliser_form: str = "division"
    causal: bool = False
    aggregation: str = "dot"
    output: str = "dense"
    """W_O dense, mf or power-of-two, hadamard (transform across all heads, then alpha and beta for each channel), none, or
    chained (none here: the model has one W_VO behind all its units)."""
    hadamard_size: str = "exact"
    """For a width that is no power of two: an error (exact), pad, or block."""
    alpha: str = "free"
    """Gains behind the transform: free, or power-of-two."""
    bias: bool = True
    """Of the projections of Q, K and V."""
    output_bias: bool | None = None
    """Of W_O; None: as `bias`."""
    form: str = "ef"
    """Of MF products and projections: ef or abs."""
    sign_zero: int = 0
    grid: str = "split"

    def __post_init__(self) -> None:
        choices: dict[str, Sequence[str]] = {
            "projection": PROJECTIONS,
            "projection_norm": PROJECTION_NORMS,
            "query": QUERIES,
            "key": KEYS,
            "value": VALUES,
            "query_transform": TRANSFORMS,
            "key_transform": TRANSFORMS,
            "value_transform": TRANSFORMS,
            "dct_form": DCT_FORMS,
            "dft_form": DFT_FORMS,
            "filterbank_form": FILTERBANK_FORMS,
            "similarity": PRODUCTS,
            "normaliser": tuple(NORMALISERS),
            "aggregation": PRODUCTS,
            "output": OUTPUTS,
            "hadamard_size": SIZES,
            "alpha": ALPHAS,
            "value_form": FORMS,
        }
        for name, allowed in choices.items():
            _check_choice(name, getattr(self, name), allowed)
        _check_choice("normaliser_form", self.normaliser_form, NORMALISERS[self.normaliser])
        functional.mf_attributes(self.form, self.sign_zero, self.grid)
        for name, least in (("heads", 1), ("chain", 0), ("groups", 1)):
            number = getattr(self, name)
            if not isinstance(number, int) or number < least:
                shown = "kv_heads" if name == "groups" else name
                raise ShapeError(f"`{shown}` of an attention unit must be an int of at least {least}, not {number!r}")
        if self.heads % self.groups:
            fitting = ", ".join(str(k) for k in range(1, self.heads + 1) if self.heads % k == 0)
            raise ShapeError(f"`kv_heads` must divide `heads`, which is {self.heads}: {fitting}, not {self.groups}")
        self._check_sources()
        self._check_order()

    @property
    def groups(self) -> int:
        """Heads of keys and values."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def mf_options(self) -> dict[str, Any]:
        """Options of MF products and layers."""
        return {"form": self.form, "sign_zero": self.sign_zero, "grid": self.grid}

    @property
    def transforms(self) -> dict[str, str]:
        """The transforms that are not none, by the name of their part."""
        parts = ("query_transform", "key_transform", "value_transform")
        return {part: getattr(self, part) for part in parts if getattr(self, part) != "none"}

    @property
    def cached(self) -> tuple[str, str]:
        """From which rows K and V are made when tokens are decoded with a cache: key, value or input."""
        key = "input" if self.key == "input" else "key"
        if self.value == "key" or self.key == "value":
            return key, key
        if self.value == "input" or (self.value == "projection" and key == "input"):
            return key, "input"
        return key, "value"

    def mixes_tokens(self) -> bool:
        """Whether a transform mixes tokens, so that a token depends on later ones."""
        return any(kind in MIXING for kind in self.transforms.values())

    def _check_sources(self) -> None:
        """Refuse sources of Q, K and V that do not exist, or are not of the width that they need."""
        if self.key == "value" and self.value == "key":
            raise UnsupportedOpError("`key` value and `value` key name each other; one of them must be a projection")
        if self.key == "value" and self.value == "mf":
            raise UnsupportedOpError("`value` mf needs keys of its own; `key` must be projection, query or input")
        if self.chain and (self.query != "projection" or self.key == "query"):
            raise UnsupportedOpError(
                f"`chain` {self.chain} needs `query` projection and keys of their own, "
                f"not `query` {self.query} and `key` {self.key}"
            )
        if self.chain_relu and not self.chain:
            raise UnsupportedOpError("`chain_relu` needs a `chain` of at least 1, not 0")
        if self.groups != self.heads:
            whole = {"key": ("query", "input"), "value": ("mf", "input")}
            for name, kinds in whole.items():
                if getattr(self, name) in kinds:
                    raise UnsupportedOpError(
                        f"`{name}` {getattr(self, name)} has {self.heads} heads, so `kv_heads` must be {self.heads}, "
                        f"not {self.groups}"
                    )
            if self.mixes_tokens():
                raise UnsupportedOpError(
                    f"a filterbank has one fusion for each head, so `kv_heads` must be {self.heads}, not {self.groups}"
                )

    def _check_order(self) -> None:
        """Refuse a causal unit that mixes tokens, or whose aggregation adds something for hidden ones."""
        if not self.causal:
            return
        for part, kind in self.transforms.items():
            if kind in MIXING:
                fitting = ", ".join(t for t in TRANSFORMS if t not in MIXING)
                raise UnsupportedOpError(
                    f"a causal mask needs a unit that leaves tokens apart, but `{part}` {kind} mixes them; "
                    f"{fitting} would do"
                )
        if self.aggregation == "mf" and self.sign_zero:
            raise UnsupportedOpError(
                "a causal mask needs an aggregation to which hidden tokens add nothing; with `aggregation` mf, "
                f"`sign_zero` must be 0, not {self.sign_zero}"
            )


def _check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
        raise FormatError(f"`{name}` of an attention unit must be one of {', '.join(allowed)}, not {value!r}{hint}")
