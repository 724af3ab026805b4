"""`CimArray`: the size of an in-memory-compute array and what its lines, cells and converters can do.

In TOML, with the defaults; `rows` and `columns` are needed:

    rows = 64
    columns = 64
    cell_bits = 1             # bits that one cell stores
    converter_bits = "ideal"  # or bits: the converter at the end of each sum; ideal loses nothing
    input_bits = 1            # bits that a line carries in one step; 1 is bit-serial, without DAC
    shared_by = 1             # so many sums take turns at one converter
    sum_along = "rows"        # or "columns": the lines whose cells make up one sum
    halves = 1                # 2: one half computes while the other serves as the converter's reference
    stores = "weights"        # or "wht": the fixed matrix of +1 and -1, which needs no weights
    lines = "unsigned"        # or "signed": a line carries -1, 0, 1 in one step
    vdd = 0.9                 # volts
    cycle_ns = 10.0           # optional; without, the delay of the converter's fit
    conversion_pj = 0.1       # optional; without, the energy of the converter's fit

The arrays that are shipped are in `ARRAYS`.
"""

from __future__ import annotations

import os
import pathlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from mfsim.errors import ArrayError, did_you_mean
from mfsim.keywords import check_constructor, check_keywords

IDEAL = "ideal"

MOST = {"rows": 1 << 16, "columns": 1 << 16, "cell_bits": 8, "input_bits": 8}

MOST_CONVERTER_BITS = 16

CHOICES: dict[str, tuple[object, ...]] = {
    "sum_along": ("rows", "columns"),
    "halves": (1, 2),
    "stores": ("weights", "wht"),
    "lines": ("unsigned", "signed"),
}


@check_constructor
@dataclass(frozen=True)
class CimArray:
    """One array; the fields are those of the module header, `converter_bits` None for an ideal converter.

    `source` says where the figures come from.

    >>> CimArray(rows=64, columns=32).terms, CimArray(rows=8, columns=62, sum_along="columns", halves=2).terms
    (64, 31)
    """

    rows: int
    columns: int
    cell_bits: int = 1
    converter_bits: int | None = None
    input_bits: int = 1
    shared_by: int = 1
    sum_along: str = "rows"
    halves: int = 1
    stores: str = "weights"
    lines: str = "unsigned"
    vdd: float = 0.9
    cycle_ns: float | None = None
    conversion_pj: float | None = None
    name: str = "custom"
    source: str = ""

    def __post_init__(self) -> None:
        for name, most in MOST.items():
            _check_int(name, getattr(self, name), most)
        if self.converter_bits is not None:
            hint = '; an ideal converter is "ideal"' if self.converter_bits == 0 else ""
            _check_int("converter_bits", self.converter_bits, MOST_CONVERTER_BITS, f' or "{IDEAL}"', hint)
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or value not in choices:
                known = [str(choice) for choice in choices]
                hint = did_you_mean(str(value), known)
                raise ArrayError(f"`{name}` of an array must be one of {', '.join(known)}, not {value!r}{hint}")
        _check_int("shared_by", self.shared_by, self.sums)
        for name in ("vdd", "cycle_ns", "conversion_pj"):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not (number and 0 < value < float("inf")):
                raise ArrayError(f"`{name}` of an array must be a number above 0, not {value!r}")
        if self.terms < 1:
            raise ArrayError(f"`{self.sum_along}` of an array with 2 halves must be at least 2, not 1")
        if self.stores == "wht" and self.cell_bits != 1:
            raise ArrayError(f"`cell_bits` of an array that stores wht must be 1, not {self.cell_bits}")

    @property
    def terms(self) -> int:
        """The most cells whose contents make up one sum."""
        return (self.rows if self.sum_along == "rows" else self.columns) // self.halves

    @property
    def sums(self) -> int:
        """The sums that one activation makes."""
        return self.columns if self.sum_along == "rows" else self.rows

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], name: str = "custom") -> CimArray:
        """Return the array with the keys of the module header.

        Parameters
        ----------
        content : mapping
            `rows` and `columns`, and any other keys of the module header; `converter_bits` is "ideal" or an int in
            bits.
        name : str
            What the array is called unless `content` has a `name`.

        Returns
        -------
        CimArray
            The array, checked.

        Raises
        ------
        ArrayError
            If a key is unknown or missing, or a value is out of its range.
        """
        return CimArray(**_arguments({"name": name, **content}, needed=("rows", "columns")))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> CimArray:
        """Return the array that a TOML file describes; it is called as the file unless it has a `name`.

        Parameters
        ----------
        path : str or os.PathLike
            A UTF-8 TOML file with the keys of the module header.

        Returns
        -------
        CimArray
            The array, checked.

        Raises
        ------
        ArrayError
            If the file cannot be read, is no TOML, or does not describe an array.
        """
        path = pathlib.Path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ArrayError(f"the array `{path}` cannot be read: {reason or error}") from error
        except tomllib.TOMLDecodeError as error:
            raise ArrayError(f"the array `{path}` is no TOML: {error}") from error
        return cls.from_dict(content, path.stem)

    def changed(self, **changes: Any) -> CimArray:
        """Return this array with some keys of the module header changed, and a name that says so."""
        if not changes:
            return self
        text = ", ".join(f"{key} {value}" for key, value in changes.items())
        return replace(self, **_arguments(changes), name=f"{self.name} with {text}")

    def to_json(self) -> dict[str, object]:
        """Return every field; an ideal converter is "ideal"."""
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        return content | {"converter_bits": IDEAL if self.converter_bits is None else self.converter_bits}


