"""The attention units of the papers, each in the ways it can be computed, their counts by part, and transforms.

A transform may be counted as the module is written (a matrix product; for Fourier magnitudes the
fixed-point op of the integer program), by a fast algorithm that runs on counting numbers
(`mfsim/op_counter/fast_transforms.py`), as the fixed-point op that this becomes in the integer program (a filterbank of
the form fft), or not at all where it folds into W_O: then the folded network is counted as the network that it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from examples.papers.measure import module_count, unit_count
from mfsim.analysis.listing import Listing
from mfsim.nn import WHT
from mfsim.nn.attention import PRESETS, AttentionConfig
from mfsim.op_counter.fast_transforms import counted, transform_rows
from mfsim.ops.op import Row

PARTS = ("projections", "transforms", "mf value", "scores", "normaliser", "aggregation", "output transform")
WAYS = ("written", "fast", "fixed-point", "folded")

_PART_OF = {
    **dict.fromkeys(("query", "key", "value", "output", "chain", "relu"), "projections"),
    **dict.fromkeys(("query_transform", "key_transform", "value_transform"), "transforms"),
    **dict.fromkeys(("hadamard", "affine"), "output transform"),
    "mf_value": "mf value",
    "scores": "scores",
    "normalise": "normaliser",
    "aggregate": "aggregation",
}


@dataclass(frozen=True)
class Unit:
    """One attention unit of a paper, computed in one way.

    Attributes
    ----------
    paper, preset : a key of `examples.papers.PAPERS`, one of `mfsim.nn.attention.PRESETS`.
    way : one of `WAYS`.
    """

    paper: str
    preset: str
    way: str = "written"

    @property
    def name(self) -> str:
        """The preset, and the way unless it is the written one."""
        return self.preset if self.way == "written" else f"{self.preset} {self.way}"


UNITS = (
    *(Unit("learned-queries", name) for name in ("qkv", "qkk", "qk-dctk")),
    *(Unit("learned-queries", "qk-dctk", way) for way in ("fast", "folded")),
    *(Unit("learned-queries", "qk-whtk", way) for way in ("written", "folded")),
    *(Unit("learned-queries", "qk-dftk", way) for way in ("fast", "written")),
    *(Unit("learned-queries", name) for name in ("qk-mfqk", "qk-mfqk-ef")),
    *(
        Unit("learned-queries", name, way)
        for name in ("qk-sk", "q-sk-sk", "sq-sk-k", "sq-sk-sk")
        for way in ("fast", "fixed-point", "written")
    ),
    Unit("keyless", "qvv2"),
    *(Unit("keyless", name, way) for name in ("qvv3", "qvv4") for way in ("folded", "written")),
    Unit("keyless", "qvv4relu"),
    Unit("keyless", "qkv3"),
    *(Unit("minimum", name) for name in ("wqk", "wqk-novo", "collapsed-vo", "symmetric", "cholesky")),
    Unit("hadamard", "hadamard-o"),
    Unit("hadamard", "hadamard-o-pow2"),
)


@dataclass(frozen=True)
class Setting:
    """One layer of a model: tokens, width, heads."""

    model: str
    tokens: int
    width: int
    heads: int

    def config(self, unit: Unit) -> AttentionConfig:
        """Return the unit with the heads of the model; units of one head keep it, W_O is cut into blocks if need be."""
        config = PRESETS[unit.preset]
        if config.output == "hadamard" and self.width & (self.width - 1):
            config = replace(config, hadamard_size="block")
        if unit.way == "fixed-point":
            config = replace(config, filterbank_form="fft")
        return config if config.heads == 1 else replace(config, heads=self.heads)


SETTINGS = (Setting("mini-vit", 65, 128, 4), Setting("compact-vit", 65, 192, 3))


def counted_name(row: Row) -> str:
    """Return the primitive of a row, a multiplication with its class."""
    return f"mul {row.multiplied_by}" if row.primitive == "mul" else row.primitive


def counts(unit: Unit, setting: Setting) -> dict[str, Counter[str]]:
    """Return what one layer executes for one sample: {part: {primitive: count}}, "mul" with its class behind it."""
    config = setting.config(unit)
    report = unit_count(config, setting.width, setting.tokens, unit.way == "folded")
    found: dict[str, Counter[str]] = {part: Counter() for part in PARTS}
    for row in report.online:
        found[_PART_OF[row.layer.split(".")[0]]][counted_name(row)] += row.count
    if unit.way == "fast":
        found["transforms"] = _fast(config, setting)
    return found


def uses(config: AttentionConfig) -> int:
    """Return how often a unit transforms all heads; V that is the transformed K is made once."""
    shared = config.key_transform == config.value_transform
    return len(config.transforms) - int(shared and "value_transform" in config.transforms)


def _fast(config: AttentionConfig, setting: Setting) -> Counter[str]:
    """Return what the transforms of a unit execute by fast algorithms."""
    n = setting.width // config.heads
    kind = next(iter(config.transforms.values()))
    if kind == "filterbank":  # two features of a head are one complex image
        side, pairs = int((setting.tokens - 1) ** 0.5), config.heads * -(-n // 2)
        rows = transform_rows("filtered", side, 32, pairs * uses(config))
    else:
        algorithm = {"dct": "cosine", "dft": "magnitudes"}[kind]
        rows = transform_rows(algorithm, n, 32, setting.tokens * config.heads * uses(config))
    return summed(rows)


def summed(rows: Iterable[Row]) -> Counter[str]:
    """Return {primitive: count} of rows."""
    found: Counter[str] = Counter()
    for row in rows:
        found[counted_name(row)] += row.count
    return found


TRANSFORMS = (
    ("cosine (Lee)", "cosine", (8, 32, 64)),
    ("Fourier, complex", "fourier", (8, 32, 64)),
    ("Fourier, real", "real_fourier", (8, 32, 64)),
    ("Fourier magnitudes", "magnitudes", (32, 64)),
    ("filterbank, two features", "filtered", (8,)),
)
"""What is shown, its name in `mfsim.op_counter.fast_transforms`, lengths (for a filterbank the side of the grid)."""


def primitive_counts() -> Listing:
    """Return the operations of one transform of each length."""
    rows: list[tuple[str, int, int, int, int]] = []
    for length in (8, 32, 64):
        found = summed(module_count(WHT, 1, length).online)
        rows.append(("Walsh-Hadamard", length, 0, 0, found["addsub"]))
    for shown, name, lengths in TRANSFORMS:
        for n in lengths:
            tally = counted(name, n)
            learned_or_squares = tally.get("mul learned", 0) + tally.get("mul activation", 0)
            rows.append((shown, n, tally.get("mul fixed", 0), learned_or_squares, tally["addsub"]))
    columns = ("transform", "length", "mul_fixed", "mul_learned_or_squares", "addsub")
    return Listing("transforms", columns, tuple(rows))
