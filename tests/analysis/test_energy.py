"""Energy by primitive and width: the table's own figures, interpolation, estimates, and sums."""

from __future__ import annotations

import json

import pytest

from mfsim.analysis import count, energy
from mfsim.analysis.energy import BASES, GATES, Cost, Technology
from mfsim.errors import CountError
from tests.analysis.programs import mixed, one, residual, with_unknown_op

TABLE = Technology()


@pytest.mark.parametrize(
    ("primitive", "widths", "pj", "basis"),
    [
        ("addsub", (8, 8), 0.03, "table"),
        ("addsub", (16, 3), 0.05, "table"),
        ("addsub", (32, 32), 0.1, "table"),
        ("addsub", (4, 4), 0.015, "interpolated"),
        ("addsub", (12, 5), 0.04, "interpolated"),
        ("addsub", (24, 24), 0.075, "interpolated"),
        ("addsub", (48, 8), 0.15, "interpolated"),
        ("mul", (8, 8), 0.2, "table"),
        ("mul", (32, 32), 3.1, "table"),
        ("mul", (4, 8), 0.1, "interpolated"),
        ("mul", (4, 16), 0.2, "interpolated"),
        ("mul", (16, 34), 0.2 + 2.9 / 2, "interpolated"),
        ("mul", (64, 32), 6.2, "interpolated"),
        ("lut", (6, 4), 0.625, "estimate"),
        ("shift", (20,), 0.0, "estimate"),
    ],
)
def test_cost(primitive, widths, pj, basis):
    """Horowitz 2014: additions 0.03, 0.05, 0.1 pJ at 8, 16, 32 bits, multiplications 0.2, 3.1 pJ at 8, 32 bits."""
    cost = TABLE.cost(primitive, widths)
    assert cost.pj == pytest.approx(pj, rel=1e-12), "decimal figures are no binary fractions"
    assert cost.basis == basis


def test_gates_are_scaled_to_the_8_bit_addition():
    """A one-bit adder is 3 * 0.7 + 2 * 1.05 = 4.2 fF; |x| of 8 bits is 8 * (2 * 1.05 + 0.7) = 22.4 of 33.6 fF."""
    assert TABLE.cost("abs", (8,)).pj == pytest.approx(0.03 * 22.4 / 33.6, rel=1e-12), "decimal figures"
    assert TABLE.cost("abs", (8,)).basis == "estimate"


def test_a_shift_by_data_takes_a_multiplexer_for_each_bit_and_stage():
    """A multiplexer is 3 * 0.7 fF; 8 bits moved by a distance of 3 bits are 24 of them, 50.4 of 33.6 fF."""
    assert TABLE.cost("shift", (8, 3)).pj == pytest.approx(0.03 * 50.4 / 33.6, rel=1e-12), "decimal figures"


def test_every_primitive_has_a_cost():
    from mfsim.analysis.count import PRIMITIVES

    assert all(TABLE.cost(primitive, (8, 8)).basis in BASES for primitive in PRIMITIVES)
    assert set(GATES) < set(PRIMITIVES)


def test_unknown_primitive_is_never_free():
    with pytest.raises(CountError, match=r"^the primitive `cordic` has no energy in the technology Horowitz 45 nm, "):
        TABLE.cost("cordic", (8,))


def test_energy_of_a_dense_product_by_hand():
    """4 terms, 2 outputs, s8 by s8: 8 multiplications of 0.2 pJ; 3 additions for each output.

    Products reach -4 * -128 = 512: s11. Sums of the columns (-4, -2, 0, 2) and (-3, -1, 1, 3) reach
    4*128 + 2*128 + 2*127 = 1022 and -3*127 - 127 - 128 - 3*128 = -1020: s11. 0.03 + 3/8 * 0.02 = 0.0375 pJ.
    """
    weights = [[-4, -3], [-2, -1], [0, 1], [2, 3]]
    report = energy(count(one("matmul", (4,), constants=[(weights, 8, -7)])))
    assert [(row.primitive, row.count, row.basis) for row in report.rows] == [
        ("mul", 8, "table"),
        ("addsub", 6, "interpolated"),
    ]
    assert report.total_pj == pytest.approx(8 * 0.2 + 6 * 0.0375, rel=1e-12), "decimal figures"
    assert report.estimated_share == 0.0


@pytest.mark.parametrize("program", [mixed(), residual()])
def test_every_roll_up_sums_to_the_total(program):
    report = energy(count(program))
    counts = count(program)
    assert sum(row.count for row in report.rows) == counts.total, "every counted operation is priced"
    for rolled in (report.by_primitive(), report.by_layer(), report.by_basis(), report.by_node()):
        assert sum(rolled.values()) == pytest.approx(report.total_pj, rel=1e-12), "another order of summation"
    assert list(report.by_layer()) == list(counts.layers)
    shares = {row["basis"]: row["share"] for row in report.to_json()["energy_by_basis"]}
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-12), "another order of summation"
    assert shares["estimate"] == report.estimated_share > 0


def test_offline_work_costs_nothing():
    report = energy(count(mixed()))
    assert count(mixed()).offline()
    assert sum(row.count for row in report.rows) == count(mixed()).total


def test_layout_alone_spends_nothing():
    report = energy(count(one("flatten", (2, 3))))
    assert (report.total_pj, report.estimated_share, report.by_layer()) == (0, 0.0, {"layer": 0.0})


def test_only_a_whole_count_has_an_energy():
    with pytest.raises(CountError, match=r"^energy needs a count by the rule full, not by the rule paper$"):
        energy(count(mixed(), "paper"))
    with pytest.raises(CountError, match=r"^node `mf` is not counted, so the energy of its program is not known$"):
        energy(count(with_unknown_op(mixed()), allow_uncounted=True))


def test_another_technology():
    report = energy(
        count(one("matmul", (1,), constants=[([[3]], 8, -7)])), Technology("mine", multiplications=((8, 1.0),))
    )
    assert (report.total_pj, report.technology.name) == (1.0, "mine")


def test_json_and_csv(tmp_path):
    report = energy(count(mixed()))
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert content["total_pj"] == report.total_pj
    assert {row["source"] for row in content["energy_sources"]}
    assert sorted(path.name for path in report.write_csv(tmp_path)) == [
        "energy.csv",
        "energy_by_basis.csv",
        "energy_by_layer.csv",
        "energy_by_primitive.csv",
        "energy_sources.csv",
    ]


def test_cost_is_a_plain_value():
    assert TABLE.cost("addsub", (8, 8)) == Cost(0.03, "table")
