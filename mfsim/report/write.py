"""Write the report of some networks into a folder."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence

import mfsim
from mfsim.analysis.listing import Listing, write_text
from mfsim.errors import DataError
from mfsim.keywords import check_keywords
from mfsim.report.markdown import markdown
from mfsim.report.page import page
from mfsim.report.result import NetworkResult, comparison


def _report_listings(networks: Sequence[NetworkResult]) -> list[Listing]:
    """Return the CSV files of a report: each table of all networks in one, the network's name in front."""
    merged: dict[str, Listing] = {}
    for network in networks:
        for listing in network.listings():
            before = merged.get(listing.name)
            columns = (
                listing.columns if before is None else tuple(dict.fromkeys((*before.columns[1:], *listing.columns)))
            )
            records = [] if before is None else before.records()
            records += [{"network": network.name, **record} for record in listing.records()]
            filled = [{column: record.get(column) for column in ("network", *columns)} for record in records]
            merged[listing.name] = Listing.of_records(listing.name, ("network", *columns), filled)
    return [comparison(list(networks)), *merged.values()]


def _to_json(networks: Sequence[NetworkResult], title: str) -> dict[str, object]:
    """Return the content of report.json."""
    return {
        "title": title,
        "version": mfsim.__version__,
        "comparison": comparison(list(networks)).records(),
        "networks": [network.to_json() for network in networks],
    }


@check_keywords
def write_report(
    networks: Sequence[NetworkResult], folder: str | os.PathLike[str], title: str = "Multiplication-free networks"
) -> pathlib.Path:
    """Write report.html, report.json, report.md and csv/*.csv into `folder` and return the path of the page.

    Parameters
    ----------
    networks : at least one, with unique names; shown in this order.
    folder : made if missing; files of an earlier report are replaced, each whole or not at all.
    title : heading of the page.

    Raises
    ------
    DataError
        If there is no network or two have one name.
    MfsimError
        If a file cannot be written.
    """
    names = [network.name for network in networks]
    if not names:
        raise DataError("a report needs at least one network")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"two networks of the report are called `{name}`")
    folder = pathlib.Path(folder)
    texts = {
        "report.html": str(page(networks, title, mfsim.__version__)),
        "report.json": json.dumps(_to_json(networks, title), indent=1, allow_nan=False) + "\n",
        "report.md": markdown(networks, title, mfsim.__version__),
        **{f"csv/{listing.name}.csv": listing.csv() for listing in _report_listings(networks)},
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    return folder / "report.html"
