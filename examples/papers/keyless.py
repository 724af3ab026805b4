"""Keyless Attention, arXiv 2606.21848: the cache, the parameters, the cost of training."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from examples.papers.claims import MEASUREMENT, Claim, Source, rounded
from examples.papers.measure import create, decode_listing, module_count, parameters, unit
from examples.papers.values import Counted, Derived
from mfsim.analysis.listing import Cell, Listing
from mfsim.nn.attention import PRESETS, Attention, AttentionConfig, cache_bytes, fold_attention

NAME = "keyless"
TITLE = "Keyless Attention (arXiv 2606.21848)"
SOURCE = Source(NAME)

DECODING = "decode benchmark, figure 4"
TRAINING = "training dynamics, table 1"
TOKENS = (512, 2048, 8192)
CONTEXTS = (*TOKENS, 32768)
"""Tokens of the decode benchmark, and the most that Qwen2-1.5B takes."""
MINUTES = (("12-layer QKV", "29.3"), ("12-layer QVV(3)", "29.6"), ("36-layer QKV", "70.2"), ("36-layer QVV(3)", "75.5"))
"""Minutes for each epoch; three runs of ten epochs each."""
LOSSES = (
    ("12-layer QKV", "3.5180", "33.71", "+0.0778"),
    ("12-layer QVV(3)", "3.5216", "33.84", "+0.0519"),
    ("36-layer QKV", "3.5116", "33.50", "+0.8404"),
    ("36-layer QVV(3)", "3.5044", "33.26", "+0.6866"),
)
"""Best validation loss, its perplexity, overfitting gap."""
TESTS = (
    (TRAINING, "12-layer loss", "0.266"),
    (TRAINING, "36-layer loss", "0.070"),
    *(
        ("zero-shot, table 2", task, p)
        for task, p in (
            ("HellaSwag", "0.004"),
            ("StoryCloze", "0.007"),
            ("ARC-Challenge", "0.475"),
            ("BoolQ", "0.086"),
            ("SciQ", "< 0.001"),
        )
    ),
)
"""Probabilities of Welch's tests."""


@functools.cache
def _network(attention: str) -> nn.Module:
    """Return the network of the Qwen2-1.5B shape."""
    return create("qwen2-1.5b", attention=attention)


def _qwen(attention: str) -> Attention:
    """Return the attention unit of a layer of the Qwen2-1.5B shape."""
    first = _network(attention).get_submodule("blocks.0.attention")
    assert isinstance(first, Attention)
    return first


def _qwen_layers() -> int:
    return len(list(_network("qkv").get_submodule("blocks").children()))


def qwen_cache(attention: str, tokens: int) -> int:
    """Return the bytes of the cache of all layers, 16 bits for each value."""
    found = _qwen(attention)
    return cache_bytes(found.config, found.width, tokens, layers=_qwen_layers(), bits=16)


def claims() -> Iterator[Claim]:
    """Yield what the paper claims, in its order."""
    yield from _matrices()
    yield from _training()
    for where, task, printed in TESTS:
        yield SOURCE.measured(where, f"p of a one-sided Welch's test, {task}", printed)
    yield from _decoding()


def _matrices() -> Iterator[Claim]:
    width, heads = 1024, 16
    units = {
        name: unit(replace(PRESETS[name], heads=heads, bias=False), width) for name in ("qkv", "qvv2", "qvv3", "qvv4")
    }
    yield SOURCE.equal(
        "equation 2",
        "projection matrices of QVV(3)",
        "the same number as QKV",
        Counted.tensors(units["qvv3"]),
        "a count of matrices with W_O; W_R is n x n for each head, so parameters are fewer (below)",
        Counted.tensors(units["qkv"]),
    )
    yield SOURCE.equal(
        "section on Keyless Attention",
        "inference: W_Q W_R is one matrix, no additional cost for a greater depth",
        "as QVV(2)",
        Counted.parameters(fold_attention(units["qvv3"])),
        "parameters of one fused layer, d = 1024, equal for QVV(2), QVV(3) and QVV(4)",
        *(Counted.parameters(other) for other in (units["qvv2"], fold_attention(units["qvv4"]))),
    )
    whole = parameters("gpt2-36", attention="qkv")
    yield SOURCE.number(
        "abstract", "GPT-2 with 36 layers", "557", whole, "d = 1024, embeddings not tied", unit="M", scale=1e6
    )
    yield SOURCE.number(
        "abstract",
        "GPT-2 with 12 layers",
        "280",
        parameters("gpt2-12", attention="qkv"),
        "d = 1024, embeddings not tied, as in the larger model; no width of the smaller one is stated",
        unit="M",
        scale=1e6,
    )
    qwen = Counted.parameters(_network("qkv"))
    reason = "parameters of the network built from the public configuration"
    yield SOURCE.number("other architectures", "Qwen2 1.5B", "1.5", qwen, reason, unit="B", scale=1e9)


