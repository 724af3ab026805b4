"""What the report shows of one network: a plain collection of results, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from mfsim.analysis.added import AddedErrors
from mfsim.analysis.count import CountReport, strict_multiplication_free
from mfsim.analysis.energy import EnergyReport
from mfsim.analysis.error import ErrorReport
from mfsim.analysis.layers import LayerReport
from mfsim.analysis.listing import Cell, Listing
from mfsim.analysis.memory import MemoryReport
from mfsim.analysis.sweeps import SweepReport, sweeps_listing
from mfsim.analysis.tabular import Tabular
from mfsim.analysis.widths import WidthReport
from mfsim.cim import CimReport
from mfsim.errors import CountError, DataError, did_you_mean
from mfsim.keywords import check_constructor
from mfsim.parity.compare import ParityPair

STAGES = ("float", "quantized", "integer")
"""The networks whose accuracy is compared."""


@check_constructor
@dataclass(frozen=True, repr=False)
class NetworkResult(Tabular):
    """All results of one network.

    Attributes
    ----------
    name : shown as it is; unique within a report.
    accuracy : fractions in 0..1 for "float", "quantized" and "integer"; None or missing where not measured.
    parity : pairs of realisations that were compared code by code.
    counts, words, memory, layers, errors, added : what `mfsim.analysis` found; `errors` may be missing.
    info : sections of texts, such as {"Training": {"epochs": "12"}, "Data": {...}, "Tools": {...}}.
    recipe : the quantization recipe as text.
    energy, cim : energy in digital logic, and the network on in-memory-compute arrays; either may be missing.
    sweeps : with different names.
    """

    MAIN: ClassVar[str] = "layers"

    name: str
    accuracy: Mapping[str, float | None]
    parity: tuple[ParityPair, ...]
    counts: CountReport
    words: WidthReport
    memory: MemoryReport
    layers: LayerReport
    errors: ErrorReport | None = None
    info: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    recipe: str = ""
    energy: EnergyReport | None = None
    cim: CimReport | None = None
    sweeps: tuple[SweepReport, ...] = ()
    added: AddedErrors = field(default_factory=AddedErrors)

    def __post_init__(self) -> None:
        for stage, value in self.accuracy.items():
            if stage not in STAGES:
                raise DataError(
                    f"`accuracy` must have the keys {', '.join(STAGES)}, not {stage!r}{did_you_mean(stage, STAGES)}"
                )
            if value is not None and not (math.isfinite(value) and 0.0 <= value <= 1.0):
                raise DataError(f"the {stage} accuracy of `{self.name}` must be a fraction in 0..1, not {value}")
        object.__setattr__(self, "accuracy", {stage: self.accuracy.get(stage) for stage in STAGES})
        object.__setattr__(self, "parity", tuple(self.parity))

    @property
    def multiplications(self) -> int:
        """Mul, div and sqrt that are executed for one sample."""
        return sum(row.count for row in self.counts.multiplications())

    @property
    def not_free_because(self) -> str:
        """Why `strict_multiplication_free` refuses the network; empty if it does not."""
        try:
            strict_multiplication_free(self.counts)
        except CountError as error:
            return str(error)
        return ""

    @property
    def multiplication_free(self) -> bool:
        """Whether nothing multiplies from input codes to output codes, proved by the count."""
        return not self.not_free_because

    @property
    def bit_exact(self) -> bool | None:
        """Whether every pair agrees; None if nothing was compared."""
        return all(pair.equal for pair in self.parity) if self.parity else None

    def headline(self) -> str:
        """Return accuracies, and whether all realisations agree."""
        accuracy = [f"{stage} {value:.2%}" for stage, value in self.accuracy.items() if value is not None]
        agreed = {True: ["bit-exact"], False: ["not bit-exact"], None: []}[self.bit_exact]
        return ", ".join([self.name, *accuracy, *agreed])

    def overview(self) -> Listing:
        """Return words, bits and operations of each layer."""
        return self.layers.overview()

    def listings(self) -> list[Listing]:
        """Return every table of the network: the CSV files of the report."""
        parity = Listing(
            "parity", ("name", "compared", "mismatches"), tuple((p.name, p.compared, p.mismatches) for p in self.parity)
        )
        errors = self.errors.listings() if self.errors is not None else []
        parts = [self.layers.listings(), self.counts.listings(), self.words.listings(), self.memory.listings(), errors]
        parts.append(self.added.listings())
        parts += [extra.listings() for extra in (self.energy, self.cim) if extra is not None]
        sweeps = [sweeps_listing(self.sweeps)] if self.sweeps else []
        return [parity, *(listing for part in parts for listing in part), *sweeps]

    def to_json(self) -> dict[str, object]:
        """Return the network as an entry of `networks` in report.json."""
        counts = self.counts.to_json()
        return {
            "name": self.name,
            "accuracy": dict(self.accuracy),
            "parity": self.listings()[0].records(),
            "operations": self.counts.by_primitive(),
            "multiplications": counts["multiplications"],
            "bit_exact": self.bit_exact,
            "multiplication_free": self.multiplication_free,
            "overflows": self.words.overflows,
            "tables": counts["tables"],
            "uncounted": counts["uncounted"],
            "layers": self.layers.to_json()["layers"],
            "count": counts,
            "widths": self.words.to_json()["widths"],
            "memory": self.memory.to_json(),
            "errors": self.errors.to_json()["errors"] if self.errors is not None else None,
            "added_errors": self.added.records(),
            "energy": self.energy.to_json() if self.energy is not None else None,
            "cim": self.cim.to_json() if self.cim is not None else None,
            "sweeps": [sweep.to_json() for sweep in self.sweeps],
            "info": {section: dict(entries) for section, entries in self.info.items()},
            "recipe": self.recipe,
        }


def comparison(networks: list[NetworkResult]) -> Listing:
    """Return the side-by-side table: one row for each network.

    Parameters
    ----------
    networks : list of NetworkResult
        One row each.

    Returns
    -------
    Listing
        Accuracies in 0..1, sizes in codes, bits and bytes, and operations of one sample.
    """
    columns = (
        "network",
        *(f"{stage}_accuracy" for stage in STAGES),
        "bit_exact",
        "weight_codes",
        "weight_bits",
        "weight_bytes",
        "peak_activation_bytes",
        "operations",
        "multiplications",
        "addsub",
        "neg_abs_sign",
        "cmp_select",
        "shift_or",
        "lut",
        "uncounted_nodes",
        "overflows",
    )
    return Listing("networks", columns, tuple(_compared(network) for network in networks))


def _compared(network: NetworkResult) -> tuple[Cell, ...]:
    memory, operations = network.memory, network.counts.by_primitive()

    def together(*names: str) -> int:
        return sum(operations.get(name, 0) for name in names)

    return (
        network.name,
        *(network.accuracy[stage] for stage in STAGES),
        network.bit_exact,
        memory.weight_codes,
        memory.total_bits("weight"),
        memory.total_bytes("weight"),
        memory.peak_bytes,
        network.counts.total,
        network.multiplications,
        together("addsub"),
        together("neg", "abs", "sign"),
        together("cmp", "select"),
        together("shift", "or"),
        together("lut"),
        len(network.counts.uncounted),
        network.words.overflows,
    )
