"""Arithmetic in one machine word: what fast kernels use instead of Numba's operators, which widen to 64 bits.

Both operands, and the result, are of one signed integer type; sums, products and left shifts wrap. LLVM so fills its
vectors with codes of 32 bits where the proved ranges fit them, which is for the caller to know: a fast kernel is
compiled for a word (`numpy.int32`, `numpy.int64`) and chosen by `word_of`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

WORDS = (np.int32, np.int64)
"""The words that fast kernels compute in, the narrowest first."""


def word_of(*numbers: int) -> Any:
    """Return the narrowest of `WORDS` that holds all `numbers`, Python ints, or None if the widest does not.

    Parameters
    ----------
    *numbers : int
        At least one.

    Returns
    -------
    numpy integer type or None
        int32 or int64.
    """
    for word in WORDS:
        if np.iinfo(word).min <= min(numbers) and max(numbers) <= np.iinfo(word).max:
            return word
    return None


def _intrinsic(function: Any) -> Any:
    return intrinsic(function)


def _binary(name: str) -> Any:
    def typed(typing, left, right):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return left(left, left), generate

    return intrinsic(typed)


def _extreme(relation: str) -> Any:
    def typed(typing, left, right):
        def generate(context, builder, signature, arguments):
            return builder.select(builder.icmp_signed(relation, *arguments), *arguments)

        return left(left, left), generate

    return intrinsic(typed)


add, sub, mul, bit_and = _binary("add"), _binary("sub"), _binary("mul"), _binary("and_")
"""left + right, left - right, left * right, and the bits that are set in both."""

shl, ashr = _binary("shl"), _binary("ashr")
"""left * 2**right and floor(left / 2**right); `right` is at least 0 and less than the bits of the word."""

minimum, maximum = _extreme("<"), _extreme(">")
"""The smaller and the greater of two."""


@_intrinsic
def width(typing, code):
    """Return the bits of the word of a code, a constant.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    code : int
        A code of any integer type.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, int64.
    """

    def generate(context, builder, signature, arguments):
        return context.get_constant(types.int64, signature.args[0].bitwidth)

    return types.int64(code), generate


@_intrinsic
def alike(typing, code, number):
    """Return an integer in the word of a code, where it wraps.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    code : int
        A code whose integer type is taken.
    number : int
        An integer of any type.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, `number` in the type of
        `code`.
    """

    def generate(context, builder, signature, arguments):
        return context.cast(builder, arguments[1], signature.args[1], signature.args[0])

    return code(code, number), generate
