"""Proofs of the blocks, and what they must catch."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mfsim.errors import ParityError, ToolError
from mfsim.rtl_models import MfDotParameters, MfTermParameters, WhtParameters, verify, yosys
from mfsim.rtl_models.cells import check_cells, word_cells
from mfsim.rtl_models.gates import GateNetlist
from mfsim.rtl_models.proofs import prove_dot, prove_term, prove_wht
from mfsim.rtl_models.stimuli import all_pairs, cycles
from mfsim.rtl_models.verify import compare

FORMS = [(form, zero) for form in ("ef", "abs") for zero in (0, 1)]
MILLION = [
    WhtParameters(16, 8),
    MfDotParameters(9, 8, 8, "ef", 0),
    MfDotParameters(8, 6, 8, "abs", 1),
    MfTermParameters(16, 14, "ef", 1),
]
pytestmark = pytest.mark.usefixtures("needs_yosys")


def mutant(made, file, old, new):
    """Return the block's SystemVerilog with one change."""
    texts = made.texts()
    assert texts[file].count(old) == 1, f"{old!r} stands {texts[file].count(old)} times in {file}"
    return {**texts, file: texts[file].replace(old, new)}


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("n", [2, 4, 8, 16, 32, 64, 128, 256])
def test_the_transform_is_the_hadamard_matrix_for_all_inputs(n, bits):
    made = WhtParameters(n, bits, "sequency" if n in (8, 64) else "natural")
    texts = made.texts()
    check_cells(made, texts, made.top)
    prove_wht(made, texts, made.top)


@pytest.mark.parametrize("bits", range(4, 13))
@pytest.mark.parametrize(("form", "zero"), FORMS)
def test_a_term_is_its_definition_for_all_inputs(form, zero, bits):
    report = verify("mf_term", MfTermParameters(bits, bits, form, zero), vectors=1)
    assert (
        report.proved
        == f"equal to the definition for all inputs; all {1 << 2 * bits:,} pairs of operands run through the gates"
    )


@pytest.mark.parametrize("bits", [(32, 32), (20, 7)])
@pytest.mark.parametrize(("form", "zero"), FORMS)
def test_a_wide_term_is_its_definition_for_all_inputs(form, zero, bits):
    made = MfTermParameters(*bits, form, zero)
    prove_term(made, made.texts())


@pytest.mark.parametrize(("form", "zero"), FORMS)
@pytest.mark.parametrize("n", [2, 3, 7, 64])
def test_a_dot_product_is_the_sum_of_its_terms_for_all_inputs(n, form, zero):
    made = MfDotParameters(n, 8, 6, form, zero)
    texts = made.texts()
    check_cells(made, texts, made.top)
    prove_dot(made, texts, made.top)


@pytest.mark.parametrize("made", MILLION, ids=lambda made: made.top)
def test_a_million_vectors_through_the_gates(made):
    report = verify(made.block, made, vectors=1_000_000)
    assert report.vectors >= 1_000_000
    assert report.gates > 0
    assert (report.flip_flops > 0) == (made.latency > 0)


def test_a_multiplier_is_caught():
    """The negative control: a dot product of the same shape that multiplies."""
    made = MfDotParameters(4)
    texts = mutant(made, "mf_term.sv", "assign y_o = result & {YBits{keep}};", "assign y_o = YBits'(x_i * w_i);")
    assert word_cells(texts, made.top)["$mul"] == 4
    with pytest.raises(ParityError, match=r"mf_dot_ef_n4_x8_w8_z0 has 4 `\$mul`, and may consist of"):
        check_cells(made, texts, made.top)


def test_a_multiplier_after_synthesis_cannot_be_seen():
    """Why the check reads the netlist before it is mapped: behind synthesis a product is gates like any other."""
    made = MfTermParameters(4, 4)
    texts = mutant(made, "mf_term.sv", "assign y_o = result & {YBits{keep}};", "assign y_o = YBits'(x_i * w_i);")
    assert set(GateNetlist(made, texts, made.top).cells) <= {"$_AND_", "$_OR_", "$_XOR_", "$_NOT_", "$_MUX_"}


