"""Tables of the study: from finished points to study.json, study.csv, study.md and the page in the documentation."""

from __future__ import annotations

import pathlib
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mfsim.analysis.listing import Listing, write_listings, write_text
from mfsim.errors import MfsimError
from mfsim.run_folder import read_json, write_json

CLASSES = ("learned", "activation", "fixed", "div", "sqrt")
"""Multiplications by what, and the two that count as such."""
COLUMNS = (
    "data", "unit", "seeds", "parameters", "float_mean", "float_deviation", "integer_mean", "integer_deviation",
    "operations", *CLASSES, "multiplication_free", "compared", "differences", "note",
)  # fmt: skip
HEAD = (
    "| unit | parameters | float | 8-bit integer | operations | by learned | by activations | by fixed | div | sqrt |\n"
    "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
)
MARKS = re.compile(r"(<!-- study: begin[^\n]*-->\n).*?(<!-- study: end -->)", re.DOTALL)


def row(data: str, unit: str, points: Sequence[Mapping[str, Any]], note: str = "") -> dict[str, Any]:
    """Return the row of a unit from its finished points, at least one, one for each seed."""
    first = points[0]
    with_integers = [point for point in points if point["integer"] is not None]
    float_mean, float_deviation = _spread([point["float"] for point in points])
    integer_mean, integer_deviation = _spread([point["integer"] for point in with_integers])
    counted = with_integers[0] if with_integers else {}
    return {
        "data": data,
        "unit": unit,
        "seeds": len(points),
        "parameters": first["parameters"],
        "float_mean": float_mean,
        "float_deviation": float_deviation,
        "integer_mean": integer_mean,
        "integer_deviation": integer_deviation,
        "operations": counted.get("operations"),
        **{name: counted["multiplications"][name] if counted else None for name in CLASSES},
        "multiplication_free": all(point["multiplication_free"] for point in with_integers) if counted else None,
        "compared": sum(point["compared"] for point in with_integers) if counted else None,
        "differences": sum(point["differences"] for point in with_integers) if counted else None,
        "note": note or first.get("reason", ""),
    }


def _spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and sample standard deviation, None where there are too few values."""
    return (
        statistics.fmean(values) if values else None,
        statistics.stdev(values) if len(values) > 1 else None,
    )


def markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the Markdown table of rows of one data set; accuracies in per cent, mean ± sample deviation."""
    lines = [HEAD]
    for found in rows:
        accuracies = [_percent(found[f"{kind}_mean"], found[f"{kind}_deviation"]) for kind in ("float", "integer")]
        numbers = [_number(found[name]) for name in ("operations", *CLASSES)]
        cells = [f"`{found['unit']}`", _number(found["parameters"]), *accuracies, *numbers]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _percent(mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return "none"
    return f"{100 * mean:.2f}" + (f" ± {100 * deviation:.2f}" if deviation is not None else "")


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def write(out: pathlib.Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write study.json, study.csv and study.md into `out`."""
    write_json(out / "study.json", {**about, "rows": list(rows)})
    write_listings([Listing.of_records("study", COLUMNS, rows)], out)
    write_text(out / "study.md", markdown(rows))


def section(study: Mapping[str, Any]) -> str:
    """Return the part of the page on one data set."""
    training = study["training"]
    text = (
        f"### {study['data']}\n\n"
        f"{study['images']['train']:,} training, {study['images']['validation']:,} validation and "
        f"{study['images']['test']:,} test images of {' x '.join(map(str, study['input_shape']))}; "
        f"{training['epochs']} epochs, then {training['quantized_epochs']} of quantization-aware training. "
        f"{study['finished']} of {study['asked']} networks were trained by {study['date']}, with "
        f"{', '.join(f'{name} {version}' for name, version in study['tools'].items())}:\n\n"
        f"```sh\n{study['command']}\n```\n\n{markdown(study['rows'])}"
    )
    return text + "\n" + " ".join(remarks(study["rows"])) + "\n"


def remarks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences on the rows of one data set: seeds, the largest loss, differences, notes."""
    seeds = sorted({found["seeds"] for found in rows})
    sentences = [f"Seeds for each unit: {seeds[0]}" + (f" to {seeds[-1]}." if len(seeds) > 1 else ".")] if seeds else []
    compared = [found for found in rows if found["compared"] is not None and not found["note"]]
    if compared:
        worst = max(compared, key=lambda found: float(found["float_mean"] - found["integer_mean"]))
        loss = 100 * (worst["float_mean"] - worst["integer_mean"])
        sentences += [
            f"Largest loss from float to 8-bit integers: {loss:.2f} points (`{worst['unit']}`)."
            if loss > 0
            else "No unit is less accurate in 8-bit integers than in float.",
            f"Images whose output codes were compared between the quantized torch network and the simulator: "
            f"{sum(found['compared'] for found in compared):,}, with {sum(found['differences'] for found in compared):,} "
            "that differ.",
        ]
    return sentences + [f"`{found['unit']}`: {found['note']}." for found in rows if found["note"]]


def renew(page: pathlib.Path, folder: pathlib.Path) -> str:
    """Return the text of `page` with what stands between its marks made anew from the studies in `folder`.

    Raises `MfsimError` if the page has no marks, or there is no study.
    """
    paths = sorted(folder.glob("*.json"))
    text, found = MARKS.subn(
        lambda match: f"{match[1]}\n{chr(10).join(section(read_json(path)) for path in paths)}\n{match[2]}",
        page.read_text(encoding="utf-8"),
    )
    if not found or not paths:
        raise MfsimError(f"`{page}` must have the marks of a study, and `{folder}` at least one study")
    return text
