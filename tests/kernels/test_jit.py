"""Kernels are found in the cache by another process."""

from __future__ import annotations

import pytest

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.wrapping import add


def test_a_kernel_that_was_never_found_in_the_cache_because_its_closure_held_another_is_refused():
    def of(combine):
        def combined(left, right):
            return combine(left, right)

        return combined

    for held in (add, kernel(lambda left, right: left)):
        with pytest.raises(AssertionError, match="holds a kernel and is never cached"):
            kernel(of(held))