def _training() -> Iterator[Claim]:
    for name, minutes in MINUTES:
        yield SOURCE.measured(TRAINING, f"minutes for each epoch, {name}", minutes, MEASUREMENT)
    hours = sum(float(minutes) for _, minutes in MINUTES) * 10 * 3 / 60
    yield SOURCE.number(TRAINING, "GPU hours", "102.30", Derived(hours), "the printed minutes, 10 epochs, 3 runs")
    for name, loss, perplexity, gap in LOSSES:
        yield SOURCE.measured(TRAINING, f"best validation loss, {name}", loss)
        ours = math.exp(float(loss))
        reason = "exp of the printed loss"
        if f"{ours:.2f}" != perplexity:
            reason = "exp of the printed loss; perhaps a mean over seeds is printed, which is not exp of the mean loss"
        yield SOURCE.number(TRAINING, f"perplexity, {name}", perplexity, Derived(ours), reason)
        yield SOURCE.measured(TRAINING, f"overfitting gap, {name}", gap)


def _decoding() -> Iterator[Claim]:
    typed = "the public configuration, as it is typed here"
    yield SOURCE.number(DECODING, "layers of Qwen2-1.5B", "28", Derived(_qwen_layers()), typed)
    yield SOURCE.number(DECODING, "KV heads of Qwen2-1.5B", "2", Derived(_qwen("qkv").config.groups), typed)
    for tokens in TOKENS:
        both, one = qwen_cache("qkv", tokens), qwen_cache("qvv3", tokens)
        saving = Derived(100 * (both - one) / both)
        reason = "one cached row for each token instead of two"
        yield SOURCE.number(DECODING, f"cache saved at {tokens} tokens", "50", saving, reason, unit="%")
    figures = (("qvv3", "V alone", "0.118"), ("qkv", "K and V", "0.236"))
    printing = [
        tokens - TOKENS[-1]
        for tokens in range(TOKENS[-1], TOKENS[-1] + 256)
        if all(rounded(qwen_cache(name, tokens) / 1e9, printed) == printed for name, _, printed in figures)
    ]
    reason = (
        f"layers x KV heads x n x tokens x 2 bytes are fewer; {printing[0]} to {printing[-1]} tokens more would print "
        "both figures"
    )
    for name, what, printed in figures:
        yield SOURCE.number(
            DECODING,
            f"cache of 8192 tokens, {what}",
            printed,
            Derived(qwen_cache(name, TOKENS[-1])),
            reason,
            unit="GB",
            scale=1e9,
        )
    saved = _projection_cost("qkv") - _projection_cost("qvv3")
    found = _qwen("qkv")
    yield SOURCE.equal(
        DECODING,
        "multiplications of one layer and token that the missing key projection saves",
        "d x d_kv",
        saved,
        f"dense products of a fused layer for one token; {saved.value * _qwen_layers():,} in {_qwen_layers()} layers",
        found.width * found.n * found.config.groups,
    )
    yield SOURCE.measured(DECODING, "decode throughput above QKV", "higher", MEASUREMENT)


def _projection_cost(attention: str) -> Counted:
    """Return products by learned constants of one folded layer and token."""
    found = _qwen(attention)
    config: AttentionConfig = replace(found.config, rope=False, causal=False)
    fused = fold_attention(Attention(config, found.width, 1))
    return Counted.operations(module_count(lambda: fused, 1, found.width), "mul", "learned")


def listings() -> list[Listing]:
    """Return bytes of the cache, the cost of a decoded token, and parameters of the depths."""
    rows = tuple((tokens, qwen_cache("qkv", tokens), qwen_cache("qvv3", tokens)) for tokens in TOKENS)
    cache = Listing("qwen2_cache_bytes", ("tokens", "keys_and_values", "values"), rows)
    depths: list[tuple[Cell, ...]] = []
    for name in ("qkv", "qkv3", "qvv2", "qvv3", "qvv4", "qvv4relu"):
        layer = unit(replace(PRESETS[name], heads=16, bias=False), 1024)
        built = (layer, fold_attention(layer), _network(name), fold_attention(_network(name)))
        depths.append((name, *(Counted.parameters(found).value for found in built)))
    columns = ("unit", "layer_of_1024_trained", "layer_of_1024_fused", "qwen2_trained", "qwen2_fused")
    steps = decode_listing(_qwen("qkv").config, _qwen("qkv").width, _qwen_layers(), CONTEXTS)
    return [cache, steps, Listing("keyless_parameters", columns, tuple(depths))]
