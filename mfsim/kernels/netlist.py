"""Gates of a synthesised circuit, evaluated for 64 vectors in each machine word (no op: host work alone).

A net is a row of `nets` [nets, words], uint64: bit b of word k belongs to lane 64*k + b. Rows 0 and 1
are the constants. A gate is a row (kind, first, second, third, net) of `gates`, in an order in which
its operands come first; a multiplexer takes `second` where `third` is 1.
"""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel

AND, OR, XOR, NOT, MUX = range(5)
"""Kinds of gates."""


@kernel
def evaluate(gates, nets):
    """Fill the nets of all gates from those of inputs and registers.

    Parameters
    ----------
    gates : int64 array, shape (gates, 5)
        Rows (kind, first, second, third, net), operands before their users.
    nets : uint64 array, shape (nets, words)
        Bits of 64 lanes a word; rows of gates are written.
    """
    for g in range(gates.shape[0]):
        kind = gates[g, 0]
        a, b, y = nets[gates[g, 1]], nets[gates[g, 2]], nets[gates[g, 4]]
        if kind == AND:
            for k in range(y.size):
                y[k] = a[k] & b[k]
        elif kind == OR:
            for k in range(y.size):
                y[k] = a[k] | b[k]
        elif kind == XOR:
            for k in range(y.size):
                y[k] = a[k] ^ b[k]
        elif kind == NOT:
            for k in range(y.size):
                y[k] = ~a[k]
        else:
            c = nets[gates[g, 3]]
            for k in range(y.size):
                y[k] = (a[k] & ~c[k]) | (b[k] & c[k])


@kernel
def clock(registers, buffer, nets):
    """Take over the data of all `registers` [n, 2] (net of the data, net of the output) at once.

    Parameters
    ----------
    registers : int64 array, shape (n, 2)
        Net of the data and net of the output of each register.
    buffer : uint64 array, shape (n, words)
        Scratch for the values before the edge.
    nets : uint64 array, shape (nets, words)
        Outputs of registers are written.
    """
    for r in range(registers.shape[0]):
        buffer[r] = nets[registers[r, 0]]
    for r in range(registers.shape[0]):
        nets[registers[r, 1]] = buffer[r]


@kernel
def _transpose(block):
    """Transpose a 64 x 64 matrix of bits in place; row i is block[i], column j is bit j."""
    half, mask = 32, np.uint64(0x00000000FFFFFFFF)
    while half:
        shift = np.uint64(half)
        i = 0
        while i < 64:
            t = ((block[i] >> shift) ^ block[i + half]) & mask
            block[i] ^= t << shift
            block[i + half] ^= t
            i = (i + half + 1) & ~half
        half >>= 1
        if half:
            mask ^= mask << np.uint64(half)


@kernel
def pack(codes, rows, nets):
    """Set the nets of one word of a port: `codes` [lanes], `rows` the net of each bit, lowest first.

    Parameters
    ----------
    codes : int64 array, shape (64 * words,)
        Code of each lane, in two's complement.
    rows : int64 array, shape (bits,)
        Net of each bit, lowest first; 1 to 64 bits.
    nets : uint64 array, shape (nets, words)
        Rows `rows` are written.
    """
    block = np.empty(64, dtype=np.uint64)
    for k in range(nets.shape[1]):
        for lane in range(64):
            block[lane] = np.uint64(codes[64 * k + lane])
        _transpose(block)
        for bit in range(rows.size):
            nets[rows[bit], k] = block[bit]


@kernel
def unpack(nets, rows, signed, codes):
    """Fill `codes` [lanes] from the nets `rows` of one word, lowest bit first.

    Parameters
    ----------
    nets : uint64 array, shape (nets, words)
        Bits of 64 lanes a word.
    rows : int64 array, shape (bits,)
        Net of each bit, lowest first; 1 to 64 bits.
    signed : bool
        Whether the highest bit is the sign.
    codes : int64 array, shape (64 * words,)
        Filled with the code of each lane.
    """
    block = np.empty(64, dtype=np.uint64)
    for k in range(nets.shape[1]):
        for bit in range(rows.size):
            block[bit] = nets[rows[bit], k]
        for bit in range(rows.size, 64):
            block[bit] = nets[rows[rows.size - 1], k] if signed else np.uint64(0)
        _transpose(block)
        for lane in range(64):
            codes[64 * k + lane] = np.int64(block[lane])
