"""Programs as text: listing, one line, HTML; nothing of the weights, nothing that a browser would run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Node, Program, Tensor
from tests.analysis.programs import mixed

LISTING = """\
program {digest}: 5 nodes, 3 constants
inputs   %x : s8[16] * 2^-7 in -128..127
outputs  %head

# mf
%mf : s15[8] * 2^-9 in -9277..9285 by axis 1 = mf_matmul(%x, @mf.weight: s8[16,8]) {{form = "ef", sign_zero = 0, \
grid = "split", shift_x = (2), shift_w = (0)}} with acc_x: s12, acc_w: s12

# gain
%gain : s15[8] * 2^-6 in -9277..9285 by axis 1 = shift(%mf) {{exponents = (3), axis = -1}}

# act
%fit : s6[8] * 2^-1 in -32..31 by axis 1 = requantize(%gain) {{shift = (5), axis = -1, bits = 6, signed = 1, narrow = 0, \
rounding = "half_even", overflow = "saturate", clamp = "both"}} with rounded: s10
%lookup : s4[8] * 2^-3 in 0..7 by axis 1 = table(%fit, @act.table: s4[64]) {{first = -32, clamp = "none"}}

# head
%head : s9[4] * 2^-6 in -119..224 by axis 1 = matmul(%lookup, @head.weight: s4[8,4]) {{constant = "learned", \
triangle = "none"}} with product: s7, acc: s9"""


def per_channel() -> Program:
    """Return a program with scales of each channel, factors, two outputs of a node, long attributes and metadata."""
    x = Tensor("x", (1, 2, 3), Format(8), Scale((-3, -5), 1), Range((-8, -2), (7, 1), 1))
    a = Tensor("a", (1, 2, 3), Format(8), Scale.of_steps([Fraction(3, 8)]), Range.of(-9, 7))
    b = Tensor("b<script>", (1,), Format(9, False), Scale(), Range.of(0, 1))
    long = {"many": tuple(range(100)), "text": "half_even", "one": (1,), "none": (), "quoted": "a\nb" * 40}
    nodes = (Node("n", "odd", ("x",), ("a", "b<script>"), long, {"acc": Format(9), "sum": Format(4, False)}),)
    tensors = {tensor.name: tensor for tensor in (x, a, b)}
    return Program(("x",), ("a", "b<script>"), tensors, nodes, {"source": "0" * 100, "format": "2"})


def test_listing():
    program = mixed()
    assert str(program) == LISTING.format(digest=program.digest()[:8])


def test_listing_of_channels_and_several_outputs_is_cut_where_it_is_long():
    program = per_channel()
    quoted = ("a b" * 40)[:59]
    assert str(program).splitlines() == [
        f"program {program.digest()[:8]}: 1 node",
        "inputs   %x : s8[2,3] * 2^-5..2^-3 by axis 1 in -8..7 by axis 1",
        "outputs  %a, %b<script>",
        "metadata format = 2",
        f"         source = {'0' * 59}…",
        "",
        "%a : s8[2,3] * 1.5*2^-2 in -9..7, %b<script> : u9[] * 2^0 in 0..1 = odd(%x) {many = (0, 1, 2, 3, ... 100 in all), "
        f'text = "half_even", one = (1), none = (), quoted = "{quoted}…"}} with acc: s9, sum: u4 as n',
    ]


def test_listing_of_inputs_that_are_outputs():
    builder = ProgramBuilder()
    builder.input("left", (3,), Format(4))
    builder.input("right", (), Format(1, False))
    made = builder.finish(["right", "left"])
    assert str(made).splitlines() == [
        f"program {made.digest()[:8]}: 0 nodes",
        "inputs   %left : s4[3] * 2^0 in -8..7",
        "         %right : u1[] * 2^0 in 0..1",
        "outputs  %right, %left",
    ]


def test_one_line_each():
    program = mixed()
    digest = program.digest()[:8]
    assert repr(program) == f"Program(5 nodes, inputs x s8[16], outputs head s9[4], digest {digest})"
    assert repr(program.nodes[0]) == "Node(mf: mf = mf_matmul(x, mf.weight))"
    assert repr(program.tensors["mf.weight"]) == "Tensor(mf.weight : s8[16,8] * 2^-9 in -127..121, constant)"
    assert repr(program.tensors["x"]) == "Tensor(x : s8[16] * 2^-7 in -128..127)"


def test_the_digest_on_the_line_is_that_of_the_program_and_no_other():
    first, second = mixed(), per_channel()
    for program in (first, second, first):
        assert program.digest()[:8] in repr(program)


def test_html_is_escaped_and_stands_alone():
    text = per_channel()._repr_html_()
    assert "<script" not in text
    assert "b&lt;script&gt;" in text
    assert "http" not in text
    assert "<td" in text
    assert text.count("<tr>") == 1 + 1 + 2, "the head, an input, a row for each output of the node"


def test_no_weight_is_shown():
    builder = ProgramBuilder()
    x = builder.input("x", (2,), Format(8))
    w = builder.constant("w", np.full((2, 1), 93), Format(8))
    made = builder.finish([builder.node("mf_matmul", [x, w], {})])
    for text in (str(made), repr(made), repr(made.nodes[0]), made._repr_html_()):
        assert "93" not in text.replace(made.digest()[:8], "")
