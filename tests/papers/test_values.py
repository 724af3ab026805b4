"""A claim cannot say more than it may: what is counted comes from something built, and verdicts follow from numbers."""

from __future__ import annotations

import ast
import pathlib
import re
from fractions import Fraction

import pytest
import torch
from torch import nn

from examples.papers.claims import Claim, Source, rounded
from examples.papers.measure import module_count
from examples.papers.values import Absent, Counted, Derived, basis

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "papers"
SOURCE = Source("keyless")


def counted(number: int) -> Counted:
    """Return a counted number: the parameters of a layer of so many weights."""
    return Counted.parameters(nn.Linear(number, 1, bias=False, device="meta"))


def test_counts_of_what_is_built():
    layer = nn.Linear(3, 4)
    assert Counted.parameters(layer).value == 16
    assert Counted.parameters(layer, layer).value == 32
    assert Counted.parameters(layer, matrices=True).value == 12
    assert Counted.tensors(layer).value == 2
    assert Counted.length(torch.zeros(2, 5), 1).value == 5
    report = module_count(lambda: layer, 7, 3)
    assert Counted.operations(report, "mul").value == Counted.paper_rule(report).value == 7 * 12
    assert Counted.operations(report, "mul", "learned").value == 7 * 12
    assert Counted.operations(report, "mul", "activation").value == 0
    assert Counted.operations(report, "addsub").value == 7 * 12


def test_arithmetic_of_counts_is_exact():
    assert (counted(3) + counted(4)).value == 7
    assert (counted(3) - counted(4)).value == -1
    assert (counted(1) / counted(3)).exact == Fraction(1, 3)
    assert counted(1).percent_of(counted(4)) == counted(25)


@pytest.mark.parametrize("number", [28, 0.5, Fraction(1, 2)], ids=str)
def test_a_number_is_not_counted(number):
    message = f"a `Counted` must be counted on a module, a tensor or a `CountReport`; {number!r} is a `Derived`"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        Counted(number)


@pytest.mark.parametrize("other", [2, 2.0, Derived(2)], ids=str)
@pytest.mark.parametrize("sign", ["+", "-", "/", "*"])
def test_counts_do_not_mix_with_other_numbers(sign, other):
    kind = type(other).__name__
    message = f"unsupported operand type(s) for {sign}: 'Counted' and '{kind}'"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        eval(f"count {sign} other", {"count": counted(3), "other": other})


def test_counted_is_not_derived():
    with pytest.raises(TypeError, match=r"^the value of a `Derived` must be a number, not Counted\("):
        Derived(counted(3))


def test_the_basis_follows_from_the_type():
    assert [basis(value) for value in (counted(3), Derived(3), *Absent)] == [
        *("counted", "derived", "measured", "unstated")
    ]


@pytest.mark.parametrize("number", [28, 0.5, None], ids=str)
def test_a_claim_takes_no_plain_number(number):
    message = f"`ours` must be a `Counted`, a `Derived` or an `Absent`, not {number!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        Claim("keyless", "", "", "", number, "exact", "")


def test_a_claim_without_a_value_is_not_derivable():
    with pytest.raises(ValueError, match=r"^a claim without a value of ours must be 'not derivable', not 'exact'$"):
        Claim("keyless", "", "", "", Absent.MEASURED, "exact", "")


def test_only_sources_make_claims_and_only_values_make_counts():
    """A seal or a verdict that is written elsewhere would be typed."""
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text())
        called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "id")}
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        imported = {a.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for a in node.names}
        assert "Claim" not in called or path.name == "claims.py", path
        assert "Counted" not in called or path.name == "values.py", path
        assert "_SEAL" not in named | imported or path.name == "values.py", path


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [("2.694", 2_693_578, "exact"), ("2.694", 2_693_499, "does not reproduce"), ("2.69", 2_693_499, "exact")],
)
def test_a_verdict_follows_from_the_printed_digits(printed, ours, verdict):
    assert SOURCE.number("", "", printed, Derived(ours), "", scale=1e6).verdict == verdict


@pytest.mark.parametrize(("expected", "verdict"), [((4, 4), "exact"), ((4, 5), "does not reproduce")])
def test_a_formula_is_equal_or_is_not(expected, verdict):
    assert SOURCE.equal("", "", "d", Derived(4), "", *expected).verdict == verdict
    assert SOURCE.equal("", "", "d", Derived(4), "", *map(counted, expected)).verdict == verdict


@pytest.mark.parametrize(
    ("printed", "within", "beyond"),
    [
        ("less than 10 %", [8, 9.999], [10, 11]),
        ("slightly more than 25 %", [25.001, 40], [25, 24]),
        ("up to 90 %", [12, 90], [90.001, 91.67]),
    ],
)
def test_a_bound_is_kept_or_not(printed, within, beyond):
    verdicts = {value: SOURCE.bound("", "", printed, Derived(value), "").verdict for value in within + beyond}
    assert verdicts == dict.fromkeys(within, "within the bound") | dict.fromkeys(beyond, "beyond the bound")


@pytest.mark.parametrize("printed", ["up to 90", "10 %", "", "d^2"])
def test_a_bound_is_no_number(printed):
    message = f"`printed` must be a number, not {printed!r}; a bound is compared by `Source.bound`"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SOURCE.number("", "", printed, Derived(90), "")


@pytest.mark.parametrize("printed", ["up to 90 %", "less than 10 %", "slightly more than 25 %"])
def test_a_bound_is_no_formula(printed):
    message = f"`printed` must be a formula, not {printed!r}; a bound is compared by `Source.bound`"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SOURCE.equal("", "", printed, Derived(90), "", 90)


def test_a_formula_has_something_to_compare_with():
    with pytest.raises(ValueError, match=r"^`expected` must have at least one number$"):
        SOURCE.equal("", "", "d", Derived(90), "")


@pytest.mark.parametrize("printed", ["90 %", "up to", "about 90 %"])
def test_what_is_no_bound(printed):
    message = f"`printed` must have less than, more than, up to before a number, not {printed!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SOURCE.bound("", "", printed, Derived(90), "")


def test_rounding_keeps_the_printed_decimals():
    assert rounded(102.30000000000001, "102.30") == "102.30"
