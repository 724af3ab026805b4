"""Counts worked out by hand, roll-ups, strictness, and what cannot be counted."""

from __future__ import annotations

import csv
import dataclasses
import json

import numpy as np
import pytest

from mfsim import ops
from mfsim.analysis import count, strict_multiplication_free
from mfsim.analysis.count import PRIMITIVES
from mfsim.errors import CountError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format
from mfsim.kernels import primitives
from mfsim.ops.op import Row, activation
from tests.analysis.programs import mixed, one, with_unknown_op


def nonzero(counts):
    return {name: number for name, number in counts.items() if number}


def test_primitives_are_those_of_the_kernels():
    assert PRIMITIVES == primitives.NAMES


def test_wht_32_takes_160_additions_one_bit_wider_at_each_stage():
    report = count(one("wht", (32,)))
    assert nonzero(report.by_primitive()) == {"addsub": 160}
    assert report.by_width() == {("addsub", (bits, bits)): 32 for bits in (8, 9, 10, 11, 12)}


def test_mf_output_with_bias_takes_2i_additions_one_negation_one_shift():
    inputs, outputs = 5, 3
    weights = (np.arange(15).reshape(5, 3) - 7, 8, -9)
    report = count(one("mf_matmul", (inputs,), constants=[weights, ([1, -2, 3], 8, -9)]))
    expected = {"addsub": 2 * inputs * outputs, "neg": outputs, "sign": inputs, "shift": outputs}
    assert nonzero(report.by_primitive()) == expected
    assert report.offline() == {"sign": inputs * outputs}


def test_mf_output_without_bias_takes_2i_minus_1_additions_two_negations_one_shift():
    inputs, outputs = 5, 3
    report = count(one("mf_matmul", (inputs,), constants=[(np.arange(15).reshape(5, 3) - 7, 8, -9)]))
    expected = {"addsub": (2 * inputs - 1) * outputs, "neg": 2 * outputs, "sign": inputs, "shift": outputs}
    assert nonzero(report.by_primitive()) == expected


def test_dense_output_takes_one_multiplication_a_weight_by_learned_constants():
    report = count(one("matmul", (5,), constants=[(np.ones((5, 3), int), 2, -1), ([1, 1, 1], 2, -8)]))
    assert nonzero(report.by_primitive()) == {"addsub": 15, "mul": 15}
    assert report.by_class() == {"learned": 15, "activation": 0, "fixed": 0}


def test_product_of_two_activations_multiplies_by_activations():
    builder = ProgramBuilder()
    x, y = builder.input("x", (4, 3), Format(8)), builder.input("y", (3, 2), Format(8))
    report = count(builder.finish([builder.node("matmul", [x, y])]))
    assert report.by_class() == {"learned": 0, "activation": 4 * 3 * 2, "fixed": 0}


def test_batch_is_not_counted():
    builder = ProgramBuilder()
    tensor = dataclasses.replace(activation("x", (32,), Format(8)), shape=(7, 32))
    report = count(builder.finish([builder.node("wht", [builder.input_tensor(tensor)])]))
    assert report.total == 160


def test_roll_ups_sum_to_the_total():
    report = count(mixed())
    assert report.total == sum(row.count for row in report.rows if not row.offline) > 0
    for rolled in (report.by_layer(), report.by_node(), report.by_op()):
        assert sum(sum(counts.values()) for counts in rolled.values()) == report.total
    assert sum(report.by_primitive().values()) == sum(report.by_width().values()) == report.total
    assert sum(report.by_class().values()) == report.by_primitive()["mul"] == 8 * 4
    assert list(report.by_layer()) == ["mf", "gain", "act", "head"]
    assert report.by_layer()["gain"] == {}, "relabelling a scale is no operation"


def test_tables_are_listed_with_entries_words_and_readers():
    (table,) = count(mixed()).tables
    assert dataclasses.astuple(table) == ("act.table", 64, 6, 4, True, ("lookup",), 0, "")


def test_paper_rule_gives_the_compact_vision_transformer_of_learned_queries_and_keys():
    """Table 3 prints 182.85 M for CIFAR-10: width 192, 6 blocks, 3 heads, 65 tokens, 64 patches of 48, MLP 768."""
    tokens, width, heads, hidden = 65, 192, 3, 768
    builder = ProgramBuilder()
    word = Format(2)

    def product(rows, inner, columns, layer):
        x = builder.input(f"{layer}.x", (rows, inner), word)
        return builder.node(
            "matmul", [x, builder.constant(f"{layer}.w", np.ones((inner, columns), int), word)], layer=layer
        )

    outputs = [product(tokens, width, width, f"block.{name}") for name in ("q", "k", "v", "o")]
    outputs += [product(tokens, width, hidden, "block.up"), product(tokens, hidden, width, "block.down")]
    head = width // heads
    for name, left, right in (("scores", (tokens, head), (head, tokens)), ("mix", (tokens, tokens), (tokens, head))):
        a, b = (builder.input(f"{name}.{side}", (heads, *shape), word) for side, shape in (("a", left), ("b", right)))
        outputs.append(builder.node("matmul", [a, b], layer=f"block.{name}"))
    outputs += [product(64, 48, width, "patches"), product(1, width, 10, "head")]
    outputs.append(builder.node("relu", [outputs[-1]], layer="head"))
    report = count(builder.finish(outputs), rule="paper")
    block = sum(sum(c.values()) for layer, c in report.by_layer().items() if layer.startswith("block."))
    assert block == 30_376_320
    assert report.total + 5 * block == 182_849_664
    assert set(nonzero(report.by_primitive())) == {"mul"}