def _arguments(content: Mapping[str, Any], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the arguments of `Array` for `content`; an `ArrayError` for an unknown or a missing key."""
    keys = [f.name for f in fields(CimArray)]
    for key in content:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"; the keys are {', '.join(keys)}"
            raise ArrayError(f"`{key}` is no key of an array{hint}")
    for key in needed:
        if key not in content:
            raise ArrayError(f"an array needs `{key}`")
    arguments = dict(content)
    if arguments.get("converter_bits") == IDEAL:
        arguments["converter_bits"] = None
    for key in ("name", "source"):
        if not isinstance(arguments.get(key, ""), str):
            raise ArrayError(f"`{key}` of an array must be a text, not {arguments[key]!r}")
    return arguments


def _check_int(name: str, value: object, most: int, other: str = "", hint: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ArrayError(f"`{name}` of an array must be in 1..{most}{other}, not {value!r}{hint}")


_MF_NET = (
    "Nasrin et al., MF-Net, IEEE TCAS-I 2021, arXiv 2102.00035, 45 nm, 8-bit inputs and weights: {}. "
    "Our reading: one half of the columns computes while the bit lines of the other are the capacitors of the "
    "converter, so a sum has {} terms, whose {} levels are what the converter resolves, and the 8 rows take turns at it."
)

ARRAYS: Mapping[str, CimArray] = {
    array.name: array
    for array in (
        CimArray(
            rows=8,
            columns=62,
            converter_bits=5,
            shared_by=8,
            sum_along="columns",
            halves=2,
            name="mf-net-8x62",
            source=_MF_NET.format("8 x 62 SRAM macro, 5-bit memory-immersed ADC, about 105 TOPS/W", 31, 32),
        ),
        CimArray(
            rows=8,
            columns=30,
            converter_bits=4,
            shared_by=8,
            sum_along="columns",
            halves=2,
            name="mf-net-8x30",
            source=_MF_NET.format("8 x 30 SRAM macro, 4-bit memory-immersed ADC, about 84 TOPS/W", 15, 16),
        ),
        CimArray(
            rows=16,
            columns=16,
            converter_bits=1,
            stores="wht",
            lines="signed",
            vdd=0.8,
            name="wht-16x16",
            source=(
                "Darabi et al., ADC/DAC-Free Analog Acceleration of Deep Neural Networks with Frequency "
                "Transformation, 2023: 16 x 16 crossbar, 8-bit inputs by signed bit planes, sums quantized to one bit, "
                "1602 TOPS/W (5311 with early termination) at 0.8 V."
            ),
        ),
    )
}
"""The arrays that are shipped, by name."""


@check_keywords
def load_array(name: str) -> CimArray:
    """Return a shipped array, or the one that a TOML file describes.

    Parameters
    ----------
    name : str
        A key of `ARRAYS`, or the path of a TOML file.

    Returns
    -------
    CimArray
        The array, checked.

    Raises
    ------
    ArrayError
        If there is no such array or file, or the file does not describe an array.
    """
    if name in ARRAYS:
        return ARRAYS[name]
    path = pathlib.Path(name)
    if path.suffix == ".toml" or path.is_file():
        return CimArray.from_toml(path)
    known = ", ".join(ARRAYS)
    raise ArrayError(f"`array` must be one of {known}, or a TOML file, not {name!r}{did_you_mean(name, ARRAYS)}")
