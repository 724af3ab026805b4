"""The tables of the report: which columns of which analysis, in which words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mfsim.analysis.count import PRIMITIVES
from mfsim.report.cim import cim_tables
from mfsim.report.figures import NONE, data_size, decibel, integer, interval, percent, significant, words
from mfsim.report.result import STAGES, NetworkResult
from mfsim.report.tables import Table, Toned


def comparison_table(networks: Sequence[NetworkResult]) -> Table:
    """Return the side-by-side table: a row for each quantity, a column for each network.

    Parameters
    ----------
    networks : sequence of NetworkResult, at least one
        One column each.

    Returns
    -------
    Table
        Texts with units; a dash for what is not known.
    """

    def row(title: str, of: Callable[[NetworkResult], str]) -> tuple[str, ...]:
        return (title, *(of(network) for network in networks))

    def accuracy(stage: str) -> Callable[[NetworkResult], str]:
        return lambda network: percent(network.accuracy[stage])

    def operations(*names: str) -> Callable[[NetworkResult], str]:
        return lambda network: integer(sum(network.counts.by_primitive().get(name, 0) for name in names))

    rows = [
        *(row(f"Accuracy, {stage}", accuracy(stage)) for stage in STAGES),
        row("Bit-exact parity", _parity_text),
        row("Multiplications", lambda n: Toned(integer(n.multiplications), "bad" if n.multiplications else "good")),
        row(
            "Operations per sample", lambda n: integer(n.counts.total) + (" (incomplete)" if n.counts.uncounted else "")
        ),
        row("Additions, subtractions", operations("addsub")),
        row("Signs, negations, magnitudes", operations("sign", "neg", "abs")),
        row("Compares, selects", operations("cmp", "select")),
        row("Shifts, ors", operations("shift", "or")),
        row("Table lookups", operations("lut")),
        row("Weights", lambda n: integer(n.memory.weight_codes)),
        row("Weight bits", lambda n: integer(n.memory.total_bits("weight"))),
        row("Weight memory", lambda n: data_size(n.memory.total_bytes("weight"))),
        row("Peak activation memory", lambda n: data_size(n.memory.peak_bytes)),
        *_cache_rows(networks, row),
        row("Overflow events", lambda n: integer(n.words.overflows)),
    ]
    return Table.of("Side by side", ("Quantity", *(f">{n.name}" for n in networks)), rows, "networks")


def _cache_rows(
    networks: Sequence[NetworkResult], row: Callable[[str, Callable[[NetworkResult], str]], tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Return the rows on caches of earlier tokens; none where no network has them."""
    if all(network.memory.cache is None for network in networks):
        return []

    def per_token(network: NetworkResult) -> str:
        return data_size(network.memory.cache.bytes_per_token) if network.memory.cache else ""

    def whole(network: NetworkResult) -> str:
        cache = network.memory.cache
        return f"{data_size(network.memory.total_bytes('cache'))} ({integer(cache.rows)} tokens)" if cache else ""

    return [row("Cache, each token", per_token), row("Cache, longest sequence", whole)]


def _parity_text(network: NetworkResult) -> str:
    """Return one word or two on whether all realisations agree."""
    texts = {True: Toned("yes", "good"), False: Toned("no", "bad"), None: Toned("not compared", "")}
    return texts[network.bit_exact]


def operations_table(networks: Sequence[NetworkResult]) -> Table:
    """Return the operations by primitive behind the first picture.

    Parameters
    ----------
    networks : sequence of NetworkResult, at least one
        One column each.

    Returns
    -------
    Table
        A row for each primitive that occurs in any of them, and the total, for one sample.
    """
    counts = [network.counts.by_primitive() for network in networks]
    found = {name for count in counts for name in count}
    names = [name for name in PRIMITIVES if name in found] + sorted(found - set(PRIMITIVES))
    rows = [(name, *(integer(count.get(name, 0)) for count in counts)) for name in names]
    total = ("total", *(integer(network.counts.total) for network in networks))
    return Table.of(
        "Operations by primitive",
        ("Primitive", *(f">{n.name}" for n in networks)),
        [*rows, total],
        "operations_by_primitive",
    )


def _layers_table(network: NetworkResult) -> Table:
    """Return words, ranges and error of each layer."""
    columns = (
        "Layer", "Ops", "Words in", "Weights", "Accumulators", "Words out", ">Operations", ">SQNR",
        ">Bits seen", ">Bits proved", ">Observed range", ">Proved range", ">Overflows",
    )  # fmt: skip
    rows = [
        (
            layer.layer or NONE,
            words(layer.ops),
            words(layer.input_words),
            words(layer.weight_words),
            words(layer.accumulators),
            words(layer.output_words),
            integer(sum(layer.operations.values())),
            decibel(layer.sqnr_db, layer.exact),
            integer(layer.observed_bits),
            integer(layer.proved_bits),
            interval(layer.observed_lo, layer.observed_hi),
            interval(layer.proved_lo, layer.proved_hi),
            integer(layer.overflows),
        )
        for layer in network.layers.rows
    ]
    return Table.of("Layers", columns, rows, "layers")


def _layer_operations_table(network: NetworkResult) -> Table:
    """Return operations by primitive of each layer."""
    names = [
        name for name in network.layers.primitives if any(layer.operations.get(name) for layer in network.layers.rows)
    ]
    rows = [
        (layer.layer or NONE, *(integer(layer.operations.get(name, 0)) for name in names))
        for layer in network.layers.rows
    ]
    return Table.of("Operations by layer", ("Layer", *(f">{name}" for name in names)), rows, "layers")