def test_paper_rule_counts_a_convolution_over_its_windows():
    weights = (np.ones((2, 1, 3, 3), int), 2, 0)
    assert count(one("conv2d", (1, 6, 6), constants=[weights]), rule="paper").total == 2 * 16 * 9


def test_paper_rule_does_not_count_the_mf_operator():
    assert count(mixed(), rule="paper").by_layer() == {"mf": {}, "gain": {}, "act": {}, "head": {"mul": 32}}


def test_paper_rule_counts_no_other_op_that_multiplies(monkeypatch):
    row = Row("layer", "node", "wht", "mul", (8, 8), 5, "fixed")
    monkeypatch.setitem(ops.REGISTRY, "wht", dataclasses.replace(ops.REGISTRY["wht"], count=lambda *_: [row]))
    assert (count(one("wht", (8,))).total, count(one("wht", (8,)), rule="paper").total) == (5, 0)


def test_unknown_rule():
    with pytest.raises(CountError, match=r"^`rule` must be one of full, paper, not 'papers'; did you mean `paper`\?$"):
        count(mixed(), rule="papers")


def test_multiplication_free_program_passes():
    report = strict_multiplication_free(one("wht", (8,)))
    assert report.multiplications() == []


def test_strictness_names_the_first_multiplication():
    message = (
        "node `head` (matmul) of layer `head` executes 32 mul by learned constants for each sample; "
        "a multiplication-free program has no mul, div or sqrt"
    )
    for subject in (mixed(), count(mixed())):
        with pytest.raises(CountError) as caught:
            strict_multiplication_free(subject)
        assert str(caught.value) == message


def table_program(entries):
    return one("table", (4,), {"first": 0}, [(np.zeros(entries, int), 2, 0)], bits=16)


def test_strictness_limits_the_entries_of_a_table():
    strict_multiplication_free(table_program(2**12))
    with pytest.raises(CountError) as caught:
        strict_multiplication_free(table_program(2**12 + 1))
    assert str(caught.value) == "table `c0` of node `node` must have at most 4096 entries, not 4097"
    strict_multiplication_free(table_program(2**12 + 1), max_table=2**13)


def test_strictness_wants_every_table_listed_and_shared():
    report = count(table_program(4))
    with pytest.raises(
        CountError, match=r"^node `node` \(table\) of layer `layer` looks up a table that is not listed$"
    ):
        strict_multiplication_free(dataclasses.replace(report, tables=()))
    apart = tuple(dataclasses.replace(table, shared=False) for table in report.tables)
    with pytest.raises(CountError, match=r"^table `c0` of node `node` must be shared by all channels$"):
        strict_multiplication_free(dataclasses.replace(report, tables=apart))


def test_strictness_refuses_a_table_for_each_channel():
    builder = ProgramBuilder()
    x = builder.input("x", (2, 3), Format(8))
    outputs = []
    for channel in range(2):
        part = {"axes": (1,), "starts": (channel,), "ends": (channel + 1,), "steps": (1,)}
        table = builder.constant(f"table{channel}", np.abs(np.arange(-128, 128)) + channel)
        outputs.append(builder.node("table", [builder.node("slice", [x], part), table], {"first": -128}))
    program = builder.finish([builder.node("concat", outputs, {"axis": 1})])
    with pytest.raises(CountError, match=r"^table `table0` of node `table` must be shared by all channels$"):
        strict_multiplication_free(program)


def test_strictness_refuses_a_count_by_the_rule_of_the_papers():
    with pytest.raises(
        CountError, match=r"^only a count by the rule full shows that nothing multiplies, not one by the rule paper$"
    ):
        strict_multiplication_free(count(one("wht", (8,)), rule="paper"))


def test_uncounted_node_is_named_and_never_0():
    program = with_unknown_op(one("wht", (8,), name="first"))
    message = "node `first` of layer `layer` cannot be counted: `wht2` is not an op of the integer program; did you mean `wht`?"
    with pytest.raises(CountError) as caught:
        count(program)
    assert str(caught.value) == message
    report = count(program, allow_uncounted=True)
    assert [u.node for u in report.uncounted] == ["first"]
    with pytest.raises(CountError) as caught:
        strict_multiplication_free(report)
    assert str(caught.value) == message


def test_op_without_a_count_is_not_counted_as_0(monkeypatch):
    monkeypatch.setitem(ops.REGISTRY, "wht", dataclasses.replace(ops.REGISTRY["wht"], count=None))
    with pytest.raises(CountError, match=r"^node `node` of layer `layer` cannot be counted: op `wht` states no count$"):
        count(one("wht", (8,)))


def test_csv_and_json_say_the_same(tmp_path):
    report = count(mixed())
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    paths = report.write_csv(tmp_path)
    assert {path.stem for path in paths} == set(content) - {"rule", "taps", "per", "total"}
    for path in paths:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(content[path.stem])
        for row, record in zip(rows, content[path.stem], strict=True):
            assert row == {key: as_text(value) for key, value in record.items()}
    assert content["multiplications"] == [
        {
            "layer": "head",
            "node": "head",
            "op": "matmul",
            "primitive": "mul",
            "class": "learned",
            "widths": [4, 4],
            "count": 32,
        }
    ]


def as_text(value):
    if isinstance(value, list):
        return " ".join(map(str, value))
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def test_operands_on_one_grid_are_joined_without_a_shift():
    same = count(one("mf_matmul", (4,), constants=[(np.ones((4, 2), int), 2, -7)], exponent=-7))
    apart = count(one("mf_matmul", (4,), constants=[(np.ones((4, 2), int), 2, -9)], exponent=-7))
    assert same.by_primitive().get("shift", 0) == 0
    assert apart.total == same.total + 2
