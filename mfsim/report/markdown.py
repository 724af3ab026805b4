"""report.md: the same tables as the page, for a terminal, a diff or an issue."""

from __future__ import annotations

from collections.abc import Sequence

from mfsim.report import contents
from mfsim.report.result import NetworkResult
from mfsim.report.sweeps import sweep_table
from mfsim.report.tables import markdown_text, to_markdown


def markdown(networks: Sequence[NetworkResult], title: str, version: str) -> str:
    """Return the report as one Markdown document.

    Parameters
    ----------
    networks : sequence of NetworkResult, at least one
        The networks side by side.
    title : str
        Title of the report.
    version : str
        Version of mfsim.

    Returns
    -------
    str
        The same tables as those of the page.
    """
    parts = [f"# {markdown_text(title)}\n", to_markdown(contents.comparison_table(networks))]
    for network in networks:
        parts.append(f"## {markdown_text(network.name)}\n")
        if network.not_free_because:
            parts.append(f"Not multiplication-free: {markdown_text(network.not_free_because)}.\n")
        tables = [*contents.network_tables(network), *(sweep_table(sweep) for sweep in network.sweeps)]
        parts += [to_markdown(table) for table in tables]
        for section, entries in network.info.items():
            lines = [f"- {markdown_text(key)}: {markdown_text(value)}" for key, value in entries.items()]
            parts.append(f"**{markdown_text(section)}**\n\n" + "\n".join(lines) + "\n")
        if network.recipe:
            parts.append(
                "**Quantization recipe**\n\n" + "\n".join(f"    {line}" for line in network.recipe.splitlines()) + "\n"
            )
    parts.append(f"Made by mfsim {markdown_text(version)}. Operations are those of one sample.\n")
    return "\n".join(parts)