def test_a_product_made_of_additions_is_caught():
    made = MfTermParameters(3, 3, "ef", 0)
    rows = " + ".join(f"(YBits'(x_i) & {{YBits{{w_i[{bit}]}}}})" for bit in range(3))
    texts = mutant(
        made,
        "mf_term.sv",
        "assign y_o = result & {YBits{keep}};",
        f"assign y_o = result & {{YBits{{keep}}}} & ({rows});",
    )
    assert "$mul" not in word_cells(texts, made.top)
    with pytest.raises(ParityError, match="mf_term_ef_x3_w3_z0 has 4 adders, not 2"):
        check_cells(made, texts, made.top)


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("wht_butterfly.sv", "(Bits + 1)'(a_i) - (Bits + 1)'(b_i)", "(Bits + 1)'(b_i) - (Bits + 1)'(a_i)", "output word 1 has other coefficients"),
        ("wht_butterfly.sv", "(Bits + 1)'(a_i) + (Bits + 1)'(b_i)", "Bits'(a_i + b_i)", "has 8 bits, too few for -256..254"),
        ("wht_butterfly.sv", "(Bits + 1)'(a_i) + (Bits + 1)'(b_i)", "{1'b0, a_i} + {1'b0, b_i}", "is not bit 7 of its word|is not a word of the block"),
        ("wht_butterfly.sv", "(Bits + 1)'(a_i) - (Bits + 1)'(b_i)", "(Bits + 1)'(a_i) - (Bits + 1)'(b_i >>> 1)", "is not a word of the block"),
        ("wht_butterfly.sv", "(Bits + 1)'(a_i) - (Bits + 1)'(b_i)", "(Bits + 1)'(a_i * b_i)", "of type `\\$mul` is not linear"),
        ("wht_stage.sv", "assign y_o = y_q;", "assign y_o = y_d;", "comes after 0 cycles, not 3"),
        ("wht_stage.sv", "posedge clk_i", "negedge clk_i", "is not clocked by the rising edge"),
        ("valid_delay.sv", "assign valid_o = valid_q[Cycles-1];", "assign valid_o = valid_q[0];", "the valid output comes after 1 cycles, not 3"),
        ("wht.sv", "localparam int Row = (Sequency != 0) ? natural_row(i) : i;", "localparam int Row = natural_row(i);", "output word 1 has other coefficients"),
    ],
)  # fmt: skip
def test_a_wrong_transform_is_not_proved(file, old, new, sentence):
    made = WhtParameters(8)
    with pytest.raises(ParityError, match=sentence):
        prove_wht(made, mutant(made, file, old, new), made.top)


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("mf_dot.sv", ".w_i(w_i[i*WBits +: WBits])", ".w_i(w_i[0 +: WBits])", "does not take one word of x and the word of w with its index"),
        ("mf_dot.sv", ".SignZero(SignZero)", ".SignZero(1 - SignZero)", "must have SignZero 0"),
        ("mf_dot.sv", ".Abs     (Abs)", ".Abs     (1)", "must have Abs 0"),
        ("mf_tree_level.sv", "(Bits + 1)'(left) + (Bits + 1)'(right)", "(Bits + 1)'(left) - (Bits + 1)'(right)", "output word 0 has other coefficients"),
        ("mf_tree_level.sv", "(Bits + 1)'(left) + (Bits + 1)'(right)", "(Bits + 1)'(left) + (Bits + 1)'(left)", "output word 0 has other coefficients|bits, too few"),
        ("mf_tree_level.sv", "assign y_o = y_q;", "assign y_o = y_d;", "comes after 1 cycles, not 4"),
    ],
)  # fmt: skip
def test_a_wrong_dot_product_is_not_proved(file, old, new, sentence):
    made = MfDotParameters(5)
    with pytest.raises(ParityError, match=sentence):
        prove_dot(made, mutant(made, file, old, new), made.top)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(|x_i) & (|w_i)", "(|x_i) & (|x_i)"),
        ("(Abs != 0) ? differ : w_negative", "differ"),
        ("(Abs != 0) ? 1'b0 : differ", "1'b0"),
        ("{flipped, negate} + {{YBits{1'b0}}, negate}", "{flipped, negate}"),
    ],
)
def test_a_wrong_term_is_caught_by_the_solver_and_by_its_pairs(old, new):
    made = MfTermParameters(4, 5, "ef", 0)
    texts = mutant(made, "mf_term.sv", old, new)
    with pytest.raises(ParityError, match=r"differs from the definition of a term for some operands"):
        prove_term(made, texts)
    pairs = ((codes, np.ones(512, dtype=bool)) for codes in all_pairs(made, 512))
    with pytest.raises(ParityError, match=r"word 0 of the gates is"):
        compare(made, GateNetlist(made, texts, made.top), pairs)


def test_a_wrong_code_or_flag_is_caught_by_the_vectors():
    made = WhtParameters(4)

    def run(texts):
        compare(made, GateNetlist(made, texts, made.top, 64), cycles(made, 1000, 64, np.random.default_rng(0)))

    run(made.texts())
    swapped = mutant(
        made, "wht_butterfly.sv", "(Bits + 1)'(a_i) - (Bits + 1)'(b_i)", "(Bits + 1)'(b_i) - (Bits + 1)'(a_i)"
    )
    with pytest.raises(ParityError, match="word 1 of the gates is"):
        run(swapped)
    late = mutant(made, "valid_delay.sv", "valid_d[0] = valid_i;", "valid_d[0] = ~valid_i;")
    with pytest.raises(ParityError, match="the valid flag of the gates is wrong in cycle 2"):
        run(late)


@pytest.mark.parametrize(
    ("made", "old", "new", "sentence"),
    [
        (WhtParameters(8), ".Stages  (3)", ".Stages  (2)", "N must be 2**Stages"),
        (WhtParameters(8), ".YBits   (11)", ".YBits   (10)", "YBits must be XBits + Stages"),
        (MfTermParameters(8, 8), ".YBits   (10)", ".YBits   (8)", "YBits more than both"),
        (MfDotParameters(5), ".Levels  (3)", ".Levels  (2)", "Levels must be ceil"),
        (MfDotParameters(5), ".YBits   (12)", ".YBits   (14)", "YBits must be at most"),
    ],
    ids=lambda value: str(getattr(value, "top", value)),
)
def test_numbers_that_do_not_fit_stop_elaboration(made, old, new, sentence):
    with pytest.raises(ToolError, match=re.escape(sentence)):
        word_cells(mutant(made, f"{made.top}.sv", old, new), made.top)


def test_an_error_of_yosys_is_one_sentence():
    with pytest.raises(ToolError, match=r"^yosys stopped at top: .*ERROR"):
        yosys.netlist({"top.sv": "module top(input logic a_i); assign = ; endmodule"}, "top", yosys.ELABORATE)
