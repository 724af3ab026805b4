"""`exact_words`: the same codes, and a sentence for the first value that its word does not hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mfsim.errors import WordOverflowError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation
from mfsim.simulate import Simulator, simulate
from tests.programs import random_codes, random_program

WEIGHTS = np.array([[4], [4], [-4]])


def program_of(op="mf_matmul"):
    """Return a product of three codes in 5..7 with `WEIGHTS`."""
    builder = ProgramBuilder()
    x = builder.input_tensor(replace(activation("x", (3,), Format(4), Scale.of(0)), range=Range.of(5, 7)))
    w = builder.constant("w", WEIGHTS, Format(4), Scale.of(0))
    return builder.finish([builder.node(op, [x, w], layer="layer")])


def with_words(program, **words):
    (node,) = program.nodes
    return replace(program, nodes=(replace(node, words={**node.words, **words}),))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exact_words_change_nothing(seed):
    program = random_program(seed)
    codes = random_codes(program, 3)
    names = [node.outputs[0] for node in program.nodes]
    expected = simulate(program, codes, kernels="plain", observe=True, keep=names)
    found = simulate(program, codes, observe=True, keep=names, exact_words=True)
    assert (found.samples, found.observed, found.overflows) == (3, expected.observed, expected.overflows)
    for name in names:
        assert found.kept[name].tolist() == expected.kept[name].tolist()


def test_a_word_that_is_too_narrow_is_named_with_the_value():
    program = program_of()
    assert program.nodes[0].words == {"acc_x": Format(5), "acc_w": Format(5)}
    codes = np.array([[5, 5, 5], [5, 6, 5]])
    assert simulate(program, codes, exact_words=True).output.tolist() == [[9], [10]]
    name = program.nodes[0].name
    with pytest.raises(WordOverflowError) as error:
        simulate(with_words(program, acc_x=Format(4)), codes, exact_words=True)
    assert str(error.value) == f"the word `acc_x` of node `{name}` is s4, which cannot hold 10"
    with pytest.raises(WordOverflowError) as error:
        simulate(with_words(program, acc_w=Format(3, False)), codes, exact_words=True, kernels="plain")
    assert str(error.value) == f"the word `acc_w` of node `{name}` is u3, which cannot hold 8"


def test_the_first_of_many_samples_is_told():
    program = program_of("matmul")
    narrow = with_words(program, product=Format(6))
    codes = np.full((9, 3), 7)
    codes[3:] = 5
    assert Simulator(narrow, exact_words=True).run(codes[:1]).output.tolist() == [[28]]
    narrower = Simulator(with_words(program, product=Format(5)), exact_words=True)
    with pytest.raises(WordOverflowError, match=r"^the word `product` of node `\S+` is s5, which cannot hold 28$"):
        narrower.run(codes, threads=4)


def test_an_output_is_held_against_its_format():
    program = program_of()
    (name,) = program.outputs
    narrow = replace(program.tensors[name], format=Format(3, False), range=Range.of(0, 7))
    program = replace(program, tensors={**program.tensors, name: narrow})
    assert simulate(program, np.array([[5, 5, 7]]), exact_words=True).output.tolist() == [[7]]
    with pytest.raises(WordOverflowError) as error:
        simulate(program, np.array([[5, 5, 7], [7, 7, 5]]), exact_words=True)
    assert str(error.value) == f"the output `{name}` of node `{program.nodes[0].name}` is u3, which cannot hold 13"
