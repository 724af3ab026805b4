"""The random programs of `tests/programs.py` reach every op."""

from __future__ import annotations

from mfsim.ops import REGISTRY
from tests.programs import MAKERS, random_program


def test_every_op_is_made():
    assert set(MAKERS) == set(REGISTRY)
    assert {node.op for seed in range(120) for node in random_program(seed).nodes} == set(REGISTRY)


def test_same_seed_gives_the_same_program():
    assert random_program(3).digest() == random_program(3).digest() != random_program(4).digest()