def _parity_table(network: NetworkResult) -> Table:
    """Return the pairs of realisations that were compared."""
    rows = [
        (
            pair.name,
            integer(pair.compared),
            integer(pair.mismatches),
            "equal" if pair.equal else "different" if pair.compared else "nothing compared",
        )
        for pair in network.parity
    ]
    return Table.of("Parity", ("Pair", ">Compared", ">Mismatches", "Result"), rows, "parity")


def _multiplications_table(network: NetworkResult) -> Table:
    """Return where multiplications remain, and by what."""
    rows = [
        (
            row.node,
            row.layer or NONE,
            row.op,
            row.primitive,
            row.multiplied_by or NONE,
            _bits_text(row.widths),
            integer(row.count),
        )
        for row in network.counts.multiplications()
    ]
    columns = ("Node", "Layer", "Op", "Primitive", "Multiplied by", "Operand bits", ">Count")
    return Table.of("Multiplications that remain", columns, rows, "multiplications")


def _bits_text(widths: Sequence[int]) -> str:
    """Return operand widths as "8, 8"."""
    return ", ".join(str(bits) for bits in widths)


def _width_operations_table(network: NetworkResult) -> Table:
    """Return operations by primitive and operand widths."""
    rows = [(name, _bits_text(widths), integer(number)) for (name, widths), number in network.counts.by_width().items()]
    return Table.of("Operations by operand width", ("Primitive", "Operand bits", ">Count"), rows, "operations_by_width")


def _offline_table(network: NetworkResult) -> Table:
    """Return work on constants alone."""
    rows = [(name, integer(number)) for name, number in network.counts.offline().items()]
    return Table.of("Offline work on constants, done once", ("Primitive", ">Count"), rows, "operations_offline")


def _lookup_table(network: NetworkResult) -> Table:
    """Return the lookup tables."""
    rows = [
        (
            t.name,
            integer(t.entries),
            integer(t.input_bits),
            integer(t.output_bits),
            "yes" if t.shared else "no",
            words(t.nodes),
        )
        for t in network.counts.tables
    ]
    columns = ("Table", ">Entries", ">Input bits", ">Output bits", "Shared by all channels", "Nodes")
    return Table.of("Lookup tables", columns, rows, "tables")


def _uncounted_table(network: NetworkResult) -> Table:
    """Return the nodes that could not be counted."""
    rows = [(u.node, u.layer or NONE, u.op, u.reason) for u in network.counts.uncounted]
    return Table.of("Nodes that could not be counted", ("Node", "Layer", "Op", "Reason"), rows, "uncounted")


def _memory_table(network: NetworkResult) -> Table:
    """Return memory by kind and word length."""
    rows = [
        (kind, integer(bits), integer(tensors), integer(codes), integer(total), data_size(size))
        for kind, bits, tensors, codes, total, size in network.memory.by_width()
    ]
    columns = ("Kind", ">Word bits", ">Tensors", ">Codes", ">Bits", ">Packed")
    return Table.of("Memory by word length", columns, rows, "memory_by_width")


def _width_table(network: NetworkResult) -> Table:
    """Return word, proved and observed range of every value."""
    rows = [
        (
            row.name,
            row.layer or NONE,
            row.kind,
            row.word,
            interval(row.proved_lo, row.proved_hi),
            interval(row.observed_lo, row.observed_hi),
            integer(row.proved_bits),
            integer(row.observed_bits),
            integer(row.slack if row.observed_slack is None else row.observed_slack),
            integer(row.overflows),
        )
        for row in network.words.rows
    ]
    columns = (
        "Value",
        "Layer",
        "Kind",
        "Word",
        ">Proved range",
        ">Observed range",
        ">Bits proved",
        ">Bits observed",
        ">Spare bits",
        ">Overflows",
    )
    return Table.of("Words and ranges of every value", columns, rows, "widths")


def _error_table(network: NetworkResult) -> Table:
    """Return the error of every value that has a float reference."""
    rows = [
        (
            row.tensor,
            row.layer or NONE,
            decibel(row.sqnr_db, row.exact),
            significant(row.max_abs),
            significant(row.mean_abs),
            NONE if row.cosine is None else f"{row.cosine:.6f}",
            percent(row.top1),
        )
        for row in (network.errors.rows if network.errors is not None else ())
    ]
    columns = ("Value", "Layer", ">SQNR", ">Largest error", ">Mean error", ">Cosine", ">Top-1 agreement")
    return Table.of("Error against float", columns, rows, "errors")


def _added_table(network: NetworkResult) -> Table:
    """Return what each integer function adds to the error."""
    rows = [
        (
            row.layer,
            row.function,
            integer(row.values),
            significant(row.max_lsb),
            significant(row.mean_lsb),
            percent(row.differ),
        )
        for row in network.added.rows
    ]
    columns = ("Layer", "Function", ">Values", ">Largest (LSB)", ">Mean (LSB)", ">Not the rounded float value")
    return Table.of("Error that each integer function adds, on the same input codes", columns, rows, "added_errors")


def network_tables(network: NetworkResult) -> list[Table]:
    """Return every table of a network that has rows, in the order of the report.

    Parameters
    ----------
    network : NetworkResult
        Results of the network; those that it lacks give no table.

    Returns
    -------
    list of Table
        Each with at least one row.
    """
    made = (
        _layers_table, _uncounted_table, _parity_table, _multiplications_table, _lookup_table, _layer_operations_table, _memory_table,
        _width_operations_table, _offline_table, _width_table, _error_table, _added_table,
    )  # fmt: skip
    return [*(table for table in (make(network) for make in made) if table.rows), *cim_tables(network)]
